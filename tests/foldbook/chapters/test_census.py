"""The predictors of the census against their definitions, spelled out, on functions of three and four inputs."""

import functools
import itertools

import numpy as np
import pytest
import torch

from experiments._census import start
from foldbook.chapters import capacity, census, training
from foldnet.boolean.functions import corners, fourier, npn_classes, parity, symmetries, truth_tables

TABLES = [truth_tables(npn_classes(3), 3), truth_tables(npn_classes(4)[::9], 4)]


def flipped(x, block):
    return tuple(b ^ (i in block) for i, b in enumerate(x))


def spelled_out(table):
    """Block sensitivity, certificates, depth, leaves: by the definitions, for one table."""
    n = len(table).bit_length() - 1
    f = dict(zip(itertools.product((1, 0), repeat=n), map(int, table)))
    blocks = [b for k in range(1, n + 1) for b in itertools.combinations(range(n), k)]

    def packing(x):
        hits = [set(b) for b in blocks if f[flipped(x, b)] != f[x]]
        families = (c for k in range(1, n + 1) for c in itertools.combinations(hits, k))
        return max((len(c) for c in families if sum(map(len, c)) == len(set().union(*c))), default=0)

    def certificate(x):
        sets = ((), *blocks)
        return min(len(s) for s in sets if len({v for y, v in f.items() if all(y[i] == x[i] for i in s)}) == 1)

    @functools.cache
    def tree(known):
        values = {v for y, v in f.items() if all(y[i] == b for i, b in known)}
        if len(values) == 1:
            return 0, 1
        left = set(range(n)) - {i for i, _ in known}
        sides = [[tree(tuple(sorted((*known, (i, b))))) for b in (0, 1)] for i in left]
        return 1 + min(max(a[0], b[0]) for a, b in sides), min(a[1] + b[1] for a, b in sides)

    blocks_at, fixed_at = [packing(x) for x in f], [certificate(x) for x in f]
    return np.mean(blocks_at), np.mean(fixed_at), *tree(()), max(blocks_at), max(fixed_at)


def leap_of(table):
    n = len(table).bit_length() - 1
    sets = [{i for i in range(n) if corners(n, low=0)[k][i]} for k, c in enumerate(fourier(table)) if c]

    def at_most(step):
        known, before = set(), None
        while known != before:
            before = set(known)
            for s in sets:
                if len(s - known) <= step:
                    known |= s
        return all(s <= known for s in sets)

    return next(step for step in range(n + 1) if at_most(step))


@pytest.mark.parametrize("t", TABLES, ids=["three", "four"])
def test_subcubes_and_leap_by_their_definitions(t):
    depth, leaves = census.smallest_trees(t)
    largest = census.block_sensitivities(t, np.max), census.certificates(t, np.max)
    found = np.column_stack([census.block_sensitivities(t), census.certificates(t), depth, leaves, *largest])
    assert np.allclose(found, [spelled_out(table) for table in t])
    assert census.leap(t).tolist() == [leap_of(table) for table in t]
    assert np.allclose(census.sensitivities(t), training.measures(t)["influence"])
    assert ((census.off_the_staircase(t) > 0) == (census.leap(t) > 1)).all()


def test_leap_of_a_staircase_and_of_its_top_step():
    """The staircase x1 + x1 x2 + x1 x2 x3 is no Boolean function; these are, with the leaps of their spectra."""
    x = corners(3)
    mux = np.where(x[:, 0] > 0, x[:, 1], x[:, 2]) > 0
    assert census.leap(np.stack([mux, parity(3), x[:, 0] > 0, np.ones(8)]).astype(np.uint8)).tolist() == [1, 3, 1, 0]


def test_off_the_staircase_is_the_weight_that_single_steps_do_not_reach():
    """x1 or the parity of the other three: x1 is reached at once, and what holds the parity never."""
    x = corners(4, low=0)
    f = (x[:, 0] | (x[:, 1:].sum(1) % 2)).astype(np.uint8)
    assert np.isclose(census.off_the_staircase(f[None])[0], 0.5)


def test_values_are_compared_at_equal_weight():
    """Value 3 goes with weight, weight with failures: 3 is harder by 20 in all, and easier by 5 where the weight is equal."""
    values, weight = np.array([3, 3, 3, 4, 4, 4]), np.array([0.1, 0.5, 0.5, 0.1, 0.1, 0.5])
    missed = np.where(weight < 0.3, 10, 85) - 5.0 * (values == 3)
    assert missed[values == 3].mean() - missed[values == 4].mean() == 20
    assert census.at_equal_weight(missed, values, weight, 3) == -5
    assert np.isnan(census.at_equal_weight(missed, values, weight, 7))


def test_functions_as_heavy_are_drawn_from_their_neighbours():
    solved, weight = np.array([0, 100, 7, 9]), np.array([0.1, 0.1, 0.5, 0.5])
    drawn = census.as_heavy(solved, weight, np.array([0.11, 0.495]))
    assert set(drawn.tolist()) == {3.5, 4.5, 53.5, 54.5}
    assert abs(drawn.mean() - 29) < 3


@pytest.mark.parametrize("activation", ["leaky", "relu", "gelu", "tanh", "abs", "sine"])
def test_the_kernel_at_hand_is_that_of_autograd(activation):
    """With the same starts, and for functions that are no symmetric set: what is left is the mean over the cube's symmetries."""
    n, width, starts = 3, 2, 6
    nets = start(activation, (n, width, 1), (starts,), seed=35)
    x = torch.tensor(corners(n), dtype=torch.float32)
    rows = []
    for k in range(starts):
        w, b, v, c = (a[k].clone().requires_grad_() for a in (nets.weights[0], nets.biases[0], nets.weights[1], nets.biases[1]))
        net = type(nets)([w, v], [b, c], *([nets.leak] if hasattr(nets, "leak") else [nets.activation]))
        rows.append([torch.cat([g.flatten() for g in torch.autograd.grad(o, (w, b, v, c), retain_graph=True)]) for o in net(x)])
    jacobian = torch.stack([torch.stack(r) for r in rows]).double().numpy()
    kernel = jacobian @ jacobian.swapaxes(1, 2)
    inverse = np.linalg.inv(kernel + 0.01 * np.trace(kernel, axis1=1, axis2=2)[:, None, None] / 8 * np.eye(8))
    found = census.width_at_hand.__wrapped__(activation, n, width, starts)
    characters = np.array([[np.prod([x[c, i] for i in s]) for c in range(8)] for s in _sets(n)])
    for got, each in zip(found, (kernel.mean(0), inverse.mean(0))):
        values = np.array([c @ each @ c / 8 for c in characters])
        want = [values[[len(s) == k for s in _sets(n)]].mean() for k in range(n + 1)]
        assert np.allclose(got, want, rtol=1e-4)


def _sets(n):
    return [s for k in range(n + 1) for s in itertools.combinations(range(n), k)]


def test_kernels_as_sums_over_degrees():
    """y'K^-1 y by solving, with the kernel that has the eigenvalues found; and wide networks have the infinite kernel."""
    t = TABLES[1]
    eigenvalues = census.infinite_width("tanh", 4)
    assert (eigenvalues > 0).all()
    assert eigenvalues[2] < min(eigenvalues[1], eigenvalues[3])  # tanh is odd, and biases are small
    x = corners(4)
    sets = _sets(4)
    characters = np.array([x[:, list(s)].prod(1) for s in sets])
    kernel = sum(eigenvalues[len(s)] * np.outer(c, c) for s, c in zip(sets, characters)) / 16
    assert np.allclose(census.by_degree(kernel), eigenvalues)
    y = 2.0 * t - 1
    got = census.kernels(t, "tanh", 3)
    assert np.allclose(got["kernel"] * 16, (y * np.linalg.solve(kernel, y.T).T).sum(1))
    twice = census.infinite_width("tanh", 4, 50_000)
    assert np.allclose(twice, eigenvalues, rtol=0.05)


def test_relu_kernel_of_infinite_width_where_it_is_known():
    """Without biases the ReLU's arc-cosine kernels (Cho and Saul); the biases here are small and change it little."""
    n, x = 5, corners(5)
    angle = np.arccos(np.clip(x @ x.T / n, -1, 1))
    slopes = (np.pi - angle) / (2 * np.pi)
    outputs = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    plain = census.by_degree(2 * outputs + 2 * slopes * 2 * (x @ x.T) / n)
    assert np.allclose(census.infinite_width("relu", n)[:3], plain[:3], rtol=0.1)


def test_rank_correlations_and_their_bootstraps():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 9, (3, 400)), rng.integers(0, 5, (2, 400))
    a[1] += 2 * b[0]
    want = [[training.rank_correlation(p, q) for q in b] for p in a]
    assert np.allclose(census.rank_correlations(a, b), want)
    found = census.rank_correlations(a, b, draws=200)
    low, high = training.rank_interval(a[1], b[0], draws=200)
    assert np.allclose(census.interval(found[:, 1, 0]), (low, high), atol=1e-9)


def test_a_fit_of_ranks_finds_a_mixture():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(4, 2000))
    y = np.exp(x[0] - 2 * x[2])
    first, second = census.halves(2000)
    fit = census.RankFit(x[:, first], y[first])
    assert training.rank_correlation(fit(x[:, second]), y[second]) > 0.97
    assert abs(fit.weights[1]) < 0.05
    assert not set(first) & set(second)
    assert len(first) == len(second) == 1000


@pytest.mark.parametrize(("n", "k"), [(3, 3), (5, 3), (7, 4)])
def test_guarded_parity_is_seldom_and_its_weight_above_degree_two_is_small(n, k):
    f = census.guarded_parity(n, k)
    plain = [all(v == 1 for v in x[k:]) and sum(x[:k]) % 2 == 1 for x in itertools.product((0, 1), repeat=n)]
    assert f.tolist() == plain
    above = training.spectrum(f)[3:].sum()
    assert 0 < above <= 4 * f.mean() * (1 - f.mean()) + 1e-12


def test_counting_puts_some_function_out_of_reach_of_every_width():
    for width in (1, 2, 3, 5):
        k = census.out_of_reach(width)
        assert capacity.log2_network_functions(k, [width]) < 2**k
        assert capacity.log2_network_functions(k - 1, [width]) >= 2 ** (k - 1)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_threshold_gates_are_those_of_small_whole_weights(n):
    """Two gates by trying weights: the last one adds a weight times another gate to a sum of the inputs."""
    x, place = corners(n, low=0), 1 << np.arange(2**n)
    sums, cuts = np.array(list(itertools.product(range(-2, 3), repeat=n))) @ x.T, np.arange(-12, 12)[:, None, None] + 0.5
    made = lambda s: set(((s > cuts) @ place).ravel().tolist())  # noqa: E731
    one = made(sums)
    halves = np.array(sorted(one))[:, None] >> np.arange(2**n) & 1
    two = set().union(*(made(sums + v * h) for h in halves for v in range(-7, 8)))
    f = truth_tables(np.arange(2**2**n), n)
    gates = census.threshold_gates(f)
    numbers = f @ place
    assert set(numbers[gates == 1]) == one
    assert set(numbers[gates <= 2]) == two


def test_threshold_gates_of_parity_and_of_symmetric_images():
    assert [int(census.threshold_gates(parity(n)[None])[0]) for n in (1, 2, 3, 4)] == [1, 2, 2, 3]
    f = truth_tables(npn_classes(4), 4)
    image = symmetries(4)[101]
    assert census.threshold_gates(f).tolist() == census.threshold_gates(1 - f[:, image]).tolist()
