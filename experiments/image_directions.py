"""In which directions do image networks look? Active subspaces of the networks of `image_nets` over all test images.

Behind geometry/sensitivity (S2, Section 6.4). Gradients are streamed; what is kept is small: singular values at some ranks, how
much of an output a direction explains, leading directions of two runs as pictures of one byte per pixel.

>>> from experiments import image_directions
>>> len(image_directions.cells())
16
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from foldbook.chapters.sensitivity import rank, roughness, turning_units
from foldbook.stored import stored
from foldnet.geometry.sensitivity import Moments, directions, explained, leading_eigenpairs, moments, singular_values
from foldnet.geometry.vision import jacobian, jacobians
from foldnet.nets import ReLUNet

from . import image_nets
from .runner import device, short

CHUNK = 250  # images whose gradients stand in memory together
KEPT, FEW = 2, 3  # runs whose directions are kept as pictures; outputs whose singular values are computed in every run
RANKS = tuple(sorted({*np.geomspace(1, 3072, 60).round().astype(int).tolist(), 2, 127, 128, 129, 130}))
BINS, AGAIN = 40, 100  # of a curve; images that a page looks at again
CORNER = 2  # pixels: in the corners of this side every digit is black


@dataclass(frozen=True, eq=False)
class Inputs:
    """Images `(n, pixels)` and labels on a device, their shape, whether the three channels are one picture, a square root of the
    covariance of the pixels and its leading direction."""

    x: Tensor
    y: Tensor
    shape: tuple[int, int, int]
    grey: bool
    spread: Tensor
    principal: Tensor

    @classmethod
    def of(cls, x: Tensor, y: Tensor, shape: tuple[int, int, int]) -> Inputs:
        channels = x.unflatten(1, shape)
        cov = torch.cov(x.double().T)
        return cls(x, y, shape, bool((channels == channels[:, :1]).all()), root(cov), leading_eigenpairs(cov)[1][:, 0])

    def seen(self, ways: Tensor) -> Tensor:
        """What of directions `(*, pixels)` meets the images, `(*, channels, height, width)`: one channel, the sum, if grey."""
        pictures = ways.unflatten(-1, self.shape)
        return pictures.sum(-3, keepdim=True) if self.grey else pictures


def cells() -> list[dict]:
    grid = image_nets.KINDS, image_nets.DATA, image_nets.OPTIMIZERS
    return [{"kind": k, "data": d, "optimizer": o} for k in grid[0] for d in grid[1] for o in grid[2]]


def cell(kind: str, data: str, optimizer: str) -> dict:
    """What `look` finds at the five runs of a kind of network, over all test images."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # ten bits would be seen in small values
    nets = image_nets.networks(kind, data, optimizer)
    return look(nets.to(device()) if isinstance(nets, ReLUNet) else [net.to(device()) for net in nets], inputs(data))


@functools.cache
def inputs(data: str) -> Inputs:
    x, y = image_nets.pixels(data)
    return Inputs.of(x.to(device()), y.to(device()), (3, 32, 32))


def again(kind: str, data: str, optimizer: str, run: int = 1) -> float:
    """The largest gap between `sample` as stored and as the book's copy of a network gives it: of R^2 itself, else relative."""
    row, (x, _) = stored("image_directions").row(kind=kind, data=data, optimizer=optimizer), image_nets.samples(data)
    x, net = x[:AGAIN], image_nets.network(kind, data, optimizer, run)
    slopes = jacobian(net, x).double().transpose(0, 1)  # (10, n, pixels)
    way = torch.as_tensor(row["directions"][run - 1]).double()
    line = _correlation(way @ x.double()[:, : way.shape[-1]].T, net(x).mT.double()).square()
    trace, top = slopes.square().sum((-1, -2)) / len(x), torch.linalg.svdvals(slopes)[:, 0].square() / len(x)
    gaps = [(new / torch.as_tensor(row["sample"][name][run - 1]) - 1) for name, new in (("trace", trace), ("top", top))]
    return max(gap.abs().max().item() for gap in [*gaps, line - torch.as_tensor(row["sample"]["line"][run - 1])])


@torch.no_grad()
def glance(nets, x: Tensor, y: Tensor, count: int = 50) -> dict[str, Tensor]:
    """What `look` finds of networks `(*batch,)`, at the first few of grey images `(n, pixels)`: `top` `(*batch, 10, count)`, all
    singular values, `roughness` `(*batch, 10)` and `template` `(*batch, 10, 10)`, by all the images.

    So few gradients are a table with a singular value decomposition; no matrix of all pixels is needed.
    """
    return glimpsed(torch.cat([*jacobians(nets, x[:count], 25)], -3), x, y)


def glimpsed(slopes: Tensor, x: Tensor, y: Tensor, grey: bool = True) -> dict[str, Tensor]:
    """The same from gradients `(*batch, count, 10, pixels)` and images, and `directions` `(*batch, 10, pixels seen)`."""
    given = Inputs(x, y, (3, *[round((x.shape[-1] / 3) ** 0.5)] * 2), grey, x.new_empty(0), x.new_empty(0))
    slopes = slopes.double().transpose(-3, -2)
    _, values, ways = torch.linalg.svd(slopes, full_matrices=False)
    way = ways[..., 0, :]
    seen = given.seen(way * torch.where((way * slopes.mean(-2)).sum(-1, keepdim=True) < 0, -1.0, 1.0))
    flat = torch.nn.functional.normalize(seen.flatten(-3), dim=-1)
    found = {"top": values.square() / slopes.shape[-2], "roughness": roughness(seen).mean(-1)}
    return found | {"template": flat @ _templates(given).T, "directions": flat}


@torch.no_grad()
def look(nets, given: Inputs) -> dict:
    """Of networks `(R,)` with ten outputs:

    `explained[way]` `(R, 10)`, R^2 of each output along a direction: `active` (leading), `grey` (that of the gradient by grey
    values, where the channels are one picture), `data` (`directions_for_data`), `mean` (the mean gradient), `principal` (of the
    images) and `random`; `line`, R^2 of a straight line along the leading direction. `top` `(R, 10, 4)` singular values, `trace`,
    `steady` and `participation` `(R, 10)` as in `Moments`. `values[run]`: singular values at RANKS, of all outputs in run 1 and
    of FEW in the others, and `rank[run]`, how many are not zero. `roughness` `(R, 10)`; `alike` `(pairs,)`, mean cosine of the
    directions of two runs; `template` `(R, 10, 10)`, cosines of directions with each class's mean image minus that of the
    others. `directions` `(KEPT, 10, pixels seen)`, whole numbers up to 127. `curve`: of run 1, `at`, `mean`, `low` and `high`
    `(10, BINS)`, outputs along the leading direction with their tenths. Where a network is dense, `units`: rank of its patterns,
    units that are never on and always on, `(R,)` each; on digits, `corner` `(R,)`: how much is left of the noise of the start.
    `sample`: `trace` and `top` once more, of the first AGAIN images alone, and `line` for these: what a page can compute again.
    """
    found = moments(jacobians(nets, given.x, CHUNK))
    f = torch.stack([torch.cat([net(part) for part in given.x.split(CHUNK)]) for net in nets]).mT.double()  # (R, 10, n)
    ways = _ways(found, given)
    project = lambda way: way @ given.x.double().T  # noqa: E731
    active = ways["active"]
    result: dict = {"explained": {name: short(explained(project(way), f), 4) for name, way in ways.items()}}
    result["line"] = short(_correlation(project(active), f).square(), 4)
    result["top"] = short(leading_eigenpairs(found.second, 4)[0], 5)
    result |= {name: short(getattr(found, name), 4) for name in ("trace", "steady", "participation")}
    result |= _spectra(nets, found)
    few = given.x[:AGAIN]
    again = moments(jacobians(nets, few, CHUNK))
    line = _correlation(active @ few.double().T, f[..., : len(few)]).square()
    sample = {"trace": again.trace, "top": leading_eigenpairs(again.second)[0].squeeze(-1), "line": line}
    result["sample"] = {name: short(v, 4) for name, v in sample.items()}
    seen = given.seen(active)
    flat = torch.nn.functional.normalize(seen.flatten(2), dim=-1)
    result["roughness"] = short(roughness(seen).mean(-1), 4)
    one, two = torch.triu_indices(len(flat), len(flat), 1).to(flat.device)
    result["alike"] = short((flat[one] * flat[two]).sum(-1).mean(-1), 4)
    result["template"] = short(flat @ _templates(given).T, 3)
    kept = flat[:KEPT]
    result["directions"] = (127 * kept / kept.abs().amax(-1, keepdim=True)).round().int().tolist()
    result["curve"] = _curve(project(active)[0], f[0])
    if isinstance(nets, ReLUNet) and len(nets.weights) <= 2:
        result |= _dense(nets, given)
    return result


def _ways(found: Moments, given: Inputs) -> dict[str, Tensor]:
    """The directions whose R^2 is measured, `(R, 10, pixels)` or what broadcasts to it."""
    ways = {"active": directions(found), "data": directions_for_data(found, given.spread), "mean": found.mean}
    if given.grey:
        side = (given.shape[0], -1)
        mean = found.mean.unflatten(-1, side).sum(-2)
        second = found.second.unflatten(-1, side).sum(-2).unflatten(-2, side).sum(-3)
        ways["grey"] = directions(Moments(mean, second)).repeat(1, 1, given.shape[0])
    drawn = np.random.default_rng(0).normal(size=tuple(found.mean.shape))
    return ways | {"principal": given.principal, "random": torch.as_tensor(drawn).to(found.mean)}


def _correlation(a: Tensor, b: Tensor) -> Tensor:
    a, b = (v - v.mean(-1, keepdim=True) for v in (a, b))
    return torch.nn.functional.cosine_similarity(a, b, dim=-1)


def _spectra(nets, found: Moments) -> dict:
    """Singular values and ranks; a linear network's are computed within the span of its weights."""
    values, ranks = [], []
    for run, second in enumerate(found.second):
        within = nets.weights[0][run] if isinstance(nets, ReLUNet) and len(nets.weights) == 1 else None
        each = singular_values(second[: FEW if run else None], within)
        ranks.append(rank(each).tolist())
        values.append(short(each[:, [k - 1 for k in RANKS if k <= each.shape[-1]]], 4))
    return {"values": values, "rank": ranks}


def _templates(given: Inputs) -> Tensor:
    """The mean image of each class minus that of the others, as seen, of length 1: `(10, pixels seen)`."""
    pictures = given.seen(given.x.double()).flatten(1)
    mask = torch.nn.functional.one_hot(given.y, 10).double().T
    part = lambda m: m @ pictures / m.sum(-1, keepdim=True)  # noqa: E731
    return torch.nn.functional.normalize(part(mask) - part(1 - mask), dim=-1)


def _curve(t: Tensor, f: Tensor) -> dict:
    order = t.argsort(dim=-1)[..., : t.shape[-1] // BINS * BINS]
    at, out = (v.gather(-1, order).unflatten(-1, (BINS, -1)) for v in (t, f))
    tenths = {"low": out.quantile(0.1, -1), "high": out.quantile(0.9, -1)}
    return {name: short(v, 4) for name, v in ({"at": at.mean(-1), "mean": out.mean(-1)} | tenths).items()}


def _dense(nets: ReLUNet, given: Inputs) -> dict:
    """Which units switch, and how much of the noise of the start is left where all digits are black.

    There every weight of a unit gets the same steps, so that only the decay of weights acts on the differences between them.
    """
    result: dict = {}
    if len(nets.weights) == 2:
        on = torch.cat([nets.pattern(part) for part in given.x.split(CHUNK)], -2)
        share = on.double().mean(-2)
        result["units"] = {
            "rank": turning_units(on).tolist(),
            "never": (share == 0).sum(-1).tolist(),
            "always": (share == 1).sum(-1).tolist(),
        }
    if given.grey:
        corner = torch.zeros(given.shape[1:], dtype=torch.bool)
        for rows in (slice(CORNER), slice(-CORNER, None)):
            for columns in (slice(CORNER), slice(-CORNER, None)):
                corner[rows, columns] = True
        weights = nets.weights[0].unflatten(-1, given.shape)[..., corner.to(nets.device)].flatten(-2).double()
        result["corner"] = short(weights.var(-1).mean(-1).sqrt() * (3 * nets.sizes[0]) ** 0.5, 4)
    return result


def directions_for_data(of: Moments, spread: Tensor) -> Tensor:
    """As `directions`, with changes of the input measured in standard deviations of the data: `(*batch, out, in)`.

    `spread` is a square root of the covariance of the inputs, `(in, in)`, symmetric. The directions w are the leading ones with
    E[g g^T] Cov w = value * w.
    """
    inner = leading_eigenpairs(spread @ of.second @ spread)[1]
    found = (of.second @ (spread @ inner)).squeeze(-1)
    found = found / found.norm(dim=-1, keepdim=True).clamp(min=1e-300)
    return found * torch.where((found * of.mean).sum(-1, keepdim=True) < 0, -1.0, 1.0)


def root(covariance: Tensor) -> Tensor:
    """The symmetric square root of a matrix without negative eigenvalues."""
    values, vectors = torch.linalg.eigh(covariance)
    return vectors * values.clamp(min=0).sqrt() @ vectors.mT
