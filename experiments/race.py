"""Six ways to a network of the same size, under one protocol: TINY, GradMax, folds, splits, random growth, from scratch.

The protocol (chapter growth/race), written before any result was computed:

- Tasks. Sine, overlap quadratic, circle versus annulus (2 inputs, one logit, binary cross-entropy): 300 points to train on,
  300 to choose the rate on, 1,000 to test on, drawn anew for every seed. Digits (64 inputs, 10 classes, cross-entropy):
  1,000, 400 and 397 of the 1,797 images, split anew for every seed.
- Networks. One hidden ReLU layer, torch's default start. Growth from width 2 by 1 to width 8, for digits from 4 by 4 to 32.
  From scratch: width 8 or 32 from the beginning. So all networks end with the same number of parameters. A seed means the
  same data and the same first network for every growing method.
- Budget. 3,000 evaluations of the gradient on all training points (full batch). Growth after every 300 evaluations until the
  final width is reached. What growth looks at is charged: one evaluation for statistics that need the gradient at the
  outputs, a third for each forward pass (rounded up for each growth); those training steps are not taken. Decompositions of
  small matrices are free.
- Second reading. Small networks cost less: multiply-adds are counted too, n w (2 in + 3 out) for a gradient of a network of
  width w on n points, n w (in + out) for a forward pass, and the matrix products of the statistics. From scratch is also
  measured at the last mark (a multiple of 100 evaluations) at which it has spent no more multiply-adds than a network that
  grows at no charge.
- Training. Adam (0.9, 0.999, 1e-8); old weights keep their state, new ones start with a fresh one, in every method. Rates
  0.003, 0.01, 0.03 for every method; each method is reported at the rate with the best mean validation accuracy over 50
  tuning seeds (200 to 249), the smaller rate on a tie. Nothing else is tuned.
- Methods. random: incoming weights from the start's distribution, outgoing zero. split: neurons drawn at random are doubled
  as in Net2Net, outgoing weights halved, the twins moved apart by 0.001 of their length. gradmax: incoming zero, outgoing the
  leading singular vectors with the mean length of the old ones, a random sign, bias 0.01 (a ReLU is dead at zero) with the
  constant taken out of the output bias. fold: one fold for each new neuron, each at another typical mistake, output changed
  by at most 0.1 each. tiny: the best update of the output layer, then the best new neurons, each with a line-searched
  amplitude; of the two signs of a neuron (the theory cannot tell them apart) the one that lowers a ReLU network's loss
  faster; amplitude shared evenly by both sides; where nothing helps, a random neuron takes the place.
- Measured, on seeds 0 to 199. Test accuracy and training loss; the paired difference to from scratch; successes: test
  accuracy at most one point below the median of networks of width 64 trained from scratch with the same budget, their rate
  chosen alike.
- Verdicts. "Better" or "worse" than from scratch where the paired t interval excludes zero at a level of 95 % for all 20
  comparisons together (Bonferroni), "no difference seen" otherwise; the same against random growth, for 16 comparisons.

>>> from experiments import race
>>> len(race.cells())
84
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foldbook.chapters.race import LATER, METHODS, loss_name, mean_loss
from foldbook.statistics import interval
from foldbook.stored import Row
from foldnet.data import digits
from foldnet.growth.minibatches import Training
from foldnet.growth.tasks import TASKS, one_hot
from foldnet.growth.typical import accuracy
from foldnet.nets import ReLUNet, stack

from .runner import device, short

LRS, BUDGET, EVERY, MARK = (0.003, 0.01, 0.03), 3000, 300, 100
RACE, TUNING = range(200), range(200, 250)
WIDTHS = {**{task: range(2, 9) for task in TASKS}, "digits": range(4, 33, 4)}
GROWING = tuple(METHODS)
ARMS = (*GROWING, "scratch", "wide")


def cells() -> list[dict]:
    return [{"task": task, "method": method, "lr": lr} for task in WIDTHS for method in ARMS for lr in LRS]


def cell(task: str, method: str, lr: float) -> dict:
    """Test errors and training losses of the 200 race seeds, validation of the tuning seeds, and the mean course of the race."""
    done = race(task, method, lr, [*RACE, *TUNING], where=device())
    count = len(RACE)
    points = done.data.test[0].shape[1]
    wrong = (points * (1 - done.accuracy[:, :count])).round().long()
    result = {
        "wrong": wrong[-1],
        "loss": short(done.loss[-1, :count], 3),
        "validation": round(float(done.validation[count:].mean()), 6),
        "accuracy": [round(v, 4) for v in done.accuracy[:, :count].mean(1).tolist()],
        "mean_loss": short(done.loss[:, :count].mean(1), 4),
        "work": short([v / 1e6 for v in done.work], 5),  # million multiply-adds
    }
    if method == "scratch":
        result["wrong_at_equal_work"] = wrong[equal_work(task) // MARK]
    return result


# ---- data --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Data:
    """Points `(B, n, in)` and targets `(B, n, out)` for each seed: to train on, to choose the rate on, to test on."""

    train: tuple[Tensor, Tensor]
    validation: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]


def data(task: str, seeds, where: str = "cpu") -> Data:
    """The data of a task for each seed, float64."""
    if task not in WIDTHS:
        raise ValueError(f"the tasks are {', '.join(WIDTHS)}; got {task!r}")
    drawn = [_digits(seed) if task == "digits" else _toy(task, seed) for seed in seeds]
    stacked = [[torch.stack(part).to(where) for part in zip(*(d[i] for d in drawn))] for i in range(3)]
    return Data(*((x, y) for x, y in stacked))


def _toy(task: str, seed: int) -> list[tuple[Tensor, Tensor]]:
    x, y = TASKS[task](1600, seed=seed)
    y = y.double().unsqueeze(-1)
    return [(x[part], y[part]) for part in (slice(300), slice(300, 600), slice(600, None))]


def _digits(seed: int) -> list[tuple[Tensor, Tensor]]:
    images = digits(seed)
    x, y = torch.as_tensor(images.x_train).double(), one_hot(torch.as_tensor(images.y_train), 10)
    test = torch.as_tensor(images.x_test).double(), one_hot(torch.as_tensor(images.y_test), 10)
    return [(x[:1000], y[:1000]), (x[1000:], y[1000:]), test]


# ---- one race ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Race:
    """The course of B races at 0, 100, ... evaluations: test accuracy, training loss `(marks, B)` and multiply-adds `(marks,)`.

    `validation` `(B,)` at the end; `nets` the networks before each growth and at the end.
    """

    accuracy: Tensor
    loss: Tensor
    work: list[float]
    validation: Tensor
    nets: list[ReLUNet]
    data: Data


def race(task: str, method, lr: float, seeds, budget: int = BUDGET, where: str = "cpu") -> Race:
    """Train a network for each seed with one method, by name or as a function; no seed depends on the seeds beside it."""
    given, widths = data(task, seeds, where), list(WIDTHS[task])
    (x, y) = given.train
    propose = method if callable(method) else (METHODS | LATER).get(method)
    if propose:
        stages = widths
    elif method in ("scratch", "wide"):
        stages = [widths[-1] if method == "scratch" else 64]
    else:
        raise ValueError(f"the methods are {', '.join((*ARMS, *LATER))}; got {method!r}")
    inputs, out = x.shape[2], y.shape[2]
    nets = stack([ReLUNet.random((inputs, stages[0], out), seed=10_000 + seed) for seed in seeds]).to(where)
    rng = [np.random.default_rng([seed, 1]) for seed in seeds]
    training = Training(nets, x, y, loss=loss_name(nets), lr=lr, batch_size=None)
    spent, work, kept, course = 0, 0.0, [], []

    def note():
        course.append((accuracy(nets, *given.test), mean_loss(nets, x, y), work))

    note()
    for stage, width in enumerate(stages):
        if stage and propose:
            k = width - stages[stage - 1]
            kept.append(nets)
            new = propose(nets, x, y, k, rng)
            spent += charge(new)
            work += x.shape[1] * (new.gradients * products(nets) + new.forwards * products(nets, False) + new.products)
            nets = new.widened()
            training.become(nets)
        end = budget if width == stages[-1] else (stage + 1) * EVERY
        while spent < end:
            steps = min(MARK - spent % MARK, end - spent)
            training.train(steps)
            nets = training.net
            spent, work = spent + steps, work + steps * x.shape[1] * products(nets)
            if spent % MARK == 0:
                note()
    accuracies, losses, works = zip(*course)
    validation = accuracy(nets, *given.validation).cpu()
    return Race(torch.stack(accuracies).cpu(), torch.stack(losses).cpu(), list(works), validation, [*kept, nets], given)  # ty: ignore[invalid-argument-type]


def charge(new) -> int:
    """Gradient evaluations that a growth costs: one for each gradient, a third for each forward pass, rounded up."""
    return -(-(3 * new.gradients + new.forwards) // 3)


def products(nets, gradient: bool = True) -> int:
    """Multiply-adds a data point for the gradient of a shallow network, or for its outputs alone."""
    inputs, width, out = nets.sizes
    return width * (2 * inputs + 3 * out) if gradient else width * (inputs + out)


def equal_work(task: str) -> int:
    """The last mark at which a network of the final width has cost no more multiply-adds than one that grew at no charge."""
    *early, final = WIDTHS[task]
    grown = EVERY * sum(early) + (BUDGET - EVERY * len(early)) * final
    return grown // final // MARK * MARK


# ---- what came of it ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """A method on a task: accuracy and difference as (mean, low, high) with 95 % intervals, successes likewise, and a verdict."""

    lr: float
    accuracy: tuple[float, float, float]
    loss: float
    success: tuple[float, float, float]
    difference: tuple[float, float, float]
    verdict: str


def chosen(rows: list[Row]) -> dict[tuple[str, str], Row]:
    """For each (task, method) the stored row at the rate with the best mean validation accuracy, the smaller rate on a tie."""
    best: dict[tuple[str, str], Row] = {}
    for row in sorted(rows, key=lambda row: row.cell["lr"]):
        key = row.cell["task"], row.cell["method"]
        if key not in best or row["validation"] > best[key]["validation"]:
            best[key] = row
    return best


def share_right(row: Row, key: str = "wrong") -> np.ndarray:
    """Test accuracy of each race seed of a stored row."""
    return 1 - row[key] / (397 if row.cell["task"] == "digits" else 1000)


def standings(rows: list[Row], rival: str = "scratch", key: str = "wrong") -> dict[tuple[str, str], Standing]:
    """Every method on every task, with its paired difference to a rival and the protocol's verdict on it.

    With `key="wrong_at_equal_work"` the rival, from scratch, is taken where it has spent as many multiply-adds.
    """
    from scipy import stats

    best = chosen(rows)
    methods = [m for m in (*GROWING, "scratch") if m != rival and not (rival == "random" and m == "scratch")]
    found = {}
    for task in WIDTHS:
        goal = np.median(share_right(best[task, "wide"])) - 0.01
        for method in methods if key != "wrong" else (*methods, rival):
            row = best[task, method]
            right = share_right(row)
            gap = right - share_right(best[task, rival], key)
            hits = stats.binomtest(int((right >= goal - 1e-9).sum()), len(right))
            wilson = hits.proportion_ci(method="wilson")
            found[task, method] = Standing(
                lr=row.cell["lr"],
                accuracy=interval(right),
                loss=float(np.mean(row["loss"])),
                success=(hits.statistic, wilson.low, wilson.high),
                difference=interval(gap),
                verdict=verdict(interval(gap, 1 - 0.05 / (len(WIDTHS) * len(methods)))),
            )
    return found


def verdict(simultaneous: tuple[float, float, float]) -> str:
    """The protocol's word for a paired difference, from its simultaneous interval."""
    _, low, high = simultaneous
    return "better" if low > 0 else "worse" if high < 0 else "no difference seen"
