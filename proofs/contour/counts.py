#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts of roundings of docs/certificates/contour.md, Lemmas 2, 6, 9 and 13, second order included, in exact rational
arithmetic.
"""
# from dp/contour/table.hpp: return sum + {nine} * unit_roundoff * size;
# from dp/contour/integrate.hpp: return {lines} * weight * weight * elementary::exp({bent} * s * s + {lifted} * c * c) /
# from dp/contour/moment_line.hpp: static constexpr std::size_t powers = {powers};
# from dp/contour/moment_line.hpp: (at.size * (at.plain + {of_mass} + {of_node} * static_cast<T>(size)) + {of_loss} * at.loss_error);
# from dp/contour/turns.hpp: T const depth = {depth} + static_cast<T>(terms_.size() / block);
# from dp/contour/turns.hpp: return depth + {start} + (falls_ ? {falling} : {turning}) * static_cast<T>(n % anew);
# from dp/contour/turns.hpp: static constexpr std::size_t anew = {anew};
# from dp/contour/turns.hpp: static constexpr std::size_t block = {block};
# from dp/contour/line.hpp: T const units = {units} + {by_fall} * std::abs(fall) + std::abs(turned);
# from dp/contour/line.hpp: error_by_epsilon_ += modulus * unit_roundoff * {by_angle} * t;
# from dp/contour/sums.hpp: add(n, log_size, turned, (modulus >= wrong ? elementary::log1p(1.01 * wrong / size) : {lost}) +
# from dp/contour/kept.hpp: inline constexpr double kept_width = {kept};
import re
import sys
from fractions import Fraction
from math import factorial, isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import ROOT, Statements, constants_of  # noqa: E402

U = Fraction(1, 2**53)
ROOT_FIVE = Fraction(isqrt(5 * 10**40) + 1, 10**20)
ROOT_TWO = Fraction(isqrt(2 * 10**40) + 1, 10**20)
EXP, SIN = Fraction(151, 100), Fraction(18, 10)  # elementary.md


def times(*units):
    """What a product of numbers that are off by so many units is off by, in units."""
    product = Fraction(1)
    for each in units:
        product *= 1 + each * U
    return (product - 1) / U


def terms_of_sums():
    """How many terms the sum_above of any header has."""
    counts = []
    for path in sorted((ROOT / "include/tacit").rglob("*.hpp")):
        text = path.read_text("utf-8")
        for found in re.finditer(r"sum_above<T>\(\{", text):
            depth, commas = 0, 0
            for letter in text[found.end():]:
                if letter in "([{":
                    depth += 1
                elif letter in ")]}":
                    if depth == 0:
                        break
                    depth -= 1
                elif letter == "," and depth == 0:
                    commas += 1
            counts.append(commas + 1)
    return counts


def main():
    c, holds = constants_of(__file__), Statements()

    # Lemma 2: the sum of n numbers x, off by (8.9 - n)u|x| each, of moduli that sum to 1.
    counts = terms_of_sums()
    holds(f"2: {len(counts)} sums, of {max(counts)} terms at most", 20 < len(counts) and max(counts) <= 6)
    for n in range(1, 7):
        added = c["nine"] * (1 - U)**(n + 1)  # at least, of the sum of moduli and the product
        lost = ((1 + U)**n - 1) / U + Fraction(89, 10) - n
        last = (1 + U)**n * (1 + 10 * U)
        if n == 1:
            lost -= 1  # 0 + x is exact
        else:
            lost -= (1 + U)**n / U - (1 + U)**(n - 1) / U  # n - 1 additions
        holds(f"2: {n} terms", lost + last <= added)

    # Lemma 6: the series of small losses.
    half = Fraction(1, 2)
    powers = int(c["powers"])
    used = Fraction(499, 1000)
    beyond = sum(used**k / factorial(k) for k in range(powers + 2, 60)) + Fraction(1, 10**60)
    holds("6: what lies beyond the sixteenth power", beyond < half**17 / factorial(17))
    holds("6: beside (zL)^2, with the product and the quotient of each power and what Horner's scheme does to it",
          sum((times(*[ROOT_FIVE, 1, Fraction(1, 2)] * (j + 1)) + (ROOT_FIVE + 1) * (j + 2)) * half**j / factorial(j + 2)
              for j in range(powers)) + beyond / (used**2 * U) <= c["of_mass"])
    holds("6: of a mass and of a loss", c["of_loss"] * Fraction(6, 10) >= Fraction(6, 10) * 1 and c["of_loss"] >= Fraction(13, 10))
    holds("6: prefix sums of the third power and up, an addition for each node",
          sum(half**j / factorial(j + 2) for j in range(2, powers)) <= c["of_node"])
    holds("6: turns", times(ROOT_FIVE, SIN, Fraction(1, 2)) <= c["turning"])
    holds("6: turns that fall: exp, its argument and the product", times(ROOT_FIVE, SIN, EXP, 1, 1) <= c["falling"])
    holds("6: at most 15 in a row", c["anew"] == 16)
    # Eight lanes of 64: 8 additions, 3 of the lanes, one for each block, of which there are at most n/64 + 1.
    holds("6: depth of a sum", c["block"] / 8 + 3 + 1 <= c["depth"])
    holds("6: a start: exp, sines, a product by it", times(ROOT_FIVE, SIN, EXP, 1) <= c["start"])
    # e^x - 1 > x + x^2/2 + x^3/6: below its own error w a number counts as w, and is within 3w of that.
    x = c["lost"]
    holds("6: less than its own error", x + x**2 / 2 + x**3 / 6 >= 3)

    # Lemma 9: the lines' integrals are at most X^3 + 4X^2 + 3, X = e^(s^2/2) = 1 + y, and half of 8X^3 is counted.
    polynomial = [2 * c["lines"] - 8, (2 * c["lines"] - 1) * 3 - 8, (2 * c["lines"] - 1) * 3 - 4, 2 * c["lines"] - 1]
    holds("9: 8X^3 - X^3 - 4X^2 - 3 has no negative coefficient in X - 1", min(polynomial) >= 0)
    holds("9: X^3 is e^(1.5s^2), and lines at c have e^(c^2/2)", c["bent"] == Fraction(3, 2) and c["lifted"] == half)

    # Lemma 13: e^(it...)·(kernel) of a term, over its modulus.
    sine = max(SIN, 3 * ROOT_TWO)  # beyond 2^20 each is off by 3u absolutely
    number = 3  # theta(1 + theta) and t^2, 2u and u, and the difference: by 3u|z||z + 1|
    denominator = times(4, 2, 1)  # (1+theta)^2 + t^2 by 4, theta^2 + t^2 by 2, the product
    kernel = times(number, denominator / (1 - denominator * U), 1)
    term = times(EXP, Fraction(1, 2), kernel, 1, sine, 1, 1)  # e^fall, its product, that by a sine, the difference
    holds(f"13: a term's fixed units, {float(term + 2):.1f}, with the compensated sum's two", term + 2 <= c["units"])
    # t eps rounds, turned - t eps rounds by |turned| + |t eps|; fall rounds by itself.
    holds("13: by the fall and by the angle", c["by_fall"] >= 1 and c["by_angle"] * (1 - 8 * U) >= 2 * (1 - 8 * U))
    holds("18: a width", c["kept"] == Fraction(4e-10))
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
