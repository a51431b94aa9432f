"""XOR on the four corners of the square: where networks of two leaky neurons rest, and which of these places are minima.

The network is `v(x) = c + o1 s(f1(x)) + o2 s(f2(x))` with affine `f` and `s(z) = z` for z > 0, `a z` below; `a = 0` is ReLU. A
neuron is told by its four values at the corners, whose sums over the two diagonals are equal. Chapter boolean/optima.

>>> from fractions import Fraction
>>> from foldbook.chapters.optima_plane import CASES, losses
>>> len(CASES), [str(loss) for loss in losses(Fraction(1, 5))]
(51, ['0', '36/13', '36/11', '4'])
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import sympy as sp
from scipy.optimize import linprog
from sympy.polys.matrices import DomainMatrix

CORNERS = tuple(product((-1, 1), repeat=2))
XOR = tuple(-p * q for p, q in CORNERS)
LEAK = sp.symbols("a", positive=True)

Case = tuple[int, ...]  # the signs of a neuron at the corners


def losses(a) -> tuple:
    """The four losses at which networks with leak a can rest, rising; a number, a Fraction or a symbol."""
    two = 2 * (1 + a) ** 2 / (1 + a * a)
    one = 8 * (1 + a) ** 2 / (3 + 2 * a + 3 * a * a)
    return 0 * a, two, one, 4 + 0 * a


def _signs(z) -> Case:
    return tuple((t > 0) - (t < 0) for t in z)


def _rays() -> tuple[Case, ...]:
    """The values of the twelve neurons, up to a factor, that vanish at two corners and not everywhere."""
    found = []
    for k, m in combinations(range(4), 2):
        z = [0] * 4
        z[k], z[m] = 1, -XOR[k] * XOR[m]
        found += [tuple(z), tuple(-t for t in z)]
    return tuple(found)


def _cases() -> dict[Case, list[Case]]:
    """The 51 cases of a neuron and the rays that span each: those that have no other sign anywhere."""
    total = lambda rays: tuple(map(sum, zip(*rays))) or (0,) * 4  # noqa: E731
    inside = {p: [z for z in RAYS if all(t in (0, s) for t, s in zip(z, p))] for p in product((-1, 0, 1), repeat=4)}
    return {p: rays for p, rays in inside.items() if _signs(total(rays)) == p}


RAYS = _rays()
CASES = _cases()
# a permutation of the corners is a symmetry of XOR if it keeps the two diagonals
SYMMETRIES = [s for s in permutations(range(4)) if XOR[s[0]] == XOR[s[3]]]


def pairs() -> list[tuple[Case, Case]]:
    """The pairs of cases of two neurons, one of each kind: the square turned or mirrored, and the neurons exchanged."""
    found: set[tuple[Case, Case]] = set()
    for p, q in product(CASES, repeat=2):
        turned = [(tuple(p[k] for k in s), tuple(q[k] for k in s)) for s in SYMMETRIES]
        found.add(max((max(a, b), min(a, b)) for a, b in turned))
    return sorted(found, reverse=True)


def passed(z, a) -> tuple:
    """What a neuron with these values passes on."""
    return tuple(t if t > 0 else a * t for t in z)


# ---- losses, for all leaks at once -----------------------------------------------------------------------------------


def spans() -> set[tuple]:
    """What the live neurons of a network can pass on, as rows with the symbol LEAK; the row of ones is the output bias."""
    found = set()
    for pair in pairs():
        for live in (pair, pair[:1], pair[1:], ()):
            found.add(((1,) * 4, *sorted({passed(z, LEAK) for case in live for z in CASES[case]}, key=str)))
    return found


def symbolic_loss(rows) -> tuple[sp.Expr, list]:
    """The loss of the projection of XOR on a span, and the leaks in (0, 1) at which the span is smaller than elsewhere."""
    field = sp.ZZ.frac_field(LEAK)
    matrix = DomainMatrix([[field.from_sympy(sp.sympify(t)) for t in row] for row in rows], (len(rows), 4), field)
    gram = lambda m: (m * m.transpose()).det()  # noqa: E731
    rank, common = matrix.rank(), sp.Integer(0)
    base: tuple[int, ...] = ()
    minors = product(combinations(range(len(rows)), rank), combinations(range(4), rank))
    for chosen, columns in minors:
        minor = matrix.extract(list(chosen), list(columns)).det()
        if minor:
            base = base or chosen
            common = sp.gcd(common, field.to_sympy(minor))
            if not _roots(common):
                break
    basis = matrix.extract(list(base), list(range(4)))
    with_xor = basis.vstack(DomainMatrix([[field(y) for y in XOR]], (1, 4), field))
    return sp.factor(field.to_sympy(gram(with_xor) / gram(basis))), _roots(common)


def _roots(polynomial) -> list:
    """The roots strictly between 0 and 1."""
    return [t for t in sp.real_roots(polynomial, LEAK) if 0 < t < 1] if polynomial.has(LEAK) else []


# ---- minima, exactly for one leak -------------------------------------------------------------------------------------


def force(case: Case, residual, direction, a) -> Fraction:
    """How the residual pulls a neuron of this case in a direction: ψ of Theorem (an exact test for minima)."""
    slope = lambda s, g: 1 if (s or g) > 0 else a  # noqa: E731
    return sum(r * slope(s, g) * g for s, r, g in zip(case, residual, direction))


def is_minimum(cases, heads, residual, a) -> bool:
    """Whether neurons of these cases with output weights of these signs rest in a local minimum; the residual is exact."""
    for case, o in zip(cases, heads):
        pulls = [force(case, residual, z, a) for z in RAYS]  # psi is linear on each case, so its rays tell all
        if any(o * p > 0 or (o == 0 and p != 0) for p in pulls):
            return False
    return True


@dataclass(frozen=True)
class Place:
    """One set of networks at which the loss is steady within their cases: neurons of these cases, output weights of these signs.

    loss: the sum of the four squared errors, exact.
    kind: "minimum", "saddle" where the loss is smooth, or "neither" on a kink, where it can fall.
    smooth: whether no neuron with an output weight vanishes at a corner.
    dimension: of the set, among nine parameters.
    images: how many such sets the symmetries of the square and the exchange of the neurons make of it.
    witness: one network of it, `(z1, z2, o1, o2, c)`, rounded: the equations have a solution, so one with positive lengths lies
        beside the rounded one.
    """

    cases: tuple[Case, Case]
    heads: tuple[int, int]
    loss: Fraction
    kind: str
    smooth: bool
    dimension: int
    images: int
    witness: tuple


def critical_sets(a: Fraction) -> list[Place]:
    """All sets of places that are steady within their cases, one for each pair of `pairs()` and each choice of signs.

    Losses, tests and dimensions are exact.
    """
    found = []
    for cases, heads in product(pairs(), product((1, -1, 0), (1, -1, 0))):
        turned = _images(cases, heads)
        if (cases, heads) != max(t for t in turned if t[0] == cases):
            continue  # the same by a symmetry
        live = [(case, o) for case, o in zip(cases, heads) if o]
        spanned = [(1,) * 4, *(passed(z, a) for case, _ in live for z in CASES[case])]
        outputs = _project(spanned)
        residual = tuple(y - v for y, v in zip(XOR, outputs))
        witness = _witness(cases, heads, outputs, residual, a)
        if witness is not None:
            smooth = all(0 not in case for case, _ in live)
            kind = "minimum" if is_minimum(cases, heads, residual, a) else "saddle" if smooth else "neither"
            # free are what each live neuron passes on and how it shares it with its output weight, less what the outputs fix
            free = sum(len(_orthogonal(CASES[case])) + 1 for case, _ in live) + 1 - len(_orthogonal(spanned))
            for case, o in zip(cases, heads):
                if not o:  # an idle neuron must only not be asked for
                    free += len(_orthogonal(CASES[case])) - any(_pull(case, residual, a))
            loss = sum((r * r for r in residual), Fraction(0))
            found.append(Place(cases, heads, loss, kind, smooth, free, len(turned), witness))
    return found


def _images(cases, heads) -> set[tuple]:
    """What the symmetries of the square and the exchange of the neurons make of two cases and signs.

    A quarter turn exchanges the classes, so the output weights are negated with it.
    """
    found = set()
    for s in SYMMETRIES:
        (p, q), (o, u) = (tuple(case[k] for k in s) for case in cases), (XOR[s[0]] * XOR[0] * o for o in heads)
        found |= {((p, q), (o, u)), ((q, p), (u, o))}
    return found


def _pull(case: Case, residual, a) -> list:
    """How the residual asks for each ray of a neuron that is not used."""
    return [sum(r * t for r, t in zip(residual, passed(z, a))) for z in CASES[case]]


def _dot(p, q):
    return sum(s * t for s, t in zip(p, q))


def _orthogonal(rows) -> list[list[Fraction]]:
    """An orthogonal basis of the span of these rows, in rational arithmetic."""
    basis: list[list[Fraction]] = []
    for row in rows:
        rest = [Fraction(t) for t in row]
        for e in basis:
            part = _dot(rest, e) / _dot(e, e)
            rest = [r - part * t for r, t in zip(rest, e)]
        basis += [rest] if any(rest) else []
    return basis


def _project(rows) -> tuple[Fraction, ...]:
    """The point of the span nearest to XOR."""
    parts = [(_dot(XOR, e) / _dot(e, e), e) for e in _orthogonal(rows)]
    return tuple(sum((part * e[k] for part, e in parts), Fraction(0)) for k in range(4))


def _witness(cases, heads, outputs, residual, a):
    """A network in these cases, with output weights of these signs, that has the outputs; None where there is none."""
    values = [None if o else _idle(case, residual, a) for case, o in zip(cases, heads)]
    rays = [(k, z) for k in (0, 1) if heads[k] for z in CASES[cases[k]]]
    if any(z is None for z, o in zip(values, heads) if not o):
        return None
    lengths = _positive([[heads[k] * t for t in passed(z, a)] for k, z in rays], outputs)
    if lengths is None:
        return None
    values = [np.zeros(4) if o else z for z, o in zip(values, heads)]
    for (k, z), length in zip(rays, lengths):
        values[k] = values[k] + length * np.array(z)
    return (*values, *heads, lengths[-1])


def _idle(case, residual, a):
    """Values of a neuron of this case that the loss does not ask to be used; None where there are none."""
    pull = _pull(case, residual, a)
    up, down = sum(t for t in pull if t > 0), -sum(t for t in pull if t < 0)
    if (up == 0) != (down == 0):
        return None
    weight = [float(1 / up if t > 0 else 1 / down) if t else 1.0 for t in pull]
    return np.array(weight) @ np.reshape(CASES[case], (-1, 4)) if pull else np.zeros(4)


def _positive(columns, outputs):
    """Lengths > 0 and then a free number, with `sum of length * column + number = outputs`; None if there are none."""
    if not columns:
        return [float(outputs[0])] if len(set(outputs)) == 1 else None
    count = len(columns)
    equations = np.array([*columns, (1,) * 4, (0,) * 4], dtype=float).T
    room = np.hstack([-np.eye(count), np.zeros((count, 1)), np.ones((count, 1))])
    limits = [(0, None)] * count + [(None, None), (None, 1)]
    cost, right = [*[0.0] * (count + 1), -1.0], np.array(outputs, dtype=float)
    best = linprog(cost, room, np.zeros(count), equations, right, bounds=limits)
    return None if best.status != 0 or best.x[-1] < 1e-7 else best.x[:-1]
