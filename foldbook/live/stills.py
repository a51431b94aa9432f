"""What a live figure begins with and looks like where no script runs: drawn here, by the package itself.

>>> from foldbook.live import live
>>> live("breakpoints").still[:38]
'<img alt="The curve of a network of 5 '
"""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
import torch
from matplotlib.colors import ListedColormap

from foldbook.sheet import line, sheet_network
from foldnet import plots
from foldnet.boolean.capacity import deep_wave, interpolate
from foldnet.boolean.functions import corners
from foldnet.boolean.swaps import class_changes
from foldnet.geometry.boundaries import margin
from foldnet.growth import tasks
from foldnet.nets import ReLUNet, as_tensor
from foldnet.splines.breakpoints import Pieces, pieces, shallow, spline
from foldnet.splines.depth import deep_pieces
from foldnet.splines.initialization import breakpoint_grid
from foldnet.splines.smoothing import minimum_norm
from foldnet.train import fit

from .stills_boolean import NOTE, begin_census, begin_pruning, draw_census, draw_perceptron, draw_pruning, square
from .stills_images import draw_comparison, draw_images, draw_mnist, draw_sensitivity
from .stills_plane import draw_corner, draw_race, draw_shore
from .stills_splines import draw_beyond, draw_ends, draw_gans

BLUE, ORANGE, BLACK = (plots.COLORS[name] for name in ("blue", "orange", "black"))
MOST_PIECES = 2000  # of a curve that is drawn


# ---- breakpoints -------------------------------------------------------------------------------------------------------


def begin_breakpoints(given: dict) -> dict:
    """Five neurons of a seed that shows five bends in view, unless the notebook brings its own."""
    if {"w", "b", "v"} & set(given):
        return {}
    rng = np.random.default_rng(4233)
    w, b, v = rng.normal(size=(3, 5))
    return {"w": w, "b": given.get("ratio", 1.0) * b, "v": v}


def draw_breakpoints(state: dict) -> str:
    net = _line_network(state["w"], state["b"], state["v"], state["offset"])
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
    net = ReLUNet.random((2, 2, 1), seed=3)
    net = fit(net, x, y.double()[:, None], loss="bce", lr=1e-2, epochs=1500, progress=False, engine="torch").net
    points = [[round(a, 3), round(b, 3), int(c)] for (a, b), c in zip(x.tolist(), y.tolist())]
    return {"points": points, "weights": [w.tolist() for w in net.weights], "biases": [b.tolist() for b in net.biases]}


def draw_folding(state: dict) -> str:
    net = ReLUNet([as_tensor(w) for w in state["weights"]], [as_tensor(b) for b in state["biases"]])
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
        f"{len(points)} points of two classes, the decision boundary of a network with {net.sizes[1]} neurons between them, and "
        f"its {wrong.sum()} mistakes as crosses.{NOTE}"
    )
    return plots.image(fig, alt)


# ---- smoothing, landscape, optima: a curve over a line -------------------------------------------------------------------


def nothing(given: dict) -> dict:
    """The figure's own defaults are where it begins."""
    return {}


def _curve(state: dict, reach: float, lines: list[tuple], points, alt: str) -> str:
    fig, ax = plots.subplots(figsize=(6.4, 2.8))
    for f, style in lines:
        knots = f.knots if isinstance(f, Pieces) else f.breakpoints
        x = np.sort(np.concatenate([[-reach, reach], knots[knots.abs() < reach]]))
        ax.plot(x, f(x), **style)
    ax.plot(*np.reshape(points, (-1, 2)).T, "s", color=BLACK, ms=6)
    ax.set(xlim=(-reach, reach), xlabel="x")
    return plots.image(fig, alt + NOTE)


def draw_smoothing(state: dict) -> str:
    points = sorted(state["points"])
    beta, side = breakpoint_grid(state["width"], 3.0, facing="both")
    x, y = np.transpose(points)
    fit_ = minimum_norm(x, y, beta, side)
    lines = [(fit_, {"color": ORANGE, "ls": "--"})]
    alt = f"{len(points)} points, and dashed the curve that a wide network is predicted to draw through them."
    return _curve(state, 3.0, lines, points, alt)


def draw_landscape(state: dict) -> str:
    f = spline(_line_network(state["w"], state["b"], state["v"], state["offset"]))
    alt = f"{len(state['points'])} points and the curve of a network with {len(state['w'])} bends, one of which can be dragged."
    return _curve(state, 3.0, [(f, {"color": BLUE})], state["points"], alt)


def draw_optima(state: dict) -> str:
    """`w`, `b`, `o`, `c` on a line; with `data="plane"` the nine numbers of `plane`, w11, w12, w21, w22, b1, b2, o1, o2, c."""
    if state["data"] == "plane":
        return square(state["plane"])
    f = spline(_line_network(state["w"], state["b"], state["o"], state["c"]))
    alt = "The three points of XOR on a line, (-1, -1), (0, 1) and (1, -1), and the curve of two untrained neurons."
    return _curve(state, 2.0, [(f, {"color": BLUE})], [[-1, -1], [0, 1], [1, -1]], alt)


def _line_network(w, b, v, offset) -> ReLUNet:
    return ReLUNet([as_tensor(w)[:, None], as_tensor([v])], [as_tensor(b), as_tensor([offset])])


def begin_dynamics(given: dict) -> dict:
    """Eight neurons from torch's start that stop far from the best fit, unless the notebook brings its own."""
    if {"w", "b", "v"} & set(given):
        return {}
    net = ReLUNet.random((1, 8, 1), batch=4, init="torch", seed=3)[1]
    w, b, v, offset = shallow(net)
    return {"w": w, "b": b, "v": v, "offset": offset}


def draw_dynamics(state: dict) -> str:
    """`points` or `data` ("sine", "bump", "parabola", "step" name what the points are), `w`, `b`, `v`, `offset`, the step size
    `rate`; `start` ("torch" or "even") is what *Another start* draws. Good ones: eight neurons as it begins, stuck at a loss near
    0.7; `w=[1], b=[-2.9], v=[0.5]`, a bend that sees one point.
    """
    f = spline(_line_network(state["w"], state["b"], state["v"], state["offset"]))
    points = state["points"]
    alt = f"{len(points)} points and the curve of a network with {len(state['w'])} neurons before its training."
    return _curve(state, 3.2, [(f, {"color": BLUE})], points, alt)


def draw_bottleneck(state: dict) -> str:
    """`points`, the network `w`, `b`, `v`, `offset`, the reader's neuron (`beta`, `side` 1 or -1, `mu`), and `compare` to show
    TINY's and the best beside it from the start. Once the old weights have settled, TINY's bends at the mean of the data.
    """
    f = spline(_line_network(state["w"], state["b"], state["v"], state["offset"]))
    alt = f"{len(state['points'])} points on a wave and the curve of a network with {len(state['w'])} neurons, too few for it."
    return _curve(state, 3.0, [(f, {"color": BLUE})], state["points"], alt)


def begin_depth(given: dict) -> dict:
    """Three layers of six random neurons, or what `hidden` and `scale` ask for; the fan makes its own weights, exactly. Of 6,000
    seeds this is a lively one, whose chosen neuron lies above zero in view, with three turns: let down, it bears breakpoints.
    """
    hidden, scale = given.get("hidden", [6, 6, 6]), given.get("scale", 0.7)
    if not hidden:
        raise ValueError(f"the figure needs at least one hidden layer, as hidden=[6, 6]; got hidden={hidden}")
    chosen = {"layer": min(2, len(hidden) - 1), "neuron": min(4, hidden[-1] - 1), "scale": scale}
    if "theta" in given or given.get("start") == "fan":
        return chosen
    rng = np.random.default_rng(given.get("seed", 3215))
    widths = pairwise([1, *hidden, 1])
    theta = [np.append(rng.normal(size=i * o) * (2 / i) ** 0.5, scale * rng.normal(size=o)) for i, o in widths]
    return {"theta": np.concatenate(theta), **chosen}


def draw_depth(state: dict) -> str:
    """`hidden` widths, `theta` as `net.vector()`; without it `start` ("random", "fan") and `scale`, that of the biases, say what
    is drawn. `layer` and `neuron`, from 0, choose the dashed one; `data` shows the sine; `counted=False` waits with the count for
    a guess. Good ones: `hidden=[8] * 5` beside `hidden=[40]`; `hidden=[3] * 4, start="fan"`, 81 pieces of 12 neurons.
    """
    sizes, theta = [1, *state["hidden"], 1], state["theta"]
    name, needed = "-".join(map(str, sizes)), sum(o * (i + 1) for i, o in pairwise(sizes))
    if theta or state["start"] != "fan":
        if len(theta) != needed:
            raise ValueError(f"a {name} network has {needed} weights and biases; theta has {len(theta)}")
        net = ReLUNet.random(sizes).with_vector(torch.tensor(theta, dtype=torch.float64))
    elif (many := int(np.prod(state["hidden"]))) > MOST_PIECES:
        raise ValueError(f"a fan of {many:,} pieces is too many to draw; at most {MOST_PIECES:,} are")
    else:
        net = deep_wave(state["hidden"], interval=(-4, 4)).float()
    f = deep_pieces(net)
    often = int((f.knots.abs() < 4 - 1e-9).sum())
    alt = f"The curve of a {name} network: {often + 1} straight pieces between −4 and 4."
    return _curve(state, 4.0, [(f, {"color": BLUE})], [], alt)


def draw_capacity(state: dict) -> str:
    """`build="points"`: `points` and how many `nodes` so far. `build="waves"`: `widths` of the layers and the `bits` of parity.
    Good ones: `nodes=0`; `build="waves", widths=[2], bits=8`, to be finished by the reader.
    """
    if state["build"] == "waves":
        f = deep_pieces(deep_wave(state["widths"]).float())
        many = f"{len(state['widths'])} layers fold the line into {np.prod(state['widths'])} parts"
        alt = f"{many}: a wave between 0 and 1 for parity of {state['bits']} bits."
        return _curve(state, 1.0, [(f, {"color": BLUE})], [], alt)
    points = sorted({x: y for x, y in reversed(state["points"])}.items())  # of two at one place the first
    x, y = zip(*points[: int(state["nodes"]) + 1])
    f = spline(interpolate(x, y).float() if len(x) > 1 else _line_network([1.0], [0.0], [0.0], y[0]))
    alt = f"{len(points)} points, and a network of {len(x) - 1} neurons that goes through the first {len(x)} of them."
    return _curve(state, 3.0, [(f, {"color": BLUE})], points, alt)


# ---- polytopes -----------------------------------------------------------------------------------------------------------


def begin_polytopes(given: dict) -> dict:
    """A ring around a disc, unless the notebook brings its own points; the weights are drawn in the page."""
    if "points" in given:
        return {}
    x, y = tasks.annulus(120, seed=1)
    return {"points": [[round(a, 3), round(b, 3), int(c)] for (a, b), c in zip(x.tolist(), y.tolist())]}


def draw_polytopes(state: dict) -> str:
    points = np.array(state["points"], float).reshape(-1, 3)
    fig, ax = plots.subplots(figsize=(4.4, 4.4))
    for label, mark, color in ((0, "o", BLUE), (1, "s", ORANGE)):
        some = points[points[:, 2] == label]
        ax.plot(some[:, 0], some[:, 1], mark, color=color, ms=4)
    ax.set(xlim=(-state["edge"], state["edge"]), ylim=(-state["edge"], state["edge"]), xticks=[], yticks=[])
    ax.set_aspect("equal")
    layers = "-".join(map(str, state["hidden"]))
    task = f"{len(points)} points of two classes, which a 2-{layers}-1 network is to tell apart."
    return plots.image(fig, (task if len(points) else f"An empty square, which a 2-{layers}-1 network cuts into pieces.") + NOTE)


# ---- swaps -------------------------------------------------------------------------------------------------------------


def draw_swaps(state: dict) -> str:
    table, weights = np.array(state["table"]), np.array(state["weights"], float)
    n = len(weights)
    if len(table) != 2**n:
        raise ValueError(f"a table of {n} inputs has {2**n} entries, as many as the {n} weights ask for; got {len(table)}")
    if n not in (3, 4):
        raise ValueError(f"the figure turns a cube of 3 or 4 inputs; got {n} weights")
    place = corners(n) @ weights
    fig, ax = plots.subplots(figsize=(6.4, 1.4))
    ax.axhline(0, color=BLACK, lw=1)
    ax.plot(place[table == 0], 0 * place[table == 0], "o", color=BLUE, mfc="white", ms=8)
    ax.plot(place[table == 1], 0 * place[table == 1], "s", color=ORANGE, ms=8)
    ax.axis("off")
    many = class_changes(table, weights)
    told = "corners of both classes fall together" if many < 0 else f"their classes change {many} times from left to right"
    return plots.image(fig, f"The {2**n} corners of a cube along a line: {told}.{NOTE}")


def draw_training(state: dict) -> str:
    """`table`, sixteen answers; `width`, the neurons; `borders` shows where neighbours differ; `tried` lists what was trained.

    Rows of the board have the first two bits, columns the others, in the order 00, 01, 11, 10: neighbours differ in one bit.
    """
    table = np.array(state["table"])
    if len(table) != 16:
        raise ValueError(f"the board has sixteen squares, a table of four bits; got {len(table)} answers")
    gray = [0, 1, 3, 2]
    board = table.reshape(4, 4)[np.ix_(gray, gray)]
    fig, ax = plots.subplots(figsize=(3.2, 3.2))
    ax.pcolormesh(board[::-1], cmap=ListedColormap(["#f6f3ea", ORANGE]), vmin=0, vmax=1, edgecolors=BLACK, linewidth=0.5)
    ax.set_aspect("equal")
    ax.axis("off")
    k = np.arange(16)
    differ = sum(int((table != table[k ^ bit]).sum()) // 2 for bit in (1, 2, 4, 8))
    told = f" {differ} of 32 pairs of neighbours differ." if state["borders"] else ""
    return plots.image(fig, f"A board of sixteen squares, {table.sum()} of them painted: a function of four bits.{told}{NOTE}")


# ---- the sheet of the title page -----------------------------------------------------------------------------------------


def draw_sheet(state: dict) -> str:
    many = len(state["creases"]) if state["intro"] and not state["folds"] else state["folds"]  # on paper it is folded already
    net = sheet_network([line(*crease) for crease in state["creases"]], line(*state["knife"]), many)
    side = np.linspace(-1, 1, 301)
    height = net(np.stack(np.meshgrid(side, side), -1).reshape(-1, 2))[:, 0].numpy().reshape(301, 301)
    fig, ax = plots.subplots(figsize=(3.6, 3.6))
    ax.contourf(side, side, height, [-np.inf, 0, np.inf], colors=["#fbe7d3", BLUE])
    ax.set_aspect("equal")
    ax.axis("off")
    folded = f"A sheet that was folded ({many:g} of {len(state['creases'])} folds) and cut once along a straight line"
    return plots.image(fig, f"{folded}, unfolded again: the cut is a boundary of many straight pieces.{NOTE}")


STILLS = {
    "beyond": (nothing, draw_beyond),
    "bottleneck": (nothing, draw_bottleneck),
    "breakpoints": (begin_breakpoints, draw_breakpoints),
    "capacity": (nothing, draw_capacity),
    "census": (begin_census, draw_census),
    "comparison": (nothing, draw_comparison),
    "corner": (nothing, draw_corner),
    "depth": (begin_depth, draw_depth),
    "dynamics": (begin_dynamics, draw_dynamics),
    "ends": (nothing, draw_ends),
    "folding": (begin_folding, draw_folding),
    "gans": (nothing, draw_gans),
    "images": (nothing, draw_images),
    "landscape": (nothing, draw_landscape),
    "mnist": (nothing, draw_mnist),
    "optima": (nothing, draw_optima),
    "perceptron": (nothing, draw_perceptron),
    "polytopes": (begin_polytopes, draw_polytopes),
    "pruning": (begin_pruning, draw_pruning),
    "race": (nothing, draw_race),
    "sensitivity": (nothing, draw_sensitivity),
    "sheet": (nothing, draw_sheet),
    "shore": (nothing, draw_shore),
    "smoothing": (nothing, draw_smoothing),
    "swaps": (nothing, draw_swaps),
    "training": (nothing, draw_training),
}
