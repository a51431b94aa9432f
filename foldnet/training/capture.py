"""Work on a GPU, captured once as a CUDA graph and replayed.

>>> import torch
>>> torch.cuda.is_available() in (True, False)  # on a GPU, captured(work, state) records one step as a graph
True
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def captured(work: Callable[[], None], state: Sequence[Tensor]) -> torch.cuda.CUDAGraph:
    """`work` as a graph. What it does to the tensors `state` in the rounds that warm it up is taken back."""
    before = [tensor.clone() for tensor in state]
    with torch.cuda.device(state[0].device):
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
    for tensor, value in zip(state, before):
        tensor.copy_(value)
    return graph
