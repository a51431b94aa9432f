"""Every steady state of the one-dimensional XOR problem: sign cases, losses, which are minima, and where training ends.

The network is `v(x) = o1 relu(w1 x + b1) + o2 relu(w2 x + b2) + c` on the points -1, 0, 0, 1 with targets -1, 1, 1, -1.
The chapter boolean/optima proves what the functions here compute; the symbolic side is in `optima_symbolic`.

>>> from foldbook.chapters.optima import families
>>> sorted({str(family.loss) for family in families()})
['0', '4', '8/3']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import torch
from torch import Tensor

from foldnet.nets import ReLUNet

POINTS, COPIES, TARGETS = (-1, 0, 1), (1, 2, 1), (-1, 1, -1)
LOSSES = (Fraction(0), Fraction(8, 3), Fraction(4))
KINK = 1e-5  # a sign counts as zero below this share of the largest of a node's three preactivations

Vector = tuple[Fraction, ...]


# ---- the cases ---------------------------------------------------------------------------------------------------------


def signs(w, b) -> str:
    """The signs of `b`, `b + w` and `b - w`, the source's order: what a node sees at x = 0, 1, -1; as in `"-+-"`."""
    return "".join("-0+"[int(z > 0) - int(z < 0) + 1] for z in (b, b + w, b - w))


def _cones() -> dict[str, tuple[tuple[int, int], ...]]:
    """The 13 sign cases of a node and the rays (w, b) that span each: 6 sectors, then 6 rays, then the origin.

    The lines b = 0, b + w = 0 and b - w = 0 cut the plane of (w, b) into sectors. A sector is spanned by two rays that follow
    each other around the origin, so going around once meets every case there is.
    """
    lines = [(1, 0), (1, -1), (1, 1)]
    rays = sorted([*lines, *((-w, -b) for w, b in lines)], key=lambda ray: np.arctan2(ray[1], ray[0]))
    sectors = {signs(p[0] + q[0], p[1] + q[1]): (p, q) for p, q in zip(rays, [*rays[1:], rays[0]])}
    return {**sectors, **{signs(*ray): (ray,) for ray in rays}, signs(0, 0): ()}


CONES = _cones()
CASES = tuple(CONES)
OPEN = tuple(case for case in CASES if "0" not in case)
REGIONS = tuple((one, two) for one in OPEN for two in OPEN)
LIVE = tuple((one, two) for one in (True, False) for two in (True, False))


def activation(w, b) -> tuple:
    """What a node passes on at x = -1, 0, 1."""
    return tuple(max(w * x + b, 0) for x in POINTS)


def mirrored(case: str) -> str:
    """The case of the node with `-w` in place of `w`: the data read from right to left."""
    return case[0] + case[2] + case[1]


# ---- steady states, exactly --------------------------------------------------------------------------------------------


def project(features: Sequence[Sequence], target: Sequence = TARGETS) -> Vector:
    """The point nearest to `target` in the span of `features`, 0 counted twice as in the loss; in rational arithmetic."""
    dot = lambda p, q: sum(m * s * t for m, s, t in zip(COPIES, p, q))  # noqa: E731
    basis: list[Vector] = []
    fitted = tuple(Fraction(0) for _ in POINTS)
    for feature in features:
        rest = tuple(map(Fraction, feature))
        for e in basis:
            rest = tuple(r - dot(rest, e) / dot(e, e) * t for r, t in zip(rest, e))
        if any(rest):
            basis.append(rest)
            fitted = tuple(f + dot(target, rest) / dot(rest, rest) * r for f, r in zip(fitted, rest))
    return fitted


def steady_outputs(region: Sequence[str], live: Sequence[bool]) -> Vector:
    """The only values at -1, 0, 1 that a steady state in this region can have; `live` says which output weights are not 0.

    The gradient vanishes along c and along every direction in which a live node can move without leaving its case, so the
    residual is orthogonal to those features, and the output lies in their span: it is a projection of the targets.
    """
    features = [(1, 1, 1), *(activation(*ray) for case, on in zip(region, live) if on for ray in CONES[case])]
    return project(features)


def loss_of(outputs: Sequence) -> Fraction:
    """The summed squared error of values at -1, 0, 1."""
    return sum(m * (v - y) ** 2 for m, v, y in zip(COPIES, outputs, TARGETS))


@dataclass(frozen=True)
class Family:
    """The steady states of one region with the same live nodes: their outputs, loss, kind, and one of them.

    `witness` is `(w1, w2, o1, o2, b1, b2, c)`, rational numbers.
    """

    region: tuple[str, str]
    live: tuple[bool, bool]
    outputs: Vector
    loss: Fraction
    kind: str
    witness: Vector


def families() -> list[Family]:
    """All families of steady states in the interior of the 36 regions, each with a witness in exact arithmetic."""
    found = []
    for region, live in product(REGIONS, LIVE):
        outputs = steady_outputs(region, live)
        point = _witness(region, live, outputs)
        if point is not None:
            w, o, b = point[:2], point[2:4], point[4:6]
            found.append(Family(region, live, outputs, loss_of(outputs), kind(w, b, o, outputs), point))
    return found


def _witness(region, live, outputs) -> Vector | None:
    """A network strictly inside the region with these outputs and live nodes, or None where there is none."""
    idle = {}
    for i, (case, on) in enumerate(zip(region, live)):
        if not on:
            still = _idle(case, outputs)
            if still is None:
                return None
            idle[i] = still
    for heads in product((1, -1), repeat=sum(live)):
        o = [0, 0]
        for i, sign in zip([i for i in (0, 1) if live[i]], heads):
            o[i] = sign
        rays = [(i, *ray) for i in (0, 1) if live[i] for ray in CONES[region[i]]]
        columns = [[o[i] * z for z in activation(w, b)] for i, w, b in rays]
        lengths = _positive_solution(columns, outputs)
        if lengths is not None:
            *lengths, c = lengths
            inner = [[Fraction(0), Fraction(0)] if live[i] else list(idle[i]) for i in (0, 1)]
            for length, (i, w, b) in zip(lengths, rays):
                inner[i] = [inner[i][0] + length * w, inner[i][1] + length * b]
            return (inner[0][0], inner[1][0], Fraction(o[0]), Fraction(o[1]), inner[0][1], inner[1][1], c)
    return None


def _idle(case: str, outputs) -> tuple[Fraction, Fraction] | None:
    """(w, b) inside a sector for a node with output weight 0: the loss must not want that weight to move."""
    force = lambda ray: sum(m * (v - y) * z for m, v, y, z in zip(COPIES, outputs, TARGETS, activation(*ray)))  # noqa: E731
    p, q = CONES[case]
    s, t = force(p), force(q)
    if s == t == 0:
        s, t = Fraction(1), Fraction(1)
    elif s * t >= 0:
        return None
    return abs(t) * p[0] + abs(s) * q[0], abs(t) * p[1] + abs(s) * q[1]


def _positive_solution(columns, outputs) -> Vector | None:
    """Lengths > 0 and a free c with `sum of length * column + c = outputs`, exact; None if there are none."""
    from scipy.optimize import linprog

    count = len(columns)
    matrix = np.array([[*(column[x] for column in columns), 1, 0] for x in range(3)], dtype=float)
    room = [[*(-1.0 if i == j else 0.0 for j in range(count)), 0.0, 1.0] for i in range(count)]
    best = linprog(
        [*[0.0] * (count + 1), -1.0],
        A_ub=room or None,
        b_ub=[0.0] * count or None,
        A_eq=matrix,
        b_eq=[float(v) for v in outputs],
        bounds=[(0, None)] * count + [(None, None), (None, 1)],
    )
    if best.status != 0 or best.x[-1] < 1e-6:
        return None
    # the numbers are small fractions; the equations are tested again without rounding
    solution = tuple(Fraction(t).limit_denominator(1000) for t in best.x[:-1])
    *lengths, c = solution
    hit = all(sum(s * col[x] for s, col in zip(lengths, columns)) + c == outputs[x] for x in range(3))
    if not (hit and all(s > 0 for s in lengths)):
        raise ArithmeticError(f"the solver's point {solution} does not solve the equations exactly")
    return solution


# ---- minimum or not ----------------------------------------------------------------------------------------------------


def kind(w: Sequence, b: Sequence, o: Sequence, outputs: Sequence) -> str:
    """Minimum or saddle, for a steady state with these outputs; exact, on the kinks too (Theorem (minimum or saddle)).

    At outputs 0 the loss nearby is 4 + 2 sum o_i (|w_i| - |b_i|)+ plus squares; at 1/3, 1/3, -1 it is 8/3 plus
    8/3 sum o_i ((b_i - w_i)+ - (b_i)+) plus squares. A minimum is where no node can make its summand negative.
    """
    loss = loss_of(outputs)
    if loss not in LOSSES:
        raise ValueError(f"a steady state has outputs of loss 0, 8/3 or 4; got {tuple(map(str, outputs))}")
    if loss == 0:
        return "global minimum"
    cases = [signs(s, t) for s, t in zip(w, b)]
    if loss == Fraction(8, 3) and outputs[2] > outputs[0]:  # the outputs are -1, 1/3, 1/3: look from the other side
        cases = [mirrored(case) for case in cases]
    return "local minimum" if all(_settled(loss, case, s) for case, s in zip(cases, o)) else "saddle"


def _settled(loss: Fraction, case: str, o) -> bool:
    """Whether no small change of a node in this case, with output weight `o`, lowers the loss."""
    if loss == 4:
        return case in ("---", "+++") or (case in ("-0-", "--0", "++0", "+0+", "000") and o > 0)
    return case in ("---", "-+-", "-0-") or (case == "0+-" and o < 0) or (case == "--0" and o > 0)


def downhill(w: Sequence, b: Sequence, o: Sequence, c) -> list[tuple]:
    """A way from a poor minimum to loss 0 on which the loss never rises: corners `(w1, w2, o1, o2, b1, b2, c)` of a polygon.

    First the output weight of a node is let go to 0, which costs nothing; then the node itself is free to go elsewhere; then the
    output weights lead down. Takes any local minimum of loss 8/3 or 4.
    """
    w, b, o = list(w), list(b), list(o)
    z = [activation(*node) for node in zip(w, b)]
    outputs = tuple(c + sum(s * a[x] for s, a in zip(o, z)) for x in range(3))
    loss = loss_of(outputs)
    way = [(*w, *o, *b, c)]
    if abs(loss - 4) < 1e-6:
        way.append((*w, 0, 0, *b, 0))
        way.append((2, -2, 0, 0, -1, -1, 0))
        return [*way, (2, -2, -2, -2, -1, -1, 1)]
    if abs(loss - Fraction(8, 3)) > 1e-6:
        raise ValueError(f"a poor minimum has loss 8/3 or 4; this network has {float(loss):.4g}")
    side = 2 if outputs[2] < outputs[0] else 0  # the data point that is fitted
    busy = max((0, 1), key=lambda i: z[i][side])
    idle, height = 1 - busy, z[busy][side]
    o[idle], o[busy], c = 0, Fraction(-4, 3) / height, Fraction(1, 3)
    way.append((*w, *o, *b, c))
    w[idle], b[idle] = (-2 if side == 2 else 2), -1
    way.append((*w, *o, *b, c))
    o[idle], o[busy] = -2, -2 / height
    return [*way, (*w, *o, *b, 1)]


# ---- networks ----------------------------------------------------------------------------------------------------------


def data(dtype=torch.float64) -> tuple[Tensor, Tensor]:
    """The four training points -1, 0, 0, 1 and their targets, `(4, 1)` each."""
    x = [p for p, m in zip(POINTS, COPIES) for _ in range(m)]
    y = [t for t, m in zip(TARGETS, COPIES) for _ in range(m)]
    return torch.tensor(x, dtype=dtype)[:, None], torch.tensor(y, dtype=dtype)[:, None]


def network(parameters) -> ReLUNet:
    """The network, or the batch, with parameters `(..., 7)` in the order w1, w2, o1, o2, b1, b2, c."""
    p = parameters if isinstance(parameters, Tensor) else torch.tensor(np.asarray(parameters, dtype=float))
    if p.shape[-1:] != (7,):
        raise ValueError(f"a network has 7 parameters w1, w2, o1, o2, b1, b2, c; got an array of shape {tuple(p.shape)}")
    return ReLUNet([p[..., 0:2, None], p[..., None, 2:4]], [p[..., 4:6], p[..., 6:7]])


def parameters(nets: ReLUNet) -> Tensor:
    """w1, w2, o1, o2, b1, b2, c of every network, `(*batch, 7)`."""
    if nets.sizes != (1, 2, 1) or nets.leak:
        raise ValueError(f"these are the optima of 1-2-1 ReLU networks; got {nets}")
    (w, o), (b, c) = nets.weights, nets.biases
    return torch.cat([w[..., 0], o[..., 0, :], b, c], dim=-1)


def losses(nets: ReLUNet) -> Tensor:
    """The summed squared error over the four points, `(*batch,)`."""
    x, y = data(nets.dtype)
    return (nets(x) - y.to(nets.device)).square().sum((-1, -2))


def levels(nets: ReLUNet, tol: float = 0.01) -> np.ndarray:
    """Which of the losses 0, 8/3, 4 each network has reached: 0, 1, 2, or -1 if none is within `tol`; `(*batch,)`."""
    gaps = np.abs(losses(nets).double().cpu().numpy()[..., None] - np.array(LOSSES, dtype=float))
    return np.where(gaps.min(-1) <= tol, gaps.argmin(-1), -1)


def node_cases(nets: ReLUNet, tol: float = KINK) -> np.ndarray:
    """The sign case of each node as an index of `CASES`, `(*batch, 2)`; `tol=0` for the bare signs."""
    w1, w2, _, _, b1, b2, _ = parameters(nets).double().cpu().numpy().T
    w, b = np.stack([w1.T, w2.T], -1), np.stack([b1.T, b2.T], -1)
    z = np.stack([b, b + w, b - w], -1)
    z = np.where(np.abs(z) <= tol * np.abs(z).max(-1, keepdims=True), 0.0, z)
    code = ((np.sign(z) + 1) @ np.array([9, 3, 1])).astype(int)
    index = np.full(27, -1)
    for i, case in enumerate(CASES):
        index["-0+".index(case[0]) * 9 + "-0+".index(case[1]) * 3 + "-0+".index(case[2])] = i
    return index[code]
