"""A dense network that learns digits, looked at along straight lines: breakpoints, targeted attacks and their frequencies.

Behind S3-fig-bp-directions and S3-find-fourier (splines/beyond). Everything is small enough for a CPU: 10,000 images of MNIST,
two hidden layers of 64 neurons, 20 epochs of Adam. The cells differ in one thing, the first layer at the start: its size, and
whether its weights, seen as pictures, are white noise or noise without high frequencies.

>>> from experiments import image_lines
>>> len(image_lines.cells())
4
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foldnet.data import Images, mnist
from foldnet.nets import ReLUNet
from foldnet.splines.depth import deep_spline
from foldnet.train import fit

SIZES, NETWORKS = (784, 64, 64, 10), 4
STARTS = (("white", 1.0), ("white", 0.1), ("white", 0.01), ("smooth", 1.0))
HIGH = 0.25  # cycles per pixel, half of what pixels can show along an axis: what lies above is called high
TRAINED, LINES, MARKS = 10_000, 100, (0, 1, 2, 5, 10, 20)  # images to learn, images to start from, epochs
STEP, MOST_STEPS, REACH = 0.1, 300, 3.0  # of an attack, and how far along a line breakpoints are counted
EDGES = np.linspace(0, 0.75, 16)  # of the rings of frequencies, in cycles per pixel; the corner of the spectrum is at 0.707


def cells() -> list[dict]:
    return [{"noise": noise, "scale": scale} for noise, scale in STARTS]


def cell(noise: str, scale: float, networks: int = NETWORKS, marks=MARKS) -> dict:
    """For each mark and network `right`, of 10,000 test images, and what is seen along lines from 100 test images.

    Breakpoints within REACH, `(marks, networks, lines)`, in four directions: `random`, `adversarial` (the attack on the network
    of that mark), `last` (that on the last one) and `image` (to an image of the target). `size` of the attacks, `(marks, networks
    times lines)`; `ring`, the share of their energy in each ring of frequencies, `(marks, networks, rings)`, mean over lines.
    `weights` and `change` are the rings of the first layer and of what training added to it; `images`, `(rings,)`, those of the
    images. `first_attack`, `(2, pixels)`: from the first image on the first network, at the first and at the last mark.
    """
    data, nets = digits(), trained(noise, scale, networks, marks)
    x, label, target, random, image = lines()
    ends = [attack(net, x, label, target) for net in nets]
    result: dict = {"right": [(n(data.x_test).argmax(-1).numpy() == data.y_test).sum(-1).tolist() for n in nets]}
    for name, of in {"random": random, "adversarial": None, "last": ends[-1], "image": image}.items():
        count = [breakpoints(net, x, end if of is None else of, label, target) for net, end in zip(nets, ends)]
        result[name] = torch.stack(count).tolist()
    result["size"] = [[round(s, 3) for s in end.norm(dim=-1).flatten().tolist()] for end in ends]
    first = [n.weights[0] for n in nets]
    shares = {"ring": ends, "weights": first, "change": [w - first[0] for w in first[1:]]}
    for name, of in shares.items():
        result[name] = [rings(e).mean(-2).round(decimals=5).tolist() for e in of]
    result["images"] = rings(x - x.mean(0)).mean(0).round(decimals=5).tolist()
    result["first_attack"] = [end[0, 0].round(decimals=3).tolist() for end in (ends[0], ends[-1])]
    return result


@functools.cache
def digits() -> Images:
    return mnist()


def start(noise: str, scale: float, networks: int = NETWORKS) -> ReLUNet:
    """He's weights, with those that meet the pixels multiplied by `scale`; "smooth": without frequencies above HIGH, as large."""
    net = ReLUNet.random(SIZES, batch=networks, init="he", seed=1, dtype=torch.float32)
    first = net.weights[0]
    if noise == "smooth":
        low = torch.fft.ifft2(torch.fft.fft2(first.unflatten(-1, (28, 28))) * (frequencies(28) <= HIGH)).real.flatten(-2)
        first = low * first.norm() / low.norm()
    return net.with_layers([scale * first, *net.weights[1:]], net.biases)


def trained(noise: str, scale: float, networks: int = NETWORKS, marks=MARKS) -> list[ReLUNet]:
    """The networks after each mark of epochs."""
    x, y = digits().x_train[:TRAINED], digits().y_train[:TRAINED]
    net, kept = start(noise, scale, networks), []
    how: dict[str, Any] = {"loss": "cross_entropy", "lr": 1e-3, "batch_size": 100, "progress": False, "engine": "torch"}
    seen = lambda nets: kept.append(nets.to(torch.float32)) or torch.zeros(networks)  # noqa: E731
    fit(net, x, y, epochs=marks[-1], record=seen, every=1, **how)
    return [kept[mark] for mark in marks]


@functools.cache
def lines(count: int = LINES) -> tuple[Tensor, ...]:
    """The first test images, their labels, other labels as targets, and from each image a random way and one to an image of the
    target: `(count, 784)`, `(count,)`, `(count,)` and two `(count, 784)` of any length."""
    data, rng = digits(), np.random.default_rng(0)
    label = data.y_test[:count]
    target = (label + rng.integers(1, 10, count)) % 10
    other = np.stack([data.x_train[rng.choice(np.flatnonzero(data.y_train == t))] for t in target])
    random, x = rng.normal(size=(count, SIZES[0])).astype(np.float32), data.x_test[:count]
    return tuple(map(torch.as_tensor, (x, label, target, random, other - x)))


@torch.no_grad()
def attack(net: ReLUNet, x: Tensor, label: Tensor, target: Tensor) -> Tensor:
    """`(*batch, n, in)`: small steps up the gradient until the target beats every class, at least one; pixels may leave [0, 1].

    Each step goes uphill for the target's output minus the largest other one. What needs more than MOST_STEPS stays where it is.
    """
    moved = torch.zeros(*net.batch_shape, *x.shape)
    chosen = torch.nn.functional.one_hot(target, net.sizes[-1]).to(x)
    for step in range(MOST_STEPS):
        *hidden, out = net.layers(x + moved)
        rival = (out - 1e9 * chosen).argmax(-1)
        slope = chosen - torch.nn.functional.one_hot(rival, net.sizes[-1])
        going = (out * slope).sum(-1) <= 0
        if step and not going.any():
            break
        for w, z in zip(net.weights[:0:-1], hidden[::-1]):
            slope = slope @ w * torch.ones_like(z).where(z > 0, net.leak)
        slope = slope @ net.weights[0]
        going = going.unsqueeze(-1) | (step == 0)
        moved += STEP * going * slope / slope.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    return moved


def along(net: ReLUNet, x: Tensor, way: Tensor, label: Tensor, target: Tensor) -> ReLUNet:
    """Networks of one input, `(*batch, n)` of them: the target's output minus the label's at x + t way / |way|."""
    way = (way / way.norm(dim=-1, keepdim=True).clamp(min=1e-12)).expand(*net.batch_shape, *x.shape)
    first, *inner, last = net.weights
    count = len(x)
    each = lambda a: a.unsqueeze(-3).expand(*a.shape[:-2], count, *a.shape[-2:])  # noqa: E731
    one = lambda a: a.unsqueeze(-2).expand(*a.shape[:-1], count, a.shape[-1])  # noqa: E731
    rise = (way @ first.mT).unsqueeze(-1)
    weights = [rise, *map(each, inner), (last[..., target, :] - last[..., label, :]).unsqueeze(-2)]
    begin = x @ first.mT + net.biases[0].unsqueeze(-2)
    end = (net.biases[-1][..., target] - net.biases[-1][..., label]).unsqueeze(-1)
    return ReLUNet(weights, [begin, *map(one, net.biases[1:-1]), end], net.leak)


def breakpoints(net: ReLUNet, x: Tensor, way: Tensor, label: Tensor, target: Tensor) -> Tensor:
    """How many neurons switch between the image and REACH along each way, `(*batch, n)`."""
    return deep_spline(along(net, x, way, label, target)).breakpoint_count(0.0, REACH)


def rings(pictures: Tensor) -> Tensor:
    """The share of the energy of pictures `(*, pixels)` in each ring of frequencies between EDGES, `(*, rings)`."""
    side = int(pictures.shape[-1] ** 0.5)
    power = torch.fft.fft2(pictures.double().unflatten(-1, (side, side))).abs().square().flatten(-2)
    ring = torch.as_tensor(np.digitize(frequencies(side).flatten(), EDGES) - 1)
    total = torch.zeros(*power.shape[:-1], len(EDGES) - 1, dtype=power.dtype).index_add_(-1, ring, power)
    return total / total.sum(-1, keepdim=True).clamp(min=1e-300)


def frequencies(side: int) -> Tensor:
    """How fast the waves of a picture of `side` x `side` pixels are, in cycles per pixel and in the order of `fft2`."""
    axis = torch.fft.fftfreq(side, dtype=torch.float64)
    return torch.hypot(axis[:, None], axis)
