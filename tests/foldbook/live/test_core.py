"""The mathematics in the pages is the mathematics of the package: the same numbers to 1e-12, on networks that hypothesis draws.

Each `same_...` compares one module of `live/core` with `foldnet` or with arithmetic written out here. Hypothesis calls them with
the core as it is; at the end each is called with a core in which one line was broken, and has to notice.
"""

from __future__ import annotations

import functools
import json
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from foldbook.chapters import optima_plane
from foldbook.sheet import line, sheet_network
from foldnet import ReLUNet
from foldnet.boolean import capacity
from foldnet.boolean.swaps import class_changes, swaps
from foldnet.geometry.vision import affine_at
from foldnet.growth.amplitude import best_amplitude
from foldnet.growth.expressivity import best_update, desired_update, layer_inputs
from foldnet.growth.folding import fold
from foldnet.growth.neurons import optimal_neurons
from foldnet.growth.widen import widen
from foldnet.piecewise.text import to_json
from foldnet.splines import dynamics, initialization
from foldnet.splines.breakpoints import pieces, spline
from foldnet.splines.depth import deep_pieces, deep_spline
from foldnet.splines.initialization import breakpoint_grid
from foldnet.splines.landscape import breakpoint_slice
from foldnet.splines.smoothing import minimum_norm
from foldnet.train import fit

pytestmark = pytest.mark.browser
FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

# exact zeros and repeated values on purpose: dead neurons, equal creases, points on a crease
numbers = st.one_of(st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5]), st.floats(-3, 3).map(lambda v: round(v, 6)))


@st.composite
def networks(draw, inputs=(1, 2, 3), hidden=(1, 2), outputs=(1, 2, 3), widest=6):
    """A network as weights and biases, now and then with a neuron that stands there twice."""
    sizes = [draw(st.sampled_from(inputs)), *(draw(st.integers(1, widest)) for _ in range(draw(st.sampled_from(hidden))))]
    sizes.append(draw(st.sampled_from(outputs)))
    weights = [draw(st.lists(st.lists(numbers, min_size=i, max_size=i), min_size=o, max_size=o)) for i, o in pairwise(sizes)]
    biases = [draw(st.lists(numbers, min_size=o, max_size=o)) for o in sizes[1:]]
    if sizes[1] > 1 and draw(st.booleans()):
        weights[0][1], biases[0][1] = weights[0][0], biases[0][0]
    return weights, biases, draw(st.sampled_from([0.0, 0.0, 0.1]))


def close(got, want, size: float = 1.0) -> None:
    want = np.asarray(want, float)
    np.testing.assert_allclose(np.asarray(got, float).reshape(want.shape), want, rtol=1e-12, atol=1e-12 * max(1.0, size))


def example(seed: int, sizes=(2, 5, 4, 2), leak: float = 0.0):
    """A network of plain lists without special numbers."""
    rng = np.random.default_rng(seed)
    pairs = list(pairwise(sizes))
    return [rng.normal(size=(o, i)).tolist() for i, o in pairs], [rng.normal(size=o).tolist() for _, o in pairs], leak


# ---- net -----------------------------------------------------------------------------------------------------------------


def same_network(core, network, x):
    weights, biases, leak = network
    net, flat = ReLUNet(weights, biases, leak), np.ravel(x).tolist()
    x = np.asarray(x, float).reshape(-1, net.sizes[0])
    size = float(max(z.abs().max() for z in [*net.preactivations(x), net(x)]))
    made = "net.network(weights, biases, leak)"
    given_ = {"weights": weights, "biases": biases, "leak": leak}
    close(core(f"{made}.theta", **given_), net.vector())
    layers = core(f"net.preactivations({made}, x)", x=flat, **given_)
    for got, want in zip(layers, [*net.preactivations(x), net(x)], strict=True):
        close(got, want, size)
    for point in x:
        on = core(f"net.pattern({made}, x)", x=point.tolist(), **given_)
        slope, constant = (a[0].numpy() for a in affine_at(net, point[None]))
        rows = np.array(core(f"net.affine({made}, x)", x=point.tolist(), **given_))
        sure = all((z.abs() > 1e-9 * size).all() or (z.abs() < 1e-300).all() for z in net.preactivations(point[None]))
        if sure or len(net.sizes) == 2:
            assert on == net.pattern(point[None])[0].tolist()
            close(rows[:, :-1], slope, size)
            close(rows[:, -1], constant, size)


def same_wider_network(core, network):
    weights, biases, leak = network
    net = ReLUNet(weights, biases, leak)
    incoming, bias, outgoing = np.arange(net.sizes[0]) + 0.5, 0.25, np.arange(net.sizes[2]) - 0.5
    want = widen(net, 0, incoming[None], [bias], outgoing[:, None])
    words = "net.widen(net.network(weights, biases, leak), 0, incoming, bias, outgoing).theta"
    new = {"incoming": incoming.tolist(), "bias": bias, "outgoing": outgoing.tolist()}
    close(core(words, weights=weights, biases=biases, leak=leak, **new), want.vector())


def test_a_network_as_text_is_that_of_python_or_refused(core):
    net = ReLUNet.random((2, 5, 3, 1), leak=0.1, seed=3)
    text = to_json(net)
    close(core("written.parse(text).theta", text=text), net.vector())
    assert core("written.parse(text).leak", text=text) == 0.1
    other = json.loads(text)
    wrong = [
        {**other, "foldnet": 2},
        {**other, "leak": None},
        {**other, "biases": other["biases"][:-1]},
        {**other, "weights": [[[1.0]]]},
    ]
    for bad in ("no", "[]", "null", *map(json.dumps, wrong)):
        said = core("(() => { try { written.parse(text); return ''; } catch (error) { return error.message; } })()", text=bad)
        assert "net.to_json()" in said, bad


@FEW
@given(network=networks(), data=st.data())
def test_a_network_computes_what_it_computes_in_python(core, network, data):
    x = data.draw(st.lists(st.lists(numbers, min_size=(n := len(network[0][0][0])), max_size=n), min_size=1, max_size=4))
    same_network(core, network, x)
    same_wider_network(core, network)


# ---- train ---------------------------------------------------------------------------------------------------------------


def same_training(core, loss: str, optimizer: str, network, steps: int = 1000, rate: float = 0.01, n: int = 20):
    weights, biases, leak = network
    net, rng = ReLUNet(weights, biases, leak), np.random.default_rng(5)
    x = rng.normal(size=(n, net.sizes[0]))
    y = rng.normal(size=(n, net.sizes[-1]))
    y = (y > 0).astype(float) if loss == "bce" else np.exp(y) / np.exp(y).sum(1, keepdims=True) if loss == "cross_entropy" else y
    rate = rate / n if loss == "half_sum" else rate
    want = fit(net, x, y, loss=loss, optimizer=optimizer, lr=rate, epochs=steps, every=steps, progress=False, engine="torch")
    words = """(() => {
      const made = net.network(weights, biases, leak), trainer = new train.Trainer(made, x, y, { loss, optimizer, rate });
      const first = trainer.loss();
      for (let k = 0; k < steps; k++) trainer.step();
      return { theta: made.theta, first, last: trainer.loss() };
    })()"""
    how = {"weights": weights, "biases": biases, "leak": leak, "x": x.ravel().tolist(), "y": y.ravel().tolist(), "steps": steps}
    got = core(words, loss=loss, optimizer=optimizer, rate=rate, **how)
    close([got["first"], got["last"]], want.loss.numpy())
    # rounding grows a little over a thousand steps: 1e-15 a step, well below what any change of a formula does
    np.testing.assert_allclose(got["theta"], want.net.vector().numpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("loss", ["mse", "half_sum", "bce", "cross_entropy"])
@pytest.mark.parametrize("optimizer", ["gd", "adam"])
def test_a_thousand_steps_are_those_of_fit(core, loss, optimizer):
    same_training(core, loss, optimizer, example(3, (2, 6, 3), leak=0.1 if loss == "mse" else 0.0))


@FEW
@given(network=networks(), optimizer=st.sampled_from(["gd", "adam"]), loss=st.sampled_from(["mse", "bce"]))
def test_a_few_steps_from_any_network_are_those_of_fit(core, network, optimizer, loss):
    same_training(core, loss, optimizer, network, steps=3)


def test_frozen_parameters_stay(core):
    words = """(() => {
      const made = net.network([[[1], [-1], [0.5]], [[1, 2, -1]]], [[0.5, 0, 1], [0]]);
      const free = [...made.theta].map((_, k) => k === 2 || k === 7);
      const before = [...made.theta], trainer = new train.Trainer(made, [0.3, -1], [1, 2], { rate: 0.1, free });
      for (let k = 0; k < 5; k++) trainer.step();
      return [...made.theta].map((v, k) => v !== before[k]);
    })()"""
    assert [k for k, moved in enumerate(core(words)) if moved] == [2, 7]


# ---- spline --------------------------------------------------------------------------------------------------------------


def same_spline(core, w, b, v, offset):
    net = ReLUNet([np.array(w)[:, None], np.array([v])], [b, [offset]])
    want, cut = spline(net), pieces(net)
    given_ = {"w": w, "b": b, "v": v, "offset": offset}
    got = core("spline.spline(w, b, v, offset)", **given_)
    size = float(want.delta_slopes.abs().max() * want.breakpoints[want.breakpoints.isfinite()].abs().max()) if any(w) else 1.0
    close([h["beta"] for h in got["hinges"]], want.breakpoints, size)
    close([h["mu"] for h in got["hinges"]], want.delta_slopes)
    assert [h["side"] for h in got["hinges"]] == want.orientations.tolist()
    close(got["offset"], want.offset)
    found = core("spline.pieces(spline.spline(w, b, v, offset))", **given_)
    close(found["knots"], cut.knots, size)
    close(found["slopes"], cut.slopes, size)
    close(found["intercepts"], cut.intercepts, size)
    x = np.linspace(-4, 4, 17)
    values = core("x.map((t) => spline.value(spline.spline(w, b, v, offset), t))", x=x.tolist(), **given_)
    close(values, net(x[:, None])[:, 0], size)


@FEW
@given(neurons=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=8), offset=numbers)
def test_a_spline_is_the_spline_of_its_network(core, neurons, offset):
    same_spline(core, *map(list, zip(*neurons)), offset)


def same_laws(core):
    """Cauchy's density, and what uniform weights give, against a histogram of their quotient."""
    x = np.linspace(-4, 4, 33)
    for ratio in (0.3, 1.0, 2.5):
        got = core("x.map((t) => spline.density('normal', t, ratio))", x=x.tolist(), ratio=ratio)
        close(got, initialization.breakpoint_density(x, 1.0, ratio))
        assert core("spline.share('normal', ratio, ratio)", ratio=ratio) == pytest.approx(0.5, abs=1e-14)
        rng = np.random.default_rng(0)
        quotient = np.abs(ratio * rng.uniform(-1, 1, 400_000) / rng.uniform(-1, 1, 400_000))
        for r in (0.5, 1.0, 3.0):
            assert core("spline.share('uniform', r, ratio)", r=r, ratio=ratio) == pytest.approx((quotient <= r).mean(), abs=0.003)
        for law in ("normal", "uniform", "even"):
            step = 4e-4
            words = "Array.from({ length: 10000 }, (_, i) => spline.density(law, -2 + (i + 0.5) * step, ratio) * step)"
            total = math.fsum(core(words, law=law, ratio=ratio, step=step))
            assert total == pytest.approx(core("spline.share(law, 2, ratio)", law=law, ratio=ratio), abs=1e-4)


def test_the_laws_of_breakpoints(core):
    same_laws(core)


# ---- random --------------------------------------------------------------------------------------------------------------


def xoshiro(seed: int, count: int) -> list[int]:
    """xoshiro128** with Python's whole numbers."""
    word, state, s = 2**32 - 1, seed & (2**32 - 1), []
    for _ in range(4):
        state = (state + 0x9E3779B9) & word
        z = ((state ^ (state >> 16)) * 0x21F0AAAD) & word
        z = ((z ^ (z >> 15)) * 0x735A2D97) & word
        s.append(z ^ (z >> 15))
    out = []
    for _ in range(count):
        t = (s[1] * 5) & word
        out.append((((t << 7 | t >> 25) & word) * 9) & word)
        t = (s[1] << 9) & word
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = (s[3] << 11 | s[3] >> 21) & word
    return out


def same_random(core, seed):
    bits = core("(() => { const r = new random.Random(seed); return Array.from({ length: 50 }, () => r.bits()); })()", seed=seed)
    assert bits == xoshiro(seed, 50)
    draws = "(() => { const r = new random.Random(seed); return Array.from({ length: 20000 }, () => r.%s()); })()"
    assert stats.kstest(core(draws % "uniform", seed=seed), "uniform").pvalue > 1e-4
    normal = core(draws % "normal", seed=seed)
    assert stats.kstest(normal, "norm").pvalue > 1e-4
    assert np.std(normal) == pytest.approx(1, abs=0.025)  # five standard errors


@pytest.mark.parametrize("seed", [0, 1, 7, 2**32 - 1])
def test_random_numbers(core, seed):
    same_random(core, seed)


# ---- regions -------------------------------------------------------------------------------------------------------------

FRAME = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]


def same_regions(core, network):
    """Areas add up, each polygon has the pattern and the affine map of its middle, and the boundary is where the output is 0."""
    weights, biases, leak = network
    net = ReLUNet(weights, biases, leak)
    given_ = {"weights": weights, "biases": biases, "leak": leak, "frame": FRAME}
    found = core("regions.regions(net.network(weights, biases, leak), frame)", **given_)
    areas = core("regions.regions(net.network(weights, biases, leak), frame).map((r) => regions.area(r.corners))", **given_)
    assert math.fsum(areas) == pytest.approx(4.0, abs=1e-11)
    big = [r for r, a in zip(found, areas) if a > 1e-8]
    middles = np.array([np.mean(r["corners"], axis=0) for r in big])
    # the middle of each lies inside, away from every crease unless the neuron is constant
    patterns = net.pattern(middles).numpy()
    depth = torch.cat([z.abs() for z in net.preactivations(middles)], -1).numpy()
    slope, constant = (a.numpy() for a in affine_at(net, middles))
    size = max(1.0, float(np.abs(slope).max()), float(np.abs(constant).max()))
    for k, region in enumerate(big):
        mine = np.isin(np.arange(patterns.shape[1]), region["on"])
        assert (mine == patterns[k])[depth[k] > 1e-9].all()
        rows = np.array(region["rows"]).reshape(-1, 3)
        if (depth[k] > 1e-9).all():
            close(rows[:, :2], slope[k], size)
            close(rows[:, 2], constant[k], size)
    # a fine grid sees no pattern that the polygons lack
    side = np.linspace(-0.997, 0.997, 60)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    seen = net.pattern(grid).numpy()
    sure = (torch.cat([z.abs() for z in net.preactivations(grid)], -1).numpy() > 1e-6).all(1)
    known = {frozenset(r["on"]) for r in found}
    assert {frozenset(np.flatnonzero(p).tolist()) for p in np.unique(seen[sure], axis=0)} <= known
    border = core("regions.boundary(regions.regions(net.network(weights, biases, leak), frame))", **given_)
    if border:
        ends = np.array(border).reshape(-1, 2)
        assert float(net(ends)[:, 0].abs().max()) < 1e-11 * size
    return found, border


@FEW
@given(network=networks(inputs=(2,), outputs=(1, 2), widest=5))
def test_the_regions_of_the_plane(core, network):
    same_regions(core, network)


def test_the_boundary_is_found_wherever_the_sign_changes(core):
    """Along a fine grid of lines every change of sign lies on a piece of the boundary."""
    network = example(11, (2, 8, 6, 1))
    net, (_, border) = ReLUNet(*network), same_regions(core, network)
    side = np.linspace(-1, 1, 81)
    values = net(np.stack(np.meshgrid(side, side), -1).reshape(-1, 2))[:, 0].numpy().reshape(81, 81)
    changes = np.argwhere(np.diff(np.sign(values), axis=1) != 0)
    ends = np.array(border)
    assert len(changes) > 20
    for i, j in changes:
        p = np.array([(side[j] + side[j + 1]) / 2, side[i]])
        way = ends[:, 1] - ends[:, 0]
        t = np.clip(((p - ends[:, 0]) * way).sum(1) / np.maximum((way**2).sum(1), 1e-30), 0, 1)
        assert np.linalg.norm(ends[:, 0] + t[:, None] * way - p, axis=1).min() < 0.0126


# ---- fold ----------------------------------------------------------------------------------------------------------------


def same_fold(core, network, seed: int, size: float = 0.3, angle: float = 0.6, exact: bool = True):
    weights, biases, _ = network
    net, rng = ReLUNet(weights, biases), np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (30, 2)).round(6)
    y = (rng.uniform(size=30) < 0.5).astype(int)
    y[:2] = 0, 1
    want = fold(net, x, y, size=size, angle=angle)
    chosen = int(np.flatnonzero((x == want.instance.numpy()).all(1))[0])
    given_ = {"weights": weights, "biases": biases, "x": x.ravel().tolist(), "y": y.tolist()}
    got = core(
        "fold.fold(net.network(weights, biases), x, y, chosen, size, angle)", chosen=chosen, size=size, angle=angle, **given_
    )
    assert got["flat"] == bool(want.flat)
    close(got["normal"], want.normal, float(want.normal.abs().max()))
    close(got["point"], want.point, float(want.point.abs().max()))
    assert got["inside"] == bool(want.inside)
    wrong = (net(x)[:, 0].numpy() > 0) != (y > 0.5)
    assert core("fold.mistakes(net.network(weights, biases), x, y)", **given_) == np.flatnonzero(wrong).tolist()
    if exact:  # of two ways to turn with equal pull either will do
        close(got["incoming"], want.incoming[0], float(want.incoming.abs().max()))
        close(got["bias"], want.bias[0], 1e3)
        close(got["outgoing"], want.outgoing[0, 0], 1.0)


@pytest.mark.parametrize("seed", range(12))
def test_a_fold_is_that_of_the_package(core, seed):
    same_fold(core, example(seed, (2, 4, 1)), seed)


def test_a_fold_of_a_flat_network_goes_between_the_classes(core):
    same_fold(core, ([[[0.0, 0.0]], [[1.0]]], [[-1.0], [0.5]], 0.0), 3)


# ---- slices and smallest fits ---------------------------------------------------------------------------------------------


def same_slice(core, w, b, v, offset, x, y, neuron):
    net = ReLUNet([np.array(w)[:, None], np.array([v])], [b, [offset]])
    want = breakpoint_slice(spline(net), neuron, x, y)
    words = "spline.slice(spline.spline(w, b, v, offset), neuron, x, y)"
    got = core(words, w=w, b=b, v=v, offset=offset, neuron=neuron, x=list(x), y=list(y))
    size = float(want.constant.max())
    close([g["curvature"] for g in got], want.curvature, size)
    close([g["slope"] for g in got], want.slope, size)
    close([g["constant"] for g in got], want.constant, size)


@FEW
@given(neurons=st.lists(st.tuples(st.sampled_from([1.0, -1.0, 0.5]), numbers, numbers), min_size=1, max_size=5), data=st.data())
def test_the_loss_along_a_breakpoint_is_that_of_the_package(core, neurons, data):
    x = np.cumsum(data.draw(st.lists(st.floats(0.1, 1), min_size=2, max_size=7))) - 2
    y = data.draw(st.lists(numbers, min_size=len(x), max_size=len(x)))
    same_slice(core, *map(list, zip(*neurons)), 0.25, x, y, data.draw(st.integers(0, len(neurons) - 1)))


def same_smallest_fit(core, x, y, width):
    beta, side = breakpoint_grid(width, 3.0, facing="both")
    got = core("spline.minimumNorm(x, y, beta, side)", x=x, y=y, beta=beta.tolist(), side=side.tolist())
    want = minimum_norm(x, y, beta, side).delta_slopes
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9 * float(want.abs().max()))  # two ways to solve one system


@pytest.mark.parametrize("width", [20, 60, 200])
def test_the_smallest_fit_is_that_of_the_package(core, width):
    same_smallest_fit(core, [-2.0, -1.0, 0.0, 0.8, 2.0], [-0.5, 0.8, -0.6, 0.9, 0.2], width)


def test_data_that_cannot_be_told_apart_have_no_smallest_fit(core):
    assert core("spline.minimumNorm([0.1, 0.2, 0.3], [0, 1, 0], [-1, 1], [1, -1])") is None


# ---- dynamics --------------------------------------------------------------------------------------------------------------


def same_motion(core, w, b, v, offset, x, y, exact: bool = True):
    """Speeds of the bends; and the move of the least missed one, in its weights or, where two moves are as good, in its loss."""
    net = ReLUNet([np.array(w)[:, None], np.array([v])], [b, [offset]])
    given_ = {"f": {"w": w, "b": b, "v": v, "offset": offset}, "x": list(x), "y": list(y)}
    close(core("dynamics.deep(dynamics.shallow(dynamics.deep(f))).theta", **given_), net.vector())
    on = core("dynamics.seen(f, x)", **given_)
    assert on == net.pattern(np.array(x)[:, None]).sum(0).tolist()
    speeds = core("dynamics.velocity(f, x, y)", **given_)
    if all(w) and not np.isin(spline(net).breakpoints, x).any():  # else there is no law
        want = dynamics.velocity(net, x, y)
        size = float(max(want.breakpoints.abs().max(), want.delta_slopes.abs().max()))
        close([s["beta"] for s in speeds], want.breakpoints, size)
        close([s["mu"] for s in speeds], want.delta_slopes, size)
    want, got = dynamics.relocate(net, x, y), core("dynamics.relocate(f, x, y)", **given_)
    after = got["f"] if got else given_["f"]
    moved = ReLUNet([np.array(after["w"])[:, None], [after["v"]]], [after["b"], [after["offset"]]])
    before = float(dynamics.loss(net, x, y))
    close(dynamics.loss(moved, x, y), dynamics.loss(want, x, y), 10 * before)
    if exact:
        assert got["moved"] == int((want.weights[0] != net.weights[0])[:, 0].nonzero()[0, 0])
        close(moved.vector(), want.vector(), float(want.vector().abs().max()))


@FEW
@given(neurons=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=6), data=st.data())
def test_bends_move_as_in_the_package(core, neurons, data):
    x = np.cumsum(data.draw(st.lists(st.floats(0.1, 1), min_size=2, max_size=8))) - 2
    y = data.draw(st.lists(numbers, min_size=len(x), max_size=len(x)))
    same_motion(core, *map(list, zip(*neurons)), 0.25, x, y, exact=False)


def some_motion(core):
    x, y = np.linspace(-2, 2, 9), np.sin(2 * np.linspace(-2, 2, 9)).tolist()
    same_motion(core, [1.0, -0.8, 0.6], [0.3, 0.5, -0.7], [0.9, -0.4, 0.05], 0.1, x, y)


def test_a_bend_is_not_moved_where_nothing_is_gained(core):
    some_motion(core)
    fitted = {"w": [1.0, -1.0], "b": [-0.5, 0.5], "v": [1.0, 1.0], "offset": 0.0}
    assert core("dynamics.relocate(f, [0, 1, 2], [0.5, 0.5, 1.5])", f=fitted) is None
    assert core("dynamics.relocate(f, [], [])", f=fitted) is None
    assert math.isnan(core("dynamics.velocity({ w: [0], b: [1], v: [1], offset: 0 }, [1], [0])")[0]["beta"])


# ---- bottleneck ------------------------------------------------------------------------------------------------------------


def half(f, y):
    return 0.5 * (f - y).square().sum(-1)


def same_bottleneck(core, w, b, v, offset, x, y):
    """The best move of the old weights and the optimal neuron against the package, the best bend against a fine grid."""
    x, y = np.array(x), np.array(y)
    net = ReLUNet([np.array(w)[:, None], np.array([v])], [b, [offset]])
    given_ = {"f": {"w": w, "b": b, "v": v, "offset": offset}, "x": x.tolist(), "y": y.tolist()}
    goal = desired_update(net, 1, x[:, None], y[:, None], half)
    rest = core("bottleneck.asked(f, x, y)", **given_)
    size = max(1.0, float(goal.abs().max()))
    close(rest, goal[:, 0], size)
    inputs = layer_inputs(net, x[:, None])[1]
    update, columns = best_update(inputs, goal), np.column_stack([inputs.numpy(), np.ones(len(x))])
    after = core("bottleneck.settled(f, x, y)", **given_)
    still = ReLUNet([np.array(w)[:, None], [after["v"]]], [b, [after["offset"]]])
    wanted = update.rest(goal)[:, 0].numpy()
    np.testing.assert_allclose(y - still(x[:, None])[:, 0].numpy(), wanted, atol=1e-9 * size)  # the package squares the condition
    change = np.append(np.array(after["v"]) - v, after["offset"] - offset)
    smallest = np.linalg.lstsq(columns, goal[:, 0].numpy(), rcond=1e-10)[0]
    np.testing.assert_allclose(change, smallest, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(smallest).max()))

    new = optimal_neurons(net, 0, x[:, None], y[:, None], k=1, loss=half, old="kept")
    found = core("bottleneck.optimalNeuron(x, bottleneck.asked(f, x, y))", **given_)
    assert (found is None) == (int(new.rank) == 0)
    if found:
        want = np.array([new.incoming[0, 0], new.bias[0], new.outgoing[0, 0]])
        got = np.array([found["w"], found["b"], found["v"]])
        pull = float((np.abs(x * want[0] + want[1]) * goal[:, 0].numpy()).sum())
        sign = 1.0 if abs(pull) > 1e-9 * size else np.sign(got[2] * want[2])  # where both ways gain the same, either will do
        np.testing.assert_allclose(sign * got, want, rtol=1e-11, atol=1e-11 * size)
        close(found["singular"], new.singular_values[0], size)
        theirs = best_amplitude(net, 0, new, x[:, None], y[:, None], half)
        ours = core("bottleneck.amplitude(n, x, bottleneck.asked(f, x, y))", n=dict(zip("wbv", want.tolist())), **given_)
        if 1e-3 < float(theirs.amplitude) < 1e3:
            assert ours["amplitude"] == pytest.approx(float(theirs.amplitude), rel=1e-3)
        assert float(theirs.loss) * (1 - 1e-6) - 1e-12 <= ours["loss"] <= float(theirs.loss) + 1e-12 * size**2

    best = core("bottleneck.bestBend(x, rest)", x=x.tolist(), rest=rest)
    beta = np.concatenate([np.linspace(x.min() - 3, x.max() + 3, 3001), x, (x[1:] + x[:-1]) / 2])[:, None]
    every = np.concatenate([np.maximum(0, side * (x - beta)) for side in (1, -1)])
    squares = (every**2).sum(1)
    gains = (every @ np.array(rest))[squares > 0] ** 2 / (2 * squares[squares > 0])
    most = gains.max(initial=0.0)
    if best is None:
        assert most <= 1e-20
        return
    assert most * (1 - 1e-12) <= best["gain"] <= most * 1.001 + 0.02 * size**2 * (abs(best["beta"]) > 3 + np.abs(x).max())
    hinge = best["mu"] * np.maximum(0, best["side"] * (x - best["beta"]))
    close(0.5 * np.sum(np.square(rest)) - best["gain"], 0.5 * np.sum((np.array(rest) - hinge) ** 2), size**2)


@FEW
@given(neurons=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=6), data=st.data())
def test_what_a_small_network_lacks_is_what_the_package_says(core, neurons, data):
    x = np.cumsum(data.draw(st.lists(st.floats(0.1, 1), min_size=2, max_size=8))) - 2
    y = data.draw(st.lists(numbers, min_size=len(x), max_size=len(x)))
    same_bottleneck(core, *map(list, zip(*neurons)), 0.25, x, y)


def some_bottleneck(core):
    x = np.array([-2.0, -1.2, -0.3, 0.1, 0.9, 1.7])
    same_bottleneck(core, [1.0, -0.8], [0.3, 0.5], [0.9, -0.4], 0.1, x, np.sin(2 * x))


def test_all_data_at_one_place_leave_a_constant_to_add(core):
    some_bottleneck(core)
    found = core("bottleneck.optimalNeuron([2, 2], [1, 3])")
    assert found["v"] * (2 * found["w"] + found["b"]) == pytest.approx(2, abs=1e-12)
    assert found["w"] == pytest.approx(2 * found["b"], abs=1e-12), "of all such neurons the smallest"
    assert core("bottleneck.optimalNeuron([], [])") is None
    assert core("bottleneck.bestBend([], [])") is None


# ---- deep networks on a line -------------------------------------------------------------------------------------------------


def same_deep(core, network):
    """Every switch of every neuron and every piece, against the package."""
    weights, biases, leak = network
    net = ReLUNet(weights, biases, leak)
    want, cut = deep_spline(net), deep_pieces(net)
    got = core("deep.deepSpline(net.network(weights, biases, leak))", weights=weights, biases=biases, leak=leak)
    size = max(1.0, float(want.place.abs().max()) if len(want.place) else 1.0)
    rows = zip(want.layer, want.neuron, want.place[want.vertex], want.switches, strict=True)
    expected = sorted((int(layer), int(neuron), float(place)) for layer, neuron, place, on in rows if on)
    found = sorted((b["layer"], b["neuron"], b["place"]) for b in got["breakpoints"])
    assert [f[:2] for f in found] == [e[:2] for e in expected]
    np.testing.assert_allclose([f[2] for f in found], [e[2] for e in expected], rtol=1e-10, atol=1e-10 * size)
    np.testing.assert_allclose(got["knots"], cut.knots, rtol=1e-10, atol=1e-10 * size)
    steep = max(1.0, float(cut.slopes.abs().max()), float(cut.intercepts.abs().max()))
    np.testing.assert_allclose(got["slopes"], cut.slopes, rtol=1e-12, atol=1e-12 * steep)
    np.testing.assert_allclose(got["intercepts"], cut.intercepts, rtol=1e-11, atol=1e-11 * steep)
    x = np.array(core("deep.corners(s, -3, 3)", s={key: got[key] for key in ("knots", "slopes", "intercepts")}))
    close(x[:, 1], net(x[:, :1])[:, 0], 10 * steep)


@settings(FEW, max_examples=60)
@given(network=networks(inputs=(1,), hidden=(1, 2, 3), outputs=(1,), widest=5))
def test_the_breakpoints_of_a_deep_network_are_those_of_the_package(core, network):
    same_deep(core, network)


def some_deep(core):
    same_deep(core, ([[[1.0], [1.0]], [[1.0, -1.0]]], [[0.5, 0.5], [0.0]], 0.0))  # two jumps that cancel
    for seed in range(4):
        same_deep(core, example(seed, (1, 6, 5, 4, 1), leak=0.1 * (seed % 2)))


def same_by_hand(core):
    """Networks through points and waves on waves: the same weights as the package's fractions, and as many nodes as it says."""
    x, y = [-2.0, -0.5, 0.25, 1.0, 2.5], [0.5, -1.0, 2.0, 0.0, 0.75]
    close(core("deep.interpolate(x, y).theta", x=x, y=y), capacity.interpolate(x, y).float().vector())
    for widths, interval in (([1], (0, 1)), ([3], (-2, 1)), ([2, 2], (0, 1)), ([4, 3, 2], (-3, 3))):
        want = capacity.deep_wave(widths, interval=interval).float()
        got = core("deep.deepWave(widths, low, high)", widths=widths, low=interval[0], high=interval[1])
        assert got["sizes"] == list(want.sizes)
        grid = np.linspace(*interval, 97)[:, None]
        same = want.with_vector(torch.tensor(got["theta"], dtype=torch.float64))
        close(same(grid), want(grid), 100)
        found = core("deep.deepSpline(deep.deepWave(widths, low, high))", widths=widths, low=interval[0], high=interval[1])
        inside = [k for k in found["knots"] if interval[0] + 1e-9 < k < interval[1] - 1e-9]
        assert len(inside) == math.prod(widths) - 1
    for often in range(1, 9):
        assert core("deep.leastWidth(often)", often=often) == capacity.least_width(often)


def test_networks_built_by_hand_are_those_of_the_package(core):
    same_by_hand(core)


# ---- the sheet -------------------------------------------------------------------------------------------------------------


def same_sheet(core, creases, knife, folds):
    """The network against the one built here; the pieces against the network: areas add up, and where each says it is cut."""
    want = sheet_network([line(*crease) for crease in creases], line(*knife), folds)
    lines = {"creases": creases, "knife": knife, "folds": folds}
    made = "sheet.folding(creases.map((c) => sheet.line(...c)), sheet.line(...knife), folds)"
    close(core(f"{made}.theta", **lines), want.vector())
    words = "sheet.pieces(creases.map((c) => sheet.line(...c)), folds).map((p) => ({ ...p, area: regions.area(p.corners) }))"
    found = core(words, **lines)
    assert math.fsum(piece["area"] for piece in found) == pytest.approx(4.0, abs=1e-9)
    normal = np.array([np.cos(np.radians(knife[0])), np.sin(np.radians(knife[0]))])
    for piece in found:
        middle, m = np.mean(piece["corners"], axis=0), np.array(piece["map"]).reshape(2, 3)
        close(normal @ (m[:, :2] @ middle + m[:, 2]) - knife[1], float(want(middle[None])[0, 0]))
    return found


STAR, CUT = [[0.0, 0.0], [90.0, 0.0], [-45.0, 0.0]], [237.17, -0.499]


@FEW
@given(
    creases=st.lists(st.tuples(st.floats(-180, 180), st.floats(-0.9, 0.9)).map(list), min_size=1, max_size=4),
    share=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_the_sheet_is_folded_by_its_network(core, creases, share):
    same_sheet(core, creases, CUT, len(creases) - 1 + share)


def test_three_folds_through_the_middle_make_eight_pieces(core):
    assert len(same_sheet(core, STAR, CUT, 3)) == 8


def test_half_way_a_fold_stands_as_high_as_it_is_wide(core):
    words = (
        """sheet.pieces([sheet.line(0, 0)], 0.5).map((p) => p.corners.map((c) => sheet.height([sheet.line(0, 0)], 0.5, p, c)))"""
    )
    heights = core(words)
    assert max(heights[0]) == 0
    assert sorted(heights[1]) == pytest.approx([0, 0, 1, 1], abs=1e-12)


# ---- the cube --------------------------------------------------------------------------------------------------------------


def same_swaps(core, table, weights):
    assert core("cube.changes(table, weights)", table=table, weights=weights) == class_changes(
        np.array(table, bool), np.array(weights)
    )
    got = core("cube.fewest(table)", table=table)
    assert got["swaps"] == swaps(np.array(table, bool))
    assert class_changes(np.array(table, bool), np.array(got["weights"])) == got["swaps"]


@settings(FEW, max_examples=15)
@given(n=st.sampled_from([3, 3, 4]), data=st.data())
def test_the_swaps_value_is_that_of_the_package(core, n, data):
    table = data.draw(st.lists(st.integers(0, 1), min_size=2**n, max_size=2**n))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    same_swaps(core, table, rng.normal(size=n).tolist())


def test_a_frame_stays_a_frame(core):
    rng = np.random.default_rng(0)
    for n in (3, 4):
        weights = rng.normal(size=n)
        frame = np.array(core("cube.turn(cube.frameOf(weights), 0, 2, 0.7)", weights=weights.tolist()))
        np.testing.assert_allclose(frame @ frame.T, np.eye(n), atol=1e-12)
        first = np.array(core("cube.frameOf(weights)", weights=weights.tolist()))[0]
        close(first, weights / np.linalg.norm(weights))


# ---- square --------------------------------------------------------------------------------------------------------------


def corner_network(values, heads, c) -> list[float]:
    """The nine numbers of a network whose neurons have these values at the corners."""
    x = np.array(optima_plane.CORNERS)
    (w1, b1), (w2, b2) = ((x.T @ z / 4, z.mean()) for z in np.asarray(values, float))
    return [*w1, *w2, b1, b2, *heads, c]


@functools.cache
def square_places():
    """One network of each critical set of two ReLUs, its loss, and what it leaves at the corners."""
    found = optima_plane.critical_sets(Fraction(0))
    return [(corner_network(p.witness[:2], p.witness[2:4], p.witness[4]), float(p.loss)) for p in found]


def same_square(core, some=slice(None, None, 9)):
    """Loss, level and words at witnesses of the critical sets, then loss and creases at random networks."""
    for t, loss in square_places()[some]:
        assert core("square.loss(t)", t=t) == pytest.approx(loss, abs=1e-9)
        left = np.abs([core("square.said(t, x)", t=t, x=x) - y for x, y in zip(optima_plane.CORNERS, optima_plane.XOR)])
        met, zero = left < 1e-6, np.abs(left - 1) < 1e-6
        words = core("square.ending(v)", v=loss)
        if loss == 0:
            assert (words, met.sum()) == ("All four corners are met", 4)
        elif loss == 2:  # neighbours are corners of two classes
            assert words.startswith("Two neighbouring corners are met")
            assert (met.sum(), zero.sum(), np.array(optima_plane.XOR)[met].sum()) == (2, 2, 0)
        elif loss == 4:
            assert words.startswith("All four corners are given the same")
            assert zero.sum() == 4
        else:
            assert words.startswith("One corner is met")
            assert met.sum() == 1
    rng = np.random.default_rng(5)
    for t in rng.normal(size=(20, 9)):
        net = ReLUNet([t[:4].reshape(2, 2), t[None, 6:8]], [t[4:6], t[8:]])
        want = float(
            (net(optima_plane.CORNERS)[:, 0].numpy() - optima_plane.XOR)
            @ (net(optima_plane.CORNERS)[:, 0].numpy() - optima_plane.XOR)
        )
        close(core("square.loss(t)", t=t.tolist()), want, want)
        assert core("square.level(v)", v=want) == next(
            (k for k, v in enumerate(optima_plane.losses(0.0)) if abs(v - want) < 0.01), -1
        )
        for i in (0, 1):
            ends = np.array(core("square.crease(t, i, 2)", t=t.tolist(), i=i)).reshape(-1, 2)
            corners = [np.array([p, q]) @ t[2 * i : 2 * i + 2] + t[4 + i] for p in (-2, 2) for q in (-2, 2)]
            assert len(ends) == (2 if min(corners) < 0 < max(corners) else 0)
            assert np.abs(ends @ t[2 * i : 2 * i + 2] + t[4 + i]).max(initial=0) < 1e-12
            assert (np.abs(ends).max(1, initial=2) <= 2 + 1e-12).all()
            moved = np.array(core("square.through(t, i, at)", t=t.tolist(), i=i, at=[0.6, -0.8]))
            w, b = moved[2 * i : 2 * i + 2], moved[4 + i]
            close(w @ [0.6, -0.8] + b, 0.0)
            close([np.hypot(*w), w @ [0.8, 0.6]], [np.hypot(*t[2 * i : 2 * i + 2]), 0.0])
            assert (w @ t[2 * i : 2 * i + 2]) >= 0


def test_the_square_is_that_of_the_chapter(core):
    same_square(core, slice(None))


# ---- a broken core is noticed --------------------------------------------------------------------------------------------


def few_steps(loss: str, optimizer: str = "gd"):
    return lambda core: same_training(core, loss, optimizer, example(3, (2, 6, 3)), steps=3)


def one_network(leak: float = 0.0):
    return lambda core: same_network(core, example(1, leak=leak), [[0.3, -0.4]])


def some_folds(core):
    for seed in range(6):
        same_fold(core, example(seed, (2, 4, 1)), seed)


def some_spline(core):
    same_spline(core, [-1.0, 1.0, 0.0], [0.5, 1.0, 1.0], [2.0, 1.0, 3.0], 0.1)


def some_regions(core):
    same_regions(core, example(2, (2, 5, 3, 1)))


def some_slice(core):
    same_slice(core, [1.0, -1.0], [0.2, 0.3], [0.5, 2.0], 0.1, np.array([-1.0, 0.0, 0.4, 1.5]), [1.0, 0.0, -1.0, 0.5], 1)


def some_sheets(core):
    same_sheet(core, STAR, CUT, 3)
    same_sheet(core, [[30.0, 0.2], [100.0, 0.1]], CUT, 2)


def some_swaps(core):
    for table in ([0, 0, 0, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 1, 0, 1], [1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 1, 0, 1, 0, 1, 1]):
        same_swaps(core, table, [0.9, 0.3, 0.1])


def some_fit(core):
    same_smallest_fit(core, [-1.0, 1.0], [1.0, 2.0], 20)


MUTANTS = {
    "net: leak forgotten": ("net", "net.leak * a : a", "0 : a", one_network(0.1)),
    "net: bias forgotten": ("net", "let sum = net.theta[b + i]", "let sum = 0", one_network()),
    "net: the other gate": ("net", "values[l - 1][j] > 0", "values[l - 1][j] < 0", one_network()),
    "net: new neuron first": (
        "net",
        "row.push(outgoing",
        "row.unshift(outgoing",
        lambda core: same_wider_network(core, example(1)),
    ),
    "train: another beta": ("train", "0.999]", "0.99]", few_steps("mse", "adam")),
    "train: no correction": ("train", "/ root", "", few_steps("mse", "adam")),
    "train: sum, not mean": ("train", "(2 * (f[i]", "(n * (f[i]", few_steps("mse")),
    "train: the other gate": ("train", "a > 0 ? 1", "a < 0 ? 1", few_steps("bce")),
    "train: softmax by outputs": ("train", "* out) / n", ") / n", few_steps("cross_entropy")),
    "spline: no absolute value": ("spline", "Math.abs(w[i])", "w[i]", some_spline),
    "spline: a flat neuron lost": ("spline", "if (flat) offset", "if (!flat) offset", some_spline),
    "spline: intercepts": ("spline", "intercept += mu * beta", "intercept -= mu * beta", some_spline),
    "spline: a lighter tail": ("spline", "(1 + t * t)", "(1 + t * t * t)", same_laws),
    "random: another turn": ("random", "turn(s[3], 11)", "turn(s[3], 13)", lambda core: same_random(core, 1)),
    "random: too narrow": ("random", "-2 * Math.log", "-1.8 * Math.log", lambda core: same_random(core, 1)),
    "regions: the wrong side": ("regions", "a >= 0", "a <= 0", some_regions),
    "regions: the other gate": ("regions", "!active.has", "active.has", some_regions),
    "regions: a boundary beside it": ("regions", "* z[i]) / (z[i]", "* z[j]) / (z[i]", some_regions),
    "fold: away from the boundary": ("fold", "at[0] - (height", "at[0] + (height", some_folds),
    "fold: always the same turn": ("fold", "pulls[1] > pulls[0] ? 1 : 0", "0", some_folds),
    "spline: the other side": ("spline", "side > 0 ? p >= k : p < k", "side < 0 ? p >= k : p < k", some_slice),
    "spline: no half": ("spline", "(active ? line[p] : rest[p]) ** 2 / 2", "(active ? line[p] : rest[p]) ** 2", some_slice),
    "spline: no elimination": ("spline", "-= factor * rows[k][q]", "-= 0", some_fit),
    "dynamics: the other way": ("dynamics", "-slope[start + i]", "slope[start + i]", some_motion),
    "dynamics: the most missed": ("dynamics", "Math.min(...without)", "Math.max(...without)", some_motion),
    "dynamics: only to the right": ("dynamics", "[1, -1]", "[1, 1]", some_motion),
    "bottleneck: the other way to face": ("bottleneck", "rest[p], 0) < 0 ?", "rest[p], 0) > 0 ?", some_bottleneck),
    "bottleneck: not turned back": ("bottleneck", "share * v[i][k]", "share * v[k][i]", some_bottleneck),
    "bottleneck: the wrong place": ("bottleneck", "(e * q - c * l)", "(e * q + c * l)", some_bottleneck),
    "deep: the other gate": ("deep", "on[k][j >> 1] ? v", "!on[k][j >> 1] ? v", some_deep),
    "deep: too few cuts": ("deep", "to - x > error", "to - x > 0.1", some_deep),
    "deep: equal slopes apart": ("deep", "<= TINY * (size", "< -TINY * (size", some_deep),
    "deep: half a fold": ("deep", "2 * w * (i % 2", "w * (i % 2", same_by_hand),
    "sheet: folded the other way": ("sheet", "const k = -c - 1", "const k = c - 1", some_sheets),
    "sheet: another shift": ("sheet", "shift = [offset * a", "shift = [offset * b", some_sheets),
    "cube: another digit": ("cube", "(k >> (n - 1 - j))", "(k >> j)", some_swaps),
    "cube: too few signs": ("cube", "signs < 2 ** n", "signs < n", some_swaps),
    "square: the other side": ("square", "+ o2 * Math.max(w21", "- o2 * Math.max(w21", same_square),
    "square: another line": ("square", "(-c * a) / size", "(c * a) / size", same_square),
    "square: turned around": ("square", "< 0 ? -1 : 1, way", "< 0 ? 1 : -1, way", same_square),
    "fold: too strong": ("fold", "(up * size)", "(2 * up * size)", some_folds),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_core_is_noticed(core, broken_core, name):
    module, old, new, compare = MUTANTS[name]
    compare(core)
    with pytest.raises(AssertionError):
        compare(broken_core(module, old, new))
