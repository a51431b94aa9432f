"""The image networks: beside torch's own layers and optimizers on a few images, and what the book keeps of them."""

import numpy as np
import pytest
import torch
from torch import nn

from experiments import image_nets as run
from foldnet import data as sets
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import PiecewiseLinear
from tests.convolutional import random

N = 96


@pytest.fixture(autouse=True)
def few(monkeypatch, tmp_path):
    """A few images of both kinds, made here, and a folder for the weights."""
    rng = np.random.default_rng(0)
    made = lambda width: sets.Images(  # noqa: E731
        np.float32(rng.integers(0, 256, (N, width)) / 255),
        rng.integers(0, 10, N),
        np.float32(rng.integers(0, 256, (N, width)) / 255),
        rng.integers(0, 10, N),
    )
    images = {"mnist": made(784), "cifar10": made(3072)}
    run.scale.cache_clear()
    run._kept.cache_clear()
    monkeypatch.setattr(run, "_images", images.get)
    monkeypatch.setattr(run, "folder", lambda: tmp_path)
    monkeypatch.setattr(run, "book", lambda: tmp_path / "kept.npz")
    monkeypatch.setattr(run, "device", lambda: "cpu")
    yield images
    run.scale.cache_clear()
    run._kept.cache_clear()


def module(kind):
    if kind == "linear":
        return nn.Sequential(nn.Flatten(), nn.Linear(3072, 10))
    if kind == "dense":
        return nn.Sequential(nn.Flatten(), nn.Linear(3072, 128), nn.ReLU(), nn.Linear(128, 10))
    parts, before = [], 3
    for _ in run.CHANNELS[kind]:
        after = [nn.MaxPool2d(2), nn.ReLU()] if kind == "simple" else [nn.ReLU(), nn.MaxPool2d(2)]
        parts += [nn.Conv2d(before, 32, 3, padding=1), *after]
        before = 32
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(2048 if kind == "simple" else 512, 10))


def layers(net):
    if isinstance(net, ReLUNet):
        return zip(net.weights, net.biases)
    return [(part.weight, part.bias) for part in run.learned(net)]


@pytest.mark.parametrize("kind", run.KINDS)
def test_a_cell_is_the_training_of_torch(kind):
    result = run.cell("cifar10", kind, epochs=2, runs=2)
    assert np.shape(result["right"]["sgd"]) == np.shape(result["right"]["adamw"]) == (2, 2)
    x, y = run.pixels("cifar10", "train")
    before = run.network_of(kind, run.begin(kind, 2))
    for name in run.OPTIMIZERS:
        nets = run.networks(kind, "cifar10", name)
        assert len(list(nets)) == 2
        model = module(kind)
        learned = [m for m in model if isinstance(m, (nn.Linear, nn.Conv2d))]
        with torch.no_grad():
            for m, (w, b) in zip(learned, layers(before[1])):
                m.weight.copy_(w)
                m.bias.copy_(b)
        how = {"lr": 0.01, "momentum": 0.5, "weight_decay": 0.01} if name == "sgd" else {}
        optimizer = (torch.optim.SGD if name == "sgd" else torch.optim.AdamW)(model.parameters(), **how)
        for epoch in range(2):
            for numbers in np.random.default_rng([12, 2, epoch]).permutation(N).reshape(-1, 32):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[numbers].unflatten(1, run.SHAPE)), y[numbers]).backward()
                optimizer.step()
        tolerance = 1e-5 if name == "sgd" else 2e-4  # the first steps of AdamW are signs of slopes, also of tiny ones
        for m, (w, b) in zip(learned, layers(nets[1])):
            assert (m.weight.detach() - w).abs().quantile(0.99) < tolerance
            assert (m.bias.detach() - b).abs().quantile(0.99) < tolerance
        x_test, y_test = run.pixels("cifar10")
        found = torch.stack([(net(x_test).argmax(-1) == y_test).sum() for net in nets])
        assert (found - torch.tensor(result["right"][name][-1])).abs().max() <= 1


def test_images_are_normalised_and_digits_are_scaled_up_and_repeated(few):
    x, y = run.pixels("mnist", "train")
    assert x.shape == (N, 3072)
    assert torch.equal(y, torch.as_tensor(few["mnist"].y_train))
    three = x.unflatten(1, run.SHAPE)
    assert torch.equal(three[:, 0], three[:, 1])
    assert torch.equal(three[:, 0], three[:, 2])
    raw = torch.as_tensor(few["mnist"].x_train)
    large = nn.functional.interpolate(raw.view(N, 1, 28, 28), size=(32, 32), mode="bilinear")
    torch.testing.assert_close(three[:, :1], (large - raw.mean()) / raw.std(correction=0), atol=1e-4, rtol=1e-4)
    x, _ = run.pixels("cifar10", "train", 50)
    assert x.shape == (50, 3072)
    whole = run.pixels("cifar10", "train")[0].unflatten(1, run.SHAPE)
    torch.testing.assert_close(whole.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(whole.std((0, 2, 3)), torch.ones(3), atol=1e-4, rtol=0)


def test_the_book_keeps_networks_in_few_bytes():
    with pytest.raises(sets.DataMissing, match="experiments image_nets"):
        run.networks("dense", "mnist", "sgd")
    with pytest.raises(ValueError, match="optimizer is one of 'sgd', 'adamw'; got 'adam'"):
        run.networks("dense", "mnist", "adam")
    with pytest.raises(sets.DataMissing, match="keep"):
        run.network("dense", "mnist", "sgd")
    for data in run.DATA:
        for kind in run.KINDS:
            run.cell(data, kind, epochs=1, runs=2)
    run.keep()
    for data in run.DATA:
        x, y = run.samples(data)
        torch.testing.assert_close(x, run.pixels(data, count=run.SAMPLES)[0])
        assert torch.equal(y, run.pixels(data, count=run.SAMPLES)[1])
        for kind in run.KINDS:
            kept, full = run.network(kind, data, "adamw", 2), run.networks(kind, data, "adamw")[1]
            assert type(kept) is type(full)
            assert kept.dtype == torch.float32
            assert (kept(x) - full(x)).abs().max() < 0.02 * full(x).abs().max()
    assert isinstance(kept, PiecewiseLinear)
    assert [type(part) for part in kept.graph.module][2:4] == [nn.ReLU, nn.MaxPool2d]
    with pytest.raises(KeyError, match="the book has runs"):
        run.network("dense", "mnist", "sgd", 3)


def test_ties_of_a_plain_background_are_broken_alike_in_both_precisions():
    net, x = random((6, 5), 3, seed=4), torch.full((2, 3072), 0.3, dtype=torch.float64)
    moved = run.nudged(x)
    assert 0 < (moved - x).abs().max() < 1e-3
    assert (net.pattern(moved) != net.to(torch.float32).pattern(moved)).double().mean() < 0.01
    place = run.choices(net, moved)[0][0]  # of the poolings of the first layer: no pixel is preferred by its place
    first = 2 * (place // 32 % 2) + place % 2
    assert (first.flatten().bincount() / first.numel()).min() > 0.15
    assert run.nudged(x.float()).dtype == torch.float32
