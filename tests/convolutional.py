"""Random convolutional networks, as the image chapters have them, and beside them nothing but their layers."""

import numpy as np
import torch

from experiments.image_nets import convolutional


def random(channels, outputs=10, shape=(3, 32, 32), relu_first=False, seed=0, dtype=torch.float64):
    """Convolutions with so many channels, and a linear layer, uniform on +-1/sqrt(fan-in), as torch starts them."""
    rng, before, parts = np.random.default_rng(seed), shape[0], []
    for out in channels:
        parts.append([rng.uniform(-1, 1, s) / (9 * before) ** 0.5 for s in ((out, before, 3, 3), (out,))])
        before = out
    fan = before * (shape[1] >> len(channels)) * (shape[2] >> len(channels))
    parts.append([rng.uniform(-1, 1, s) / fan**0.5 for s in ((outputs, fan), (outputs,))])
    weights, biases = ([torch.as_tensor(p, dtype=dtype) for p in part] for part in zip(*parts))
    return convolutional(weights, biases, shape, relu_first)
