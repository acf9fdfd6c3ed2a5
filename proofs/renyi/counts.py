#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemmas 8, 10 and 11 of docs/certificates/renyi.md: counts of roundings, as first-order sums of units. S is the share of the
shifted parts of R, W their weight over R, tau the largest exponent, n the number of parts.
"""
# from dp/loss.hpp: T const grown = expm1(exponent(part)); excess = excess + part.weight * grown; mixed = mixed + part.weight * (1 + grown);
# from dp/loss.hpp: mixed = mixed + part.weight * exp(exponent(part) - high / 2); whole = whole + part.weight; } mixed = mixed * root; excess = mixed - whole;
# from dp/loss.hpp: T sum = rest > 0 ? rest * exp(-top) : 0; for (auto const& part : parts) sum = sum + part.weight * exp(exponent(part) - top); return {top + log(sum), excess, mixed};
# from dp/loss.hpp: T((r.mixed + (1 - rest)) / (1 + r.excess) * most) : T({far});
# from dp/loss.hpp: r.log < 0 ? T({small} * largest) : T(largest / {large});
# from dp/loss.hpp: return shifted * (exponent_units + arguments) + T(static_cast<double>(parts + {more})) * grown + {of_log} * magnitude(r.log);
# from dp/loss.hpp: T const excess = rate * expm1(loss); return excess > -0.5 ? log1p(excess) : log(rest + rate * exp(loss));
# from dp/loss.hpp: T const root = exp(loss / 2); T const mixed = rate * root * root;
# from dp/coupled_ratio.hpp: ? T(log1p((p.excess - q.excess) / (1 + q.excess))) : T(p.log - q.log);
# from dp/coupled_ratio.hpp: return log_units(r, rest_, size_, T(shift * terms), T(shift * ({of_terms} * terms + off)));
# from dp/coupled_ratio.hpp: return log_units(r, rest_, size_, shift, T({of_laplace} * (terms + off)));
# from dp/coupled_ratio.hpp: return {p, q, p + q + {of_logs} * (magnitude(v.p.log) + magnitude(v.q.log))};
# from dp/coupled_ratio.hpp: if (normal()) return shift * (x - shift / 2);
# from dp/rdp/coupled.hpp: T(size * ({of_square} * size + off)) : T({of_size} * size + off); T const mass_error = units.loss + noise_error + {of_weight} * magnitude(log_weight) + {of_node};
# from dp/rdp/coupled.hpp: T const log_mass = (forward ? v.p.log : v.q.log) + ratio_.log_noise(x) + log_weight;
# from dp/rdp/mixture.hpp: double const roundings = sigma_ > 0.0 ? {on_lattice} : {off_lattice};
# from dp/rdp/mixture.hpp: T const normal = -x * x / 2 + log_weight; T const mass_error = roundings * x * x + {of_mixture_weight} * magnitude(log_weight) + {of_mixture};
# from dp/rdp/mixture.hpp: log_units(ratio, rest_, parts_.size(), largest, T({of_exponent} * roundings * largest));
# from dp/rdp/bounded.hpp: T const error = ratio.share * (magnitude(l) + off) + {of_loss} * magnitude(ratio.loss); T const mass_error = base_units + magnitude(log_base) + 4;
# from dp/rdp/bounded.hpp: T const logs = {of_density} * (magnitude(log_density_) + magnitude(log_weight)) + {of_place} * (l + end); out.add(at(l, off, log_density_ - (l + end) / 2 + log_weight, logs + off / 2 + {of_base}));
# from dp/rdp/bounded.hpp: T const mass = 1 - 2 * atom + atom * lost;
# from dp/rdp/bounded.hpp: if (!(mass > T({least_mass} * std::numeric_limits<double>::epsilon())))
# from dp/rdp/bounded.hpp: {of_mass} * std::numeric_limits<T>::epsilon() * out.value;
# from dp/rdp/bounded.hpp: T sum = T(pair.atom) * -expm1(-order * epsilon) * -expm1(-tilt);
# from dp/rdp/bounded.hpp: T const difference = 2 * (a * sinh_a) * (half * half) + (tilt * exp(-tilt) * cosh_excess(a) + a * cosh_a * sinh_excess(tilt)); sum = sum + 2 * exp(log_density) * epsilon * (difference / (a * b));
# from dp/rdp/bounded.hpp: T rounding = {divergence} + {of_tilt} * (tilt < {far_tilt} ? tilt : T(300));
# from dp/rdp/bounded.hpp: rounding = rounding + {of_log_density} * magnitude(log_density);
# from dp/rdp/bounded.hpp: sum = sum + term; term = term * square / (k * (k + 1));
# from dp/rdp/bounded.hpp: sum = sum + 2 * k * power; power = power * square / ((2 * k + 2) * (2 * k + 3));
# from dp/rdp/bounded.hpp: if (b < {short}) {
# from dp/rdp/bounded.hpp: return log1p((rise + (lean + bend)) / (a + b));
# from dp/rdp/bounded.hpp: return b + log(a / (a + b) * sum);
# from dp/rdp/cost.hpp: multiply_up(bounded_range_divergence(epsilon_, order), 1.0 + {raised});
# from dp/rdp/table.hpp: loss_error_.push_back(e.loss_error + {of_product} * magnitude(e.loss)); mass_error_.push_back(e.mass_error + magnitude(e.log_mass) + {of_summand});
# from dp/rdp/table.hpp: T const rounding = {of_end} * unit * (value + log_scale / z);
# from dp/rdp/table.hpp: std::size_t const added = block + count / block + {of_sums};
# from dp/rdp/table.hpp: static constexpr std::size_t block = {block};
# from dp/rdp/table.hpp: T const half = (T(high) - T(low)) / T(static_cast<double>(2 * pieces));
# from dp/rdp/table.hpp: T const centre = T(low) + half * T(static_cast<double>(2 * piece + 1));
# from dp/rdp/table.hpp: return {of_node_x} * magnitude(x) + {of_length} * T(length);
# from core/log.hpp: digits > 53 ? 22 : {terms};
# from core/log.hpp: even = even * square + c[k - 2]; odd = odd * square + c[k - 1];
# from core/log.hpp: return w * w * detail::polynomial(coefficients, w);
import sys
from fractions import Fraction
from math import factorial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import prove  # noqa: E402
from units import EXP, EXPM1, LOG, ROUNDS, Units, largest  # noqa: E402

U = Fraction(1, 2**53)
SINH = 5


def check_ratios(c, holds):
    # An A is the sum of w|e^t - 1|, at most (S + W) min(1, tau) of R; n is what a part more adds.
    of_a = {"fixed": c["more"], "n": 1}
    near = Units(EXPM1 + ROUNDS - 1, n=1)
    holds(f"10 (i): sums of w(e^t - 1), of A: {near}", near.within(Units(of_a["fixed"], n=1)))
    # e^(t - H/2) and e^(H/2), two products; the difference. Parts below 1 round by at most H/2 + |t| of w e^t, w/e beside H/2.
    high = Units(EXP + EXP + 2 - 1 + 1 + Fraction(37, 100), n=1)
    holds(f"10 (i): by a largest exponent, of S + W: {high}", high.within(Units(of_a["fixed"], n=1)))
    holds("10 (i): and log1p", Units(LOG).within(c["of_log"]))
    # A sum of n + 1 terms; if R < 1/2 arguments by 2 tau, the sum's logarithm is at most |log R| + tau, and the last sum.
    terms = Units(EXP + ROUNDS, n=1)
    holds("10 (i): a sum of positive terms", terms["fixed"] <= c["far"] * c["more"] and c["far"] >= 1)
    small = Units(tau=2 + LOG, log=LOG + 1)
    holds(f"10 (i): R < 1/2: {small}", small.within(Units(tau=c["small"], log=c["of_log"])))
    # R overflows: D = max(1, top - log R) at most twice, and log of the sum, |log R|; top <= tau, weights of at least 2^-1074.
    d = Fraction(1074, 1023)
    holds("10 (i): R overflows", (2 + LOG) * d + 1 <= c["of_log"] + (d + 1) / c["large"])
    # (p - q)/(1 + q) within a half: 3 units of |1 - e^-L| <= 3|L|, and log1p.
    loss = 3 * Fraction(15, 10) / Fraction(5, 10) + LOG
    holds(f"10 (ii): {float(loss):.2f} of |L|", Units(loss).within(c["of_logs"]))
    # Exponents: shift(x - shift/2), of a modulus of at most shift(|x| + shift); x off by itself and shift by itself on a lattice.
    holds("10 (iii): exponents", 2 <= c["of_terms"] and 2 <= c["of_exponent"] * c["off_lattice"] and 2 + 1 + 1 <= c["of_exponent"] * c["on_lattice"])
    holds("10 (iii): 2x - shift, of Laplace noise: by x, and by itself, at most |shift|", 2 <= c["of_laplace"])
    holds("10 (iii): where R loses its digits below 1, of a bounded loss",
          max(EXPM1 + ROUNDS, EXP + ROUNDS + 1) <= 4)
    # Beyond 700, of log(q e^l) >= 17 where q >= 1e-300: two exps and products, the difference.
    holds("10 (iii): a bounded loss by its root", (2 * EXP + 2 + 1) / 17 + LOG <= c["of_loss"])


def check_nodes(c, holds):
    # -x^2/2 by half and by its sum, at most x^2/2 + .92; the last sum is counted by |log p|.
    square = Units(Fraction(92, 100), x2=Fraction(1, 2) + Fraction(1, 2))
    weight = Units(2, weight=LOG + ROUNDS)  # step over the root
    mixture = Units(x2=1, weight=ROUNDS) + Units(x2=0) + Units(2, weight=LOG)
    holds(f"10 (iii): a mixture's node: {mixture}", mixture.within(Units(c["of_mixture"], x2=c["off_lattice"], weight=c["of_mixture_weight"])))
    holds("10 (iii): and on a lattice", (mixture + Units(x2=1)).within(Units(c["of_mixture"], x2=c["on_lattice"], weight=c["of_mixture_weight"])))
    # 1 + 2 sum e^(-y^2/2), sigma <= 1.48: y is off by 1, the square by 3, whose mean is below 3; thirteen terms are above u.
    holds("10 (iii): a lattice's weight", Units(EXP + Fraction(3, 2) * 3 + 13 + 2).within(c["of_mixture"]))
    holds("10 (iii): those beyond the thirteenth, at 13/1.48", 2 * 60 / Fraction(27, 10)**44 <= U and Fraction(14 * 100, 148)**2 / 2 >= 44)
    # A coupled pair's: the noise's logarithm, its sum with that of P/D, which is below 12 of both; half the width and the rule's weight.
    noise = square + Units(Fraction(1, 2)) + Units(Fraction(92, 100), x2=Fraction(1, 2), ratio=1)
    panel = Units(2 + 1 + 1, weight=LOG)
    holds(f"10 (iii): a coupled node: {noise + panel}", (noise + panel).within(
        Units(c["of_node"], x2=c["of_square"], weight=c["of_weight"], ratio=c["of_logs"])))
    laplace = Units(Fraction(7, 10) * 2 + 1, x=2, ratio=1)
    holds(f"10 (iii): of Laplace noise: {laplace + panel}", (laplace + panel).within(
        Units(c["of_node"], x=c["of_size"], weight=c["of_weight"], ratio=c["of_logs"])))
    # Bounded losses: log(mass/2 lost), the place's sum, half, two sums, of which the second is |log base|.
    base = Units(EXPM1 + 1, density=LOG) + Units(place=Fraction(1, 2)) + Units(density=1, place=Fraction(1, 2)) + panel
    holds(f"10 (iii): a bounded range's node: {base}", base.within(
        Units(c["of_base"], density=c["of_density"], weight=c["of_density"], place=c["of_place"])))
    # 1 - 2a is exact from a = 1/4 on, and rounds by half a unit of 1 below; a lost below 1, the sum below 1.
    from_quarter = EXPM1 + Fraction(1, 2) + Fraction(1, 2)
    below = Fraction(1, 2) + (EXPM1 + ROUNDS) / 4 + 1
    holds("10 (iii): the mass of a density, in units of 1", max(from_quarter, below) <= 4 <= 2 * c["least_mass"] <= 8)
    holds("10 (iii): is counted four times over", 8 <= 2 * c["of_mass"])
    # Lemma 8: half is off by 2, centre by 3 of its distance from the end and by itself, a node by 3.5 of half and itself; half <= length/2.
    place = Units(x=1 + 1, length=3 + Fraction(1, 2) + (2 + 1 + Fraction(1, 2)) / 2)
    holds(f"8: a node's place: {place}", place.within(Units(x=c["of_node_x"], length=c["of_length"])))

    # w^2 sum w^k/(k+2)!, even and odd powers apart, |w| <= 1: errors of both beside their own, at |w| = 1.
    def series(terms):
        sums, off = [Fraction(0)] * 2, [Fraction(0)] * 2
        for k in range(terms - 1, -1, -1):
            parity = k % 2
            # the power's square by 1, product and sum; coefficients by 1, and 19! and more by a few
            off[parity] = off[parity] + sums[parity] * (2 if sums[parity] else 0)
            own = Fraction(1, factorial(k + 2))
            first = sums[parity] == 0
            off[parity] += own * (1 if k < 16 else 6)
            sums[parity] += own
            if not first:
                off[parity] += sums[parity]
        whole = off[0] + off[1] + sums[1] * ROUNDS
        return whole
    least = Fraction(3678, 10000)  # 1/e, at -1
    residual = series(int(c["terms"])) / least + 1 + 2
    holds(f"10 (iv): e^w - 1 - w, |w| < 1: {float(residual):.2f}", residual <= 8)
    holds("10 (iv): what the series leaves out", Fraction(11, 10) / factorial(int(c["terms"]) + 2) <= U / 50 * least)
    # exp of log p, the product; or with w in the exponent; 9.2 and 10.8 from 1 on (bounds.sollya).
    summand = Units(EXP + max(residual, Fraction(92, 10), Fraction(108, 10)) + ROUNDS)
    holds(f"10 (iv): a summand: {summand}", summand.within(c["of_summand"]))
    holds("10 (iv): z L is rounded, and the exponent's sum", 1 + 1 <= c["of_product"])
    # Blocks of 32, the sums of blocks, and z e^-scale times KL(P||Q), a compensated sum.
    holds("10 (iv): sums", c["block"] == 32 and Units(2 + EXP + 1 + 1 + 1).within(c["of_sums"]))
    holds("10 (iv): the logarithm and the quotient", Units(LOG + 1).within(c["of_end"]))
    holds("10 (iv): with a scale, of at least 300, besides e^-scale and the sum", Units(LOG + 1 + 1 + (EXP + 1) / 300).within(c["of_end"]))


def check_closed(c, holds):
    # Series of positive terms for x < 1, which end below 2u of the sum: the first term, what each further one adds, the sums.
    def excess(first, each, ratios):
        total, term, off, terms = Fraction(1), Fraction(1), Fraction(first), 1
        units = Fraction(first)
        for ratio in ratios:
            term *= ratio
            if term <= 2 * U:
                break
            units += each
            total += term
            off += term * units
            terms += 1
        return off / total + (terms - 1) + Fraction(21, 10) + EXP + ROUNDS
    sinh = excess(3, 3, (Fraction(1, k * (k + 1)) for k in range(4, 60, 2)))
    cosh = excess(3 + 1, 3, (Fraction(k + 1, k) / ((2 * k + 2) * (2 * k + 3)) for k in range(1, 60)))
    holds(f"11: sinh x - x below 1: {float(sinh):.1f}", sinh <= 15)
    holds(f"11: x cosh x - sinh x below 1: {float(cosh):.1f}", cosh <= 17)
    sinh, cosh = max(sinh, 26), max(cosh, 15)  # bounds.sollya from 1 on

    # (i), tilt as a number; what it is off by, 2, moves e^w - 1 - w by (2 + tilt)/tilt each.
    atoms = Units(2 * EXPM1 + 1 + 2)
    first = Units(EXPM1 + 1 + (2 * EXPM1 + 1) + 1)
    second = Units(EXP + 1 + cosh + 1)
    third = Units((EXP / 2 + 1) + 1 + sinh + 1)
    density = largest(first, second, third) + 2 + (1 + 1 + 1) + EXP + 1 + 1 + (EXPM1 + 1) + Units(log_density=LOG)
    mass = 12
    whole = largest(atoms, density) + 1 + mass + EXP + 1 + Units(2 * 2, tilt=2)
    holds(f"11 (i): {whole}", whole.within(Units(c["divergence"], tilt=c["of_tilt"], log_density=c["of_log_density"])))
    holds("11 (i): scales from 300 on are counted with the logarithm", c["far_tilt"] == 300 and c["of_end"] >= LOG + 1 + 2)

    # (ii), b < 20: three positive terms; b >= 20, where F >= 16. What a and b are off by counts once and twice.
    rise = 2 * SINH + 1 + 1
    lean = cosh + EXPM1 + 1 + SINH + 1
    bend = sinh + EXP + 1
    step = max(rise, lean, bend) + 2 + 1 + 1 + LOG
    coth = (EXPM1 + 1) + EXPM1 + 1
    argument = (coth + 1 + 1) + 1 + 2 + 1
    far = argument / 16 + LOG / 4 + 1
    holds(f"11 (ii): one difference: {float(step):.1f}, and {float(far):.1f} from {int(c['short'])} on", far <= step and c["short"] == 20 and argument <= 15)
    both = step + 2 * 2 + 1 + 1 + 1
    holds(f"11 (ii): both, one over z: {float(both):.1f}", both <= 60 and 60 * U * 2 <= c["raised"])


if __name__ == "__main__":
    sys.exit(prove(__file__, check_ratios, check_nodes, check_closed))
