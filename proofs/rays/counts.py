#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts of roundings in section 5 of docs/certificates/rays.md, to first order and with room for what is of second, for both
formats: elementary functions err by 8u, sinh by 10u, sin and cos of small angles by 4u and 5u at most.
"""
# from dp/rays/table.hpp: R log_ratio_wrong = {bump} * n.size;
# from dp/rays/table.hpp: log_ratio_wrong += {bump_fixed} + {bump_log} * modulus(log_fall) + {bump_zeta} * std::abs(zeta);
# from dp/rays/table.hpp: n.wrong = {weight} + {square} * size * size + size * (log_ratio_wrong + law_.mean_wrong + {place}) / law_.deviation + {norm} * std::abs(norm_);
# from dp/rays/table.hpp: R const rel = n.wrong + {tilt} * tilt_size + {tilt_fixed};
# from dp/rays/table.hpp: R const depth = (std::numeric_limits<R>::digits > 53 ? {depth_wide} : {depth}) + static_cast<R>(n) / 64;
# from dp/rays/window.hpp: R const x = std::clamp<R>(window_.power * (zeta - window_.log_cut), -{cut}, {cut});
# from dp/rays/window.hpp: gone{minor, factor, {plain} + {far} * modulus(w)};
# from dp/rays/window.hpp: static constexpr double most = {most};
# from dp/rays/transform.hpp: wrong += t.count * (2 * h_wrong / size + ({power} * u + added) * modulus(l));
# from dp/rays/transform.hpp: rest_wrong += t.count * (2 * x_wrong / left_size + ({power} * u + added) * modulus(l));
# from dp/rays/transform.hpp: return {log_psi + log(size > 1e-300 ? f : complex<R>{size, 0}), relative + f_wrong + relative * f_wrong};
# from dp/rays/transform.hpp: (modulus(f) + 1) * elementary::expm1(std::min(rest_wrong, R(30))) / size + {of_rest} * u;
# from dp/rays/transform.hpp: (t.direct ? t.rough_all : 0) + {of_change} * modulus(s.change)) + t.at_c_wrong + e.alias + t.left_out;
# from dp/rays/transform.hpp: 2 * (u * t.rough_large + e.alias_large + t.left_out_large + modulus(x) * h_wrong) / size + {of_quotient} * u * modulus(x);
# from dp/rays/transform.hpp: out.change = t.at_c + (over(t.wr, t.wi, e.dr, e.di) + low - t.suffix[k1]);
# from dp/rays/transform.hpp: complex<R> log_psi = (0.5 * variance) * (p * (p - 1)); R wrong = ({of_poles} * u + added) * modulus(log_psi);
# from dp/rays/table.hpp: change = n.bare * (expm1(cg) * lesser - large); change_wrong = bare * (2 * tilt_size * modulus(lesser) * (rel_capped + {of_tilt}) + modulus(large) * (rel + cap.large.wrong));
# from dp/rays/table.hpp: sum_wrong += change_wrong + std::min(modulus(sum), modulus(change) / u);
# from dp/rays/table.hpp: R const parts = modulus(a) * (rel + more.wrong) + modulus(b) * (rel + less.wrong);
# from dp/rays/table.hpp: return log_size.re < -1e4 ? complex<R>{} : exp(log_size) * (part.factor * n.jacobian);
# from dp/rays/complex.hpp: R const c = -2 * sine * sine; return {e + c + e * c, (1 + e) * (2 * sine * cosine)};
# from dp/rays/complex.hpp: R const square = 2 * z.re + (z.re * z.re + z.im * z.im); return {square > -0.5 ? elementary::log1p(square) / 2 : elementary::log(modulus(complex<R>{1 + z.re, z.im})), elementary::atan2(z.im, 1 + z.re)};
# from dp/rays/complex.hpp: if (!(size < {short})) return expm1(z); complex<double> sum{1.0, 0.0}; for (double const k : {6.0, 5.0, 4.0, 3.0, 2.0}) sum = 1.0 + (1.0 / k) * (z * sum); return z * sum;
import sys
from fractions import Fraction
from math import isqrt
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from constants import Statements, constants_of  # noqa: E402

FUNCTION, SINH, SIN, COS = 8, 10, 4, 5
ROOT_FIVE = Fraction(isqrt(5 * 10**40) + 1, 10**20)
ROOT_TWO = Fraction(isqrt(2 * 10**40), 10**20)  # below
QUOTIENT = 7
ROOM = Fraction(1001, 1000)  # u^2 and more


def main():
    c, holds = constants_of(__file__), Statements()

    def counts(name, needed, counted):
        holds(f"5: {name}: {float(needed):.1f} of {float(counted):.0f}", needed * ROOM <= counted)

    g = FUNCTION + COS + 1
    counts("g, by exp, the turn and a product", g, 17)
    exponential = FUNCTION + COS + 1
    counts("exp of a complex number", exponential, 17)

    # e^z - 1 = e + c + ec and (1 + e) 2 sin cos, c = -2 sin^2, over |e|, |c| max(1, e^x), |sin y| max(1, e^x).
    half = max(SIN, COS)
    counts("e in its real part: itself, two sums", FUNCTION + 1 + 1, 10 * ROOM)
    of_c = 2 * half + 1
    counts("c in its real part: itself, ec, two sums", of_c + (FUNCTION + of_c + 1) + 1 + 1, 49)
    sine = 2 * half + 1
    counts("sin y = 2 sin cos", sine, 18)
    # 1 + e errs by 8|e| and 1 of itself, and |e| <= max(1, e^x): where e > 0 both are parts of e^x.
    counts("(1 + e) sin y at Re z <= 0, where |e| + (1 + e) is 1", max(FUNCTION, 1 + sine + 1), 18)
    # Moves are in double: expm1 by 2.76, sines by 1.8.
    counts("(1 + e) sin y anywhere, in double", Fraction(276, 100) + 1 + 2 * Fraction(18, 10) + 1 + 1, 18)

    # y' = g/(1 - e^-g): g moves it by |1 - g/(e^g - 1)| of itself, at most |g|/(2 cos .6) (Lemma 3), or 1 + x/((e^x - 1) cos .6),
    # x = Re g: the first up to |g| = 2, the second beyond, where x > 1.65 and e^x > 5.2. 1 - e^-g errs by 17 besides.
    secant = Fraction(122, 100)
    holds("5: 1/cos .6 < 1.22", (1 - Fraction(18, 100) + Fraction(54, 10000) - Fraction(65, 10**6)) * secant > 1)
    moved = max(secant, 1 + Fraction(165, 420) * secant)
    counts("y'", 17 + QUOTIENT + g * moved, 54)
    counts("a weight: exp, y', their product, the norm's 4", exponential + 54 + ROOT_FIVE + 4, c["weight"])
    counts("y - m beside the bump: zeta - m, its rest, the sum", 2, c["place"] * ROOM)
    # x = (y - m)/s by 2 (1/s and a product, and the sum that makes it); x^2/2 by a product, and the exponent's sum.
    counts("x^2: twice x's own 2, halved, the product, the exponent", 2 + ROOT_FIVE / 2 + Fraction(1, 2) + 1, c["square"])
    counts("the norm: a logarithm, the exponent", FUNCTION + 1, c["norm"])
    counts("e^cg: g, a product, the exponent's sum, exp's argument", g + 1 + 1 + 1, c["tilt"])
    counts("products beside it, of the jacobian and a window's factor", ROOT_FIVE + 1 + ROOT_FIVE, c["tilt_fixed"])
    # log(1 - e^-g): 17 of 1 - e^-g and g's; log and atan2 of |log|, modulus by 2.
    counts("the bump, of |g|: g, sums", g + 2, c["bump"])
    counts("the bump beyond 1/8: 1 - e^-g, g, modulus", 17 + g + 2 + 2, c["bump_fixed"])
    counts("its logarithm: log or atan2, sums", FUNCTION + 2, c["bump_log"])
    counts("zeta in it, beside two sums", 2, c["bump_zeta"] * ROOM)

    # 1 - e^z, |z| < 1, by the sizes of its parts: bounds.sollya has 10e + (11 + 18e)|c| and (8e + 13(1 - e))|sin y|, e = 1 - e^x.
    counts("c in its real part: -2 sin^2 and two sums; and with e, a product", 2 * SIN + 1 + 2, 11 * ROOM)
    counts("e c: both and the product", FUNCTION + 2 * SIN + 1 + 1, 18 * ROOM)
    counts("(1 + e) 2 sin cos: the sum, three products", 1 + SIN + COS + 1 + 1, 13)
    # E - 1 beside the weights where |cg| < 1, |e^cg - 1| < 1.72|cg|: |e| <= 1.72|x|, |c| <= |y|/2, |1 + e| <= 2.72.
    moved_re, moved_im = 10 * Fraction(172, 100), (11 + 20 * Fraction(172, 100)) / 2
    tilted = moved_re + ((moved_im)**2 + (8 * Fraction(172, 100) + 13 * Fraction(272, 100))**2) / 50
    holds("5: (a^2 + b^2)/50 >= the root", (moved_im)**2 + (8 * Fraction(172, 100) + 13 * Fraction(272, 100))**2 >= 50**2)
    beside = exponential + 54 + ROOT_FIVE + 4  # a weight's own
    counts("W - bare near c: E - 1, products with it and a window, the difference", Fraction(172, 100) * (beside + 2 * ROOT_FIVE + 1) + tilted, 2 * (c["weight"] + c["of_tilt"]))
    counts("elsewhere: a weight, the difference", beside + 1, c["weight"])
    # Differences of windows: the difference, and log_size's sum, |w| of a window; 97|w| are of its own (below).
    counts("a difference of windows: a weight, two products, the difference", beside + ROOT_FIVE + 1, c["weight"])
    # Sums at p: the table's, the rays', the series and the suffix, of as much as their terms' own errors; and the last.
    counts("H - 1: the last sum; 1 + that", 2, c["of_change"])
    counts("three sums before it, of what the terms have left", 3 + beside, c["weight"])
    counts("a quotient, of large over H", QUOTIENT + 1, c["of_quotient"] * ROOM)
    counts("p(p - 1), three products", 1 + ROOT_FIVE + 1 + 1, c["of_poles"])
    # e^z - 1 anywhere, m its modulus: (10|e| + (11 + 18|e|)|c|)^2 is convex in |c| over m^2 = e^2 + 2(1 + e)|c|, and at |c| = 2 at most
    # (46|e| + 22)/(2 + e) of m, 68 at e = -1 and 46 for e > 0; |e| and (1 + e)|sin y| are at most m. The logarithm's modulus.
    holds("5: e^z - 1 anywhere", 46 + 22 <= 68 * (2 - 1) and 68**2 + (8 + 13)**2 <= Fraction(712, 10)**2)
    counts("the logarithm of 1 - e^rest", Fraction(712, 10) + 2 + 1, c["of_rest"])
    # log(1 + z), r = |z|: |log(1 + z)| >= log(1 + r). 2x + |z|^2 errs by 2r^2 and itself, half of that over |1 + z|^2 >= 1/2 and (r - 1)^2:
    # at most (3r^2 + 2r) up to 1 + 1/sqrt 2, where it is 12.2 of log(1 + r), more than before, and falls beyond.
    edge = 1 + 1 / ROOT_TWO
    holds("5: log(1 + z): its square", 3 * edge**2 + 2 * edge <= Fraction(123, 10) * Fraction(99, 100))
    counts("log(1 + z): log1p, atan2 and its sum, the square, the product", max(FUNCTION, FUNCTION + 1) + Fraction(123, 10) + 1, c["power"])
    # Below -1/2: 1 + x, a modulus and log, over log 2/2.
    counts("log(1 + z) near -1", FUNCTION + (1 + 2) / Fraction(346, 1000) + 1, c["power"])
    # Moves below 1e-3: five terms, z times the sum.
    counts("e^z - 1 by its series", ROOT_FIVE + 1 + (ROOT_FIVE + 1 + 1 + 1 + ROOT_FIVE) * c["short"], 4)
    holds("5: and what it leaves out", c["short"]**6 / 5040 * 2 < Fraction(1, 2**53) / 100)

    # Windows: zeta - log a and a product round the argument x by 2u, which moves sinh by 2x coth x and cosh by 2x tanh x of
    # itself. The angle a <= 5/4 rounds once: its cosine by a tan a, its sine by less than 1. So the real part is off by A cos a +
    # 5/4 sin a and the imaginary one by B sin a of |w|, where |w| is nearly 2 cosh x, and their squares sum to at most L^2 if
    # (L^2 - A^2)(L^2 - (5/4)^2 - B^2) >= (5A/4)^2.
    def window(x, x_coth, limit):
        real = 2 * x_coth + SINH + COS + 1
        imaginary = 2 * x + FUNCTION + SIN + 1 + 1
        first, second = limit**2 - (real * ROOM)**2, limit**2 - Fraction(25, 16) - (imaginary * ROOM)**2
        return first > 0 and second > 0 and first * second >= (Fraction(5, 4) * real * ROOM)**2
    holds("5: w within 100, where 2 sinh x <= 100 and x < 4.7, x coth x <= 1 + x", window(Fraction(47, 10), Fraction(57, 10), 30))
    holds("5: w up to the cut, coth x < 1.0002 beyond 4.7", window(c["cut"], c["cut"] * Fraction(10002, 10000), c["far"]))
    counts("a window besides: exp, 1 + e^w over its least size, the quotient", exponential + (exponential + 1) * c["most"] + QUOTIENT - 2, c["plain"])

    # log1p: the argument's square 2x + x^2 + y^2 and its logarithm, or atan2; and a product with the count, a sum.
    counts("a power: its logarithm, a product, a sum", 2 * FUNCTION + 2 + 2, c["power"])
    counts("depth of sums in lanes", 8 + 3 + 1 + 1, c["depth"])
    counts("depth of sums one by one", 64 + 1 + 1, c["depth_wide"])
    return holds.status


if __name__ == "__main__":
    sys.exit(main())
