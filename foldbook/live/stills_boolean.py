"""Stills of the live figures on Boolean functions and their first networks; stills.py says what they are for.

>>> from foldbook.live import live
>>> live("perceptron").still[:32]
'<img alt="14 points of two class'
"""

from __future__ import annotations

import functools

import numpy as np
import torch

from foldnet import plots
from foldnet.boolean.functions import corners, parity
from foldnet.boolean.perceptron import train_perceptron
from foldnet.boolean.pruning import train_on
from foldnet.nets import ReLUNet, as_tensor

BLUE, ORANGE, BLACK = (plots.COLORS[name] for name in ("blue", "orange", "black"))
NOTE = " With scripts running, this is a figure to take hold of."


# ---- pruning -----------------------------------------------------------------------------------------------------------


def begin_pruning(given: dict) -> dict:
    """Six neurons that have learned parity of four bits, of a seed of which just one triple learns it again."""
    return {} if {"learned", "first"} & set(given) else _six_neurons()


@functools.cache
def _six_neurons() -> dict:
    first = ReLUNet.random((4, 6, 1), batch=150, init="torch", seed=6)[23].to(torch.float64)
    after = train_on(first, parity(4), until=0.01).net
    shown = lambda net: [[w.tolist() for w in net.weights], [b.tolist() for b in net.biases]]  # noqa: E731
    return {"learned": shown(after), "first": shown(first)}


def draw_pruning(state: dict) -> str:
    (inner, outer), (bias, last) = state["first" if state["begin"] == "first" else "learned"]
    keep, x, odd = state["keep"], corners(4), parity(4)
    ones = (x > 0).sum(1)
    place = ones + np.array([0.5 * (np.sum(ones[:k] == ones[k]) / max(1, np.sum(ones == ones[k]) - 1) - 0.5) for k in range(16)])
    weights = [as_tensor(inner)[keep], as_tensor(outer)[:, keep]]
    net = ReLUNet(weights, [as_tensor(bias)[keep], as_tensor(last)])
    says = net(x)[:, 0].sigmoid().numpy()
    right = (says > 0.5) == (odd > 0)
    fig, ax = plots.subplots(figsize=(6.4, 2.8))
    for label, mark, color in ((0, "o", BLUE), (1, "s", ORANGE)):
        ax.plot(place[odd == label], says[odd == label], mark, color=color, ms=6)
    ax.plot(place[~right], says[~right], "x", color=BLACK, ms=9)
    ax.axhline(0.5, color="#888888", lw=1, ls="--")
    ax.set(xlabel="ones among the four bits", ylabel="says odd", ylim=(-0.08, 1.08), xticks=range(5))
    names = ", ".join(str(i + 1) for i in keep)
    return plots.image(fig, f"What neurons {names} of six say at the sixteen inputs: {right.sum()} of 16 are right.{NOTE}")


# ---- perceptron --------------------------------------------------------------------------------------------------------


def learned(points: np.ndarray, mistakes: int) -> np.ndarray:
    """The weights, bias last, after so many mistakes from nothing, or when there is none to make any more."""
    passes = 1 + mistakes  # a pass makes at least one mistake, or is the last
    weights = train_perceptron(points[:, :2], points[:, 2].astype(int), most_passes=passes).weights
    return weights[min(mistakes, len(weights) - 1)]


def draw_perceptron(state: dict) -> str:
    points = np.array(state["points"], dtype=float).reshape(-1, 3)
    a, b, c = learned(points, state["mistakes"])
    fig, ax = plots.subplots(figsize=(4.4, 4.4))
    for label, mark, color in ((-1, "o", BLUE), (1, "s", ORANGE)):
        some = points[points[:, 2] == label]
        ax.plot(some[:, 0], some[:, 1], mark, color=color, ms=7)
    if a or b:  # the line a x + b y + c = 0, far enough to cross the picture
        along, at = np.array([-b, a]) / np.hypot(a, b), -c * np.array([a, b]) / (a * a + b * b)
        ax.plot(*(at + np.outer([-9, 9], along)).T, color=BLACK, lw=2)
    wrong = int((np.where(points[:, :2] @ [a, b] + c >= 0, 1, -1) != points[:, 2]).sum())
    ax.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), xticks=[], yticks=[])
    return plots.image(fig, f"{len(points)} points of two classes and a line; {wrong} are on its wrong side.{NOTE}")


# ---- optima, in the plane -----------------------------------------------------------------------------------------------------


def square(plane) -> str:
    """XOR on the corners: what the network says in colours, and the lines of its two neurons."""
    x, y = np.meshgrid(np.linspace(-1.8, 1.8, 181), np.linspace(-1.8, 1.8, 181))
    (w, b), (o, c) = (np.reshape(plane[:4], (2, 2)), plane[4:6]), (plane[6:8], plane[8])
    z = [w[i][0] * x + w[i][1] * y + b[i] for i in (0, 1)]
    said = c + sum(o[i] * np.maximum(z[i], 0) for i in (0, 1))
    fig, ax = plots.subplots(figsize=(4.4, 4.4))
    ax.imshow(said, origin="lower", extent=(-1.8, 1.8) * 2, cmap="RdBu_r", vmin=-1.5, vmax=1.5)
    for one in z:
        ax.contour(x, y, one, [0], colors=[BLACK], linewidths=1.5)
    for p, q in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        ax.plot(p, q, "s", color=BLUE if p == q else ORANGE, mec=BLACK, ms=9)
    ax.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), xticks=[], yticks=[])
    return plots.image(fig, "The four corners of XOR, and in colours what two neurons say, with the line of each." + NOTE)
