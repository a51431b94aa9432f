"""The typical mistake: always a mistake, in the costliest cluster, against brute force and by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foldnet.growth._labels import labels
from foldnet.growth.folding import fold
from foldnet.growth.tasks import one_hot, sine
from foldnet.growth.typical import accuracy, class_losses, predictions, typical_mistake
from foldnet.nets import ReLUNet


def constant(x):
    """A network that says class 0 everywhere, with logits 1 and 0."""
    return ReLUNet([np.zeros((1, x.shape[1])), np.zeros((2, 1))], [[0.0], [1.0, 0.0]])


def test_losses_are_torch_cross_entropy():
    x, y = sine(60, seed=1)
    two, one = ReLUNet.random((2, 4, 2), seed=1), ReLUNet.random((2, 4, 1), seed=1)
    assert torch.allclose(class_losses(two, x, y), torch.nn.functional.cross_entropy(two(x), y, reduction="none"))
    logistic = torch.nn.functional.binary_cross_entropy_with_logits(one(x)[:, 0], y.double(), reduction="none")
    assert torch.allclose(class_losses(one, x, y), logistic)
    assert accuracy(one, x, y).item() == pytest.approx(((one(x)[:, 0] > 0) == (y == 1)).double().mean().item())
    many = ReLUNet.random((2, 4, 2), batch=(2, 3), seed=1)
    for shared in (y, y.expand(3, -1), y.expand(2, 1, -1), y.expand(2, 3, -1)):
        assert torch.allclose(class_losses(many, x, shared)[1, 2], class_losses(many[1, 2], x, y))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 3))
def test_what_is_returned_is_always_mispredicted(seed, clusters, out):
    rng = np.random.default_rng(seed)
    x, y = torch.as_tensor(rng.normal(size=(30, 2))), torch.as_tensor(rng.integers(0, 2, 30))
    net = ReLUNet.random((2, 3, out), seed=seed)
    wrong = predictions(net, x) != y
    if not wrong.any():
        return
    index = typical_mistake(net, x, y, clusters, seed=seed)
    assert wrong[index]
    assert index == typical_mistake(net, x, y, clusters, seed=seed)


def test_the_costliest_of_two_clear_kinds_is_found_and_its_middle_returned():
    """Two groups of mistakes far apart; the right one has the higher loss, and its middle point is the answer."""
    x = torch.tensor([[-3.0, 0], [-3.1, 0], [-2.9, 0], [3.0, 0], [3.2, 0], [2.8, 0], [0.0, 9.0]]).double()
    y = torch.tensor([1, 1, 1, 1, 1, 1, 0])
    # margin of class 0 over class 1 is 4 + x_1 on the data: larger mistakes to the right
    net = ReLUNet([[[1.0, 0.0]], [[1.0], [0.0]]], [[6.0], [-2.0, 0.0]])
    assert (predictions(net, x) == 0).all()
    assert typical_mistake(net, x, y, clusters=2) == 3


def test_the_mean_loss_decides_and_not_the_sum():
    """Twelve cheap mistakes to the left cost more together than two dear ones to the right; a right one is returned."""
    left = [[-3.0 + 0.05 * k, 0.0] for k in range(12)]
    x = torch.tensor([*left, [3.0, 0.0], [3.2, 0.0], [0.0, 9.0]]).double()
    y = torch.tensor([1] * 14 + [0])
    net = ReLUNet([[[1.0, 0.0]], [[1.0], [0.0]]], [[6.0], [-2.0, 0.0]])
    loss = class_losses(net, x, y)
    assert loss[:12].sum() > loss[12:14].sum()
    assert loss[12:14].mean() > loss[:12].mean()
    assert typical_mistake(net, x, y, clusters=2) in (12, 13)


def test_clusters_are_weighted_by_the_losses():
    """Against weighted k-means by brute force: of all splits in two, the one with the smallest loss-weighted spread."""
    import itertools

    rng = np.random.default_rng(7)
    x = torch.as_tensor(np.concatenate([rng.normal(0, 0.6, (5, 2)), rng.normal([4.0, 0.5], 0.8, (4, 2))]))
    y = torch.ones(9).long()
    net = ReLUNet([[[1.5, 0.7]], [[1.0], [0.0]]], [[4.0], [-2.0, 0.0]])
    assert (predictions(net, x) == 0).all()
    points, weight = x.numpy(), class_losses(net, x, y).numpy()

    def spread(side):
        total = 0.0
        for part in (side, ~side):
            centre = np.average(points[part], axis=0, weights=weight[part])
            total += (weight[part] * np.square(points[part] - centre).sum(1)).sum()
        return total

    sides = [np.array(bits, bool) for bits in itertools.product([0, 1], repeat=9) if 0 < sum(bits) < 9]
    best = min(sides, key=spread)
    worst = max((best, ~best), key=lambda part: weight[part].mean())
    centre = np.average(points[worst], axis=0, weights=weight[worst])
    nearest = np.nonzero(worst)[0][np.square(points[worst] - centre).sum(1).argmin()]
    plain = np.nonzero(worst)[0][np.square(points[worst] - points[worst].mean(0)).sum(1).argmin()]
    assert typical_mistake(net, x, y, clusters=2) == nearest != plain


def test_one_cluster_is_the_loss_weighted_mean():
    x, y = sine(80, seed=3)
    net = ReLUNet.random((2, 3, 2), seed=3)
    wrong = torch.nonzero(predictions(net, x) != y).flatten()
    loss = class_losses(net, x, y)[wrong]
    centre = (loss[:, None] * x[wrong]).sum(0) / loss.sum()
    nearest = wrong[(x[wrong] - centre).norm(dim=1).argmin()]
    assert typical_mistake(net, x, y, clusters=1) == nearest


def test_the_printed_search_can_return_a_correct_prediction():
    """S0-alg-find-typical: points at -1, 0, 1, the middle one predicted correctly; the weighted centroid is 0, and so is x_t."""
    x = torch.tensor([[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]).double()
    y = torch.tensor([1, 0, 1])
    net = constant(x)
    printed = typical_mistake(net, x, y, clusters=1, only_wrong=False)
    assert printed == 1
    assert predictions(net, x)[printed] == y[printed]
    assert typical_mistake(net, x, y, clusters=1) in (0, 2)


def test_fewer_points_than_clusters_and_equal_points():
    x = torch.zeros(4, 2).double()
    y = torch.tensor([1, 1, 1, 0])
    assert typical_mistake(constant(x), x, y, clusters=5) in (0, 1, 2)


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (lambda net, x, y: typical_mistake(net, x, torch.zeros(50)[:, None].long()[:, 0]), "predicted correctly"),
        (lambda net, x, y: typical_mistake(ReLUNet.random((2, 3, 2), batch=3), x, y), "choose one"),
        (lambda net, x, y: typical_mistake(net, x, y, clusters=0), "at least one cluster"),
        (lambda net, x, y: labels(net, one_hot(y, 3)), "2 columns"),
        (lambda net, x, y: labels(net, y + 5), "classes of a"),
        (lambda net, x, y: accuracy(net, x, y[:, None]), r"labels of 50 points are \(50,\) .* got \(50, 1\)"),
        (lambda net, x, y: class_losses(net, x, y[:, None]), "labels of 50 points"),
        (lambda net, x, y: typical_mistake(net, x, y[:, None]), "labels of 50 points"),
        (lambda net, x, y: class_losses(ReLUNet.random((2, 3, 2), batch=50), x, y[:, None]), "labels of 50 points"),
        (lambda net, x, y: fold(ReLUNet.random((2, 3, 2), batch=50), x, y[:, None]), "labels of 50 points"),
        (lambda net, x, y: accuracy(net, x, y[:5]), r"got \(5,\)"),
    ],
)
def test_bad_input_gets_one_sentence(act, sentence):
    x, y = sine(50)
    with pytest.raises(ValueError, match=sentence):
        act(constant(x), x, y)
