"""The regions of a network with whole or rational weights, counted in fractions: slow, plain, and without any rounding."""

from fractions import Fraction as Q


def faces(weights, biases, window, leak=Q(0)):
    """Each activation pattern in the window with its polygon: pairs (pattern, corners), cut one after the other."""
    found = [((), [tuple(map(Q, corner)) for corner in window], [(Q(1), Q(0), Q(0)), (Q(0), Q(1), Q(0))])]
    for w, b in zip(weights[:-1], biases[:-1]):
        after = []
        for pattern, polygon, maps in found:
            affine = [_combined(row, bias, maps) for row, bias in zip(w, b)]
            parts = [((), polygon)]
            for z in affine:
                parts = [((*on, sign), part) for on, old in parts for sign, part in _halves(old, z)]
            for on, part in parts:
                slopes = [1 if o else leak for o in on]
                after.append((pattern + on, part, [tuple(s * c for c in z) for s, z in zip(slopes, affine)]))
        found = after
    return [(pattern, polygon) for pattern, polygon, _ in found]


def _combined(row, bias, maps):
    x, y, c = (sum(Q(w) * m[i] for w, m in zip(row, maps)) for i in range(3))
    return x, y, c + Q(bias)


def _halves(polygon, z):
    """The parts of a convex polygon where z > 0 and where z <= 0 that have an inside."""
    value = [z[0] * x + z[1] * y + z[2] for x, y in polygon]
    if not any(v > 0 for v in value):
        return [(False, polygon)]
    if not any(v < 0 for v in value):
        return [(True, polygon)]
    positive, negative = [], []
    for i, (p, a) in enumerate(zip(polygon, value)):
        q, b = polygon[(i + 1) % len(polygon)], value[(i + 1) % len(polygon)]
        if a >= 0:
            positive.append(p)
        if a <= 0:
            negative.append(p)
        if a * b < 0:
            t = a / (a - b)
            cut = (p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1]))
            positive.append(cut)
            negative.append(cut)
    return [(True, positive), (False, negative)]


def area(polygon) -> Q:
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(polygon, polygon[1:] + polygon[:1])) / 2
