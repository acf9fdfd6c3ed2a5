#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemmas 15 and 18 of docs/certificates/allocation.md: counts of roundings of the power of a series, run for every degree, and
of a node's masses. Lemmas 4, 5, 7, 9, 25 and 28, and the hits of 18: first-order sums of units.
"""
# from dp/allocation/lattice.hpp: T const before = k > 0 ? lowered[k - 1] / drop : 0.0; T const after = k + 1 < n ? lowered[k + 1] * drop : 0.0; mass[k] += 2.0 * lowered[k] - before - after;
# from dp/allocation/lattice.hpp: mass[k] += cells[k].at + cells[k].low; if (k + 1 < cells.size()) mass[k + 1] += cells[k].high;
# from dp/allocation/lattice.hpp: lowered[k] = std::max(cells[k].gap, cells[k - 1].gap / drop);
# from dp/allocation/lattice.hpp: size[k] += 2.0 * lowered[k] + before + after; wear[k] = ({bend} + {bend_x} * tilt) * size[k];
# from dp/allocation/lattice.hpp: T const share = back / (back + ahead); T const rest = ahead / (back + ahead); T const down = rest * elementary::exp(-tilt * back); T const up = share * elementary::exp(tilt * ahead); T const moved = wear[j] + ({move} + ({move_away} + {move_x} * tilt) * (back + ahead)) * size[j]; mass[i] += mass[j] * down; size[i] += size[j] * down; wear[i] += moved * down + size[i]; mass[k] += mass[j] * up; size[k] += size[j] * up; wear[k] += moved * up + size[k]; mass[j] = wear[j] = 0.0;
# from dp/allocation/lattice.hpp: std::vector<T> mass = contract<T>(out.cells, 1.0, missing, wear); if (missing > 0.0) return std::nullopt;
# from dp/allocation/lattice.hpp: T const by_mean = mass > 0.0 ? low * (high / mass) : 0.0;
# from dp/allocation/lattice.hpp: cell.gap += std::min(by_mean, by_density) * (1.0 + {spare});
# from dp/allocation/sums.hpp: all += out.mass[place]; if (!law.wear.empty()) wear += law.wear[k] * factor;
# from dp/allocation/sums.hpp: out.distance = all > 0.0 ? {summed} * unit_roundoff * (wear / all) : 0.0;
# from dp/allocation/sums.hpp: within[static_cast<std::size_t>(p)] = mass * elementary::exp(-rate * static_cast<T>(p));
# from dp/allocation/sums.hpp: cell.low += within[static_cast<std::size_t>(p)] * (1.0 - place); high += within[static_cast<std::size_t>(p)] * place;
# from dp/allocation/sums.hpp: cell.gap = std::max(cell.gap, tents * (1.0 + {spare}));
# from dp/allocation/sums.hpp: cell.high = high / drop;
# from dp/allocation/sums.hpp: out.distance = fine.distance + unit_roundoff * ({coarser} + {coarser_x} * rate * static_cast<T>(ratio));
# from dp/allocation/sums.hpp: out.distance += {summed} * (missing + unit_roundoff * all_wear) / all;
# from dp/grid/compose.hpp: static constexpr std::int64_t ratio = {ratio};
# from dp/allocation/atoms.hpp: T const off = misses(line, law, above) + {compared};
# from dp/allocation/atoms.hpp: T const factor = above ? 1.0 + off : 1.0 - off;
# from dp/allocation/atoms.hpp: T const mass = bend * factor;
# from dp/allocation/atoms.hpp: sum += weight.value() * std::abs(c - before);
# from dp/allocation/atoms.hpp: T wanted = v - level; if (away > 0.0) { T const rounded = {of_wanted} * unit_roundoff * (v + level + away); wanted = (wanted + away) + (above ? rounded : -rounded); }
# from dp/allocation/atoms.hpp: if (above && is_atom && wanted > 0.0) worst = std::max(worst, wanted / found - 1.0); if (!above && found > 0.0) worst = std::max(worst, 1.0 - wanted / found);
# from dp/allocation/atoms.hpp: return left ? v + (node_[k] - steps_) : v + (steps_ - node_[k]);
# from dp/allocation/atoms.hpp: rise_a = (at_a - high) / (from - node_[j - 1]); size_a = (at_a + high) / (from - node_[j - 1]);
# from dp/allocation/atoms.hpp: rise_b = (high - at_b) / (node_[j + 2] - end); size_b = (high + at_b) / (node_[j + 2] - end);
# from dp/allocation/atoms.hpp: T const v = at_a + rise_a * ahead - {of_lines} * unit_roundoff * (at_a + size_a * ahead);
# from dp/allocation/atoms.hpp: T const off = {of_lines} * unit_roundoff * (at_a + size_a * width + at_b + size_b * width);
# from dp/allocation/atoms.hpp: T const least = std::min(at_a + rise_a * (place - from), at_b - rise_b * (end - place)); put(place, std::max(0.0, least - off));
# from dp/allocation/atoms.hpp: T const loss = elementary::log(x / steps_); T const raised = mass * (x / steps_);
# from dp/allocation/atoms.hpp: out.infinite += above ? upper_.back() / steps_ : alone_.lower / steps_ * (1.0 - {of_alone});
# from dp/allocation/atoms.hpp: out.infinite = std::min(1.0, out.infinite * (1.0 + {of_infinite}));
# from dp/allocation/atoms.hpp: out.loss_error = {of_losses} * unit_roundoff * (1.0 + 1.0 / std::max(farthest, 1e-300));
# from dp/allocation/finite_step.hpp: mass_error = pair.mass_error + {of_finite} * unit_roundoff;
# from dp/allocation/finite_step.hpp: terms = here == node ? terms + 1.0 : 1.0;
# from dp/allocation/finite_step.hpp: cell.low += mass * (1.0 - v); cell.high += mass * v;
# from dp/allocation/finite_step.hpp: above_.mass_error + unit_roundoff * most_terms,
# from dp/allocation/finite_step.hpp: below_.mass_error + (count + most_terms) * unit_roundoff,
# from dp/allocation/finite_step.hpp: if (mass > 0.0) cell.gap = cell.low * (cell.high / mass) * (1.0 + {spare});
# from dp/allocation/lattice.hpp: return unit_roundoff * (libm_units + {of_far} * farthest * farthest + {of_long} * (farthest + {of_rough}) * longest + most_terms);
# from dp/allocation/lattice.hpp: return unit_roundoff * {of_location} * (1.0 + a * farthest + a * a);
# from dp/allocation/lattice.hpp: T const tau = (begin - from) + part * (piece + rule.node[i]); T const x = from + tau; T const place = v + (1.0 - v) * (short_expm1(a * tau) / whole); T const mass = part * rule.weight[i] * inv_root_two_pi<T> * elementary::exp(-0.5 * x * x); low += mass * (1.0 - place); high += mass * place;
# from dp/allocation/lattice.hpp: return (elementary::log(u) + 0.5 * a_ * a_) / a_;
# from dp/allocation/lattice.hpp: T const roughness = std::min(size, no_mass) + a + {rough};
# from dp/grid/loss_law.hpp: inline constexpr double libm_units = {libm};
# from dp/allocation/sums.hpp: excess = down * (excess + step_ * weight); weight = law.mass[k] + down * weight;
# from dp/allocation/sums.hpp: rounding_ = unit_roundoff * ({fixed} + {by_node} * static_cast<T>(n + {nodes_more}) * (1.0 + tilt_ * step_)) + tilt_ * shift_;
# from dp/allocation/sums.hpp: shift_ = {of_places} * unit_roundoff * (std::abs(origin) + std::abs(first_) + std::abs(last_));
# from dp/allocation/sums.hpp: T const off = rounding_ + {read} * unit_roundoff * (std::abs(log_norm_) + std::abs(log_scale_) + {read_tilt} * std::abs(tilt_ * y) + std::abs(tilt_ * first_));
# from dp/allocation/sums.hpp: return elementary::exp(std::min(700.0, exponent - tilt_ * ahead)) * (excess_[k] + ahead * weight_[k]);
# from dp/allocation/sums.hpp: unit_roundoff * ({of_mass_tilted} + {of_tilt} * tilt * law.step * static_cast<T>(law.mass.size()));
# from dp/allocation/sums.hpp: T const down = exponent(k) - most;
# from dp/allocation/cut_ratio.hpp: T const z = middle + half * x; T const mass = half * weight * inv_root_two_pi<T> * elementary::exp(-0.5 * z * z); put(out, z, mass, {node} + {node_z2} * z * z, tilt, most);
# from dp/allocation/cut_ratio.hpp: half = std::min(1.6 * half, {widest});
# from dp/allocation/cut_ratio.hpp: return elementary::exp(a_ * (z - 0.5 * a_));
# from dp/allocation/cut_ratio.hpp: T const moved = u * ({of_z} * a_ * (std::abs(z) + 1.0) + a_ * a_ + {of_value}) + {of_loss} * size;
# from dp/allocation/cut_ratio.hpp: out.terms.bend += mass * size * ({of_series} * size * (units + {series_fixed}) + {of_powers} * (moved + {of_power} * size));
# from dp/allocation/cut_ratio.hpp: out.terms.wrong += start * (units + tilt * moved + {start}) + mass * (units + {plain}); out.terms.swing += start * moved + mass * (size * (units + {plain_again}) + moved);
# from dp/allocation/cut_ratio.hpp: for (std::size_t k = degree; k >= 2; --k) of_series = (of_series + series[k]) * s; return of_series * s - mean * s - plain;
# from dp/allocation/line_sums.hpp: T const rounded = {of_square} * (std::abs(d.re) + norm(d)) / (size * size) + {of_log} * (std::abs(log_size) + std::abs(log_first) + std::abs(arg));
# from dp/allocation/line_sums.hpp: power / square * (elementary::expm1(off) + {of_term} * unit_roundoff)});
# from dp/allocation/line_sums.hpp: static constexpr T most_units = {most_units};
# from dp/contour/turned_sums.hpp: off_hit += hits_at_most[i] * (bent_[i] + {hit}) + {hit_rho} * base_[i] * rho[i] * fall;
# from dp/contour/turned_sums.hpp: complex<T>{-elementary::expm1(-x) + 2.0 * fall * half * half, fall * sine} * base_[i];
# from dp/contour/turned_sums.hpp: (rare ? off_hit + {rare} * size_hit : sum(
# from dp/allocation/discrete_step.hpp: return step_ * inv_root_two_pi * elementary::exp(-0.5 * z * z);
# from dp/allocation/discrete_step.hpp: return unit_roundoff * ({step_a} * a_ * (farthest() + a_) + {step_fixed});
# from dp/allocation/poisson_sums.hpp: return t + 1.0 >= n ? n * (n + 1.0) / {per} + {each} * n : t * (n + 2.0);
# from dp/allocation/poisson_sums.hpp: worst = std::max(worst, part * (wrong / own + summed + off_missed + {of_mass}));
# from dp/allocation/poisson_sums.hpp: T const units = steps_ * off_missed + order_ * (worst + {by_degree}) +
# from dp/allocation/poisson_sums.hpp: T const summed = static_cast<T>(size) / {lanes} + {depth};
# from dp/contour/turned_sums.hpp: T const units = steps_ * off_none + order_ * (worst + {turned_degree}) + {both} * power_units(order_, steps_) + {turned_each} * order_ +
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402
from units import ATAN2, EXP, EXPM1, LOG, ROOM, ROOT_FIVE, ROOT_TWO, ROUNDS, SIN, Units, largest  # noqa: E402

U = Fraction(1, 2**53)


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


def check_step(c, holds):
    # x = from + tau by itself; -x^2/2 by half of x^2. tau by 4, of at most the cell's length: that moves the integrand by the roughness,
    # |z| + a + 2.2, where a times the length is at most 1.3 (cells from the first node on, Lemma 5).
    holds("5: far out", Units(x2=1 + Fraction(1, 2)).within(Units(x2=c["of_far"])))
    holds("5: by a cell's length", 4 <= c["of_long"] and 4 * c["rough"] <= c["of_long"] * c["of_rough"])
    # Lemma 8's rule and its weight; part by 2, 1/sqrt 2 pi, products; exp; 1 - place and the product; v + (1 - v)(...) is a place.
    mass = Units(4 + 4 + 2 + 1 + 2 + 1 + EXP + 1 + 1 + 4 * Fraction(13, 10))
    holds(f"5: a share of a cell: {mass}, and the sum's terms", mass.within(c["libm"]))
    # A place, over its cell: e^x - 1 by 4 twice, arguments, the quotient; where the law begins within a cell 1 - v, its product, the sum.
    place = 4 + 1 + 4 + 1 + 1
    begins = place + 3
    # Ends: log u, a^2/2, the sum and the quotient, of a|z| + a^2/2 and a|z|; a's own 1, of a|z| + a^2; origin + step k by 2.
    end = Units(2, a_z=LOG + 1 + 1 + 1, a2=LOG / 2 + Fraction(1, 2) + 1)
    counted = Units(c["of_location"], a_z=c["of_location"], a2=c["of_location"])
    holds(f"5: locations: {end + place}", (end + place).within(counted))
    holds("5: where the law begins, of twice as much that values are moved", (end + begins).within(2 * counted))


def check_bends(c, holds):
    """What `contract` counts, of one step (drop 1, x = 0) and of coarser lattices."""
    drop = EXP + Units(x=2)  # tilt is that of a step, off by 2
    # Of what a node's mass is made of: it is spread by two sums; c over drop, twice at most; then three sums, each at most all of it.
    parts = largest(Units(2), drop + ROUNDS, (drop + ROUNDS) * 2)
    bend = parts + 3
    holds(f"4: a bend: {bend}", bend.within(Units(c["bend"], x=c["bend_x"])))
    # A share of whole numbers, exp, their product, the mass's; exp of tilt, log drop, times a whole number.
    exponent = (drop + Units(x=LOG)) + Units(x=ROUNDS)
    move = Units(1 + EXP + 1 + 1 + 1) + Units(away=exponent["fixed"], away_x=exponent["x"])
    holds(f"4: a mass that moves: {move}", move.within(Units(c["move"], away=c["move_away"], away_x=c["move_x"])))
    # The sum with it is at most the size. Sizes and wears are sums of positive terms: at most 2^30 of them, five roundings for each.
    holds("4: sums of wear, and over the masses' sum", 6 * 2**30 * U + U < c["summed"] - 1)
    # By the largest density, of |z| up to 40 and (|z| + a) length up to 3: a cell's mass is off by what Lemma 5 counts, less than
    # 200 terms, twice, as the law that has such sums has as much more of a density; exp of what is off by 3.
    of_cell = c["libm"] + c["of_far"] * 40**2 + c["of_long"] * 3 * (1 + c["rough"]) + 200
    holds(f"4: gaps by the largest density: {float(2 * of_cell):.0f} units", (2 * of_cell + EXP + 3 * 3 + 8) * U * ROOM < c["spare"])
    # low high/(low + high) by four, where it is computed from the sums that masses are made of; tents by 8 and 4 for each outcome.
    holds("4: gaps", max(4 + 1, 8 + 5 + 1) * U * ROOM < c["spare"])

    # Shares of a coarser cell: exp and its product, 1 - place is exact; a product and sums; over drop; spread.
    ratio = c["ratio"]
    holds("4: a power of two", ratio == 8)
    within = Units(EXP + ROUNDS, x=2)
    coarser = within + ROUNDS + (ratio - 2) + (EXP + ROUNDS + Units(x=1)) + 2
    holds(f"4: a share of a coarser cell: {coarser}", coarser.within(Units(c["coarser"], x=c["coarser_x"])))

    # Of finitely many losses: 1 - v and the product; as many sums as there are terms, less one; spread.
    holds("25: a share of a cell, beside its terms", Units(2 + 2 - 1).within(c["of_finite"]))


def check_atoms(c, holds):
    # A line: values from the other side of t by 2, their difference, that of nodes, the quotient; the distance, the product, two sums.
    beside, own = 2 + 1 + 1 + 1 + 1 + 1 + 1 + 1, 2 + 1 + 1
    holds("9: a line, of what it is made of", Units(max(beside, own)).within(c["of_lines"]))
    holds("9: what is wanted: three sums", Units(3).within(c["of_wanted"]))
    # A compensated sum of n < 2^20 positive terms, by n^2 u^2 and itself; a distance, the product, and a compensated sum of those.
    compensated = 2
    holds("9: compensated sums", 2**40 * U < 1)
    found = compensated + 1 + 1 + compensated
    # What is wanted behind t, the quotient, the difference with 1; its sum with what is counted, the factor, the product; x/t and its.
    off = Units(found + 1 + 1 + 1 + 1 + 1 + 1 + 2)
    holds(f"9: what is seen of the sums, and masses: {off}", off.within(c["compared"] / U))
    # x/t, of p and of its logarithm, and the product of p.
    holds("9: losses", Units(1 + 1 + 1, loss=LOG).within(Units(c["of_losses"], loss=c["of_losses"])))
    holds("9: mass at infinity: a quotient, the sum, two products", 5 * U < c["of_infinite"] and c["of_infinite"] + 5 * U < c["of_alone"])


def check_sums(c, holds):
    weight, excess = Units(), Units()
    for n in range(1, 65):
        weight, excess = (largest(Units(), weight + EXP + Units(x=1) + ROUNDS) + ROUNDS,
                          largest(excess, weight + ROUNDS) + ROUNDS + (EXP + Units(x=1)) + ROUNDS)
        counted = Units(c["by_node"] * (n + c["nodes_more"]), x=c["by_node"] * (n + c["nodes_more"]))
        if not (weight.within(counted) and excess.within(counted)):
            holds(f"7: {n} nodes", False)
    holds(f"7: sums over up to 64 nodes, {weight} and {excess}", holds.status == 0)
    holds("7: and what a node more adds", Units(EXP + 2, x=1).within(Units(c["by_node"], x=c["by_node"])))
    # What lies ahead, its product, the sum, exp and the product; 1 - off, the product and the difference.
    holds("7: a value", Units(ROUNDS + ROUNDS + EXP + ROUNDS + 3).within(c["fixed"]))
    norm, tilted, ahead = Units(norm=1), Units(tilted=1), Units(ahead=1)
    exponent = tilted + (norm + tilted) + 2 * ahead + (norm + tilted + ahead)
    # What is ahead is at most a step, or |first| + |y|.
    apart = Units(norm=exponent["norm"], tilted=exponent["tilted"] + exponent["ahead"], first=exponent["ahead"])
    holds(f"7: its exponent: {exponent}", apart.within(Units(norm=c["read"], tilted=c["read"] * c["read_tilt"], first=c["read"])))
    holds("7: an error's", Units(scale=2, tilted=3).within(Units(scale=c["read"], tilted=c["read"] * c["read_tilt"])))
    # origin + step first and step k, and the origin's own.
    holds("7: places", Units(origin=1 + 1, first=2 + 1, last=2).within(Units(origin=c["of_places"], first=c["of_places"], last=c["of_places"])))
    holds("7: tilted masses: theta step k by 2, the difference; exp, the product", Units(EXP + ROUNDS, x=2 + 1).within(Units(c["of_mass_tilted"], x=c["of_tilt"])))


def check_cut(c, holds):
    # z: the middle by itself, at most |z| + half, half by 1, the rule's node, their product, and itself.
    place = Units(c["widest"] + (1 + Fraction(1, 2) + 1), z=1 + 1)
    holds("28: a node's place, of panels of at most 2", c["widest"] == 1)
    # e^(-z^2/2) by half of z^2, and |z| times that; 3.5|z| <= 1.6 + 2z^2
    mass = Units(1 + Fraction(1, 2) + 1 + 3 + EXP + Fraction(8, 5), z2=Fraction(1, 2) + place["z"] + 2)
    holds("28: 3.5|z|", place["fixed"]**2 <= 4 * Fraction(8, 5) * 2)
    holds(f"28: a mass: {mass}", mass.within(Units(c["node"], z2=c["node_z2"])))
    # u(z): a times that, z - a/2 and the product, exp; u - 1.
    value = Units(EXP, a_z=place["z"] + 1 + 1, a=place["fixed"], a2=Fraction(1, 2) * 2)
    holds(f"28: a value: {value}", value.within(Units(c["of_value"], a_z=c["of_z"], a=c["of_z"], a2=1)))
    # The difference, and beside it tilt times the loss, and the turn's.
    holds("28: a loss, and its product with the tilt", 1 + 1 <= c["of_loss"])
    holds("28: a start: exp and the product", Units(EXP + ROUNDS).within(c["start"]))
    # Compensated sums, their product with s, and two sums, of a mass whose units have 7 to spare
    spare = c["node"] - mass["fixed"]
    holds("28: what is taken off", Units(1 + 2 + 1 + 2).within(c["plain"] + spare) and c["plain"] == c["plain_again"])
    # A term of the series: a product for each power, the loss's own; the sum, 1/k!; Horner's products and sums.
    holds("28: a power", Units(ROUNDS + ROOT_FIVE + ROUNDS + 1).within(c["of_power"]))
    holds("28: and its mass", Units(2 + 1 + 1).within(c["series_fixed"]))
    e_cubed = Fraction(2008554, 10**5)  # above
    holds("28: sums of powers up to 3", e_cubed - 4 <= 9 * c["of_series"] and 3 * (e_cubed - 1) <= 9 * c["of_powers"])
    # 1 + d: 2 Re d + |d|^2 by 2|d|^2 and itself, half of that; log1p, the difference and the product; atan2, 1 + Re d, the product.
    holds("28: |1 + d|", max(Fraction(2 + 1, 2), Fraction(2, 2)) <= c["of_square"])
    holds("28: its logarithm and its angle", Units(LOG + 2).within(c["of_log"]) and Units(ATAN2 + 1 + 1).within(c["of_log"]))
    holds("28: exp, sine, a product, a quotient by s^2", Units(EXP + 3 * ROOT_TWO + 1 + 7 + ROOT_FIVE).within(c["of_term"]))
    holds("28: turns", 15 * (ROOT_FIVE + 2) + 16 <= c["most_units"])


def check_hits(c, holds):
    # rho is off by 5, and its parts by 2 and a product: e^-x |rho| times root 2 of that.
    rho = EXP + ROUNDS + ROUNDS
    holds("18: rho", rho <= 5)
    holds("18: moves by rho", ROOT_TWO * (5 + 2 + 1) <= c["hit_rho"])
    # 1 - e^-x at most min(1, |rho|), 2 e^-x sin^2(y/2) and e^-x sin y at most min(2, |rho|) and min(1, |rho|); by what they are of min(2, |rho|).
    real = (EXPM1 + 2) + (EXP + 2 * SIN + 2 + 2)
    imaginary = EXP + SIN + 2
    holds("18: a hit", real**2 + imaginary**2 <= (c["hit"] - 10)**2)
    holds("18: beyond 2^20, by 3 of a sine, of e^-x", (EXPM1 + 2 + EXP + 2 * 2 * 3 + 4)**2 + (EXP + 3 + 2)**2 <= (2 * c["hit"] - 20)**2)
    holds("18: its mass by z^2/2 and 10", Fraction(1, 2) + 1 + EXP + 1 <= 10)
    # |1 - h|^2 by 3|h|^2 + 2|h| at most, half of it over |1 - h| >= 1/2, |h| < 1/2; and 1 - h.
    holds("18: the logarithm of 1 - h", Fraction(1, 2) * (Fraction(3, 2) + 2) * 2 + 1 <= c["rare"])
    holds("18: locations: a by 1, of a(z - a) at most, z - a/2 and the product, exp", 1 + 2 <= c["step_a"] and EXP <= c["step_fixed"])


def main():
    c, holds = constants_of(__file__), Statements()
    check_step(c, holds)
    check_bends(c, holds)
    check_atoms(c, holds)
    check_sums(c, holds)
    check_cut(c, holds)
    check_hits(c, holds)
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
