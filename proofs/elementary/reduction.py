#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The least |x - k pi/2| over all doubles 0.5 <= |x| <= 2^20 and integers k: at least 2^-61.

x = m 2^e with m < 2^53. For irrational a, |m a - k| >= |q_j a - p_j| for every m below the denominator
q_(j+1) of the next convergent (Lagrange). So the convergents of a = 2^e / (pi/2) give the least distance,
for each of the exponents. All in integers; pi by Machin's formula between two fractions.
"""
import sys
from fractions import Fraction

BITS = 400


def arctan_of_inverse(n):
    """arctan(1/n) from below and above: an alternating series stopped after a negative and a positive term."""
    total, power, sign, k = Fraction(0), Fraction(1, n), 1, 0
    while True:
        term = power / (2 * k + 1)
        below = total
        total += sign * term
        if sign > 0 and term < Fraction(1, 2**BITS):
            return below, total
        power /= n * n
        sign, k = -sign, k + 1


def least_distance(low, high, bound):
    """The least |m a - k| for 0 < m < bound, from below, for every a in [low, high]."""
    x, y = low, high
    p, q, p_before, q_before = 1, 0, 0, 1
    while True:
        digit = x.numerator // x.denominator
        if digit != y.numerator // y.denominator:
            raise ValueError("too few digits of pi")
        p_next, q_next = digit * p + p_before, digit * q + q_before
        if q_next >= bound:
            return min(abs(q * low - p), abs(q * high - p)) if q else None
        p, q, p_before, q_before = p_next, q_next, p, q
        x, y = 1 / (y - digit), 1 / (x - digit)


def main():
    fifth, other = arctan_of_inverse(5), arctan_of_inverse(239)
    half_pi = [2 * (4 * fifth[0] - other[1]), 2 * (4 * fifth[1] - other[0])]
    if not 0 < half_pi[1] - half_pi[0] < Fraction(1, 2**(BITS - 8)):
        return 1
    least = None
    for e in range(-53, -31):
        scale = Fraction(2)**e
        distance = half_pi[0] * least_distance(scale / half_pi[1], scale / half_pi[0], 2**53)
        least = distance if least is None else min(least, distance)
    # The parts of circular.hpp make up pi/2 to 2^-159, and the parts of ln 2 make it up to 2^-89.
    parts = [float.fromhex(x) for x in
             ("0x1.921fb544p0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104")]
    whole = sum(Fraction(part) for part in parts)
    fits = max(abs(whole - end) for end in half_pi) < Fraction(1, 2**159)
    print(f"least distance {float(least):.4g}, parts of pi/2 {'fit' if fits else 'DO NOT FIT'}")
    return 0 if least >= Fraction(1, 2**61) and fits else 1


if __name__ == "__main__":
    sys.exit(main())
