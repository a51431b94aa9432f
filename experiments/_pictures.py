"""Many networks of one shape on pictures, trained as one batch: convolutions as matrix products, a step as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, max_pool2d, pad

from foldnet.training.capture import captured

CLASSES, AT_ONCE = 10, 1000  # outputs, and test images in one pass


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images `(n, height, width, colours)`, bytes or numbers, and labels `(n,)`, to train on and to test, on a device."""

    x: Tensor
    y: Tensor
    x_test: Tensor
    y_test: Tensor


def scaled(x: Tensor) -> Tensor:
    """Bytes as numbers in [-1, 1]; numbers stay as they are."""
    return x if x.is_floating_point() else x.float().mul_(2 / 255).sub_(1)


# ---- networks: weights and biases, layer by layer ----------------------------------------------------------------------------


def start(side: int, colours: int, widths, seeds, where="cpu") -> list[Tensor]:
    """Weights and biases of torch's default start for each seed, layer by layer: `(S, in * 9, out)` and `(S, 1, out)`."""
    before, fans = colours, []
    for width in widths:
        fans.append((9 * before, width))
        before = width
    return drawn([*fans, (before * (side // 2 ** len(widths)) ** 2, CLASSES)], seeds, where)


def drawn(layers: Iterable[tuple[int, int]], seeds, where="cpu") -> list[Tensor]:
    """Uniform on +-1/sqrt(fan-in) for layers (in, out), each seed with its own numbers: `(S, in, out)` and `(S, 1, out)`."""
    rngs, parts = [np.random.default_rng([11, s]) for s in seeds], []
    for fan, width in layers:
        bound = fan**-0.5
        each = [(r.uniform(-bound, bound, (fan, width)), r.uniform(-bound, bound, (1, width))) for r in rngs]
        parts += [torch.as_tensor(np.stack(p), dtype=torch.float32).to(where) for p in zip(*each)]
    return parts


def convolve(x: Tensor, w: Tensor, b: Tensor | None = None) -> Tensor:
    """A padded convolution of 3 x 3 for each network: `(S, n, h, w, in)` to `(S, n, h, w, out)` by `w`, `(S, in * 9, out)`."""
    taps = pad(x, (0, 0, 1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1).reshape(len(x), -1, w.shape[1])
    z = torch.bmm(taps, w) if b is None else torch.baddbmm(b, taps, w)
    return z.view(*x.shape[:-1], w.shape[-1])


def pooled(z: Tensor) -> Tensor:
    """The largest of each 2 x 2 pixels, after ReLU."""
    small = max_pool2d(z.flatten(0, 1).permute(0, 3, 1, 2), 2).relu()
    return small.permute(0, 2, 3, 1).unflatten(0, z.shape[:2])


def layers(parts: list[Tensor], x: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """What each layer reads, `(S, n, h, w, in)`, and gives: the last one the logits `(S, n, classes)`."""
    reads, gives = [x], []
    for w, b in zip(parts[:-2:2], parts[1:-2:2]):
        gives.append(convolve(reads[-1], w, b))
        reads.append(pooled(gives[-1]))
    gives.append(torch.baddbmm(parts[-1], reads[-1].flatten(2), parts[-2]))
    return reads, gives


def logits(parts: list[Tensor], x: Tensor) -> Tensor:
    """The answers of convolutional networks, `(S, n, classes)`."""
    return layers(parts, x)[1][-1]


def dense_logits(parts: list[Tensor], x: Tensor) -> Tensor:
    """The answers of fully connected networks, `(S, n, classes)`; without a hidden layer, of linear ones."""
    h = x.flatten(2)
    for w, b in zip(parts[:-2:2], parts[1:-2:2]):
        h = torch.baddbmm(b, h, w).relu()
    return torch.baddbmm(parts[-1], h, parts[-2])


@torch.no_grad()
def right(parts: list[Tensor], data: Pictures, answers: Callable = logits) -> list[int]:
    """Right answers on the test images, for each network."""
    total = torch.zeros(len(parts[0]), dtype=torch.int64, device=parts[0].device)
    for x, y in zip(data.x_test.split(AT_ONCE), data.y_test.split(AT_ONCE)):
        found = answers(parts, scaled(x).expand(len(parts[0]), *x.shape))
        total = total + (found.argmax(-1) == y).sum(-1)
    return total.tolist()


# ---- training ------------------------------------------------------------------------------------------------------------------


class Sgd:
    """torch's SGD with momentum and weight decay, on parts that are given by `begin`."""

    def __init__(self, lr: float, momentum: float, decay: float):
        self.lr, self.momentum, self.decay = lr, momentum, decay

    def begin(self, parts: list[Tensor]) -> list[Tensor]:
        """Nothing remembered yet; the tensors that a step changes beside the parts."""
        self.parts, self.moved = parts, [torch.zeros_like(p) for p in parts]
        return self.moved

    def step(self, slopes: list[Tensor]) -> None:
        torch._foreach_mul_(self.moved, self.momentum)
        torch._foreach_add_(self.moved, slopes)
        torch._foreach_add_(self.moved, self.parts, alpha=self.decay)
        torch._foreach_add_(self.parts, self.moved, alpha=-self.lr)


class AdamW:
    """torch's AdamW with its default settings."""

    def __init__(self, lr: float = 1e-3, betas=(0.9, 0.999), eps: float = 1e-8, decay: float = 0.01):
        self.lr, self.betas, self.eps, self.decay = lr, betas, eps, decay

    def begin(self, parts: list[Tensor]) -> list[Tensor]:
        self.parts = parts
        self.means, self.squares = ([torch.zeros_like(p) for p in parts] for _ in range(2))
        self.left = [torch.ones((), device=parts[0].device) for _ in range(2)]  # powers of the betas, counted on the device
        return [*self.means, *self.squares, *self.left]

    def step(self, slopes: list[Tensor]) -> None:
        (first, second), (a, b) = self.betas, self.left
        a *= first
        b *= second
        torch._foreach_mul_(self.parts, 1 - self.lr * self.decay)
        torch._foreach_lerp_(self.means, slopes, 1 - first)
        torch._foreach_mul_(self.squares, second)
        torch._foreach_addcmul_(self.squares, slopes, slopes, value=1 - second)
        size = torch._foreach_sqrt(self.squares)
        torch._foreach_div_(size, (1 - b).sqrt())
        torch._foreach_add_(size, self.eps)
        torch._foreach_mul_(size, (1 - a) / -self.lr)
        torch._foreach_addcdiv_(self.parts, self.means, size)


class Training:
    """Networks `(S,)` trained at once, each with its own order of the images; on a GPU one step is a CUDA graph.

    `rules` are pairs of rows and rule: which networks learn by which of `Sgd` and `AdamW`. With `masks` parts stay zero.
    """

    def __init__(self, parts, data: Pictures, seeds, batch: int, rules, answers: Callable = logits, masks=None):
        self.parts, self.data, self.seeds, self.masks = [p.clone() for p in parts], data, list(seeds), masks
        self.batch, self.rules, self.answers = batch, rules, answers
        self.steps = len(data.x) // batch
        where = self.parts[0].device
        torch.backends.cuda.matmul.allow_tf32 = True
        self.state = [t for rows, rule in rules for t in rule.begin([p[rows] for p in self.parts])]
        self.before = [t.clone() for t in self.state]
        self.order = torch.zeros(len(self.seeds), self.steps, batch, dtype=torch.int64, device=where)
        self.place = torch.zeros(1, dtype=torch.int64, device=where)
        self.graph = None

    def run(self, epochs: range, fresh: bool = True) -> list[Tensor]:
        """Train for these epochs, whose numbers choose the orders, without memory of earlier ones if `fresh`; the parts then."""
        if fresh:
            torch._foreach_copy_(self.state, self.before)
        if self.place.is_cuda and self.graph is None:
            self.graph = captured(self._step, [*self.parts, *self.state, self.place])
        step = self._step if self.graph is None else self.graph.replay
        for epoch in epochs:
            orders = {s: np.random.default_rng([12, s, epoch]).permutation(len(self.data.x)) for s in set(self.seeds)}
            drawn = np.stack([orders[s][: self.steps * self.batch] for s in self.seeds])
            self.order.copy_(torch.as_tensor(drawn).view(self.order.shape))
            self.place.zero_()
            for _ in range(self.steps):
                step()
        return self.parts

    def _step(self) -> None:
        numbers = self.order.index_select(1, self.place).squeeze(1)
        x, y = scaled(self.data.x[numbers]), self.data.y[numbers]
        leaves = [p.detach().requires_grad_() for p in self.parts]
        with torch.enable_grad():
            loss = cross_entropy(self.answers(leaves, x).flatten(0, 1), y.flatten(), reduction="sum") / self.batch
            slopes = torch.autograd.grad(loss, leaves)
        for rows, rule in self.rules:
            rule.step([s[rows] for s in slopes])
        if self.masks is not None:
            torch._foreach_mul_(self.parts, self.masks)
        self.place += 1
