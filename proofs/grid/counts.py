#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lemmas 5, 8, 9 and 18 of docs/certificates/grid.md and the reading of a grid: counts of roundings, as first-order sums of units.
theta is the tilt, w the width of a cell in the loss.
"""
# from dp/grid/cells.hpp: drop = elementary::exp(-tilt_ * width); less = elementary::exp(-width); above = -elementary::expm1(-width); below = elementary::expm1(width);
# from dp/grid/cells.hpp: T const high = cell.high * width.drop; T const in_q = cell.low + high * width.less;
# from dp/grid/cells.hpp: gap_low[j] = width.above * high * (cell.low / in_q); gap_high[j] = width.above * cell.high * (cell.low / in_q);
# from dp/grid/cells.hpp: delta[j] = width.above * high + (delta[j + 1] + width.above * q) * width.drop; q = cell.at + in_q + width.less * q * width.drop;
# from dp/grid/cells.hpp: reverse_delta[j + 1] = (reverse_delta[j] + width.below * (q + cell.low)) / width.drop; q = (1.0 + width.below) * (q + cell.low) / width.drop + cell.high;
# from dp/grid/cells.hpp: return width.below * cells[first].low / width.drop;
# from dp/grid/cells.hpp: lower[n - 1] = std::max(below, width.above * last.high * width.drop);
# from dp/grid/cells.hpp: T const next = lower[j + 1] * width.drop;
# from dp/grid/cells.hpp: T const to_next = width.drop / width.below; mass[j] = (reverse_delta[j + 1] - lower[j + 1]) * to_next; size[j] = reverse_delta[j + 1] * to_next;
# from dp/grid/cells.hpp: T const own = cells[j].at + cells[j].low + from_below; mass[j] = own - (next - lower[j]) / width.below + bend_below;
# from dp/grid/cells.hpp: bend_below = (next - lower[j]) / (width.above * width.drop);
# from dp/grid/cells.hpp: T const to_last = 1.0 / (width.above * width.drop); mass[n] = (delta[n - 1] - lower[n - 1]) * to_last;
# from dp/grid/cells.hpp: T const units_of_one = {one} + {one_w} * exponents * widest;
# from dp/grid/cells.hpp: T const units_of_long = {long} * static_cast<T>(all) + {long_w} * exponents * range;
# from dp/grid/cells.hpp: T moved = wear[j] + ({moved} + {moved_w} * exponents * to_next) * size[j];
# from dp/grid/cells.hpp: moved += {back_w} * exponents * back * size[j]; T const whole = elementary::expm1(-(back + to_next)); share = elementary::expm1(-back) / whole;
# from dp/grid/cells.hpp: T const rest = elementary::exp(-back) * (elementary::expm1(-to_next) / whole); T const down = rest * elementary::exp(-tilt * back);
# from dp/grid/cells.hpp: wear[i] += moved * down + size[i];
# from dp/grid/cells.hpp: T const up = share * elementary::exp(tilt * to_next);
# from dp/grid/cells.hpp: wear[k] += moved * up + size[k];
# from dp/grid/cells.hpp: out.distance = unit_roundoff * ({nodes} + {nodes_w} * exponents);
# from dp/grid/cells.hpp: T const rest = elementary::exp(-v) * elementary::expm1(v - width) / elementary::expm1(-width); table[k] = {rest * elementary::exp(-fine.tilt * v), u * elementary::exp(fine.tilt * (width - v))};
# from dp/grid/compose.hpp: static constexpr std::int64_t ratio = {ratio};
# from dp/grid/compose.hpp: out.distance += fine.distance + unit_roundoff * std::abs(fine.log_norm);
# from dp/grid/fill.hpp: if (rough_width < {x2}) return {n2, w2}; if (rough_width < {x3}) return {n3, w3}; if (rough_width < {x4}) return {n4, w4};
# from dp/grid/fill.hpp: std::ceil((to - from) * roughness * {pieces})
# from dp/grid/fill.hpp: wear_ += p * (libm_units + {of_log} * std::abs(log_p) + {of_tilt} * std::abs(tilt) + tilt_ * (std::abs(origin_) + {of_width} * width_.width) + {of_scale} * std::abs(log_scale_)) + sum;
# from dp/grid/fill.hpp: T const u = std::min(1.0, -short_expm1(-v) / width_.above);
# from dp/grid/fill.hpp: std::min(1.0, elementary::exp(-v) * -short_expm1(v - width_.width) / width_.above); T const tilt_low = tilt_ * node_loss(cell); T const tilt_high = tilt_low + tilt_ * width_.width; T const p = weight * elementary::exp(log_p + tilt_low - log_scale_); T const at_low = p * rest;
# from dp/grid/fill.hpp: ? p * u / width_.drop : weight * u * elementary::exp(log_p + tilt_high - log_scale_);
# from dp/grid/fill.hpp: return origin_ + step_ * static_cast<T>(cell.node);
# from dp/grid/fill.hpp: return total_ > 0.0 ? {sums} + wear_ / total_ : 0.0;
# from dp/grid/loss_law.hpp: inline constexpr double libm_units = {libm};
# from dp/grid/measure.hpp: m.distance += unit_roundoff * ({kept} + {of_norm} * std::abs(log_total));
# from dp/grid/measure.hpp: + {moment} * unit_roundoff * static_cast<T>(n + {moment_more});
# from dp/grid/convolution.hpp: error[bin] += count * (relative + unit_roundoff * (({of_size} + more) * std::abs(logarithm) + ({of_angle} + more) * std::abs(angle)));
# from dp/grid/convolution.hpp: T const units = {few} + static_cast<T>(few.size());
# from dp/grid/convolution.hpp: if (few.size() <= {fewest}) {
# from dp/grid/convolution.hpp: real += mass * 2.0 * sine * sine; imaginary -= sign * mass * 2.0 * sine * cosine; touched += mass * 2.0 * sine;
# from dp/grid/convolution.hpp: T const square = real * (real - 2.0) + imaginary * imaginary;
# from dp/grid/convolution.hpp: square > {half} ? 0.5 * elementary::log1p(square) : elementary::log(length);
# from dp/grid/convolution.hpp: T const relative = elementary::log1p(off / std::sqrt(square)) + {of_square} * unit_roundoff;
# from dp/grid/convolution.hpp: T const y = error[bin] + unit_roundoff * ({of_bin} + std::abs(exponent) + std::abs(phase[bin]));
# from dp/grid/convolution.hpp: T const lost = off * (a + b + off) + {of_product} * unit_roundoff * a * b;
# from dp/grid/convolution.hpp: out.distance = a.distance + b.distance + unit_roundoff * static_cast<T>(shorter + {direct});
# from dp/grid/convolution.hpp: {of_norms} * unit_roundoff * f.count * (std::abs(f.law->log_norm) + std::abs(f.law->log_scale));
# from dp/grid/tail.hpp: T const off = {of_places} * unit_roundoff * (std::abs(origin) + std::abs(first_) + std::abs(last));
# from dp/grid/tail.hpp: log_constant_ = gain - loss + {of_constant} * unit_roundoff * (std::abs(gain) + loss);
# from dp/grid/tail.hpp: excess = down * (excess + lift * weight); weight = measure_.mass[k] + further * weight;
# from dp/grid/tail.hpp: rounding_ = {fixed} * unit_roundoff + tilt * placed_ + {wide} * static_cast<T>(std::numeric_limits<long double>::epsilon()) * (static_cast<T>(n + {wide_more}) * (1.0 + (1.0 + tilt) * step));
# from dp/grid/tail.hpp: T const log_factor = measure_.log_norm - tilt_ * epsilon - tilt_ * above; T const log_sum = elementary::log(excess_[k] - elementary::expm1(-above) * weight_[k]); T const units = {of_sum} * (tilt_ * above + std::abs(log_sum));
# from dp/grid/tail.hpp: T const off = relative_error(epsilon) + {of_log_scale} * unit_roundoff * std::abs(log_scale_); return slack_ * elementary::exp(exponent + off);
# from dp/grid/tail.hpp: return rounding_ + {read} * unit_roundoff * (std::abs(measure_.log_norm) + {read_tilt} * std::abs(tilt_ * epsilon));
# from dp/grid/tail.hpp: T const up = (infinite_above + above.upper(epsilon)) * (1.0 + {ends} * unit_roundoff);
# from dp/grid/tail.hpp: lower_holds ? (infinite_below + below.lower(epsilon)) * (1.0 - {ends} * unit_roundoff) : 0.0;
# from dp/grid/plan.hpp: T const off = unit_roundoff * ({infinite} + {infinite_laws} * static_cast<T>(laws_.size()));
# from dp/grid/plan.hpp: T const away = std::abs(a.loss - place) / unit_roundoff + {of_ends} * (std::abs(law.low) + std::abs(law.high));
# from dp/grid/plan.hpp: (libm_units + {of_exponent} * std::abs(exponent) + {of_lattice_scale} * std::abs(log_scale) + tilt_ * away);
# from dp/grid/plan.hpp: placed += {of_low} * unit_roundoff * law.count * std::abs(law.low);
# from dp/grid/plan.hpp: placed += {of_low} * unit_roundoff * law.count * (std::abs(fits[s].origin) + std::abs(fits[s].first));
# from dp/grid/listed_curves.hpp: out_.mass_error += unit_roundoff * ({listed} + libm_units + {listed_log} * largest_log_);
# from dp/grid/listed_curves.hpp: return std::max(low, low + above * (1.0 - {listed_mean}) - {listed_sum} * unit_roundoff * farthest);
# from dp/grid/listed_curves.hpp: static constexpr T longest = {longest};
import sys
from fractions import Fraction
from math import factorial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import prove  # noqa: E402
from units import ATAN2, EXP, EXPM1, LOG, ROOT_FIVE, ROUNDS, SIN, Units, largest  # noqa: E402

U = Fraction(1, 2**53)

# What follows from a cell's width, a step times a whole number. e^x - 1 has at most the slope 1 for x < 0, and 1 + x for x > 0,
# relative to what x is off by of itself.
DROP = EXP + Units(theta_w=2)
LESS = EXP + Units(w=1)
ABOVE = Units(EXPM1 + ROUNDS)
BELOW = EXPM1 + Units(1, w=1)


def by_width(units):
    """The same where theta w and w are both (1 + theta) w."""
    return Units(units.get("fixed", 0), w=max(units.get("theta_w", 0), units.get("w", 0)))


def check_masses(c, holds):
    # above h low/(low + h less), h = high drop: of h it is at most a power between 0 and 1, as of high in high low/(low + h less).
    h = DROP + ROUNDS
    gap = ABOVE + h + (LESS + ROUNDS) + ROUNDS + ROUNDS + 2
    one = Units(c["one"], w=c["one_w"])
    parts = {
        "a slope at the first node": BELOW + ROUNDS + DROP + ROUNDS,
        "a slope at the last": ABOVE + ROUNDS + DROP + ROUNDS,
    }
    for name, units in parts.items():
        holds(f"5: {name}, {units}, as a gap, {gap}", by_width(units).within(by_width(gap)))
    ends = {
        "the first mass, but for a long sum": gap + ROUNDS + (DROP + BELOW + ROUNDS) + ROUNDS,
        "a cell's own mass": Units(2 + 2),
        "the next c over below": (gap + DROP + ROUNDS) + ROUNDS + BELOW + ROUNDS + 2,
        "its own c over below": gap + ROUNDS + BELOW + ROUNDS + 2,
        # e^(-theta w) is in both: it cancels.
        "the last bend's upper c": gap + ROUNDS + ROUNDS + (ABOVE + ROUNDS) + ROUNDS + 1,
        "the last bend's lower c": gap + ROUNDS + (ABOVE + DROP + ROUNDS) + ROUNDS + 1,
        "the last mass, but for a long sum": gap + ROUNDS + (ABOVE + DROP + ROUNDS + ROUNDS) + ROUNDS,
    }
    for name, units in ends.items():
        holds(f"5: {name}: {units}", by_width(units).within(one))

    # Long sums, for every number of cells: what they err by, and what that grows by in a cell.
    long = Units(c["long"], w=c["long_w"])
    in_q = largest(Units(), h + LESS + ROUNDS) + ROUNDS
    q, delta, back, reverse = Units(), Units(), Units(), Units()
    for n in range(1, 65):
        delta = largest(ABOVE + h + ROUNDS, largest(delta, ABOVE + q + ROUNDS) + ROUNDS + DROP + ROUNDS) + ROUNDS
        q = largest(in_q + ROUNDS, LESS + q + ROUNDS + DROP + ROUNDS) + ROUNDS
        back = back + ROUNDS  # q += at
        reverse = largest(reverse, BELOW + (back + ROUNDS) + ROUNDS) + ROUNDS + DROP + ROUNDS
        # 1 + below is off by less than below is
        back = (BELOW + ROUNDS) + (back + ROUNDS) + ROUNDS + DROP + ROUNDS + ROUNDS
        if n >= 2 and not (by_width(delta).within(long * n) and by_width(reverse).within(long * n)):
            holds(f"5: sums over {n} cells", False)
    holds(f"5: sums over up to 64 cells, of {delta} and {reverse}", holds.status == 0)
    each = [DROP + LESS + 3 * ROUNDS, BELOW + DROP + 6 * ROUNDS]  # q's, of which delta has no more
    holds("5: and what a cell more adds", all(by_width(units).within(long) for units in each))

    # A negative mass to its neighbours: (e^-b - 1)/(e^-(b + t) - 1) and e^-b (e^-t - 1)/(e^-(b + t) - 1), b + t is off by 2 of itself.
    whole = EXPM1 + Units(2)
    share = (EXPM1 + 1) + whole + Units(ROUNDS)
    rest = EXP + Units(back=1) + (EXPM1 + 1) + whole + 2 * ROUNDS
    down = rest + (EXP + Units(theta_back=2)) + ROUNDS + ROUNDS
    up = share + (EXP + Units(theta_next=2)) + ROUNDS + ROUNDS
    moved = Units(c["moved"], back=c["back_w"], theta_back=c["back_w"], theta_next=c["moved_w"])
    holds(f"5: a mass that moves down, {down}, and up, {up}", down.within(moved) and up.within(moved))

    # A coarser grid's cells: v = k step, k < ratio, width = ratio step, which is exact.
    ratio = c["ratio"]
    holds("9: a power of two", ratio == 8)
    u = (EXPM1 + 1) + (EXPM1 + 1) + Units(ROUNDS)
    high = u + (EXP + Units(theta_w=3)) + ROUNDS + ROUNDS
    # v - width is off by v and by itself, of at least a step
    low = EXP + Units(w=1) + ROUNDS + (EXPM1 + ratio) + (EXPM1 + 1) + ROUNDS + (EXP + Units(theta_w=2)) + ROUNDS + ROUNDS
    sums = (ratio - 2) + 2
    lowered = DROP + ROUNDS + ROUNDS
    nodes = Units(c["nodes"], w=c["nodes_w"])
    holds(f"9: cells of a coarser grid and sums: {low + sums}, {high + sums}", by_width(low + sums).within(nodes) and by_width(high + sums).within(nodes))
    holds("9: and lowered", by_width(largest(low, high + lowered) + sums).within(nodes))


def check_filling(c, holds):
    # The rule of n nodes, X at most: over the integral of f(1 - e^(-s t)), 2 c_n 4^n X^(2n-1) e^(2X), and over that of r, c_n X^2n e^X.
    def exp_above(x):
        return sum(x**k / factorial(k) for k in range(12)) * (1 + x**12)
    for n, most in ((2, c["x2"]), (3, c["x3"]), (4, c["x4"]), (6, 1 / c["pieces"] * (1 + 8 * U))):
        rest = Fraction(factorial(n)**4, (2 * n + 1) * factorial(2 * n)**3)
        off = 2 * rest * 4**n * most**(2 * n - 1) * exp_above(2 * most), rest * most**(2 * n) * exp_above(most)
        holds(f"8: {n} nodes, up to {float(most):.4g}: {float(max(off) / U):.2f} units", max(off) <= 4 * U)
    rule = 4
    # Its nodes, by u of themselves, move t by u and p by .4u/2; its weights by u.
    rounded = 1 + Fraction(2, 10) + 1
    holds("8: nodes and weights", rounded <= 4)
    short = 4  # of e^x - 1 near 0, 2 and 2 (bounds.sollya)
    weight = 2 + ROUNDS + 4  # (to - from)/pieces, the rule's
    width = ABOVE
    u = max(short, EXPM1) + width + ROUNDS
    rest = EXP + Units(max(short, EXPM1) + ROUNDS) + width + ROUNDS + ROUNDS
    # origin + step node is off by |node loss| and |step node| <= |loss| + |origin|; a product, two sums of the exponent.
    tilt_low = Units(tilt=1 + 2, origin=1)
    exponent = tilt_low + Units(log_p=2, tilt=2, scale=1)
    p = weight + Units(EXP) + exponent + ROUNDS
    low = p + rest + ROUNDS + rule
    # |tilt_low| <= |tilt_high| + theta w
    high = p + Units(theta_w=exponent["tilt"]) + u + ROUNDS + DROP + ROUNDS + rule
    # tilt_high is rounded besides
    far = weight + u + ROUNDS + EXP + exponent + Units(tilt=1, theta_w=tilt_low["tilt"] + 2) + ROUNDS + rule
    atom = Units(EXP) + Units(log_p=LOG) + exponent
    counted = Units(c["libm"], log_p=c["of_log"], tilt=c["of_tilt"], origin=1, theta_w=c["of_width"], scale=c["of_scale"] - 1)
    for name, units in {"lower": low, "upper": high, "upper, far": far, "an atom's": atom}.items():
        holds(f"8: {name} share: {units}", units.within(counted))
    holds("8: the sum with the atoms' cells, and the nodes': three sums", Units(1 + 1 + 1).within(c["sums"]))
    # The logarithm of the scale, once, is rounded where it is normalised.
    holds("9: a scale: quotients, the logarithm and the sum", ROUNDS <= c["kept"] and Units(LOG + ROUNDS).within(c["of_norm"]))
    # On a lattice: theta loss and the exponent, of which the first is at most |exponent| + |scale|; the place is computed.
    lattice = Units(EXP + ROUNDS, exponent=2, scale=1 + 1)
    holds("8: masses of a lattice", lattice["exponent"] <= c["of_exponent"] and lattice["scale"] <= c["of_lattice_scale"]
          and Units(lattice["fixed"]).within(c["libm"]))
    holds("8: and their places: a product, a sum, the difference, of at most |low| + |high|", Units(3).within(c["of_ends"]))

    # Lemma 18: the rule, length and weight, exp and a product, u or 1 - u and a product, six nodes and the neighbour's share.
    holds("18: one rule", c["longest"] * c["pieces"] <= 1 + 2 * U)
    part = rule + (1 + ROUNDS + 4) + (EXP + ROUNDS)
    u = EXPM1 + EXPM1 + ROUNDS
    rest = EXP + (EXPM1 + ROUNDS) + EXPM1 + ROUNDS + ROUNDS
    mass = Units(part + max(u, rest) + ROUNDS + 6 + 1)
    holds(f"18: a share of a cell's mass: {mass}", mass.within(c["listed"] + c["libm"]))
    holds("18: and by its logarithm as above", c["listed_log"] >= c["of_log"])
    # log(1 + s(e^-w - 1)), w <= .8: s is off by what either share and their sum are; -log(1 - y) by at most (e^w - 1)/w of that.
    argument = 2 * mass["fixed"] + ROUNDS + ROUNDS + EXPM1 + ROUNDS + ROUNDS
    steepest = exp_above(Fraction(8, 10)) - 1
    holds("18: what the mean's logarithm errs by", (steepest / Fraction(8, 10) * argument + LOG + 3) * U <= c["listed_mean"])
    holds("18: and its two sums", c["listed_sum"] >= 2)


def check_sums(c, holds):
    # Lemma 9, a law of k masses: 2m sin^2 y and 2m sin y cos y, y = pi turns/size, k <= 8. Relative to 2m sin y: what sines, cosines
    # and products err by, of modulus at most; y by its 2 and .35 of pi, that is by 2y/(2 sin y) <= pi/2 of it; k - 1 sums.
    term = SIN + SIN + 2
    angle = Fraction(236, 100) * Fraction(1571, 1000)
    # |X|^2 - 1 errs by 2|re(re - 2)| + im^2 + |itself|, each at most 4, 1 and 2 of what is touched; half of that is its logarithm's.
    square = Fraction(4 + 1 + 2, 2)
    # Below -1/2 1 + square and the root round, by 3/2, where |X|^2 <= 1/2 and 1 - |X| <= touched: |X|^2/touched <= 1.71.
    holds("9: |X|^2/(1 - |X|) there", c["half"] == Fraction(-1, 2) and Fraction(1, 2) / (1 - Fraction(7072, 10000)) <= Fraction(171, 100))
    root = Fraction(3, 2) * Fraction(171, 100)
    k = int(c["fewest"])
    holds(f"9: {k} masses, over |X|^2: {float(term + angle + square + root + k - 1):.1f}", Units(term + angle + square + root - 1).within(c["few"]))
    holds("9: a logarithm and its product with the count", Units(LOG + ROUNDS).within(c["of_size"]))
    holds("9: an angle, 1 - re, and the product", Units(ATAN2 + ROUNDS + ROUNDS).within(c["of_angle"]))
    holds("9: the square of a modulus, half", Units(Fraction(2, 2)).within(c["of_square"]))
    holds("9: a bin: exp, a sine, the product", Units(EXP + SIN + ROUNDS).within(c["of_bin"]))
    holds("9: and far phases, 3 sqrt 2 and exp, below 2^20 units", EXP + 1 + 5 < 2**20)
    holds("9: a product of transforms", Units(ROOT_FIVE).within(c["of_product"]))
    holds("9: short laws: products, and a sum less than there are", c["direct"] >= 1)
    holds("9: norms: products, sums of two, and with the new one", Units(ROUNDS + ROUNDS).within(c["of_norms"]) and 3 <= c["of_norms"])
    # Four chains of Horner's scheme: factor^4 by 4 exps and 3, a product and a sum, for four masses; then factor, square, sums.
    fourth = 4 * EXP + 3
    holds("9: moments", (fourth + 2) / 4 <= c["moment"] and (2 * EXP + 1 + ROUNDS) + (EXP + ROUNDS) + 2 + (EXP + 2) <= c["moment"] * c["moment_more"])
    holds("9: what their logarithms err by is less than a place of a window of 2^22", 8 * U * 2**22 < Fraction(1, 1000))

    # Reading, in long double's own units: 3 of exp and 8 of expm1 (elementary.md), no less than double's.
    exp, expm1 = 3, 8
    weight, excess = Units(), Units()
    for n in range(1, 65):
        weight, excess = (largest(Units(), weight + exp + Units(x=2) + ROUNDS) + ROUNDS,
                          largest(excess, weight + expm1 + ROUNDS) + ROUNDS + (exp + Units(x=1)) + ROUNDS)
        counted = Units(2 * c["wide"] * (n + c["wide_more"]), x=2 * c["wide"] * (n + c["wide_more"]))
        if not (weight.within(counted) and excess.within(counted)):
            holds(f"reading: {n} nodes", False)
    holds(f"reading: sums over up to 64 nodes, {weight} and {excess}", holds.status == 0)
    holds("reading: and what a node more adds", Units(exp + 2, x=2).within(Units(2 * c["wide"], x=2 * c["wide"])))
    # To double; 1 - e^-d by expm1 and d, the product, the sum; exp. What d is off by absolutely is a place.
    holds("reading: the sum and exp", Units(ROUNDS + (EXPM1 + 1) + ROUNDS + ROUNDS + EXP + 2 * ROUNDS).within(c["fixed"]))
    # log_norm - theta eps - theta d + log: a product each and three sums.
    a, b, d, log = Units(norm=1), Units(eps=1), Units(d=1), Units(log=1)
    exponent = b + (a + b) + d + (a + b + d) + (a + b + d + log) + LOG * log + Units(d=1)
    read = Units(norm=c["read"], eps=c["read"] * c["read_tilt"], d=c["of_sum"], log=c["of_sum"])
    holds(f"reading: the exponent: {exponent}", exponent.within(read))
    # Places: origin + step first and + step k, less eps; the quotient by the step.
    holds("reading: places, of the three", Units(2 + 2 + 2 + 1).within(c["of_places"]))
    holds("reading: the origin: a product and a compensated sum; a node at 0 by a product and a sum", Units(1 + 2).within(c["of_low"]))
    scale = b + Units(scale=1) + b + Units(scale=1) + b
    holds("reading: an error's exponent", scale.within(Units(eps=c["read"] * c["read_tilt"], scale=c["of_log_scale"])))
    # theta log theta, (1 + theta) log1p theta and their difference; its own sum with the exponent, of at most both.
    holds("reading: C", Units((LOG + 1) + 1 + 1 + 1 + 2).within(c["of_constant"]))
    holds("reading: the slack: its sum and expm1, exp, the product", Units(2 + EXPM1 + EXP + 1).within(c["fixed"]))
    holds("reading: 1 + off, two products, two sums", Units(5).within(c["ends"]))
    # 1 - (1 - x)^n, x <= 1/2 by a sum: x/((1 - x)|log(1 - x)|) <= 1.45; log1p, the product, sums; expm1, the product.
    holds("reading: infinite losses", Units(Fraction(145, 100) + LOG + 1 + EXPM1 + 2).within(c["infinite"]) and c["infinite_laws"] >= 1)


if __name__ == "__main__":
    sys.exit(prove(__file__, check_masses, check_filling, check_sums))
