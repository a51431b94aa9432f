"""Pruning on parity: every subset of wide layers, neuron after neuron of deep networks, and what it costs (Section 3.4.4 of S2).

Weights are He's normal ones, biases those of torch.nn.Linear; ReLU, Adam at rate 0.025, binary cross-entropy with logits, 4,000
epochs, inputs -1 and 1. A training stops at a mean loss of 0.01, which leaves none of 64 corners wrong.

>>> from experiments import pruning_boolean
>>> sorted({c["kind"] for c in pruning_boolean.cells()})
['cost', 'deep', 'direct', 'wide']
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch

from foldnet.boolean.functions import parity
from foldnet.boolean.pruning import pad_widths, prune_deep, prune_wide, solves, subnetworks, train_on
from foldnet.boolean.training import EPOCHS
from foldnet.nets import ReLUNet, stack

from .runner import device, short

DIGITS, WIDTHS, TRIALS, TABLES = range(1, 7), range(2, 15), 4, 5
DEEP = ((2, 10, 5), (3, 15, 5), (4, 20, 5), (5, 25, 5), (6, 30, 5))  # digits, width, depth: Table 3.5
NETWORKS, PRUNINGS, BLOCKS = 4, 10, 10
RATE = 100  # networks of width 15 and depth four in a block, for the share that ends at 2-2
SURE = 0.01  # the mean loss below which at most 64 corners are all right: log(2) / 64 is 0.0108
WIDE, NARROW, COST_DIGITS = 6, 3, 4  # of the question what pruning costs
DIRECT = (((3,), 0.0), ((2, 2), 0.0), ((3,), 0.1), ((2, 2), 0.1))  # hidden widths and leak, trained from scratch
STARTS, SMALL = 1000, 10_000  # networks in a block that are pruned, and that are small from the start
TUNING = (100, EPOCHS)  # epochs after the removal of a neuron, and again if no removal succeeds


def cells() -> list[dict]:
    """Five tables of four trials, one of leaky networks; ten blocks for the costs; deep networks of two to six digits, and two
    blocks of those whose share that ends at 2-2 is asked for."""
    table = lambda leak, block: [{"kind": "wide", "digits": n, "leak": leak, "block": block} for n in DIGITS]  # noqa: E731
    wide = [c for leak, block in [*((0.0, b) for b in range(TABLES)), (0.1, 0)] for c in table(leak, block)]
    cost = [{"kind": "cost", "block": block} for block in range(BLOCKS)]
    direct = [{"kind": "direct", "hidden": list(h), "leak": leak, "block": b} for h, leak in DIRECT for b in range(BLOCKS)]
    deep = [{"kind": "deep", "digits": n, "width": w, "depth": d, "block": 0} for n, w, d in DEEP]
    deep += [{"kind": "deep", "digits": 4, "width": 15, "depth": 4, "block": b} for b in (1, 2)]
    return wide + cost + direct + deep


def cell(kind: str, block: int, **setting) -> dict:
    """One of `wide`, `cost`, `direct` and `deep`, which say what they return."""
    return {"wide": wide, "cost": cost, "direct": direct, "deep": deep}[kind](block=block, **setting)


def start(sizes, batch, seed: list[int] | int, leak: float = 0.0) -> ReLUNet:
    """He's normal weights and the uniform biases of torch.nn.Linear, in single precision, on the device of large runs."""
    draw = lambda init, stream: ReLUNet.random(sizes, batch, init, leak, np.random.SeedSequence([*np.atleast_1d(seed), stream]))  # noqa: E731  # ty: ignore[invalid-argument-type]
    return ReLUNet(draw("he", 0).weights, draw("torch", 1).biases, leak).to(torch.float32).to(device())


def wide(
    digits: int, block: int, leak: float = 0.0, widths=WIDTHS, trials: int = TRIALS, starts: int = 200, epochs=EPOCHS
) -> dict:
    """Table 3.4: `solved` of so many `starts` of each width, and for the first four that succeed, `(widths, trials)`: the least
    width of a subnetwork that succeeds (`pruned`), how many do (`successes`) and how many were trained (`tried`); 0 for none."""
    f, most = parity(digits), max(widths)
    first = [start((digits, w, 1), starts, [1, digits, w, block], leak) for w in widths]
    done = train_on(stack([pad_widths(nets, (most,)) for nets in first]), f, epochs, SURE).net
    right = solves(done, f).cpu().numpy()
    place = [(i, t, k) for i, row in enumerate(right) for k, t in enumerate(np.flatnonzero(row)[:trials].tolist())]
    cut = lambda net, w: net.with_layers([net.weights[0][:w], net.weights[1][:, :w]], [net.biases[0][:w], net.biases[1]])  # noqa: E731
    found = prune_wide([cut(done[i, t], widths[i]) for i, t, _ in place], f, epochs, SURE) if place else []
    names = ("pruned", "successes", "tried")
    result = {name: np.zeros((len(first), trials), int) for name in names}
    for (i, _, k), values in zip(place, found):
        for name, value in zip(names, values):
            result[name][i, k] = value
    kept = {name: value.tolist() for name, value in result.items()}
    return {"widths": list(widths), "starts": starts, "solved": right.sum(1).tolist(), **kept}


def cost(block: int, networks: int = STARTS, epochs: int = EPOCHS, marks: int = 100) -> dict:
    """Networks of width six on four-parity, and all 20 subnetworks of width three of those that succeed.

    `solved` and `epochs`, the mean epochs of a training; then for the subnetworks with the weights that training found
    (`tuned`), with those that the same neurons had at the start (`rewound`), and as many fresh ones (`fresh`): `successes` of 20
    for each network, and mean `epochs`. `largest`: how often the three neurons with the largest products of norms are among the
    successes (tuned). `rank`: the place of each success among its 20 sisters by loss before training, 0 the smallest; `after`,
    the epochs it took; `waits`, the plateaus on the way of each success, and of each network of width six that solves it; and of
    block 0 the `curves` of loss of the successes at `at`.
    """
    f = parity(COST_DIGITS)
    first = start((COST_DIGITS, WIDE, 1), networks, [2, block])
    every = max(1, epochs // marks)
    run = train_on(first, f, epochs, SURE, every)
    good = solves(run.net, f)
    before, after = first[good], run.net[good]
    choices = list(combinations(range(WIDE), NARROW))
    fresh = start((COST_DIGITS, NARROW, 1), (int(good.sum()), len(choices)), [3, block])
    result: dict = {"networks": networks, "solved": int(good.sum()), "epochs": {"wide": _mean(run.epochs_run)}, "successes": {}}
    result["waits"] = {"wide": plateaus(run.loss[:, good], every).tolist()}
    for name, nets in (("tuned", subnetworks(after, NARROW)), ("rewound", subnetworks(before, NARROW)), ("fresh", fresh)):
        runs = train_on(nets, f, epochs, SURE, every)
        right = solves(runs.net, f)
        result["successes"][name] = right.sum(-1).tolist()
        result["epochs"][name] = _mean(runs.epochs_run)
        if name == "tuned":
            order = runs.loss[0].argsort(-1).argsort(-1)
            result["waits"]["tuned"] = plateaus(runs.loss[:, right], every).tolist()
            result |= {"rank": order[right].tolist(), "after": runs.epochs_run[right].tolist()}
            size = after.weights[0].norm(dim=-1) * after.weights[1][:, 0].abs()
            best = size.argsort(-1, descending=True)[:, :NARROW].sort(-1).values.cpu().numpy()
            at = {c: i for i, c in enumerate(choices)}
            result["largest"] = sum(bool(right[k, at[tuple(b)]]) for k, b in enumerate(best.tolist()))
            if block == 0:
                result |= {"at": runs.epoch.tolist(), "curves": short(runs.loss[:, right].T, 4)}
    return result


def plateaus(loss: torch.Tensor, every: int, least: int = 200, change: float = 0.02, above: float = 0.1) -> torch.Tensor:
    """How often a loss `(K, *)`, seen every so many epochs, rests: stretches of `least` epochs or more in which it stays above
    0.1 and changes by less than two percent. Two rests are parted by a time in which it changes more."""
    window = loss.unfold(0, max(2, -(-least // every) + 1), 1)
    low, high = window.amin(-1), window.amax(-1)
    flat = (high < (1 + change) * low) & (low > above)
    begins = flat & ~torch.cat([torch.zeros_like(flat[:1]), flat[:-1]])
    return begins.sum(0)


def direct(hidden, leak: float, block: int, networks: int = SMALL, epochs: int = EPOCHS) -> dict:
    """Small networks trained on four-parity from scratch: how many, how many succeed, and the mean epochs of a training."""
    nets = start((COST_DIGITS, *hidden, 1), networks, [4, *hidden, int(100 * leak), block], leak)
    run = train_on(nets, parity(COST_DIGITS), epochs, SURE)
    return {"networks": networks, "solved": int(solves(run.net, parity(COST_DIGITS)).sum()), "epochs": _mean(run.epochs_run)}


def deep(
    digits: int, width: int, depth: int, block: int, networks: int | None = None, prunings: int | None = None, tuning=TUNING
) -> dict:
    """Table 3.5: the hidden widths at the end of each pruning, as texts such as "2-2" `(networks * prunings)`, and its work.

    Four networks are pruned ten times each; of width 15 and depth four, for the rate, a hundred are pruned once. `solved` of as
    many trainings; `epochs`, the mean epochs of one; `work`, epochs times parameters over all subnetworks tried; `length` of the
    path.
    """
    rate = depth == 4
    networks, prunings = networks or (RATE if rate else NETWORKS), prunings or (1 if rate else PRUNINGS)
    f, sizes = parity(digits), (digits, *[width] * depth, 1)
    run = train_on(start(sizes, networks, [5, digits, width, block]), f, EPOCHS, SURE)
    good = solves(run.net, f).nonzero().flatten().tolist()
    states = prune_deep([run.net[i] for i in good for _ in range(prunings)], f, tuning, seed=block)
    return {
        "networks": networks,
        "solved": len(good),
        "epochs": _mean(run.epochs_run),
        "hidden": ["-".join(map(str, s.path[-1])) for s in states],
        "work": short([s.work for s in states], 6),
        "length": [len(s.path) - 1 for s in states],
        "sure": int(sum(bool(solves(s.net, f)) for s in states)),
    }


def _mean(epochs: torch.Tensor) -> float:
    return round(float(epochs.double().mean()), 1)
