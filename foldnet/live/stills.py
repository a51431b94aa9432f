"""What a live figure begins with and looks like where no script runs: drawn here, by the package itself."""

from __future__ import annotations

import functools

import numpy as np

from .. import plots
from ..geometry.boundaries import margin
from ..growth import tasks
from ..nets import ReLUNet
from ..splines.breakpoints import pieces
from ..train import fit

BLUE, ORANGE, BLACK = (plots.COLORS[name] for name in ("blue", "orange", "black"))
NOTE = " With scripts running, this is a figure to take hold of."


# ---- breakpoints -------------------------------------------------------------------------------------------------------


def begin_breakpoints(given: dict) -> dict:
    """Five neurons of a seed that shows five bends in view, unless the notebook brings its own."""
    if {"w", "b", "v"} & set(given):
        return {}
    rng = np.random.default_rng(4233)
    w, b, v = rng.normal(size=(3, 5))
    return {"w": w, "b": given.get("ratio", 1.0) * b, "v": v}


def draw_breakpoints(state: dict) -> str:
    net = ReLUNet([np.array(state["w"])[:, None], np.array([state["v"]])], [state["b"], [state["offset"]]])  # ty: ignore[invalid-argument-type]
    knots = pieces(net).knots.numpy()
    inside = knots[np.abs(knots) < 4]
    x = np.sort(np.concatenate([[-4, 4], inside]))
    y = net(x[:, None])[:, 0].numpy()
    fig, ax = plots.subplots(figsize=(6.4, 2.8))
    ax.plot(x, y, color=BLUE)
    ax.plot(inside, net(inside[:, None])[:, 0].numpy(), "o", color=ORANGE, ms=7)
    ax.set(xlim=(-4, 4), xlabel="x", ylabel="f(x)")
    places = ", ".join(f"{k:.2f}" for k in inside)
    return plots.image(fig, f"The curve of a network of {len(state['w'])} random neurons, which bends at {places}.{NOTE}")


# ---- folding -----------------------------------------------------------------------------------------------------------


def begin_folding(given: dict) -> dict:
    """A task in the plane and a network with two neurons that was trained on it and still errs."""
    return {} if {"points", "weights", "biases"} & set(given) else _sine_network()


@functools.cache
def _sine_network() -> dict:
    x, y = tasks.sine(160, seed=0)
    how = {"loss": "bce", "lr": 1e-2, "epochs": 1500, "progress": False, "engine": "torch"}
    net = fit(ReLUNet.random((2, 2, 1), seed=3), x, y.double()[:, None], **how).net  # ty: ignore[invalid-argument-type]
    points = [[round(a, 3), round(b, 3), int(c)] for (a, b), c in zip(x.tolist(), y.tolist())]
    return {"points": points, "weights": [w.tolist() for w in net.weights], "biases": [b.tolist() for b in net.biases]}


def draw_folding(state: dict) -> str:
    net = ReLUNet([np.array(w) for w in state["weights"]], [np.array(b) for b in state["biases"]])  # ty: ignore[invalid-argument-type]
    points = np.array(state["points"]).reshape(-1, 3)
    side = np.linspace(-1.15, 1.15, 231)
    grid = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    height = margin(net, grid).numpy().reshape(231, 231)
    fig, ax = plots.subplots(figsize=(4.4, 4.4))
    ax.contourf(side, side, height, [-np.inf, 0, np.inf], colors=["#dcebf5", "#fbe7d3"])
    ax.contour(side, side, height, [0], colors=[BLACK], linewidths=2)
    wrong = np.zeros(len(points), bool)
    if len(points):
        wrong = (margin(net, points[:, :2]).numpy() > 0) != (points[:, 2] > 0.5)
        for label, mark, color in ((0, "o", BLUE), (1, "s", ORANGE)):
            some = points[points[:, 2] == label]
            ax.plot(some[:, 0], some[:, 1], mark, color=color, ms=4)
        ax.plot(*points[wrong, :2].T, "x", color=BLACK, ms=7)
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), xticks=[], yticks=[])
    ax.set_aspect("equal")
    alt = (
        f"{len(points)} points of two classes, the border of a network with {net.sizes[1]} neurons between them, and its "
        f"{wrong.sum()} mistakes as crosses.{NOTE}"
    )
    return plots.image(fig, alt)


STILLS = {"breakpoints": (begin_breakpoints, draw_breakpoints), "folding": (begin_folding, draw_folding)}
