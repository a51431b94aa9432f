"""Measures of two networks against numpy, scikit-learn, scipy and what can be worked out by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from foldnet.geometry import comparison as compare
from foldnet.geometry.convnet import ConvNet
from foldnet.geometry.vision import pattern
from foldnet.nets import ReLUNet

NETS = {
    "linear": ReLUNet.random((12, 3), seed=1),
    "dense": ReLUNet.random((12, 5, 3), seed=2),
    "conv": ConvNet.random((4,), 3, (3, 2, 2), seed=3),
}
X = torch.as_tensor(np.random.default_rng(0).normal(size=(40, 12)))


def some(n, d, seed=0):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize("name", NETS)
def test_coefficients_are_autograds(name):
    net = NETS[name]
    rows = compare.coefficients(net, X)
    assert rows.shape == (3, 40, 13)
    torch.testing.assert_close(compare.values(rows, X), net(X).T)
    x = X.clone().requires_grad_()
    for j in range(3):
        (slope,) = torch.autograd.grad(net(x)[:, j].sum(), x)
        torch.testing.assert_close(rows[j, :, :-1], slope)
        torch.testing.assert_close(compare.coefficients(compare.one_output(net, j), X)[0], rows[j])


def test_there_are_no_outputs_beyond_the_last():
    for output in (-1, 3):
        with pytest.raises(ValueError, match=f"numbered 0 to 2; got {output}"):
            compare.one_output(NETS["dense"], output)


def test_fingerprints_tell_patterns_apart():
    patterns = pattern(NETS["dense"], X)
    classes = np.unique(patterns.numpy(), axis=0, return_inverse=True)[1].ravel()
    prints = np.unique(compare.fingerprints(patterns).numpy(), return_inverse=True)[1].ravel()
    assert len(set(zip(classes, prints))) == len(set(classes)) == len(set(prints)) > 5


# ---- clusters --------------------------------------------------------------------------------------------------------------


def test_kmeans_finds_separate_clouds_as_scikit_learn_does():
    middles = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]], dtype=torch.float64)
    label = torch.arange(90) % 3
    rows = middles[label] + some(90, 2)
    best = min((compare.kmeans(rows, 3, seed=s) for s in range(10)), key=lambda r: float((rows - r[0][r[1]]).square().sum()))
    twin = KMeans(3, n_init=10, random_state=0).fit(rows.numpy())
    assert float((rows - best[0][best[1]]).square().sum()) == pytest.approx(twin.inertia_)
    assert compare.purity(best[1], label) == 1
    assert len({(int(a), int(b)) for a, b in zip(best[1], label)}) == 3


def test_one_cluster_is_the_mean_and_as_many_as_rows_are_the_rows():
    rows = some(20, 4)
    torch.testing.assert_close(compare.kmeans(rows, 1)[0][0], rows.mean(0))
    centres, cluster = compare.kmeans(rows, 20)
    torch.testing.assert_close(centres[cluster], rows)
    with pytest.raises(ValueError, match="between 1 and 20 clusters"):
        compare.kmeans(rows, 21)


def test_each_step_of_kmeans_lowers_the_error():
    rows = some(300, 5)
    errors = [float((rows - c[k]).square().sum()) for c, k in (compare.kmeans(rows, 7, steps=s, seed=3) for s in range(1, 12))]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(errors))
    assert errors[-1] < errors[0]


def test_purity_by_hand():
    assert compare.purity(torch.tensor([0, 0, 0, 1, 1]), torch.tensor([2, 2, 1, 0, 0])) == pytest.approx(0.8)
    assert compare.purity(torch.zeros(6, dtype=torch.long), torch.tensor([0, 0, 1, 1, 2, 2])) == pytest.approx(1 / 3)


# ---- least squares ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [6, 3, 1])
def test_least_squares_is_numpys(rank):
    source, target = some(50, rank) @ some(rank, 6, 1), some(50, 4, 2)
    found = compare.least_squares(source, target)
    expected = np.linalg.lstsq(source.numpy(), target.numpy(), rcond=1e-8)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(source @ found, source.numpy() @ expected, atol=1e-5)


def test_mapped_values_make_no_map_and_are_the_same():
    train, test, x = [some(60, 7, s) for s in (1, 2)], [some(30, 7, s) for s in (3, 4)], compare.with_one(some(30, 6, 5))
    hats = [compare.hat(a, b) for a, b in zip(train, test)]
    found = compare.mapped_values(hats, train, train, x, chunk=11)
    for i in range(2):
        for j in range(2):
            rows = test[i].numpy() @ np.linalg.lstsq(train[i].numpy(), train[j].numpy(), rcond=None)[0]
            np.testing.assert_allclose(found[i, j], (rows * x.numpy()).sum(1), atol=1e-6)
    np.testing.assert_allclose(found[0, 0], compare.values(test[0], x[:, :-1]), atol=1e-6)  # onto itself: the identity


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


# ---- measures --------------------------------------------------------------------------------------------------------------


def test_scaled_distance_is_its_formula():
    a, b = some(20, 5, 1), some(20, 5, 2)
    flat = torch.stack([a.flatten(), 3 * b.flatten(), 2 * a.flatten()])
    found = compare.scaled_distance(flat @ flat.T, flat.amax(-1), a.numel())
    by_hand = (a / a.max() - b / b.max()).square().mean()
    assert float(found[0, 1]) == pytest.approx(float(by_hand))
    assert float(found[0, 2]) == pytest.approx(0, abs=1e-12)


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
    table = compare.alignments([x, x[:, :2], y])
    torch.testing.assert_close(table, table.T)
    torch.testing.assert_close(table[0, 2], compare.cka(x, y))


def test_cka_of_a_linear_network_has_no_value():
    rows = compare.coefficients(NETS["linear"], X)[0]
    other = compare.coefficients(NETS["dense"], X)[0]
    assert torch.isnan(compare.cka(rows, other))
    assert torch.isnan(compare.cka(other, rows.float().double()))
    assert 0 < float(compare.cka(rows, other, centred=False)) <= 1


def test_cross_entropies_are_their_formula():
    outputs = torch.stack([some(20, 4, s) for s in (1, 2, 3)])
    found = compare.cross_entropies(outputs)
    p, q = (scipy.special.softmax(outputs[k].numpy(), 1) for k in (0, 1))
    assert float(found[0, 1]) == pytest.approx(-(p * np.log(q)).sum(1).mean())
    assert float(found[0, 0]) == pytest.approx(scipy.stats.entropy(p, axis=1).mean())
    assert bool((found >= found.diagonal()[:, None] - 1e-12).all())  # Gibbs


def test_dissimilarities_and_ranks_are_scipys():
    x, y = some(12, 6), some(12, 9, 1)
    a, b = compare.dissimilarities(x), compare.dissimilarities(y)
    above = np.triu_indices(12, 1)
    np.testing.assert_allclose(a, (1 - np.corrcoef(x.numpy()))[above])
    series = torch.stack([a, b, a.round(decimals=1)])
    expected = scipy.stats.spearmanr(series.numpy(), axis=1).statistic
    np.testing.assert_allclose(compare.rank_correlations(series), expected)
