"""Training with growth: minibatches of Adam, and between them wider hidden layers (chapter growth/mnist, claim S1-alg-tiny).

>>> from foldnet.data import digits
>>> from foldnet.growth.smooth import SmoothNet
>>> from foldnet.growth.tiny import tiny
>>> images = digits()
>>> net = SmoothNet.random((64, 1, 1, 10), batch=2, init="he", activation="selu", seed=0)
>>> tiny(net, images.x_train, images.y_train, growths=2, delay=10, minibatches=20).net.sizes
(64, 6, 11, 10)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from ..training.adam import BETAS
from .amplitude import best_amplitude
from .expressivity import Update, best_update, desired_update, layer_inputs
from .minibatches import Training
from .moments import SecondMoment
from .neurons import NewNeurons, optimal_neurons, with_neurons
from .typical import accuracy

SOURCES = ("optimal", "random", "random, old moved")  # of new neurons, and whether the old ones move
FIRST_POINTS = 100
MOST_ENTRIES = 10**9  # activations held at once while a layer grows; more networks are done in groups


@dataclass(frozen=True, eq=False)
class Widening:
    """One hidden layer made wider: when (`minibatch`), which (`layer`, 0 is the first), on how many `points` it was decided.

    `singular_values` `(B, r)` rate the directions (none for random neurons). `amplitudes` `(2, B)` are those of the move of the
    old weights and of the new neurons; `losses` `(3, B)` the mean loss on the points before, after the move, after both.
    `seconds` is how long it took.
    """

    minibatch: int
    layer: int
    points: int
    widths: tuple[int, ...]
    singular_values: Tensor
    amplitudes: Tensor
    losses: Tensor
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Run:
    """What a training with growth leaves: the networks, what `look` saw at each mark and around each growth, and the time taken.

    `around[g]` are the looks just before and just after growth g of all layers; `seconds[m]` is the time until mark m, growths
    counted in and looks not. `minibatches` is how many there were, fewer than asked for where the target was reached before.
    """

    net: object
    looks: list
    seconds: list[float]
    growths: list[Widening]
    around: list[tuple]
    minibatches: int


# Long by its settings, each with its line in the docstring: they are those of the paper and its four departures.
def tiny(
    net,
    x,
    y,
    growths: int,
    delay: int,
    minibatches: int,
    method: str = "optimal",
    look: Callable | None = None,
    marks: Iterable[int] = (),
    points: int | None = None,
    fresh: bool = False,
    ridge: float = 0.0,
    scaled: bool = False,
    lr: float = 1e-4,
    batch_size: int = 100,
    seeds: Sequence[int] | None = None,
    betas: tuple[float, float] = BETAS,
    target: float | None = None,
) -> Run:
    """Train a batch of networks, and after every `delay` minibatches, `growths` times, widen each hidden layer.

    Every singular vector becomes a neuron, so all networks of the batch keep one shape; a threshold on the singular values would
    stop at a different width in each. (S1-alg-tiny)

    `net`, `x`, `y`: a batch of networks, points `(n, in)` and class numbers `(n,)`.
    `growths`, `delay`: how many growths, so many minibatches apart; no growth is training at a fixed size.
    `minibatches`: the length of the training.
    `method`: `"optimal"` neurons, `"random"` ones, or `"random, old moved"`: random ones after the best move of the old weights.
    `look`, `marks`: `look(net)` is called at the marks, counts of minibatches, after a growth that falls on the same count.
    `lr`, `batch_size`, `seeds`, `betas`: as in `Training`.
    `target`: stop growing and training when the accuracy of every network on `x`, `y` is at least this; None never stops. It is
    looked at every `delay` minibatches, before a growth, and at the marks. (S1-find-target-accuracy)

    Four departures from the paper:
    `points`: decide every growth on so many points; None follows the paper's rule, `more_points`.
    `fresh`: the line searches look at other points than the neurons were fitted to.
    `ridge`: add this share of the mean square of a layer's inputs to the diagonal of their second moment.
    `scaled`: give neuron k the factor sqrt(lambda_k) on both sides.
    """
    if method not in SOURCES:
        raise ValueError(f"method is one of {', '.join(map(repr, SOURCES))}; got {method!r}")
    if min(growths, delay) < 0 or growths * delay > minibatches:
        raise ValueError(f"{growths} growths, {delay} minibatches apart, do not fit into {minibatches} minibatches")
    marks = sorted(set(marks))
    if marks and not 0 <= marks[0] <= marks[-1] <= minibatches:
        raise ValueError(f"marks lie between 0 and {minibatches} minibatches; got {marks[0]} to {marks[-1]}")
    if target is not None and not 0 < target <= 1:
        raise ValueError(f"target is an accuracy, above 0 and at most 1; got {target}")
    look = look or (lambda net: None)
    training = Training(net, x, y, lr=lr, batch_size=batch_size, seeds=seeds, betas=betas)
    training.prepare()
    events = [delay * (g + 1) for g in range(growths)]
    looks, seconds, records, around, spent = [], [], [], [], 0.0
    counts = [points or FIRST_POINTS] * (len(net.sizes) - 2)
    after = range(delay, minibatches, delay) if target is not None and delay else ()
    for stop in sorted({*events, *marks, *after, minibatches}):
        spent += _seconds(net.device, lambda: training.train(stop - training.done))  # noqa: B023
        there = target is not None and _reached(training, target)
        for _ in range(0 if there else events.count(stop)):
            before = look(training.net)
            records += _grow_all(training, len(around), counts, method, fresh, ridge, scaled)
            counts = counts if points else more_points(training.net, counts)
            around.append((before, look(training.net)))
        if stop in marks:
            looks.append(look(training.net))
            seconds.append(spent + sum(r.seconds for r in records))
        if there:
            break
    return Run(training.net, looks, seconds, records, around, training.done)


def _reached(training: Training, target: float) -> bool:
    """Whether every network is right on so large a share of the data."""
    net = training.net
    group = max(1, MOST_ENTRIES // (training.points * sum(net.sizes)))
    for b in range(0, len(training.seeds), group):
        some = slice(b, b + group)
        x, y = (values if len(values) == 1 else values[some] for values in (training.x, training.y))
        if not (accuracy(net[some], x, y) >= target).all():
            return False
    return True


def _grow_all(
    training: Training,
    growth: int,
    counts: Sequence[float],
    method: str = "optimal",
    fresh: bool = False,
    ridge: float = 0.0,
    scaled: bool = False,
) -> list[Widening]:
    """Widen every hidden layer of the networks in training, one after the other, each on so many points (or all there are).

    `growth` counts from 0; with the seeds it fixes which points are drawn.
    """
    records = []
    for layer, count in enumerate(counts):
        net, available = training.net, training.points
        count = min(round(count), available)
        rngs = [np.random.default_rng([seed, 2**31, growth, layer]) for seed in training.seeds]
        drawn = [np.stack([rng.choice(available, count, replace=False) for rng in rngs]) for _ in range(1 + fresh)]
        drawn = [torch.as_tensor(d).to(net.device) for d in drawn]
        group = max(1, MOST_ENTRIES // (count * sum(net.sizes)))

        def one_layer(net=net, layer=layer, drawn=drawn, rngs=rngs, group=group):
            done = []
            for b in range(0, len(rngs), group):
                some = slice(b, b + group)
                data = [training.select(d, some) for d in drawn]
                done.append(_widened(net[some], layer, *data[0], method, rngs[some], data[-1], ridge, scaled))
            wide, record = done[0] if len(done) == 1 else _joined(done)
            training.become(wide)
            training.prepare()
            records.append(replace(record, minibatch=training.done))

        seconds = _seconds(net.device, one_layer)
        records[-1] = replace(records[-1], seconds=seconds)
    return records


def _joined(done: list[tuple]) -> tuple[object, Widening]:
    """Networks that were widened in groups as one batch, with one record."""
    nets, records = zip(*done)
    together = lambda parts: [torch.cat(p) for p in zip(*parts)]  # noqa: E731
    wide = nets[0].with_layers(together(n.weights for n in nets), together(n.biases for n in nets))
    values = torch.cat([r.singular_values for r in records])
    rest = {name: torch.cat([getattr(r, name) for r in records], dim=1) for name in ("amplitudes", "losses")}
    return wide, replace(records[0], singular_values=values, **rest)


def _widened(
    net, layer: int, x: Tensor, y: Tensor, method: str, rngs, search=None, ridge: float = 0.0, scaled: bool = False
) -> tuple[object, Widening]:
    """The networks with one layer wider, decided in double precision on points `x` `(B, n, in)` of each network's own.

    First the old outgoing weights make their best move, then come the new neurons, each step with the amplitude that a line
    search finds, on the same points or on those of `search`. A neuron beyond the rank (every tenth behind a softmax over ten
    classes: shifting all logits changes nothing) is given random incoming weights and no outgoing ones: it changes nothing, and
    it can learn.
    """
    exact, kind, k = net.to(torch.float64), "cross_entropy", _every_vector(net, layer)
    x = x.to(torch.float64)
    new = drawn = _random_neurons(exact, layer, k, rngs)
    if method != "random":
        below, here = layer_inputs(exact, x)[layer : layer + 2]
        moment = lambda inputs: SecondMoment.with_ridge(inputs, ridge) if ridge else None  # noqa: E731
        if method == "optimal":
            new = _filled(optimal_neurons(exact, layer, x, y, k, loss=kind, moment=moment(below)), k)
            new = new if scaled else _unscaled(new)
        if ridge or method != "optimal":
            goal = desired_update(exact, layer + 1, x, y, kind)
            new = replace(new, update=best_update(here, goal, moment(here)))
    seen, labels = (x, y) if search is None else (search[0].to(torch.float64), search[1])
    first = best_amplitude(exact, layer, new, seen, labels, kind, update="only")
    second = best_amplitude(exact, layer, new, seen, labels, kind, update=first.amplitude)
    wide = with_neurons(exact, layer, new, second.amplitude, update=first.amplitude)
    idle = torch.arange(k, device=net.device) >= new.rank.unsqueeze(-1)
    wide.weights[layer][..., -k:, :][idle] = drawn.incoming[idle]
    record = Widening(
        minibatch=-1,
        layer=layer,
        points=x.shape[-2],
        widths=wide.sizes[1:-1],
        singular_values=new.singular_values,
        amplitudes=torch.stack([first.amplitude, second.amplitude]),
        losses=torch.stack([first.start, first.loss, second.loss]),
    )
    return wide.to(net.dtype), record


def _filled(new: NewNeurons, k: int) -> NewNeurons:
    """The same neurons and, where fewer than k are of use, zeros for the rest."""
    short = k - new.bias.shape[-1]
    incoming, bias, outgoing = pad(new.incoming, (0, 0, 0, short)), pad(new.bias, (0, short)), pad(new.outgoing, (0, short))
    return replace(new, incoming=incoming, bias=bias, outgoing=outgoing)


def _every_vector(net, layer: int) -> int:
    """How many singular vectors there are for a hidden layer: of its inputs with the constant, or of the layer after it."""
    return min(net.sizes[layer] + 1, net.sizes[layer + 2])


def more_points(net, counts: Sequence[float]) -> list[float]:
    """On how many points the next growth of each hidden layer is decided: the counts of the last, times the root of a width.

    That width is the larger one of the layers before and after, as they are now. (S1, Appendix C)
    """
    return [n * max(net.sizes[layer], net.sizes[layer + 2]) ** 0.5 for layer, n in enumerate(counts)]


def _unscaled(new: NewNeurons) -> NewNeurons:
    """The neurons as the paper's Proposition 3.2 prints them, all of one size: without sqrt(lambda_k) on both sides."""
    size = torch.linalg.vector_norm(new.outgoing, dim=-2)
    factor = torch.where(size > 0, 1 / size, 0.0)
    return replace(
        new, incoming=new.incoming * factor[..., None], bias=new.bias * factor, outgoing=new.outgoing * factor[..., None, :]
    )


def _random_neurons(net, layer: int, k: int, rngs: Sequence[np.random.Generator]) -> NewNeurons:
    """Neurons as a network is initialized (Kaiming normal, no bias), in place of the optimal ones; the old weights stay."""
    inputs, here, out = net.sizes[layer : layer + 3]
    incoming = np.stack([rng.normal(size=(k, inputs)) * (2 / inputs) ** 0.5 for rng in rngs])
    outgoing = np.stack([rng.normal(size=(out, k)) * (2 / (here + k)) ** 0.5 for rng in rngs])
    incoming, outgoing = (torch.as_tensor(a, dtype=net.dtype, device=net.device) for a in (incoming, outgoing))
    none = torch.zeros_like(incoming[..., 0])
    still = Update.zero(*(incoming.new_zeros(len(rngs), 0, width) for width in (here, out)))  # seen at no point
    all_of_them = torch.full_like(none[..., 0], k, dtype=torch.int64)
    return NewNeurons(incoming, none, outgoing, none[..., :0], all_of_them, none[..., 0], still)


def _seconds(device: torch.device, work: Callable[[], None]) -> float:
    """How long some work takes; a GPU is waited for."""
    wait = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)
    wait()
    start = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - start
