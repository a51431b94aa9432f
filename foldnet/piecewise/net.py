"""Any piecewise linear torch module, exactly: `net = foldnet.of(model)`.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 1))
>>> net = of(model, input_shape=(1, 4, 4))
>>> net
PiecewiseLinear(input 1x4x4, output 1, 8 units with kinks, float32)
>>> net.affine(torch.zeros(1, 4, 4)).matrix.shape
torch.Size([1, 16])
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, fx, nn
from torch.func import jacrev, jvp, vjp, vmap

from ..geometry.regions import MOST_FACES
from ._cut import pieces
from ._layers import first
from ._search import cells_around, search
from ._walk import MOST_BENDS, bends
from .cells import Cell, Cells
from .line import Bends
from .plane import Slice
from .trace import Graph, NotPiecewiseLinear

if TYPE_CHECKING:
    from collections.abc import Callable

    from .wrong import Wrong

TRIALS = 4  # random points at which a converted network is compared with the module
CLOSE = {torch.float64: 1e-9, torch.float32: 1e-4}  # how near they must be, relative to the largest output
UNITS_AT_ONCE = 256


def of(module: nn.Module, input_shape: int | tuple[int, ...] | None = None, cut_head: bool = False) -> PiecewiseLinear:
    """The exact piecewise linear function of a torch module, traced in eval mode; the module itself is not touched.

    module: layers, convolutions, batch normalisation, pooling, residual sums, concatenation, ReLU and its kin, in any order.
    input_shape: the shape of one input, as `(3, 32, 32)` or 784; not needed where the first layer is linear.
    cut_head: leave out what follows the last affine step, as a softmax.

    All but cells is computed in the dtype of the module: what is smaller than 1e-12 of a step's largest value counts as zero in
    float64, 1e-6 in float32. `of(model.double())` sees finer. Where a step is not piecewise linear the error names it. What was
    traced is compared with the module at random points.
    """
    graph = Graph(module, cut_head)
    parameter = next((p for p in [*module.parameters(), *module.buffers()] if p.is_floating_point()), torch.zeros(()))
    net = PiecewiseLinear(graph, _shape(graph, input_shape), parameter.dtype, parameter.device)
    if net.dtype not in CLOSE:
        raise ValueError(f"a network in float32 or float64 is needed; this one is in {net.dtype}: say of(model.float())")
    _compare(net, module, cut_head)
    return net


@dataclass(frozen=True)
class LocalMap:
    """The affine map that a network is near a point: `y = matrix @ x + offset`, inputs and outputs as flat vectors.

    `m @ v` and `m.transposed(u)` are products with the matrix that never build it; `matrix` builds it.
    """

    net: PiecewiseLinear
    point: Tensor

    def __matmul__(self, v: Tensor) -> Tensor:
        """The matrix times a direction `(in,)`."""
        direction = self.net.points(torch.as_tensor(v).reshape(self.point.shape))[0][0]
        return jvp(self.net.flat, (self.point,), (direction,))[1]

    def transposed(self, u: Tensor) -> Tensor:
        """The transposed matrix times a vector of outputs `(out,)`, in the shape of an input."""
        value, back, *_ = vjp(self.net.flat, self.point)
        return back(torch.as_tensor(u, dtype=value.dtype, device=value.device).detach())[0]

    @property
    def matrix(self) -> Tensor:
        """The matrix `(out, in)`."""
        return jacrev(self.net.flat)(self.point).flatten(1)

    @property
    def offset(self) -> Tensor:
        """The constant `(out,)`."""
        return self.net.flat(self.point) - self @ self.point


class PiecewiseLinear:
    """A traced module: a function that is affine on each of finitely many pieces of its input.

    Points are tensors of the shape of one input, or many of them with one dimension before it. On a crease the side is that of
    torch's derivative.
    """

    def __init__(self, graph: Graph, input_shape: tuple[int, ...], dtype: torch.dtype, device: torch.device):
        self.graph, self.input_shape, self.dtype, self.device = graph, tuple(input_shape), dtype, device
        sizes: list[int] = []
        probe = torch.zeros(3, *self.input_shape, dtype=dtype, device=device)
        with torch.no_grad():
            try:
                for n in (3, 2):  # what mixes points, or takes their dimension for another, cannot suit both and one
                    graph.run(probe[:n])
                value = graph.run(probe[:1], lambda node, values: sizes.append(self._pattern(node, values).shape[1]))
            except NotPiecewiseLinear:
                raise
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                raise ValueError(f"the network does not take an input of shape {self.input_shape}: {error}") from None
        self.units, self.output_shape = dict(zip(graph.kinked, sizes)), tuple(value.shape[1:])

    def __repr__(self) -> str:
        shapes = ("x".join(map(str, shape)) or "1" for shape in (self.input_shape, self.output_shape))
        kind = str(self.dtype).removeprefix("torch.")
        return f"PiecewiseLinear(input {{}}, output {{}}, {sum(self.units.values()):,} units with kinks, {kind})".format(*shapes)

    def __call__(self, x) -> Tensor:
        """The outputs: `(*out)` for one point, `(n, *out)` for many."""
        x, single = self._shaped(x)
        y = self.graph.run(x)
        return y[0] if single else y

    def flat(self, x: Tensor) -> Tensor:
        """The outputs of one point as a vector, for torch.func."""
        return self.graph.run(x[None])[0].flatten()

    def affine(self, x) -> LocalMap:
        """The affine map near the point `x`."""
        x, single = self.points(x)
        if not single:
            raise ValueError(f"a local map is one point's, of shape {self.input_shape}; got {len(x)} points: see jacobians")
        return LocalMap(self, x[0])

    def jacobians(self, x, chunk: int = 64) -> Tensor:
        """The matrices of the local maps of many points, `(n, out, in)`, `chunk` points at a time."""
        x, _ = self.points(x)
        if not len(x):
            raise ValueError("matrices are those of one point or more; none is given here")
        return vmap(jacrev(self.flat), chunk_size=chunk)(x).flatten(2)

    @torch.no_grad()
    def pattern(self, x) -> Tensor:
        """On which side of its kinks each unit is, `(units,)` or `(n, units)`: 0 or 1, and for max pooling the pixel it takes."""
        x, single = self.points(x)
        found: list[Tensor] = []
        self.graph.run(x, lambda node, values: found.append(self._pattern(node, values)))
        pattern = torch.cat(found, dim=1) if found else torch.zeros(len(x), 0, dtype=torch.int64, device=x.device)
        return pattern[0] if single else pattern

    def _pattern(self, node: fx.Node, values: dict) -> Tensor:
        if self.graph.kinds[node] == "pool":
            return self.graph.winners(node, values)[1].flatten(1)
        return (self.graph.decisions(node, values) > 0).long()

    def line(self, a, b, most: int = MOST_BENDS, chunk: int | None = None) -> Bends:
        """Every bend on the segment from `a` to `b`, two points.

        most: more bends than this are refused.
        chunk: knots that are computed at once; by default as many as take some 256 MB, on a GPU 4 GB.
        """
        (a, one), (b, two) = self.points(a), self.points(b)
        if not (one and two):
            raise ValueError(f"a segment runs from one point of shape {self.input_shape} to another")
        return bends(self.graph, a[0], b[0], most, chunk)

    def plane(self, origin, u, v, window=1.0, most: int = MOST_FACES) -> Slice:
        """Every piece of the network on the plane `origin + s u + t v`, exactly.

        origin, u, v: tensors of the shape of an input; u and v point in different directions.
        window: where s and t are: a number r for -r to r, a box ((s0, s1), (t0, t1)), or the corners of a convex polygon.
        most: more pieces than this are refused.
        """
        return pieces(self, origin, (u, v), window, most)

    def regions(self, window=1.0, most: int = MOST_FACES) -> Slice:
        """Every piece of a network of two inputs in a window, as `plane` takes it."""
        return pieces(self, None, None, window, most)

    def margin(self, x, direction=None) -> float:
        """How far the nearest crease is from a point: along a direction, or in any direction by the Euclidean norm.

        direction: a vector of the shape of an input; the answer is how many times it fits.

        Without a direction every unit's gradient is computed, `UNITS_AT_ONCE` at a time: for small networks.
        """
        point, single = self.points(x)
        if not single:
            raise ValueError("the margin of one point is asked for at a time")
        if direction is not None:
            way = self.points(torch.as_tensor(direction).reshape(self.input_shape))[0][0]
            z, speed, *_ = jvp(self.sides, (point[0],), (way,))
            times = (-z / speed)[(speed != 0) & (z * speed < 0)]
            return float(times.min()) if len(times) else float("inf")
        z, back, *_ = vjp(self.sides, point[0])
        if not len(z):
            return float("inf")
        rows = torch.eye(len(z), dtype=z.dtype, device=z.device)
        norms = vmap(lambda row: back(row)[0].norm(), chunk_size=UNITS_AT_ONCE)(rows)
        distances = (z.abs() / norms)[norms > 0]
        return float(distances.min()) if len(distances) else float("inf")

    def sides(self, x: Tensor) -> Tensor:
        """Numbers `(rows,)` that keep their signs as long as no unit changes sides, for one point: affine on its piece."""
        found: list[Tensor] = []

        def see(node: fx.Node, values: dict) -> None:
            pool = self.graph.kinds[node] == "pool"
            found.append((self.graph.gaps(node, values)[0] if pool else self.graph.decisions(node, values))[0])

        self.graph.run(x[None], see)
        return torch.cat(found) if found else x.new_zeros(0)

    @cached_property
    def columns(self) -> np.ndarray:
        """The unit of each number of `sides`, as `pattern` counts them."""
        found: list[Tensor] = []
        base = 0

        def see(node: fx.Node, values: dict) -> None:
            nonlocal base
            own = torch.arange(self.units[node.name])
            found.append(base + (self.graph.gaps(node, values)[1].cpu() if self.graph.kinds[node] == "pool" else own))
            base += len(own)

        self.graph.run(torch.zeros(1, *self.input_shape, dtype=self.dtype, device=self.device), see)
        return torch.cat(found).numpy() if found else np.zeros(0, np.int64)

    @cached_property
    def in_double(self) -> PiecewiseLinear:
        """The same network in float64: in float32 walls that meet far away cannot be told from parallel ones."""
        if self.dtype == torch.float64:
            return self
        try:
            graph = Graph(copy.deepcopy(self.graph.module).double(), self.graph.cut_head)
            return PiecewiseLinear(graph, self.input_shape, torch.float64, self.device)
        except ValueError:  # its forward insists on its dtype
            return self

    def cell(self, x) -> Cell:
        """The piece around a point: its walls, without what is not needed, and whether it is bounded.

        Computed in float64, as `cells` is, whatever the network is in.
        """
        point, single = self.points(x)
        if not single:
            raise ValueError("the piece around one point is asked for at a time")
        flat = point.reshape(1, -1).double().cpu().numpy()
        net = self.in_double
        return cells_around(net, flat, net.pattern(point).cpu().numpy(), flat[0])[0][0]

    def cells(self, x, most: int = 100_000) -> Cells:
        """All pieces, found from the one around `x` through walls, in any number of inputs; `graph()` is their dual graph.

        most: more pieces than this are refused.
        Walls farther away than a million times the size of a piece are not seen, and units whose slope is below 1e-12 of the
        steepest one's are taken for dead.
        """
        point, single = self.points(x)
        if not single:
            raise ValueError("the search begins at one point")
        return replace(search(self.in_double, point[0].double(), most), net=self)

    def wrong(self, x, y, layer: str | None = None, k: int | None = None, loss: str | Callable = "mse") -> Wrong:
        """What the data ask of the network and one layer cannot give, and the `k` neurons that help most; `grow()` adds them.

        x, y, loss: points, targets and loss, as `foldnet.fit` takes them, or a function of outputs and y that gives each
        point's loss.
        layer: the name of a linear or convolutional layer that is followed by an activation and another of its kind; None
        takes the one at which the loss falls fastest.
        k: how many neurons; None takes all of use.

        The neurons are TINY's, as those of `foldnet.optimal_neurons`, in closed form. Between convolutions each window counts
        by itself, as if windows shared no pixel; signs, `gain` and the amplitude that `grow` finds are exact.
        """
        from .wrong import wrong

        return wrong(self, x, y, layer, k, loss)

    def to_json(self) -> str:
        """A dense network as text, in the schema that `foldnet.piecewise.text` documents and `from_json` there reads."""
        from .text import to_json

        return to_json(self.graph.dense())

    def points(self, x) -> tuple[Tensor, bool]:
        """Points `(n, *input)` in the network's dtype and on its device, and whether one alone was given."""
        x, single = self._shaped(x)
        if not x.isfinite().all():
            raise ValueError(f"points are finite in {self.dtype}; some given here are NaN or infinite")
        return x.detach(), single

    def _shaped(self, x) -> tuple[Tensor, bool]:
        if isinstance(x, Tensor) and (x.is_meta or x.is_complex()):
            raise ValueError(f"points are real numbers; got a tensor of {x.dtype} on {x.device}")
        x = torch.as_tensor(x, dtype=self.dtype, device=self.device)
        if tuple(x.shape) == self.input_shape:
            return x[None], True
        if tuple(x.shape[1:]) == self.input_shape:
            return x, False
        raise ValueError(f"a point has the shape {self.input_shape}, many points (n, ...) before it; got {tuple(x.shape)}")


def _shape(graph: Graph, given: int | tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape of one input, as given or as the first layer has it."""
    if given is not None:
        return (given,) if isinstance(given, int) else tuple(given)
    layer = next((node for node in graph.nodes if node.op == "call_module"), None)
    if layer is not None and first(layer).op == "placeholder":
        part = graph.parts[str(layer.target)]
        if isinstance(part, nn.Linear):
            return (part.in_features,)
    raise ValueError("of(model, input_shape=...) needs the shape of one input, as (3, 32, 32): the first layer does not tell it")


@torch.no_grad()
def _compare(net: PiecewiseLinear, module: nn.Module, cut_head: bool) -> None:
    """Refuse what is not the module's function, or not affine on a piece, at random points."""
    made = torch.Generator().manual_seed(0)
    x = torch.randn(TRIALS, *net.input_shape, generator=made).to(net.dtype).to(net.device)
    y = net(x)
    near = CLOSE[net.dtype] * max(float(y.abs().max()), 1e-30)
    if not (torch.stack([net(point) for point in x]) - y).abs().max() <= near:
        raise NotPiecewiseLinear("one point gives other outputs than the same point among others: some step mixes them")
    if not cut_head:
        modes = [(part, part.training) for part in module.modules()]
        try:
            true = module.eval()(x)
        finally:
            for part, training in modes:
                part.training = training
        if true.shape != y.shape or not (true - y).abs().max() <= near:
            raise NotPiecewiseLinear(
                "the traced network gives other outputs than the module: its forward may draw random numbers, branch on data, or "
                "change a tensor in place that it uses again"
            )
    towards = x[0] + 1e-3 * (x[1] - x[0])
    try:
        found = net.line(x[0], towards, most=20_000)
    except ValueError:  # too many bends even there to be looked at
        return
    middle = (found.t[:-1] + found.t[1:])[:8] / 2
    seen = net(torch.lerp(x[:1], towards[None], middle.view(-1, *[1] * len(net.input_shape))))
    if not (found.at(middle) - seen).abs().max() <= near:
        raise NotPiecewiseLinear("between two bends this network is not affine: some step bends unseen")
