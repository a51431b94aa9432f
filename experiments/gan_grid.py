"""GANs on a grid of nine modes: simultaneous descent and Follow-the-Ridge, each plain and with RMSprop, many seeds at once.

The games of the lecture's pictures (S3-fig-gan-simgd, -fr, -rmsprop, -fr-rmsprop), with what their names say: one hidden layer of
128 neurons each, rates 0.001, batches of 128, noise of two dimensions and scale 0.1, modes of width 0.1. Three by three modes, 5
apart, and a damping of 1 added to -H_yy are what a public code of one of the authors makes of "grid5" and "dh1.0". What is ours:
networks start as torch.nn.Linear does, with output biases, which that code has not, and data are fresh at every step. Beside them
the same games with noise of scale 1, which has more folds inside and needs less steepness: all else equal.

A cell goes on from the state that the cell before it left in `_sweeps/gan_grid/`; without one it begins at the first step. The
four kinds of a rule are played in one batch.

>>> from experiments import gan_grid
>>> gan_grid.cells()[0]
{'rule': 'simultaneous', 'steps': 200}
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from foldbook import paths
from foldbook.chapters import gans
from foldbook.statistics import interval as interval
from foldbook.stored import stored
from foldnet.nets import ReLUNet
from foldnet.splines.gans import Games, game_value

from .runner import device, short

SEEDS, WIDTH, BATCH, LR, DAMPING = 30, 128, 128, 1e-3, 1.0
KINDS = {"sgd": (False, 0.1), "rmsprop": (True, 0.1), "sgd wide": (False, 1.0), "rmsprop wide": (True, 1.0)}  # scaled, noise
WAYS = {  # the four of the lecture: rule and kind
    "simultaneous": ("simultaneous", "sgd"),
    "ridge": ("ridge", "sgd"),
    "simultaneous + RMSprop": ("simultaneous", "rmsprop"),
    "ridge + RMSprop": ("ridge", "rmsprop"),
}
LAST, EARLY = 400_000, 40_000
MARKS = (200, 1000, 4000, 10_000, 20_000, 40_000, 100_000, 200_000, 400_000)
LONGER = (1_000_000, 2_400_000)  # the lecture's run with RMSprop alone
CHUNK = 200  # steps whose data and noise are drawn at once; every mark is a multiple
SAMPLES, KEPT = 10_000, 3  # points of noise that a generator is judged by, and seeds whose generators are kept


def found(way: str, name: str, steps: int = LAST) -> np.ndarray:
    """What the stored games of one way have, by seed."""
    rule, kind = WAYS[way]
    return np.asarray(stored("gan_grid").row(rule=rule, steps=steps)[name][kind], dtype=float)


def cells() -> list[dict]:
    """In the order in which they are worth having: both rules to 400,000, the long run, and Follow-the-Ridge with a guard."""
    both = [{"rule": rule, "steps": mark} for rule in ("simultaneous", "ridge") for mark in MARKS]
    both += [{"rule": "simultaneous", "steps": mark} for mark in LONGER]
    return both + [{"rule": "guarded", "steps": mark} for mark in MARKS]


def cell(rule: str, steps: int, seeds: int = SEEDS, folder: Path | None = None) -> dict:
    """For each kind, by seed: `covered` modes of nine, `quality`, `shares` of each mode, `steep` (the largest stretch over the
    samples), `stretch` (its median within modes and between, 0 where no sample is), `folds` that meet the noise, within one and
    three of its standard deviations, `value` of the game; `generator`, the parameters of the first generators."""
    folder = folder or paths.repository() / "_sweeps" / "gan_grid"
    games, source = resume(rule, steps, seeds, folder)
    play(games, seeds, source, steps, rule)
    folder.mkdir(parents=True, exist_ok=True)
    state = {"games": [t.cpu() for t in games.state], "source": source.get_state(), "seeds": seeds}
    torch.save(state, folder / f"{rule}-{steps}.pt")
    result: dict = {"seeds": seeds}
    for name, found in measure(games).items():
        result[name] = {kind: short(part, 6) for kind, part in zip(KINDS, found.unflatten(0, (len(KINDS), seeds)))}
    result["generator"] = {kind: g[:KEPT] for kind, g in result["generator"].items()}
    return result


def start(seeds: int = SEEDS) -> Games:
    """Games `(kinds * seeds,)`, one kind after another: every kind begins with the same networks."""
    shapes = ((2, WIDTH, 2), (2, WIDTH, 1))
    nets = [ReLUNet.random(sizes, batch=SEEDS, seed=2020 + k, dtype=torch.float32) for k, sizes in enumerate(shapes)]
    each = [net[torch.arange(len(KINDS) * seeds) % seeds].to(device()) for net in nets]
    scaled = torch.tensor([scaled for scaled, _ in KINDS.values()]).repeat_interleave(seeds)
    return Games.start(*each, scaled.to(device()))


def resume(rule: str, steps: int, seeds: int, folder: Path) -> tuple[Games, torch.Generator]:
    """The games and the source of their random numbers, from the latest state up to `steps`."""
    games, source = start(seeds), torch.Generator(device()).manual_seed(2020)
    done = max((m for m in (*MARKS, *LONGER) if m <= steps and (folder / f"{rule}-{m}.pt").is_file()), default=0)
    if done:
        kept = torch.load(folder / f"{rule}-{done}.pt", weights_only=True)
        if kept["seeds"] != seeds:
            raise ValueError(f"the state in {folder} has {kept['seeds']} seeds, and {seeds} are asked for: remove it")
        for tensor, value in zip(games.state, kept["games"]):
            tensor.copy_(value)
        source.set_state(kept["source"])
    return games, source


def play(games: Games, seeds: int, source: torch.Generator, until: int, rule: str) -> None:
    """Play on to so many steps. All kinds of a seed meet the same data and noise.

    The first CHUNK batches are drawn by the processor, for SEEDS seeds: so any machine can repeat the beginning of a run.
    """
    scale, ridge, guarded = noise_scales(games), rule != "simultaneous", rule == "guarded"
    for done in range(int(games.count.item()), until, CHUNK):
        data, noise = (
            t[:, :seeds].to(games.x).contiguous() for t in batches(source if done else torch.Generator().manual_seed(2020))
        )
        if games.x.is_cuda:
            games.play(scale, data, noise, ridge, LR, DAMPING, guarded)
            continue
        for k in range(CHUNK):
            real, spread = (t[k].repeat(len(KINDS), 1, 1) * by for t, by in ((data, 1.0), (noise, scale[:, None, None])))
            games.step(real, spread, LR, ridge, DAMPING, guarded)


def batches(source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Data and noise of scale 1 for CHUNK steps, `(CHUNK, SEEDS, BATCH, 2)` each."""
    shape = CHUNK, SEEDS, BATCH
    return grid(source.device).sample(shape, source), torch.randn(*shape, 2, generator=source, device=source.device)


def noise_scales(games: Games) -> Tensor:
    return torch.tensor([scale for _, scale in KINDS.values()]).to(games.x).repeat_interleave(len(games.x) // len(KINDS))


def grid(device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> gans.Modes:
    made = gans.mode_grid(3, 5.0, 0.1, dtype=dtype)
    return gans.Modes(made.centers.to(device), made.width)


def measure(games: Games) -> dict[str, Tensor]:
    """What `cell` tells, by name, with a first axis over the games; 10,000 points of noise, the same for all."""
    net, data = games.generator(), grid(games.x.device)
    source, scale = torch.Generator(games.x.device).manual_seed(1), noise_scales(games)
    noise = torch.randn(SAMPLES, 2, generator=source, device=games.x.device) * scale[:, None, None]
    points = net(noise)
    near = torch.cdist(points, data.centers).amin(-1) <= gans.NEAR * data.width
    steep, shares = gans.steepness(net, noise), data.shares(points)
    middle = lambda where: steep.where(where, torch.nan).nanmedian(-1).values.nan_to_num(0.0)  # noqa: E731
    real = data.sample((len(games.x), SAMPLES), source)
    return {
        "covered": gans.covered(shares),
        "quality": gans.quality(shares),
        "shares": shares,
        "steep": steep.amax(-1),
        "stretch": torch.stack([middle(near), middle(~near)], -1),
        "folds": torch.stack([gans.folds_within(net, radius * scale) for radius in (1, 3)], -1),
        "value": game_value(net, games.discriminator(), real, noise),
        "generator": games.x,
    }
