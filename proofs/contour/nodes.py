#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemmas 3 and 16 of docs/certificates/contour.md: errors of nodes, to first order, as sums of named sizes with rational
coefficients. A count of the header holds where none of its coefficients is smaller than that of the sum; `n` is a number of
parts, and what depends on it is compared for n = 1 and by what each part more adds.
"""
# from dp/contour/strip.hpp: e.loss = {loss_l} * std::abs(loss) + ({loss_g} + n) * grown + {loss_m} * moved;
# from dp/contour/strip.hpp: grown = {summed} + n;
# from dp/contour/strip.hpp: {mass} + {half} * x * x + (taper != 0.0 ? (tail_units + {taper}) * std::abs(taper) + {half_again} * x * x : 0.0);
# from dp/contour/strip.hpp: sensitive * (({term_g} + n) * grown + {term_m} * moved);
# from dp/contour/strip.hpp: e.share = {share} + {share_t} * farthest + e.loss + std::abs(loss);
# from dp/contour/laplace_nodes.hpp: return size * ({closed} + std::abs(exponent) + terms);
# from dp/contour/laplace_nodes.hpp: {of_ratio} * std::max(std::abs(ratio), from_below(x) ? std::abs(x) : 0.0) + steep * moved;
# from dp/contour/laplace_nodes.hpp: T const base_units = {base} + {base_logs} * (std::abs(log_mass) + pair_.epsilon) + {by_place} * moved;
# from dp/contour/laplace_nodes.hpp: return n.mass_units + tilt * (n.loss_units + {term_loss} * std::abs(n.loss)) + {term_logs} * (std::abs(n.log_mass) + std::abs(value)) + {term};
import sys
from collections import Counter
from fractions import Fraction
from math import isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import prove  # noqa: E402

EXP, EXPM1, LOG, SIN = Fraction(151, 100), Fraction(276, 100), Fraction(192, 100), Fraction(18, 10)
ROOT_FIVE = Fraction(isqrt(5 * 10**40) + 1, 10**20)
ROUNDS = 1


def units(**sizes):
    return Counter({name: Fraction(value) for name, value in sizes.items()})


def plus(*all_units):
    total = Counter()
    for each in all_units:
        for name, value in each.items():
            total[name] += value
    return total


def within(needed, counted):
    return all(value <= counted.get(name, 0) for name, value in needed.items())


def check_shifted(c, holds):
    """R - 1 = sum w(e^t - 1), its logarithm, and what hangs on it. `grown` is sum w min(1, |t|) max(e^t, 1)/R, `moved` sum w e^t |t|/R."""
    # t is off by 2|t|: a term by expm1, its product, n - 1 additions.
    excess = units(grown=EXPM1 + ROUNDS, moved=2)
    holds("3: R - 1 of one part, over R", within(excess, units(grown=c["term_g"] + 1, moved=c["term_m"])))
    loss = plus(excess, units(L=LOG))
    counted = units(grown=c["loss_g"] + 1, moved=c["loss_m"], L=c["loss_l"])
    holds("3: the logarithm, with 2 grown + moved + |L| left", within(plus(loss, units(grown=2, moved=1, L=1)), counted))
    # By the largest exponent: exp, its product, n additions; 2|t| + |t - top| <= 3|t| + max(0, top); the logarithm, the sum.
    # In the code's form grown is 1 + n, moved has max(0, top); |L - top| <= |L| + top.
    largest = units(fixed=EXP + ROUNDS + 1, moved=3, top=1 + LOG, L=LOG + ROUNDS)
    holds("3: the logarithm by its largest exponent",
          within(largest, units(fixed=(c["loss_g"] + 1) * (c["summed"] + 1), moved=c["loss_m"], top=c["loss_m"], L=c["loss_l"])))
    # A mass: exp, the constant and its product with the step, the product; -x^2/2 rounds once, the sum with the loss by |q|.
    holds("3: a mass", within(units(fixed=EXP + Fraction(1, 2) + ROUNDS + ROUNDS, x2=Fraction(1, 2)),
                              units(fixed=c["mass"], x2=c["half"])))
    holds("3: its taper: the logarithm's own, and the sum", within(units(taper=1, x2=Fraction(1, 2)),
                                                                   units(taper=c["taper"], x2=c["half_again"])))
    # A share: exp, its product, 2|t| and |t - L| <= |t| + |L|.
    holds("3: a share", within(units(fixed=EXP + ROUNDS, t=3, L=1), units(fixed=c["share"], t=c["share_t"], L=1)))


def check_laplace(c, holds):
    # log1p(q expm1(x)): its argument by expm1 and a product, |y/(1 + y)| <= 1.45 |log(1 + y)|; x + log1p((1 - q) expm1(-x)), the
    # logarithm at most |x|, and the sum.
    argument = EXPM1 + ROUNDS
    holds("16: an argument errs by 4 units", argument <= 4)
    holds("16: log R", argument * Fraction(145, 100) + LOG <= c["of_ratio"])
    holds("16: log R from below", argument * Fraction(145, 100) + LOG + ROUNDS <= c["of_ratio"])
    # log(w h/4) - (x + s)/2: w by 1/2, h by 1, two products, the logarithm of at most |log mass| + s, the sum x + s, the difference.
    mass = units(fixed=Fraction(1, 2) + 1 + 2, logs=LOG + ROUNDS, s=LOG + ROUNDS)
    holds("16: a mass under P", within(mass, units(fixed=c["base"], logs=c["base_logs"], s=c["base_logs"]))
          and c["by_place"] >= Fraction(1, 2))
    # e^(log mass + tL - value): the product, two sums, exp.
    term = units(fixed=EXP, loss=1 + 2, logs=2, value=1)
    holds("16: a term", within(term, units(fixed=c["term"], loss=c["term_loss"], logs=c["term_logs"], value=c["term_logs"])))
    # b = 1/4/(z + 1/2): z + 1/2 by 1, its square by 3, t^2 and the sum, the quotient, a product: |b| <= 1/2; 1/2 +- b by its sum.
    size = (1 + 1 + 1 + 1) + 1
    b = size + 1 + 1
    holds("16: b and 1/2 +- b", b <= 8 and Fraction(b, 2) + 1 <= 6)
    closed = EXP + (SIN + ROUNDS) + 6 + ROOT_FIVE + 1
    holds(f"16: a part of the closed form, {float(closed):.1f}", closed + 1 <= c["closed"])


if __name__ == "__main__":
    sys.exit(prove(__file__, check_shifted, check_laplace))
