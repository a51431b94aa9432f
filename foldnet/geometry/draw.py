"""A complex as a picture: faces coloured by pattern, map, output or class, edges by the layer that drew them.

>>> import matplotlib.pyplot as plt
>>> from foldnet.geometry.draw import draw
>>> from foldnet.geometry.regions import regions
>>> from foldnet.nets import ReLUNet
>>> net = ReLUNet.random((2, 3, 1), seed=1)
>>> fig, ax = plt.subplots()
>>> handles = draw(regions(net), ax, boundary=True)
"""

from __future__ import annotations

import numpy as np

from ..plots import COLORS
from ._outlines import chains
from .complex import Complex
from .regions import boundary as boundary_of
from .regions import decision

PALETTE = ("sky", "gold", "green", "pink", "blue", "orange", "black")
LAYERS = ("blue", "orange", "green", "pink", "gold", "sky")
FACES = ("pattern", "map", "output", "class")


def draw(c: Complex, ax, faces="pattern", layers: bool = True, boundary: bool = False, strength: float = 0.28) -> dict:
    """Draw a complex on matplotlib's axes `ax`; returns the lines by name, as a legend wants them.

    Their names are `layer 1` for hidden layer 0 and so on, and `boundary`.
    `c`: what `regions` gives.
    `faces`: what they are coloured by, one of `FACES`, or None, or a colour a face, `(F, 3)`.
    `layers`: whether the edges are drawn, deeper ones thinner.
    `boundary`: whether a line is drawn where the class changes.
    `strength`: how far a colour goes from paper white, 0, to its full tone, 1.
    """
    if faces is not None:
        finer, winner = decision(c) if isinstance(faces, str) and faces == "class" else (c, None)
        _fill(finer, ax, face_colours(finer, faces, strength) if winner is None else _tints(winner, strength))
    lines = {}
    for layer in range(len(c.net.sizes) - 2) if layers else ():
        style = {"color": COLORS[LAYERS[layer % len(LAYERS)]], "lw": 1.5 * 0.75**layer, "zorder": 3 - layer / 100}
        name = f"layer {layer + 1}"
        lines[name] = _polylines(ax, zero_set(c, layer), **style, label=name)
    if boundary:
        style = {"color": COLORS["black"], "lw": 2.4, "zorder": 4, "solid_capstyle": "round"}
        lines["boundary"] = _polylines(ax, boundary_of(c), **style, label="decision boundary")
    low, high = c.vertices.min(0), c.vertices.max(0)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.grid(False)
    return lines


def zero_set(c: Complex, layer: int, neuron: int | None = None) -> list[np.ndarray]:
    """The zero set of a layer, or of one neuron, in the window of a complex, as polylines `(k, 2)`.

    c: what `regions` gives.
    layer, neuron: they count from 0; without a neuron it is the whole layer's. A line drawn by two is the first one's.
    """
    mine = (c.layer == layer) if neuron is None else (c.layer == layer) & (c.neuron == neuron)
    return [c.vertices[chain] for chain in chains(c.edges[mine])]


def face_colours(c: Complex, by="pattern", strength: float = 0.28) -> np.ndarray:
    """A colour for each face of the complex c, `(F, 3)`, by its pattern, its slope or its output.

    Of a slope, the hue says where it points and the tone how steep it is.
    `by`: "pattern", "map" or "output", or the colours themselves, which are checked.
    `strength`: how far a colour goes from paper white, 0, to its full tone, 1.
    By pattern, a face keeps its colour as long as it lives, and faces on two sides of one neuron's crease never share one.
    """
    if not isinstance(by, str):
        given = np.asarray(by, dtype=float)
        if given.shape != (len(c), 3):
            raise ValueError(f"a colour for each of the {len(c)} faces has shape ({len(c)}, 3); got {given.shape}")
        return given
    if by == "pattern":
        step = 1 + np.arange(c.pattern.shape[1]) % (len(PALETTE) - 1)  # never 0: one neuron more always changes the tint
        return _tints(c.pattern @ step, strength)
    if by not in FACES or by == "class":
        raise ValueError(f"faces are coloured by {', '.join(FACES[:-1])}, or by class in draw; got {by!r}")
    if c.values.shape[1] != 1:
        raise ValueError(f"colours by {by} are those of one output; this network has {c.values.shape[1]} (by class works)")
    if by == "output":
        value = np.add.reduceat(c.values[c.corners, 0], c.starts[:-1]) / np.diff(c.starts)
        ends = np.where(value[:, None] > 0, _rgb("orange"), _rgb("blue"))
        return _mix(ends, 2 * strength * _relative(np.abs(value), c.areas))
    from matplotlib.colors import hsv_to_rgb

    slope = c.maps()[0][:, 0]
    hue = np.arctan2(slope[:, 1], slope[:, 0]) / (2 * np.pi) % 1
    full = hsv_to_rgb(np.stack([hue, np.full(len(c), 0.8), np.full(len(c), 0.85)], -1))
    return _mix(full, 2.5 * strength * _relative(np.linalg.norm(slope, axis=1), c.areas))


def _fill(c: Complex, ax, colour: np.ndarray) -> None:
    """Paint the faces in their colours `(F, 3)`, one path a colour, so that a thousand faces weigh little."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    kinds, which = np.unique(np.round(colour * 255), axis=0, return_inverse=True)
    for k, kind in enumerate(kinds / 255):
        rings = [np.concatenate([p := c.face(f), p[:1]]) for f in np.flatnonzero(which.reshape(-1) == k)]
        codes = [[Path.MOVETO, *[Path.LINETO] * (len(ring) - 2), Path.CLOSEPOLY] for ring in rings]
        path = Path(np.concatenate(rings), np.concatenate(codes))
        ax.add_patch(PathPatch(path, facecolor=kind, edgecolor=kind, lw=0.4, zorder=1))  # an edge, so that no seam shows


def _polylines(ax, lines: list[np.ndarray], **style):
    """All polylines as one artist, gaps between them; it is there, for the legend, also when there are none."""
    gap = np.full((1, 2), np.nan)
    path = np.concatenate([part for line in lines for part in (line, gap)] or [gap])
    return ax.plot(path[:, 0], path[:, 1], **style)[0]


def _rgb(name: str) -> np.ndarray:
    return np.array([int(COLORS[name][i : i + 2], 16) for i in (1, 3, 5)]) / 255


def _mix(colour: np.ndarray, part) -> np.ndarray:
    """So much of a colour on white paper."""
    part = np.clip(np.asarray(part, dtype=float), 0, 1)[..., None]
    return 1 - part * (1 - colour)


def _tints(number: np.ndarray, strength: float) -> np.ndarray:
    return _mix(np.array([_rgb(name) for name in PALETTE]), np.full(len(PALETTE), strength))[number % len(PALETTE)]


def _relative(size: np.ndarray, area: np.ndarray) -> np.ndarray:
    """Sizes from 0 to 1: full tone is what all but a twentieth of the window's area stays below."""
    order = np.argsort(size)
    full = size[order][np.searchsorted(np.cumsum(area[order]), 0.95 * area.sum()).clip(max=len(size) - 1)]
    return np.clip(size / full, 0, 1) if full > 0 else np.zeros_like(size)
