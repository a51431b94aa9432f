"""How fast are many small trainings? Network-epochs per second of `foldnet.train.fit` beside the usual ways, in one run.

Networks 4-3-1, leak 0.1, the 16 points of {-1, 1}^4, random 0/1 targets, Adam 0.025, 400 epochs, binary cross-entropy, float32.
    python benchmarks/training.py           two cores and three minutes
    python benchmarks/training.py --cuda    one GPU; needs torch and numpy alone
"""

from __future__ import annotations

import argparse
import itertools
import platform
import time

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from foldnet.nets import ReLUNet
from foldnet.train import fit

POINTS = torch.tensor(list(itertools.product((-1.0, 1.0), repeat=4)))
RATE, EPOCHS, SOLVED = 0.025, 400, 0.05
LOOP_SAMPLE = 8


def problem(count: int, sizes=(4, 3, 1)) -> tuple[ReLUNet, torch.Tensor]:
    """Networks and their targets `(count, 16, 1)`."""
    targets = np.random.default_rng(0).integers(0, 2, (count, 16, 1)).astype(np.float32)
    return ReLUNet.random(sizes, batch=count, leak=0.1, seed=1, dtype=torch.float32), torch.as_tensor(targets)


def by_loop(nets: ReLUNet, y: torch.Tensor, epochs: int) -> torch.Tensor:
    """One torch.nn module and one torch.optim.Adam after the other; final losses."""
    final = []
    for k in range(len(y)):
        model = nets[k].to_sequential()
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
        for _ in range(epochs):
            optimizer.zero_grad()
            binary_cross_entropy_with_logits(model(POINTS), y[k]).backward()
            optimizer.step()
        final.append(binary_cross_entropy_with_logits(model(POINTS), y[k]).detach())
    return torch.stack(final)


def by_vmap(nets: ReLUNet, y: torch.Tensor, epochs: int) -> torch.Tensor:
    """torch.func: vmap of grad, and Adam on the stacked parameters; final losses."""

    def loss(vector, target):
        return binary_cross_entropy_with_logits(nets.with_vector(vector)(POINTS), target)

    gradient = torch.func.vmap(torch.func.grad(loss))
    theta = nets.vector()
    first, second = torch.zeros_like(theta), torch.zeros_like(theta)
    for step in range(1, epochs + 1):
        g = gradient(theta, y)
        first.lerp_(g, 0.1)
        second.mul_(0.999).addcmul_(g, g, value=0.001)
        scale = second.sqrt().div_((1 - 0.999**step) ** 0.5).add_(1e-8)
        theta.addcdiv_(first, scale, value=-RATE / (1 - 0.9**step))
    return torch.func.vmap(loss)(theta, y)


def by_fit(engine: str):
    """`fit` with one engine; final losses."""
    settings = {"loss": "bce", "optimizer": "adam", "lr": RATE, "progress": False, "engine": engine}
    return lambda nets, y, epochs: fit(nets, POINTS, y, epochs=epochs, **settings).final_loss


def measured(train, nets: ReLUNet, y: torch.Tensor, epochs: int, repeat: int) -> tuple[float, float]:
    """Network-epochs per second, the best of `repeat` runs, and the share of the networks that solved their table."""
    best = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        final = train(nets, y, epochs).cpu()
        best = min(best, time.perf_counter() - start)
    return len(y) * epochs / best, (final < SOLVED).double().mean().item()


def table(rows: list[tuple[str, int, float, float]], base: dict[str, float]) -> None:
    print(f"{'design':<28}{'networks':>9}{'net-epochs/s':>15}{'x loop':>9}{'x vmap':>8}{'solved':>8}")
    for name, count, rate, solved in rows:
        ratios = f"{rate / base['loop']:>9,.0f}{rate / base[f'vmap {count}']:>8.1f}"
        print(f"{name:<28}{count:>9,}{rate:>15,.0f}{ratios}{solved:>8.1%}")


def on_cpu(counts: list[int]) -> None:
    nets, y = problem(LOOP_SAMPLE)
    start = time.perf_counter()
    by_fit("fused")(nets, y, 1)
    print(f"not counted below: {time.perf_counter() - start:.1f} s until the fused engine is compiled or loaded from its cache")
    base, rows = {}, []
    base["loop"], solved = measured(by_loop, nets, y, EPOCHS, 1)
    note = f"{LOOP_SAMPLE} networks, {solved:.0%} solved; the rate is taken for any number"
    print(f"loop over torch.nn: {base['loop']:,.0f} net-epochs/s ({note})")
    for count in counts:
        nets, y = problem(count)
        short = 3 if count <= 5000 else 1
        for name, train, repeat in (
            ("vmap(grad)", by_vmap, short),
            ("foldnet, torch engine", by_fit("torch"), short),
            ("foldnet, fused engine", by_fit("fused"), 3),
        ):
            rate, solved = measured(train, nets, y, EPOCHS, repeat)
            rows.append((name, count, rate, solved))
            if name == "vmap(grad)":
                base[f"vmap {count}"] = rate
    table(rows, base)


def on_cuda(count: int, epochs: int) -> None:
    print(torch.cuda.get_device_name())
    train = by_fit("torch")
    for sizes in ((4, 3, 1), (4, *[10] * 5, 1)):
        nets, y = problem(count, sizes)
        nets = nets.to("cuda")
        train(nets, y, 10)
        rate, _ = measured(train, nets, y, epochs, 2)
        _, solved = measured(train, nets, y, EPOCHS, 1)
        name = "-".join(map(str, sizes))
        print(f"{name:<20}{count:>9,} networks{rate:>15,.0f} net-epochs/s; {solved:.1%} solved after {EPOCHS} epochs")


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cuda", action="store_true", help="22,200 networks on the GPU instead")
    arguments.add_argument("--count", type=int, nargs="+", help="how many networks (1,000 and 50,000; with --cuda 22,200)")
    arguments.add_argument("--epochs", type=int, default=2000, help="with --cuda, how many epochs are timed")
    chosen = arguments.parse_args()
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    if chosen.cuda:
        on_cuda(*(chosen.count or [22_200])[:1], chosen.epochs)
    else:
        on_cpu(chosen.count or [1_000, 50_000])
