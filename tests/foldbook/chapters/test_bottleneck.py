"""The generalized eigenproblem against scipy."""

import numpy as np
import pytest
import scipy.linalg
import torch

from foldbook.chapters.bottleneck import leading_neurons


@pytest.mark.parametrize(("inputs", "outputs", "k"), [(7, 4, 3), (120, 20, 5), (200, 200, 3)])
def test_against_scipy(inputs, outputs, k):
    rng = np.random.default_rng(inputs)
    b = rng.normal(size=(1000, inputs)) @ rng.normal(size=(inputs, inputs)) / inputs**0.5 + rng.normal(size=(1000, inputs))
    n, s = b.T @ rng.normal(size=(1000, outputs)) / 1000 + 0.1 * rng.normal(size=(inputs, outputs)), b.T @ b / 1000
    values, vectors = scipy.linalg.eigh(n @ n.T, s)
    found, alpha, omega = leading_neurons(torch.as_tensor(n), torch.as_tensor(s), k)
    assert np.allclose(found.square(), values[::-1][:k], rtol=1e-8)
    top = vectors[:, ::-1][:, :k]
    assert np.allclose(np.abs(np.sum(top * (s @ alpha.numpy()), axis=0)), 1, atol=1e-6)
    assert np.allclose(alpha.mT @ torch.as_tensor(s) @ alpha, np.eye(k), atol=1e-6)
    product = (alpha @ omega.mT).numpy()
    assert np.allclose(product, top @ (top.T @ n), atol=1e-6)
