#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemma 10 of docs/certificates/grid.md: what a pass of the FFT rounds by and how passes add up, in exact rational
arithmetic with upper bounds of the roots; u^2 is included. The roots' own errors: twiddles.gappa and bounds.sollya.
"""
# from dp/grid/fft.hpp: for (; left % 4 == 0; left /= 4) passes += {four};
# from dp/grid/fft.hpp: passes += left == 2 ? {two} : left == 3 ? {three} : left == 6 ? {six} : 0;
# from dp/grid/fft.hpp: return unit_roundoff * (T({grown}) * passes + {apart});
# from dp/grid/convolution.hpp: while (static_cast<T>(size) < wanted) size *= 2;
import sys
from fractions import Fraction
from math import isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402

U = Fraction(1, 2**53)


def root_above(x):
    return Fraction(isqrt(int(Fraction(x) * 2**200)) + 1, 2**100)


def main():
    c, holds = constants_of(__file__), Statements()
    # A root is off by 4u, a product by 2 sqrt 2 u(1 + u): each component is a sum of two products.
    off_root = 4 * U
    product = 2 * root_above(2) * U * (1 + U)
    by_root = (1 + off_root) * (1 + product) - 1
    holds("10: a product by a computed root", by_root <= (4 + 2 * root_above(2) + 20 * U) * U)
    sum_of = 1 + U
    four = sum_of**2 * (1 + by_root) - 1
    two = sum_of * (1 + by_root) - 1
    holds("10: radix 4, two additions and a root", four <= c["four"] * U)
    holds("10: radix 2 with roots", two <= 8 * U)
    holds("10: radix 2 without", sum_of - 1 <= c["two"] * U)
    # Radix 3: t = a1 + a2, m = a0 - t/2, s = h(a1 - a2), |h - sqrt(3)/2| <= u/2; sizes over |a0| + |a1| + |a2|, and in the 2-norm.
    height = root_above(3) / 2
    side = (1 + U)**2 * (1 + U) - 1  # of s: h is off by u of itself, the difference and the product round
    # a0 + t errs by u|t| and u of itself, m - s and m + s by u|t|/2, u|m|, what s errs by and u of themselves; over |a1| + |a2|.
    first = (1 + U)**2 - 1
    other = (U / 2 + U / 2 * (1 + U) + side * height) * (1 + U) + U
    worst = max(first, other, 2 * U * (1 + U))  # the last is over |a0|
    holds("10: radix 3, an output", worst <= c["three"] * U)
    # In the 2-norm: outputs off by x, y, z with x <= 2u|t| + u|a0|, y, z <= u(|t|/2 + 2|m| + 4.01|s|); |a|^2 = |a0|^2 + (|t|^2 + |d|^2)/2,
    # s = h d. With |m| <= |a0| + |t|/2: (x, y, z) = M(|a0|, |t|, |d|), and its norm is at most Frobenius's of M scaled.
    rows = [(1, 2, 0), (2, Fraction(3, 2), Fraction(401, 100) * height), (2, Fraction(3, 2), Fraction(401, 100) * height)]
    scale = (1, root_above(2), root_above(2))
    square = sum((entry * s)**2 for row in rows for entry, s in zip(row, scale))
    holds("10: radix 3, in the 2-norm, over sqrt 3", root_above(square) / (root_above(3) - Fraction(1, 2**90)) <= c["three"])
    holds("10: radix 2 and then 3", (1 + 8 * U) * (1 + 6 * U) - 1 <= 14 * U * (1 + 8 * U) and c["six"] == 14)
    # Taking apart: two additions and a root; an error of the Z_k grows by sqrt 2. The inverse: 1/N, rounded, and its product.
    apart = four
    holds("10: taking apart, and 1/N", apart + 2 * U * (1 + 20 * U) <= c["apart"] * U)
    for rest, extra in ((1, 0), (2, c["two"]), (3, c["three"]), (6, c["six"])):
        for passes in range(14):
            last = (1 + 8 * U) * (1 + c["three"] * U) if rest == 6 else 1 + extra * U
            grown = (1 + c["four"] * U)**passes * last
            error = root_above(2) * (grown - 1) * (1 + 11 * U) + (c["apart"] - Fraction(1, 1000)) * U
            said = U * (c["grown"] * (c["four"] * passes + extra) + c["apart"])
            if error > said and (passes or extra):
                holds(f"10: {passes} passes of radix 4 and {rest}", False)
    holds("10: all sizes up to 12 * 4^13", holds.status == 0)
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
