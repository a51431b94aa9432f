"""Pruning of networks that compute a Boolean function: every subset of a wide layer, and one neuron after another of a deep one.

Inputs are -1 and 1. A neuron whose weights and bias are all zero stays zero under any training by gradients, so networks of
different widths are trained side by side, padded with such neurons. (boolean/pruning)

>>> from foldnet.boolean.functions import parity
>>> from foldnet.boolean.pruning import prune_wide, solves, subnetworks, train_on
>>> from foldnet.nets import ReLUNet
>>> net = train_on(ReLUNet.random((2, 4, 1), seed=3), parity(2), epochs=500).net
>>> bool(solves(net, parity(2))), subnetworks(net, 2).batch_shape
(True, (6,))
>>> width, successes, tried = prune_wide([net], parity(2), epochs=500)[0]
>>> width, tried  # one neuron never does; all pairs are tried
(2, 10)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from ..nets import ReLUNet, stack
from ..train import Fit, fit
from .functions import corners, input_count, truth_table
from .training import EPOCHS, LR


def _targets(f, like: ReLUNet) -> tuple[Tensor, Tensor]:
    """The corners of the cube, in {-1, 1}, and the values 0 and 1 of `f` there, in the dtype and on the device of a network."""
    t = truth_table(f)
    x = torch.as_tensor(corners(input_count(t)), dtype=like.dtype, device=like.device)
    return x, torch.as_tensor(np.asarray(t, dtype=float), dtype=like.dtype, device=like.device)


def solves(net: ReLUNet, f) -> Tensor:
    """Whether each network, `(*batch,)`, has the sign of `f` at every corner for certain: by more than rounding can move it.

    The outputs are computed in double precision, and so is a bound on their rounding: what the same network gives with all
    weights and values made positive, times the number of roundings on the way.
    """
    if net.sizes[-1] != 1:
        raise ValueError(f"a network for one Boolean function has one output; got {net}")
    net = net.to(torch.float64)
    x, y = _targets(f, net)
    out = net(x)[..., 0]
    size = x.abs()
    for w, b in zip(net.weights, net.biases):
        size = size @ w.abs().mT + b.abs().unsqueeze(-2)
    rounding = 2 * sum(n + 2 for n in net.sizes) * torch.finfo(torch.float64).eps * size[..., 0]
    return (out * (2 * y - 1) > rounding).all(-1)


def train_on(net: ReLUNet, f, epochs: int = EPOCHS, until: float | None = None, every: int | None = None, lr: float = LR) -> Fit:
    """Train every network on a Boolean function: Adam on the binary cross-entropy with logits, inputs -1 and 1.

    net: one network or a batch.
    f: the function, as `truth_table` takes it.
    epochs: passes over all corners; the rate and the number of them are those of Section 3.4 of the dissertation.
    until: a network whose loss is so small stops. A mean loss below log 2 / 2^n leaves no corner wrong.
    every: the loss is recorded every so many epochs; by default at the ends.
    lr: the learning rate.
    """
    x, y = _targets(f, net)
    return fit(net, x, y, loss="bce", lr=lr, epochs=epochs, until=until, every=every or max(1, epochs), progress=False)


# ---- subnetworks -----------------------------------------------------------------------------------------------------------


def keep_neurons(net: ReLUNet, layer: int, neurons) -> ReLUNet:
    """The network with only some neurons of a hidden layer.

    net: one network or a batch `(*batch,)`.
    layer: the hidden layer, counted from 0.
    neurons: which of them stay, `(k,)`, or many choices `(..., k)`, which make networks `(*batch, ...)`.
    """
    hidden = len(net.weights) - 1
    if not 0 <= layer < hidden:
        raise ValueError(f"hidden layers of a {net} are 0 to {hidden - 1}; got {layer}")
    neurons = torch.as_tensor(np.asarray(neurons), device=net.device)
    if not neurons.numel() or neurons.min() < 0 or neurons.max() >= net.sizes[layer + 1]:
        raise ValueError(f"layer {layer} of a {net} has neurons 0 to {net.sizes[layer + 1] - 1}; got {neurons.tolist()}")
    extra, depth = neurons.ndim - 1, len(net.batch_shape)
    weights, biases = [], []
    for number, (w, b) in enumerate(zip(net.weights, net.biases)):
        for _ in range(extra):
            w, b = w.unsqueeze(depth), b.unsqueeze(depth)
        w, b = w.expand(*net.batch_shape, *neurons.shape[:-1], *w.shape[-2:]), b.expand(*net.batch_shape, *neurons.shape[:-1], -1)
        if number == layer:
            b = b.gather(-1, neurons.expand(*b.shape[:-1], -1))
            w = w.gather(-2, neurons.unsqueeze(-1).expand(*w.shape[:-2], -1, w.shape[-1]))
        if number == layer + 1:
            w = w.gather(-1, neurons.unsqueeze(-2).expand(*w.shape[:-1], -1))
        weights.append(w)
        biases.append(b)
    return net.with_layers(weights, biases)


def subnetworks(net: ReLUNet, width: int) -> ReLUNet:
    """All subnetworks of this width of networks with one hidden layer, `(*batch, binomial)`. (S2-alg-prune-wide)

    They stand in the order of `itertools.combinations`.
    """
    if len(net.weights) != 2:
        raise ValueError(f"every subset of neurons is tried for one hidden layer; got a {net}")
    if not 1 <= width <= net.sizes[1]:
        raise ValueError(f"1 to {net.sizes[1]} of {net.sizes[1]} neurons can be chosen; got {width}")
    return keep_neurons(net, 0, list(combinations(range(net.sizes[1]), width)))


def remove_layer(net: ReLUNet, layer: int) -> ReLUNet:
    """The network without the activations of a hidden layer: the affine maps before and after it become one."""
    if not 0 <= layer < len(net.weights) - 1:
        raise ValueError(f"hidden layers of a {net} are 0 to {len(net.weights) - 2}; got {layer}")
    w, b, v, c = net.weights[layer], net.biases[layer], net.weights[layer + 1], net.biases[layer + 1]
    together, offset = v @ w, (v @ b.unsqueeze(-1)).squeeze(-1) + c
    both = [*net.weights[:layer], together, *net.weights[layer + 2 :]], [*net.biases[:layer], offset, *net.biases[layer + 2 :]]
    return net.with_layers(*both)


def pad_widths(net: ReLUNet, hidden: Sequence[int]) -> ReLUNet:
    """The same function with hidden layers of these widths: what is added is zero, and stays zero in training."""
    sizes = (net.sizes[0], *hidden, net.sizes[-1])
    if len(sizes) != len(net.sizes) or any(new < old for old, new in zip(net.sizes, sizes)):
        raise ValueError(f"a {net} is padded to as many hidden layers, none narrower; got widths {tuple(hidden)}")
    pad = torch.nn.functional.pad
    more = [new - old for old, new in zip(net.sizes, sizes)]
    weights = [pad(w, (0, more[i], 0, more[i + 1])) for i, w in enumerate(net.weights)]
    return net.with_layers(weights, [pad(b, (0, more[i + 1])) for i, b in enumerate(net.biases)])


# ---- exhaustive pruning of one hidden layer --------------------------------------------------------------------------------


def prune_wide(nets: Sequence[ReLUNet], f, epochs: int = EPOCHS, until: float = 0.01, at_once: int = 200_000) -> list[tuple]:
    """For each network with one hidden layer, the least width at which some subnetwork solves `f` after training, and how many.

    Subsets of 1, 2, ... neurons are taken from the network as it is, trained, and judged; the first width with a success ends
    the search. `(width, successes, tried)` for each network, `tried` counting all subnetworks that were trained, with zeros for
    the other two if not even the whole network succeeds. (S2-alg-prune-wide)

    nets: the networks, which may differ in width.
    f: the function, as `truth_table` takes it.
    epochs, until: how long a subnetwork is trained, as in `train_on`.
    at_once: so many subnetworks are trained together at most.
    """
    found: list[tuple] = [(0, 0, 0)] * len(nets)
    for width in range(1, max(net.sizes[1] for net in nets) + 1):
        left = [i for i, net in enumerate(nets) if not found[i][0] and net.sizes[1] >= width]
        if not left:
            continue
        parts = [subnetworks(nets[i], width) for i in left]
        counts = [part.batch_shape[0] for part in parts]
        weights, biases = (map(torch.cat, zip(*(getattr(p, kind) for p in parts))) for kind in ("weights", "biases"))
        every = parts[0].with_layers(weights, biases)
        chunks = [every[start : start + at_once] for start in range(0, sum(counts), at_once)]
        right = torch.cat([solves(train_on(chunk, f, epochs, until).net, f) for chunk in chunks])
        for i, good in zip(left, right.split(counts)):
            success, tried = int(good.sum()), found[i][2] + len(good)
            found[i] = (width if success else 0, success, tried)
    return found


# ---- pruning of deep networks, neuron by neuron ----------------------------------------------------------------------------


@dataclass
class Pruning:
    """A network on its way down: as it is now, its hidden widths at each step, and what the trainings cost.

    `work` is the number of epochs times the number of parameters trained in them, over all subnetworks that were tried.
    """

    net: ReLUNet
    path: list[tuple[int, ...]]
    work: float = 0.0
    done: bool = False


def prune_deep(nets: Sequence[ReLUNet], f, epochs: Sequence[int] = (100, EPOCHS), seed: int = 0) -> list[Pruning]:
    """Remove neurons one by one while some removal, followed by training, leaves a network that solves `f`. (S2-alg-prune-deep)

    A removal that succeeds has the score 1 / loss; one of them is drawn with probability proportional to its score. The last
    neuron of a layer goes with its layer: `remove_layer`.

    nets: the networks, which may differ in width and depth.
    f: the function, as `truth_table` takes it.
    epochs: each removal is tried and trained for `epochs[0]` epochs; if none succeeds, for `epochs[1]`, and so on.
    seed: of the draws among the removals that succeed.
    """
    states = [Pruning(net, [net.sizes[1:-1]]) for net in nets]
    rng = np.random.default_rng(seed)
    level = [0] * len(states)
    while running := [i for i, s in enumerate(states) if not s.done]:
        tried: dict[int, list] = {i: [] for i in running}
        for group in _groups(states, running, level):
            for i, found in _tried([states[i] for i in group], f, epochs[level[group[0]]]).items():
                tried[group[i]] = found
        for i in running:
            scores = np.array([score for score, _ in tried[i]])
            if not len(scores):
                level[i] += 1
                states[i].done = level[i] == len(epochs)
                continue
            level[i] = 0
            chosen = tried[i][rng.choice(len(scores), p=scores / scores.sum())][1]()
            states[i].net = chosen
            states[i].path.append(chosen.sizes[1:-1])
    return states


def _groups(states: list[Pruning], running: list[int], level: list[int]) -> list[list[int]]:
    """Those that can be trained side by side: of one depth, and at one number of epochs."""
    groups: dict[tuple, list[int]] = {}
    for i in running:
        groups.setdefault((len(states[i].net.weights), level[i]), []).append(i)
    return list(groups.values())


def _tried(states: list[Pruning], f, epochs: int) -> dict[int, list]:
    """For each network the successful removals: a score, and a function that makes the smaller network."""
    found: dict[int, list] = {i: [] for i in range(len(states))}
    widths = [s.net.sizes[1:-1] for s in states]
    room = tuple(map(max, zip(*widths)))
    place = [(i, layer, j) for i, w in enumerate(widths) for layer, n in enumerate(w) if n > 1 for j in range(n)]
    if place:
        who, layer, neuron = map(torch.as_tensor, zip(*place))
        every = _removed(stack([pad_widths(s.net, room) for s in states])[who], layer, neuron)
        for number, score, net in _judged(every, f, epochs, states, who.tolist()):
            i, at, j = place[number]
            rest = [k for k in range(widths[i][at]) if k != j]
            found[i].append((score, lambda net=net, i=i, at=at, rest=rest: keep_neurons(_cropped(net(), widths[i]), at, rest)))
    short = [(i, layer) for i, w in enumerate(widths) for layer, n in enumerate(w) if n == 1 and len(w) > 1]
    if short:
        less = [remove_layer(states[i].net, layer) for i, layer in short]
        room = tuple(map(max, zip(*(net.sizes[1:-1] for net in less))))
        every = stack([pad_widths(net, room) for net in less])
        for number, score, net in _judged(every, f, epochs, states, [i for i, _ in short]):
            found[short[number][0]].append((score, lambda net=net, to=less[number].sizes[1:-1]: _cropped(net(), to)))
    return found


def _judged(every: ReLUNet, f, epochs: int, states: list[Pruning], owners: list[int]):
    """Train all; of those that solve `f` number, score and a call for the network. The owners have the work written down."""
    result = train_on(every, f, epochs)
    for i in owners:
        states[i].work += epochs * (states[i].net.parameter_count - 1)
    score = result.final_loss.clamp(min=1e-12).reciprocal().tolist()
    for number in solves(result.net, f).nonzero().flatten().tolist():
        yield number, score[number], functools.partial(result.net.__getitem__, number)


def _removed(net: ReLUNet, layer: Tensor, neuron: Tensor) -> ReLUNet:
    """Networks `(B,)` with one neuron each made zero: `layer` and `neuron` are `(B,)`."""
    weights, biases = [w.clone() for w in net.weights], [b.clone() for b in net.biases]
    for number in range(len(weights) - 1):
        at = (layer == number).nonzero().flatten()
        j = neuron[at]
        weights[number][at, j] = 0
        biases[number][at, j] = 0
        weights[number + 1][at, :, j] = 0
    return net.with_layers(weights, biases)


def _cropped(net: ReLUNet, hidden: Sequence[int]) -> ReLUNet:
    """`pad_widths` taken back."""
    sizes = (net.sizes[0], *hidden, net.sizes[-1])
    weights = [w[..., :o, :i] for w, i, o in zip(net.weights, sizes, sizes[1:])]
    return net.with_layers(weights, [b[..., :o] for b, o in zip(net.biases, sizes[1:])])
