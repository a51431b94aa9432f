"""The large runs of the splines part, a few networks and epochs of each, against gradients of autograd and counts on grids."""

import functools
import itertools

import numpy as np
import pytest
import torch

from experiments import breakpoint_init, depth_pieces, relocation, spiky_init, weight_scale, width_smoothness
from experiments._targets import samples
from experiments.runner import short
from foldbook.stored import stored
from foldnet.nets import ReLUNet, stack
from foldnet.splines.breakpoints import spline
from foldnet.splines.depth import DeepSpline, deep_spline
from foldnet.splines.initialization import zero_start


def descended(net: ReLUNet, x, y, lr: float, epochs: int) -> ReLUNet:
    """Gradient descent on half the sum of squared errors as torch does it: one network, points `(n,)`."""
    weights = [p.clone().requires_grad_() for p in (*net.weights, *net.biases)]
    layers = len(net.weights)
    optimizer = torch.optim.SGD(weights, lr)
    for _ in range(epochs):
        h = x[:, None]
        for k in range(layers):
            h = h @ weights[k].mT + weights[layers + k]
            h = h.relu() if k < layers - 1 else h
        loss = ((h[:, 0] - y) ** 2).sum() / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    weights = [p.detach() for p in weights]
    return ReLUNet(weights[:layers], weights[layers:])


def even(reach: float, n: int) -> torch.Tensor:
    return torch.linspace(-reach, reach, n, dtype=torch.float64)  # to the bit: some spikes end on data


def close(a: ReLUNet, b: ReLUNet, atol: float = 1e-12) -> bool:
    return torch.allclose(a.vector(), b.vector(), rtol=1e-9, atol=atol)


def test_breakpoint_init(monkeypatch):
    nets = breakpoint_init.initial(6, 0)
    assert nets.batch_shape == (2, 2, 50)
    assert torch.equal(nets[0, 0].vector(), nets[1, 0].vector())
    for i, reach in enumerate((np.pi, 2.0)):
        beta = -nets[i, 1].biases[0] / nets[i, 1].weights[0][..., 0]
        assert 0.95 * reach < beta.abs().max() <= reach
        assert torch.equal(nets[i, 1].weights[0], nets[i, 0].weights[0])
    trained = breakpoint_init.train(nets, epochs=7)
    x = even(2.0, 40)
    assert close(trained[1, 1, 3], descended(nets[1, 1, 3], x, x**2 / 2, 3e-5, 7))
    monkeypatch.setattr(breakpoint_init, "train", functools.partial(breakpoint_init.train, epochs=7))
    found = breakpoint_init.cell(6, 0)["loss"]
    x = even(np.pi, 401)
    by_hand = 40 * ((trained[0, 1](x[:, None])[..., 0] - torch.sin(2 * x)) ** 2).mean(-1)
    assert found["sine"]["uniform"] == pytest.approx(by_hand.tolist(), rel=1e-4)
    assert [len(found[t][s]) for t in ("sine", "quadratic") for s in ("standard", "uniform")] == [50] * 4


@pytest.mark.parametrize("layers", [1, 4])
def test_depth_pieces_before_training_are_the_stored_ones(layers):
    nets = depth_pieces.initial(layers)
    assert nets.batch_shape == (8, 11, 100)
    assert torch.equal(nets[5, 0].biases[0], nets[7, 3].biases[0])
    assert float(nets[5, 0].biases[0].std()) == pytest.approx(1.0, abs=0.05)
    zero = nets[3, 0]
    assert all(float(b.abs().max()) == 0 for b in zero.biases)
    for w in zero.weights:
        bound = (6 / (w.shape[-1] + w.shape[-2])) ** 0.5
        assert 0.98 * bound < float(w.abs().max()) <= bound
    row = stored("depth_pieces").row(layers=layers).result
    where = [place for k in range(100) for place in kinks(nets[0, 0, k], np.pi, 40_001)]
    ours = np.histogram(where, 50, (-np.pi, np.pi))[0]
    assert np.abs(ours - row["before_bins"]["torch"]["3"]).sum() <= 0.03 * len(where)  # two kinks in one cell of the grid


def kinks(net: ReLUNet, reach: float, n: int = 200_001) -> list[float]:
    """Where the slope of one network changes on a grid: two cells beside a kink, and few kinks share one."""
    x = even(reach, n)
    slope = net(x[:, None])[:, 0].diff() / x.diff()
    jumps = np.flatnonzero((slope.diff().abs() > 1e-7).numpy())
    return [float(x[j + 1]) for j in jumps if j - 1 not in jumps]


def test_depth_pieces_after_training(monkeypatch):
    first = functools.partial(depth_pieces.initial, networks=1)
    monkeypatch.setattr(depth_pieces, "initial", first)
    monkeypatch.setattr(depth_pieces, "EARLY", 10)
    monkeypatch.setattr(depth_pieces, "train", functools.partial(depth_pieces.train, epochs=20))
    trained = depth_pieces.train(first(2)).net
    names = list(depth_pieces.TARGETS)
    x = even(2.0, 40)
    for i, factor in enumerate((1.0, 5.0, 0.05, 1.0)):
        by_hand = descended(first(2)[i, names.index("exponential"), 0], x, torch.exp(x), 3e-5 * factor, 20)
        assert close(trained[i, names.index("exponential"), 0], by_hand, atol=2e-8)  # its rates are in single precision
    found = depth_pieces.table(2)
    cases = (("sum of 40", "sine"), ("sum of 200", "cubic"), ("Adam, wide", "sine"), ("Adam, He, wide", "cubic"))
    for setting, target in cases:
        wide = 2.0 if "wide" in setting else 1.0
        f, reach = depth_pieces.TARGETS[target]
        reach *= wide
        net = trained[list(depth_pieces.SETTINGS).index(setting), names.index(target), 0]
        counted = kinks(net, reach)
        assert found["kinks_inside"][setting][target] == [len(counted), 0.0]
        assert found["bins"][setting][target] == np.histogram(counted, 50, (-reach, reach))[0].tolist()
        x = even(reach, 40)
        y = f(x / wide if target == "sine" else x)
        assert found["loss"][setting][target][0] == pytest.approx(float((net(x[:, None])[:, 0] - y).square().mean()), rel=1e-3)


def test_depth_paths_of_one_layer_are_its_breakpoints(monkeypatch):
    monkeypatch.setattr(depth_pieces, "follow", functools.partial(depth_pieces.follow, networks=2, epochs=800))
    found = depth_pieces.paths("one layer of 60")
    assert np.array(found["first"]).tolist() == [60, 60]
    nets = depth_pieces.follow("one layer of 60")[::4, 0]
    beta = (-nets.biases[0] / nets.weights[0][..., 0]).sort(-1).values
    seen = [row[row.abs() < 1.5 * np.pi] for row in beta]
    assert found["number"] == [[len(row) for row in seen]]
    assert np.allclose(found["place"][0], torch.cat(seen), atol=6e-4)
    with pytest.raises(ValueError, match="got neither"):
        depth_pieces.cell()


def test_width_smoothness():
    nets = width_smoothness.initial(20)
    quiet, loud = (net(even(2.0, 9)[:, None]) - net.biases[-1].unsqueeze(-2) for net in (nets[0], nets[2]))
    assert torch.allclose(loud, 10 * quiet)
    row = stored("width_smoothness").row(target="two lines", width=20).result
    for name, values in width_smoothness.measures(nets, 0.5).items():
        assert np.allclose(row[name]["start"], short(values, 4), rtol=2e-4)
    net = nets[1, 0]  # the slope left and right of each breakpoint, from values alone
    beta = (-net.biases[0] / net.weights[0][:, 0]).sort().values
    ends = torch.cat([beta[:1] - 1, beta, beta[-1:] + 1])
    at = (ends[1:] + ends[:-1]) / 2
    step = 1e-3 * ends.diff()
    slope = (net((at + step)[:, None]) - net((at - step)[:, None]))[:, 0] / (2 * step)
    jumps = slope.diff().abs()
    assert float(jumps.square().sum()) == pytest.approx(float(width_smoothness.measures(nets, 2.0)["roughness"][1, 0]), rel=1e-6)
    inside = jumps[beta.abs() < 0.5]
    found = {name: float(v[1, 0]) for name, v in width_smoothness.measures(nets, 0.5).items()}
    assert found["largest_jump"] == pytest.approx(float(inside.max()), rel=1e-6)
    assert found["total_bend"] == pytest.approx(float(inside.sum()), rel=1e-6)
    x = torch.cat([torch.linspace(-2, -0.5, 20), torch.linspace(0.5, 2, 20)]).double()
    trained = width_smoothness.train(nets[:, :2], "two lines", epochs=9).net
    assert close(trained[2, 1], descended(nets[2, 1], x, x.abs() - 1, 3e-5, 9))


def test_a_cell_of_width_smoothness(monkeypatch):
    monkeypatch.setattr(width_smoothness, "initial", functools.partial(width_smoothness.initial, networks=2))
    monkeypatch.setattr(width_smoothness, "EARLY", 3)
    monkeypatch.setattr(width_smoothness, "train", functools.partial(width_smoothness.train, epochs=9))
    found = width_smoothness.cell("sharp", 20)
    trained = width_smoothness.train(width_smoothness.initial(20), "sharp").net
    x = even(2.0, 40)
    y = (4 * x).clamp(-1, 1)
    assert np.allclose(found["loss"], (trained(x[:, None])[..., 0] - y).square().mean(-1), rtol=1e-3)
    assert np.allclose(found["curves"][1], trained[1, 0](even(2.0, 161)[:, None])[:, 0], atol=6e-5)
    for name in ("roughness", "largest_jump", "total_bend"):
        assert sorted(found[name]) == ["early", "end", "start"]


def test_a_cell_of_relocation(monkeypatch):
    monkeypatch.setattr(relocation, "EPOCHS", 30)
    monkeypatch.setattr(relocation, "NETWORKS", 3)
    for variant in ("moves", "flat moves", "random moves"):
        monkeypatch.setitem(relocation.VARIANTS, variant, {**relocation.VARIANTS[variant], "moves": 2, "every": 10})
    found = relocation.cell(4)
    x = even(2.0, 40)
    y = x**2 / 2
    by_hand = descended(relocation.initial(4)[1, 2], x, y, 5e-4, 30)
    left = float((by_hand(x[:, None])[:, 0] - y).square().sum() / 2)
    assert found["loss"]["quadratic"]["plain"][2] == pytest.approx(left, rel=1e-4)
    for target, optimum in found["optimum"].items():
        assert optimum[1] <= optimum[0]
        assert all(optimum[1] <= loss for variant in found["loss"][target].values() for loss in variant)
        assert found["loss"][target]["plain"] != found["loss"][target]["uniform start"]
    assert found["loss"]["quadratic"]["random moves"][2] == pytest.approx(shaken_by_hand(x, y), rel=1e-4)


def shaken_by_hand(x, y):
    """The loss of the third of three networks after 30 steps with two random moves on the way, neuron by neuron."""

    def loss(net):
        return float((net(x[:, None])[:, 0] - y).square().sum() / 2)

    net = relocation.initial(4)[1, 2]
    drawn = np.random.default_rng(2004).uniform(-1, 1, (2, 3, 40))[:, 2]
    for place, side in drawn.T[:2]:
        net = descended(net, x, y, 5e-4, 10)
        without = []
        for neuron in range(4):
            out = net.weights[1].clone()
            out[0, neuron] = 0
            without.append(loss(ReLUNet([net.weights[0], out], net.biases)))
        moved = int(np.argmin(without))
        (first, out), (b, c) = ([t.clone() for t in part] for part in (net.weights, net.biases))
        first[moved, 0], b[moved], out[0, moved] = np.sign(side), -np.sign(side) * 2 * place, 0
        net = ReLUNet([first, out], [b, c])
    return loss(descended(net, x, y, 5e-4, 10))


@pytest.mark.parametrize("shape", ["shallow", "deep"])
def test_a_cell_of_spiky_init(monkeypatch, shape):
    monkeypatch.setattr(spiky_init, "initial", functools.partial(spiky_init.initial, networks=2))
    monkeypatch.setattr(spiky_init, "EPOCHS", 6)
    monkeypatch.setattr(spiky_init, "EARLY", 3)
    found = spiky_init.cell("cubic", shape, "gd", 1.5)
    start, apex, signs = spiky_init.initial("cubic", shape, 1.5)
    x, grid, half = even(3.0, 20), even(3.0, 401), 3.0 / 19
    for j, k in ((0, 0), (1, 1), (0, 2), (1, 3)):  # init and start
        for epochs, name in ((3, "early_error"), (6, "error")):
            net = descended(start[j, k, 1], x, x**3, 3e-5, epochs)
            by_hand = float((net(grid[:, None])[:, 0] - grid**3).square().sum())
            assert found[name][j][k][1] == pytest.approx(by_hand, rel=1e-3)
        assert found["loss"][j][k][1] == pytest.approx(float((net(x[:, None])[:, 0] - x**3).square().mean()), rel=1e-3)
        off = lambda t, net=net: net(t[:, None])[:, 0] - t**3  # noqa: E731
        a = apex[k, 1]
        left = (signs[k, 1] * (off(a) - (off(a - half) + off(a + half)) / 2)).mean()
        assert found["spikes"][j][k][1] == pytest.approx(float(left), rel=1e-3, abs=1e-3)
    assert "curves" not in found
    assert [np.shape(v) for v in spiky_init.cell("sine", "shallow", "gd", 1.0).values()] == [(2, 4, 2)] * 4 + [(4, 381)] * 2


def test_a_cell_of_weight_scale(monkeypatch):
    monkeypatch.setattr(weight_scale, "WIDTH", 40)
    found = weight_scale.cell("gd", 20)
    before, trained = weight_scale.train("gd", 20)
    x, y = map(torch.as_tensor, weight_scale.data())
    net = descended(before[2, 4], x[2], y[2], 1e-3 * 2 / 5, 20)  # alpha = 1; the mean over five points, not half the sum
    assert close(trained.net[2, 4], net)
    assert found["loss"][2][4] == pytest.approx(float((net(x[2][:, None])[:, 0] - y[2]).square().mean()), rel=5e-3)
    beta = [-n.biases[0] / n.weights[0][:, 0] for n in (before[2, 4], net)]
    among = (beta[0] > x[2, 0]) & (beta[0] < x[2, -1])
    near = (beta[1][:, None] - x[2]).abs().amin(-1)
    assert found["near"][2][4][-1] == pytest.approx(float(near[among].median()), rel=1e-3)
    assert found["moved"][2][4][-1] == pytest.approx(float((beta[1] - beta[0]).abs()[among].median()), rel=1e-3)
    assert np.shape(found["bends"]) == (8, 100)


def deep(seed: int) -> ReLUNet:
    """He weights with normal biases: breakpoints everywhere."""
    net = ReLUNet.random((1, 5, 5, 5, 1), batch=3, init="he", seed=seed)
    rng = np.random.default_rng(seed + 1)
    return ReLUNet(net.weights, [0.5 * rng.normal(size=tuple(b.shape)) for b in net.biases])


def test_movement_of_one_neuron_by_hand():
    """A breakpoint goes 0 -> 1 -> 1.5; a neuron above it has none, then one, then none."""
    nets = [ReLUNet([[[1.0]], [[1.0]], [[1.0]]], [[-t], [b], [0.0]]) for t, b in ((0.0, 1.0), (1.0, -1.0), (1.5, 1.0))]
    found = depth_pieces.movement(deep_spline(stack([stack([n]) for n in nets])), 2, -2.0, 2.0)
    assert {k: v.tolist() for k, v in found.items()} == {
        "moves": [[2, 0]],
        "distance": [[1.5, 0.0]],
        "births": [[0, 1]],
        "deaths": [[0, 1]],
    }
    assert depth_pieces.movement(deep_spline(stack([stack([n]) for n in nets])), 2, -2.0, 1.2)["distance"].tolist() == [
        [1.0, 0.0]
    ]


def test_movement_is_what_a_loop_finds():
    start, step = deep(8), deep(9)
    nets = stack([start.with_vector(start.vector() + 0.05 * t * step.vector()) for t in range(12)])
    found = depth_pieces.movement(deep_spline(nets), 3, -3.0, 3.0)
    for i in range(3):
        places = [neurons(deep_spline(nets[t, i])) for t in range(12)]
        by_layer = np.zeros((4, 3))
        for before, after in itertools.pairwise(places):
            for key in before:
                column, change = by_layer[:, key[0]], len(after[key]) - len(before[key])
                column[2 if change > 0 else 3] += abs(change)
                pairs = [(a, b) for a, b in zip(before[key], after[key]) if change == 0 and max(abs(a), abs(b)) <= 3]
                column[:2] += len(pairs), sum(abs(a - b) for a, b in pairs)
        assert np.allclose([found[k][i] for k in ("moves", "distance", "births", "deaths")], by_layer)
    assert found["births"].sum() > 0
    assert found["deaths"].sum() > 0


def neurons(f: DeepSpline) -> dict:
    """The sorted breakpoints of each of five neurons in three layers."""
    pick = lambda layer, i: f.switches & (f.layer == layer) & (f.neuron == i)  # noqa: E731
    return {(layer, i): sorted(f.place[f.vertex[pick(layer, i)]]) for layer in range(3) for i in range(5)}


def test_distance_to_data():
    x, net = [-0.9, -0.5, 0.1, 0.4, 0.8], zero_start(40, 1.5, 1.0)
    brute = [min(abs(b - at) for at in x) for b in spline(net).breakpoints.tolist()]
    assert np.allclose(weight_scale.distance_to_data(net, torch.tensor(x, dtype=torch.float64)), brute)


def test_spikes_are_invisible_at_the_data_and_as_high_as_said():
    for shape in spiky_init.SHAPES:
        nets, apex, signs = spiky_init.initial("sine", shape, networks=3)
        x = spiky_init.places("sine")
        weights = [w.clone() for w in nets.weights]
        weights[-1][..., : 24 if shape == "shallow" else 8] = 0.0  # without what carries the spikes
        quiet = ReLUNet(weights, nets.biases)
        seen = (nets(x[:, None]) - quiet(x[:, None])).abs()[..., 0]
        assert seen[:, 1:3].max() < 1e-12
        assert torch.allclose(seen[:, 3].sum(-1), torch.tensor(8.0).double())  # eight data points, each off by 1
        height = spiky_init.spikes(nets, "sine", apex, signs) - spiky_init.spikes(quiet, "sine", apex, signs)
        assert torch.allclose(height[:, 1:], torch.tensor([1.0, 1.75, 1.0]).double()[:, None].expand(3, 3), atol=1e-12)


def test_weight_scale_data_are_five_separate_points():
    x, y = weight_scale.data()
    assert x.shape == y.shape == (8, 5)
    assert np.diff(x).min() > 0.19


def test_data_of_one_target_and_of_none_there_is():
    assert torch.equal(samples("sine", 5)[1], samples(["sine"], 5)[1])
    with pytest.raises(ValueError, match=r"targets are sine, .*; got 'sinus'"):
        samples(["sine", "sinus"], 5)
