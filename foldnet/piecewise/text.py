"""A small dense network as JSON, for a page or another language, and back.

The text is one object with four keys:

- `foldnet`: 1, the version of this schema;
- `leak`: the slope of the activation left of zero, 0 for ReLU;
- `weights`: for each layer a list of neurons, and for each neuron its weights, as many as the layer below has neurons;
- `biases`: for each layer the bias of each neuron. The last layer has no activation.

Numbers are written so that they are read back to the last bit.

>>> import torch
>>> from foldnet.piecewise.net import of
>>> from foldnet.piecewise.text import from_json
>>> model = torch.nn.Sequential(torch.nn.Linear(1, 2), torch.nn.ReLU(), torch.nn.Linear(2, 1)).double()
>>> model[0].weight.data[:], model[0].bias.data[:] = torch.tensor([[1.0], [-1.0]]), 0.0
>>> model[2].weight.data[:], model[2].bias.data[:] = 1.0, -0.5
>>> of(model).to_json()
'{"foldnet": 1, "leak": 0.0, "weights": [[[1.0], [-1.0]], [[1.0, 1.0]]], "biases": [[0.0, 0.0], [-0.5]]}'
>>> from_json(of(model).to_json())
ReLUNet(1-2-1, float64)
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..nets import ReLUNet

if TYPE_CHECKING:
    from typing import Any

VERSION, MOST = 1, 100_000  # weights and biases
SCHEMA = "a network has the keys foldnet (1), leak, weights and biases, as foldnet.piecewise.text says"


def to_json(net: ReLUNet) -> str:
    """The text of one network; `PiecewiseLinear.to_json` is that of a traced module."""
    if net.batch_shape or net.parameter_count > MOST:
        raise ValueError(f"one network of at most {MOST:,} weights and biases is written; got a {net}")
    lists = {name: [part.tolist() for part in getattr(net, name)] for name in ("weights", "biases")}
    return json.dumps({"foldnet": VERSION, "leak": float(net.leak), **lists}, allow_nan=False)


def from_json(text: str) -> ReLUNet:
    """The network that a text describes, in float64."""
    try:
        given: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is no JSON: {error}") from None
    if not isinstance(given, dict) or given.keys() != {"foldnet", "leak", "weights", "biases"} or given["foldnet"] != VERSION:
        raise ValueError(f"{SCHEMA}; got {text[:60]!r}")
    try:
        weights, biases = ([torch.tensor(part, dtype=torch.float64) for part in given[name]] for name in ("weights", "biases"))
        net = ReLUNet(weights, biases, float(given["leak"]))
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{SCHEMA}: {error}") from None
    if not _finite([*net.weights, *net.biases]) or not math.isfinite(net.leak):
        raise ValueError("a network has finite numbers; some here are not")
    return net


def _finite(parts: list[Tensor]) -> bool:
    return all(bool(part.isfinite().all()) for part in parts)
