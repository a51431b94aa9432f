"""growth/bottleneck: optimal neurons of a very wide layer without factoring anything: a few eigenvectors by LOBPCG.

>>> import torch
>>> from foldbook.chapters.bottleneck import leading_neurons
>>> n, s = torch.diag(torch.tensor([3.0, 1.0])).double(), torch.eye(2).double()
>>> values, incoming, outgoing = leading_neurons(n, s, k=1)
>>> values.numpy().round(6).tolist()
[3.0]
"""

from __future__ import annotations

import torch
from torch import Tensor


def leading_neurons(
    n: Tensor, s: Tensor, k: int, iterations: int = 500, tolerance: float = 1e-12
) -> tuple[Tensor, Tensor, Tensor]:
    """The k largest singular values, incoming `(in, k)` and outgoing weights `(out, k)` from N `(in, out)` and a definite S.

    The generalized eigenproblem N N' alpha = lambda^2 S alpha with alpha' S alpha = 1 and omega = N' alpha: by LOBPCG where
    3k <= in, else by Cholesky and the eigenvectors of a symmetric matrix. (S1-prop-3.3)
    """
    a = n @ n.mT
    if 3 * k > len(s):
        factor = torch.linalg.cholesky(s)
        inner = torch.linalg.solve_triangular(factor, a, upper=False)
        inner = torch.linalg.solve_triangular(factor, inner.mT, upper=False)
        vectors = torch.linalg.eigh(inner).eigenvectors.flip(-1)[:, :k]
        alpha = torch.linalg.solve_triangular(factor.mT, vectors, upper=True)
    else:
        start = torch.cat([n, torch.eye(len(s)).to(n)], dim=1)[:, :k]
        _, alpha = torch.lobpcg(a, k, s, X=start, niter=iterations, tol=tolerance, largest=True)
    omega = n.mT @ alpha
    return omega.norm(dim=0), alpha, omega
