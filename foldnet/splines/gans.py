"""A generator and a discriminator, both ReLU networks of one hidden layer, that play one game; many games side by side.

f = mean log s(D(x)) + mean log s(-D(G(z))), s the logistic function: twice the Jensen-Shannon divergence, less 2 log 2, where D
plays best. The generator makes f small, the discriminator makes it large. (splines/gans)

A neuron is linear where it is active, so first and second derivatives are written out here: a step is some forty operations on
small tensors, which a GPU replays as one graph. `game_value` is the same game in plain words, for autograd and the tests.

>>> from foldnet.nets import ReLUNet
>>> from foldnet.splines import gans
>>> import torch
>>> nets = ReLUNet.random((2, 8, 2), batch=3, seed=0), ReLUNet.random((2, 8, 1), batch=3, seed=1)
>>> games = gans.Games.start(*nets, scaled=torch.tensor([False, True, True]))  # two of three with RMSprop
>>> points = torch.randn(3, 16, 2, dtype=torch.float64)
>>> games.step(points, points, lr=0.001, ridge=True)
>>> games.generator().sizes
(2, 8, 2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, pad

from ..engines import games as engine
from ..nets import ReLUNet

DECAY, TINY = 0.999, 1e-8  # of RMSprop's average, and what keeps its quotient finite
INNER = 5  # rounds of conjugate gradients for the ridge, as in the code behind the lecture's games


def game_value(generator: ReLUNet, discriminator: ReLUNet, real: Tensor, noise: Tensor) -> Tensor:
    """The value f of each game, `(*batch,)`.

    generator, discriminator: networks of any depth and leak, from k to d and from d to 1 numbers.
    real: data `(*batch, n, d)`.
    noise: what the generator starts from, `(*batch, n, k)`.
    """
    judged, forged = discriminator(real)[..., 0], discriminator(generator(noise))[..., 0]
    return logsigmoid(judged).mean(-1) + logsigmoid(-forged).mean(-1)


@dataclass(frozen=True, eq=False)
class _Look:
    """One batch seen by both players: what first and second derivatives are made of.

    Points `(N, 2n, d + 1)` are data, then forgeries, each with a 1 at its end; `slopes` are those of the discriminator at each
    point, offset last; `pull` and `bend` the first and second derivative of f by its output there, `(N, 2n, 1)`.
    """

    noise: Tensor
    hidden: Tensor
    points: Tensor
    active: Tensor
    slopes: Tensor
    pull: Tensor
    bend: Tensor
    moments: Tensor


@dataclass(eq=False)
class Games:
    """N games as two matrices of parameters; their methods change them in place.

    `x` `(N, h (k + 1 + d) + d)`: for each hidden neuron of the generator its weights and bias, then those that leave it, then the
    output biases. `y` `(N, h (d + 1) + h + 1)`: the same for the discriminator. `scaled` `(N, 1)` says which games use RMSprop.
    """

    x: Tensor
    y: Tensor
    sizes: tuple[int, int, int, int]  # noise, generator's width, data, discriminator's width
    scaled: Tensor
    squares: Tensor
    count: Tensor

    @classmethod
    def start(cls, generators: ReLUNet, discriminators: ReLUNet, scaled: Tensor) -> Games:
        """Games between networks of one hidden layer without a leak.

        generators, discriminators: `(N,)` networks each.
        scaled: which games use RMSprop, `(N,)`.
        """
        for net in (generators, discriminators):
            if len(net.sizes) != 3 or net.leak or len(net.batch_shape) != 1:
                raise ValueError(f"a batch (N,) of ReLU networks with one hidden layer and no leak is needed; got {net}")
        (k, h, d), (inputs, width, one) = generators.sizes, discriminators.sizes
        if inputs != d or one != 1 or generators.batch_shape != discriminators.batch_shape:
            raise ValueError(f"the discriminator reads what the generator makes; got {generators} and {discriminators}")
        x, y = _flat(generators), _flat(discriminators)
        squares = torch.zeros(len(x), x.shape[1] + y.shape[1]).to(x)
        return cls(x, y, (k, h, d, width), scaled.reshape(-1, 1).to(x), squares, torch.zeros(1).to(x))

    @staticmethod
    def networks(rows: Tensor, inputs: int, width: int, outputs: int) -> ReLUNet:
        """The networks of `rows` of parameters, laid out as `x` and `y` are; also where a game has run away to infinity.

        inputs, width, outputs: the sizes of each network.
        """
        first, second, last = _parts(rows, inputs, width, outputs)
        empty = ReLUNet([torch.zeros(1, 1)], [torch.zeros(1)])
        return empty.with_layers([first[..., :-1], second.mT], [first[..., -1], last])

    @property
    def state(self) -> list[Tensor]:
        return [self.x, self.y, self.squares, self.count]

    def generator(self) -> ReLUNet:
        """The generators as they are now, `(N,)`."""
        k, h, d, _ = self.sizes
        return self.networks(self.x.clone(), k, h, d)

    def discriminator(self) -> ReLUNet:
        """The discriminators as they are now, `(N,)`."""
        _, _, d, width = self.sizes
        return self.networks(self.y.clone(), d, width, 1)

    # ---- derivatives ---------------------------------------------------------------------------------------------------

    def look(self, real: Tensor, noise: Tensor) -> _Look:
        """Everything about one batch of real data `(N, n, d)` and noise `(N, n, k)`."""
        k, h, d, width = self.sizes
        real, noise = (pad(points, (0, 1), value=1.0) for points in (real, noise))  # a bias is the weight of a 1
        first, second, last = _parts(self.x, k, h, d)
        hidden = torch.bmm(noise, first.mT).clamp(min=0)
        forged = torch.baddbmm(last.unsqueeze(1), hidden, second)
        points = torch.cat([real, torch.cat([forged, real[..., -1:]], -1)], 1)
        w, v, c = _parts(self.y, d, width, 1)
        active = (torch.bmm(points, w.mT) > 0).to(points)
        slopes = torch.bmm(active, v * w)
        out = (slopes * points).sum(-1, keepdim=True) + c.unsqueeze(1)
        sure, n = torch.sigmoid(out), real.shape[1]
        pull = sure.neg()
        pull[:, :n] += 1
        pull = pull / n
        bend = torch.addcmul(sure * (-1 / n), sure, sure, value=1 / n)
        return _Look(noise, hidden, points, active, slopes, pull, bend, torch.bmm(active.mT, pull * points))

    def gradients(self, seen: _Look) -> tuple[Tensor, Tensor]:
        """Those of f by x and by y."""
        k, h, d, width = self.sizes
        _, second, _ = _parts(self.x, k, h, d)
        w, v, _ = _parts(self.y, d, width, 1)
        n = seen.noise.shape[1]
        back = seen.pull[:, n:] * seen.slopes[:, n:, :-1]
        inside = torch.bmm(back, second.mT) * (seen.hidden > 0)
        by_x = [torch.bmm(inside.mT, seen.noise).flatten(1), torch.bmm(seen.hidden.mT, back).flatten(1), back.sum(1)]
        by_y = [(v * seen.moments).flatten(1), (w * seen.moments).sum(-1), seen.pull.sum(1)]
        return torch.cat(by_x, 1), torch.cat(by_y, 1)

    def yy(self, seen: _Look, direction: Tensor) -> Tensor:
        """H_yy at what `look` has seen, times a direction `(N, parameters of y)`."""
        _, _, d, width = self.sizes
        w, v, _ = _parts(self.y, d, width, 1)
        dw, dv, dc = _parts(direction, d, width, 1)
        slopes = torch.bmm(seen.active, torch.addcmul(v * dw, dv, w))
        change = seen.bend * ((slopes * seen.points).sum(-1, keepdim=True) + dc.unsqueeze(1))
        moments = torch.bmm(seen.active.mT, change * seen.points)
        by_w, by_v = torch.addcmul(v * moments, dv, seen.moments), torch.addcmul(w * moments, dw, seen.moments).sum(-1)
        return torch.cat([by_w.flatten(1), by_v, change.sum(1)], 1)

    def yx(self, seen: _Look, direction: Tensor) -> Tensor:
        """H_yx at what `look` has seen, times a direction `(N, parameters of x)`: how y's gradient follows the forgeries."""
        k, h, d, width = self.sizes
        _, second, _ = _parts(self.x, k, h, d)
        first_, second_, last_ = _parts(direction, k, h, d)
        w, v, _ = _parts(self.y, d, width, 1)
        n = seen.noise.shape[1]
        inside = torch.bmm(seen.noise, first_.mT) * (seen.hidden > 0)
        moved = torch.baddbmm(torch.baddbmm(last_.unsqueeze(1), inside, second), seen.hidden, second_)
        change = seen.bend[:, n:] * (seen.slopes[:, n:, :-1] * moved).sum(-1, keepdim=True)
        carried = change * seen.points[:, n:] + pad(seen.pull[:, n:] * moved, (0, 1))
        moments = torch.bmm(seen.active[:, n:].mT, carried)
        return torch.cat([(v * moments).flatten(1), (w * moments).sum(-1), change.sum(1)], 1)

    # ---- playing -------------------------------------------------------------------------------------------------------

    def step(
        self,
        real: Tensor,
        noise: Tensor,
        lr: float,
        ridge: bool = False,
        damping: float = 1.0,
        guarded: bool = False,
        inner: int = INNER,
        decay: float = DECAY,
    ) -> None:
        """Both players move at once.

        real, noise: data `(N, n, d)` and noise `(N, n, k)`.
        lr: the rate of both.
        ridge: the discriminator follows its ridge as well, damped.
        damping, inner, guarded: `damping`, `rounds` and `guarded` of `damped_solve`.
        decay: that of RMSprop.
        """
        seen = self.look(real, noise)
        both = torch.cat(self.gradients(seen), 1)
        self.squares.mul_(decay).addcmul_(both, both, value=1 - decay)
        self.count += 1
        root = (self.squares / (1 - decay**self.count)).sqrt() + TINY
        both = both / torch.lerp(torch.ones_like(root), root, self.scaled)
        down, up = both[:, : self.x.shape[1]], both[:, self.x.shape[1] :]
        if ridge:
            up = up + damped_solve(lambda p: self.yy(seen, p), self.yx(seen, down), damping, inner, guarded)
        self.x.sub_(down, alpha=lr)
        self.y.add_(up, alpha=lr)

    def play(
        self,
        scale: Tensor,
        data: Tensor,
        noise: Tensor,
        ridge: bool = False,
        lr: float = 1e-3,
        damping: float = 1.0,
        guarded: bool = False,
        decay: float = DECAY,
    ) -> None:
        """On a GPU, for games in the plane: a step for each batch of `data` and `noise`, `(steps, seeds, n, 2)`.

        scale: what the noise of each game is multiplied by, `(N,)`.
        data, noise: game g meets the batches of seed g % seeds.
        ridge, lr, damping, guarded, decay: those of `step`.
        """
        how = {"lr": lr, "decay": decay, "tiny": TINY, "damping": damping}
        engine.play((*self.state, self.scaled), scale, data, noise, ridge, guarded, how, INNER)


def _flat(net: ReLUNet) -> Tensor:
    first = torch.cat([net.weights[0], net.biases[0].unsqueeze(-1)], -1)
    return torch.cat([first.flatten(1), net.weights[1].mT.flatten(1), net.biases[1]], 1)


def _parts(flat: Tensor, inputs: int, width: int, outputs: int) -> tuple[Tensor, Tensor, Tensor]:
    """`(N, width, inputs + 1)`, `(N, width, outputs)` and `(N, outputs)`: views of a matrix of parameters."""
    end = width * (inputs + 1)
    first, second, last = flat[:, :end], flat[:, end : end + width * outputs], flat[:, end + width * outputs :]
    return first.unflatten(1, (width, inputs + 1)), second.unflatten(1, (width, outputs)), last


def damped_solve(product: Callable[[Tensor], Tensor], b: Tensor, damping: float, rounds: int, guarded: bool = False) -> Tensor:
    """inv(H - damping) b by conjugate gradients, for a symmetric H that need not be known.

    Nothing makes sure that damping - H is positive. A round that finds a direction without curvature is the last one.

    product: gives H times a vector `(*batch, n)`.
    b: the right side, `(*batch, n)`.
    damping, rounds: the number taken off H, and how many rounds are made.
    guarded: whether a round that finds the wrong curvature is the last one as well.
    """
    dot = lambda u, v: (u * v).sum(-1, keepdim=True)  # noqa: E731
    x, r, p, size = torch.zeros_like(b), b, b, dot(b, b)
    going = torch.ones_like(size, dtype=torch.bool)
    for _ in range(rounds):
        image = product(p).add(p, alpha=-damping)
        along = dot(p, image)
        going = going & ((along < 0) if guarded else (along != 0))
        step = torch.where(going, size / along, 0.0)
        x, r = torch.addcmul(x, step, p), torch.addcmul(r, step, image, value=-1)
        before, size = size, dot(r, r)
        p = torch.addcmul(r, torch.where(before == 0, 0.0, size / before), p)
    return x
