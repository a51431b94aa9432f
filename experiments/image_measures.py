"""The stored comparison of image networks as tables: which networks, every measure for all pairs, means over groups and runs.

>>> from experiments.image_measures import table
>>> digits = table("mnist")
>>> round(float(digits.over_runs("CKA", "dense sgd", "dense sgd").mean()), 2)
0.83
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from foldbook.chapters.comparison import rank_correlations, scaled_distance
from foldbook.stored import Row, stored

MEASURES = ("accuracy kept", "distance", "CKA", "cross-entropy", "divergence", "CKA of layers", "RSA of layers")
DIFFER = ("distance", "cross-entropy", "divergence")  # larger is less alike


@dataclass(frozen=True)
class Table:
    """One data set: `names` such as "dense sgd 1", right answers, whole and with k maps, `(networks, clusters)`, and measures
    `(networks, networks)`, row: from, column: to."""

    names: list[str]
    right: np.ndarray
    clustered: np.ndarray
    measures: dict[str, np.ndarray]

    @cached_property
    def parts(self) -> list[tuple[str, int]]:
        """Group and run of each name; a name without a run is run 1."""
        split = (name.rsplit(" ", 1) for name in self.names)
        return [(a, int(b)) if b.isdigit() else (f"{a} {b}", 1) for a, b in split]

    def at(self, group: str | Sequence[str], runs: Sequence[int] = (1, 2, 3, 4, 5)) -> list[int]:
        """The places of networks of a group, or one of several groups ("dense sgd"), of these runs."""
        groups = (group,) if isinstance(group, str) else tuple(group)
        return [k for k, (name, run) in enumerate(self.parts) if name in groups and run in runs]

    def between(self, measure: str, source, target, runs: Sequence[int]) -> float:
        """The mean of a measure over pairs of two different networks of these runs, from one group to another."""
        table = self.measures[measure]
        pairs = [table[a, b] for a in self.at(source, runs) for b in self.at(target, runs) if a != b]
        return float(np.mean(pairs))

    def over_runs(self, measure: str, source, target) -> np.ndarray:
        """`between` for each choice of two runs that follow each other, the last and the first too: as many as runs."""
        return np.array([self.between(measure, source, target, pair) for pair in self.pairs()])

    def pairs(self) -> list[tuple[int, int]]:
        last = max(run for _, run in self.parts)
        return [(run, run % last + 1) for run in range(1, last + 1)]

    def ordered(self, measure: str, at: Sequence[int]) -> np.ndarray:
        """A measure of all ordered pairs of two different of these networks; what means difference has its sign turned."""
        apart = ~np.eye(len(at), dtype=bool)
        return self.measures[measure][np.ix_(at, at)][apart] * (-1 if measure in DIFFER else 1)

    def agreement(self, at: Sequence[int], measures: Sequence[str] = MEASURES) -> np.ndarray:
        """Rank correlations of measures over ordered pairs of different networks."""
        return rank_correlations(torch.as_tensor(np.stack([self.ordered(m, at) for m in measures]))).numpy()

    def renamed(self, groups: Sequence[str], seed: int) -> Table:
        """The same networks with the names of these groups dealt out among them anew."""
        at, names = self.at(groups), list(self.names)
        for old, new in zip(at, np.random.default_rng(seed).permutation(at)):
            names[old] = self.names[new]
        return replace(self, names=names)


def by_chance(
    measured: Callable[[Mapping[str, Table]], Mapping[str, float]],
    tables: Mapping[str, Table],
    groups: Sequence[str],
    small: Sequence[str] = (),
    draws: int = 200,
) -> dict[str, float]:
    """What `measured(tables)` reaches where the names of the networks mean nothing, in one of 20 tables: each of its numbers at
    the 95th percentile of `draws` tables with names dealt out anew, or at the 5th for those that are to be `small`."""
    found = [measured({name: t.renamed(groups, seed) for name, t in tables.items()}) for seed in range(draws)]
    return {name: float(np.quantile([f[name] for f in found], 0.05 if name in small else 0.95)) for name in found[0]}


def table(data: str, run: str = "image_comparison") -> Table:
    """The stored comparison of all networks on "mnist" or "cifar10"."""
    return from_row(stored(run).row(data=data))


def from_row(row: Row) -> Table:
    """A row of `image_comparison` or `image_pretrained` as tables; cross-entropies are those of the target."""
    right = np.asarray(row["right"], dtype=float)
    inner, top = (torch.as_tensor(np.asarray(row[k], dtype=float)) for k in ("inner", "top"))
    cross = np.asarray(row["cross"], dtype=float)
    measures = {
        "accuracy kept": np.asarray(row["mapped"]) / right,
        "accuracy after the map": np.asarray(row["mapped"], dtype=float),
        "distance": scaled_distance(inner, top, 1).numpy(),
        "CKA": np.asarray(row["cka"], dtype=float),
        "CKA, not centred": np.asarray(row["cka_plain"], dtype=float),
        "cross-entropy": cross.T,
        "divergence": (cross - cross.diagonal()[:, None]).T,
        "CKA of layers": np.asarray(row["cka_reads"], dtype=float),
        "RSA of layers": np.asarray(row["rsa"], dtype=float),
    }
    return Table(list(row["names"]), right, np.asarray(row["clustered"], dtype=float), measures)
