"""Breakpoints of deep networks, against exact fractions, bisection on slopes, autograd and hand computation."""

import copy
import itertools
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.nets import ReLUNet
from foldnet.splines import depth
from foldnet.splines.breakpoints import pieces
from foldnet.splines.depth import deep_pieces, deep_spline
from foldnet.splines.initialization import gaussian

WIDE = torch.linspace(-8, 8, 1601, dtype=torch.float64)


def random(sizes, seed, batch=(), leak=0.0, spread=0.5) -> ReLUNet:
    """He weights with normal biases: breakpoints everywhere."""
    net = ReLUNet.random(sizes, batch=batch, init="he", seed=seed, leak=leak)
    rng = np.random.default_rng(seed + 1)
    return ReLUNet(net.weights, [spread * rng.normal(size=tuple(b.shape)) for b in net.biases], leak)


# ---- the same in fractions: a list of (left end, slope, intercept) for each neuron, cut wherever it changes sign -------------


def exact(net: ReLUNet):
    """Kinks and slopes of f, and the places where neurons change between on and off, in exact arithmetic."""
    leak = Fraction(net.leak)
    cuts, layer = [], [lambda x: (Fraction(1), Fraction(0))]
    switching = set()
    for index, (w, b) in enumerate(zip(net.weights, net.biases)):
        w, b = [[Fraction(v) for v in row] for row in w.tolist()], [Fraction(v) for v in b.tolist()]

        def affine(x, layer=layer, w=w, b=b):
            below = [f(x) for f in layer]
            return [
                (sum(u * m for u, (m, _) in zip(row, below)), sum(u * c for u, (_, c) in zip(row, below)) + d)
                for row, d in zip(w, b)
            ]

        if index == len(net.weights) - 1:
            middles = between(cuts)
            lines = [affine(x)[0] for x in middles]
            kinks = [cut for cut, a, c in zip(cuts, lines, lines[1:]) if a[0] != c[0]]
            slopes = [lines[0][0]] + [c[0] for a, c in itertools.pairwise(lines) if a[0] != c[0]]
            return kinks, slopes, switching
        found = set(cuts)
        for left, right, x in zip([None, *cuts], [*cuts, None], between(cuts)):
            for m, c in affine(x):
                if m and (left is None or -c / m > left) and (right is None or -c / m < right):
                    found.add(-c / m)
        cuts = sorted(found)
        patterns = [[m * x + c > 0 for m, c in affine(x)] for x in between(cuts)]
        for cut, before, after in zip(cuts, patterns, patterns[1:]):
            switching |= {(index, i, cut) for i, (p, q) in enumerate(zip(before, after)) if p != q}

        def neuron(i, affine=affine):
            def line(at):
                m, c = affine(at)[i]
                return (m, c) if m * at + c > 0 else (leak * m, leak * c)

            return line

        layer = [neuron(i) for i in range(len(b))]


def between(cuts):
    if not cuts:
        return [Fraction(0)]
    return [cuts[0] - 1, *((a + b) / 2 for a, b in itertools.pairwise(cuts)), cuts[-1] + 1]


@st.composite
def dyadic(draw):
    """Small networks with few different weights, many of them 0: coinciding breakpoints, flat pieces, dead layers."""
    sizes = (1, *draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)), 1)
    number = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.0, 0.25, 0.5, 1.0, 1.0, 1.5])
    matrix = lambda o, i: draw(st.lists(st.lists(number, min_size=i, max_size=i), min_size=o, max_size=o))  # noqa: E731
    weights = [matrix(o, i) for i, o in itertools.pairwise(sizes)]
    biases = [matrix(1, o)[0] for o in sizes[1:]]
    return ReLUNet(weights, biases, draw(st.sampled_from([0.0, 0.0, 0.25])))


@settings(deadline=None, max_examples=200)
@given(dyadic())
def test_degenerate_networks_agree_with_exact_fractions(net):
    kinks, slopes, switching = exact(net)
    found, f = deep_pieces(net), deep_spline(net)
    assert len(found.knots) == len(kinks)
    assert np.allclose(found.knots, [float(k) for k in kinks], rtol=1e-12, atol=1e-12)
    assert np.allclose(found.slopes, [float(s) for s in slopes], rtol=1e-12, atol=1e-12)
    on = f.switches
    ours = sorted(zip(*(a[on].tolist() for a in (f.layer, f.neuron, f.place[f.vertex]))))
    theirs = sorted((layer, neuron, float(place)) for layer, neuron, place in switching)
    assert [row[:2] for row in ours] == [row[:2] for row in theirs]
    assert np.allclose([row[2] for row in ours], [row[2] for row in theirs], rtol=1e-12, atol=1e-12)
    assert f.piece_count() == len(kinks) + 1


def test_thirty_random_weights_agree_with_exact_fractions():
    for seed in range(30):
        net = random((1, 3, 4, 3, 1), seed)
        kinks, slopes, switching = exact(net)
        found = deep_pieces(net)
        assert np.allclose(found.knots, [float(k) for k in kinks], rtol=1e-11, atol=1e-11)
        assert np.allclose(found.slopes, [float(s) for s in slopes], rtol=1e-10, atol=1e-10)
        assert deep_spline(net).breakpoint_count() == len(switching)


LINES = [depth._line(), depth._line(-0.7, 1.3), depth._line(0.2), depth._line(high=-0.1)]


@settings(deadline=None, max_examples=300)
@given(dyadic(), st.sampled_from(LINES), st.booleans())
def test_the_kernel_and_the_tensors_find_the_same(net, line, batch):
    """Networks on the processor go through a compiled kernel, those on other devices through tensors: every column agrees."""
    f = net.with_vector(net.vector() * torch.tensor([[1.0, -1.0], [0.5, -2.0]]).unsqueeze(-1)) if batch else net
    agree(depth._by_kernel(f, line), depth._by_tensors(f, line))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(("hidden", "leak"), [((70, 3, 65), 0.0), ((5, 79, 40), 0.25), ((64, 1, 30), 0.0)])
def test_the_kernel_and_the_tensors_find_the_same_in_wide_layers(hidden, leak, line):
    """Bits of more than 64 neurons lie in several words."""
    f = random((1, *hidden, 1), 7, leak=leak)
    agree(depth._by_kernel(f, line), depth._by_tensors(f, line))


@settings(deadline=None, max_examples=100)
@given(dyadic(), st.sampled_from([(-1.0, 0.5), (0.25, 3.0), (-2.0, -1.5), (0.0, torch.inf), (-torch.inf, -0.25), (-1e-9, 1e9)]))
def test_between_two_ends_the_spline_is_that_of_the_line(net, ends):
    """Ends lie on breakpoints of many of these networks: those do not count."""
    kinks, _, switching = exact(net)
    f, whole = deep_spline(net, *ends), deep_spline(net)
    assert f.place[f.kink].tolist() == pytest.approx([float(k) for k in kinks if ends[0] < k < ends[1]], rel=1e-12, abs=1e-12)
    inside = whole.kink & (whole.place > ends[0]) & (whole.place < ends[1])
    for name in ("place", "value", "slope_left", "slope_right"):
        assert torch.allclose(getattr(f, name)[f.kink], getattr(whole, name)[inside], rtol=1e-12, atol=1e-12), name
    rows = sorted((layer, neuron, float(x)) for layer, neuron, x in switching if ends[0] < x < ends[1])
    ours = sorted(zip(*(a[f.switches].tolist() for a in (f.layer, f.neuron, f.place[f.vertex]))))
    assert [row[:2] for row in ours] == [row[:2] for row in rows]
    at = ends[1] if ends[1] < torch.inf else max([*f.place.tolist(), ends[0]]) + 1
    slope, intercept = f.outermost[0].tolist()
    assert slope * at + intercept == pytest.approx(net(torch.tensor([[at]], dtype=torch.float64)).item(), rel=1e-9, abs=1e-9)


def test_an_interval_that_is_none_is_refused():
    for low, high in ((1.0, 1.0), (2.0, -2.0), (float("nan"), 1.0)):
        with pytest.raises(ValueError, match="between a number and a larger one"):
            deep_spline(tent(2), low, high)


def agree(a, b):
    assert a.batch_shape == b.batch_shape
    for name in depth.COLUMNS:
        x, y = getattr(a, name), getattr(b, name)
        assert (x.shape, x.dtype) == (y.shape, y.dtype), name
        assert torch.allclose(x.double(), y.double(), rtol=1e-8, atol=1e-8), name


def test_threads_and_a_desk_that_is_too_small_change_nothing(monkeypatch):
    nets = random((1, 12, 9, 1), 3)
    nets = nets.with_vector(nets.vector() + torch.linspace(0, 1, 50, dtype=torch.float64)[:, None])
    one = deep_spline(nets)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    agree(deep_spline(nets), one)
    # each layer of a tent doubles the pieces: far more vertices than neurons
    assert deep_spline(tent(12)).piece_count(0, 1) == 2**12
    agree(depth._by_kernel(tent(9), depth._line()), depth._by_tensors(tent(9), depth._line()))


def test_columns_become_tensors_once_and_stay_what_they_are():
    f, other = deep_spline(random((1, 6, 5, 1), 2)), deep_spline(random((1, 6, 5, 1), 2))
    for name in depth.COLUMNS:
        assert isinstance(getattr(f, name), torch.Tensor), name
        assert getattr(f, name) is getattr(f, name), name
        with pytest.raises(FrozenInstanceError):
            setattr(f, name, getattr(f, name))
    for spline in (f, other):  # asked before and not
        for twin in (copy.copy(spline), copy.deepcopy(spline), pickle.loads(pickle.dumps(spline))):
            agree(twin, f)
    assert copy.copy(f).place.data_ptr() == f.place.data_ptr() != copy.deepcopy(f).place.data_ptr()


# ---- against the network itself ----------------------------------------------------------------------------------------------


def bisected(net, low, high, slope_low, slope_high):
    """Kinks between two points by bisection on slope and chord: no breakpoint formula, only values and autograd."""
    chord = (net([[high]]) - net([[low]])).item() / (high - low)
    if abs(slope_low - slope_high) < 1e-9 and abs(chord - slope_low) < 1e-8:
        return []
    if high - low < 1e-6:
        return [(low + high) / 2]
    middle = low + (high - low) * 0.4987654321
    at = slope(net, middle)
    return bisected(net, low, middle, slope_low, at) + bisected(net, middle, high, at, slope_high)


def slope(net, x):
    x = torch.tensor([[x]], dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(net(x).sum(), x)[0].item()


@pytest.mark.parametrize("leak", [0.0, 0.1])
def test_random_networks_agree_with_bisection_on_slopes(leak):
    for seed in range(4):
        net = random((1, 6, 6, 6, 1), seed, leak=leak)
        by_bisection = bisected(net, -5.0, 5.0, slope(net, -5.0), slope(net, 5.0))
        knots = deep_pieces(net).knots.numpy()
        knots = knots[np.abs(knots) < 5]
        assert len(by_bisection) == len(knots) > 5
        assert np.abs(np.array(by_bisection) - knots).max() < 1e-6


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 10_000), st.sampled_from([0.0, 0.2]))
def test_pieces_are_the_network(hidden, seed, leak):
    net = random((1, *hidden, 1), seed, leak=leak)
    values = net(WIDE[:, None])[:, 0]
    assert torch.allclose(deep_pieces(net)(WIDE), values, rtol=0, atol=1e-10)
    f = deep_spline(net)
    farthest = max([1.0, *f.place.abs().tolist()])
    assert torch.allclose(f.value, net(f.place[:, None])[:, 0], rtol=0, atol=1e-9 * farthest)


def test_one_layer_is_the_shallow_spline():
    net = gaussian(9, 1.0, 1.0, 1.0, seed=4)
    assert torch.allclose(deep_pieces(net).knots, pieces(net).knots, rtol=1e-13)
    assert torch.allclose(deep_pieces(net).slopes, pieces(net).slopes, rtol=0, atol=1e-13)


def test_scaling_and_gauge_leave_the_pieces():
    net = random((1, 7, 7, 1), 3)
    moved = ReLUNet([net.weights[0] * 1e-5, *net.weights[1:]], net.biases)  # f(x / 1e5)
    assert torch.allclose(deep_pieces(moved).knots, 1e5 * deep_pieces(net).knots, rtol=1e-9)
    dial = torch.logspace(-3, 3, 7, dtype=torch.float64)
    turned = ReLUNet(
        [net.weights[0] * dial[:, None], net.weights[1] / dial, net.weights[2]], [net.biases[0] * dial, *net.biases[1:]]
    )
    assert torch.allclose(deep_pieces(turned).knots, deep_pieces(net).knots, rtol=1e-9)


def test_a_batch_is_its_networks_also_in_parts(monkeypatch):
    nets = random((1, 8, 8, 8, 1), 5, batch=(3, 7))
    for entries in (2_000_000, 3_000):
        monkeypatch.setattr("foldnet.splines.depth.MOST_ENTRIES", entries)
        together = deep_spline(nets)
        assert together.piece_count().shape == (3, 7)
        for i in range(21):
            alone = deep_spline(nets[i // 7, i % 7])
            rows = together.network == i
            assert np.allclose(together.place[rows], alone.place, rtol=1e-10)
            mine = together.network[together.vertex] == i
            for name in ("layer", "neuron", "switches", "active"):
                assert torch.equal(getattr(together, name)[mine], getattr(alone, name))
            assert torch.equal(together.vertex[mine] - rows.nonzero()[0], alone.vertex)


# ---- what random weights never show ------------------------------------------------------------------------------------------


def tent(depth: int) -> ReLUNet:
    """The tent map on [0, 1] applied again and again: 2**depth pieces there."""
    fold = [[2.0, -4.0], [2.0, -4.0]]
    return ReLUNet([[[1.0], [1.0]], *[fold] * (depth - 1), [[2.0, -4.0]]], [*[[0.0, -0.5]] * depth, [0.0]])


@pytest.mark.parametrize("depth", [1, 3, 8, 12])
def test_folding_doubles_the_pieces(depth):
    assert deep_spline(tent(depth)).piece_count(0, 1) == 2**depth
    found = deep_pieces(tent(depth))
    inside = (found.knots > 0) & (found.knots < 1)
    assert torch.equal(found.knots[inside], torch.arange(1, 2**depth, dtype=torch.float64) / 2**depth)
    assert (found.slopes[1:][inside].abs() == 2.0**depth).all()


def test_degeneracy_that_floating_point_blurs():
    """Folds at thirds, and neurons copied with a third of their size: places that coincide only up to rounding."""
    zigzag, shifts = [[3.0, -6.0, 6.0]], [0.0, -1 / 3, -2 / 3]
    folded = ReLUNet([np.ones((3, 1)), *[np.tile(zigzag, (3, 1))] * 4, zigzag], [*[shifts] * 5, [0.0]])
    assert deep_spline(folded).piece_count(0, 1) == 3**5
    for seed in range(20):
        net = random((1, 5, 5, 5, 1), seed)
        (a, b, c, d), (p, q, r, s) = net.weights, net.biases
        twice = lambda w: torch.cat([w, w / 3])  # noqa: E731
        half = lambda w: torch.cat([w / 2, 3 * w / 2], dim=1)  # noqa: E731
        copied = ReLUNet([twice(a), twice(half(b)), twice(half(c)), half(d)], [twice(p), twice(q), twice(r), s])
        assert torch.allclose(deep_pieces(copied).knots, deep_pieces(net).knots, rtol=1e-9)
        assert deep_spline(copied).breakpoint_count() == 2 * deep_spline(net).breakpoint_count()


def test_the_ramp_of_a_ramp_has_a_kink_though_no_breakpoint_is_active():
    f = deep_spline(ReLUNet([[[1.0]], [[1.0]], [[1.0]]], [[0.0], [0.0], [0.0]]))
    assert f.place.tolist() == [0.0]
    assert f.kink.tolist() == [True]
    assert f.layer.tolist() == [0, 1]
    assert f.switches.tolist() == [True, True]
    assert f.active.tolist() == [False, False]


def test_breakpoints_without_a_kink():
    cancelling = ReLUNet([[[1.0], [-1.0]], [[1.0, -1.0]]], [[0.0, 0.0], [0.0]])
    assert deep_spline(cancelling).breakpoint_count() == 2
    assert deep_spline(cancelling).piece_count() == 1
    blocked = ReLUNet([[[1.0]], [[1.0]], [[1.0]]], [[0.0], [-1.0], [0.0]])  # ((x)+ - 1)+: the first neuron is not seen at 0
    f = deep_spline(blocked)
    assert f.place.tolist() == [0.0, 1.0]
    assert f.active.tolist() == [False, True]
    assert f.kink.tolist() == [False, True]
    touching = ReLUNet([[[1.0], [-1.0]], [[1.0, 1.0]], [[1.0]]], [[0.0, 0.0], [0.0], [0.0]])  # (|x|)+
    f = deep_spline(touching)
    assert f.switches.tolist() == [True, True, False]
    assert deep_pieces(touching).slopes.tolist() == [-1.0, 1.0]
    dead = ReLUNet([[[1.0]], [[-1.0]], [[1.0]]], [[0.0], [-1.0], [2.0]])
    assert deep_spline(dead).piece_count() == 1
    assert deep_pieces(dead).intercepts.tolist() == [2.0]


def test_a_neuron_with_weight_zero_has_no_breakpoint():
    f = deep_spline(ReLUNet([[[0.0], [2.0]], [[1.0, 1.0]]], [[1.0, -1.0], [0.0]]))
    assert f.neuron.tolist() == [1]
    assert f.place.tolist() == [0.5]
    constant = ReLUNet([[[0.0]], [[1.0]]], [[3.0], [0.5]])
    assert deep_spline(constant).piece_count() == 1
    assert deep_pieces(constant)(WIDE).unique().tolist() == [3.5]


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda: deep_spline(ReLUNet.random((2, 3, 1))), "one input"),
        (lambda: deep_spline(ReLUNet.random((1, 3, 3, 2))), "one output"),
        (lambda: deep_spline(ReLUNet.random((1, 1))), "one hidden layer"),
        (lambda: deep_pieces(random((1, 3, 1), 0, batch=2)), "choose one"),
        (lambda: deep_spline(random((1, 2, 1), 0).with_vector(torch.full((7,), torch.nan))), "diverge"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()
