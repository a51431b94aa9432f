"""The census again, registered: classes that the first run did not have, new starts, and statements fixed beforehand.

This file entered the history before the run. The first run, `census`, had every tenth class of five inputs, and for it a reader
has only our word that its protocol came first. What that run found is stated here, each with a bar, and can now fail.

- Functions. The other nine tenths: 554,513 classes in nine parts, class k in part k mod 10, each as large as the first run. In
  part seen before: `five_inputs` trained ReLU and leaky ReLU on all classes, and gave influence, swaps, degree, entropy and
  balance there. Six inputs: a new draw of 6,400 of each of the four kinds.
- Task as in `census`: one hidden layer, He's weights, torch's biases, inputs -1 and 1, cross-entropy, Adam at 0.025, all
  corners, at most 1,000 epochs, 100 starts; leaky ReLU, ReLU, GELU, tanh, |x|, sine; widths 4, 6, 3; six inputs at width 6. New
  seeds.
- Predictors: the sixteen of `census`; the swaps value for five inputs alone. Four more without a bar
  (`census.more_of_function`): largest sensitivity, block sensitivity and certificate over the corners, and the weight off the
  staircase. Each of the largest is expected behind its mean, and the last below 0.3.
- Fits. Ridge regressions of ranks, made on the first half of the first run at width 4 and never again; judged on the nine
  parts.
- Intervals. Each value is computed in each part (six inputs: in eight parts of 3,200); its interval is the mean and t times its
  error. A statement is held where the mean, for each activation it names, reaches the bar; it is refuted where for one of them
  the whole interval is below; else it is undecided. Bars stand in `statements`, most at about two thirds of what the first run
  found.
- New here, so expectations alone. Reach: 1,233 classes, widths 2, 3, 4, 10,000 starts. At width 2 what is scarce is room, so
  the swaps value is expected first of sixteen, in how often they succeed, for leaky ReLU and ReLU. At width 3 at least so many
  are reached: leaky 97, ReLU 80, GELU 99.9, tanh 97, |x| 85 of a hundred. The seven new classes with nine changes: learned less
  often at width 4 than as heavy ones (95 % of draws) with leaky ReLU and ReLU. Mini-batches of 8 with squares, and with inputs
  0 and 1: the ranking is that of full batches (mean correlation 0.9 or more over what chance leaves), as it was with
  cross-entropy.
- What would change the pages. If weight above 2 does not lead influence by its bar for leaky ReLU, ReLU and |x|, story and
  report no longer say that it leads. If tanh's or GELU's leader changes, they name no leader there. If more than four of the 80
  correlations (sixteen, without the sine, width 4) are 0.02 or more from the second half of the first run, the page gives
  ranges and no orders. What is refuted is said beside the first run, and nothing is left out.

By the speed of the first run: 162 parts at a second each, and about 90 seconds for the rest, on an H200 with `--jobs 6`. The
swaps values come first, by `python -m experiments.five_inputs`.

>>> from experiments import census_again
>>> len(census_again.cells()), census_again.cells()[0]
(102, {'task': 'share', 'activation': 'leaky', 'width': 4})
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np

from foldbook.chapters import census, training
from foldbook.chapters.swaps import RECORD, quadratic
from foldbook.stored import Stored, stored

from . import census as first
from . import census_settings
from ._census import ACTIVATIONS, EPOCHS, TRIALS, five, six, times, train
from .five_inputs import table_of_measures
from .runner import short

PARTS, SIXTHS, OF_EACH, SEED = range(1, 10), 8, 6400, 37
REACH, STARTS = (5, 500), 10_000  # the first of these classes and the step to the next
MAPS = {"influence": (8, 41), "above 2": (32, 33), "above 3": (32, 33), "block sensitivity": (8, 41), "swaps": (1, 10)}
PER = 4  # successes that share a row of a map
SOLVING = ACTIVATIONS[:-1]  # the sine learns everything
SIXTEEN = (
    *("swaps", "degree", "influence", "entropy", "balance", "above 1", "above 2", "above 3", "block sensitivity", "certificates"),
    *("depth", "leaves", "leap", "kernel", "kernel at hand", "alignment"),
)
MORE = ("largest sensitivity", "largest block sensitivity", "largest certificate", "off the staircase")


def cells() -> list[dict]:
    """Width 4 first, then six inputs, reach and settings, then the other widths."""
    shares = [{"task": "share", "activation": a, "width": w} for w in (4, 6, 3) for a in ACTIVATIONS]
    reach = [{"task": "reach", "activation": a, "width": w} for w in (3, 2, 4) for a in ACTIVATIONS]
    batches = [s for s in census_settings.cells() if s["batch"]]
    settings = [s | {"loss": "mse"} for s in batches]
    usual = [s for s in batches if s["lr"] in (0.025, 1.0)]
    settings += [s | {"loss": loss, "low": 0} for s in usual for loss in ("bce", "mse")]
    six_ = [{"task": "six", "activation": a} for a in ACTIVATIONS]
    return [*shares[:6], *six_, *reach, *({"task": "setting", **s} for s in settings), *shares[6:]]


def cell(task: str, **settings) -> dict:
    """One of the four tasks; correlations are in ten-thousandths, predictors in the order of `SIXTEEN` and `MORE`."""
    return {"share": share, "six": of_six, "reach": reach, "setting": census_settings.cell}[task](**settings)


def seed(*words) -> int:
    return crc32(" ".join(map(str, ("again", *words))).encode())


# ---- what is measured ------------------------------------------------------------------------------------------------------


def share(activation: str, width: int) -> dict:
    """In each part `(9, ...)`: `ranks` with failures and at width 4 `time_ranks`; `median` and `mean` successes, `ceiling`.

    `reached`: classes with a success. `fits` `(9, 5)`: correlations of the first run's fits. `odd`, `odd_at_equal_weight`
    `(9, 3)`: failures of the values 3, 5, 7 minus those of the next. `nine`: successes of the classes with nine changes;
    `as_heavy`: the mean of draws as heavy, and its interval. `maps[name]`: how many classes have a measure (in bins: `MAPS`)
    and so many successes (in fours).
    """
    kept: dict[str, list] = {}
    solved, weight, value = [], [], []
    maps = {name: np.zeros((bins, TRIALS // PER + 1), dtype=np.int64) for name, (_, bins) in MAPS.items()}
    for part in PARTS:
        t = five(1)[part :: first.EVERY]
        x = known(part) | census.kernels(t, activation, width)
        found = train(activation, t, width, EPOCHS, seed(activation, width, part))
        count, missed = found.counts, TRIALS - found.counts
        halves = found.solved[:, ::2].sum(1), found.solved[:, 1::2].sum(1)
        new = {
            "ranks": correlations(x, missed),
            "mean": short(count.mean() / TRIALS, 6),
            "median": float(np.median(count)),
            "ceiling": short(training.correlation_ceiling(*halves), 4),
            "reached": int((count > 0).sum()),
            "odd": [census.at_equal_weight(missed, x["swaps"], x["above 2"], v, step=2.0) for v in (3, 5, 7)],
            "odd_at_equal_weight": [census.at_equal_weight(missed, x["swaps"], x["above 2"], v) for v in (3, 5, 7)],
        }
        if width == 4:
            ok = count > 0
            new["time_ranks"] = correlations({name: v[ok] for name, v in x.items()}, times(found)[ok])
            new["fits"] = in_tens_of_thousands(training.rank_correlation(fit(t, x), missed) for fit in first_fits())
        for name, v in new.items():
            kept.setdefault(name, []).append(v)
        for name, (unit, bins) in MAPS.items():
            place = np.floor(x[name] * unit + 1e-9).astype(int) * (TRIALS // PER + 1) + count // PER
            maps[name] += np.bincount(place, minlength=maps[name].size).reshape(bins, -1)
        for all_, v in zip((solved, weight, value), (count, x["above 2"], x["swaps"])):
            all_.append(v)
    solved, weight, value = map(np.concatenate, (solved, weight, value))
    drawn = census.as_heavy(solved, weight, weight[value == 9])
    result: dict[str, Any] = {name: np.array(v) if np.ndim(v) > 1 else v for name, v in kept.items()}
    result |= {name: short(result[name], 4) for name in ("odd", "odd_at_equal_weight")}
    return result | {"nine": solved[value == 9], "as_heavy": short([drawn.mean(), *census.interval(drawn)], 4), "maps": maps}


@cache
def known(part: int) -> dict[str, np.ndarray]:
    """The predictors of a part that know the function alone."""
    t = five(1)[part :: first.EVERY]
    swaps = table_of_measures()["swaps"][part :: first.EVERY].astype(int)
    return {"swaps": swaps, **census.of_function(t), **census.more_of_function(t)}


def correlations(x: dict[str, np.ndarray], y: np.ndarray) -> np.ndarray:
    """Rank correlations of y with all predictors that there are; 0 for those that are not there."""
    values = dict(zip(x, census.rank_correlations(np.array([*x.values()], dtype=float), y)[:, 0]))
    return in_tens_of_thousands(values.get(name, 0.0) for name in (*SIXTEEN, *MORE))


def in_tens_of_thousands(values) -> np.ndarray:
    return np.rint(1e4 * np.array([*values])).astype(np.int64)


@cache
def first_fits() -> list:
    """What the first half of the first run says of other classes at width 4, for each activation but the sine."""
    t, old = five(first.EVERY), stored("census")
    plain, half = {"swaps": old.row(task="swaps")["swaps"], **census.of_function(t)}, census.halves(len(t))[0]

    def fit(a: str):
        x = np.array([*(plain | census.kernels(t, a, 4)).values()], dtype=float)[:, half]
        made = census.RankFit(x, TRIALS - old.row(activation=a, width=4, epochs=first.EPOCHS)["solved"][half])
        return lambda new, x: made(np.array([*({n: x[n] for n in plain} | census.kernels(new, a, 4)).values()], dtype=float))

    return [fit(a) for a in SOLVING]


def of_six(activation: str) -> dict:
    """`ranks`, and `coins`, those of the coins alone, `(8, ...)`; `record`: successes of the function with seventeen changes."""
    t = np.concatenate([six(SEED, OF_EACH), quadratic(*RECORD)[None]])
    x = census.of_function(t) | census.more_of_function(t) | census.kernels(t, activation, 6)
    count = train(activation, t, 6, EPOCHS, seed("six", activation)).counts
    drawn = census.as_heavy(count[:-1], x["above 2"][:-1], x["above 2"][-1:])
    upto = {"ranks": len(t) - 1, "coins": OF_EACH}
    parts = {name: [np.arange(k, end, SIXTHS) for k in range(SIXTHS)] for name, end in upto.items()}
    ranks = {
        name: np.array([correlations({n: v[p] for n, v in x.items()}, TRIALS - count[p]) for p in places])
        for name, places in parts.items()
    }
    return ranks | {"record": int(count[-1]), "as_heavy": short([drawn.mean(), *census.interval(drawn)], 4)}


def reach(activation: str, width: int) -> dict:
    """`solved`: successes among 10,000 starts of every 500th class."""
    begin, step = REACH
    return {"solved": train(activation, five(1)[begin::step], width, EPOCHS, seed("reach", activation, width), STARTS).counts}


# ---- what was said beforehand ----------------------------------------------------------------------------------------------


class Seen:
    """Rank correlations without their signs, and the other values, of the stored run: each has one number for each part."""

    def __init__(self, run: Stored):
        self.rows = {(r.cell["task"], r.cell["activation"], r.cell.get("width", 6)): r for r in run.rows}

    def value(self, name: str, activation: str, width: int = 4, task: str = "share") -> np.ndarray:
        return np.asarray(self.rows[task, activation, width][name], dtype=float)

    def rho(self, activation: str, name: str, width: int = 4, of: str = "ranks", task: str = "share") -> np.ndarray:
        return np.abs(self.value(of, activation, width, task)[:, (*SIXTEEN, *MORE).index(name)]) / 1e4

    def best(self, activation: str, but: str = "", **where) -> np.ndarray:
        """The largest of the sixteen, or of the fifteen others."""
        return np.max([self.rho(activation, name, **where) for name in SIXTEEN if name != but], axis=0)

    def lead(self, name: str, *activations: str, **where) -> dict[str, np.ndarray]:
        """How far a predictor is ahead of the best of the other fifteen."""
        return {a: self.rho(a, name, **where) - self.best(a, name, **where) for a in activations}

    def ahead(self, one: str, other: str, *activations: str, **where) -> dict[str, np.ndarray]:
        return {a: self.rho(a, one, **where) - self.rho(a, other, **where) for a in activations}

    def fit(self, of: str, on: str) -> np.ndarray:
        return self.value("fits", on)[:, SOLVING.index(of)] / 1e4


RECTIFIERS, FOUR = ("leaky", "relu", "abs"), ("leaky", "relu", "gelu", "abs")
STUDENT = {9: 2.306, 8: 2.365}  # of the 95 % interval of a mean, by parts


def statements(s: Seen) -> list[tuple[str, dict[str, float], dict[str, np.ndarray]]]:
    """What is said beforehand: the words, the bar of each activation, and what has to reach it, a value for each part."""
    three: dict[str, Any] = {"width": 3}
    six_: dict[str, Any] = {"width": 6, "task": "six"}
    odd, equal = ({a: s.value(name, a).T for a in SOLVING} for name in ("odd", "odd_at_equal_weight"))
    order = ("gelu", "leaky", "abs", "tanh", "relu")
    falls = {a: [s.rho(a, "swaps", width=w) for w in (3, 4, 6)] for a in ("leaky", "relu", "gelu")}
    both = [s.lead("above 3", "tanh", width=w)["tanh"] for w in (3, 6)]
    close = s.ahead("above 2", "influence", "gelu")["gelu"]
    said = [
        ("weight above 2 is first of sixteen", 0, s.lead("above 2", *RECTIFIERS)),
        ("weight above 2 leads influence", (0.03, 0.045, 0.08), s.ahead("above 2", "influence", *RECTIFIERS)),
        ("block sensitivity is first", 0, s.lead("block sensitivity", "gelu")),
        ("weight above 2 and influence are within 0.02", -0.02, {"gelu": -abs(close)}),
        ("weight above 3 is first", 0.07, s.lead("above 3", "tanh")),
        ("influence leads weight above 2", 0.12, s.ahead("influence", "above 2", "tanh")),
        ("no predictor is above 0.70", -0.7, {"tanh": -s.best("tanh")}),
        ("no predictor is above 0.30", -0.3, {"sine": -s.best("sine")}),
        ("influence leads the swaps value", (0.35, 0.35, 0.35, 0.13, 0.35), s.ahead("influence", "swaps", *SOLVING)),
        (
            "median successes, above those of the next",
            3,
            {a: s.value("median", a) - s.value("median", b) for a, b in pairwise(order)},
        ),
        ("time: weight above 2 leads influence", 0.06, s.ahead("above 2", "influence", *FOUR, of="time_ranks")),
        ("time: influence leads weight above 2", 0.03, s.ahead("influence", "above 2", "tanh", of="time_ranks")),
        ("old fits, on the new classes", (0.885, 0.86, 0.875, 0.695, 0.895), {a: s.fit(a, a) for a in SOLVING}),
        ("what the fit of leaky ReLU loses", 0.15, {"tanh": s.fit("tanh", "tanh") - s.fit("leaky", "tanh")}),
        ("swaps value 7 is harder than 8", 1.5, {a: odd[a][2] for a in FOUR}),
        ("swaps values 3 and 5 are easier than 4 and 6", 0, {a: -odd[a][:2].max(0) for a in order if a != "abs"}),
        ("7 is not harder than 8 at equal weight", 0, {a: -equal[a][2] for a in SOLVING}),
        ("width 6: weight above 2 leads influence", (0.045, 0.06), s.ahead("above 2", "influence", "relu", "abs", width=6)),
        ("width 3: block sensitivity is first", 0, s.lead("block sensitivity", "leaky", "gelu", **three)),
        ("width 3: weight above 2 is first", 0.04, s.lead("above 2", "abs", **three)),
        ("widths 3 and 6: weight above 3 is first", 0.02, {"tanh": np.min(both, axis=0)}),
        ("the swaps value says less with each width, 3, 4, 6", 0.03, {a: -np.diff(v, axis=0).max(0) for a, v in falls.items()}),
        ("six bits: weight above 2 is first", 0, s.lead("above 2", *RECTIFIERS, **six_)),
        ("six bits: weight above 2", 0.9, {a: s.rho(a, "above 2", **six_) for a in FOUR}),
        ("six bits, coins: weight above 3 is first", 0.1, s.lead("above 3", "tanh", of="coins", **six_)),
    ]
    bars = ((bar if isinstance(bar, tuple) else (bar,) * len(found)) for _, bar, found in said)
    return [(words, dict(zip(found, bar)), found) for (words, _, found), bar in zip(said, bars)]


def outcome(bar: dict[str, float], found: dict[str, np.ndarray]) -> str:
    """`held`, `refuted` or `undecided`, by the rule of the protocol."""
    tops = {a: v.mean() + STUDENT[len(v)] * v.std(ddof=1) / len(v) ** 0.5 for a, v in found.items()}
    if all(v.mean() >= bar[a] for a, v in found.items()):
        return "held"
    return "refuted" if any(tops[a] < bar[a] for a in found) else "undecided"
