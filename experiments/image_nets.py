"""Linear, dense and convolutional networks on MNIST and CIFAR-10, by SGD and by AdamW, five runs each (Table 6.1 of S2).

The source's setup: images of 3 x 32 x 32 (MNIST scaled up bilinearly and repeated), normalised; 15 epochs, batches of 32; SGD
with rate 0.01, momentum 0.5 and weight decay 0.01, or AdamW as torch has it. It does not say how convolutions are padded (by one
pixel here) nor where networks start (torch's default here), and it trains in 16 bits (in 32 here, products of ten bits on a GPU).
Runs 1 and 2 stand for the source's two; three more make intervals. Run k starts alike for both optimizers. The ten networks of a
cell are one batch; its weights go to `_sweeps/image_nets/`, and `keep` puts a small copy of runs 1 and 2 into the book.

>>> from experiments import image_nets
>>> image_nets.network("simple", "cifar10", "adamw")  # from the book's copy
PiecewiseLinear(input 3072, output 10, 20,480 units with kinks, float32)
>>> digits, labels = image_nets.samples("mnist")
>>> digits.shape, labels[:4].tolist()
(torch.Size([200, 3072]), [7, 2, 1, 0])
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, max_pool2d

from foldbook import paths
from foldnet import data as sets
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import PiecewiseLinear, of

from ._pictures import CLASSES as OUTPUTS
from ._pictures import AdamW, Pictures, Sgd, Training, dense_logits, drawn, logits, right, start
from .runner import device

KINDS, DATA, OPTIMIZERS, RUNS = ("linear", "dense", "simple", "complex"), ("mnist", "cifar10"), ("sgd", "adamw"), 5
EPOCHS, BATCH, LR, MOMENTUM, DECAY = 15, 32, 0.01, 0.5, 0.01
SHAPE, HIDDEN, CHANNELS = (3, 32, 32), 128, {"simple": (32, 32), "complex": (32, 32, 32)}
CLASSES = {
    "mnist": tuple("0123456789"),
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
}
KEPT, SAMPLES = (1, 2), 200  # runs and test images in the book's copy
THREE = {"mnist": (0, 0, 0), "cifar10": (0, 0, 4)}  # classes of the images that span a plane: three zeros; two planes and a deer


def cells() -> list[dict]:
    return [{"data": name, "kind": kind} for name in DATA for kind in KINDS]


def cell(data: str, kind: str, epochs: int = EPOCHS, runs: int = RUNS, count: int | None = None) -> dict:
    """`right[optimizer]`: right answers on the 10,000 test images after 1, 2, ... epochs, `(epochs, runs)`.

    The weights go to `_sweeps/image_nets/DATA-KIND.npz`, as `networks` reads them.
    """
    images, answers = pictures(data, count), logits if kind in CHANNELS else dense_logits
    rules = [(slice(runs), Sgd(LR, MOMENTUM, DECAY)), (slice(runs, None), AdamW())]
    training = Training(begin(kind, runs), images, [*range(1, runs + 1)] * 2, BATCH, rules, answers)
    log = []
    for epoch in range(epochs):
        training.run(range(epoch, epoch + 1), fresh=not epoch)
        log.append(right(training.parts, images, answers))
    both = zip(("weights", "biases"), _arranged(kind, training.parts))
    arrays = {f"{name}{k}": p.cpu().numpy() for name, layers in both for k, p in enumerate(layers)}
    target = folder() / f"{data}-{kind}.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part.npz")
    np.savez(part, allow_pickle=False, **arrays)
    part.replace(target)
    return {"right": {name: [row[k * runs : (k + 1) * runs] for row in log] for k, name in enumerate(OPTIMIZERS)}}


def folder() -> Path:
    """Where the weights of all runs lie, in full precision."""
    return paths.repository() / "_sweeps" / "image_nets"


# ---- images --------------------------------------------------------------------------------------------------------------------


@functools.cache
def _images(name: str) -> sets.Images:
    return {"mnist": sets.mnist, "cifar10": sets.cifar10}[name]()


@functools.cache
def scale(name: str) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each channel over the training images, `(channels, 1, 1)`."""
    x = _images(name).x_train.reshape(len(_images(name).x_train), 1 if name == "mnist" else 3, -1)
    found = lambda f: torch.as_tensor(np.float32(f(x, axis=(0, 2), dtype=np.float64))).view(-1, 1, 1)  # noqa: E731
    return found(np.mean), found(np.std)


def prepared(x, scale: tuple[Tensor, Tensor]) -> Tensor:
    """Rows of pixels in [0, 1] of either data set as the networks read them, `(n, 3072)`."""
    mean, deviation = scale
    channels = len(mean)
    x = (torch.as_tensor(x).unflatten(-1, (channels, *[round((x.shape[-1] / channels) ** 0.5)] * 2)) - mean) / deviation
    if channels == 1:
        x = interpolate(x, size=SHAPE[1:], mode="bilinear").expand(-1, *SHAPE)
    return x.flatten(1)


def pixels(name: str, part: str = "test", count: int | None = None) -> tuple[Tensor, Tensor]:
    """The first images of a data set as the networks read them, `(n, 3072)`, channel by channel, and their labels `(n,)`."""
    x, y = getattr(_images(name), f"x_{part}"), getattr(_images(name), f"y_{part}")
    return prepared(x[:count], scale(name)), torch.as_tensor(y[:count])


def closest(x: np.ndarray, y: np.ndarray, classes: tuple[int, int, int]) -> list[int]:
    """The three images of these classes with the least sum of Euclidean distances, as Figures 6.8 and 6.9 take them."""
    places = [np.flatnonzero(y == c) for c in classes]
    a, b, c = (torch.as_tensor(x[p]) for p in places)
    first, second, third = torch.cdist(a, b), torch.cdist(b, c), torch.cdist(a, c)
    for far, same in ((first, classes[0] == classes[1]), (second, classes[1] == classes[2]), (third, classes[0] == classes[2])):
        if same:
            far.fill_diagonal_(torch.inf)
    bound, best = first.amin(1) + second.min() + third.amin(1), (float("inf"), [0, 0, 0])
    for i in bound.argsort().tolist():
        if bound[i] > best[0]:
            break  # no image from here on can be closer
        least, at = (first[i, :, None] + second + third[i]).flatten().min(0)
        best = min(best, (float(least), [i, *divmod(int(at), len(c))]))
    return [int(p[m]) for p, m in zip(places, best[1])]


def pictures(name: str, count: int | None = None) -> Pictures:
    """All images for the training, `(n, 32, 32, 3)`, on the device."""
    parts = []
    for part in ("train", "test"):
        x, y = pixels(name, part, count)
        parts += [x.unflatten(1, SHAPE).permute(0, 2, 3, 1).contiguous().to(device()), y.to(device())]
    return Pictures(*parts)


# ---- networks ------------------------------------------------------------------------------------------------------------------


def begin(kind: str, runs: int = RUNS) -> list[Tensor]:
    """The networks before training, twice: run k starts alike for SGD and for AdamW."""
    seeds, pixels = range(1, runs + 1), SHAPE[0] * SHAPE[1] * SHAPE[2]
    if kind in CHANNELS:
        parts = start(SHAPE[1], SHAPE[0], CHANNELS[kind], seeds, device())
    else:
        parts = drawn([(pixels, OUTPUTS)] if kind == "linear" else [(pixels, HIDDEN), (HIDDEN, OUTPUTS)], seeds, device())
    return [p.repeat(2, 1, 1) for p in parts]


def convolutional(weights, biases, shape=SHAPE, relu_first: bool = False) -> PiecewiseLinear:
    """Convolutions of 3 x 3 that keep the size, each pooled and through ReLU, and a linear layer, which read rows of pixels.

    weights, biases: of the convolutions, in their order, and of the linear layer.
    shape: channels, height and width of an image.
    relu_first: whether each ReLU comes before its pooling. The function is the same, its pattern is not.
    """
    parts: list[nn.Module] = [nn.Unflatten(1, shape)]
    for w in weights[:-1]:
        conv = nn.Conv2d(w.shape[1], w.shape[0], 3, padding=1, dtype=w.dtype, device=w.device)
        parts += [conv, nn.ReLU(), nn.MaxPool2d(2)] if relu_first else [conv, nn.MaxPool2d(2), nn.ReLU()]
    last = weights[-1]
    parts += [nn.Flatten(), nn.Linear(last.shape[1], last.shape[0], dtype=last.dtype, device=last.device)]
    module = nn.Sequential(*parts).requires_grad_(False)
    for part, w, b in zip(learned(module), weights, biases):
        part.weight.data, part.bias.data = w.clone(), b.clone()
    return of(module, int(np.prod(shape)))


def learned(net: PiecewiseLinear | nn.Module) -> list:
    """The convolutions and the linear layer of such a network or module, in their order."""
    module = net if isinstance(net, nn.Module) else net.graph.module
    return [part for part in module.children() if hasattr(part, "weight")]


@torch.no_grad()
def choices(net: PiecewiseLinear, x: Tensor) -> list[tuple[Tensor, Tensor]]:
    """For each pooling of such a network `(n, channels, height, width)`: the place that it takes, and whether what it takes is
    positive."""
    h, found = x.to(net.dtype).to(net.device), []
    for part in net.graph.module.children():
        if isinstance(part, nn.MaxPool2d):
            h, place = max_pool2d(h, 2, return_indices=True)
            found.append((place, h > 0))
        else:
            h = part(h)
    return found


def network_of(kind: str, parts: list[Tensor]) -> Any:
    """Trained parts as networks that read images channel by channel: a batch of dense ones, or a list."""
    return _made(kind, *_arranged(kind, parts))


def _arranged(kind: str, parts: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """Weights and biases of all layers, channel by channel, from trained parts."""
    weights, biases = [w.mT for w in parts[::2]], [b.squeeze(1) for b in parts[1::2]]
    turned = 0 if kind not in CHANNELS else -1  # the layer that reads pixels or features in the order row, column, channel
    channels = SHAPE[0] if turned == 0 else CHANNELS[kind][-1]
    weights[turned] = weights[turned].unflatten(-1, (-1, channels)).transpose(-2, -1).flatten(-2)
    if kind in CHANNELS:
        weights[:-1] = [w.unflatten(-1, (-1, 3, 3)) for w in weights[:-1]]
    return weights, biases


def _made(kind: str, weights, biases) -> Any:
    if kind not in CHANNELS:
        return ReLUNet(weights, biases)
    if biases[0].ndim > 1:
        return [_made(kind, w, b) for w, b in zip(zip(*weights), zip(*biases))]
    return convolutional(weights, biases, relu_first=kind == "complex")


def _network(kind: str, arrays) -> Any:
    many = len(CHANNELS.get(kind, "x" * (kind == "dense"))) + 1
    return _made(kind, *([torch.as_tensor(arrays[f"{name}{k}"]) for k in range(many)] for name in ("weights", "biases")))


def make(data: str) -> None:
    """Trains what there is not yet of the networks on these images: two minutes on a large GPU."""
    for kind in KINDS:
        if not (folder() / f"{data}-{kind}.npz").is_file():
            cell(data, kind)


def networks(kind: str, data: str, optimizer: str) -> Any:
    """All five runs, in full precision, as `network_of` has them; `python -m experiments image_nets` makes them."""
    if optimizer not in OPTIMIZERS:
        raise ValueError(f"optimizer is one of {', '.join(map(repr, OPTIMIZERS))}; got {optimizer!r}")
    path = folder() / f"{data}-{kind}.npz"
    if not path.is_file():
        raise sets.DataMissing(f"{path.name} is not in {path.parent}; `python -m experiments image_nets` makes it")
    with np.load(path) as arrays:
        both, runs = _network(kind, dict(arrays)), len(arrays["biases0"]) // 2
    return both[:runs] if optimizer == OPTIMIZERS[0] else both[runs:]


# ---- the copy in the book ------------------------------------------------------------------------------------------------------


def book() -> Path:
    return paths.book() / "data" / "image_nets_weights.npz"


def rounded(net: ReLUNet | PiecewiseLinear) -> dict[str, np.ndarray]:
    """One network in few bytes: weights of a large layer as whole numbers from -127 to 127 times a scale for each row, others and
    biases in 16 bits."""
    layers = zip(net.weights, net.biases) if isinstance(net, ReLUNet) else [(p.weight, p.bias) for p in learned(net)]
    arrays = {}
    for k, (w, b) in enumerate(layers):
        arrays[f"biases{k}"] = b.cpu().numpy().astype(np.float16)
        if w.numel() > 100_000:
            step = w.abs().amax(-1, keepdim=True) / 127
            arrays[f"steps{k}"] = step.cpu().numpy()
            arrays[f"weights{k}"] = (w / step).round().to(torch.int8).cpu().numpy()
        else:
            arrays[f"weights{k}"] = w.cpu().numpy().astype(np.float16)
    return arrays


def restored(kind: str, arrays: dict[str, np.ndarray]) -> Any:
    """The network of `rounded`, in single precision."""
    found = {name: a.astype(np.float32) for name, a in arrays.items()}
    for name in [n for n in found if n.startswith("steps")]:
        found[name.replace("steps", "weights")] *= found[name]
    return _network(kind, found)


def keep(target: Path | None = None) -> Path:
    """Write runs 1 and 2 of all kinds, the first test images, those of the planes, mean and deviation into the book."""
    arrays = {}
    for data in DATA:
        found = _images(data)
        for name, which in (("images", slice(SAMPLES)), ("three", closest(found.x_test, found.y_test, THREE[data]))):
            arrays[f"{data}/{name}"] = np.uint8((255 * found.x_test[which]).round())
        arrays[f"{data}/labels"] = found.y_test[:SAMPLES].astype(np.uint8)
        arrays[f"{data}/scale"] = torch.stack(scale(data)).flatten(1).numpy()
        for kind in KINDS:
            for optimizer in OPTIMIZERS:
                nets = networks(kind, data, optimizer)
                for run in KEPT:
                    small = rounded(nets[run - 1])
                    arrays |= {f"{data}/{kind}/{optimizer}/{run}/{name}": a for name, a in small.items()}
    target = target or book()
    np.savez_compressed(target, allow_pickle=False, **arrays)
    return target


@functools.cache
def _kept() -> dict[str, np.ndarray]:
    if not book().is_file():
        raise sets.DataMissing(f"{book().name} is not stored; `python -m experiments image_nets` and image_nets.keep() make it")
    with np.load(book()) as kept:
        return dict(kept)


def network(kind: str, data: str, optimizer: str, run: int = 1) -> ReLUNet | PiecewiseLinear:
    """One network from the book's copy, run 1 or 2, in single precision; `rounded` says what was lost."""
    prefix = f"{data}/{kind}/{optimizer}/{run}/"
    arrays = {name.removeprefix(prefix): a for name, a in _kept().items() if name.startswith(prefix)}
    if not arrays:
        raise KeyError(f"the book has runs {KEPT} of {KINDS} on {DATA} by {OPTIMIZERS}; got {kind}, {data}, {optimizer}, {run}")
    return restored(kind, arrays)


def samples(name: str) -> tuple[Tensor, Tensor]:
    """The first 200 test images from the book's copy, as `pixels` gives them: no data set is needed."""
    return kept_images(name, "images"), torch.as_tensor(_kept()[f"{name}/labels"].astype(np.int64))


def kept_images(name: str, what: str) -> Tensor:
    """Images of the book's copy as the networks read them, `(n, 3072)`: the first of the test set ("images"), or those that span
    a plane ("three")."""
    mean, deviation = (torch.as_tensor(row).view(-1, 1, 1) for row in _kept()[f"{name}/scale"])
    return prepared(_kept()[f"{name}/{what}"].astype(np.float32) / 255, (mean, deviation))


def nudged(x: Tensor, size: float = 1e-4) -> Tensor:
    """Images moved by noise well below a gray level: pixels of a pooling that are tied, as on a plain background, are told apart
    by the noise, and not by the last digit, which each processor computes otherwise."""
    noise = np.random.default_rng(18).normal(size=tuple(x.shape))
    return x + size * torch.as_tensor(noise).to(x)
