"""Pieces in any number of inputs, with their walls and neighbours: what `net.cell` and `net.cells` give.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)).double()
>>> model[0].weight.data[:], model[0].bias.data[:] = torch.eye(3), 0.0
>>> of(model).cells(torch.ones(3))
Cells(8 pieces, 12 pairs of neighbours, 0 bounded, of a PiecewiseLinear(input 3, output 1, 3 units with kinks, float64))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .net import PiecewiseLinear


@dataclass(frozen=True, eq=False, repr=False)
class Cell:
    """A piece: where `rows @ x + offsets >= 0`, without rows that are not needed.

    `centre` `(in,)` lies inside and `points` `(walls, in)` on each wall; `columns` `(walls,)` says which unit changes
    sides there, as `PiecewiseLinear.pattern` counts them (one of them, where several do). Inputs are flat.
    """

    centre: np.ndarray
    pattern: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    columns: np.ndarray
    points: np.ndarray
    bounded: bool

    def __repr__(self) -> str:
        return f"Cell({len(self.rows)} walls in {len(self.centre)} dimensions, {'bounded' if self.bounded else 'unbounded'})"


@dataclass(frozen=True, eq=False, repr=False)
class Cells:
    """Pieces that were found from one to the next, and the pairs of neighbours `(n, 2)` among them, by their numbers."""

    net: PiecewiseLinear
    pieces: list[Cell]
    pairs: np.ndarray

    def __len__(self) -> int:
        return len(self.pieces)

    def __repr__(self) -> str:
        bounded = sum(piece.bounded for piece in self.pieces)
        return f"Cells({len(self):,} pieces, {len(self.pairs):,} pairs of neighbours, {bounded:,} bounded, of a {self.net})"

    def graph(self) -> Any:
        """The dual graph, for networkx: a node for each piece, which it has as `cell`, an edge for each pair of neighbours."""
        try:
            import networkx
        except ImportError:
            raise ImportError("the graph of pieces needs networkx: pip install networkx") from None
        made = networkx.Graph()
        made.add_nodes_from((k, {"cell": piece}) for k, piece in enumerate(self.pieces))
        made.add_edges_from(self.pairs.tolist())
        return made
