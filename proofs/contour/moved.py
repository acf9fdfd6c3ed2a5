#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemma 3 (vi) and (viii), Lemma 5's share and Lemma 19 of docs/certificates/contour.md: counts of roundings, to first order. n is the
number of parts; what depends on it is compared for n = 1 and by what each part more adds.
"""
# from dp/contour/strip.hpp: e.divergence = (base + (std::abs(loss) < {near} ? {residual_near} : {residual})) * exp_residual(-loss) + sensitive * (({divergence_g} + n) * grown + {divergence_m} * moved);
# from dp/contour/strip.hpp: if (log_ratio > {huge}) {
# from dp/contour/strip.hpp: e.divergence += sensitive * ({huge_log} * log_ratio + std::abs(exponent));
# from dp/contour/table.hpp: bool const huge = !(mixed < {ratio});
# from dp/contour/strip.hpp: {mass} + 0.5 * x * x + (taper != 0.0 ?
# from dp/contour/table.hpp: : base * entropy_residual(excess, excess > -0.5 ? 1.0 + excess : rest_ + mixed);
# from dp/contour/table.hpp: : base * (excess > -0.5 ? log1p_residual(excess) : excess - log_ratio);
# from dp/contour/table.hpp: ? mass_.back() * (log_ratio - 1.0) + base :
# from dp/contour/table.hpp: ? weight_ * elementary::exp(log_base + log_ratio) - base * (1.0 + log_ratio) :
# from dp/contour/moment_line.hpp: T real = nodes.rest() * elementary::exp(-high);
# from dp/contour/moment_line.hpp: T const size = part.weight * elementary::exp(exponent - high); T const half = elementary::sin(0.5 * angle); total += size;
# from dp/contour/moment_line.hpp: real += size * cosine; imaginary += size * sine;
# from dp/contour/moment_line.hpp: excess += part.weight * (elementary::expm1(limited) * cosine - 2.0 * half * half); turned += part.weight * elementary::exp(limited) * sine; T const nearness = std::min(1.0, std::abs(exponent) + angle);
# from dp/contour/moment_line.hpp: (({near_one} + {near_n} * n) * nearness + ({bent} + n) * (2.0 * half * half));
# from dp/contour/moment_line.hpp: wrong += size * ({of_exponent} * std::abs(exponent) + {of_high} * std::abs(high) + {of_angle} * angle);
# from dp/contour/moment_line.hpp: bool const lesser = std::abs(excess) < {less} && std::abs(turned) < {less};
# from dp/contour/moment_line.hpp: ? wrong_near + ({of_turn} + n) * total * std::abs(imaginary) / modulus : ({of_total} + n) * total;
# from dp/contour/moment_line.hpp: wrong += ({of_real} + n) * std::abs(real) + {of_rest} * nodes.rest() * elementary::exp(-high) * high;
# from dp/contour/moment_line.hpp: lesser ? 0.5 * elementary::log1p(2.0 * excess + excess * excess + turned * turned) : high + elementary::log(modulus);
# from dp/contour/moment_line.hpp: T const loss_error = {both} * (wrong / modulus + {of_log} * std::abs(log_ratio) + ({turn} + n) * turn);
# from dp/contour/moment_line.hpp: T const plain = {plain} + x * x + height * height + std::abs(log_mass) + loss_error + {plain_angle} * angle; T const shifted = plain + tilt_ * (loss_error + std::abs(loss.re) + {tilted_turn} * turn) + std::abs(log_tilted) + std::abs(grown) + {tilted_angle} * std::abs(angle);
# from dp/contour/strip.hpp: b * nodes.shift() < {quarter} ? 1.0 - 2.0 * share * half * half : 0.0);
# from dp/contour/strip.hpp: z * unit_roundoff * ({of_share} * share / left + {of_left})
# from dp/contour/atom_moments.hpp: return {raised} * (std::abs(moved) + std::abs(moved - value)) + {tilted};
# from dp/contour/atom_moments.hpp: T const off = inexact + turning.units(n) * whole + t * swing + underflow();
# from dp/contour/atom_moments.hpp: swing += mass * {swing} * std::abs(a.loss);
# from dp/contour/atom_moments.hpp: T const rounded = unit_roundoff * (1.01 * wrong + {of_sum} * static_cast<T>(size()) * sum);
# from dp/contour/atom_moments.hpp: return value + log_sum + {of_value} * unit_roundoff * (std::abs(value) + std::abs(log_sum) + 1.0);
# from dp/contour/atom_fall.hpp: return off_ + {of_atoms} * static_cast<T>(atoms_.size()) + {of_units};
# from dp/contour/atom_fall.hpp: return with_rounding(size + bends(wide), t, units() * (1.0 + wide * firsts_.back()));
# from dp/contour/atom_fall.hpp: return 1.000001 * s + {of_place} * unit_roundoff * t;
# from dp/contour/atom_fall.hpp: std::size_t const k = first_from({bend} / s); return 0.5 * s * s * squares_[k] + 2.0 * s * std::max(0.0, firsts_.back() - firsts_[k]) +
# from dp/contour/atom_fall.hpp: return {of_partial} * unit_roundoff * units() * (1.0 + s * firsts_.back());
# from dp/contour/atom_fall.hpp: return size + unit_roundoff * ({of_whole} * units_of_sum + {of_fall} * t * firsts_.back());
import sys
from fractions import Fraction
from math import isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import prove  # noqa: E402
from units import ATAN2, EXP, EXPM1, LOG, ROOM, ROOT_FIVE, ROOT_TWO, ROUNDS, SIN, Units  # noqa: E402

HYPOT = Fraction(201, 100)
FAR = 3 * ROOT_TWO  # e^(i angle) beyond 2^20


def norm(a, b):
    """At least the root of a^2 + b^2."""
    return Fraction(isqrt(int((Fraction(a)**2 + Fraction(b)**2) * 10**24)) + 1, 10**12)


def check_divergence(c, holds):
    # A mass without its ratio, the product with the residual, and what Lemma 0 has of that.
    mass = EXP + Fraction(1, 2) + ROUNDS + ROUNDS
    for name, residual, counted in (("near 1", Fraction(1191, 100), c["residual_near"]), ("elsewhere", Fraction(47), c["residual"])):
        holds(f"3 (vi): {name}", Units(mass + ROUNDS + residual).within(c["mass"] + counted))
    holds("3 (vi): Lemma 0's |log R| < .336", c["near"] == Fraction(0.336))
    # R - 1 of one part by 2.76 and its product, n - 1 sums, and by 2|t|; where R < 1/2 a difference besides of the loss's own.
    holds("3 (vi): R - 1", Units(EXPM1 + ROUNDS).within(c["divergence_g"] + 1) and 2 <= c["divergence_m"])
    # Where R is 1e260 or more its logarithm, by 1.92 of itself, and the sum with -x^2/2 besides; log R - 1, the product and the sum.
    holds("3 (vi): huge ratios", LOG <= c["huge_log"] and Units(mass + 1 + 1 + 1).within(c["mass"] + 5) and 5 <= c["residual"])
    # Beyond e^709 by the largest exponent, which is at most log R + 745: 2 of it, the others' differences and the logarithm, log R.
    holds("3 (vi): ratios that overflow", all(2 * top + (LOG + 1) * (top - 709 + 1) + 709 <= 2 * 2 * top + c["huge_log"] * 709 for top in (709, 709 + 745)))
    holds("3 (vi): log 1e260", Fraction(27182818285, 10**10)**int(c["huge"]) <= c["ratio"])


def check_lifted(c, holds):
    # A part e^(t - high + ia): t by 2, the difference, the angle by 1, which turns it; exp, the weight, a sine, the product.
    size = EXP + ROUNDS
    term = Units(size + SIN + ROUNDS, t=2 + 1, high=1, angle=1)
    # 1 - sum w is rounded twice, exp and the product; high is a number, and its own place cancels.
    rest = 2 + EXP + ROUNDS
    both, total, real = c["both"], c["of_total"], c["of_real"]
    # Sums: n of |real| + total and of total. The rest is at most |real| + total, and so is |R|, of which hypot errs by 2.01.
    holds("3 (viii): far from 1, of the parts", (term["fixed"] + rest + 2 * HYPOT) * ROOM <= both * total)
    holds("3 (viii): and of the real part", (rest + HYPOT) * ROOM <= both * real)
    holds("3 (viii): sums", 1 <= both)
    holds("3 (viii): exponents, the sum with high and its logarithm",
          term["t"] <= both * c["of_exponent"] and term["high"] + LOG <= both * c["of_high"] and LOG <= both * c["of_rest"] and term["angle"] <= both * c["of_angle"])
    holds("3 (viii): log R", LOG + ROUNDS <= both * c["of_log"])
    holds("3 (viii): and its angle", ATAN2 <= both * c["turn"])

    # Near 1, relative to w max(1, e^t), with m_t = min(1, |t|), m_a = min(1, a), C = 2 sin^2(a/2). The real part is off by
    # 7.56 m_t + 6.6 C, the imaginary one by 5.31 m_a: those of log R; and n - 1 sums of at most min(1, m_t + m_a) + C.
    grown = EXPM1 + SIN + ROUNDS + 2
    bent = 2 * SIN + 1 + 2
    sine = EXP + SIN + 2
    # 2e + e^2 + v^2, u = e + iv: for e < 0 by 2|e| - e^2/2 + v^2 at most, for e > 0 by 2e + 3e^2/2 + v^2. With |u||R| >= |e||1 + e| + v^2
    # that is 3.5|u||R|: 2 - y/2 <= 3.5(1 - y) for y = -e <= 1/2, 2 + 3e/2 <= 3.5(1 + e).
    square = Fraction(7, 2)
    y = c["less"]
    holds("3 (viii): the logarithm's argument", y == Fraction(1, 2) and 2 - y / 2 <= square * (1 - y) and 2 <= square)
    # The angle is that of the other sums: the imaginary part by 5.31 and n, the real one by what it is above, times |sin| of the angle.
    for n in (1, 2, 1000):
        near = both * (c["near_one"] + c["near_n"] * n)
        holds(f"3 (viii): near 1, {n} parts, by t", (grown + square + n - 1) * ROOM <= near)
        holds("3 (viii): by the angle", norm(sine + square + n - 1, sine + n) * ROOM <= near)
        holds("3 (viii): by both, from 1 on", norm(norm(grown, sine) + square + n - 1, sine + n) * ROOM <= near)
        holds("3 (viii): by 1 - cos", (bent + square + n - 1) * ROOM <= both * (c["bent"] + n))
        holds("3 (viii): by the real part of the angle's", (term["fixed"] + rest + n) * ROOM <= both * (c["of_turn"] + n)
              and (rest + ATAN2 + n) * ROOM <= both * (c["turn"] + n))
    holds("3 (viii): exponents and angles", norm(2, term["t"]) <= both * c["of_exponent"] and term["high"] <= both * c["of_high"]
          and norm(1, 1) <= both * c["of_angle"] and LOG <= both * c["of_log"])

    # A lifted mass: (a^2 - x^2)/2 by itself and half of each; exp, two turns, the weight, a product.
    squares = Fraction(1, 2) + Fraction(1, 2)
    holds("3 (viii): its exponent", squares <= 1)
    turns = SIN + ROUNDS + (FAR + ROUNDS + Fraction(1, 2) + 1)
    holds("3 (viii): a mass", Units(EXP + turns + ROOT_FIVE).within(c["plain"]))
    holds("3 (viii): its angle is the loss's, and tilted: a product and a sum", 1 + 1 <= c["tilted_turn"] and 1 <= c["tilted_angle"] and 0 <= c["plain_angle"])


def check_share(c, holds):
    # 1 - 2 share sin^2 x, x = bs/2 by a product: 2x cot x <= 2, two sines, two products of at most 2 share; itself.
    holds("5: 1 - 2 share sin^2", Units(2 * (2 * SIN + 2 + 2)).within(c["of_share"]) and 1 <= c["of_left"])
    holds("5: below a quarter turn", c["quarter"] <= Fraction(157, 100) * (1 + Fraction(1, 2**50)))


def check_lines(c, holds):
    # p e^(theta L - v)
    holds("19: a mass", Units(EXP + ROUNDS).within(c["tilted"]) and 1 < c["raised"])
    holds("19: along a line, t L is the turn's own", c["swing"] >= 2)
    holds("19: a sum of positive masses", c["of_sum"] >= 1)
    holds("19: its logarithm and the sum with the value", Units(LOG + 1).within(c["of_value"]))
    # N atoms: d by 1, t d by 1 more; a turn, its product, N - 1 sums, the sum with the slope's, hypot.
    value = Units(FAR + ROUNDS + 1 + HYPOT, atoms=1, off=1)
    # d times the term, its own 1, the product with s
    slope = value + Units(ROUNDS + 1 + ROUNDS)
    counted = Units(c["of_whole"] * c["of_units"], atoms=c["of_whole"] * c["of_atoms"], off=c["of_whole"])
    holds(f"19: a value and its slope: {slope}", value.within(counted) and slope.within(counted))
    # 2t|d|, and s|d| times as much of the slope where that is at most 4.
    holds("19: turns", 2 + 2 * c["bend"] <= c["of_fall"])
    # Partial sums: squares of d by 2 and two products, the mass, N sums, s^2/2; at most 2s|d| each. And 2s times a difference of two.
    squares = 2 * (Units(2 + 2 + 2, off=1, atoms=1))
    others = 2 * 2 * Units(1 + 1 + 1, off=1, atoms=1) + Units(2 + 2)
    partial = Units(c["of_partial"] * c["of_units"], off=c["of_partial"], atoms=c["of_partial"] * c["of_atoms"])
    holds(f"19: partial sums: {squares + others}", (squares + others).within(partial))
    holds("19: a place, a multiple of the step or a sum of steps", c["of_place"] >= 4)


if __name__ == "__main__":
    sys.exit(prove(__file__, check_divergence, check_lifted, check_share, check_lines))
