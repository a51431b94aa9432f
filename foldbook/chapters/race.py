"""growth/race: seven ways to propose new neurons for a hidden layer, behind one signature: `propose(nets, x, y, k, rng)`.

All take a batch of shallow ReLU networks `(B,)`, points `(B, n, in)`, targets `(B, n, out)` and one numpy generator for each
network, so that no network's neurons depend on its neighbours. One output is a logit with binary cross-entropy, more are classes.

>>> from foldbook.chapters.race import loss_name
>>> from foldnet.nets import ReLUNet
>>> loss_name(ReLUNet.random((2, 3, 1), seed=0))
'bce'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from foldnet.growth.amplitude import best_amplitude
from foldnet.growth.folding import fold
from foldnet.growth.neurons import NewNeurons, optimal_neurons
from foldnet.growth.widen import widen
from foldnet.nets import ReLUNet
from foldnet.training.losses import losses, output_gradient

BIAS = 0.01  # GradMax: a ReLU with zero weights needs a little bias to be awake
NOISE = 1e-3  # split: how far the twins move apart, in units of their own length
CHANGE = 0.1  # fold: the largest change of an output on the data, for each new neuron
SEARCH = {"least": 2.0**-6, "most": 2.0**8, "refine": 6}  # tiny: amplitudes to look at
LOOKS = 1 + 15 + 2 + 6  # so many: zero, the powers of two, golden section


@dataclass(frozen=True, eq=False)
class Proposal:
    """New neurons, `incoming` `(B, k, in)`, `bias` `(B, k)`, `outgoing` `(B, out, k)`, and the old networks that they join.

    `old` differs from the networks given where a method touches existing weights. `gradients` and `forwards` count the passes
    over the data that were used, `products` the further multiply-adds a data point.
    """

    old: ReLUNet
    incoming: Tensor
    bias: Tensor
    outgoing: Tensor
    gradients: int = 0
    forwards: int = 0
    products: int = 0

    def widened(self) -> ReLUNet:
        """The grown networks."""
        return widen(self.old, 0, self.incoming, self.bias, self.outgoing)


def random(nets, x: Tensor, y: Tensor, k: int, rng: Sequence[np.random.Generator]) -> Proposal:
    """Incoming weights and biases as at the start, uniform on +-1/sqrt(in), outgoing weights zero: the function is kept."""
    _checked(nets, k, rng)
    drawn = np.stack([r.uniform(-1, 1, (k, nets.sizes[0] + 1)) for r in rng]) / np.sqrt(nets.sizes[0])
    drawn = _like(nets, drawn)
    return Proposal(nets, drawn[..., :-1], drawn[..., -1], _zeros(nets, k))


def split(nets, x: Tensor, y: Tensor, k: int, rng: Sequence[np.random.Generator], noise: float = NOISE) -> Proposal:
    """Net2Net: k different neurons, drawn at random, are doubled, their outgoing weights halved.

    The twins' incoming weights and biases move apart by the same small step in opposite directions, `noise` times their length.
    The function is kept but near the neuron's crease, where it moves by at most half the outgoing weight times the step.
    """
    _checked(nets, k, rng, at_most=nets.sizes[1])
    chosen = torch.as_tensor(np.stack([r.choice(nets.sizes[1], k, replace=False) for r in rng]), device=nets.device)
    step = _like(nets, np.stack([r.normal(size=(k, nets.sizes[0] + 1)) for r in rng]))
    rows = torch.cat([nets.weights[0], nets.biases[0].unsqueeze(-1)], -1)
    place = chosen.unsqueeze(-1).expand(-1, -1, rows.shape[-1])
    mine = rows.gather(1, place)
    step = noise * mine.norm(dim=-1, keepdim=True) * step / step.norm(dim=-1, keepdim=True)
    rows = rows.scatter(1, place, mine - step)
    column = chosen.unsqueeze(1).expand(-1, nets.sizes[2], -1)
    half = nets.weights[1].gather(2, column) / 2
    old = replace(
        nets, weights=(rows[..., :-1], nets.weights[1].scatter(2, column, half)), biases=(rows[..., -1], nets.biases[1])
    )
    twin = mine + step
    return Proposal(old, twin[..., :-1], twin[..., -1], half)


def gradmax(nets, x: Tensor, y: Tensor, k: int, rng: Sequence[np.random.Generator]) -> Proposal:
    """GradMax: incoming weights zero, outgoing weights the leading left singular vectors of the mean of dL/df x^T.

    Their length is the mean length of the old ones, their sign (which the singular vectors leave open) drawn. A ReLU is dead at
    exactly zero, so each new neuron gets the bias 0.01, and the constant that it adds is taken out of the output bias: the
    function is kept. There are at most min(out, in) singular vectors; neurons beyond them repeat the first ones.
    """
    _checked(nets, k, rng)
    moment = output_gradient(nets(x), y, loss_name(nets)).mT @ x
    left = torch.linalg.svd(moment, full_matrices=False).U
    largest = left.gather(1, left.abs().argmax(1, keepdim=True))
    sign = _like(nets, np.stack([r.choice([-1.0, 1.0], k) for r in rng])).unsqueeze(1)
    left = (left * largest.sign())[..., torch.arange(k, device=left.device) % left.shape[-1]]
    outgoing = left * sign * nets.weights[1].norm(dim=1).mean(-1)[:, None, None]
    bias = torch.full_like(outgoing[:, 0], BIAS)
    old = replace(nets, biases=(nets.biases[0], nets.biases[1] - BIAS * outgoing.sum(-1)))
    incoming = torch.zeros(len(x), k, nets.sizes[0], dtype=nets.dtype, device=nets.device)
    return Proposal(old, incoming, bias, outgoing, gradients=1, products=nets.sizes[0] * nets.sizes[2])


def optimal(nets, x: Tensor, y: Tensor, k: int, rng: Sequence[np.random.Generator], after: bool = False) -> Proposal:
    """TINY: the best update of the output layer, then the best neurons for what is left, both with a line-searched amplitude.

    The function changes on purpose, and never to a higher training loss. The amplitude is shared evenly by both sides of a
    neuron. Where theory has no neuron to offer or no amplitude helps, a random one with zero outgoing weights takes the place.
    `after` chooses the sign of each neuron by the slope of the loss after the move, for one gradient more.
    """
    _checked(nets, k, rng, at_most=min(nets.sizes[2], nets.sizes[0] + 1))
    name = loss_name(nets)
    new, step, old = _moved(nets, x, y, k)
    if after:
        new = _turned(new, x, -output_gradient(old(x), y, name))
    size = best_amplitude(nets, 0, new, x, y, name, split=0.5, update=step, **SEARCH).amplitude
    root, missing = size.sqrt()[:, None], k - new.bias.shape[-1]
    incoming = pad(new.incoming * root[..., None], (0, 0, 0, missing))
    bias, outgoing = pad(new.bias * root, (0, missing)), pad(new.outgoing * root[..., None], (0, missing))
    none = ((incoming == 0).all(-1) & (bias == 0)) | (outgoing == 0).all(1)
    spare = random(nets, x, y, k, rng)
    return Proposal(
        old=old,
        incoming=torch.where(none.unsqueeze(-1), spare.incoming, incoming),
        bias=torch.where(none, spare.bias, bias),
        outgoing=torch.where(none.unsqueeze(1), 0.0, outgoing),
        gradients=1 + after,
        forwards=2 * LOOKS,
        products=(nets.sizes[0] + 1) ** 2 + (nets.sizes[1] + 1) ** 2 + (sum(nets.sizes[:2]) + 2) * nets.sizes[2],
    )


def moved_dice(nets, x: Tensor, y: Tensor, k: int, rng: Sequence[np.random.Generator]) -> Proposal:
    """Random growth with TINY's first step: the output layer makes its best update, then the neurons of `random` come."""
    width, out = nets.sizes[1:]
    products = (width + 1) * (width + 1 + out)
    return replace(random(nets, x, y, k, rng), old=_moved(nets, x, y, k)[2], gradients=1, forwards=LOOKS, products=products)


def _moved(nets, x: Tensor, y: Tensor, k: int) -> tuple[NewNeurons, Tensor, ReLUNet]:
    """TINY's neurons, the line-searched amplitude of the output layer's best update, and the networks after that update."""
    new = optimal_neurons(nets, 0, x, y, k, loss=loss_name(nets))
    step = best_amplitude(nets, 0, new, x, y, loss_name(nets), update="only", **SEARCH).amplitude
    return new, step, new.update.applied(nets, 1, step)  # ty: ignore[invalid-return-type]


def _turned(new: NewNeurons, x: Tensor, goal: Tensor) -> NewNeurons:
    """The same neurons, each with the sign whose ReLU serves the goal faster: s (s z)_+ is (z + s |z|) / 2."""
    reads = (x @ new.incoming.mT + new.bias.unsqueeze(-2)).abs()
    sign = torch.where((reads * (goal @ new.outgoing)).sum(-2) < 0, -1.0, 1.0).to(x.dtype)
    return replace(
        new, incoming=new.incoming * sign.unsqueeze(-1), bias=new.bias * sign, outgoing=new.outgoing * sign.unsqueeze(-2)
    )


def folds(nets, x: Tensor, y: Tensor, k: int, rng: Sequence[np.random.Generator]) -> Proposal:
    """Folds at k typical mistakes of each network, one neuron each; an instance that has its fold is left out of the search.

    A fold changes no output by more than 0.1 on the data. Without a mistake, the instance of the highest loss is taken.
    """
    _checked(nets, k, rng)
    where = nets.device
    nets_here, x, y = nets.to("cpu"), x.cpu(), y.cpu()  # one network after another: no work for a GPU
    neurons = [_folds(nets_here[i], x[i], y[i], k, r) for i, r in enumerate(rng)]
    incoming, bias, outgoing = (torch.stack(parts).to(where) for parts in zip(*neurons))
    return Proposal(nets, incoming, bias, outgoing, gradients=1)


def _folds(net, x: Tensor, y: Tensor, k: int, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    found = []
    for _ in range(k):
        found.append(fold(net, x, y, seed=int(rng.integers(2**31)), size=CHANGE))
        left = (x != found[-1].instance).any(-1)
        x, y = x[left], y[left]
    joined = lambda name, dim=0: torch.cat([getattr(f, name) for f in found], dim)  # noqa: E731
    return joined("incoming"), joined("bias"), joined("outgoing", 1)


def loss_name(nets) -> str:
    """The loss of these networks: binary cross-entropy for one output, that of a softmax for more."""
    return "bce" if nets.sizes[-1] == 1 else "cross_entropy"


def mean_loss(nets, x: Tensor, y: Tensor) -> Tensor:
    """The mean loss of each network, `(B,)`."""
    return losses(nets(x), y, loss_name(nets))


def _checked(nets, k: int, rng, at_most: int | None = None) -> None:
    if len(nets.weights) != 2 or len(nets.batch_shape) != 1:
        raise ValueError(f"growth is for a batch of networks with one hidden layer; got a {nets}")
    if k < 1 or (at_most is not None and k > at_most):
        raise ValueError(f"at least one new neuron is needed{f', at most {at_most}' if at_most else ''}; got {k}")
    if len(rng) != nets.batch_shape[0]:
        raise ValueError(f"one generator for each network is needed; got {len(rng)} for {nets.batch_shape[0]}")


def _like(nets, a) -> Tensor:
    return torch.as_tensor(a, dtype=nets.dtype, device=nets.device)


def _zeros(nets, k: int) -> Tensor:
    return torch.zeros(*nets.batch_shape, nets.sizes[2], k, dtype=nets.dtype, device=nets.device)


METHODS = {"tiny": optimal, "gradmax": gradmax, "fold": folds, "split": split, "random": random}
LATER = {"tiny_after": partial(optimal, after=True), "random_moved": moved_dice}  # entered when the race was over
