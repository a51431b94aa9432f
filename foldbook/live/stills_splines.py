"""Stills of the live figures on generators, on several inputs, and on the ends of a spline; stills.py says what they are for.

>>> from foldbook.live import live
>>> live("gans", steep=4).still[:37]
'<img alt="A curve that climbs from ta'
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from foldnet import plots
from foldnet.splines.smoothing import limit

from .stills_boolean import BLACK, BLUE, NOTE, ORANGE


def draw_gans(state: dict) -> str:
    """`steep`, the slope between targets, and how many targets (`count`, 2 to 5). Good ones: `steep=4`; `steep=50`."""
    count, steep = state["count"], state["steep"]
    half = 1 / (2 * steep)
    levels = [NormalDist().inv_cdf((k + 1) / count) for k in range(count - 1)]
    x = [-3.0, *(at + way for at in levels for way in (-half, half)), 3.0]
    y = [k - (count - 1) / 2 for k in range(count) for _ in (0, 1)]
    fig, ax = plots.subplots(figsize=(6.4, 3.2))
    for k in range(count):
        ax.axhspan(k - (count - 1) / 2 - 0.3, k - (count - 1) / 2 + 0.3, color=BLUE, alpha=0.15, lw=0)
    ax.plot(x, y, color=BLUE)
    ax.set(xlim=(-3, 3), ylim=(-2.6, 2.6), xlabel="noise", ylabel="sample")
    return plots.image(fig, f"A curve that climbs from target to target, {count} of them, with slope {steep:g} between.{NOTE}")


def draw_beyond(state: dict) -> str:
    """The `power` of the ramps (0 steps, 1 ReLU; none halfway between two whole numbers), the radius of the `hole`, the `turn` of
    the view, and whether the surface is `built` from the start. Good ones: as it begins; `power=0, built=True`, a lid.
    """
    share = (np.arange(60) + 0.5) / 60
    r, a = np.sqrt(state["hole"] ** 2 + (1.4**2 - state["hole"] ** 2) * share), np.arange(60) * np.pi * (3 - 5**0.5)
    fig, ax = plots.subplots(figsize=(4.4, 4.4))
    turn = np.linspace(0, 2 * np.pi, 91)
    ax.plot(state["hole"] * np.cos(turn), state["hole"] * np.sin(turn), "--", color=ORANGE)
    ax.scatter(r * np.cos(a), r * np.sin(a), 10 + 80 * np.exp(-0.8 * r**2), color=BLUE)
    ax.set(xticks=[], yticks=[])
    ax.set_aspect("equal")
    alt = "Heights of a hill, larger dots for higher ground, measured at 60 places around a round hole and nowhere in it."
    return plots.image(fig, alt + NOTE)


def draw_ends(state: dict) -> str:
    """`points`, how far the bends `reach`, and how the neurons stand (`facing`, "right" or "both"). Good ones: as it begins;
    `reach=30`.
    """
    x, y = np.transpose(sorted(state["points"]))
    reach = max(state["reach"], np.abs(x).max() + 0.01)
    inside = np.linspace(-min(3, reach), min(3, reach), 121)
    fig, ax = plots.subplots(figsize=(6.4, 3.2))
    natural = np.linspace(-3, 3, 121)
    ax.plot(natural, limit(x, y, 3.0, affine=True)(natural), "--", color=ORANGE)
    ax.plot(inside, limit(x, y, reach, state["facing"])(inside), color=BLUE)
    ax.plot(x, y, "s", color=BLACK)
    ax.set(xlim=(-3, 3), ylim=(-3, 3), xlabel="x", ylabel="f(x)")
    what = {"right": "all of which face right", "both": "half of which face left"}[state["facing"]]
    alt = f"What infinitely many neurons, {what}, with bends up to {state['reach']:g}, draw through {len(x)} points"
    return plots.image(fig, f"{alt}; dashed, the natural spline.{NOTE}")
