#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemma 5 of docs/certificates/gaussian.md: what the rule's parts round by, as first-order sums of units. bounds.sollya has what
follows from 40 units of R(x) and 54 of 1 - Phi(x), and what the pole's exponents are off by.
"""
# from core/normal.hpp: T const step = constants::two_pi<T>() / pole; T const measure = 2 * step / constants::root_two_pi<T>();
# from core/normal.hpp: T const t = step * T(static_cast<double>(k) + 0.5); square[k] = t * t; weight[k] = measure * exp(-square[k] / 2);
# from core/normal.hpp: sums[j] = sums[j] + weight[k + j] * term(square[k + j]);
# from core/normal.hpp: return sums[0] + sums[1];
# from core/normal.hpp: static_cast<std::size_t>((quadrature_range<T> + {reach}) / {two_pi}) * 2 + 2;
# from core/normal.hpp: T const sum = x * rule.sum([&](T const& t) -> T { return 1 / (square + t); });
# from core/normal.hpp: T const pole = exp(square / 2) / (1 + exp(rule.pole * x)); return sum + detail::constants::root_two_pi<T>() * pole;
# from core/normal.hpp: return {-square / 2, -(std::fma(x.high, x.high, -square) + 2 * (x.high * x.low)) / 2};
# from core/normal.hpp: return exp(exponent.high) * (1 + exponent.low);
# from core/normal.hpp: T const density = detail::bell<T>({x, 0}) / detail::constants::root_two_pi<T>(); return density * mills_ratio(x);
# from core/normal.hpp: return -x * x / 2 + log(mills_ratio(x) / detail::constants::root_two_pi<T>());
# from core/quadrature.hpp: std::numeric_limits<T>::digits * {ln2} + {folds};
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402
from units import EXP, ROUNDS, Units  # noqa: E402

CONSTANT = Fraction(1)  # 2 pi and its root


def main():
    c, holds = constants_of(__file__), Statements()
    nodes = 2 * int((53 * c["ln2"] + c["folds"] + c["reach"]) / c["two_pi"]) + 2
    holds("5: 16 nodes", nodes == 16)
    step = CONSTANT + ROUNDS
    square = 2 * (step + ROUNDS) + ROUNDS
    holds(f"5: t^2 by {square}", square <= 7)
    # e^(-t^2/2) by half of that for each t^2, whose mean is 1
    weight = Units((step + CONSTANT + ROUNDS) + EXP + ROUNDS, t2=Fraction(square) / 2)
    holds(f"5: a weight: {weight}", weight.within(Units(7, t2=Fraction(7, 2))))
    term = weight + Units(max(ROUNDS, square) + ROUNDS + ROUNDS) + ROUNDS
    sums = (nodes // 2 - 1) + 1 + ROUNDS
    rule = Units(term["fixed"] + term["t2"] + sums)
    holds(f"5: the rule's sum: {rule}", rule.within(39))
    # The pole, but for its exponents' x^2/2 + kappa x, which are below 1 of R(x)
    pole = Units((EXP + EXP + ROUNDS + ROUNDS) + CONSTANT + ROUNDS + 1)
    holds(f"5: the pole: {pole}", pole.within(39))
    mills = Units(max(rule["fixed"], pole["fixed"]) + ROUNDS)
    holds(f"5: R(x), x >= 0: {mills}", mills.within(40))
    # x^2 and its rest are exact; 1 + low and the product
    bell = Units(EXP + ROUNDS + ROUNDS + Fraction(1, 1000))
    tail = bell + CONSTANT + ROUNDS + Units(40) + ROUNDS
    holds(f"5: 1 - Phi: {tail}", tail.within(54))
    holds("5: R(x)/sqrt(2 pi)", Units(40 + CONSTANT + ROUNDS - 1).within(42))
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
