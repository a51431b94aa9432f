"""Growing networks on MNIST from widths [1, 1], beside fixed ones: 20 repeats of each, as one batch (Figures 5 to 13 of S1).

The paper's clock is seconds on seven CPUs; ours is minibatches. The cell "clock" measures on seven cores what a minibatch and a
growth of one network take: 0.05 s are 24 to 47 minibatches at the widths of eight growths, and a delay of 50 stands for it. The
runs are long enough for the paper's 5, 20 and 50 seconds by that clock. Its "mu = 0" is read as Adam without momentum in two
cells. Ridge and fresh points, remedies for growth on few points, are judged on held-out images.

>>> from experiments import tiny_mnist
>>> len(tiny_mnist.cells())
50
"""

from __future__ import annotations

import functools
import time

import numpy as np
import torch

from foldbook.chapters.mnist import widths_after
from foldnet.data import mnist
from foldnet.growth.minibatches import Training
from foldnet.growth.smooth import SmoothNet
from foldnet.growth.tiny import Run, tiny
from foldnet.growth.typical import accuracy

from .runner import device

REPEATS, START = 20, (1, 1)
SCALED, NO_MOMENTUM = {"scaled": True}, {"betas": [0.0, 0.999]}
FEW, CAREFUL = {"points": 2_800}, {"fresh": True, "ridge": 0.01}
DELAY, SHORT, MIDDLE, LONG = 50, 5_000, 10_000, 30_000
EPOCH = 600
SIZES = (2, 4, 6, 8, 10, 15)  # growths after which a fixed network of the same widths is trained beside the series


def cells() -> list[dict]:
    """One cell for each curve; what it does not say is the paper's: delay 50, its neurons and its rule of points, no ridge."""
    grown = lambda growths, minibatches, **more: {"arm": "grown", "growths": growths, "minibatches": minibatches, **more}  # noqa: E731
    fixed = lambda widths, minibatches, **more: {"arm": "fixed", "widths": list(widths), "minibatches": minibatches, **more}  # noqa: E731
    return [
        {"arm": "clock"},
        *(grown(8, LONG, **way) for way in ({}, SCALED, NO_MOMENTUM, FEW, {**FEW, **CAREFUL})),
        *(fixed(widths_after(8), LONG, **way) for way in ({}, NO_MOMENTUM)),
        *(fixed(widths, MIDDLE) for widths in ((1000, 1000), widths_after(15))),
        *(grown(15, MIDDLE, **way) for way in ({}, SCALED, {**FEW, **CAREFUL})),
        *(grown(6, SHORT, delay=0, **way) for way in ({}, SCALED, FEW, {**FEW, **CAREFUL})),
        *(grown(6, SHORT, delay=0, method=method) for method in ("random", "random, old moved")),
        *(grown(8, MIDDLE, method=method) for method in ("random", "random, old moved")),
        *(grown(g, 2 * MIDDLE) for g in (4, 6)),
        *(fixed(widths_after(g), 2 * MIDDLE) for g in (4, 6)),
        *(grown(8, MIDDLE, delay=delay) for delay in (0, 10, 200, 1000)),
        grown(15, 16 * EPOCH, delay=EPOCH),
        *(fixed(widths_after(g), 16 * EPOCH) for g in SIZES),
        *(grown(8, MIDDLE, points=points) for points in (1_000, 10_000, 30_000, 60_000)),
        *(grown(8, MIDDLE, **FEW, **{name: CAREFUL[name]}) for name in CAREFUL),
        *(
            {"arm": "held out", **FEW, "fresh": fresh, "ridge": ridge}
            for fresh in (False, True)
            for ridge in (0.0, 0.001, 0.01, 0.1)
        ),
    ]


def marks(minibatches: int) -> list[int]:
    """When the test set is looked at: at the start, 30 times evenly in the logarithm, and at the ends of the shorter runs."""
    if minibatches == 16 * EPOCH:
        return list(range(0, minibatches + 1, EPOCH))
    even = np.geomspace(10, minibatches, 30).round().astype(int).tolist()
    return sorted({0, *even, *(m for m in (SHORT, MIDDLE) if m < minibatches)})


@functools.cache
def images(where: str) -> tuple[torch.Tensor, ...]:
    """Training images and labels, test images and labels, on a device."""
    data = mnist()
    return tuple(torch.as_tensor(a).to(where) for a in (data.x_train, data.y_train, data.x_test, data.y_test))


def start(widths=START, repeats: int = REPEATS) -> SmoothNet:
    """The networks before training: Kaiming normal weights, no bias, SELU, single precision."""
    sizes = (784, *widths, 10)
    return SmoothNet.random(sizes, batch=REPEATS, init="he", activation="selu", dtype=torch.float32)[:repeats]


def curve(
    widths=START, growths=0, delay=DELAY, minibatches=LONG, repeats=REPEATS, where=None, at=None, held_out=False, **options
) -> Run:
    """One curve of the figures: accuracies on the test set at the marks (or `at`), repeat by repeat.

    With `held_out` the last 10,000 training images take the place of the test set, and are not trained on.
    """
    where = where or device()
    x, y, x_test, y_test = images(where)
    if held_out:
        (x, x_test), (y, y_test) = x.tensor_split([50_000]), y.tensor_split([50_000])
    look = lambda net: accuracy(net, x_test, y_test)  # noqa: E731
    at = marks(minibatches) if at is None else at
    return tiny(start(widths, repeats).to(where), x, y, growths, delay, minibatches, look=look, marks=at, **options)


def cell(arm: str, **config) -> dict:
    """Right answers out of 10,000 `(mark, repeat)`, the time, and for a grown network each growth `(growth, layer, ...)`.

    The cells "held out" are for the choice of ridge and points: right answers at the end on images that were set aside.
    """
    if arm == "clock":
        return clock()
    if arm == "held out":
        run = curve(growths=8, minibatches=MIDDLE, at=[MIDDLE], held_out=True, **config)
        return {"right": [round(1e4 * a) for a in run.looks[0].tolist()]}
    run = curve(**config)
    right = lambda looks: [[round(1e4 * a) for a in look.tolist()] for look in looks]  # noqa: E731
    tidy = lambda values: [float(f"{v:.3g}") for v in values.tolist()]  # noqa: E731
    result = {"minibatch": marks(config["minibatches"]), "right": right(run.looks)}
    result["seconds"] = [round(s, 2) for s in run.seconds]
    if not run.growths:
        return result
    wanted = config["growths"] == 15
    return {
        **result,
        "widths": [list(g.widths) for g in run.growths[1::2]],
        "points": [[g.points for g in pair] for pair in zip(run.growths[::2], run.growths[1::2])],
        "before": right([a for a, _ in run.around]),
        "after": right([b for _, b in run.around]),
        "losses": [[tidy(g.losses.median(1).values) for g in pair] for pair in zip(run.growths[::2], run.growths[1::2])],
        "worst_loss": tidy(torch.stack([g.losses[0].max() for g in run.growths])),
        "largest_rise_of_loss": float(f"{max(float((g.losses[2] - g.losses[0]).max()) for g in run.growths):.3g}"),
        "growing_seconds": round(sum(g.seconds for g in run.growths), 2),
        "mean_square": [tidy(g.singular_values.square().mean(1)) for g in run.growths] if wanted else [],
        "largest": [tidy(g.singular_values.amax(1)) for g in run.growths] if wanted else [],
        "smallest": [tidy(g.singular_values.amin(1)) for g in run.growths[1::2]] if wanted else [],
    }


def _pace(training: Training, steps: int) -> float:
    training.train(20)
    begin = time.perf_counter()
    training.train(steps)
    return (time.perf_counter() - begin) / steps


def clock(threads: int = 7, steps: int = 200) -> dict:
    """Seconds of one network on so many cores: a minibatch at several widths, and growing 8 times with 50 minibatches between."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        widths = [*(widths_after(g) for g in (0, 4, 6, 8, 15)), [500, 500], [1000, 1000]]
        pace = [_pace(Training(start(w, 1), *images("cpu")[:2]), steps) for w in widths]
        run = curve(growths=8, delay=DELAY, minibatches=8 * DELAY, repeats=1, where="cpu", at=[8 * DELAY])
    finally:
        torch.set_num_threads(before)
    return {
        "threads": threads,
        "widths": widths,
        "seconds_a_minibatch": [float(f"{p:.3g}") for p in pace],
        "seconds_of_8_growths": [round(a.seconds + b.seconds, 3) for a, b in zip(run.growths[::2], run.growths[1::2])],
        "seconds_until_the_last_growth": round(run.seconds[-1], 3),
    }


def pace(measured: dict, widths) -> float:
    """Seconds a minibatch of one network by the stored clock, interpolated in the number of parameters."""
    parameters = lambda w: 785 * w[0] + (w[0] + 1) * w[1] + (w[1] + 1) * 10  # noqa: E731
    known = np.array(sorted(zip(map(parameters, measured["widths"]), measured["seconds_a_minibatch"])), dtype=float)
    return float(np.interp(parameters(widths), *known.T))


def seconds_until(measured: dict, minibatch, widths=START, growths: int = 0, delay: int = DELAY) -> np.ndarray:
    """Seconds of one network by the stored clock until these minibatches, growths counted in.

    A growth beyond those that were timed is taken to last as long as the last of them.
    """
    grow = [*measured["seconds_of_8_growths"], *[measured["seconds_of_8_growths"][-1]] * max(growths - 8, 0)]
    stages = [widths_after(g, widths) for g in range(growths + 1)]
    ends = [delay * (g + 1) for g in range(growths)] + [np.inf]
    total, begin = np.zeros(len(minibatch)), 0
    for g, (stage, end) in enumerate(zip(stages, ends)):
        total += np.clip(np.asarray(minibatch) - begin, 0, end - begin) * pace(measured, stage)
        if g < growths:
            total += np.where(np.asarray(minibatch) >= end, grow[g], 0.0)
        begin = end
    return total
