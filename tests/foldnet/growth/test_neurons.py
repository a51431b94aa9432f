"""Optimal neurons: against brute force, finite differences and least squares; what growth keeps; bad input."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from foldnet.growth._passes import tall_svd
from foldnet.growth.amplitude import best_amplitude, line_search
from foldnet.growth.expressivity import best_update, desired_update, layer_inputs
from foldnet.growth.moments import SecondMoment, cross_products, gram, with_one
from foldnet.growth.neurons import optimal_neurons, second_moment, with_neurons
from foldnet.growth.smooth import SmoothNet
from foldnet.nets import ReLUNet, stack
from foldnet.training.losses import point_losses

NETS = {
    "tanh": lambda sizes, **kw: SmoothNet.random(sizes, activation="tanh", **kw),
    "selu": lambda sizes, **kw: SmoothNet.random(sizes, activation="selu", **kw),
    "softplus": lambda sizes, **kw: SmoothNet.random(sizes, activation="softplus", **kw),
    "relu": lambda sizes, **kw: ReLUNet.random(sizes, **kw),
    "leaky": lambda sizes, **kw: ReLUNet.random(sizes, leak=0.2, **kw),
}


def problem(n=60, inputs=6, outputs=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, inputs))
    y = np.sin(x @ rng.normal(size=(inputs, outputs))) + 0.3 * rng.normal(size=(n, outputs))
    return torch.as_tensor(x), torch.as_tensor(y)


def mean_loss(net, x, y, loss="mse"):
    return point_losses(net(x), y, loss).mean(-1)


def misfit(net, layer, new, x, target):
    """Mean squared distance of the target from what the new neurons add at first order, with slope 1."""
    reads = layer_inputs(net, x)[layer] @ new.incoming.mT + new.bias.unsqueeze(-2)
    return (target - reads @ new.outgoing.mT).square().sum((-2, -1)) / x.shape[-2]


def rest(net, layer, x, y):
    """What is left of the desired update after least squares on the old weights, by numpy."""
    goal = desired_update(net, layer + 1, x, y).numpy()
    b = with_one(layer_inputs(net, x)[layer + 1]).numpy()
    return torch.as_tensor(goal - b @ np.linalg.lstsq(b, goal, rcond=None)[0])


@pytest.mark.parametrize("layer", [0, 1])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_neurons_found_by_descent_fit_better(layer, k):
    x, y = problem()
    net = SmoothNet.random((6, 3, 5, 4), seed=3)
    target = rest(net, layer, x, y)
    new = optimal_neurons(net, layer, x, y, k)
    reached = misfit(net, layer, new, x, target)
    zero = target.square().sum() / 60
    assert torch.allclose(reached, zero - new.singular_values[:k].square().sum(), rtol=0, atol=1e-12)
    b = with_one(layer_inputs(net, x)[layer])

    def value_of(alpha):  # the best outgoing weights for these incoming ones
        read = b @ alpha
        return (target - read @ torch.linalg.solve(read.mT @ read, read.mT @ target)).square().sum() / 60

    assert descend(value_of, (b.shape[1], k)) == pytest.approx(reached.item(), abs=1e-8)


def descend(value_of, shape, starts=4):
    """The lowest value that BFGS reaches from some random starts: what knows nothing of the closed form."""
    start = np.random.default_rng(0).normal(size=(starts, *shape))
    return min(minimize(differentiated(value_of, shape), s.flatten(), jac=True, options={"gtol": 1e-9}).fun for s in start)


def differentiated(value_of, shape):
    def both(a):
        a = torch.as_tensor(a.reshape(shape)).requires_grad_()
        value = value_of(a)
        value.backward()
        return value.item(), a.grad.numpy().flatten()

    return both


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(sorted(NETS)), st.integers(0, 1), st.sampled_from(["first", "jointly", "kept"]), st.integers(0, 999))
def test_gain_is_the_slope_of_the_loss(kind, layer, old, seed):
    x, y = problem(seed=seed)
    net = NETS[kind]((6, 3, 5, 4), seed=seed)
    new = optimal_neurons(net, layer, x, y, 2, old=old)
    start, large = mean_loss(net, x, y), max(1.0, float(new.incoming.abs().max()) if new.rank else 1.0)
    for split, h in ((1.0, 1e-6 / large), (0.5, 1e-9 / large)):
        near, far = ((start - mean_loss(with_neurons(net, layer, new, t, 0.0, split=split), x, y)) / t for t in (h, 4 * h))
        slope = (4 * near - far) / 3 if split == 1 else 2 * near - far  # the next term: h more or, with half in each, its root
        rounding = 8 * torch.finfo(torch.float64).eps * start.item() / h
        assert slope == pytest.approx(new.gain.item(), rel=1e-3, abs=1e-6 + rounding)
    h = 1e-6
    loss = [mean_loss(new.update.applied(net, layer + 1, t), x, y) for t in (h, -h)]
    assert (loss[1] - loss[0]) / (2 * h) == pytest.approx(new.update.gain.item(), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("old", [{}, {"old": "kept"}])
@pytest.mark.parametrize("sizes", [(2, 4, 1), (2, 4, 4, 1), (2, 16, 16, 1)])
@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_a_small_step_as_documented_lowers_the_loss_of_every_network(sizes, leak, old):
    """The defaults belong together: neurons that count on a move of the old weights come with that move."""
    rng = np.random.default_rng(0)
    x, y = torch.as_tensor(rng.normal(size=(40, 2))), torch.as_tensor(rng.normal(size=(40, 1)))
    nets = ReLUNet.random(sizes, batch=200, leak=leak, seed=1)
    for layer in range(len(sizes) - 2):
        new = optimal_neurons(nets, layer, x, y, 2, **old)
        before = mean_loss(nets, x, y)
        alive = new.joint_gain > 0
        assert alive.double().mean() > 0.98  # behind dead layers nothing is asked for
        assert (mean_loss(with_neurons(nets, layer, new, 0.01 * alive), x, y) < before)[alive].all()
        searched = best_amplitude(nets, layer, new, x, y)
        after = mean_loss(with_neurons(nets, layer, new, searched.amplitude), x, y)
        assert torch.allclose(after, searched.loss, rtol=1e-9)
        assert (after < before)[alive].all()


@pytest.mark.parametrize("old", ["first", "jointly", "kept"])
def test_the_joint_gain_is_the_slope_of_the_documented_step(old):
    x, y = problem()
    nets = ReLUNet.random((6, 3, 4), batch=20, seed=2)
    new = optimal_neurons(nets, 0, x, y, 2, old=old)
    slope = (mean_loss(nets, x, y) - mean_loss(with_neurons(nets, 0, new, 1e-6), x, y)) / 1e-6
    assert torch.allclose(slope, new.joint_gain, rtol=1e-3)
    assert torch.allclose(slope, new.gain, rtol=0.1) == (old == "kept")


def test_a_step_that_promises_nothing_is_told():
    x, y = problem()
    nets = stack([ReLUNet.random((6, 3, 4), seed=s) for s in range(2)])
    new = optimal_neurons(nets, 0, x, torch.stack([y, nets[1](x)]), 1)
    with pytest.warns(UserWarning, match="in 1 of 2 networks: the joint gain"):
        with_neurons(nets, 0, new, 0.1)
    with_neurons(nets, 0, new, torch.tensor([0.1, 0.0]))  # that network stays as it is
    with_neurons(nets, 0, new, 0.1, update=0.1)  # said by the caller


def test_jointly_finds_nothing_new_in_what_a_badly_conditioned_layer_knows():
    """Two leaky neurons without a kink among the points pass on all that their layer reads, though barely."""
    x, y = problem(seed=737)
    net = ReLUNet.random((6, 3, 5, 4), leak=0.2, seed=737)
    below, here = (with_one(inputs).numpy() for inputs in layer_inputs(net, x)[1:3])
    assert np.linalg.matrix_rank(np.hstack([below, here])) == np.linalg.matrix_rank(here) == 6
    assert np.linalg.cond(here) > 1e5
    new = optimal_neurons(net, 1, x, y, 2, old="jointly")
    assert new.rank == 0
    assert new.gain == 0


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(["relu", "leaky", "selu"]), st.integers(0, 1), st.integers(0, 999))
def test_at_a_kink_the_better_sign_has_half_of_the_linear_gain(kind, layer, seed):
    x, y = problem(seed=seed)
    net = NETS[kind]((6, 3, 5, 4), seed=seed)
    new = optimal_neurons(net, layer, x, y, old="kept")
    linear = sum(net.slopes_at_zero) / 2 * new.singular_values.square().sum()
    assert new.gain >= linear - 1e-12


@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_the_sign_is_the_better_one_for_what_the_old_weights_leave(leak):
    for_goal = 0
    for seed in range(10):
        x, y = problem(seed=seed)
        net = ReLUNet.random((6, 3, 5, 4), leak=leak, seed=seed)
        goal, left = desired_update(net, 1, x, y), rest(net, 0, x, y)
        new = optimal_neurons(net, 0, x, y)
        reads = x @ new.incoming.mT + new.bias
        for asked in (left, goal):
            serves, turned = ((net.activate(sign * reads) * (asked @ (sign * new.outgoing))).sum(0) for sign in (1, -1))
            if asked is left:
                assert (serves > turned - 1e-9).all()
            else:
                for_goal += int((serves < turned).sum())
    assert for_goal > 0  # the desired update itself would have chosen otherwise


def test_jointly_is_the_least_misfit_and_two_steps_are_not():
    x, y = problem()
    net = SmoothNet.random((6, 3, 4), seed=1)
    goal, here, below = desired_update(net, 1, x, y), *(with_one(layer_inputs(net, x)[i]) for i in (1, 0))

    def joint(pair):
        b = torch.cat([here, below @ pair], dim=1)
        return (goal - b @ torch.linalg.solve(b.mT @ b, b.mT @ goal)).square().sum() / 60

    values = {}
    for old in ("first", "jointly"):
        new = optimal_neurons(net, 0, x, y, 1, old=old)
        values[old] = misfit(net, 0, new, x, goal - new.update.move).item()
    assert descend(joint, (7, 1)) == pytest.approx(values["jointly"], abs=1e-8)
    assert values["first"] > values["jointly"] + 1e-3


@pytest.mark.parametrize("kind", sorted(NETS))
@pytest.mark.parametrize("loss", ["mse", "bce", "cross_entropy"])
def test_a_batch_is_its_networks(kind, loss):
    x, y = problem(seed=4)
    y = {"mse": y, "bce": (y > 0).double(), "cross_entropy": y.argmax(-1)}[loss]
    nets = NETS[kind]((6, 3, 4, 4), batch=(2, 3), seed=5)
    new = optimal_neurons(nets, 1, x, y, 2, loss=loss)
    best = best_amplitude(nets, 1, new, x, y, loss)
    for i, j in [(0, 0), (1, 2)]:
        one = optimal_neurons(nets[i, j], 1, x, y, 2, loss=loss)
        product = (one.outgoing @ one.incoming, one.outgoing @ one.bias)
        assert torch.allclose((new.outgoing @ new.incoming)[i, j], product[0], atol=1e-9)
        assert torch.allclose(new.gain[i, j], one.gain, atol=1e-11)
        assert torch.allclose(best.loss[i, j], best_amplitude(nets[i, j], 1, one, x, y, loss).loss, atol=1e-9)
    assert torch.allclose(best.loss, mean_loss(with_neurons(nets, 1, new, best.amplitude), x, _rows(y, loss), loss), atol=1e-12)
    assert (best.loss <= best.start).all()
    assert (best.amplitude > 0).any()


def _rows(y, loss):
    return torch.nn.functional.one_hot(y, 4).double() if loss == "cross_entropy" else y


def test_the_gradient_of_each_loss_is_that_of_torch():
    x, y = problem(seed=1)
    net = SmoothNet.random((6, 3, 4), seed=2)
    f, labels = net(x), y.argmax(-1)
    n, nn = len(x), torch.nn.functional
    for loss, target, theirs in [
        ("mse", y, nn.mse_loss),
        ("bce", y.sigmoid(), nn.binary_cross_entropy_with_logits),
        ("cross_entropy", labels, nn.cross_entropy),
    ]:
        out = f.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(theirs(out, target), out)
        assert torch.allclose(desired_update(net, 1, x, target, loss), -n * gradient, atol=1e-13)
    ours = desired_update(net, 1, x, y, lambda outputs, y: 0.5 * (outputs - y).square().sum(-1))
    assert torch.allclose(ours, y - f, atol=1e-14)


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(sorted(NETS)), st.integers(0, 1), st.integers(0, 999), st.sampled_from([1.0, 0.5, 0.0]))
def test_amplitude_zero_keeps_the_function(kind, layer, seed, split):
    x, y = problem(seed=seed)
    net = NETS[kind]((6, 3, 5, 4), batch=2, seed=seed)
    new = optimal_neurons(net, layer, x, y, 2)
    grown = with_neurons(net, layer, new, 0.0, split=split)
    assert grown.sizes[layer + 1] == net.sizes[layer + 1] + new.bias.shape[-1]
    assert torch.allclose(grown(x), net(x), rtol=0, atol=1e-12)
    assert torch.allclose(with_neurons(net, layer, new, 1e-9, 0.0, split=split)(x), net(x), rtol=0, atol=1e-6)


def test_a_cached_moment_changes_nothing():
    x, y = problem()
    net = ReLUNet.random((6, 3, 4), seed=3)
    moment = second_moment(net, 0, x)
    for _ in range(3):
        cached, fresh = (optimal_neurons(net, 0, x, y, 1, moment=m) for m in (moment, None))
        assert torch.equal(cached.incoming, fresh.incoming)
        net = with_neurons(net, 0, cached, 0.1, update=0.0)
    with pytest.raises(ValueError, match="reads 6 inputs; the second moment given has 5"):
        optimal_neurons(net, 0, x, y, 1, moment=second_moment(ReLUNet.random((5, 2, 4)), 0, x[:, :5]))


@pytest.mark.parametrize("n", [400, 40, 5])
def test_a_singular_second_moment(n):
    """Zero, constant and dependent inputs: WW' is a generalized inverse of S, and the neurons still fit best."""
    x, y = problem(n)
    x = torch.cat([x, torch.zeros(n, 2), torch.full((n, 1), 3.0), x[:, :1] - 2 * x[:, 1:2], 1e-6 * x[:, 2:3] + x[:, 3:4]], dim=1)
    w = SecondMoment.of(x)
    rows = with_one(x)
    s = rows.mT @ rows / n
    inverse = w.whitening @ w.whitening.mT
    assert torch.allclose(s @ inverse @ s, s, atol=1e-7)
    assert w.rank == np.linalg.matrix_rank(rows.numpy(), tol=1e-9)
    new = optimal_neurons(ReLUNet.random((11, 4, 4), seed=1), 0, x, y)
    assert all(a.isfinite().all() for a in (new.incoming, new.bias, new.outgoing, new.singular_values, new.gain))
    q, _ = np.linalg.qr(np.linalg.svd(rows.numpy(), full_matrices=False)[0][:, : int(w.rank)])
    target = rest(ReLUNet.random((11, 4, 4), seed=1), 0, x, y).numpy()
    assert new.singular_values.square().sum() == pytest.approx(np.sum((q.T @ target) ** 2) / n, abs=1e-9)


def test_a_batch_with_one_singular_moment():
    good, _ = problem(seed=1)
    bad = good.clone()
    bad[:, 2] = 0
    both = SecondMoment.of(torch.stack([good, bad]))
    assert both.rank.tolist() == [7, 6]
    assert not both.whitening[1, 2].any()  # an input that is always 0 gets no weight
    for x, w in zip((good, bad), both.whitening):
        s = with_one(x).mT @ with_one(x) / 60
        assert torch.allclose(s @ w @ w.mT @ s, s, atol=1e-12)


def test_dependent_inputs_are_seen_although_cholesky_may_pass_them():
    x = torch.randn(64, 60, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    x[..., 5] = x[..., :5].sum(-1)
    assert SecondMoment.of(x).rank.tolist() == [6] * 64


def test_the_gram_matrix_of_a_wide_layer():
    x = torch.randn(3, 50, 300, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(gram(x), with_one(x).mT @ with_one(x), atol=1e-11)


def test_products_with_the_constant():
    x, v = torch.randn(2, 3, 50, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(cross_products(x, v), with_one(x).mT @ v, atol=1e-12)
    assert torch.allclose(cross_products(x[0], v), with_one(x[:1]).mT @ v, atol=1e-12)  # the same points for all networks


@pytest.mark.parametrize(
    ("shape", "values"),
    [
        ((40, 6), (5.0, 3.0, 2.0, 1.0, 0.5, 0.1)),
        ((2, 3, 40, 6), (5.0, 3.0, 2.0, 1.0, 0.5, 0.1)),
        ((40, 6), (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)),  # the square of its condition is still below 1 / eps
        ((40, 6), (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10)),
        ((3, 40, 6), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
        ((40, 6), (0.0,) * 6),
        ((6, 6), (5.0, 3.0, 2.0, 1.0, 0.5, 0.1)),
        ((4, 6), (5.0, 3.0, 2.0, 1.0)),
    ],
)
def test_tall_svd_is_the_svd(shape, values):
    random = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    left, _, right = torch.linalg.svd(random, full_matrices=False)
    values = torch.tensor(values, dtype=torch.float64)
    a = left * values @ right
    u, singular, v = tall_svd(a)
    assert torch.allclose(singular, values.expand_as(singular), rtol=0, atol=1e-14)
    for k in range(len(values) + 1):
        assert u(k).shape == (*shape[:-1], k)
    one = torch.eye(len(values), dtype=torch.float64)
    assert torch.allclose(u(len(values)).mT @ u(len(values)), one.expand(*shape[:-2], -1, -1), atol=1e-13)
    assert torch.allclose(v @ v.mT, one.expand(*shape[:-2], -1, -1), atol=1e-13)
    assert torch.allclose(u(len(values)) * singular.unsqueeze(-2) @ v, a, rtol=0, atol=1e-14)


def test_squaring_is_not_trusted_where_the_pivots_hide_the_condition():
    """Kahan's matrix: no pivot is small, yet the columns are nearly dependent."""
    n, c = 60, 0.5
    kahan = torch.eye(n, dtype=torch.float64) - c * torch.triu(torch.ones(n, n, dtype=torch.float64), 1)
    kahan = (1 - c * c) ** (0.5 * torch.arange(n, dtype=torch.float64)).unsqueeze(-1) * kahan
    u, singular, _ = tall_svd(torch.cat([kahan, 0 * kahan]))
    exact = torch.linalg.svdvals(kahan)
    assert exact[-1] < 1e-12 * exact[0]
    assert torch.allclose(singular, exact, rtol=0, atol=1e-14 * float(exact[0]))
    assert torch.allclose(u(n).mT @ u(n), torch.eye(n, dtype=torch.float64), atol=1e-12)


def test_both_forms_of_a_second_moment_are_one():
    x, y = problem()
    x[:, 2] = 0
    lower = SecondMoment.of(x)
    assert lower.live.tolist() == [True, True, False, True, True, True, True]
    full = SecondMoment(lower.whitening, lower.rank)
    assert (full.inputs, lower.inputs) == (6, 6)
    products = cross_products(x, y) / len(x)
    assert torch.allclose(full.whiten(products), lower.whiten(products), atol=1e-13)
    assert torch.allclose(full.weights(products), lower.weights(products), atol=1e-13)
    net = ReLUNet.random((6, 3, 4), seed=3)
    for moment in (lower, full):
        new = optimal_neurons(net, 0, x, y, 2, moment=moment)
        assert not new.incoming[:, 2].any()
        assert torch.allclose(new.singular_values, optimal_neurons(net, 0, x, y, 2).singular_values, atol=1e-13)


@pytest.mark.parametrize("kind", NETS)
@pytest.mark.parametrize("old", ["first", "jointly", "kept"])
def test_signs_left_open(kind, old):
    """The same neurons up to a sign, one pass over the points less, and the promise of the linear theory as gain."""
    x, y = problem()
    net = NETS[kind]((6, 3, 5, 4), seed=3)
    best, plain = (optimal_neurons(net, 0, x, y, 3, old=old, signs=signs) for signs in (True, False))
    turned = torch.sign((best.incoming * plain.incoming).sum(-1))
    assert torch.allclose(best.incoming, turned.unsqueeze(-1) * plain.incoming, atol=1e-14)
    assert torch.allclose(best.outgoing, turned * plain.outgoing, atol=1e-14)
    assert (plain.outgoing.gather(0, plain.outgoing.abs().argmax(0, keepdim=True)) > 0).all()
    a, b = net.slopes_at_zero
    assert plain.gain == pytest.approx((a + b) / 2 * float(best.singular_values[:3].square().sum()), rel=1e-12)
    if a == b:  # a smooth activation keeps that promise, and the old weights' move adds what it shares with the neurons
        shared = 0.0
        if old == "first":
            move = best.update.move
            shared = a * float(((x @ best.incoming.mT + best.bias) * (move @ best.outgoing)).sum()) / len(x)
        if old != "jointly":
            assert best.gain == pytest.approx(float(plain.gain) + shared, rel=1e-10)


def test_nothing_given_is_changed():
    x, y = problem()
    for net in (ReLUNet.random((6, 3, 5, 4), seed=3), SmoothNet.random((6, 3, 5, 4), seed=3)):
        before = x.clone(), y.clone(), net.vector()
        for layer in (0, 1):
            new = optimal_neurons(net, layer, x, y, 2)
            best_amplitude(net, layer, new, x, y)
            second_moment(net, layer, x)
        assert all(torch.equal(a, b) for a, b in zip(before, (x, y, net.vector())))


def test_what_a_move_leaves():
    x, y = problem()
    for nets in (ReLUNet.random((6, 3, 4), seed=3), ReLUNet.random((6, 3, 4), seed=3, batch=(2,))):
        goal, inputs = desired_update(nets, 1, x, y), layer_inputs(nets, x)[1]
        update = best_update(inputs, goal)
        assert torch.allclose(update.rest(goal), goal - update.move, atol=1e-15)
        assert torch.allclose(with_one(inputs).mT @ update.rest(goal), torch.zeros(4, dtype=torch.float64), atol=1e-13)


def test_nothing_to_gain():
    x, y = problem()
    net = ReLUNet.random((6, 3, 4), seed=3)
    fitted = optimal_neurons(net, 0, x, net(x))  # the target is met
    assert fitted.rank == 0
    assert fitted.incoming.shape == (0, 6)
    assert fitted.gain == 0
    assert torch.equal(with_neurons(net, 0, fitted, update=0.0)(x), net(x))
    dead = ReLUNet([net.weights[0], net.weights[1], torch.ones(4, 4)], [net.biases[0], torch.full((4,), -1e3), torch.zeros(4)])
    new = optimal_neurons(dead, 0, x, y, 2)  # no point reaches the second layer: nothing is asked of it
    assert new.rank == 0
    assert not new.incoming.any()
    assert not new.outgoing.any()
    assert new.gain == 0
    dead_first = ReLUNet([net.weights[0], net.weights[1]], [torch.full((3,), -1e3), net.biases[1]])
    assert optimal_neurons(dead_first, 0, x, y, 2).gain > 0  # the new neurons live although the old are dead
    best = best_amplitude(net, 0, fitted, x, net(x))
    assert best.amplitude == 0
    assert best.loss == best.start


def test_no_more_neurons_than_are_of_use():
    x, y = problem()
    net = ReLUNet.random((6, 3, 4), seed=3)
    assert optimal_neurons(net, 0, x, y, 50).incoming.shape == (4, 6)
    both = optimal_neurons(stack([net, net]), 0, x, torch.stack([y, net(x)]), 2)  # the second has nothing to gain
    assert both.rank.tolist() == [4, 0]
    assert both.incoming.shape == (2, 2, 6)
    assert not both.incoming[1].any()
    assert not both.outgoing[1].any()


@pytest.mark.parametrize("old", ["first", "jointly", "kept"])
@pytest.mark.parametrize("loss", ["mse", "bce"])
def test_a_threshold_keeps_the_neurons_whose_square_times_the_loss_is_above_it(old, loss):
    x, y = problem()
    y = (y > 0).double() if loss == "bce" else y
    nets = stack([SmoothNet.random((6, 3, 5, 4), seed=seed) for seed in range(3)])
    every = optimal_neurons(nets, 1, x, y, loss=loss, old=old)
    worth = every.singular_values.square() * mean_loss(nets, x, y, loss).unsqueeze(-1)
    tau = float(worth[0, 1] + worth[0, 2]) / 2  # the first network gets two
    new = optimal_neurons(nets, 1, x, y, loss=loss, old=old, threshold=tau)
    assert new.rank.tolist() == (worth > tau).sum(-1).tolist()
    assert new.rank[0] == 2 < every.rank[0]
    assert new.bias.shape[-1] == int(new.rank.max())
    assert torch.allclose(new.singular_values, every.singular_values)
    for b, rank in enumerate(new.rank.tolist()):
        assert torch.allclose(new.outgoing[b, :, :rank], every.outgoing[b, :, :rank])
        assert not new.outgoing[b, :, rank:].any()
    assert optimal_neurons(nets, 1, x, y, k=1, loss=loss, old=old, threshold=tau).bias.shape[-1] == 1
    assert optimal_neurons(nets, 1, x, y, loss=loss, old=old, threshold=1e9).bias.shape[-1] == 0
    with pytest.raises(ValueError, match="a threshold is at least 0; got -1"):
        optimal_neurons(nets, 1, x, y, threshold=-1)


def test_line_search_is_monotone_and_finds_the_minimum():
    zero = torch.zeros(4, dtype=torch.float64)
    minima = torch.tensor([0.003, 0.7, 40.0, -1.0], dtype=torch.float64)
    found = line_search(lambda t: (t - minima) ** 2, zero)
    assert torch.allclose(found.amplitude[:3], minima[:3], rtol=1e-4)
    assert found.amplitude[3] == 0
    assert (found.loss <= found.start).all()
    wild = line_search(lambda t: torch.where(t > 0.5, torch.nan, torch.cos(40 * t)), zero)
    assert (wild.loss <= wild.start).all()
    assert wild.loss.isfinite().all()


def test_bad_input_is_a_sentence():
    x, y = problem()
    net = ReLUNet.random((6, 3, 4), seed=3)
    for call, words in [
        (lambda: optimal_neurons(net, 1, x, y), "numbered 0 to 0; got 1"),
        (lambda: optimal_neurons(net, 0, x, y, 0), "at least 1, or None"),
        (lambda: optimal_neurons(net, 0, x, y, loss="l1"), "loss is one of 'mse'"),
        (lambda: optimal_neurons(net, 0, x, y, old="new"), "old is one of 'first'"),
        (lambda: optimal_neurons(net, 0, x, torch.arange(60) % 5, loss="cross_entropy"), "classes of a .* are 0 to 3"),
        (lambda: optimal_neurons(net, 0, x, y[:5]), "targets have shape"),
        (lambda: with_neurons(net, 0, optimal_neurons(net, 0, x, y, 1), -1.0), "at least 0; got -1"),
        (lambda: best_amplitude(net, 0, optimal_neurons(net, 0, x, y, 1), x, y, update="first"), "update is 'only', .*'first'"),
        (lambda: line_search(lambda t: t, torch.zeros(1), least=0.0), "got least=0.0 and most=1024.0"),
        (lambda: line_search(lambda t: t, torch.zeros(1), least=2.0, most=1.0), "got least=2.0 and most=1.0"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


@pytest.mark.parametrize("n", [60, 4])
@pytest.mark.parametrize("cached", [False, True])
def test_values_that_are_no_numbers(n, cached):
    """Caught in the small matrices that every value enters, without a look at each value."""
    x, y = problem()
    net = ReLUNet.random((6, 3, 5, 4), seed=3)
    nets = net, SmoothNet.random((6, 3, 5, 4), seed=3)  # tanh of infinity is 1
    for layer in (0, 1):
        moment = second_moment(net, layer, x) if cached else None
        for bad in (float("nan"), float("inf"), -float("inf")):
            for where in (x, y):
                spoilt = where[:n].clone()
                spoilt[1, 2] = bad
                points, targets = (spoilt, y[:n]) if where is x else (x[:n], spoilt)
                for any_net in nets:
                    with pytest.raises(ValueError, match=r"of shape .* are empty, or some are NaN or infinite"):
                        optimal_neurons(any_net, layer, points, targets, 1, moment=moment)
    huge = 1e200 * x  # each is a number, their squares are not
    with pytest.raises(ValueError, match=r"second_moments of shape .* NaN or infinite"):
        SecondMoment.of(huge)
    with pytest.raises(ValueError, match=r"products of shape .* NaN or infinite"):
        optimal_neurons(net, 0, 1e5 * huge, 1e120 * y, 1, old="kept", moment=second_moment(net, 0, x))
    with pytest.raises(ValueError, match=r"points of shape \(0, 6\) are empty"):
        optimal_neurons(net, 0, x[:0], y[:0])
    with pytest.raises(ValueError, match=r"points of shape \(0, 6\) are empty"):
        optimal_neurons(net, 0, x[:0], y[:0], loss=lambda z, y: (z - y).square().sum(-1))


def test_one_batch_of_growing_networks():
    x, y = problem(outputs=1)
    nets = stack([SmoothNet.random((6, 1, 1), seed=s) for s in range(3)])
    losses = [mean_loss(nets, x, y)]
    for _ in range(4):
        new = optimal_neurons(nets, 0, x, y, 1)
        nets = new.update.applied(nets, 1, best_amplitude(nets, 0, new, x, y, update="only").amplitude)
        new = optimal_neurons(nets, 0, x, y, 1)
        nets = with_neurons(nets, 0, new, best_amplitude(nets, 0, new, x, y, update=0.0).amplitude, update=0.0)
        losses.append(mean_loss(nets, x, y))
    assert (torch.stack(losses).diff(dim=0) <= 1e-12).all()
    assert nets.sizes == (6, 5, 1)
