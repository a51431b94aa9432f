"""Stills of the live figures on boundaries in the plane; stills.py says what they are for.

>>> from foldbook.live import live
>>> live("shore").still[:38]
'<img alt="Water in the valley of three'
"""

from __future__ import annotations

import numpy as np
import torch

from foldnet import plots
from foldnet.geometry.boundaries import margin
from foldnet.nets import ReLUNet

from .stills_boolean import BLACK, BLUE, NOTE, ORANGE

GREY, SHADE = "#777777", "#fbe7d3"
ROWS, BIASES, PUSH = torch.tensor([[1.0, 0], [0, 1], [-1, -1]]), torch.tensor([0.0, 0, 1]), torch.tensor([3.0, 2, 1])


def _plane(window, many: int = 241) -> tuple[np.ndarray, np.ndarray, torch.Tensor]:
    """Places along both sides of a window ((x0, x1), (y0, y1)), and all its points."""
    x, y = (np.linspace(*side, many) for side in window)
    return x, y, torch.as_tensor(np.stack(np.meshgrid(x, y), -1).reshape(-1, 2))


def draw_shore(state: dict) -> str:
    """The `level` of the water, from 1.05 to 3.5. Good ones: 1.25, four corners; 2.5, six; 3, five."""
    x, y, points = _plane(((-3.8, 2.4), (-3.6, 2.4)))
    height = ((points @ ROWS.double().T + BIASES).clamp(min=0) @ PUSH.double()).reshape(len(y), len(x))
    fig, ax = plots.subplots(figsize=(4.4, 4.3))
    ax.contourf(x, y, height, [0, state["level"]], colors=["#dcebf5"])
    ax.contour(x, y, height, [state["level"]], colors=[BLACK], linewidths=2)
    for row, bias, color in zip(ROWS, BIASES, (BLUE, ORANGE, plots.COLORS["green"])):
        ax.contour(x, y, (points @ row.double() + bias).reshape(len(y), len(x)), [0], colors=[color])
    ax.set(xticks=[], yticks=[], aspect="equal")
    return plots.image(
        fig, f"Water in the valley of three neurons, up to level {state['level']:g}, with its shore and three creases.{NOTE}"
    )


def draw_corner(state: dict) -> str:
    """The `angle` in degrees by which the crease is turned, within 150, and the `strength` of the new neuron, 0.1 to 2.5."""
    x, y, points = _plane(((-1, 1), (-1, 1)))
    hidden, out = torch.tensor([[1.0, 0], [0, 1], [0, -1]]), torch.tensor([[0.0, 0, 1], [0.8, 1, 0]])
    base = ReLUNet([hidden, out], [torch.tensor([-0.6, 0, 0]), torch.zeros(2)])
    phi = np.deg2rad(state["angle"])
    line = (points - torch.tensor([0.2, 0.0])) @ torch.tensor([np.sin(phi), np.cos(phi)])
    bend = margin(base, points) + state["strength"] * line.clamp(min=0)
    fig, ax = plots.subplots(figsize=(4.4, 4.4))
    ax.contourf(x, y, line.reshape(241, 241), [0, 9], colors=[SHADE])
    ax.contour(x, y, line.reshape(241, 241), [0], colors=[GREY], linestyles="--")
    ax.contour(x, y, bend.reshape(241, 241), [0], colors=[BLUE], linewidths=2)
    ax.plot(0.2, 0, "o", color=ORANGE)
    ax.set(xticks=[], yticks=[], aspect="equal")
    turned = f"the crease of a new neuron, turned by {state['angle']:g} degrees"
    alt = f"A boundary with a corner at a marked point, and through it {turned}"
    return plots.image(fig, f"{alt}.{NOTE}")


def draw_race(state: dict) -> str:
    """`method` ("random", "fold", "split"), `seed` of the first race, `steps` of it that are done, `leads` of those before."""
    side = np.linspace(-1, 1, 201)
    fig, ax = plots.subplots(figsize=(4.4, 4.4))
    height = 1.5 * side[:, None] - np.sin(np.pi * side[None])
    ax.contourf(side, side, height, [-np.inf, 0, np.inf], colors=["#dcebf5", "#fbe7d3"])
    ax.contour(side, side, height, [0], colors=[BLACK], linewidths=2)
    ax.set(xticks=[], yticks=[], aspect="equal")
    return plots.image(fig, f"What two networks race to learn: the points above one period of a sine.{NOTE}")
