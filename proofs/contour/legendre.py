#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The 20 nodes and weights of core/quadrature.hpp (Lemma 15 of docs/certificates/contour.md, Lemma 4 of two_releases.md,
Lemma 8 of renyi.md) and the short rules of dp/grid/fill.hpp (Lemma 8 of grid.md), in exact rational arithmetic.

A node is right where Legendre's polynomial changes its sign between two numbers next to it; its weight is
2(1 - x^2)/(n P_(n-1)(x))^2. An n-point rule with these nodes and weights is exact up to degree 2n - 1, and its weights are
positive, of sum 2 (Gauss).
"""
import re
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import ROOT, Statements, constants_of  # noqa: E402

# from dp/grid/fill.hpp: if (rough_width < {x2}) return {n2, w2};
# from dp/grid/fill.hpp: if (rough_width < {x3}) return {n3, w3};
# from dp/grid/fill.hpp: if (rough_width < {x4}) return {n4, w4};
# from dp/grid/fill.hpp: T const pieces = std::max(1.0, std::ceil((to - from) * roughness * {per}));
U = Fraction(1, 2**53)
TINY = Fraction(1, 10**33)


def legendre(n, x):
    """P_n and P_(n-1)."""
    before, last = Fraction(0), Fraction(1)
    for k in range(n):
        before, last = last, ((2 * k + 1) * x * last - k * before) / (k + 1)
    return last, before


def moment_error(nodes, weights):
    """The most by which the rule of doubles misses a moment on [-1, 1] of a degree that it should integrate."""
    return max(abs(sum(w * x**k for x, w in zip(nodes, weights)) - Fraction(1 + (-1)**k, k + 1))
               for k in range(2 * len(nodes)))


def check_long_table(holds):
    text = (ROOT / "include/tacit/core/quadrature.hpp").read_text("utf-8")
    rows = re.findall(r"^\s*\{(\d\.\d+e[-+]\d+)L, (\d\.\d+e[-+]\d+)L\},$", text, re.M)
    table = [(Fraction(x), Fraction(w)) for x, w in rows]
    holds("15: there are ten nodes, ascending in (0, 1)",
          len(table) == 10 and all(0 < a < b < 1 for (a, _), (b, _) in zip(table, table[1:])))
    right = all(legendre(20, x - TINY)[0] * legendre(20, x + TINY)[0] < 0 for x, _ in table)
    holds("15: each is a zero of P_20 to 10^-33", right)
    wrong = max(abs(w / (2 * (1 - x * x) / (20 * legendre(20, x)[1])**2) - 1) for x, w in table)
    holds(f"15: each weight is right to {float(wrong):.1g}", wrong < Fraction(1, 10**30))
    doubles = [(Fraction(float(x)), Fraction(float(w))) for x, w in table]
    near = all(abs(x - y) <= U / 2 * (1 if x > Fraction(1, 2) else Fraction(1, 2)) * Fraction(1001, 1000)
               and abs(w - v) <= U * w * Fraction(1001, 1000) for (x, w), (y, v) in zip(table, doubles))
    holds("15: doubles are theirs, half a unit in the last place away", near)
    nodes = [s * x for x, _ in doubles for s in (-1, 1)]
    weights = [w for _, w in doubles for _ in (-1, 1)]
    off = moment_error(nodes, weights)
    holds(f"15: the rule of doubles has each moment up to degree 39 within {float(off / U):.2f} units", off <= 4 * U)


def check_short_rules(holds):
    text = (ROOT / "include/tacit/dp/grid/fill.hpp").read_text("utf-8")
    c = constants_of(__file__)
    limits = {2: c["x2"], 3: c["x3"], 4: c["x4"], 6: 1 / c["per"]}
    said = {2: "1.6e-16", 3: "1.7e-16", 4: "1.5e-16", 6: "2.5e-16"}  # the table of grid.md
    for n, x in limits.items():
        node, weight = ([Fraction(float(v)) for v in re.findall(r"[\d.]+", re.search(name + r"\{([^}]*)\}", text)[1])]
                        for name in (f"> n{n}", f"> w{n}"))
        on_both = [2 * v - 1 for v in node]
        right = len(node) == n and all(legendre(n, y - 4 * U)[0] * legendre(n, y + 4 * U)[0] < 0 or
                                       legendre(n, y)[0] == 0 for y in on_both)
        holds(f"grid 8: the {n} nodes", right)
        off = moment_error(on_both, [2 * v for v in weight])
        holds(f"grid 8: its doubles have each moment up to degree {2 * n - 1} within {float(off / U):.2f} units", off <= 4 * U)
        # c_n e^(5X) (4^n X^(2n-1) + X^(2n)), c_n = (n!)^4/((2n+1)(2n)!^3); e^y <= sum of 20 terms and 2 y^20/20!
        def factorial(k):
            return 1 if k < 2 else k * factorial(k - 1)
        y = 5 * x
        power = sum(y**k / factorial(k) for k in range(20)) + 2 * y**20 / factorial(20)
        error = (Fraction(factorial(n)**4, (2 * n + 1) * factorial(2 * n)**3) * power
                 * (4**n * x**(2 * n - 1) + x**(2 * n)))
        holds(f"grid 8: of {n} nodes up to {float(x):.2g} the error is {float(error):.3g}, below 3 units",
              error <= 3 * U and error <= Fraction(said[n]) + Fraction(1, 10**17))


def main():
    holds = Statements()
    check_long_table(holds)
    check_short_rules(holds)
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
