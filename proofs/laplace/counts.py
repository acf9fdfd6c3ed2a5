#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemmas 3 and 4 of docs/certificates/laplace.md, in exact integers: the recurrences of dp/laplace_profile.hpp are run with
counts of roundings in the place of numbers.
"""
# from dp/laplace_profile.hpp: return releases <= {releases} && most * releases <= {largest};
# from dp/laplace_profile.hpp: return {sum, roundings({by_release} * count_ + {by_power} * powers + {fixed}) + enclosure(0.0, {series})};
# from dp/laplace_profile.hpp: whole_sums(t) * roundings({whole} * count_);
# from dp/laplace_profile.hpp: return {1.0 - (k + {more}) * 0x1p-53, 1.0 + (k + {more}) * 0x1p-53};
# from dp/laplace_profile.hpp: static constexpr T underflow = {underflow};
# from dp/laplace_profile.hpp: for (T term = 1.0; term > {term} || {ratio} * x * x > static_cast<T>((r + 1) * (r + 2)); r += 2) {
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402

U = Fraction(1, 2**53)
E = Fraction(271828182845904523537, 10**20)  # above e


def powers_for(x, c):
    r, term = 1, Fraction(1)
    while term > c["term"] or c["ratio"] * x * x > (r + 1) * (r + 2):
        term *= x * x / ((r + 1) * (r + 2))
        r += 2
    return r


def counts(n, most_power):
    """The largest count of g_r(m) for each m and r, over all m <= n."""
    spline, before = 0, [0] * (most_power + 1)
    worst = []
    for m in range(1, n + 1):
        if m > 1:
            spline += 4
        row = [max(spline + 4, before[0] + 3 if m > 1 else 0)]
        for r in range(1, most_power + 1):
            row.append(max(row[r - 1] + 6, before[r] + 4 if m > 1 else 0))
        worst.append(row)
        before = row
    return worst


def main():
    c, holds = constants_of(__file__), Statements()
    n, largest = int(c["releases"]), c["largest"]
    most = powers_for(largest / 2, c)
    holds(f"4: {most} powers at most", most <= 460)
    rows = counts(n, most)
    holds("3: g_0(m) has at most 8m roundings, g_r(m) 12m + 6r",
          all(row[0] <= 8 * m and all(count <= 12 * m + 6 * r for r, count in enumerate(row)) for m, row in enumerate(rows, 1)))
    for releases, power in ((1, 1), (2, 3), (30, 60), (n, most)):
        found = max(row[r] for row in rows[:releases] for r in range(power + 1))
        # R/2 + 1 additions of odd powers; the weight, its product, two sums over j and m.
        total = found + power // 2 + 1 + 3 * releases + 1 + 2 * releases
        holds(f"3: {releases} releases and {power} powers: {total} roundings",
              total <= c["by_release"] * releases + c["by_power"] * power + c["fixed"])
    k = c["by_release"] * n + c["by_power"] * most + c["fixed"]
    holds("3: (1 + u)^k and (1 - u)^-k within 1 +- (k + 1)u", k <= 12000 and k * k * U * (1 + k * U) <= 1 and c["more"] >= 2)
    holds("3: a weight has 3n", c["whole"] >= 3)
    # Of the odd powers that are left out the first is at most 2^-60 of g_1 and each a quarter of the one before, at the most:
    # the sum ends where the next term is below the limit and so is the ratio of all that follow.
    holds("3: the series", c["ratio"] >= 4 and c["term"] * Fraction(1, 4) / (1 - Fraction(1, 4)) <= c["series"] / 4)

    # Lemma 4: what underflows, in powers of two.
    half = largest / 2
    def below(power, base, exponent):  # base^exponent < 2^power
        return base**int(exponent) < Fraction(2)**power
    holds("4: e^150 and e^300", below(217, E, half) and below(433, E, largest))
    holds("4: 4n^3 + 3(n + 1)R", 4 * n**3 + 3 * (n + 1) * most <= 2**30)
    holds("4: powers, by weights of at most e^150 and sinh's e^150", 30 - 1075 + 217 + 217 <= -1045 + 434)
    holds("4: weights", 3 * (1 + int(largest)) * n <= 2**19 and (n + 1) * (n + 2) // 2 <= Fraction(2)**17 * Fraction(107, 100))
    total = 2 * (Fraction(2)**-389 + Fraction(2)**-611)
    holds("4: in all", -1075 + 19 + 433 + 217 + 17.1 <= -388.9 and total < Fraction(1, 10**116))
    holds("4: what is counted", Fraction(2) * (Fraction(2)**-388 + Fraction(2)**-611) <= c["underflow"])
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
