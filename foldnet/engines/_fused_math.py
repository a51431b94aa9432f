"""Elementary functions of the fused kernel: polynomials in float32, the library's in float64."""

from __future__ import annotations

import math

import numba
import numpy as np
from numba.extending import overload

from .._compiled import compiled


def exp(x):
    """exp(x) for x <= 0, in the precision of x."""
    return math.exp(x)


def log1p(x):
    """log(1 + x) for 0 <= x <= 1, in the precision of x."""
    return math.log1p(x)


def erfc(x, e):
    """The complementary error function for x >= 0, in the precision of x; `e` is exp(-x**2)."""
    return math.erfc(x)


def sine_and_cosine(x):
    """Both, in the precision of x."""
    return math.sin(x), math.cos(x)


@compiled
def exp32(x):
    """The polynomial of the Cephes library on |r| <= log(2) / 2, times 2**n put together from its bits; below -87 as at -87."""
    f = np.float32
    x = x if x > f(-87) else f(-87)
    n = np.floor(x * f(1.44269504) + f(0.5))
    r = x - n * f(0.693359375) + n * f(2.12194440e-4)
    square = r * r
    high = (f(4.1665795894e-2) + f(8.3334519073e-3) * r) + square * (f(1.3981999507e-3) + f(1.9875691500e-4) * r)
    low = (f(5.0000001201e-1) + f(1.6666665459e-1) * r) + square * high
    power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)
    return (low * square + (r + f(1))) * power


@compiled
def log1p32(x):
    """2 artanh(s) with s = x / (2 + x) <= 1/3, by its series: relative error about 2e-7 down to the smallest x."""
    f = np.float32
    s = x / (f(2) + x)
    q = s * s
    series = f(1 / 7) + q * (f(1 / 9) + q * (f(1 / 11) + q * f(1 / 13)))
    return f(2) * s * (f(1) + q * (f(1 / 3) + q * (f(1 / 5) + q * series)))


@compiled
def erfc32(x, e):
    """Abramowitz and Stegun, 7.1.26: off by at most 5e-7 with single numbers."""
    f = np.float32
    t = f(1) / (f(1) + f(0.3275911) * x)
    return t * (f(0.254829592) + t * (f(-0.284496736) + t * (f(1.421413741) + t * (f(-1.453152027) + t * f(1.061405429))))) * e


@compiled
def sine_and_cosine32(x):
    """Taylor's series on |r| <= pi / 2, x = r + n pi; pi is taken away in three steps, so that |x| up to 1000 loses nothing."""
    f = np.float32
    n = np.floor(x * f(1 / math.pi) + f(0.5))
    r = ((x - n * f(3.140625)) - n * f(9.67502593994140625e-4)) - n * f(1.509957990978376e-7)
    sign = f(1) - f(2) * (n - f(2) * np.floor(f(0.5) * n))
    q = r * r
    low, high = f(-1 / 6) + q * f(1 / 120), f(-1 / 5040) + q * (f(1 / 362880) - q * f(1 / 39916800))
    even, above = f(-1 / 2) + q * f(1 / 24), f(-1 / 720) + q * (f(1 / 40320) + q * (f(-1 / 3628800) + q * f(1 / 479001600)))
    return sign * (r + r * q * (low + q * q * high)), sign * (f(1) + q * (even + q * q * above))


@overload(exp)
def _exp_for(x):
    return (lambda x: exp32(x)) if x == numba.float32 else (lambda x: math.exp(x))


@overload(log1p)
def _log1p_for(x):
    return (lambda x: log1p32(x)) if x == numba.float32 else (lambda x: math.log1p(x))


@overload(erfc)
def _erfc_for(x, e):
    return (lambda x, e: erfc32(x, e)) if x == numba.float32 else (lambda x, e: math.erfc(x))


@overload(sine_and_cosine)
def _sine_and_cosine_for(x):
    return (lambda x: sine_and_cosine32(x)) if x == numba.float32 else (lambda x: (math.sin(x), math.cos(x)))
