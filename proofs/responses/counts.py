#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemma 2 of docs/certificates/responses.md: what the nodes and the weights of the rules of every level err by, in units u of
their arithmetic, to first order. A rounding's share is what it is times the derivative by what it touches, in fractions of 2^-200.
"""
# from dp/response_profile.hpp: static constexpr std::size_t order = {order};
# from dp/response_profile.hpp: beta[n] = std::sqrt(square * (1.0L - square / (size * size)) / (4.0L * square - 1.0L));
# from dp/response_profile.hpp: auto const wide = [](extended low, extended high) { return high - low > {isolated}; };
# from dp/response_profile.hpp: for (int step = 0; step < {newton}; ++step) { extended before = 0.0L; extended last = 1.0L; extended slope_before = 0.0L; extended slope = 0.0L; norm = 1.0L;
# from dp/response_profile.hpp: extended const scale = n == order ? 1.0L : beta[n];
# from dp/response_profile.hpp: extended const next = (x * last - (n == 1 ? 0.0L : beta[n - 1] * before)) / scale;
# from dp/response_profile.hpp: if (n < order) norm += next * next; } x -= last / slope; } node_[k] = x; weight_[k] = 1.0L / norm;
# from dp/response_profile.hpp: for (int k = {coarsest}; k <= {finest}; ++k) made.emplace_back(std::ldexp(1.0L, k));
import sys
from fractions import Fraction
from math import isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import prove  # noqa: E402
from units import ROOM, ROUNDS  # noqa: E402

# Of extended_epsilon = 2u, as Lemma 2 and bounds.sollya have them.
NODES, WEIGHTS = 2 * 8, 2 * 600
BITS = 200


def cut(x):
    return Fraction(round(x * 2**BITS), 2**BITS)


class Rule:
    """Orthonormal polynomials p_0, ..., p_(order-1) of 2^level points, and the next one, as the header scales it."""

    def __init__(self, level, order):
        self.order = order
        self.beta = [Fraction(0)]
        for n in range(1, order):
            square = Fraction(n * n, 4 * n * n - 1) * (1 - Fraction(n * n, 4**level))
            self.beta.append(Fraction(isqrt(int(square * 4**BITS)), 2**BITS))
        self.beta.append(Fraction(1))  # the last one's scale

    def values(self, x):
        """p_n, its first and its second derivatives, n = 0, ..., order."""
        rows = [(Fraction(1), Fraction(0), Fraction(0))]
        before = (Fraction(0),) * 3
        for n in range(1, self.order + 1):
            p, slope, bend = rows[-1]
            step = (x * p, p + x * slope, 2 * slope + x * bend)
            rows.append(tuple(cut((a - self.beta[n - 1] * b) / self.beta[n]) for a, b in zip(step, before)))
            before = (p, slope, bend)
        return rows

    def below(self, x):
        """How many nodes are below x, by signs of Sturm's sequence; doubles suffice to tell nodes apart."""
        count, pivot = 0, -x
        for n in range(1, self.order + 1):
            count += pivot < 0
            pivot = -x - float(self.beta[n])**2 / (pivot or 1e-300)
        return count

    def nodes(self):
        for k in range(self.order // 2, self.order):
            low, high = 0.0, 1.0
            while high - low > 1e-9:
                middle = (low + high) / 2
                low, high = (middle, high) if self.below(middle) <= k else (low, middle)
            x = Fraction(low)
            for _ in range(6):
                value, slope, _ = self.values(x)[-1]
                x = cut(x - value / slope)
            yield x

    def moved(self, x, m):
        """d p_n/d p_m, n = 0, ..., order, where p_m alone is moved: the same recurrence from m on."""
        out = [Fraction(0)] * (self.order + 1)
        out[m] = Fraction(1)
        for n in range(m + 1, self.order + 1):
            out[n] = cut((x * out[n - 1] - (self.beta[n - 1] * out[n - 2] if n >= 2 else 0)) / self.beta[n])
        return out

    def counts(self, x, of_beta):
        """What a node is off by and, of itself, its weight; and p''/(2p')."""
        rows = self.values(x)
        p = [row[0] for row in rows]
        _, slope, bend = rows[-1]
        norm = sum(v * v for v in p[:-1])
        moved = [self.moved(x, m) for m in range(self.order + 1)]
        # p_order and the norm by p_m.
        to_last = [row[self.order] for row in moved]
        to_norm = [sum(2 * p[n] * row[n] for n in range(1, self.order)) for row in moved]
        last = in_norm = Fraction(0)
        for m in range(1, self.order + 1):
            # Two products, the difference and the quotient, none of the last.
            back = self.beta[m - 1] * p[m - 2] / self.beta[m] if m >= 2 else Fraction(0)
            local = ROUNDS * (abs(x * p[m - 1] / self.beta[m]) + abs(back) + abs(p[m]) * (2 if m < self.order else 1))
            last += abs(to_last[m]) * local
            in_norm += abs(to_norm[m]) * local
            # beta_m is in p_m and in p_(m+1).
            if m < self.order:
                again = self.beta[m] * p[m - 1] / self.beta[m + 1]
                last += of_beta * abs(to_last[m] * p[m] + to_last[m + 1] * again)
                in_norm += of_beta * abs(to_norm[m] * p[m] + to_norm[m + 1] * again)
        node = last / abs(slope) + ROUNDS * abs(x)
        # Where the norm is taken Newton's method has converged to a unit (below).
        by_x = abs(sum(2 * row[0] * row[1] for row in rows[:-1]))
        # Squares and their sum, one after the other from 1 on.
        sums, partial = Fraction(0), Fraction(1)
        for v in p[1:-1]:
            partial += v * v
            sums += ROUNDS * (v * v + partial)
        return node, (in_norm + by_x * (node + 1) + sums) / norm + ROUNDS, abs(bend / (2 * slope))


def check_rules(c, holds):
    order = int(c["order"])
    # Sizes are powers of two: 1 - n^2/size^2, a product, a quotient, half of that, the root.
    of_beta = Fraction(ROUNDS + ROUNDS + ROUNDS, 2) + ROUNDS
    node = weight = curve = Fraction(0)
    for level in range(int(c["coarsest"]), int(c["finest"]) + 1):
        rule = Rule(level, order)
        found = list(rule.nodes())
        if not (len(found) == order // 2 and all(0 < a < b < 1 for a, b in zip(found, found[1:]))):
            holds(f"2: nodes of level {level}", False)
        for x in found:
            node, weight, curve = (max(a, b) for a, b in zip((node, weight, curve), rule.counts(x, of_beta)))
    holds(f"2: nodes of every level are within {float(node):.2f} units of 1", node * ROOM <= NODES)
    holds(f"2: weights of every level are within {float(weight):.2f} units of themselves", weight * ROOM <= WEIGHTS)
    # An error e becomes p''/(2p') e^2, where p'' is at most twice what it is at the node.
    off = c["isolated"]
    for _ in range(int(c["newton"]) - 1):
        off = 2 * curve * off**2
    holds(f"2: Newton's method, of p''/(2p') up to {float(curve):.1f}, has converged a step before its last", off <= Fraction(1, 2**113))


if __name__ == "__main__":
    sys.exit(prove(__file__, check_rules))
