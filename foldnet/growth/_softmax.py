"""Adam on the softmax cross-entropy of many shallow two-class networks of the plane, 64 side by side; needs numba.

`fit` has no softmax. With two classes the loss depends on the difference of the logits alone, so both rows of the output layer
get the same gradient with opposite signs. Rows of `theta`: for each hidden unit its two weights and bias, then for each class its
output weights and bias; the innermost loops run over the networks, as in `foldnet._fused_kernel`.
"""

from __future__ import annotations

import math

import numpy as np

from .._fused_kernel import LANES, _jit, exp


def train(rows: np.ndarray, columns: np.ndarray, x: np.ndarray, y: np.ndarray, steps: int, rate: float):
    """Trained copies of `rows` `(B, hidden, 3)` and `columns` `(B, 2, hidden + 1)`: weights and bias of units and of outputs."""
    count, hidden = rows.shape[:2]
    flat = np.concatenate([rows.reshape(count, -1), columns.reshape(count, -1)], 1)
    blocks = -(-count // LANES)
    theta = np.zeros((blocks * LANES, flat.shape[1]), rows.dtype)
    theta[:count] = flat
    theta = np.ascontiguousarray(theta.reshape(blocks, LANES, -1).transpose(0, 2, 1))
    x, y = x.astype(rows.dtype), y.astype(rows.dtype)
    for block in theta:
        _steps(block, hidden, x, y, steps, rate)
    flat = theta.transpose(0, 2, 1).reshape(blocks * LANES, -1)[:count]
    return flat[:, : 3 * hidden].reshape(rows.shape), flat[:, 3 * hidden :].reshape(columns.shape)


@_jit
def _steps(theta, hidden, x, y, steps, rate):
    first, second, gradient = np.zeros_like(theta), np.zeros_like(theta), np.zeros_like(theta)
    h = np.zeros((hidden, theta.shape[1]), theta.dtype)
    difference = np.zeros((hidden + 1, theta.shape[1]), theta.dtype)
    slope = np.zeros(theta.shape[1], theta.dtype)
    out = 3 * hidden
    real = theta.dtype.type
    share, zero, one = real(1 / len(x)), real(0), real(1)
    for step in range(1, steps + 1):
        gradient[:] = 0
        for k in range(hidden + 1):
            for t in range(LANES):
                difference[k, t] = theta[out + hidden + 1 + k, t] - theta[out + k, t]
        for i in range(len(x)):
            x0, x1, target = x[i, 0], x[i, 1], y[i]
            for t in range(LANES):
                slope[t] = difference[hidden, t]
            for k in range(hidden):
                for t in range(LANES):
                    z = theta[3 * k, t] * x0 + theta[3 * k + 1, t] * x1 + theta[3 * k + 2, t]
                    z = z if z > zero else zero
                    h[k, t] = z
                    slope[t] += difference[k, t] * z
            for t in range(LANES):
                e = exp(-abs(slope[t]))
                slope[t] = share * ((one if slope[t] >= zero else e) / (one + e) - target)
                gradient[out + 2 * hidden + 1, t] += slope[t]
            for k in range(hidden):
                for t in range(LANES):
                    gradient[out + hidden + 1 + k, t] += slope[t] * h[k, t]
                    back = slope[t] * difference[k, t] if h[k, t] > zero else zero
                    gradient[3 * k, t] += back * x0
                    gradient[3 * k + 1, t] += back * x1
                    gradient[3 * k + 2, t] += back
        for k in range(hidden + 1):
            for t in range(LANES):
                gradient[out + k, t] = -gradient[out + hidden + 1 + k, t]
        grow, scale = real(rate / (1 - 0.9**step)), real(1 / math.sqrt(1 - 0.999**step))
        for k in range(theta.shape[0]):
            for t in range(LANES):
                g = gradient[k, t]
                first[k, t] += real(0.1) * (g - first[k, t])
                second[k, t] = real(0.999) * second[k, t] + real(0.001) * g * g
                theta[k, t] -= grow * first[k, t] / (scale * math.sqrt(second[k, t]) + real(1e-8))
