#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemma 0 of docs/certificates/contour.md inside of the ranges of the series: relative errors of exp_residual, log1p_residual
and entropy_residual, second order included, in exact rational arithmetic on small pieces. Outside: residuals.sollya.
A fused product only leaves a rounding out.
"""
# from core/log.hpp: constexpr std::size_t terms = std::numeric_limits<T>::digits > 53 ? 22 : {exp_terms};
# from core/log.hpp: constexpr std::size_t terms = (std::numeric_limits<T>::digits * {hundred} / {per} + {three}) / 2 * 2;
# from core/log.hpp: factorial *= T(k + 2);
# from core/log.hpp: c[k] = 1 / T(2 * k + 3);
# from core/log.hpp: if (u > T(-{a}) / {b} * scale && u < T({c}) / {d} * scale) {
# from core/log.hpp: if (d > T(-{a}) / {b} && d < T({c}) / {d}) {
# from dp/contour/strip.hpp: e.divergence = (base + (std::abs(loss) < 0.336 ? {units} : 50.0)) * exp_residual(-loss) +
import sys
from fractions import Fraction
from math import factorial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402

U = Fraction(1, 2**53)


class Near:
    """A real number between low and high, and how far what is computed may be from it."""

    def __init__(self, low, high, off=Fraction(0)):
        self.low, self.high, self.off = low, high, off

    def size(self):
        return max(abs(self.low), abs(self.high))

    def rounded(self):
        return Near(self.low, self.high, self.off + U * (self.size() + self.off))

    def __add__(self, other):
        return Near(self.low + other.low, self.high + other.high, self.off + other.off).rounded()

    def __mul__(self, other):
        ends = [x * y for x in (self.low, self.high) for y in (other.low, other.high)]
        off = self.size() * other.off + other.size() * self.off + self.off * other.off
        return Near(min(ends), max(ends), off).rounded()


def exact(x):
    return Near(x, x)


def polynomial(coefficients, x, square):
    """As core/log.hpp computes it: even and odd powers apart."""
    even, odd = coefficients[-2], coefficients[-1]
    for k in range(len(coefficients) - 2, 0, -2):
        even = even * square + coefficients[k - 2]
        odd = odd * square + coefficients[k - 1]
    return even + x * odd


def square_of(low, high):
    return Near(0 if low < 0 < high else min(low * low, high * high), max(low * low, high * high))


def pieces(low, high, count):
    return [(low + (high - low) * k / count, low + (high - low) * (k + 1) / count) for k in range(count)]


def exp_residual(terms):
    coefficients = [exact(Fraction(1, factorial(k + 2))).rounded() for k in range(terms)]
    worst = Fraction(0)
    for low, high in pieces(Fraction(-1), Fraction(1), 64):
        found = polynomial(coefficients, Near(low, high), square_of(low, high).rounded())
        left = Fraction(2, factorial(terms + 2))  # the terms that are not there
        worst = max(worst, (found.off + left) / (found.low - left))
    return (1 + worst) * (1 + U)**2 - 1  # w·w, and its product


def entropy_residual(low, high, terms, count=64):
    """The worst of log1p_residual and of entropy_residual."""
    coefficients = [exact(Fraction(1, 2 * k + 3)).rounded() for k in range(terms)]
    worst = [Fraction(0), Fraction(0)]
    for a, b in pieces(low, high, count):
        z = Near(a / (2 + a), b / (2 + b))
        of_z = (1 + U) / (1 - U) - 1  # relatively: 2 + u rounds, and the quotient
        y = square_of(z.low, z.high)
        y.off = y.high * ((1 + of_z)**2 * (1 + U) - 1)
        tail = polynomial(coefficients, y, y * y)
        left = y.high**terms / (2 * terms + 3) / (1 - y.high)
        of_tail = (tail.off + left) / tail.low
        # phi = u z - 2 z y T, over u z: y = z^2, and z/u = 1/(2 + u)
        of_first = (1 + of_z) * (1 + U) - 1
        of_second = (1 + of_z)**3 * (1 + U)**4 * (1 + of_tail) - 1  # 2z is exact; y, y T, and the products
        ends = [2 * zz * t / (2 + zz2) for zz, zz2 in ((z.low, a), (z.low, b), (z.high, a), (z.high, b))
                for t in (tail.low, tail.high + left)]
        share = Near(min(ends), max(ends))
        phi = Near(1 - share.high, 1 - share.low)
        off = of_first + share.size() * of_second
        of_phi = (off + U * (phi.high + off)) / phi.low
        worst[0] = max(worst[0], of_phi)
        # psi = d^2 - (1 + d) phi, over d^2
        of_product = (1 + of_phi) * (1 + U)**2 - 1
        product = Near((1 + a) * phi.low / (2 + b), (1 + b) * phi.high / (2 + a))
        psi = Near(1 - product.high, 1 - product.low)
        off = U + product.high * of_product
        worst[1] = max(worst[1], (off + U * (psi.high + off)) / psi.low)
    return worst


def main():
    c, holds = constants_of(__file__), Statements()
    exp_units = exp_residual(int(c["exp_terms"])) / U
    terms = (53 * int(c["hundred"]) // int(c["per"]) + int(c["three"])) // 2 * 2
    phi, psi = entropy_residual(-c["a"] / c["b"], c["c"] / c["d"], terms)
    holds(f"0: exp_residual within 1 errs by {float(exp_units):.2f} units", exp_units <= c["units"])
    holds(f"0: log1p_residual within its range errs by {float(phi / U):.2f} units", phi / U <= c["units"])
    holds(f"0: entropy_residual within its range errs by {float(psi / U):.2f} units", psi / U <= c["units"])
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
