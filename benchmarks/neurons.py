"""Optimal neurons for the first hidden layer of a 784-100-100-10 network on 10,000 points, foldnet beside gromo.

python benchmarks/neurons.py     # a minute; gromo==0.1.0 is compared where it is installed (pip install gromo==0.1.0)

Every design finds the ten best neurons and the best move of the next layer from the same weights and points; with signs left open
foldnet does no more than that, otherwise it also chooses the better sign of each. The runs alternate, so that a busy machine
slows all of them, and with --threads 1 the time of the process is taken. `gap` is the largest relative difference of the ten
singular values from those of foldnet.
"""

import argparse
import statistics
import time

import numpy as np
import torch

from foldnet.growth.neurons import optimal_neurons, second_moment
from foldnet.nets import ReLUNet

SIZES, POINTS, NEURONS = (784, 100, 100, 10), 10_000, 10


def problem(zeros: int):
    """Points with a few strong directions and `zeros` inputs that are always 0, as at the border of an image; targets in R^10."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(POINTS, 60)) @ rng.normal(size=(60, 784)) / 8 + 0.5 * rng.normal(size=(POINTS, 784))
    x[:, : zeros // 2] = x[:, 784 - (zeros - zeros // 2) :] = 0
    return torch.as_tensor(x), torch.tanh(torch.as_tensor(x @ rng.normal(size=(784, 10)) / 28))


def gromo_step(net, x, y):
    """What gromo needs for one growth step of the first hidden layer; float32, the only precision it offers by default."""
    from gromo.containers.growing_mlp import GrowingMLP

    model = GrowingMLP(784, 10, 100, 2, activation=torch.nn.ReLU())
    with torch.no_grad():
        for layer, w, b in zip(model.layers, net.weights, net.biases):
            layer.weight.copy_(w)
            layer.bias.copy_(b)
    model.set_growing_layers(index=0)
    x, y = x.float(), y.float()

    def step():
        model.init_computation()
        loss = (model(x) - y).square().mean(-1).sum()
        loss.backward()
        model.update_computation()
        model.compute_optimal_updates(maximum_added_neurons=NEURONS)
        found = model.layers[1].eigenvalues_extension.detach().clone()
        model.reset_computation()
        model.zero_grad()
        return found

    return step


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    repeats = arguments.repeats
    torch.set_num_threads(arguments.threads)
    clock = (
        time.process_time if arguments.threads == 1 else time.perf_counter
    )  # one thread: its own time, whatever runs beside it
    net = ReLUNet.random(SIZES, seed=1)
    for zeros in (0, 100):
        x, y = problem(zeros)
        moment = second_moment(net, 0, x)
        single = net.to(torch.float32), x.float(), y.float()
        designs = {
            "foldnet, float64": lambda x=x, y=y: optimal_neurons(net, 0, x, y, NEURONS),
            "foldnet, float64, S cached": lambda x=x, y=y, m=moment: optimal_neurons(net, 0, x, y, NEURONS, moment=m),
            "the same, signs left open": lambda x=x, y=y, m=moment: optimal_neurons(net, 0, x, y, NEURONS, moment=m, signs=False),
            "foldnet, float32": lambda s=single: optimal_neurons(s[0], 0, *s[1:], NEURONS),
        }
        try:
            designs["gromo 0.1.0, float32"] = gromo_step(net, x, y)
        except ImportError:
            print("gromo is not installed: foldnet alone")
        seconds, found = {name: [] for name in designs}, {}
        for _ in range(repeats + 1):
            for name, run in designs.items():
                start = clock()
                result = run()
                seconds[name].append(clock() - start)
                found[name] = getattr(result, "singular_values", result)[:NEURONS].double()
        print(
            f"\n{zeros} of 784 inputs always 0; {torch.get_num_threads()} threads, torch {torch.__version__}, median of {repeats}"
        )
        medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
        slowest = medians.get("gromo 0.1.0, float32", medians["foldnet, float64"])
        exact = found["foldnet, float64"]
        for name, median in medians.items():
            gap = ((found[name] - exact) / exact).abs().max() if len(found[name]) == NEURONS else float("nan")
            print(f"{name:28} {1e3 * median:7.0f} ms   {slowest / median:5.1f} times as fast   gap {gap:.0e}")


if __name__ == "__main__":
    main()
