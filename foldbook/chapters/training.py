"""What boolean/training has beyond the package: measures of difficulty, intervals, rank correlations and families of functions.

>>> from foldbook.chapters.training import at_least_once, rank_correlation, wilson_interval
>>> [round(float(bound), 3) for bound in wilson_interval(0, 100)], round(float(at_least_once(0.01, 100)), 2)
([0.0, 0.037], 0.63)
>>> round(rank_correlation([1, 2, 3, 4], [10, 30, 20, 40]), 6)
0.8
"""

from __future__ import annotations

import numpy as np

from foldnet.boolean.functions import (
    corners,
    degree,
    fourier,
    fourier_entropy,
    input_count,
    parity,
    total_influence,
    truth_table,
)

Z = 1.959964  # 95 % of a normal distribution lie within so many standard deviations


def wilson_interval(successes, trials) -> tuple[np.ndarray, np.ndarray]:
    """Wilson's 95 % interval for a probability after so many successes in so many trials; 0 in 100 leaves up to 0.037."""
    k, n = np.asarray(successes, dtype=float), np.asarray(trials, dtype=float)
    if ((k < 0) | (k > n) | (n < 1)).any():
        raise ValueError("successes are between 0 and the number of trials, which is at least 1")
    middle, half = (k + Z**2 / 2) / (n + Z**2), Z * np.sqrt(k * (n - k) / n + Z**2 / 4) / (n + Z**2)
    return np.maximum(middle - half, 0), np.minimum(middle + half, 1)


def at_least_once(rate, trials: int) -> np.ndarray:
    """The probability that at least one of so many trials succeeds, if each does with this probability."""
    return -np.expm1(trials * np.log1p(-np.minimum(np.asarray(rate, dtype=float), 1 - 1e-16)))


def measures(f, n: int | None = None) -> dict[str, np.ndarray]:
    """Degree, influence, entropy and the number of corners in the smaller class of each table, `(*batch,)`."""
    t = truth_table(f, n)
    ones = t.sum(-1, dtype=np.int64)
    return {
        "degree": degree(t),
        "influence": total_influence(t),
        "entropy": fourier_entropy(t),
        "balance": np.minimum(ones, t.shape[-1] - ones),
    }


def spectrum(f, n: int | None = None) -> np.ndarray:
    """The share of the squared Fourier coefficients at each size of S, `(*batch, n + 1)`; the influence is its mean size."""
    squares = fourier(f, n) ** 2
    sizes = corners(input_count(squares), low=0).sum(1)
    return np.stack([squares[..., sizes == k].sum(-1) for k in range(sizes.max() + 1)], axis=-1)


# ---- ranks -------------------------------------------------------------------------------------------------------------------


def ranks(values) -> np.ndarray:
    """Ranks from 0; those that are equal, to nine digits of the largest, share the mean of theirs."""
    values = np.asarray(values, dtype=float)
    size = np.abs(values[np.isfinite(values)]).max(initial=0.0) or 1.0
    _, place, count = np.unique(np.round(values / size, 9), return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count + 1) / 2)[place]


def rank_correlation(a, b) -> float:
    """Spearman's coefficient, with shared ranks for ties; 0 where one of the two does not vary."""
    a, b = ranks(a), ranks(b)
    spread = a.std() * b.std()
    return float(((a - a.mean()) * (b - b.mean())).mean() / spread) if spread else 0.0


def rank_interval(a, b, draws: int = 1000, seed: int = 0) -> tuple[float, float]:
    """A 95 % interval for the rank correlation, if the functions were drawn from many: the percentile bootstrap."""
    a, b, rng = np.asarray(a), np.asarray(b), np.random.default_rng(seed)
    found = [rank_correlation(a[k], b[k]) for k in (rng.integers(0, len(a), len(a)) for _ in range(draws))]
    return float(np.quantile(found, 0.025)), float(np.quantile(found, 0.975))


def correlation_ceiling(first, second) -> float:
    """The largest rank correlation with the mean of two halves that their own agreement leaves room for (Spearman, Brown)."""
    halves = max(rank_correlation(first, second), 0.0)
    return float(np.sqrt(2 * halves / (1 + halves)))


# ---- functions of more inputs ----------------------------------------------------------------------------------------------


def with_parity(f, n: int) -> np.ndarray:
    """Tables `(*batch, 2**n)` of f(x_1, ..., x_k) xor x_1 xor ... xor x_n, for f of k <= n inputs. (S2-find-xor-family)"""
    t = truth_table(f)
    if input_count(t) > n:
        raise ValueError(f"a function of {input_count(t)} inputs is no function of the first of {n}")
    return np.repeat(t, 2 ** (n - input_count(t)), axis=-1) ^ parity(n)


def random_functions(n: int, count: int, seed: int = 0) -> np.ndarray:
    """Tables `(count, 2**n)` with a fair coin for each corner."""
    return np.random.default_rng([n, seed]).integers(0, 2, (count, 2**n), dtype=np.uint8)
