"""Densities of random splines: against quadrature, Monte Carlo, mpmath and each other."""

import mpmath
import numpy as np
import pytest
import torch
from scipy import integrate, stats

from foldbook.chapters import breakpoints
from foldnet.splines import initialization as init
from foldnet.splines.breakpoints import roughness, spline

SIGMAS = [(1.0, 1.0, 1.0), (10.0, 1.0, 1.0), (2.0, 0.5, 3.0), (0.3, 2.0, 0.7)]  # sigma_w, sigma_b, sigma_v


@pytest.mark.parametrize("sigmas", SIGMAS)
def test_joint_density_is_the_change_of_variables(sigmas):
    """p(beta, mu) = integral of the three normal densities over w with b = -w beta, v = mu/|w| and Jacobian 1."""
    sw, sb, sv = sigmas
    for beta, mu in [(0.3, 0.8), (-2.0, -0.1), (0.05, 2.0)]:

        def integrand(w, beta=beta, mu=mu):
            return stats.norm.pdf(w, 0, sw) * stats.norm.pdf(w * beta, 0, sb) * stats.norm.pdf(mu / w, 0, sv)

        by_quadrature = 2 * integrate.quad(integrand, 0, 12 * sw, epsabs=1e-13, limit=400)[0]
        assert init.joint_density(beta, mu, sw, sb, sv) == pytest.approx(by_quadrature, rel=1e-7)


@pytest.mark.parametrize("sigmas", SIGMAS)
def test_marginals_of_the_joint_density(sigmas):
    sw, sb, sv = sigmas
    for beta in (0.0, 0.7, -3.0):
        over_mu = 2 * integrate.quad(lambda m, beta=beta: init.joint_density(beta, m, sw, sb, sv), 0, np.inf, epsabs=1e-12)[0]
        assert over_mu == pytest.approx(init.breakpoint_density(beta, sw, sb), rel=1e-7)
        assert over_mu == pytest.approx(stats.cauchy.pdf(beta, scale=sb / sw), rel=1e-7)
        scale = breakpoints.laplace_scale(beta, sw, sb, sv)
        assert init.joint_density(beta, 0.4, sw, sb, sv) / over_mu == pytest.approx(stats.laplace.pdf(0.4, scale=scale), rel=1e-7)
    for mu in (0.1, 1.3):
        over_beta = (
            2 * integrate.quad(lambda t, mu=mu: init.joint_density(t, mu, sw, sb, sv), 0, np.inf, epsabs=1e-12, limit=400)[0]
        )
        assert over_beta == pytest.approx(init.delta_slope_density(mu, sw, sv), rel=1e-6)


def test_meijer_form_needs_squared_sigmas():
    """G^{2,0}_{0,2}(z | 0, 0) = 2 K_0(2 sqrt z): with the printed argument the forms differ unless sv sw = 1."""
    sw, sv, mu = 3.0, 2.0, 1.7
    g = lambda z: float(mpmath.meijerg([[], []], [[0, 0], []], z)) / (2 * np.pi * sv * sw)  # noqa: E731
    assert g(mu**2 / (4 * (sv * sw) ** 2)) == pytest.approx(init.delta_slope_density(mu, sw, sv), rel=1e-10)
    assert g(mu**2 / (4 * sv * sw)) != pytest.approx(init.delta_slope_density(mu, sw, sv), rel=0.3)


@pytest.mark.parametrize("sigmas", SIGMAS)
def test_samples_follow_the_densities(sigmas):
    sw, sb, sv = sigmas
    f = spline(init.gaussian(1, sw, sb, sv, batch=200_000, seed=7))
    beta, mu = f.breakpoints.flatten().numpy(), f.delta_slopes.flatten().numpy()
    assert stats.kstest(beta, stats.cauchy(scale=sb / sw).cdf).pvalue > 1e-3
    assert stats.kstest(mu, lambda t: breakpoints.delta_slope_cdf(t, sw, sv)).pvalue > 1e-3
    assert stats.kstest(mu / breakpoints.laplace_scale(beta, sw, sb, sv), stats.laplace.cdf).pvalue > 1e-3
    assert stats.kstest(beta, stats.cauchy(scale=1.03 * sb / sw).cdf).pvalue < 1e-3  # three per cent off is seen


@pytest.mark.parametrize("width", [10, 200])
def test_roughness_moments_and_tail(width):
    sw, sv = init.he(width)
    rho = roughness(init.gaussian(width, sw, 1.0, sv, batch=40_000, seed=3)).numpy()
    mean, variance = 4, 128 / width  # H (sigma_w sigma_v)^2 and 8 H (sigma_w sigma_v)^4, by He's start
    assert rho.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / 40_000))
    assert rho.var() == pytest.approx(variance, rel=0.1)
    for excess in (0.5, 2.0, 6.0):
        assert np.mean(rho - mean >= excess) <= 1 / (1 + excess**2 / variance)


def test_uniform_breakpoints_keep_the_delta_slopes():
    net = init.gaussian(50, 1.0, 1.0, 1.0, batch=400, seed=1)
    spread = init.uniform_breakpoints(net, -3.0, 2.0, seed=5)
    assert np.array_equal(spline(spread).delta_slopes, spline(net).delta_slopes)
    assert stats.kstest(spline(spread).breakpoints.flatten().numpy(), stats.uniform(-3, 5).cdf).pvalue > 1e-3


def test_bad_input_gets_one_sentence():
    with pytest.raises(ValueError, match="low < high"):
        init.uniform_breakpoints(init.gaussian(3, 1, 1, 1), 1.0, 1.0)
    with pytest.raises(ValueError, match="at least 1"):
        init.gaussian(0, 1, 1, 1)


def test_start_is_zero_with_even_breakpoints_at_every_scale():
    nets = init.zero_start(40, 1.5, [100.0, 1.0, 0.1], seed=3)
    assert nets(torch.linspace(-3, 3, 50).double()[:, None]).abs().max() < 1e-9
    f = spline(nets)
    assert torch.allclose(f.breakpoints[0], f.breakpoints[2])
    assert len(f.breakpoints[0].unique()) == 10
    assert torch.allclose(f.delta_slopes[0], 10**4 * f.delta_slopes[1])
    assert sorted(f.orientations[0].tolist()) == [-1.0] * 20 + [1.0] * 20
