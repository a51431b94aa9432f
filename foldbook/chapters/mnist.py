"""growth/mnist: the widths that the paper prints.

>>> from foldbook.chapters.mnist import widths_after
>>> widths_after(3)
[17, 21]
"""

from __future__ import annotations

from collections.abc import Sequence


def widths_after(growths: int, widths: Sequence[int] = (1, 1), inputs: int = 784, outputs: int = 10) -> list[int]:
    """The widths of the hidden layers when every singular vector is added, layer after layer, so many times."""
    sizes = [inputs, *widths, outputs]
    for _ in range(growths):
        for layer in range(1, len(sizes) - 1):
            sizes[layer] += min(sizes[layer - 1] + 1, sizes[layer + 1])
    return sizes[1:-1]
