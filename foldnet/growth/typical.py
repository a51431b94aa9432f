"""Which mistake stands for the others: loss-weighted k-means over what a network gets wrong.

>>> from foldnet.growth import tasks
>>> from foldnet.growth.typical import predictions, typical_mistake
>>> from foldnet.nets import ReLUNet
>>> x, y = tasks.sine(60, seed=0)
>>> net = ReLUNet.random((2, 2, 1), seed=1)
>>> i = typical_mistake(net, x, y)
>>> bool(predictions(net, x)[i] != y[i])
True
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..geometry.boundaries import logits
from ._labels import labels


def predictions(net, x) -> Tensor:
    """The class with the largest logit, `(*batch, n)`; the smaller one where two are equal."""
    return logits(net, x).argmax(-1)


@torch.no_grad()
def accuracy(net, x, y) -> Tensor:
    """The share of instances predicted correctly, `(*batch,)`; `x` and `y` as in `typical_mistake`."""
    guess = predictions(net, x)
    return (guess == labels(net, y, guess.shape[-1])).to(torch.float64).mean(-1)


def class_losses(net, x, y) -> Tensor:
    """Cross-entropy of each instance, `(*batch, n)`; `x` and `y` as in `typical_mistake`."""
    z = logits(net, x)
    label = labels(net, y, z.shape[-2])
    return z.logsumexp(-1) - z.gather(-1, label.expand(z.shape[:-1]).unsqueeze(-1)).squeeze(-1)


def typical_mistake(net, x, y, clusters: int = 5, only_wrong: bool = True, seed: int = 0) -> int:
    """The number of the instance that stands for the costliest kind of mistake of one network.

    Clusters the mis-predicted instances by k-means with their losses as weights, takes the cluster with the highest mean loss and
    of it the instance closest to the centroid: always one that is mis-predicted. (S0-alg-find-typical)

    `x`: points `(n, in)`.
    `y`: class numbers `(n,)`, or targets `(n, out)` as `fit` takes them; whole numbers are classes, floats are targets.
    `clusters`, `seed`: of k-means.
    `only_wrong`: False clusters all instances, as the slides print it; the one returned may be predicted correctly then.
    """
    if net.batch_shape:
        raise ValueError(f"one network has a typical mistake, not a batch of shape {net.batch_shape}: choose one, as in nets[0]")
    loss, wrong = class_losses(net, x, y), predictions(net, x) != labels(net, y, len(x))
    if only_wrong and not wrong.any():
        raise ValueError(f"all {len(wrong)} instances are predicted correctly: there is no typical mistake to fold at")
    chosen = torch.nonzero(wrong).flatten() if only_wrong else torch.arange(len(wrong))
    points = torch.as_tensor(x, dtype=torch.float64)[chosen].cpu().numpy()
    return int(chosen[_representative(points, loss[chosen].double().cpu().numpy(), clusters, seed)])


def _representative(points: np.ndarray, weight: np.ndarray, clusters: int, seed: int) -> int:
    """The row closest to the centroid of the cluster whose mean weight is highest."""
    if clusters < 1:
        raise ValueError(f"k-means needs at least one cluster; got {clusters}")
    clusters = min(clusters, len(np.unique(points, axis=0)))
    if clusters == 1:
        member, centre = np.zeros(len(points), int), np.average(points, axis=0, weights=weight)[None]
    else:
        from sklearn.cluster import KMeans

        kmeans = KMeans(clusters, n_init=1, random_state=seed).fit(points, sample_weight=weight)
        member, centre = kmeans.labels_, kmeans.cluster_centers_
    mean = [weight[member == c].mean() if (member == c).any() else -np.inf for c in range(clusters)]
    worst = int(np.argmax(mean))
    distance = np.square(points - centre[worst]).sum(1)
    return int(np.argmin(np.where(member == worst, distance, np.inf)))
