#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemmas 1 to 3 of docs/certificates/integers.md: what a step, a ratio and a sum round by, to first order. n is the number of parts.
"""
# from dp/integer_noise_law.hpp: return {elementary::exp(-log_ratio), -elementary::expm1(-log_ratio)};
# from dp/integer_noise_law.hpp: return step::of((k - 0.5) / variance);
# from dp/integer_noise_law.hpp: return step{left / (left + fewer), fewer / (left + fewer)};
# from dp/integer_noise_law.hpp: return step{1.0 / (1.0 + e), e / (1.0 + e)};
# from dp/integer_noise_law.hpp: double const e = std::max(0.0, 2.0 * ((j + 1.0) / variance) - missing); missing = e / (1.0 + e);
# from dp/integer_noise_law.hpp: double const less = settled(high * next.missing); double const rest = high - less; low += (high - rest) - less; high = rest + low; low -= high - rest;
# from dp/integer_noise_law.hpp: high *= next.kept; low = 0.0;
# from dp/integer_noise_law.hpp: return span * (step_error_ + 16.0 * unit_roundoff * largest_step_) + {of_ratio} * unit_roundoff;
# from dp/integer_pairs.hpp: double const weighted = part.weight * high_[j]; double const more = part.weight * ((high_[j] - base[j]) + (low_[j] - base_low_[j])); to.all[j] += weighted; to.moved[j] += weighted; to.excess[j] += more;
# from dp/integer_pairs.hpp: unit_roundoff * static_cast<double>(p.size() + q.size() + {of_sum}) + weight_error;
# from dp/integer_pairs.hpp: std::abs(more_p) < {near} && std::abs(more_q) < {near}) {
# from dp/integer_pairs.hpp: loss = elementary::log1p((more_p - more_q) / (1.0 + more_q)); wrong += {of_difference} * sum_error * ((sums->p.differences[j] + sums->q.differences[j]) / base);
# from dp/integer_pairs.hpp: loss = elementary::log(a / b); wrong += {of_quotient} * sum_error;
# from dp/integer_pairs.hpp: double const more_p = base > sure ? sums->p.excess[j] / base : 0.0;
# from dp/integer_pairs.hpp: double const p_mass = (a * unit) * weight;
# from dp/integer_pairs.hpp: (x == first || x == last ? noise.end() : 1.0) / noise.total();
# from dp/integer_pairs.hpp: pair.loss_error = {of_loss} * unit_roundoff + (largest > 0.0 ? off / largest : 0.0);
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402
from units import EXP, EXPM1, LOG, ROUNDS, Units  # noqa: E402


def main():
    c, holds = constants_of(__file__), Statements()
    # m: expm1, or a quotient and its sum; its product with E, of which the low part, at most u, is left out. Of E m over E(1 - m).
    missing = max(EXPM1, ROUNDS, 1 + ROUNDS)
    holds("1: a difference, of m/(1 - m)", Units(missing + ROUNDS + 1).within(6))
    kept = max(EXP, 1 + ROUNDS)
    holds("1: a product, and the low part before it", Units(kept + ROUNDS + 1).within(5))
    holds("1: a logarithm of a ratio as given: k - 1/2 over the variance, of two roundings", 2 <= 4)
    # In two doubles, u^2 a step: of 4e6 steps less than a unit.
    holds("1: the rest of a law", 4 * 10**6 * Fraction(1, 2**53) * 2 <= c["of_ratio"] - 15)
    # e = 2t - d: 2t by 1, d by what it is off by, itself; d = e/(1 + e): 1 + e by 1, the quotient. C = 3.5 (bounds.sollya).
    holds("2: a step of the recurrence", ROUNDS + ROUNDS <= 2)

    # alpha: two differences of what two doubles are, a sum, the weight, n - 1 sums, the quotient; over 1 + alpha and 1 + beta, at least 1/2.
    alpha = Units(1 + 1 + ROUNDS - 1 + ROUNDS, n=1)
    holds("3: numbers above 1/2", c["near"] == Fraction(1, 2))
    # The difference, 1 + beta and the quotient; log1p is of the loss.
    loss = 2 * alpha + Units(2 * 3)
    counted = Units(c["of_difference"] * c["of_sum"], n=c["of_difference"])
    holds(f"3: a small loss: {loss}", loss.within(counted))
    ratio = 2 * Units(ROUNDS, n=1) + Units(ROUNDS)
    holds(f"3: another: {ratio}", ratio.within(Units(c["of_quotient"] * c["of_sum"], n=c["of_quotient"])))
    holds("3: logarithms, of the largest loss", Units(LOG).within(c["of_loss"]))
    # A mass: its sum, the weight's quotient and end, the product; the total, 1 + 2 sum, of quotients by a power of two.
    holds("3: a mass", Units(ROUNDS + 1 + 1 + ROUNDS + 3, n=1).within(Units(c["of_sum"], n=1)))
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
