"""The one step of Adam against torch's own, and the kernel's against it."""

import numpy as np
import pytest
import torch

from foldnet.training.adam import adam


@pytest.mark.parametrize(("dtype", "tol"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_parameters_of_different_ages_follow_torch(dtype, tol):
    """Three parameters join after ten steps: in torch they are a group of their own."""
    rng = torch.Generator().manual_seed(0)
    theta = torch.randn(2, 8, generator=rng, dtype=torch.float64).to(dtype)
    old, new = (part.clone().requires_grad_() for part in theta.split([5, 3], dim=1))
    judge = torch.optim.Adam([old], lr=0.01)
    first, second, age = torch.zeros_like(theta), torch.zeros_like(theta), torch.zeros(8, dtype=torch.float64)
    for step in range(60):
        if step == 10:
            judge.add_param_group({"params": [new]})
        gradient = torch.randn(2, 8, generator=rng, dtype=torch.float64).to(dtype)
        there = torch.arange(8) < (5 if step < 10 else 8)
        old.grad, new.grad = (part.clone() for part in gradient.split([5, 3], dim=1))
        judge.step()
        age += there
        change = adam(gradient * there, first, second, age.clamp(min=1), 0.01)
        theta -= change * there
    assert torch.allclose(theta, torch.cat([old, new], 1), rtol=0, atol=tol)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_the_kernel_takes_the_same_step(dtype, tol):
    """Lane t is network t, row k is parameter k; a network with rate 0 stays where it is."""
    from foldnet.engines._fused_kernel import LANES
    from foldnet.engines._fused_kernel import adam as kernel

    rng, rows = np.random.default_rng(1), 3
    theta = rng.normal(size=(rows, LANES)).astype(dtype)
    moments = [np.zeros(rows * LANES, dtype) for _ in range(2)]
    rate = rng.uniform(0.001, 0.1, LANES).astype(dtype)
    rate[5] = 0
    flat, plain = theta.reshape(-1).copy(), torch.as_tensor(theta.T.copy())
    first, second, rates = torch.zeros_like(plain), torch.zeros_like(plain), torch.as_tensor(rate)[:, None]
    for step in range(1, 30):
        gradient = rng.normal(size=(rows, LANES)).astype(dtype)
        kernel(flat, gradient.reshape(-1), *moments, rate, step)
        plain -= adam(torch.as_tensor(gradient.T.copy()), first, second, torch.tensor(float(step), dtype=torch.float64), rates)
    assert np.allclose(flat.reshape(rows, LANES).T, plain, rtol=0, atol=tol)
    assert np.array_equal(flat.reshape(rows, LANES)[:, 5], theta[:, 5])
