"""The fewest hidden nodes for parity, when nodes may look in any direction: every pattern of activity, for up to four bits.

The stored run behind the table of smallest widths in boolean/capacity.

>>> from experiments import parity_width
>>> len(parity_width.cells())
15
"""

from __future__ import annotations

from foldbook.chapters.capacity import parity_solvable

CASES = [(n, width, leak) for n, width in ((2, 1), (2, 2), (3, 1), (3, 2), (4, 2)) for leak in ("0", "1/10", "1/2")]


def cells() -> list[dict]:
    return [{"n": n, "width": width, "leak": leak} for n, width, leak in CASES]


def cell(n: int, width: int, leak: str) -> dict:
    """Whether a network of one hidden layer solves n-parity at this width, and the number of linear programmes that it took."""
    solvable, programmes = parity_solvable(n, width, leak)
    return {"solvable": solvable, "programmes": programmes}
