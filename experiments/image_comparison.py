"""Networks on MNIST and CIFAR-10 compared with each other by their local linear maps, all pairs (Chapter 7 of S2).

Linear, dense, simple and complex networks, SGD and AdamW, five runs each (`image_nets` trains them): 40 networks for each data
set. For each output the coefficient matrices of all networks on all training and test images are made, used for everything and
dropped; least squares runs on normal equations in double precision. About two minutes for each data set on one H200.

>>> from experiments import image_comparison
>>> image_comparison.cells()
[{'data': 'mnist'}, {'data': 'cifar10'}]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from foldbook.chapters import comparison as compare
from foldnet.geometry.comparison import RIDGE, coefficients, kmeans, least_squares, nearest, values
from foldnet.nets import ReLUNet
from foldnet.piecewise.net import PiecewiseLinear

from . import image_nets
from .runner import device

CLUSTERS, SHOWN = (1, 2, 5, 10, 20, 50, 100), 5  # numbers of clusters, and the one whose centres are kept as pictures
PICTURES = {"mnist": (3, 8), "cifar10": (1, 3)}  # outputs whose cluster centres are kept
ALIKE = 2000  # test images of the dissimilarity matrices
AT_ONCE = 1000


def cells() -> list[dict]:
    return [{"data": name} for name in image_nets.DATA]


def cell(data: str, runs: int = image_nets.RUNS, train: int | None = None, test: int | None = None) -> dict:
    """`names` of the networks ("dense sgd 1"), and what `judged` returns for them; `shared`: of the first 1,000, the first
    10,000 and all training images, those that share their activation pattern with another one, `(networks, 3)`."""
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    x, y = (t.to(device()) for t in image_nets.pixels(data, "train", train))
    x_test, y_test = (t.to(device()) for t in image_nets.pixels(data, "test", test))
    nets = networks(data, range(runs))
    members = [member(net, x, x_test) for net in nets.values()]
    shared = [shares(net, x) for net in nets.values()]
    found = judged(members, y, x_test, y_test, PICTURES[data], [n for n in nets if n.endswith(" 1")], list(nets))
    dense, simple = (members[list(nets).index(f"{kind} sgd 1")] for kind in ("dense", "simple"))
    return {"names": list(nets), "shared": shared, **found, "example": example(dense, simple, PICTURES[data][0])}


def networks(data: str, runs=range(2)) -> dict:
    """The networks of these runs (from 0) by name, on the device of large runs."""
    kinds = [(kind, how) for how in image_nets.OPTIMIZERS for kind in image_nets.KINDS]
    stacks = {(kind, how): image_nets.networks(kind, data, how) for kind, how in kinds}
    return {f"{kind} {how} {run + 1}": stacks[kind, how][run].to(device()) for kind, how in kinds for run in runs}


@dataclass(frozen=True)
class Member:
    """A network as the comparison sees it: test `outputs` `(m, 10)`, what its last layer reads there, `(m, features)`, and the
    coefficient matrix of an output on the "train" or "test" images."""

    outputs: Tensor
    reads: Tensor
    rows: Callable[[int, str], Tensor]


@torch.no_grad()
def member(net, x: Tensor, x_test: Tensor) -> Member:
    def rows(output: int, part: str) -> Tensor:
        one = compare.one_output(net, output)
        return torch.cat([coefficients(one, p)[0] for p in (x if part == "train" else x_test).split(AT_ONCE)])

    parts = x_test.split(AT_ONCE)
    return Member(torch.cat([net(p) for p in parts]), torch.cat([features(net, p) for p in parts]), rows)


@torch.no_grad()
def shares(net, x: Tensor) -> list[int]:
    """How many of the first 1,000, 10,000 and all images have an activation pattern that another of them has."""
    prints = torch.cat([fingerprints(net.pattern(part)) for part in x.split(AT_ONCE)])
    counts = [prints[:n].unique(return_counts=True)[1] for n in (1000, 10_000, len(x))]
    return [int(c[c > 1].sum()) for c in counts]


@torch.no_grad()
def example(source: Member, target: Member, output: int, images: int = 4) -> dict:
    """One output mapped from one network to another: the cosine of gradients with the target's, means over the test images, for
    the `mapped` ones, the target's `mean` one and the source's `own`; and `pictures` of the first images: own, mapped, target."""
    a, b = source.rows(output, "train"), target.rows(output, "train")
    own, aim = source.rows(output, "test"), target.rows(output, "test")
    found = {"own": own, "mapped": (own.double() @ least_squares(a, b)).to(own), "mean": b.mean(0).expand_as(aim)}
    near = {k: torch.cosine_similarity(v[:, :-1], aim[:, :-1]).mean().item() for k, v in found.items()}
    shown = {"own": own, "mapped": found["mapped"], "target": aim}
    return {"cosine": near, "pictures": {k: picture(v[:images]) for k, v in shown.items()}}


# One walk for all measures: the maps of an output are large, and are gone when the next output comes.
@torch.no_grad()
def judged(members: list[Member], y, x_test, y_test, pictured=(), shown=(), names=(), clusters=CLUSTERS) -> dict:
    """All measures, `(networks,)` or `(networks, networks)`, row: the one mapped from, column: the one mapped to.

    `right`: test images; `mapped`: right ones after the least-squares map, `agree`: those with the target's own answer;
    `cka`, `cka_plain`: of coefficients, centred and not, means over the outputs (nan where there is none); `inner`, `top`,
    `largest`: inner products of the test coefficients, largest one and largest in size; `cross`: cross-entropies;
    `cka_reads`, `rsa`: of what the last layers read. `clustered` and `pure`, `(networks, clusters)`: right ones after
    clustering, and the mean purity. `centres`: by network, for each pictured output five centres, bytes from -127 to 127,
    `means` the mean maps of all outputs.
    """
    count, many, began = len(members), len(x_test), time.monotonic()
    mapped = torch.zeros(10, count, count, many, device=x_test.device)
    grouped = torch.zeros(10, count, len(clusters), many, device=x_test.device)
    pure = torch.zeros(10, count, len(clusters))
    aligned, plain, inner = (torch.zeros(count, count, dtype=torch.float64, device=x_test.device) for _ in range(3))
    top, largest = torch.full((2, count), -torch.inf, device=x_test.device)
    centres: dict = {name: {} for name in shown}
    means: dict = {name: [] for name in shown}
    points = compare.with_one(x_test)
    for j in range(10):
        train, test = ([m.rows(j, part) for m in members] for part in ("train", "test"))
        hats = [hat(a, b) for a, b in zip(train, test)]
        mapped[j] = mapped_values(hats, train, train, points)
        aligned += alignments(test) / 10
        plain += alignments(test, centred=False) / 10
        flat = torch.stack([t.flatten() for t in test])
        inner += (flat @ flat.T).double()
        top, largest = torch.maximum(top, flat.amax(-1)), torch.maximum(largest, flat.abs().amax(-1))
        del flat
        for i, (a, b) in enumerate(zip(train, test)):
            for c, k in enumerate(clusters if not equal_rows(a) else clusters[:1]):
                middle, cluster = kmeans(a, k, seed=j)
                grouped[j, i, c] = values(middle[nearest(b, middle)], x_test)
                pure[j, i, c] = purity(cluster, y)
                if k == 1:  # where all rows are equal, more clusters are the same one
                    grouped[j, i], pure[j, i] = grouped[j, i, c], pure[j, i, c]
                if names and names[i] in shown and k == 1:
                    means[names[i]].append(picture(middle)[0])
                if names and names[i] in shown and k == SHOWN and j in pictured:
                    centres[names[i]][str(j)] = picture(middle)
        print(f"output {j}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    outputs = torch.stack([m.outputs for m in members])
    answers, own = mapped.argmax(0), outputs.argmax(-1)
    alike = torch.stack([dissimilarities(m.reads[:ALIKE]) for m in members])
    result = {
        "right": (own == y_test).sum(-1),
        "mapped": (answers == y_test).sum(-1),
        "agree": (answers == own).sum(-1),
        "cka": aligned,
        "cka_plain": plain,
        "inner": inner,
        "top": top,
        "largest": largest,
        "cross": compare.cross_entropies(outputs),
        "cka_reads": alignments([m.reads for m in members]),
        "rsa": compare.rank_correlations(alike),
        "clustered": (grouped.argmax(0) == y_test).sum(-1),
        "pure": pure.mean(0),
    }
    short = {k: rounded(v.cpu().numpy()) for k, v in result.items()}
    return {**short, "centres": centres, "means": {k: np.stack(v) for k, v in means.items() if v}}


def picture(rows: Tensor) -> np.ndarray:
    """Gradients `(k, 3 * 32 * 32)` of rows as bytes from -127 to 127, each scaled by its largest number in size; grey where
    the three colours of the images are equal is left to the reader, who adds them."""
    slopes = rows[:, :-1]
    scale = slopes.abs().amax(-1, keepdim=True).clamp(min=1e-30)
    return (127 * slopes / scale).round().to(torch.int8).cpu().numpy().astype(int)


def rounded(array: np.ndarray) -> np.ndarray:
    """Numbers with six digits, which is more than they have on another machine."""
    if array.dtype.kind in "iu":
        return array
    size = 10.0 ** (5 - np.floor(np.log10(np.abs(array), where=array != 0, out=np.zeros(array.shape))))
    return np.round(array * size) / size


# ---- measures that stream or take all pairs ------------------------------------------------------------------------------


def fingerprints(patterns: Tensor) -> Tensor:
    """A whole number for each activation pattern `(n, units)`, `(n,)`: equal for equal patterns, and hardly ever for others."""
    draw = torch.Generator().manual_seed(0)
    factors = torch.randint(-(2**62), 2**62, patterns.shape[-1:], generator=draw).to(patterns.device)
    return torch.cat([(part.long() * factors).sum(-1) for part in patterns.split(200)])


def purity(cluster: Tensor, label: Tensor) -> float:
    """The share of rows with the commonest label of their cluster: 1 where clusters are classes, at least 1 / classes."""
    width = int(label.max()) + 1
    table = torch.bincount(cluster * width + label, minlength=(int(cluster.max()) + 1) * width)
    return float(table.view(-1, width).amax(-1).sum() / len(label))


def hat(train: Tensor, test: Tensor) -> Tensor:
    """H `(m, d)` with `H @ train.T @ target == test @ least_squares(train, target)` for every target: the map without the map."""
    gram = torch.zeros(train.shape[1], train.shape[1], dtype=torch.float64, device=train.device)
    for part in train.split(20_000):
        part = part.double()
        gram.addmm_(part.T, part)
    gram.diagonal().add_(RIDGE * gram.trace())
    return torch.cholesky_solve(test.double().T, torch.linalg.cholesky(gram)).T.to(test.dtype)


def mapped_values(hats: list[Tensor], sources: list[Tensor], targets: list[Tensor], x: Tensor, chunk: int = 500) -> Tensor:
    """Values at test points `(m, d)` of the coefficients of each source mapped to each target: `(sources, targets, m)`.

    `x` has a 1 behind each point (`with_one`), since d counts the constant too. `sources` and `targets` are training matrices
    `(n, d)`, `hats` belong to the sources. No map of d x d numbers is ever made:
    a value is a sum over training rows, of the weight that a row has for the test row, times the target's row at the test point.
    """
    found = []
    for at in range(0, len(x), chunk):
        weights = torch.stack([h[at : at + chunk] @ c.T for h, c in zip(hats, sources)])
        at_points = torch.stack([_rough(x[at : at + chunk], c.T) for c in targets])
        found.append(torch.einsum("ain,bin->abi", weights, at_points))
    return torch.cat(found, -1)


def _rough(a: Tensor, b: Tensor) -> Tensor:
    """A product for which the 11 bits of TF32 are enough, where the device has it."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def alignments(xs: list[Tensor], centred: bool = True) -> Tensor:
    """`foldnet.geometry.comparison.cka` for all pairs, `(len(xs), len(xs))`."""
    none = torch.tensor([centred and equal_rows(x) for x in xs], device=xs[0].device)
    prepared = [x - x.mean(0) for x in xs] if centred else xs
    if len(xs[0]) < min(x.shape[1] for x in xs):  # few rows: the same numbers from the matrices of inner products
        prepared = [x @ x.T for x in prepared]
        of = lambda a, b: (a * b).sum()  # noqa: E731
    else:
        of = lambda a, b: _rough(b.T, a).square().sum()  # noqa: E731
    norm = torch.stack([of(x, x).double().sqrt() for x in prepared])
    top = torch.zeros(len(xs), len(xs), dtype=torch.float64, device=xs[0].device)
    for i, x in enumerate(prepared):
        for j, y in enumerate(prepared):
            top[i, j] = top[j, i] if j < i else of(x, y)
    found = top / norm.unsqueeze(-1) / norm
    found[none], found[:, none] = torch.nan, torch.nan
    return found


def equal_rows(x: Tensor) -> bool:
    """Whether all rows are equal, up to the rounding of constants, which are small differences of large numbers."""
    return bool((x - x[0]).norm() <= torch.finfo(x.dtype).eps ** 0.5 * x.norm())


def dissimilarities(x: Tensor) -> Tensor:
    """One minus the correlation of each two rows: the upper triangle of the dissimilarity matrix, `(n (n - 1) / 2,)`."""
    unit = x - x.mean(-1, keepdim=True)
    unit = unit / unit.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    table = 1 - unit @ unit.T
    above = torch.triu_indices(len(x), len(x), 1, device=x.device)
    return table[above[0], above[1]]


@torch.no_grad()
def features(net: ReLUNet | PiecewiseLinear, x: Tensor) -> Tensor:
    """What the last, linear layer reads at each image, `(*batch, n, features)`; the pixels, where there is no other layer."""
    if isinstance(net, PiecewiseLinear):
        return nn.Sequential(*list(net.graph.module.children())[:-1])(x.to(net.dtype).to(net.device))
    hidden = net.preactivations(x)
    return net.activate(hidden[-1]) if hidden else net.points(x).expand(*net(x).shape[:-1], -1)
