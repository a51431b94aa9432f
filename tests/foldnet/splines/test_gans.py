"""The game of two networks: written-out derivatives against autograd, and a step against its definition."""

import numpy as np
import pytest
import torch
from torch.func import grad, hessian, jacrev

from foldbook.chapters.gans import play
from foldnet.nets import ReLUNet
from foldnet.splines import gans

N, B = 3, 7
GENERATORS, DISCRIMINATORS = ReLUNet.random((2, 5, 2), batch=N, seed=1), ReLUNet.random((2, 6, 1), batch=N, seed=2)
REAL = torch.randn(N, B, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
NOISE = torch.randn(N, B, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
NONE, ALL = torch.zeros(N), torch.ones(N)


def games(scaled=NONE):
    return gans.Games.start(GENERATORS, DISCRIMINATORS, scaled)


def slow(k):
    """The k-th game as a function of two vectors, in the layout of `Games`, with nothing but `game_value`."""

    def f(x, y):
        g, d = gans.Games.networks(x[None], 2, 5, 2), gans.Games.networks(y[None], 2, 6, 1)
        return gans.game_value(g, d, REAL[k], NOISE[k]).squeeze()

    return f


def test_networks_come_back():
    both = games()
    for net, kept in ((GENERATORS, both.generator()), (DISCRIMINATORS, both.discriminator())):
        torch.testing.assert_close(kept.vector(), net.vector())


def test_networks_that_were_taken_out_stay_as_they_are():
    both = games()
    nets = both.generator(), both.discriminator()
    before = [net.vector() for net in nets]
    both.step(REAL, NOISE, lr=0.1)
    for net, kept, now in zip(nets, before, (both.generator(), both.discriminator())):
        assert torch.equal(net.vector(), kept)
        assert not torch.equal(now.vector(), kept)


def test_value_is_the_formula():
    judged = torch.sigmoid(DISCRIMINATORS(REAL))[..., 0]
    forged = torch.sigmoid(DISCRIMINATORS(GENERATORS(NOISE)))[..., 0]
    by_hand = judged.log().mean(-1) + (1 - forged).log().mean(-1)
    torch.testing.assert_close(gans.game_value(GENERATORS, DISCRIMINATORS, REAL, NOISE), by_hand)


def test_gradients_are_those_of_autograd():
    both = games()
    by_x, by_y = both.gradients(both.look(REAL, NOISE))
    for k in range(N):
        torch.testing.assert_close(by_x[k], grad(slow(k), 0)(both.x[k], both.y[k]), atol=1e-12, rtol=0)
        torch.testing.assert_close(by_y[k], grad(slow(k), 1)(both.x[k], both.y[k]), atol=1e-12, rtol=0)


def test_products_with_second_derivatives_are_those_of_autograd():
    both = games()
    seen = both.look(REAL, NOISE)
    p = torch.randn(both.y.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    q = torch.randn(both.x.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for k in range(N):
        yy, yx = hessian(slow(k), 1)(both.x[k], both.y[k]), jacrev(grad(slow(k), 1), 0)(both.x[k], both.y[k])
        torch.testing.assert_close(both.yy(seen, p)[k], yy @ p[k], atol=1e-12, rtol=0)
        torch.testing.assert_close(both.yx(seen, q)[k], yx @ q[k], atol=1e-12, rtol=0)
        assert yx.norm() > 1e-3


@pytest.mark.parametrize("ridge", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
def test_steps_are_those_of_a_small_game(ridge, scaled):
    both = games(ALL if scaled else NONE)
    for _ in range(3):
        both.step(REAL, NOISE, 0.01, ridge, damping=1.0, inner=60)
    first = games()
    for k in range(N):
        x, y = play(slow(k), first.x[k], first.y[k], 0.01, 3, ridge, scaled, damping=1.0)
        torch.testing.assert_close(both.x[k], x[-1], atol=1e-7, rtol=0)
        torch.testing.assert_close(both.y[k], y[-1], atol=1e-7, rtol=0)


def test_one_batch_can_mix_games_with_and_without_rmsprop():
    mixed, plain, scaled = games(torch.tensor([0.0, 1.0, 0.0])), games(NONE), games(ALL)
    for g in (mixed, plain, scaled):
        for _ in range(4):
            g.step(REAL, NOISE, lr=0.01)
    for k, twin in enumerate((plain, scaled, plain)):
        torch.testing.assert_close(mixed.x[k], twin.x[k])
        torch.testing.assert_close(mixed.y[k], twin.y[k])


@pytest.mark.parametrize(
    ("generator", "discriminator", "said"),
    [
        (ReLUNet.random((2, 5, 5, 2), batch=N), DISCRIMINATORS, "one hidden layer and no leak"),
        (GENERATORS, ReLUNet.random((2, 6, 1), batch=N, leak=0.1), "one hidden layer and no leak"),
        (GENERATORS, ReLUNet.random((3, 6, 1), batch=N), "reads what the generator makes"),
        (ReLUNet.random((2, 5, 2)), DISCRIMINATORS, r"a batch \(N,\)"),
    ],
)
def test_other_networks_are_refused(generator, discriminator, said):
    with pytest.raises(ValueError, match=said):
        gans.Games.start(generator, discriminator, NONE)


@pytest.mark.parametrize("damping", [0.1, 1.0])
def test_conjugate_gradients_against_a_dense_solve(damping):
    rng = np.random.default_rng(0)
    h = torch.stack([torch.as_tensor(_symmetric(rng, 6)) for _ in range(4)])
    b = torch.as_tensor(rng.normal(size=(4, 6)))
    exact = torch.linalg.solve(h - damping * torch.eye(6, dtype=torch.float64), b.unsqueeze(-1)).squeeze(-1)
    found = gans.damped_solve(lambda p: (h @ p.unsqueeze(-1)).squeeze(-1), b, damping, 6)
    torch.testing.assert_close(found, exact, atol=1e-6, rtol=1e-6)
    stays = gans.damped_solve(lambda p: 0 * p, b, damping, 3)  # done after one round
    torch.testing.assert_close(stays, -b / damping)
    assert gans.damped_solve(lambda p: p, b, 1.0, 3).abs().max() == 0  # no curvature at all


def test_a_guard_stops_at_the_first_direction_of_the_wrong_curvature():
    h = torch.diag(torch.tensor([-1.0, -2.0, 3.0], dtype=torch.float64))
    product = lambda p: p @ h  # noqa: E731
    good, bad = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.1, 1.0]], dtype=torch.float64)
    torch.testing.assert_close(gans.damped_solve(product, good, 1.0, 5, guarded=True), good / (h.diag() - 1))
    assert gans.damped_solve(product, bad, 1.0, 5, guarded=True).abs().max() == 0
    torch.testing.assert_close(gans.damped_solve(product, bad, 1.0, 5), bad / (h.diag() - 1))


def _symmetric(rng, n):
    a = rng.normal(size=(n, n))
    return (a + a.T) / 2
