"""Where training on one-dimensional XOR ends: 100,000 networks in double, 100,000 in single precision, and other setups.

The runs behind the counts beside Table 3.2 of the dissertation (S2-tab-3.2). One cell trains 10,000 networks.

>>> from experiments import xor_optima
>>> len(xor_optima.cells())
25
"""

from __future__ import annotations

import numpy as np
import torch

from foldbook.chapters.optima import CASES, KINK, data, levels, node_cases
from foldnet.nets import ReLUNet
from foldnet.train import fit

NETWORKS, EPOCHS, LR, KEPT, TOLERANCE = 10_000, 500, 0.1, 1000, 1e-3
KINKS = (1e-2, 1e-3, 1e-4, 1e-5)
BIASES = ("torch", "zero", "normal")
LOSS = {"mean": 1, "sum": 4}  # the sum over four points is four times the mean, and so is its gradient


def cells() -> list[dict]:
    main = [setup("torch", "mean", precision, block) for precision in ("double", "single") for block in range(10)]
    others = [setup(biases, loss, "double", 0) for loss in LOSS for biases in BIASES]
    return main + [cell for cell in others if cell not in main]


def setup(biases: str = "torch", loss: str = "mean", precision: str = "double", block: int = 0) -> dict:
    return {"biases": biases, "loss": loss, "precision": precision, "block": block}


def cell(biases: str, loss: str, precision: str, block: int) -> dict:
    """Counts of 10,000 trained networks, and the case of each of the first thousand.

    `levels`: at loss 0, 8/3, 4, none of them. `cases`: for each of the 13 x 13 pairs of node cases. `rows`: in the region of each
    different row of Table 3.2 and on its solution within the tolerance; `regions`: in its region. `first`: 13 i + j.
    `found`: different pairs in each thousand networks, if a sign counts as zero below one of four tolerances.
    """
    from foldbook.chapters.optima_symbolic import distinct_rows, matches

    nets = train(initial(biases, precision, block), loss)
    pairs = pair_codes(nets)
    rows = distinct_rows().values()
    return {
        "levels": np.bincount(levels(nets) % 4, minlength=4).tolist(),
        "cases": np.bincount(pairs, minlength=len(CASES) ** 2).tolist(),
        "rows": [int(matches(nets, row, TOLERANCE).sum()) for row in rows],
        "regions": [int(matches(nets, row, np.inf).sum()) for row in rows],
        "first": pairs[:KEPT].tolist(),
        "found": {f"{tol:g}": [len(set(t)) for t in pair_codes(nets, tol).reshape(-1, KEPT).tolist()] for tol in KINKS},
    }


def initial(biases: str = "torch", precision: str = "double", block: int = 0, networks: int = NETWORKS) -> ReLUNet:
    """He's normal weights; biases as in torch.nn.Linear (uniform), zero, or standard normal. Blocks are independent."""
    if biases not in BIASES or precision not in ("double", "single"):
        raise ValueError(f"biases are {', '.join(BIASES)}, precision double or single; got {biases!r} and {precision!r}")
    sizes, batch = (1, 2, 1), NETWORKS
    weights = ReLUNet.random(sizes, batch=batch, init="he", seed=20 + block).weights
    if biases == "normal":
        rng = np.random.default_rng(1000 + block)
        offsets = [torch.as_tensor(rng.normal(size=(batch, n))) for n in sizes[1:]]
    else:
        offsets = ReLUNet.random(sizes, batch=batch, init="torch", seed=1000 + block).biases
        offsets = [b * (biases == "torch") for b in offsets]
    return ReLUNet(weights, offsets)[:networks].to(torch.float64 if precision == "double" else torch.float32)


def train(nets: ReLUNet, loss: str = "mean", epochs: int = EPOCHS) -> ReLUNet:
    """Plain gradient descent at rate 0.1 for 500 epochs, the source's setup, on the mean or on the sum over the four points."""
    x, y = data(nets.dtype)
    return fit(nets, x, y, loss="mse", optimizer="gd", lr=LR * LOSS[loss], epochs=epochs, progress=False).net


def pair_codes(nets: ReLUNet, tol: float = KINK) -> np.ndarray:
    """The cases of the two nodes as one number, 13 i + j."""
    cases = node_cases(nets, tol)
    return cases[..., 0] * len(CASES) + cases[..., 1]
