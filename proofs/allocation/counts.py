#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemmas 15 and 18 of docs/certificates/allocation.md: counts of roundings of the power of a series, run for every degree, and
of a node's masses.
"""
# from dp/allocation/poisson_sums.hpp: return t + 1.0 >= n ? n * (n + 1.0) / {per} + {each} * n : t * (n + 2.0);
# from dp/allocation/poisson_sums.hpp: worst = std::max(worst, part * (wrong / own + summed + off_missed + {of_mass}));
# from dp/allocation/poisson_sums.hpp: T const units = steps_ * off_missed + order_ * (worst + {by_degree}) +
# from dp/allocation/poisson_sums.hpp: T const summed = static_cast<T>(size) / {lanes} + {depth};
# from dp/contour/turned_sums.hpp: T const units = steps_ * off_none + order_ * (worst + {turned_degree}) + {both} * power_units(order_, steps_) + {turned_each} * order_ +
import sys
from fractions import Fraction
from math import isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402

EXP = Fraction(151, 100)
ROOT_FIVE = Fraction(isqrt(5 * 10**40) + 1, 10**20)


def squarings(t, n):
    """The most roundings of a coefficient of degree n of b^t, by squares and products of n + 1 terms."""
    c = b = 0
    first = True
    while True:
        if t % 2:
            c, first = (0 if first else c) + b + n + 2, False
        t //= 2
        if t == 0:
            return c
        b = 2 * b + n + 2


def main():
    c, holds = constants_of(__file__), Statements()
    # c_k: the factor 3, two products, a sum of k terms in eight lanes by k/8 + 11 at most less one, a quotient; on top of c_(k-j).
    total, right = Fraction(0), True
    for k in range(1, 401):
        total += 3 + 2 + Fraction(k, 8) + Fraction(8)
        total += 1
        right = right and total <= k * (k + Fraction(1)) / c["per"] + c["each"] * k
    holds("15: the recurrence, for every degree up to 400", right)
    # Eight lanes: at most n/8 + 1 additions, of which the first is to 0, and three.
    holds("15: depth of a sum", c["lanes"] == 8 and c["depth"] >= 1 + 3)
    holds("15: a power of few steps", all(squarings(t, n) <= t * (n + 2) for n in range(3, 401, 7) for t in range(2, n - 1)))
    # Each factor rho/j has rho's 5, one of 1/j, and two products; b_j besides three of the scale, the inverse, and its own product.
    holds("15: a node's factor", 5 + 1 + 1 + 1 <= 8)
    holds("15: of b_j by its degree: 11 that a node's count leaves out, the scale and its power", 8 + 1 + 1 <= 11 <= c["by_degree"])
    holds("15: and once: the 14 that it leaves out, the inverse and the product", 14 + 1 + 1 <= c["of_mass"])
    holds("18: a complex factor: rho/j, cos and sin by 2, a product", 5 + 1 + 1 + 2 + ROOT_FIVE <= 14 and c["turned_degree"] >= 14)
    holds("18: a step of the recurrence: a product, its factor, a quotient", ROOT_FIVE + 3 + 1 <= c["turned_each"])
    holds("18: real and imaginary parts of a sum", c["both"]**2 >= 2)
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
