"""Cubes and tesseracts with their corners filled where a function is 1, and corners along a line. (boolean/swaps)

>>> from foldnet.boolean.pictures import edges
>>> len(edges(3))
12
"""

from __future__ import annotations

import numpy as np

from .. import plots
from .functions import corners, inputs_of, table


def places(n: int) -> np.ndarray:
    """Where the corners of a square, cube or tesseract are drawn, `(2**n, 2)`: a tesseract is a cube within a cube."""
    if not 1 <= n <= 4:
        raise ValueError(f"corners are drawn for 1 to 4 inputs; got {n}")
    x = corners(n)
    axes = np.array([[1.0, 0.0], [0.0, 1.0], [0.55, 0.25]])[: min(n, 3)]
    if n < 4:
        return x @ axes
    return (x[:, 1:] @ axes) * np.where(x[:, :1] > 0, 1.0, 0.4)


def edges(n: int) -> np.ndarray:
    """Pairs of corners that differ in one digit, `(n 2**(n-1), 2)`."""
    pairs = [(i, i | 1 << k) for i in range(2**n) for k in range(n) if not i >> k & 1]
    return np.array(pairs)


def cube(ax, f, n: int | None = None, at: np.ndarray | None = None, title: str = "") -> None:
    """Draw a function on its cube: filled corners are 1, empty ones 0; `at` gives other places for the corners."""
    t = table(f, n)
    at = places(inputs_of(t)) if at is None else at
    for i, j in edges(inputs_of(t)):
        ax.plot(*at[[i, j]].T, color="#b0b0b0", lw=1.0, zorder=1)
    _corners(ax, t, at)
    ax.set_aspect("equal")
    ax.margins(0.12)
    ax.axis("off")
    ax.set_title(title)


def projected(ax, f, weights, n: int | None = None, height: float = 0.0) -> None:
    """Draw the corners where a projection puts them, at one height."""
    t = table(f, n)
    where = corners(inputs_of(t)) @ np.asarray(weights, dtype=float)
    ax.plot([where.min(), where.max()], [height, height], color="#b0b0b0", lw=1.0, zorder=1)
    _corners(ax, t, np.stack([where, np.full(len(where), height)], axis=1))


def _corners(ax, t: np.ndarray, at: np.ndarray) -> None:
    for value, face in ((0, "white"), (1, plots.COLORS["orange"])):
        here = at[t == value]
        edge = plots.COLORS["black"]
        ax.plot(here[:, 0], here[:, 1], "o", ms=7.5, mfc=face, mec=edge, mew=1.2, zorder=2)
