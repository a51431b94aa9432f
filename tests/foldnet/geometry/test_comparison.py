"""Measures of two networks against numpy, autograd and what can be worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from foldnet.geometry import comparison as compare
from foldnet.nets import ReLUNet
from tests.convolutional import random

NETS = {
    "linear": ReLUNet.random((12, 3), seed=1),
    "dense": ReLUNet.random((12, 5, 3), seed=2),
    "conv": random((4,), 3, (3, 2, 2), seed=3),
}
X = torch.as_tensor(np.random.default_rng(0).normal(size=(40, 12)))


def some(n, d, seed=0):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize("name", NETS)
def test_coefficients_are_autograds(name):
    net = NETS[name]
    rows = compare.coefficients(net, X)
    assert rows.shape == (3, 40, 13)
    x = X.clone().requires_grad_()
    for j in range(3):
        (slope,) = torch.autograd.grad(net(x)[:, j].sum(), x)
        torch.testing.assert_close(rows[j, :, :-1], slope)


@pytest.mark.parametrize("rank", [6, 3, 1])
def test_least_squares_is_numpys(rank):
    source, target = some(50, rank) @ some(rank, 6, 1), some(50, 4, 2)
    found = compare.least_squares(source, target)
    expected = np.linalg.lstsq(source.numpy(), target.numpy(), rcond=1e-8)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(source @ found, source.numpy() @ expected, atol=1e-5)


def test_from_a_linear_network_comes_the_mean_map():
    """S2-find-linear-source: whatever the linear network is, its rows are mapped to the mean row of the target."""
    target = compare.coefficients(NETS["dense"], X)
    for seed in (5, 6):
        source = compare.coefficients(ReLUNet.random((12, 3), seed=seed), X)
        for a, b in zip(source, target):
            torch.testing.assert_close(a @ compare.least_squares(a, b), b.mean(0).expand_as(b), atol=1e-6, rtol=1e-6)


def test_a_dense_network_with_few_neurons_gives_every_linear_one():
    """Gradients of five neurons leave directions free in which the rows of the dense network are all equal."""
    linear, dense = (compare.coefficients(NETS[name], X) for name in ("linear", "dense"))
    for a, b in zip(dense, linear):
        torch.testing.assert_close(a @ compare.least_squares(a, b), b, atol=1e-5, rtol=1e-5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(0.1, 10), st.booleans())
def test_cka_does_not_see_rotation_and_scale(seed, scale, centred):
    x, y = some(30, 5, seed), some(30, 4, seed + 1)
    turn = torch.linalg.qr(some(5, 5, seed + 2))[0]
    before, after = compare.cka(x, y, centred), compare.cka(scale * x @ turn, y, centred)
    torch.testing.assert_close(before, after)
    torch.testing.assert_close(compare.cka(x, x @ turn, centred), torch.tensor(1.0, dtype=torch.float64))
    if centred:
        torch.testing.assert_close(before, compare.cka(x + 3, y))
    assert 0 <= float(before) <= 1


def test_cka_sees_other_linear_maps_and_is_the_kernels_alignment():
    x, y = some(30, 5), some(30, 4, 1)
    centre = torch.eye(30, dtype=torch.float64) - 1 / 30
    k, m = centre @ x @ x.T @ centre, centre @ y @ y.T @ centre
    torch.testing.assert_close(compare.cka(x, y), (k * m).sum() / k.norm() / m.norm())
    assert float(compare.cka(x, x * torch.tensor([1, 1, 1, 1, 9.0]))) < 0.9
    few = [z[:3] for z in (x, y)]
    more = [torch.cat([z, torch.zeros(3, 30, dtype=z.dtype)], 1) for z in few]  # more columns than rows: another formula
    torch.testing.assert_close(compare.cka(*more), compare.cka(*[torch.linalg.qr(z.T)[1].T for z in few]))


def test_cka_of_a_linear_network_has_no_value():
    rows = compare.coefficients(NETS["linear"], X)[0]
    other = compare.coefficients(NETS["dense"], X)[0]
    assert torch.isnan(compare.cka(rows, other))
    assert torch.isnan(compare.cka(other, rows.float().double()))
    assert 0 < float(compare.cka(rows, other, centred=False)) <= 1


# ---- clusters --------------------------------------------------------------------------------------------------------------


def test_kmeans_finds_separate_clouds_as_scikit_learn_does():
    middles = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], dtype=torch.float64)
    label = torch.arange(90) % 3
    rows = middles[label] + some(90, 2)
    best = min((compare.kmeans(rows, 3, seed=s) for s in range(10)), key=lambda r: float((rows - r[0][r[1]]).square().sum()))
    twin = KMeans(3, n_init=10, random_state=0).fit(rows.numpy())
    assert float((rows - best[0][best[1]]).square().sum()) == pytest.approx(twin.inertia_)
    assert len({(int(a), int(b)) for a, b in zip(best[1], label)}) == 3


def test_one_cluster_is_the_mean_and_as_many_as_rows_are_the_rows():
    rows = some(20, 4)
    torch.testing.assert_close(compare.kmeans(rows, 1)[0][0], rows.mean(0))
    centres, cluster = compare.kmeans(rows, 20)
    torch.testing.assert_close(centres[cluster], rows)
    with pytest.raises(ValueError, match="between 1 and 20 clusters"):
        compare.kmeans(rows, 21)


@pytest.mark.parametrize("seed", range(20))
def test_kmeans_does_not_hang_on_the_last_bit_of_equal_rows(seed):
    """Two equal centres would share their rows by rounding."""
    rng = np.random.default_rng(seed)
    rows = torch.as_tensor(rng.normal(size=(4, 3)))[rng.integers(0, 4, 40)]
    shaken = rows * (1 + 1e-15 * torch.as_tensor(rng.normal(size=(40, 3))))
    (centres, cluster), (others, same) = (compare.kmeans(r, 3, seed=seed) for r in (rows, shaken))
    torch.testing.assert_close(centres, others, rtol=0, atol=1e-12)
    assert cluster.equal(same)


def test_each_step_of_kmeans_lowers_the_error():
    rows = some(300, 5)
    errors = [float((rows - c[k]).square().sum()) for c, k in (compare.kmeans(rows, 7, steps=s, seed=3) for s in range(1, 12))]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(errors))
    assert errors[-1] < errors[0]


def compressed_by_hand(net, x, at, k, seed):
    """Point by point: the affine map of each output at a point, the nearest centre, its value there."""
    out = torch.zeros_like(net(at))
    train, test = compare.coefficients(net, x), compare.coefficients(net, at)
    for j, i in itertools.product(range(out.shape[1]), range(len(at))):
        draw = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed + j))[:k]
        found = KMeans(k, init=train[j][draw].numpy(), n_init=1, max_iter=10, tol=0).fit(train[j].numpy())
        centre = min(found.cluster_centers_, key=lambda c: np.linalg.norm(c - test[j, i].numpy()))
        out[i, j] = float(centre[:-1] @ at[i].numpy() + centre[-1])
    return out


@pytest.mark.parametrize("name", NETS)
def test_rows_give_the_values(name):
    torch.testing.assert_close(compare.values(compare.coefficients(NETS[name], X), X), NETS[name](X).T)


@pytest.mark.parametrize(
    ("net", "k"), [(NETS["dense"], 3), (ReLUNet.random((12, 30, 2), leak=0.3, seed=5), 4), (NETS["conv"], 2)]
)
def test_a_compressed_network_says_what_its_nearest_centres_say(net, k):
    at = some(15, 12, 7)
    torch.testing.assert_close(compare.compress(net, X, k, at=at, seed=3), compressed_by_hand(net, X, at, k, 3))


@pytest.mark.parametrize("name", NETS)
def test_one_map_is_the_mean_map_and_as_many_as_points_are_the_network(name):
    net = NETS[name]
    mean = compare.coefficients(net, X).mean(1)
    torch.testing.assert_close(compare.compress(net, X, 1), X @ mean[:, :-1].T + mean[:, -1])
    torch.testing.assert_close(compare.compress(net, X, len(X)), net(X))
    single = compare.compress(net.to(torch.float32), X.float(), 2)
    assert (single.dtype, single.shape) == (torch.float32, (40, 3))


def test_what_cannot_be_compressed_is_refused():
    with pytest.raises(ValueError, match="one network at a time is compressed"):
        compare.compress(ReLUNet.random((12, 3, 2), batch=2), X, 2)
    with pytest.raises(ValueError, match="between 1 and 40 clusters"):
        compare.compress(NETS["dense"], X, 41)
