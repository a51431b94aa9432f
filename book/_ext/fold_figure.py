"""A sheet folded by a ReLU network: a straight cut through the folded sheet is a zigzag or a star once it is unfolded.

The network is that of `foldbook.sheet`; here are the two sheets of the title page and the drawing of them half way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from foldbook.polygons import chord, clip
from foldbook.sheet import Line, sheet_network
from foldnet import ReLUNet, plots

# The creases of each sheet and its cut, as lines (normal, offset).
SHEETS: dict[str, tuple[list[Line], Line]] = {
    "in strips": ([((1, 0), 0.0), ((-1, 0), -0.5), ((1, 0), 0.25)], ((-2.4, 1.0), -0.9)),
    "like a paper star": ([((1, 0), 0.0), ((0, 1), 0.0), ((math.sqrt(0.5), -math.sqrt(0.5)), 0.0)], ((-1.0, -1.55), -0.92)),
}
FRONT, BACK = (plots.COLORS["blue"], "#f6f1e4"), ("#00507d", "#e3d9c0")
EDGE, KNIFE = "#5b5548", plots.COLORS["orange"]
ALT = (
    "Left: a square sheet with a grid after {folds} folds, folded {sheet}, and one straight line that cuts it. Right: the sheet "
    "unfolded; the cut is now the decision boundary of the network, with a straight piece for each layer it went through."
)


def still(sheet: str = "like a paper star", folds: float = 2.25) -> str:
    """The picture of the title page where no script runs."""
    return plots.image(draw(sheet, folds), ALT.format(sheet=sheet, folds=folds))


def network(sheet: str, folds: float, shadow: bool = False) -> ReLUNet:
    """The network that folds one of the sheets; its output is the cut, or the shadow's two coordinates."""
    creases, cut = SHEETS[sheet]
    return sheet_network(creases, None if shadow else cut, folds)


@dataclass(frozen=True)
class Piece:
    """A linear piece of the flat sheet: its corners, its layer in the folded stack, how often it was turned, whether it moves."""

    corners: np.ndarray
    layer: int = 0
    turned: int = 0
    moving: bool = False


def pieces(sheet: str, folds: float) -> list[Piece]:
    """The linear pieces of the folding network, exactly: the sheet split along each crease in turn."""
    stack = [Piece(np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float))]
    for i, (n, d) in enumerate(SHEETS[sheet][0][: math.ceil(folds)]):
        before, split = network(sheet, float(i), shadow=True), []
        top = max(piece.layer for piece in stack)
        for piece in stack:
            u = _at(before, piece.corners) @ np.array(n, float) - d
            rest, over = (clip(piece.corners, side).numpy() for side in (u, -u))
            if len(rest):
                split.append(replace(piece, corners=rest, moving=False))
            if len(over):
                split.append(Piece(over, 2 * top + 1 - piece.layer, piece.turned + 1, moving=i + 1 > folds))
        stack = split
    return stack


def draw(sheet: str, folds: float):
    """Two views of one network: the sheet half way through its folds, and flat again with the cut as boundary."""
    shadow, cut = network(sheet, folds, shadow=True), network(sheet, folds)
    early = 0 < folds % 1 <= 0.5  # the moving half still shows its old side
    fig, (left, right) = plots.subplots(1, 2, figsize=(6.8, 2.9), width_ratios=(1.3, 1))
    stack = pieces(sheet, folds)
    for piece in sorted(stack, key=lambda p: (p.moving, -p.layer if p.moving and early else p.layer)):
        colors = BACK if (piece.turned - (piece.moving and early)) % 2 else FRONT
        # layers are drawn a hair apart, so that the stack shows
        lift = 0.022 * piece.layer * (folds % 1 if piece.moving else 1)
        _paint(left, [piece.corners], cut, colors, lambda p: _view(_at(shadow, p), _height(sheet, folds, p) + lift))  # noqa: B023
    _paint(right, [piece.corners for piece in stack], cut, FRONT, lambda p: p)
    left.plot(*_view(_knife(sheet), np.zeros(2)).T, color=KNIFE, lw=1.4, ls=(0, (4, 2)), zorder=4)
    left.set(xlim=(-1.3, 1.3), ylim=(-1.0, 1.25))
    right.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    for ax in (left, right):
        ax.set_aspect("equal")
        ax.axis("off")
    return fig


def _paint(ax, polygons: list[np.ndarray], cut: ReLUNet, colors: tuple[str, str], project) -> None:
    """Both sides of the cut, the grid and the edges of some pieces, each as one path."""
    values = [_at(cut, polygon)[:, 0] for polygon in polygons]
    for sign, color in zip((1, -1), colors):
        parts = [project(part.numpy()) for part in map(clip, polygons, (sign * v for v in values)) if len(part)]
        if parts:
            path = Path.make_compound_path(*(Path([*part, part[0]]) for part in parts))
            ax.add_patch(PathPatch(path, facecolor=color, edgecolor="none", zorder=3))
    for lines, width in (([line for p in polygons for line in _grid(p)], 0.3), ([np.array([*p, p[0]]) for p in polygons], 0.8)):
        gap = np.full((1, 2), np.nan)
        path = np.concatenate([gap, *(np.concatenate([project(line), gap]) for line in lines)])
        ax.plot(*path.T, color=EDGE, lw=width, zorder=3)


# ---- geometry ----------------------------------------------------------------------------------------------------------


def _at(net: ReLUNet, points: np.ndarray) -> np.ndarray:
    return net(points).numpy()


def _height(sheet: str, folds: float, points: np.ndarray) -> np.ndarray:
    """How far the half that is being folded stands above the plane."""
    turning = folds - math.floor(folds)
    if not turning:
        return np.zeros(len(points))
    n, d = SHEETS[sheet][0][math.floor(folds)]
    u = _at(network(sheet, float(math.floor(folds)), shadow=True), points) @ np.array(n, float) - d
    return math.sin(math.pi * turning) * np.maximum(-u, 0)


def _view(shadow: np.ndarray, height: np.ndarray) -> np.ndarray:
    """Seen from above and a little from the left."""
    turn, lean = math.radians(16), math.radians(50)
    x = shadow[:, 0] * math.cos(turn) - shadow[:, 1] * math.sin(turn)
    y = shadow[:, 0] * math.sin(turn) + shadow[:, 1] * math.cos(turn)
    return np.stack([x, y * math.sin(lean) + height * math.cos(lean)], axis=1)


def _knife(sheet: str) -> np.ndarray:
    """The straight cut, a little longer than the sheet."""
    (a, b), offset = SHEETS[sheet][1]
    foot, along = offset * np.array([a, b]) / (a * a + b * b), np.array([-b, a]) / math.hypot(a, b)
    reach = [(side * 1.12 - foot[k]) / along[k] for k in (0, 1) for side in (-1, 1)]
    start, end = sorted(reach)[1:3]
    return np.array([foot + start * along, foot + end * along])


def _grid(polygon: np.ndarray, spacing: float = 0.25):
    """The lines of a square grid inside a convex polygon."""
    for axis in (0, 1):
        low, high = polygon[:, axis].min(), polygon[:, axis].max()
        for k in range(math.ceil(low / spacing + 1e-9), math.floor(high / spacing - 1e-9) + 1):
            yield chord(polygon, polygon[:, axis] - k * spacing).numpy()
