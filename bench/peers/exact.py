# SPDX-License-Identifier: Apache-2.0
"""The truth apart from the C++ library: closed forms in 30 digits, and the inversion of moments in
80-bit numbers, good to ten digits where it is used.

Every answer is computed twice, in two precisions or with two sets of nodes on two lines. Where the two
disagree, or a search ends at an end of its range, ArithmeticError is raised: nothing is printed that
only one of them vouches for."""
import numpy as np
from mpmath import binomial, erfc, exp, expm1, fsum, linspace, log, log1p, mp, mpf, pi, quad, sqrt

mp.dps = 30


def agreed(answer, again, tolerance):
    """`answer`, which `again` must repeat."""
    if not 0 <= answer < float("inf") or not abs(answer - again) <= tolerance * max(1, abs(answer)):
        raise ArithmeticError(f"two computations of one number disagree: {answer} and {again}")
    return answer


def in_two_precisions(ask):
    """`ask()` in 30 digits, checked in 45."""
    answer = ask()
    with mp.workdps(45):
        again = ask()
    return agreed(answer, again, mpf(10)**-15)


def smallest(profile, delta, top):
    """The epsilon in [0, top] at which the falling `profile` reaches delta."""
    low, high = 0 * top, top
    if profile(low) <= delta:
        return low
    if not profile(high) <= delta:
        raise ArithmeticError(f"delta is not reached up to epsilon = {top}")
    for _ in range(70):
        middle = (low + high) / 2
        if profile(middle) > delta:
            low = middle
        else:
            high = middle
    return high


def gaussian_epsilon(mu, delta):
    """Unsampled Gaussians, however many: mu = sqrt(steps)/sigma."""
    def below(x):
        return erfc(-x / sqrt(2)) / 2

    def ask():
        m = mpf(mu)

        def profile(epsilon):
            return below(m / 2 - epsilon / m) - exp(epsilon) * below(-m / 2 - epsilon / m)
        return smallest(profile, mpf(delta), mpf(1000))
    return in_two_precisions(ask)


def response_epsilon(loss, count, delta):
    """`count` binary randomised responses of this loss each, the worst of all that is pure-DP: this is
    optimal composition too."""
    def ask():
        each = mpf(loss)
        truth = 1 / (1 + exp(-each))
        atoms = [(each * (2 * k - count), binomial(count, k) * truth**k * (1 - truth)**(count - k))
                 for k in range(count + 1)]
        return smallest(lambda e: fsum(-p * expm1(e - x) for x, p in atoms if x > e), mpf(delta),
                        each * count)
    return in_two_precisions(ask)


def sampled_renyi(rate, sigma, order):
    """Renyi divergence of the Poisson-sampled Gaussian from the plain one."""
    rate, sigma, order = mpf(rate), mpf(sigma), mpf(order)

    def integrand(x):
        density = exp(-x * x / (2 * sigma**2)) / (sigma * sqrt(2 * pi))
        return density * exp(order * log1p(rate * expm1((2 * x - 1) / (2 * sigma**2))))

    def divergence(pieces, reach):
        ends = linspace(-reach * sigma, order + reach * sigma, pieces)
        return log(quad(integrand, ends)) / (order - 1)
    return agreed(divergence(40, 14), divergence(57, 15), mpf(10)**-15)


def sampled_epsilon(rate, sigma, steps, delta):
    """`steps` Poisson-sampled Gaussians, a record removed (the worse direction in all that is asked
    here), on two lines and by two sets of nodes. An answer of 0 is refused, too: this inversion cannot
    tell a loss of nothing from a line that went wrong."""
    if np.finfo(np.longdouble).nmant < 63 or np.finfo(np.longdouble).minexp > -16000:
        raise ArithmeticError("numpy's long double is shorter than 80 bits here")
    answer = agreed(_inverted(rate, sigma, steps, delta, 1, 10, 40),
                    _inverted(rate, sigma, steps, delta, np.longdouble("0.93"), 14, 52), 1e-9)
    if not answer > 0:
        raise ArithmeticError("the inversion found an epsilon of 0")
    return answer


def _inverted(rate, sigma, steps, delta, share, fineness, period):
    """With M(z) = E_Q[(P/Q)^(1+z)] and any theta > 0,

        delta(epsilon) = 1/(2 pi i) * integral of M(z)^steps e^(-z epsilon)/(z(z+1)) dz over theta + iR,

    by the trapezoid rule in both integrals. theta is `share` times the one whose moment alone proves the
    least epsilon; nodes in x lie sigma/fineness apart. An alias lies `period` standard deviations and
    jumps of the loss away; the sum ends where 200 terms on end are below 1e-18 of the first."""
    real = np.longdouble
    rate, sigma, log_delta = real(rate), real(sigma), np.log(real(delta))

    def nodes(theta):  # the losses, and their masses under the tilted Q
        x = np.arange(-14 * sigma, theta + 1 + 14 * sigma, sigma / fineness, dtype=real)
        loss = np.log1p(rate * np.expm1((2 * x - 1) / (2 * sigma**2)))
        normal = real(1) / fineness / np.sqrt(2 * real(np.pi))
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
    theta, top = share * np.exp(low), proved(low)

    loss, mass = nodes(theta)
    mean = (mass * loss).sum() / mass.sum()
    spread = np.sqrt(steps * (mass * (loss - mean)**2).sum() / mass.sum())
    jump = np.abs(loss[steps * mass > 1e-20 * mass.sum()]).max()
    step = 2 * real(np.pi) / (period * (spread + jump))
    kernels, at = [], []
    while len(at) < 200 or max(abs(k) for k in kernels[-200:]) > 1e-18 * abs(kernels[0]):
        if len(at) > 100_000:
            raise ArithmeticError("the moments do not fall along the line")
        z = theta + 1j * (len(at) * step)
        moment = (mass * np.exp(1j * z.imag * loss)).sum()
        # The power relative to that on the real axis, which may be out of range.
        kernels.append((moment / mass.sum())**steps / (z * (z + 1)))
        at.append(z)
    kernels, at = np.array(kernels), np.array(at)
    kernels[0] /= 2
    scale = steps * np.log(mass.sum())

    # Far from the line's own epsilon the sum is the rounding of its terms, of either sign. Raised to
    # that, it still lies on the right side of delta.
    floor = 1e-16 * np.abs(kernels).sum() * step / real(np.pi)

    def profile(epsilon):
        total = (kernels * np.exp(-1j * at.imag * epsilon)).real.sum() * step / real(np.pi)
        if not np.isfinite(total):
            raise ArithmeticError("the inversion's sum is not a number")
        return total

    def log_profile(epsilon):
        return np.log(np.maximum(profile(epsilon), floor)) + scale - theta * epsilon
    found = smallest(log_profile, log_delta, top)
    if not profile(found) > 1e4 * floor or not abs(log_profile(found) - log_delta) <= 1e-6:
        raise ArithmeticError(f"the inversion does not return delta at epsilon = {found}")
    return found
