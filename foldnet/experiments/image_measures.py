"""The stored comparison of image networks as tables: which networks, every measure for all pairs, means over groups and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..data import Row, stored
from ..geometry.comparison import rank_correlations, scaled_distance

MEASURES = ("accuracy kept", "distance", "CKA", "cross-entropy", "divergence", "CKA of layers", "RSA of layers")
DIFFER = ("distance", "cross-entropy", "divergence")  # larger is less alike


@dataclass(frozen=True)
class Table:
    """One data set: `names` such as "dense sgd 1", and measures `(networks, networks)`, row: from, column: to."""

    names: list[str]
    right: np.ndarray
    measures: dict[str, np.ndarray]

    def at(self, group: str | Sequence[str], runs: Sequence[int] = (1, 2, 3, 4, 5)) -> list[int]:
        """The places of networks whose name begins with the group, or one of the groups ("dense sgd"), of these runs."""
        groups = (group,) if isinstance(group, str) else tuple(group)
        return [k for k, n in enumerate(self.names) if n.rsplit(" ", 1)[0] in groups and int(n.rsplit(" ", 1)[1]) in runs]

    def between(self, measure: str, source, target, runs: Sequence[int]) -> float:
        """The mean of a measure over pairs of two different networks of these runs, from one group to another."""
        table = self.measures[measure]
        pairs = [table[a, b] for a in self.at(source, runs) for b in self.at(target, runs) if a != b]
        return float(np.mean(pairs))

    def over_runs(self, measure: str, source, target) -> np.ndarray:
        """`between` for each choice of two runs that follow each other, the last and the first too: as many as runs."""
        return np.array([self.between(measure, source, target, pair) for pair in self.pairs()])

    def pairs(self) -> list[tuple[int, int]]:
        last = max(int(n.rsplit(" ", 1)[1]) for n in self.names)
        return [(run, run % last + 1) for run in range(1, last + 1)]

    def agreement(self, groups: Sequence[str], runs: Sequence[int], measures: Sequence[str] = MEASURES) -> np.ndarray:
        """Rank correlations of measures over ordered pairs of different networks; what means difference has its sign turned."""
        at = self.at(groups, runs)
        apart = ~np.eye(len(at), dtype=bool)
        series = [self.measures[m][np.ix_(at, at)][apart] * (-1 if m in DIFFER else 1) for m in measures]
        return rank_correlations(torch.as_tensor(np.stack(series))).numpy()


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
    return Table(list(row["names"]), right, measures)
