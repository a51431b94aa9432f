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
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, fx, nn

from .._progress import bar
from ..geometry._chain import Chain
from ..geometry.regions import MOST_FACES
from ._chain import chain
from ._checked import CLOSE, compare, known_shape, shape_of, that_fits
from ._cut import pieces
from ._local import jacobians, margin
from ._precision import full_precision
from ._search import cells_around, search
from ._walk import MOST_BENDS, bends
from .cells import Cell, Cells
from .line import Bends
from .local import LocalMap
from .plane import Slice
from .trace import Graph, NotPiecewiseLinear

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..nets import ReLUNet
    from .wrong import Wrong


@full_precision()
def of(
    module: nn.Module, input_shape: int | tuple[int, ...] | None = None, cut_head: bool = False, x: Tensor | None = None
) -> PiecewiseLinear:
    """The exact piecewise linear function of a torch module, traced in eval mode; the module itself is not touched.

    module: layers, convolutions, batch normalisation, pooling, residual sums, concatenation, ReLU and its kin, in any order.
    input_shape: the shape of one input, as `(3, 32, 32)` or 784; not needed where the first layer is linear.
    cut_head: leave out what follows the last affine step, as a softmax.
    x: points of one's own, `(n, *input)`, at which the network is compared with the module too; they have the shape of an input.

    All but cells is computed in the dtype of the module: what is smaller than 1e-12 of a step's largest value counts as zero in
    float64, 1e-6 in float32, whose products keep all their bits (TF32 is off meanwhile). `of(model.double())` sees finer, on
    short segments and in small windows far more. Where a step is not piecewise linear the error names it. What was traced is
    compared with the module at random points.
    """
    net = _traced(module, cut_head, known_shape(input_shape, x))
    compare(net, module, cut_head, x)
    return net


def _traced(module: nn.Module, cut_head: bool, shape: tuple[int, ...] | None) -> PiecewiseLinear:
    graph = Graph(module, cut_head, shape)
    parameter = next((p for p in [*module.parameters(), *module.buffers()] if p.is_floating_point()), torch.zeros(()))
    if parameter.dtype not in CLOSE:
        raise ValueError(f"a network in float32 or float64 is needed; this one is in {parameter.dtype}: say of(model.float())")
    return PiecewiseLinear(graph, shape_of(graph), parameter.dtype, parameter.device)


class PiecewiseLinear:
    """A traced module: a function that is affine on each of finitely many pieces of its input.

    Points are tensors of the shape of one input, or many of them with one dimension before it. On a crease the side is that of
    torch's derivative. Units with kinks, which are counted where a network is printed, are the numbers at which it can bend: what
    each neuron of a ReLU gives, of a convolution each pixel of each channel, and each window of a max pooling.
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
            except (NotPiecewiseLinear, RuntimeError, ValueError, IndexError, TypeError) as error:
                fits = that_fits(graph, self.input_shape, probe)
                if isinstance(error, NotPiecewiseLinear) and not fits:
                    raise
                raise ValueError(f"the network does not take an input of shape {self.input_shape}{fits} ({error})") from None
        self.units, self.output_shape = dict(zip(graph.kinked, sizes)), tuple(value.shape[1:])

    def __repr__(self) -> str:
        shapes = ("x".join(map(str, shape)) or "1" for shape in (self.input_shape, self.output_shape))
        kind = str(self.dtype).removeprefix("torch.")
        return f"PiecewiseLinear(input {{}}, output {{}}, {sum(self.units.values()):,} units with kinks, {kind})".format(*shapes)

    @full_precision()
    def __call__(self, x) -> Tensor:
        """The outputs: `(*out)` for one point, `(n, *out)` for many."""
        x, single = self._shaped(x)
        y = self.graph.run(x)
        return y[0] if single else y

    def to(self, *args, **kwargs) -> PiecewiseLinear:
        """The same network in another dtype or on another device, as `torch.nn.Module.to`."""
        return _traced(copy.deepcopy(self.graph.module).to(*args, **kwargs), self.graph.cut_head, self.input_shape)

    @full_precision()
    def flat(self, x: Tensor) -> Tensor:
        """The outputs of one point as a vector, for torch.func."""
        return self.graph.run(x[None])[0].flatten()

    def affine(self, x) -> LocalMap:
        """The affine map near the point `x`, or near each of many."""
        return LocalMap(self, *self.points(x))

    @full_precision()
    def jacobians(self, x, chunk: int = 64) -> Tensor:
        """The matrices of the local maps of many points, `(n, out, in)`, `chunk` points at a time.

        Of small convolutions in a row a kernel makes them at once, where that pays.
        """
        x, _ = self.points(x)
        if not len(x):
            raise ValueError("matrices are those of one point or more; none is given here")
        return jacobians(self, x, chunk)

    @full_precision()
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

    @full_precision()
    def line(self, a, b, most: int = MOST_BENDS, chunk: int | None = None, progress: bool = True) -> Bends:
        """Every bend on the segment from `a` to `b`, two points.

        most: more bends than this are refused.
        chunk: knots that are computed at once; by default as many as take some 256 MB, on a GPU 4 GB.
        progress: show a bar, in a terminal or a notebook, of what takes more than a second.
        """
        (a, one), (b, two) = self.points(a), self.points(b)
        if not (one and two):
            raise ValueError(
                f"a segment runs from one point of shape {self.input_shape} to another: leave out the batch, as in a[0]"
            )
        return bends(self.graph, a[0], b[0], most, chunk, progress)

    @full_precision()
    def plane(self, origin, u, v, window=1.0, most: int = MOST_FACES, progress: bool = True) -> Slice:
        """Every piece of the network on the plane `origin + s u + t v`, exactly.

        origin, u, v: tensors of the shape of an input; u and v point in different directions.
        window: where s and t are: a number r for -r to r, a box ((s0, s1), (t0, t1)), or the corners of a convex polygon.
            It counts in u and v, not in pixels: with u = b - a from the origin a, b is at s = 1.
        most: more pieces than this are refused.
        progress: show a bar, as `line` does, with the pieces so far.

        Pieces and seconds grow about as the square of the window: of images begin with a small one, as 0.001.
        """
        return pieces(self, origin, (u, v), window, most, progress)

    @full_precision()
    def regions(self, window=1.0, most: int = MOST_FACES, progress: bool = True) -> Slice:
        """Every piece of a network of two inputs in a window, as `plane` takes it with `most` and `progress`."""
        return pieces(self, None, None, window, most, progress)

    @full_precision()
    def margin(self, x, direction=None, progress: bool = True) -> float | Tensor:
        """How far the nearest crease is, where a unit changes sides: a number, or of many points `(n,)`.

        direction: a step of the shape of an input. The answer is then how many times the step fits, as t of `line`; without
            one it is the Euclidean distance, in any direction.
        progress: show a bar, as `line` does.

        With a step one pass through the network does, some seconds. Without one each unit's gradient is computed, some hundred
        at a time: of images that takes minutes.
        """
        points, single = self.points(x)
        if direction is not None:
            direction = self.points(torch.as_tensor(direction).reshape(self.input_shape))[0][0]
        one, unit = (1, "point") if direction is not None else (len(self.columns), "unit")
        with bar(len(points) * one, progress, unit) as shown:
            found = [margin(self, point, direction, shown) for point in points]
        return float(found[0]) if single else torch.stack(found) if found else points.new_zeros(0)

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
    def dense(self) -> ReLUNet | None:
        """The same as a `ReLUNet`, of a chain of linear layers in float64 on a processor; None of other networks."""
        if self.dtype != torch.float64 or self.device.type != "cpu" or len(self.input_shape) != 1:
            return None
        try:
            return self.graph.dense()
        except ValueError:
            return None

    @cached_property
    def chain(self) -> Chain | None:
        """The same as a chain of small convolutions, whose slopes have a kernel; None of other networks."""
        return chain(self.graph, self.input_shape)

    @cached_property
    def in_double(self) -> PiecewiseLinear:
        """The same network in float64: in float32 walls that meet far away cannot be told from parallel ones."""
        if self.dtype == torch.float64:
            return self
        try:
            return self.to(torch.float64)
        except ValueError:  # its forward insists on its dtype
            return self

    @full_precision()
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

    @full_precision()
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

    @full_precision()
    def wrong(self, x, y, layer: str | None = None, k: int | None = None, loss: str | Callable | None = None) -> Wrong:
        """What the data ask of the network and one layer cannot give, and the `k` neurons that help most; `grow()` adds them.

        x, y, loss: points, targets and loss, as `foldnet.fit` takes them, or a function of outputs and y that gives each
        point's loss. Without one, whole numbers `(n,)` beside two outputs or more are classes, with "cross_entropy"; else "mse".
        layer: the name of the layer that would get the neurons, a linear or convolutional one from which an activation leads to
        another one, with batch normalisation, pooling and a flattening on the way or without; None takes, of those where
        neurons help, the one at which the loss falls fastest.
        k: how many neurons; None takes all of use.

        The neurons are TINY's, as those of `foldnet.optimal_neurons`, in closed form. In it each window of a convolution counts
        by itself, as if windows shared no pixel, and a max pooling as an average; signs, `gain` and the amplitude that `grow`
        finds are exact.
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
        if isinstance(x, np.ndarray) and not x.flags.writeable:  # torch warns of writing, and nothing is written here
            x = x.copy()
        x = torch.as_tensor(x, dtype=self.dtype, device=self.device)
        if tuple(x.shape) == self.input_shape:
            return x[None], True
        if tuple(x.shape[1:]) == self.input_shape:
            return x, False
        raise ValueError(f"a point has the shape {self.input_shape}, many points (n, ...) before it; got {tuple(x.shape)}")
