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

from ..stored import stored

BLUE, ORANGE, BLACK = (plots.COLORS[name] for name in ("blue", "orange", "black"))
NOTE = " With scripts running, this is a figure to take hold of."


# ---- census ------------------------------------------------------------------------------------------------------------

UNITS = {"influence": 8, "above 2": 32, "above 3": 32, "block sensitivity": 8, "swaps": 1}  # columns of a map for each 1
PLACES = {"influence": 2, "above 2": 6, "above 3": 7, "block sensitivity": 8, "swaps": 0}  # in the ranks of the run
SHADES = "0123456789abcdefghijklmnopqrstuvwxyz"
FAILED = np.maximum(98.5 - 4 * np.arange(26), 0)  # of 100, in each row of a map


def begin_census(given: dict) -> dict:
    """The maps of the registered census by neuron and width: rank correlation, and columns as `census.js` reads them."""
    return {"maps": _maps()}


@functools.cache
def _maps() -> dict:
    rows = stored("census_again").where(task="share")
    return {f"{r.cell['activation']} {r.cell['width']}": {name: _map(r, name) for name in UNITS} for r in rows}


def _map(row, name: str) -> list:
    rho = abs(np.asarray(row["ranks"], dtype=float)[:, PLACES[name]].mean()) / 1e4
    return [round(float(rho), 3), ";".join(_column(k, c) for k, c in enumerate(row["maps"][name]) if c.sum())]


def _column(place: int, counts: np.ndarray) -> str:
    """Place, classes, mean of failures, first row that is not empty, and the rows from there on as shades."""
    levels = "".join(SHADES[k] for k in np.ceil(35 * counts / counts.max()).astype(int)).rstrip("0")
    first = len(levels) - len(levels.lstrip("0"))
    return f"{place}:{counts.sum()}:{counts @ FAILED / counts.sum():.1f}:{first}:{levels[first:]}"


def draw_census(state: dict) -> str:
    rho, text = state["maps"][f"{state['neuron']} {state['width']}"][state["measure"]]
    unit, columns = UNITS[state["measure"]], [column.split(":") for column in text.split(";")]
    left = [(int(c[0]) - (unit == 1) / 2) / unit for c in columns]
    fig, ax = plots.subplots(figsize=(6.4, 3.2))
    for x, (_, _, _, first, levels) in zip(left, columns):
        shades = np.zeros((26, 1))
        shades[int(first) : int(first) + len(levels), 0] = [SHADES.index(k) / 35 for k in levels]
        ax.imshow(shades, extent=(x, x + 1 / unit, -3.5, 100.5), aspect="auto", cmap="Blues", vmin=0, vmax=1)
    ax.plot(np.array(left) + 0.5 / unit, [float(c[2]) for c in columns], color=ORANGE)
    ax.set(xlabel=state["measure"], ylabel="failed, of 100", ylim=(-3.5, 100.5), xlim=(left[0], left[-1] + 1 / unit))
    ax.grid(visible=False)
    told = f"All classes of functions of five bits: failures of 100 networks of {state['width']} neurons by {state['measure']}"
    return plots.image(fig, f"{told}, with a rank correlation of {rho:.2f}.{NOTE}")


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
