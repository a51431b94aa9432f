"""How fast are many small trainings? Network-epochs per second of `foldnet.train.fit` beside the usual ways, in one run.

Networks 4-3-1, leak 0.1, the 16 points of {-1, 1}^4, random 0/1 targets, Adam 0.025, 400 epochs, binary cross-entropy, float32.
With --cuda also 5-4-1 on 32 points with each activation and 4-10-10-10-10-10-1, 4,000 epochs of the cuda engine, and fewer of
torch, which is slower.
    python benchmarks/training.py           two cores and three minutes
    python benchmarks/training.py --cuda    one GPU; needs torch and numpy alone
"""

from __future__ import annotations

import argparse
import itertools
import platform
import time
from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from foldnet.engines._cuda import CudaEngine
from foldnet.engines._cuda_plan import epoch_time, layouts, plan_for
from foldnet.growth.smooth import SmoothNet
from foldnet.nets import Network, ReLUNet
from foldnet.train import fit
from foldnet.training.problem import IN_KERNELS, Problem


def corners(inputs: int) -> torch.Tensor:
    """The points of {-1, 1}^inputs."""
    return torch.tensor(list(itertools.product((-1.0, 1.0), repeat=inputs)))


POINTS = corners(4)
RATE, EPOCHS, SOLVED = 0.025, 400, 0.05
LOOP_SAMPLE = 8


def problem(count: int, sizes=(4, 3, 1), activation: str = "relu") -> tuple[Network, torch.Tensor]:
    """Networks and their targets `(count, 2^inputs, 1)`."""
    targets = np.random.default_rng(0).integers(0, 2, (count, 2 ** sizes[0], 1)).astype(np.float32)
    nets = ReLUNet.random(sizes, batch=count, leak=0.1, seed=1, dtype=torch.float32)
    other = activation != "relu"
    return SmoothNet(nets.weights, nets.biases, activation) if other else nets, torch.as_tensor(targets)


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

    def train(nets: Network, y: torch.Tensor, epochs: int) -> torch.Tensor:
        return fit(nets, corners(nets.sizes[0]), y, epochs=epochs, every=max(1, epochs), **settings).final_loss

    return train


def measured(train, nets: Network, y: torch.Tensor, epochs: int, repeat: int) -> tuple[float, float]:
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


def on_cuda(count: int | None, epochs: int) -> None:
    """The torch engine with its graph and the cuda engine, side by side; each gets enough epochs for about a second."""
    print(torch.cuda.get_device_name())
    columns = f"{'networks':<23}{'points':>7}{'number':>11}{'torch, net-epochs/s':>21}{'cuda':>16}{'ratio':>7}"
    print(f"{columns}{'solved':>8}{'compiled in':>13}")
    five = [((5, 4, 1), 1_000_000, activation) for activation in IN_KERNELS]
    for sizes, usual, activation in [((4, 3, 1), 2_000_000, "relu"), *five, ((4, *[10] * 5, 1), 100_000, "relu")]:
        nets, y = problem(count or usual, sizes, activation)
        nets, y = nets.to("cuda"), y.to("cuda")
        by_torch, by_cuda = by_fit("torch"), by_fit("cuda")
        by_torch(nets, y, 10)
        start = time.perf_counter()
        by_cuda(nets, y, 10)
        compiled = time.perf_counter() - start
        few = max(100, round(5e7 / len(y)))
        plain, _ = measured(by_torch, nets, y, few, 1)
        rate, _ = measured(by_cuda, nets, y, epochs, 3)
        _, solved = measured(by_cuda, nets, y, EPOCHS, 1)
        name, n = f"{'-'.join(map(str, sizes))} {activation}", y.shape[1]
        row = f"{name:<23}{n:>7}{len(y):>11,}{plain:>21,.0f}{rate:>16,.0f}{rate / plain:>7.0f}"
        print(f"{row}{solved:>8.1%}{compiled:>11.1f} s", flush=True)


def all_layouts(epochs: int) -> None:
    """Every layout of the cuda engine in which a network fits, with other numbers of blocks too, for the estimates."""
    for sizes, count in ((4, 3, 1), 500_000), ((5, 4, 1), 500_000), ((4, 9, 1), 500_000), ((4, *[10] * 5, 1), 100_000):
        nets, y = problem(count, sizes)
        settings = {"loss": "bce", "optimizer": "adam", "lr": RATE, "epochs": 10**6}
        task = Problem.checked(nets.to("cuda"), corners(sizes[0]), y, every=10**6, **settings)
        for layout in layouts(sizes, y.shape[1], adam=True, double=False):
            for blocks in sorted({layout.blocks * k // 4 for k in (2, 3, 4, 5, 6)} - {0}):
                engine = CudaEngine(task, plan_for(task, replace(layout, blocks=blocks)))
                engine.advance(10)
                start = time.perf_counter()
                engine.advance(epochs)
                rate, guess = count * epochs / (time.perf_counter() - start), count / epoch_time(layout, count)
                name = f"{'-'.join(map(str, sizes))}, {layout.lanes} lanes, {blocks} blocks"
                print(f"{name:<48}{rate:>16,.0f} net-epochs/s, expected {guess:>16,.0f}", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cuda", action="store_true", help="on the GPU instead: torch and cuda engine")
    arguments.add_argument("--layouts", action="store_true", help="on the GPU: the cuda engine in every layout that fits")
    arguments.add_argument("--count", type=int, nargs="+", help="how many networks (1,000 and 50,000; --cuda has its own)")
    arguments.add_argument("--epochs", type=int, default=4000, help="with --cuda, how many epochs of the cuda engine are timed")
    chosen = arguments.parse_args()
    print(f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    if chosen.layouts:
        all_layouts(400)
    elif chosen.cuda:
        on_cuda(chosen.count[0] if chosen.count else None, chosen.epochs)
    else:
        on_cpu(chosen.count or [1_000, 50_000])
