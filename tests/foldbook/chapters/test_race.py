"""Seven ways to grow: what each keeps, what each promises, and that no network depends on its neighbours."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldbook.chapters import race
from foldbook.chapters.race import BIAS, CHANGE, LATER, NOISE, mean_loss
from foldnet.growth.neurons import optimal_neurons
from foldnet.nets import ReLUNet

METHODS = race.METHODS | LATER
KEEPING = ("random", "gradmax")


def problem(out=1, batch=5, width=4, n=40, seed=0, inputs=2):
    nets = ReLUNet.random((inputs, width, out), batch=batch, seed=seed)
    rng = np.random.default_rng(seed)
    x = torch.as_tensor(rng.uniform(-1, 1, (batch, n, inputs)))
    label = torch.as_tensor(rng.integers(max(out, 2), size=(batch, n)))
    y = label.double().unsqueeze(-1) if out == 1 else torch.nn.functional.one_hot(label, out).double()
    return nets, x, y


def generators(batch, seed=0):
    return [np.random.default_rng([seed, i]) for i in range(batch)]


shapes = st.tuples(st.sampled_from([1, 3, 5]), st.integers(2, 5), st.integers(1, 2), st.integers(0, 999))


def grown(name, nets, x, y, k, seed=0):
    new = METHODS[name](nets, x, y, k, generators(len(x), seed))
    wide = new.widened()
    assert wide.sizes == (nets.sizes[0], nets.sizes[1] + k, nets.sizes[2])
    return new, wide


# ---- what growth keeps ---------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(shapes, st.sampled_from(KEEPING))
def test_random_growth_and_gradmax_keep_the_function(shape, name):
    out, width, k, seed = shape
    nets, x, y = problem(out, 3, width, seed=seed)
    _, wide = grown(name, nets, x, y, k, seed)
    far = 10 * torch.randn(3, 50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    for points in (x, far):
        assert torch.allclose(wide(points), nets(points), rtol=0, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(shapes)
def test_a_split_moves_the_function_by_less_than_its_bound_and_only_near_creases(shape):
    out, width, k, seed = shape
    nets, x, y = problem(out, 3, width, seed=seed)
    new, wide = grown("split", nets, x, y, k, seed)
    change = (wide(x) - nets(x)).abs()
    rows = torch.cat([new.incoming, new.bias.unsqueeze(-1)], -1)
    length = rows.norm(dim=-1)  # of the moved twin, within a thousandth of the old one
    reach = NOISE * 1.002 * length * (x.square().sum(-1).amax(-1, keepdim=True) + 1).sqrt()
    bound = (new.outgoing.abs() * reach.unsqueeze(1)).sum(-1)
    assert (change.amax(1) <= bound + 1e-12).all()
    reads = torch.cat([x, torch.ones_like(x[..., :1])], -1) @ rows.mT
    away = (reads.abs() > 3 * reach.unsqueeze(1)).all(-1)
    assert change[away].max() <= 1e-12 if away.any() else True


@settings(max_examples=8, deadline=None)
@given(shapes)
def test_folds_change_no_output_by_more_than_they_say(shape):
    out, width, k, seed = shape
    nets, x, y = problem(out, 2, width, seed=seed)
    _, wide = grown("fold", nets, x, y, k, seed)
    # an instance that has its fold is left out when the next one is measured, so the sum may be a little above k * CHANGE
    change = (wide(x) - nets(x)).abs().amax()
    assert 0 < change <= (k * CHANGE + 1e-12 if k == 1 else 1.5 * k * CHANGE)


@settings(max_examples=40, deadline=None)
@given(shapes, st.sampled_from(["tiny", *LATER]))
def test_tiny_never_raises_the_training_loss_and_its_move_does_not(shape, name):
    out, width, k, seed = shape
    nets, x, y = problem(out, 3, width, seed=seed)
    k = min(k, out)
    _, wide = grown(name, nets, x, y, k, seed)
    assert (mean_loss(wide, x, y) <= mean_loss(nets, x, y) + 1e-12).all()
    assert (wide.weights[0][:, -k:].abs().sum((1, 2)) > 0).all()  # never a dead zero


@pytest.mark.parametrize("out", [1, 4])
def test_the_sign_after_the_move_is_the_one_that_lowers_the_loss_faster(out):
    """Against the loss itself, at a small amplitude of each neuron alone and of its mirror image."""
    nets, x, y = problem(out, batch=60)
    k = min(out, 2)
    before, after = (METHODS[name](nets, x, y, k, generators(60)) for name in ("tiny", "tiny_after"))
    assert torch.equal(before.old.vector(), after.old.vector())

    def loss(new, neuron, sign, small=1e-5):
        read, out = new.incoming[:, [neuron]], new.outgoing[..., [neuron]]
        turned = race.Proposal(new.old, sign * small * read, sign * small * new.bias[:, [neuron]], sign * out)
        return mean_loss(turned.widened(), x, y)

    turned = 0
    for neuron in range(k):
        used = (after.outgoing[..., neuron] != 0).any(-1)
        assert (loss(after, neuron, 1) <= loss(after, neuron, -1) + 1e-15)[used].all()
        turned += (loss(before, neuron, 1) > loss(before, neuron, -1) + 1e-15).sum()
    assert turned > 0  # the sign of the race is another one here and there


def test_dice_that_move_draw_the_same_neurons_and_move_the_output_layer_as_tiny_does():
    nets, x, y = problem(3)
    dice, moved, tiny = (METHODS[m](nets, x, y, 2, generators(5)) for m in ("random", "random_moved", "tiny"))
    assert torch.equal(dice.incoming, moved.incoming)
    assert torch.equal(dice.bias, moved.bias)
    assert (moved.outgoing == 0).all()
    assert torch.equal(moved.old.vector(), tiny.old.vector())
    assert (mean_loss(moved.old, x, y) < mean_loss(nets, x, y)).all()


def test_tiny_asked_for_more_than_theory_offers_fills_up_with_random_neurons():
    """The gradient of a softmax over 3 classes has rank 2, so the third neuron cannot be an optimal one."""
    nets, x, y = problem(3)
    new, wide = grown("tiny", nets, x, y, 3)
    assert (new.outgoing.abs().sum(1) > 0).sum(-1).max() <= 2
    assert (new.outgoing[..., 2] == 0).all()
    assert (new.incoming[:, 2].norm(dim=-1) > 0).all()
    assert (mean_loss(wide, x, y) <= mean_loss(nets, x, y) + 1e-12).all()


def test_tiny_lowers_the_loss_of_untrained_networks():
    nets, x, y = problem(3, 20, 3, n=60)
    y = torch.nn.functional.one_hot((x[..., 0] > 0).long() + (x[..., 1] > 0).long(), 3).double()
    _, wide = grown("tiny", nets, x, y, 2)
    assert (mean_loss(wide, x, y) < 0.95 * mean_loss(nets, x, y)).all()


# ---- what each method promises -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", [1, 4])
def test_the_loss_is_torchs(out):
    nets, x, y = problem(out)
    z = nets(x)
    if out == 1:
        expected = torch.nn.functional.binary_cross_entropy_with_logits(z, y, reduction="none").mean((1, 2))
    else:
        expected = torch.nn.functional.cross_entropy(z.flatten(0, 1), y.flatten(0, 1), reduction="none").view(5, -1).mean(1)
    assert torch.allclose(mean_loss(nets, x, y), expected, rtol=1e-12)


@pytest.mark.parametrize("out", [1, 4])
def test_gradmax_gives_the_new_weights_the_largest_gradient(out):
    """Against autograd for the value, and against 300 random directions of the same length for the maximum."""
    nets, x, y = problem(out, inputs=3)
    new, _ = grown("gradmax", nets, x, y, 1)
    length = new.outgoing.norm(dim=1)
    assert torch.allclose(length[:, 0], nets.weights[1].norm(dim=1).mean(-1))

    def strength(outgoing):
        wide = race.Proposal(new.old, new.incoming, new.bias, outgoing).widened()
        first = wide.weights[0].clone().requires_grad_()
        tried = wide.with_vector(torch.cat([first.flatten(1), wide.vector()[:, first[0].numel() :]], 1))
        (gradient,) = torch.autograd.grad(mean_loss(tried, x, y).sum(), first)
        return gradient[:, -1].norm(dim=-1)

    best = strength(new.outgoing)
    assert (best > 1e-4).all()
    rng = torch.Generator().manual_seed(0)
    for _ in range(300 if out > 1 else 1):
        other = torch.randn(new.outgoing.shape, generator=rng, dtype=torch.float64)
        other = other / other.norm(dim=1, keepdim=True) * length.unsqueeze(1)
        # the output bias makes up for the constant, whatever the outgoing weights are
        new = race.Proposal(_bias(nets, other), new.incoming, new.bias, other)
        assert (strength(other) <= best * (1 + 1e-9)).all()


def _bias(nets, outgoing):
    return ReLUNet(nets.weights, (nets.biases[0], nets.biases[1] - BIAS * outgoing.sum(-1)))


def test_gradmax_with_zero_bias_would_be_dead():
    nets, x, y = problem()
    new, wide = grown("gradmax", nets, x, y, 1)
    assert (wide.preactivations(x)[0][..., -1] == BIAS).all()
    asleep = race.Proposal(nets, new.incoming, 0 * new.bias, new.outgoing).widened()
    vector = asleep.vector().requires_grad_()
    (gradient,) = torch.autograd.grad(mean_loss(asleep.with_vector(vector), x, y).sum(), vector)
    moved = asleep.with_vector(gradient)
    assert (moved.weights[0][:, -1] == 0).all()
    assert (moved.weights[1][..., -1] == 0).all()


def test_gradmax_has_more_neurons_than_singular_vectors():
    nets, x, y = problem(1)
    _, wide = grown("gradmax", nets, x, y, 3)
    assert torch.allclose(wide(x), nets(x), rtol=0, atol=1e-12)


def test_twins_of_a_split_share_a_neuron():
    nets, x, y = problem(3, width=6)
    new, _ = grown("split", nets, x, y, 6)  # all of them
    order = torch.cdist(new.incoming, nets.weights[0]).argmin(-1)
    assert (order.sort(-1).values == torch.arange(6)).all()
    assert torch.allclose(new.old.weights[1], nets.weights[1] / 2)
    old = new.old.weights[0].gather(1, order.unsqueeze(-1).expand_as(new.incoming))
    before = nets.weights[0].gather(1, order.unsqueeze(-1).expand_as(new.incoming))
    assert torch.allclose((old + new.incoming) / 2, before, atol=1e-14)
    assert (old != new.incoming).any(-1).all()


def test_folds_are_at_different_mistakes():
    nets, x, y = problem(3, inputs=4, n=60)
    new, _ = grown("fold", nets, x, y, 3)
    assert all(len(torch.unique(bias)) == 3 for bias in new.bias)


@pytest.mark.parametrize("name", METHODS)
def test_no_network_depends_on_its_neighbours(name):
    nets, x, y = problem(3, batch=4)
    together = METHODS[name](nets, x, y, 2, generators(4)).widened()
    alone = METHODS[name](nets[2:3], x[2:3], y[2:3], 2, generators(4)[2:3]).widened()
    assert torch.allclose(together.vector()[2:3], alone.vector(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", METHODS)
def test_a_dead_layer_is_no_trouble(name):
    nets, x, y = problem(3)
    dead = ReLUNet((nets.weights[0], nets.weights[1]), (nets.biases[0] - 100, nets.biases[1]))
    _, wide = grown(name, dead, x, y, 2)
    assert wide.vector().isfinite().all()


def test_bad_input_is_a_sentence():
    nets, x, y = problem()
    with pytest.raises(ValueError, match="at most 4; got 5"):
        race.split(nets, x, y, 5, generators(5))
    with pytest.raises(ValueError, match="at least one new neuron"):
        race.random(nets, x, y, 0, generators(5))
    with pytest.raises(ValueError, match="one generator for each network"):
        race.gradmax(nets, x, y, 1, generators(3))
    with pytest.raises(ValueError, match="one hidden layer"):
        race.random(nets[0], x[0], y[0], 1, generators(1))


def test_only_the_folded_instance_is_left_out_and_none_that_shares_a_coordinate_with_it():
    corners = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    nets = ReLUNet([torch.zeros(1, 1, 2), torch.zeros(1, 2, 1)], [torch.zeros(1, 1), torch.tensor([[1.0, 0.0]])]).to(
        torch.float64
    )
    y = torch.tensor([[0.0, 1.0]], dtype=torch.float64).expand(4, 2)  # the networks say class 0 everywhere
    found = race.folds(nets, corners[None], y[None], 4, [np.random.default_rng(0)])
    assert found.incoming.shape == (1, 4, 2)
    assert found.incoming.isfinite().all()


@pytest.mark.parametrize("incoming", [[1.0, 0.0], [0.0, 1.0]])
def test_a_neuron_that_reads_one_input_and_feeds_one_output_is_kept(monkeypatch, incoming):
    """It is of use though some of its weights are 0: no random one takes its place."""
    nets = ReLUNet.random((2, 3, 2), batch=1, seed=0)
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(1, 40, 2, generator=draw, dtype=torch.float64)
    y = torch.nn.functional.one_hot((x.sum(-1) > 0).long(), 2).double()

    def bare(*given, **named):
        new = optimal_neurons(*given, **named)
        row = torch.tensor([[incoming]], dtype=torch.float64)
        column = torch.tensor([[[0.0], [1.0]]], dtype=torch.float64)  # raises the logit of class 1 where it is awake
        return type(new)(row, torch.zeros_like(row[..., 0]), column, new.singular_values, new.rank, new.gain, new.update)

    monkeypatch.setattr(race, "optimal_neurons", bare)
    found = race.optimal(nets, x, y, 1, [np.random.default_rng(0)])
    assert (found.incoming != 0).tolist() == [[[v != 0 for v in incoming]]]
    assert (found.outgoing != 0).tolist() == [[[False], [True]]]
