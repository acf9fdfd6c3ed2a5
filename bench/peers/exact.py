# SPDX-License-Identifier: Apache-2.0
"""The truth apart from the C++ library: closed forms in 30 digits, and the inversion of moments in
80-bit numbers, good to ten digits where it is used."""
import numpy as np
from mpmath import binomial, erfc, exp, expm1, fsum, linspace, log, log1p, mp, mpf, pi, quad, sqrt

mp.dps = 30


def smallest(profile, delta, top):
    """The epsilon in [0, top] at which the falling `profile` reaches delta."""
    low, high = 0 * top, top
    if profile(low) <= delta:
        return low
    for _ in range(70):
        middle = (low + high) / 2
        if profile(middle) > delta:
            low = middle
        else:
            high = middle
    return high


def gaussian_epsilon(mu, delta):
    """Unsampled Gaussians, however many: mu = sqrt(steps)/sigma."""
    mu = mpf(mu)

    def below(x):
        return erfc(-x / sqrt(2)) / 2

    def profile(epsilon):
        return below(mu / 2 - epsilon / mu) - exp(epsilon) * below(-mu / 2 - epsilon / mu)
    return smallest(profile, mpf(delta), mpf(1000))


def response_epsilon(loss, count, delta):
    """`count` binary randomised responses of this loss each, the worst of all that is pure-DP: this is
    optimal composition too."""
    loss = mpf(loss)
    truth = 1 / (1 + exp(-loss))
    atoms = [(loss * (2 * k - count), binomial(count, k) * truth**k * (1 - truth)**(count - k))
             for k in range(count + 1)]
    return smallest(lambda e: fsum(-p * expm1(e - x) for x, p in atoms if x > e), mpf(delta),
                    loss * count)


def sampled_renyi(rate, sigma, order):
    """Renyi divergence of the Poisson-sampled Gaussian from the plain one."""
    rate, sigma, order = mpf(rate), mpf(sigma), mpf(order)

    def integrand(x):
        density = exp(-x * x / (2 * sigma**2)) / (sigma * sqrt(2 * pi))
        return density * exp(order * log1p(rate * expm1((2 * x - 1) / (2 * sigma**2))))
    return log(quad(integrand, linspace(-14 * sigma, order + 14 * sigma, 40))) / (order - 1)


def sampled_epsilon(rate, sigma, steps, delta):
    """`steps` Poisson-sampled Gaussians, a record removed (the worse direction in all that is asked
    here). With M(z) = E_Q[(P/Q)^(1+z)] and any theta > 0,

        delta(epsilon) = 1/(2 pi i) * integral of M(z)^steps e^(-z epsilon)/(z(z+1)) dz over theta + iR,

    by the trapezoid rule in both integrals. theta is the one whose moment alone proves the least
    epsilon. An alias lies 40 standard deviations and jumps of the loss away; the sum ends where 200
    terms on end are below 1e-18 of the first."""
    real = np.longdouble
    rate, sigma, log_delta = real(rate), real(sigma), np.log(real(delta))

    def nodes(theta):  # the losses, and their masses under the tilted Q
        x = np.arange(-14 * sigma, theta + 1 + 14 * sigma, sigma / 10, dtype=real)
        loss = np.log1p(rate * np.expm1((2 * x - 1) / (2 * sigma**2)))
        normal = real(1) / 10 / np.sqrt(2 * real(np.pi))
        return loss, normal * np.exp((1 + theta) * loss - x * x / (2 * sigma**2))

    def proved(log_theta):
        theta = np.exp(log_theta)
        return (steps * np.log(nodes(theta)[1].sum()) - log_delta) / theta
    low, high = real(-5), real(6)
    for _ in range(60):
        third = (high - low) / 3
        if proved(low + third) < proved(high - third):
            high -= third
        else:
            low += third
    theta, top = np.exp(low), proved(low)

    loss, mass = nodes(theta)
    mean = (mass * loss).sum() / mass.sum()
    spread = np.sqrt(steps * (mass * (loss - mean)**2).sum() / mass.sum())
    jump = np.abs(loss[steps * mass > 1e-20 * mass.sum()]).max()
    step = 2 * real(np.pi) / (40 * (spread + jump))
    kernels, at = [], []
    while len(at) < 200 or max(abs(k) for k in kernels[-200:]) > 1e-18 * abs(kernels[0]):
        z = theta + 1j * (len(at) * step)
        moment = (mass * np.exp(1j * z.imag * loss)).sum()
        # The power relative to that on the real axis, which may be out of range.
        kernels.append((moment / mass.sum())**steps / (z * (z + 1)))
        at.append(z)
    kernels, at = np.array(kernels), np.array(at)
    kernels[0] /= 2
    scale = steps * np.log(mass.sum())

    def log_profile(epsilon):
        total = (kernels * np.exp(-1j * at.imag * epsilon)).real.sum() * step / real(np.pi)
        return np.log(np.maximum(total, real(1e-4000))) + scale - theta * epsilon
    return smallest(log_profile, log_delta, top)
