"""Pruning of small convolutional networks on MNIST and CIFAR-10, by channels and by weights (Figures 3.11 and 3.12 of S2).

Three convolutions of 3 x 3 with 32 channels, each followed by a max pool and ReLU, and a linear layer; 30 epochs of SGD, rate
0.001, momentum 0.9, weight decay 0.0001, batches of 40: the source's setup. It does not say how many channels the second and
third convolution have, nor padding (1 here), activation and scale of the images (to [-1, 1] here). Five seeds are one batch, and
beside each way to prune stand its rivals: random channels, random weights, as many more epochs without pruning, small networks
trained from scratch.

>>> from experiments import pruning_images
>>> pruning_images.cells()[0]
{'data': 'mnist', 'way': 'channels'}
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, pad

from foldnet import data as sets

from ._pictures import AT_ONCE, Pictures, Sgd, convolve, layers, logits, pooled, right, scaled, start
from ._pictures import Training as _Training
from .runner import device

SEEDS, EPOCHS, CHANNELS = 5, 30, 32
LR, BATCH, MOMENTUM, DECAY = 0.001, 40, 0.9, 0.0001
REMOVALS = 72  # channels, one after another, of 96: about a fourteenth of the weights is left
SHARES = (0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01)  # of the weights, one after another
SCRATCH = (24, 14, 10)  # channels of each layer: about 58, 21 and 11 percent of the weights
PROBE, ROOM = 2000, 4  # images that judge a removal, and steps of the widths
NAMES = ("mnist", "cifar10")


def cells() -> list[dict]:
    return [{"data": name, "way": way} for name in NAMES for way in ("channels", "weights", "scratch")]


def cell(data: str, way: str) -> dict:
    """One of `channels`, `weights` and `scratch`, which say what they return; `right` are right answers on the test images."""
    return {"channels": channels, "weights": weights, "scratch": scratch}[way](images(data))


# ---- images and networks ---------------------------------------------------------------------------------------------------


@functools.cache
def images(name: str) -> Pictures:
    found, side, colours = (sets.mnist(), 28, 1) if name == "mnist" else (sets.cifar10(), 32, 3)
    pixels = lambda x: torch.as_tensor((255 * x).round().astype(np.uint8)).unflatten(1, (colours, side, side)).permute(0, 2, 3, 1)  # noqa: E731
    parts = pixels(found.x_train), torch.as_tensor(found.y_train), pixels(found.x_test), torch.as_tensor(found.y_test)
    return Pictures(*(part.contiguous().to(device()) for part in parts))


class Training(_Training):
    """The source's training of networks `(S,)`."""

    def __init__(self, parts: list[Tensor], data: Pictures, seeds, masks: list[Tensor] | None = None):
        super().__init__(parts, data, seeds, BATCH, [(slice(None), Sgd(LR, MOMENTUM, DECAY))], masks=masks)


@functools.cache
def trained(data: Pictures, seeds: int = SEEDS, epochs: int = EPOCHS, width: int = CHANNELS) -> list[Tensor]:
    """The networks before pruning; made once in a process, and not to be written into."""
    parts = start(data.x.shape[1], data.x.shape[-1], (width,) * 3, range(seeds), data.x.device)
    return Training(parts, data, range(seeds)).run(range(epochs))


def repeated(parts: list[Tensor], times: int) -> list[Tensor]:
    return [p.repeat(times, 1, 1) for p in parts]


def many(parts: list[Tensor]) -> list[int]:
    """Weights and biases that are not zero, for each network."""
    return torch.stack([(p != 0).sum((1, 2)) for p in parts]).sum(0).tolist()


# ---- channels --------------------------------------------------------------------------------------------------------------


def channels(data: Pictures, removals: int = REMOVALS, probe: int = PROBE) -> dict:
    """Channels removed one by one, each time followed by one epoch: the one whose removal leaves the smallest loss on 2,000
    training images (`structural`), or any (`random`).

    By way, after 0, 1, ... removals: `right` and `kept` (parameters), `(steps, seeds)`, and `channels`, `(steps, seeds, 3)`.
    """
    parts, epoch = trained(data), EPOCHS
    seeds = len(parts[0])
    parts, rows = repeated(parts, 2), [*range(seeds)] * 2
    log, training = [_look(parts, data)], None
    for step in range(removals):
        losses = without_each(parts, Pictures(data.x[:probe], data.y[:probe], data.x, data.y))
        rng = np.random.default_rng([13, step])
        losses[seeds:] = (
            torch.as_tensor(rng.uniform(size=losses[seeds:].shape)).to(losses).where(losses[seeds:].isfinite(), torch.inf)
        )
        before = [p.shape for p in parts]
        parts = narrowed(remove(parts, losses.argmin(-1)))
        if training is None or [p.shape for p in parts] != before:
            training = Training(parts, data, rows)
        for mine, new in zip(training.parts, parts):
            mine.copy_(new)
        parts = [p.clone() for p in training.run(range(epoch, epoch + 1))]
        epoch += 1
        log.append(_look(parts, data))
    return _by_way(("structural", "random"), seeds, log)


def alive(parts: list[Tensor]) -> list[Tensor]:
    """Which channels of each convolution are there, `(S, width)`: a removed one has neither weights nor bias."""
    return [(w != 0).any(1) | (b != 0)[:, 0] for w, b in zip(parts[:-2:2], parts[1:-2:2])]


@torch.no_grad()
def without_each(parts: list[Tensor], data: Pictures) -> Tensor:
    """The loss on the training images after the removal of each channel, `(S, all channels)`; inf for those that are not there
    and for the last of a layer. What a channel adds to the next layer is taken from it, and the rest computed anew."""
    there, total = alive(parts), []
    for x, y in zip(data.x.split(AT_ONCE), data.y.split(AT_ONCE)):
        reads, gives = layers(parts, scaled(x).expand(len(parts[0]), *x.shape))
        found = []
        for layer, mask in enumerate(there):
            w, read, after = parts[2 * layer + 2], reads[layer + 1], gives[layer + 1]
            for c in range(mask.shape[1]):
                if layer + 1 < len(there):
                    z = after - convolve(read[..., c : c + 1], w[:, 9 * c : 9 * c + 9])
                    out = logits(parts[2 * layer + 4 :], pooled(z))
                else:
                    out = after - torch.bmm(read[..., c].flatten(2), w[:, c :: mask.shape[1]])
                found.append(cross_entropy(out.flatten(0, 1), y.repeat(len(out)), reduction="none").view(len(out), -1).sum(-1))
        total.append(torch.stack(found, -1))
    sums = torch.stack(total).sum(0) / len(data.x)
    free = torch.cat([mask & (mask.sum(-1, keepdim=True) > 1) for mask in there], -1)
    return sums.where(free, torch.inf)


def remove(parts: list[Tensor], chosen: Tensor) -> list[Tensor]:
    """Each network without one channel, `(S,)`, counted through all layers: its weights, its bias and what reads it are 0."""
    parts, first = [p.clone() for p in parts], 0
    for layer in range(len(parts) // 2 - 1):
        width = parts[2 * layer].shape[-1]
        last = layer + 2 == len(parts) // 2
        for row, c in ((r, int(k) - first) for r, k in enumerate(chosen) if first <= int(k) < first + width):
            parts[2 * layer][row, :, c] = 0
            parts[2 * layer + 1][row, :, c] = 0
            parts[2 * layer + 2][row, slice(c, None, width) if last else slice(9 * c, 9 * c + 9)] = 0
        first += width
    return parts


def narrowed(parts: list[Tensor], room: int = ROOM) -> list[Tensor]:
    """The same networks with narrower arrays: the channels that are there come first, and the rest goes as far as it can."""
    parts = list(parts)
    for layer, mask in enumerate(alive(parts)):
        width, last = mask.shape[1], layer + 2 == len(parts) // 2
        need = min(width, -(-int(mask.sum(-1).max()) // room) * room)
        at = (~mask).to(torch.int8).argsort(dim=-1, stable=True)[:, :need]
        for k in (2 * layer, 2 * layer + 1):
            parts[k] = parts[k].gather(-1, at.unsqueeze(1).expand(-1, parts[k].shape[1], -1))
        w = parts[2 * layer + 2]
        grouped = w.view(len(w), -1, width, w.shape[-1]) if last else w.view(len(w), width, 9, -1).transpose(1, 2)
        taken = grouped.gather(2, at.view(len(w), 1, need, 1).expand(-1, grouped.shape[1], -1, w.shape[-1]))
        parts[2 * layer + 2] = (taken if last else taken.transpose(1, 2)).reshape(len(w), -1, w.shape[-1])
    return parts


def _look(parts: list[Tensor], data: Pictures) -> dict:
    count = torch.stack([mask.sum(-1) for mask in alive(parts)], -1)
    return {"right": right(parts, data), "kept": many(parts), "channels": count.tolist()}


def _by_way(ways, seeds: int, log: list[dict]) -> dict:
    """The rows of the batch, way by way, out of what was logged at each step."""
    part = lambda k: slice(k * seeds, (k + 1) * seeds)  # noqa: E731
    return {name: {way: [entry[name][part(k)] for entry in log] for k, way in enumerate(ways)} for name in log[0]}


# ---- weights, and from scratch ---------------------------------------------------------------------------------------------


def weights(data: Pictures, shares=SHARES) -> dict:
    """Weights removed until a share is left, each time followed by one epoch: the smallest of the network (`magnitude`), any
    (`random`), or none (`dense`: as many epochs, nothing removed). Biases stay.

    By way, before and after each step: `right` and `kept`, `(steps, seeds)`.
    """
    base, epoch = trained(data), EPOCHS
    seeds = len(base[0])
    masks = [torch.ones_like(p) for p in repeated(base, 3)]
    training = Training(repeated(base, 3), data, [*range(seeds)] * 3, masks)
    log = [_look(training.parts, data)]
    for step, share in enumerate(shares):
        flat = torch.cat([p.flatten(1) for p in training.parts[::2]], 1)
        there = torch.cat([m.flatten(1) for m in masks[::2]], 1)
        chance = torch.as_tensor(np.random.default_rng([14, step]).uniform(size=flat[:seeds].shape)).to(flat)
        score = torch.cat([flat[:seeds].abs(), chance, chance]) + there  # what is gone stays gone: the others score above 1
        score[: 2 * seeds] = score[: 2 * seeds].where(there[: 2 * seeds] > 0, -1)
        left = round(share * flat.shape[1])
        stay = torch.zeros_like(flat).scatter_(1, score.topk(left, 1).indices, 1.0)
        stay[2 * seeds :] = 1
        for mask, new in zip(masks[::2], stay.split([m[0].numel() for m in masks[::2]], 1)):
            mask.copy_(new.view_as(mask))
        torch._foreach_mul_(training.parts, masks)
        training.run(range(epoch, epoch + 1))
        epoch += 1
        log.append(_look(training.parts, data))
    result = _by_way(("magnitude", "random", "dense"), seeds, log)
    return {"right": result["right"], "kept": result["kept"]}


def scratch(data: Pictures, widths=SCRATCH, seeds: int = SEEDS, epochs: int = EPOCHS) -> dict:
    """Small networks, so many channels in each layer, trained from scratch: `right` `(widths, seeds)` and `kept` `(widths,)`."""
    side, colours, most = data.x.shape[1], data.x.shape[-1], max(widths)
    each = [start(side, colours, (w,) * 3, range(100, 100 + seeds), data.x.device) for w in widths]
    parts = [torch.cat(p) for p in zip(*(_widened(e, w, most) for e, w in zip(each, widths)))]
    kept = many(parts)[::seeds]
    done = Training(parts, data, [*range(100, 100 + seeds)] * len(widths)).run(range(epochs))
    found = right(done, data)
    return {"widths": list(widths), "kept": kept, "right": [found[k * seeds : (k + 1) * seeds] for k in range(len(widths))]}


def _widened(parts: list[Tensor], width: int, to: int) -> list[Tensor]:
    """Room for more channels, all zero: they stay zero in training."""
    more, new = to - width, []
    for k, p in enumerate(parts):
        if k % 2 == 0 and k:
            last = k + 2 == len(parts)
            split = p.view(len(p), -1, width, p.shape[-1]) if last else p.view(len(p), width, 9, p.shape[-1])
            p = pad(split, (0, 0, 0, more) if last else (0, 0, 0, 0, 0, more)).reshape(len(p), -1, p.shape[-1])
        new.append(p if k + 2 >= len(parts) else pad(p, (0, more)))
    return new
