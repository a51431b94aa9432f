"""A window cut into the faces on which a network is affine: one value, and what can be read off it.

>>> from foldnet.geometry.regions import regions
>>> from foldnet.nets import ReLUNet
>>> cells = regions(ReLUNet([[[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]]))
>>> len(cells.starts) - 1
4
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..nets import ReLUNet

BLOCK = 4096  # faces whose affine maps are computed at once


@dataclass(frozen=True, eq=False)
class Complex:
    """A convex window cut into the faces on which a network is affine, one for each activation pattern; arrays are numpy's.

    `vertices` `(V, 2)`, `values` `(V, out)` the outputs there. Face f has the corners `corners[starts[f]:starts[f + 1]]`,
    counter-clockwise, and `sides` names the edge from each corner to the next. `edges` `(E, 2)` are their ends, lower number
    first, and `edge_faces` `(E, 2)` the faces to the left and to the right, -1 outside. `layer` and `neuron` `(E,)` say who drew
    an edge, the first in order where several did: hidden layers count from 0, the window's sides have layer -1. `bits` say which
    neurons are on, an array `(F, words)` of uint64 for each hidden layer: neuron n is bit n % 64 of word n // 64. `pattern` has
    them one by one.
    """

    net: ReLUNet
    vertices: np.ndarray
    values: np.ndarray
    starts: np.ndarray
    corners: np.ndarray
    sides: np.ndarray
    edges: np.ndarray
    edge_faces: np.ndarray
    layer: np.ndarray
    neuron: np.ndarray
    bits: tuple[np.ndarray, ...]

    def __repr__(self) -> str:
        faces, edges, vertices = len(self), len(self.edges), len(self.vertices)
        return f"Complex({faces:,} faces, {edges:,} edges, {vertices:,} vertices, of a {self.net})"

    def __len__(self) -> int:
        return len(self.starts) - 1

    def face(self, f: int) -> np.ndarray:
        """The corners of face f, `(m, 2)`, counter-clockwise."""
        return self.vertices[self.corners[self.starts[f] : self.starts[f + 1]]]

    @cached_property
    def pattern(self) -> np.ndarray:
        """Which hidden neurons are on in each face: `(F, hidden)`, layer after layer, as `ReLUNet.pattern`; read-only."""
        layers = [np.unpackbits(b.view(np.uint8), axis=1, bitorder="little") for b in self.bits]
        widths = self.net.sizes[1:-1]
        found = np.concatenate([layer[:, :n] for layer, n in zip(layers, widths)] or [np.zeros((len(self), 0))], 1).astype(bool)
        found.setflags(write=False)  # the maps are made from it
        return found

    @cached_property
    def areas(self) -> np.ndarray:
        """The area of each face, `(F,)`; read-only."""
        origin = np.repeat(self.vertices[self.corners[self.starts[:-1]]], np.diff(self.starts), axis=0)
        after = np.roll(self.corners, -1)
        after[self.starts[1:] - 1] = self.corners[self.starts[:-1]]
        p, q = self.vertices[self.corners] - origin, self.vertices[after] - origin
        found = np.add.reduceat(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0], self.starts[:-1]) / 2
        found.setflags(write=False)
        return found

    @cached_property
    def centres(self) -> np.ndarray:
        """A point inside each face, `(F, 2)`: the mean of its corners."""
        return np.add.reduceat(self.vertices[self.corners], self.starts[:-1]) / np.diff(self.starts)[:, None]

    @property
    def neighbours(self) -> np.ndarray:
        """Pairs of faces that share an edge, `(n, 2)`."""
        return self.edge_faces[(self.edge_faces >= 0).all(1)]

    def maps(self, faces=slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The affine map of each face, slopes `(F, out, 2)` and offsets `(F, out)`: f(x) = slope x + offset on it.

        `faces` chooses some of them: a slice, a list of numbers or a mask; `[f]` for one face.
        """
        on, net = self.pattern[faces], self.net
        parts = [_affine(net, on[i : i + BLOCK]) for i in range(0, max(len(on), 1), BLOCK)]
        both = np.concatenate(parts)
        return both[..., :-1], both[..., -1]


def _affine(net: ReLUNet, on: np.ndarray) -> np.ndarray:
    """Slope and, as the last column, offset of the network on faces of these patterns, `(F, out, in + 1)`."""
    weights, biases = [[a.detach().double().cpu().numpy() for a in part] for part in (net.weights, net.biases)]
    gates = np.split(np.where(on, 1.0, net.leak), np.cumsum(net.sizes[1:-2]), axis=1) if len(weights) > 1 else []
    rows = np.broadcast_to(np.column_stack([weights[0], biases[0]]), (len(on), net.sizes[1], net.sizes[0] + 1))
    for gate, w, b in zip(gates, weights[1:], biases[1:]):
        rows = w @ (gate[..., None] * rows)
        rows[..., -1] += b
    return rows
