"""GANs on a grid of 25 modes: simultaneous descent and Follow-the-Ridge, each plain and with RMSprop, many seeds at once.

Games like those of the lecture's pictures (S3-fig-gan-simgd, -fr, -rmsprop, -fr-rmsprop), with what their names say: one hidden
layer of 128 neurons each, rates 0.001, batches of 128, noise of two dimensions and scale 0.1, modes of width 0.1, damping 1. What
the names leave open is ours: modes stand 1 apart, networks start as torch.nn.Linear does, both players are ReLU networks. Beside
them the same games with noise of scale 1, which has more folds inside and needs less steepness: all else equal.

A cell goes on from the state that the cell before it left in `_sweeps/gan_grid/`; without one it begins at the first step. The
four kinds of a rule are played in one batch; after 400,000 steps only simultaneous descent with RMSprop goes on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .. import _paths
from ..data import stored
from ..nets import ReLUNet
from ..splines import gans, modes
from ..training.capture import captured
from .runner import device, short

SEEDS, WIDTH, BATCH, LR, DAMPING = 10, 128, 128, 1e-3, 1.0
KINDS = {"sgd": (False, 0.1), "rmsprop": (True, 0.1), "sgd wide": (False, 1.0), "rmsprop wide": (True, 1.0)}  # scaled, noise
LONG = "rmsprop"
WAYS = {  # the four of the lecture: rule and kind
    "simultaneous": ("simultaneous", "sgd"),
    "ridge": ("ridge", "sgd"),
    "simultaneous + RMSprop": ("simultaneous", "rmsprop"),
    "ridge + RMSprop": ("ridge", "rmsprop"),
}
LAST, EARLY = 400_000, 40_000
MARKS = (1000, 4000, 10_000, 20_000, 40_000, 100_000, 200_000, 400_000)
LONGER = (800_000,)  # of the printed 2,400,000, which take some minutes of a GPU each 400,000
CHUNK = 20  # steps in one graph; every mark is a multiple
SAMPLES, KEPT = 10_000, 3  # points of noise that a generator is judged by, and seeds whose generators are kept


def found(way: str, name: str, steps: int = LAST) -> np.ndarray:
    """What the stored games of one way have, by seed."""
    rule, kind = WAYS[way]
    return np.asarray(stored("gan_grid").row(rule=rule, steps=steps)[name][kind], dtype=float)


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """The mean over seeds and both ends of its 95 % interval, by Student's distribution."""
    from scipy.stats import t

    mean, error = values.mean(), values.std(ddof=1) / len(values) ** 0.5
    reach = t.ppf(0.975, len(values) - 1) * error
    return mean, mean - reach, mean + reach


def cells() -> list[dict]:
    """In the order in which they are worth having: both rules to 400,000, then the long run."""
    both = [{"rule": rule, "steps": mark} for rule in ("simultaneous", "ridge") for mark in MARKS]
    return both + [{"rule": "simultaneous", "steps": mark} for mark in LONGER]


def cell(rule: str, steps: int, seeds: int = SEEDS, folder: Path | None = None) -> dict:
    """For each kind, by seed: `covered` and `captured` modes of 25, `quality`, `shares` of each mode, `steep` (the largest
    stretch over the samples), `stretch` (its median within modes and between, 0 where no sample is), `folds` that meet the noise,
    within one and three of its standard deviations, `value` of the game; `generator`, the parameters of the first generators."""
    folder = folder or _paths.repository() / "_sweeps" / "gan_grid"
    games, source, done = resume(rule, steps, seeds, folder)
    play(games, seeds, source, steps - done, rule == "ridge")
    folder.mkdir(parents=True, exist_ok=True)
    state = {"games": [t.cpu() for t in games.state], "source": source.get_state(), "seeds": seeds}
    torch.save(state, folder / f"{rule}-{steps}.pt")
    kinds = list(KINDS) if len(games.x) > seeds else [LONG]
    result: dict = {"seeds": seeds}
    for name, found in measure(games, kinds).items():
        result[name] = {kind: short(part, 6) for kind, part in zip(kinds, found.unflatten(0, (len(kinds), seeds)))}
    result["generator"] = {kind: g[:KEPT] for kind, g in result["generator"].items()}
    return result


def start(seeds: int = SEEDS) -> gans.Games:
    """Games `(kinds * seeds,)`, one kind after another: every kind begins with the same networks."""
    shapes = ((2, WIDTH, 2), (2, WIDTH, 1))
    nets = [ReLUNet.random(sizes, batch=seeds, seed=2020 + k, dtype=torch.float32) for k, sizes in enumerate(shapes)]
    each = [net[torch.arange(len(KINDS) * seeds) % seeds].to(device()) for net in nets]
    scaled = torch.tensor([scaled for scaled, _ in KINDS.values()]).repeat_interleave(seeds)
    return gans.Games.start(*each, scaled.to(device()))


def resume(rule: str, steps: int, seeds: int, folder: Path) -> tuple[gans.Games, torch.Generator, int]:
    """The games, the source of their random numbers and the steps they have played, from the latest state before `steps`."""
    games, source = start(seeds), torch.Generator(device()).manual_seed(2020)
    done = max((m for m in (*MARKS, *LONGER) if m <= steps and (folder / f"{rule}-{m}.pt").is_file()), default=0)
    if done:
        kept = torch.load(folder / f"{rule}-{done}.pt", weights_only=True)
        if kept["seeds"] != seeds:
            raise ValueError(f"the state in {folder} has {kept['seeds']} seeds, and {seeds} are asked for: remove it")
        if done > MARKS[-1]:
            games = only_long(games, seeds)
        for tensor, value in zip(games.state, kept["games"]):
            tensor.copy_(value)
        source.set_state(kept["source"])
    elif steps > MARKS[-1]:
        play(games, seeds, source, MARKS[-1], rule == "ridge")
        done = MARKS[-1]
    return only_long(games, seeds) if steps > MARKS[-1] and len(games.x) > seeds else games, source, done


def only_long(games: gans.Games, seeds: int) -> gans.Games:
    """The games that go on after the last common mark."""
    first = list(KINDS).index(LONG) * seeds
    x, y, scaled, squares = (t[first : first + seeds].clone() for t in (games.x, games.y, games.scaled, games.squares))
    return gans.Games(x, y, games.sizes, scaled, squares, games.count)


def play(games: gans.Games, seeds: int, source: torch.Generator, steps: int, ridge: bool) -> None:
    """So many steps; on a GPU, CHUNK of them at a time as one graph. All kinds of a seed meet the same data and noise."""
    data, count = grid(games.x), len(games.x)
    scale = noise_scales(games, seeds)[:, None, None]
    one = lambda: torch.ones(CHUNK, count, BATCH, 3, dtype=games.x.dtype, device=games.x.device)  # noqa: E731
    real, noise = one(), one()

    def work() -> None:
        for k in range(CHUNK):
            games.step(real[k], noise[k], LR, ridge, DAMPING)

    def fill() -> None:
        drawn = data.sample((CHUNK, seeds, BATCH), source)
        spread = torch.randn(CHUNK, seeds, BATCH, 2, generator=source, dtype=drawn.dtype, device=drawn.device)
        real[..., :2] = drawn.repeat(1, count // seeds, 1, 1)
        noise[..., :2] = scale * spread.repeat(1, count // seeds, 1, 1)

    with torch.no_grad():
        fill()
        replay = captured(work, games.state).replay if games.x.is_cuda and steps else work
        for k in range(steps // CHUNK):
            if k:
                fill()
            replay()


def noise_scales(games: gans.Games, seeds: int) -> Tensor:
    kinds = list(KINDS) if len(games.x) > seeds else [LONG]
    return torch.tensor([KINDS[kind][1] for kind in kinds]).to(games.x).repeat_interleave(seeds)


def grid(like: Tensor) -> modes.Modes:
    made = modes.mode_grid(5, 1.0, 0.1, dtype=like.dtype)
    return modes.Modes(made.centers.to(like.device), made.width)


def measure(games: gans.Games, kinds: list[str]) -> dict[str, Tensor]:
    """What `cell` tells, by name, with a first axis over the games; 10,000 points of noise, the same for all."""
    net, data, seeds = games.generator(), grid(games.x), len(games.x) // len(kinds)
    source, scale = torch.Generator(games.x.device).manual_seed(1), noise_scales(games, seeds)
    noise = torch.randn(SAMPLES, 2, generator=source, dtype=games.x.dtype, device=games.x.device) * scale[:, None, None]
    points = net(noise)
    near = torch.cdist(points, data.centers).amin(-1) <= modes.NEAR * data.width
    steep, shares = modes.steepness(net, noise), data.shares(points)
    middle = lambda where: steep.where(where, torch.nan).nanmedian(-1).values.nan_to_num(0.0)  # noqa: E731
    real = data.sample((len(games.x), SAMPLES), source)
    return {
        "covered": modes.covered(shares),
        "captured": modes.captured(shares, data.shares(points, torch.inf)),
        "quality": modes.quality(shares),
        "shares": shares,
        "steep": steep.amax(-1),
        "stretch": torch.stack([middle(near), middle(~near)], -1),
        "folds": torch.stack([modes.folds_within(net, radius * scale) for radius in (1, 3)], -1),
        "value": gans.value(net, games.discriminator(), real, noise),
        "generator": games.x,
    }
