#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the reference tables of tests/data: a row is kept if two methods agree.

usage: make.py [TABLE ...]     all of them by default

Prints how many rows each table kept and refused; exits 1 if any was refused.
"""
import math
import random
import sys
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from flint import arb, ctx
from mpmath import mp, mpf

import by_arb
import by_mpmath
import dp_by_arb
import dp_by_mpmath

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
AGREEMENT = 41  # digits
DIGITS = 40     # printed


@dataclass(frozen=True)
class Table:
    name: str
    inputs: tuple
    outputs: tuple
    about: tuple    # lines of comment
    rows: object    # a list, or what makes it
    function: str = ""  # in both modules; the table's name unless given
    inverse: bool = False  # the second method encloses what the first one found

    def methods(self):
        name = self.function or self.name
        first, second = (dp_by_mpmath, dp_by_arb) if name.startswith("dp_") else (by_mpmath, by_arb)
        return getattr(first, name), getattr(second, name)


def log_uniform(generator, low, high):
    """Six digits are enough, and do not depend on how a platform rounds its powers."""
    return float(f"{10 ** generator.uniform(math.log10(low), math.log10(high)):.6g}")


def binary_channel_rows():
    priors = [1e-300, 1e-200, 1e-100, 1e-20, 1e-10, 1e-6, 1e-3, .03, .1, .3, .45, .5]
    sigmas = [1e-3, .01, .03, .05, .08, .1, .15, .2, .3, .364, .5, .7, .979, 1, 1.5, 2, 3.3, 5, 10,
              20, 100, 1e3, 1e5, 1e8, 1e20, 1e70, 1e140, 1e150]
    rows = [(q, float(s)) for q, s in product(priors, sigmas)]
    g = random.Random(1)
    rows += [(log_uniform(g, 1e-3, .5), log_uniform(g, .03, 100)) for _ in range(100)]
    rows += [(log_uniform(g, 1e-300, .5), log_uniform(g, .02, 1e3)) for _ in range(60)]
    rows += [(log_uniform(g, 1e-300, .5), log_uniform(g, 1e-3, 1e150)) for _ in range(40)]
    return rows


def sign_channel_rows():
    priors = [1e-300, 1e-200, 1e-100, 1e-20, 1e-10, 1e-6, 1e-3, .03, .1, .3, .45, .5]
    correlations = [1e-160, 1e-100, 1e-20, 1e-8, 1e-3, .1, .3, .5, .9, .99, .999999, 1 - 2**-53, 1.]
    rows = list(product(priors, correlations))
    g = random.Random(2)
    rows += [(log_uniform(g, 1e-3, .5), log_uniform(g, 1e-3, 1)) for _ in range(80)]
    rows += [(log_uniform(g, 1e-300, .5), log_uniform(g, 1e-160, 1)) for _ in range(80)]
    rows += [(log_uniform(g, 1e-20, .5), 1 - log_uniform(g, 1e-15, .5)) for _ in range(40)]
    return rows


def entropy_rows():
    rows = [5e-324, 1e-320, 2.2250738585072014e-308, 1e-300, 1e-200, 1e-100, 1e-50, 1e-20, 1e-16,
            1e-10, 1e-8, 1e-6, 1e-3, .03, .1, .25, .3, .4, .45, .499, .5 - 2**-30, .5 - 2**-54, .5,
            .5 + 2**-53, .6, .9, 1 - 1e-9, 1 - 2**-53]
    g = random.Random(3)
    rows += [log_uniform(g, 1e-300, .5) for _ in range(80)]
    rows += [round(g.uniform(0, 1), 6) for _ in range(92)]
    return [(p,) for p in rows]


def bernoulli_kl_rows():
    rows = list(product([0., 1e-300, 1e-20, 1e-3, .3, .5, .9, 1.],
                        [1e-300, 1e-20, 1e-3, .3, .5, .9]))
    for q in [1e-300, 1e-20, 1e-6, .03, .3, .5, .9]:
        rows += [(q * (1 + d), q) for d in (1e-15, 1e-12, -1e-12, 1e-9, -1e-6, 1e-3, .05)]
    rows += [(5e-324, 1e-300), (.5, 5e-324), (1 - 2**-53, .5), (1 - 2**-53, 1 - 2**-52)]
    g = random.Random(4)
    rows += [(log_uniform(g, 1e-300, .5), log_uniform(g, 1e-300, .5)) for _ in range(40)]
    rows += [(round(g.uniform(0, 1), 6), round(g.uniform(.001, .999), 6)) for _ in range(40)]
    for _ in range(24):
        q = round(g.uniform(.001, .8), 6)
        rows.append((q * (1 + log_uniform(g, 1e-14, .2)), q))
    return rows


def attack_rows():
    priors = [1e-3, 1 / 128, .01, .1, .5, .6, .75, .9, .99, .999]
    budgets = [1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1 / 128, .03, .05, .1, .25, .33, .5, .68, .693, 1, 2,
               3, 5]
    rows = [(float(b), p) for p, b in product(priors, budgets)]
    g = random.Random(5)
    for _ in range(40):
        rows.append((log_uniform(g, 1e-12, 1), round(g.uniform(.5, .999), 6)))
    return rows


def inverse_rows():
    rows = []
    def add(prior, beta):
        if 0 < beta and by_arb.entropy(prior)[0] > beta:
            rows.append((prior, beta))
    fractions = [1e-12, 1e-6, 1e-3, .01, .1, .3, .5, .7, .9, .99, .999, 1 - 1e-9]
    for prior in [.5, .3, .1, .01, 1e-6, 1e-20, 1e-200]:
        for fraction in fractions:
            add(prior, fraction * float(by_arb.entropy(prior)[0]))
        for beta in [1e-290, 1e-200, 1e-100, 1e-20, 1e-12, 1e-7, 3.3e-4]:
            add(prior, beta)
    g = random.Random(6)
    for _ in range(60):
        prior = log_uniform(g, 1e-12, .5)
        add(prior, log_uniform(g, 1e-6, 1) * float(by_arb.entropy(prior)[0]))
    return rows


def gaussian_dp_rows():
    mus = [1e-3, .01, .1, .3, .5, 1., 2., 3., 5., 10., 30.]
    return list(product(mus, [.5, .3, .1, .01, 1e-6, .9]))


def approx_dp_rows():
    epsilons = [0., 1e-12, 1e-8, 1e-3, .1, .5, 1., 2., 4., 8., 20., 50., 300., 700.]
    deltas = [0., 1e-300, 1e-10, 1e-5, 1e-3, .1, .5, 1.]
    return [row for row in product(epsilons, deltas) if row != (0., 0.)]


DIRECTIONS = ("remove", "add")


def dp_renyi_rows():
    rates = [1e-12, 1e-8, 1e-6, 1e-4, .001, .01, .1, .3, .5, .9, .999, 1.]
    sigmas = [.05, .1, .3, .6, 1., 2., 10., 1e3, 1e6]
    orders = [1.000001, 1.1, 1.5, 2., 2.5, 4.7, 8., 32., 63.5, 256., 1e4, 1e6]
    rows = list(product([1e-12, .01, .999], [.05, 1., 1e6], [1.000001, 2.5, 1e6], DIRECTIONS))
    g = random.Random(7)
    rows += g.sample(list(product(rates, sigmas, orders, DIRECTIONS)), 170)
    for _ in range(24):
        row = (log_uniform(g, 1e-6, 1), log_uniform(g, .3, 30), 1 + log_uniform(g, 1e-3, 300))
        rows += [(*row, direction) for direction in DIRECTIONS]
    def quick(rate, sigma, order, direction):  # a narrow strip, hence very many nodes
        return direction == "remove" or rate == 1 or order < (4000 * sigma) ** 2
    return [(.01, .05, 1e6, "add")] + [row for row in rows if quick(*row)]


def _epsilon_at(profile, target, reach):
    """Six digits of the ε at which a falling profile is about `target`, in [0, reach]."""
    low, high = 0., reach
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if profile(middle) > target else (low, middle)
    return float(f"{low:.6g}")


def dp_profile_rows():
    rows = []
    for rate, sigma in product([1e-12, 1e-6, .01, .5, 1.], [.05, .3, 1., 10., 1e6]):
        for direction in DIRECTIONS:
            def profile(epsilon):
                return dp_by_mpmath.dp_profile(rate, sigma, direction, epsilon)[0]
            epsilons = [-3., -rate / 2, 0.]
            top = profile(0.)
            reach = 1.
            if direction == "add" and rate < 1:
                reach = -math.log1p(-rate)
            else:
                while profile(reach) > mpf("1e-300"):
                    reach *= 2
            epsilons += [_epsilon_at(profile, top / 3, reach)]
            for target in ("1e-10", "1e-100", "1e-300"):
                if top > mpf(target):
                    epsilons.append(_epsilon_at(profile, mpf(target), reach))
            rows += [(rate, sigma, direction, e) for e in epsilons
                     if profile(e) > mpf("1e-305") or e == 0]
    rows += [(.5, 1., "add", 1.), (.3, 1., "remove", -.3), (.3, 1., "add", .3)]
    return rows


def dp_gaussian_rows():
    mus = [1e-12, 1e-8, 1e-4, .01, .1, .5, 1., 2., 5., 10., 36., 100., 1e3, 1e4]
    rows = list(product(mus, [0., 1e-10, 1e-3, 1., 10., 1e3, 1e6]))
    for mu in mus:
        def profile(epsilon):
            return dp_by_mpmath.dp_gaussian(mu, epsilon)[0]
        for target in ("1e-5", "1e-20", "1e-100", "1e-300"):
            rows.append((mu, _epsilon_at(profile, mpf(target), mu * (mu + 40))))
    g = random.Random(8)
    rows += [(mu, mu * (mu / 2 + round(g.uniform(-2, 30), 4)))
             for mu in [log_uniform(g, 1e-6, 100) for _ in range(80)]]
    return [row for row in rows
            if row[1] >= 0 and dp_by_mpmath.dp_gaussian(*row)[0] > mpf("1e-305")]


def dp_gaussian_epsilon_rows():
    mus = [1e-12, 1e-6, 1e-3, .1, .5, 1., 2., 5., 10., 100., 1e4]
    deltas = [1e-300, 1e-100, 1e-40, 1e-16, 1e-10, 1e-5, .001, .1, .5, .9]
    g = random.Random(9)
    rows = [(log_uniform(g, 1e-4, 100), log_uniform(g, 1e-300, .1)) for _ in range(60)]
    return list(product(mus, deltas)) + rows


def dp_sampled_rows():
    def both(*rows):
        return [(*row[:3], direction, row[3]) for row in rows for direction in DIRECTIONS]
    a, b, c = (.01, 1., 10**4), (1e-3, .6, 10**5), (.5, 10., 1000)
    rows = both(*[(*a, delta) for delta in (.1, 1e-5, 1e-10, 1e-20, 1e-50, 1e-100)],
                *[(*b, delta) for delta in (1e-5, 1e-20, 1e-100)],
                *[(*c, delta) for delta in (.1, 1e-5, 1e-50)])
    hard = (1e-4, 1., 10**6)
    rows += [(*hard, "remove", delta) for delta in (1e-5, 1e-6, 1e-20, 1e-100)]
    rows += [(*hard, "add", delta) for delta in (1e-6, 1e-20, 1e-100)]
    # One step and two.
    rows += both((.01, 1., 1, 1e-5), (.5, .3, 1, 1e-5), (.9, 2., 1, 1e-20), (.999, .5, 1, 1e-20))
    rows += both((.5, 1., 2, 1e-5), (.5, 10., 2, 1e-5), (.9, 5., 2, 1e-10), (1., 3., 2, 1e-10),
                 (.1, 20., 2, 1e-10))
    rows += [(.9, 1., 2, "remove", 1e-10), (.1, 2., 2, "remove", 1e-5)]
    # Few.
    rows += both((.5, 10., 3, 1e-10), (.9, 5., 3, 1e-5), (.9, 1., 10, 1e-5), (.5, 3., 10, 1e-10),
                 (.1, 1., 100, 1e-5), (.9, .6, 100, 1e-5), (.01, .6, 1000, 1e-5))
    rows += [(.9, 1., 10, "remove", 1e-50), (.5, .3, 100, "remove", 1e-50),
             (.01, 1., 100, "remove", 1e-5), (.01, 1., 100, "add", 1e-5), (.5, 1., 10, "remove", 1e-50)]
    # Many.
    rows += both((.9, 1., 1000, 1e-5), (1., 50., 10**4, 1e-16), (.01, 100., 10**8, 1e-5),
                 (.9, 100., 10**8, 1e-30), (1e-6, 1., 10**12, 1e-5), (1e-6, 1., 10**12, 1e-100),
                 (.5, 100., 10**12, 1e-5), (1e-5, 10., 10**12, 1e-20), (1e-6, .6, 10**12, 1e-10))
    g = random.Random(10)
    while len(rows) < 130:
        steps = 10 ** g.randrange(3, 13)
        rate = log_uniform(g, max(1e-6, 100 / steps), 1)
        sigma = log_uniform(g, .7, 100)
        delta = float(f"{10 ** g.uniform(-40, -1):.3g}")
        spread = rate / sigma * steps ** .5
        if .03 < spread < 30:
            rows.append((rate, sigma, steps, g.choice(DIRECTIONS), delta))
    return rows


def dp_heterogeneous_rows():
    def written(*events):
        return ";".join(f"{rate}:{sigma}:{steps}" for rate, sigma, steps in events)
    return [
        (written((.01, 1., 5000), (.01, 1.2, 5000)), 1e-5),
        (written((.01, 1., 5000), (.01, 1., 5000)), 1e-5),
        (written((.01, 1., 1000), (.02, 2., 1000), (.05, 4., 1000)), 1e-5),
        (written((.01, 1., 1000), (.02, 2., 1000), (.05, 4., 1000)), 1e-50),
        (written((1., 10., 3), (.001, .6, 10000)), 1e-6),
        (written((.5, 3., 10), (.1, 1., 50), (.01, .8, 1000)), 1e-10),
        (written((1., 5., 1), (.3, 4., 20)), 1e-20),
        (written((1e-6, 1., 10**11), (1e-4, 2., 10**7), (.001, 30., 10**8)), 1e-8),
        (written(*[(.01, round(.8 + .02 * k, 2), 500) for k in range(20)]), 1e-5),
        (written(*[(round(.002 * (k + 1), 3), 1.1, 1000) for k in range(12)]), 1e-7),
        (written((.9, 2., 5), (.2, 1., 40), (.02, 5., 10**5)), 1e-100),
        (written((.004, .9, 15000), (.008, 1.3, 7500), (.016, 2.1, 3750)), .1),
    ]


def dp_pure_rows():
    rows = []
    def add(mechanism, parameter, delta0, count, targets, reach):
        def profile(epsilon):
            return dp_by_mpmath.dp_pure(mechanism, parameter, delta0, count, epsilon)[0]
        epsilons = [0.] + [_epsilon_at(profile, mpf(t), reach) for t in targets]
        rows.extend((mechanism, parameter, delta0, count, e) for e in dict.fromkeys(epsilons)
                    if e == 0 or profile(e) > mpf("1e-305"))
    for e0, delta0, count in [(.5, 0., 1), (.5, 0., 2), (1e-6, 0., 3), (.1, 0., 10), (.5, 0., 100),
                              (1., 0., 100), (.5, 0., 1000), (.5, 0., 1100), (1., 0., 1000),
                              (.01, 0., 10**4), (.1, 1e-8, 100), (.5, 1e-12, 1000), (3., 1e-3, 7),
                              (20., 0., 30), (1e-3, 1e-10, 5000)]:
        targets = [".1", "1e-5", "1e-12"] if delta0 else [".1", "1e-5", "1e-20", "1e-100"]
        add("pure", e0, delta0, count, targets, e0 * count)
    rows += [("pure", .01, 0., 10**5, e) for e in (0., 5., 25., 60.)]
    rows += [("pure", .5, 0., 10**5, e) for e in (12000., 13000.)]
    for mechanism in ("laplace", "exponential"):
        for e0, count in product([.01, .5, 2., 10.], [1, 2, 3, 4, 5]):
            top = e0 * count
            rows += [(mechanism, e0, 0., count, float(f"{top * f:.6g}")) for f in (0, .3, .75, .97)]
        rows += [(mechanism, .5, 0., 20, e) for e in (0., 1., 4.3, 9.5)]
    rows += [("laplace", 2., 0., 60, e) for e in (0., 50., 80.)]
    rows += [("laplace", 3., 0., 60, e) for e in (130., 165.)]
    for sigma, count in product([.3, 1., 2.5], [1, 10]):
        rows += [("discrete_gaussian", sigma, 0., count, e)
                 for e in (0., .1, .7, round(count / (2 * sigma**2) + 5 * count**.5 / sigma, 3),
                           round(count / (2 * sigma**2) + 12 * count**.5 / sigma, 3))]
    return rows


def dp_user_rows():
    g = random.Random(12)
    rows = [row for row in product([1e-6, .01, .3, .9], [.6, 1., 5., 100.], [2, 3, 10, 40],
                                   DIRECTIONS, [1.1, 2., 3., 8.5, 32.])
            if row[2] * row[4] < 60 * row[1] and row[2] < 13 * row[1]]
    return g.sample(rows, 90)


def dp_user_profile_rows():
    rows = []
    for rate, sigma, records in product([1e-6, .01, .3], [.6, 2., 20.], [2, 10, 40]):
        for direction in DIRECTIONS:
            def profile(epsilon):
                return dp_by_mpmath.dp_user_profile(rate, sigma, records, direction, epsilon)[0]
            reach = records / sigma * (records / sigma + 40)
            if direction == "add":
                reach = -records * math.log1p(-rate)
            epsilons = [0., -rate / 4]
            epsilons += [_epsilon_at(profile, mpf(t), reach) for t in ("1e-8", "1e-60")
                         if profile(0.) > mpf(t)]
            rows += [(rate, sigma, records, direction, e) for e in epsilons]
    return rows


SHIFTS = [(1., 2.), (2., 1.), (2., 2.)]


def dp_replace_rows():
    rows = []
    for rate, sigma, shifts in product([1e-9, .01, .5, 1.], [.5, 1., 5., 1e3], SHIFTS):
        def profile(epsilon):
            return dp_by_mpmath.dp_replace(rate, sigma, *shifts, epsilon)[0]
        reach = 2 / sigma * (2 / sigma + 40)
        epsilons = [0.] + [_epsilon_at(profile, mpf(t), reach) for t in ("1e-5", "1e-50", "1e-300")
                           if profile(0.) > mpf(t)]
        rows += [(rate, sigma, *shifts, e) for e in epsilons]
    return rows


def dp_replace_renyi_rows():
    rows = [(rate, sigma, *shifts, order) for rate, sigma, shifts, order in
            product([1e-6, .01, .5, 1.], [1., 4., 50.], SHIFTS, [1.1, 2., 8.5, 32.])]
    return random.Random(13).sample(rows, 48)


COUPLED = [(noise, weight, p, q) for noise, (weight, p, q) in
           product(["normal", "laplace"],
                   [(1e-9, .02, -.02), (.01, 1., -1.), (.5, 4., -4.), (.999, 1., -1.),
                    (1e-9, .125, .0625), (.01, 1., .5), (.5, 8., 4.), (.999, 1., .5)])]


def dp_coupled_rows():
    rows = []
    for noise, weight, p, q in COUPLED:
        far = [.3, .8, 3.] if noise == "laplace" else [.5, 4., 15.]
        inner = [(p - q) * (t + (p - q) / 2 if noise == "normal" else t) for t in far]
        epsilons = [float(f"{math.log1p(weight * math.expm1(x)):.6g}") for x in inner]
        rows += [(noise, weight, p, q, e) for e in [0.] + epsilons
                 if dp_by_mpmath.dp_coupled(noise, weight, p, q, e)[0] > mpf("1e-290")]
    return rows


def dp_coupled_renyi_rows():
    pairs = [(.01, 1., -1.), (1e-9, .02, -.02), (.5, 4., -4.), (.01, 1., .5), (.5, 8., 4.)]
    return [(noise, *pair, order) for noise, pair, order in
            product(["normal", "laplace"], pairs, [1.1, 8.5])]


TABLES = [
    Table("entropy", ("p",), ("entropy",),
          ("binary entropy h(p) = -p log p - (1-p) log(1-p)",), entropy_rows()),
    Table("bernoulli_kl", ("p", "q"), ("divergence",),
          ("KL(p || q) = p log(p/q) + (1-p) log((1-p)/(1-q))",), bernoulli_kl_rows()),
    Table("sign_channel", ("prior", "correlation"), ("mutual_information",),
          ("I(S; Y), S = +1 with probability `prior`, else -1; Y = S, flipped with probability",
           "(1 - correlation)/2"), sign_channel_rows()),
    Table("binary_channel", ("prior", "sigma"), ("mutual_information", "equivocation", "mmse"),
          ("I(X; Y), H(X | Y) and E(X - E[X|Y])^2, X = +1 with probability `prior`, else -1;",
           "Y = X + N(0, sigma^2)"), binary_channel_rows()),
    Table("inverse", ("prior", "beta"), ("sigma", "correlation", "flip"),
          ("the sigma at which binary_channel, and the correlation at which sign_channel, carries",
           "exactly beta; flip = (1 - correlation)/2"), inverse_rows(), inverse=True),
    Table("attack", ("mi", "prior"), ("success", "failure", "success_exact", "failure_exact"),
          ("success s >= prior with KL(s || prior) = mi, 1 where mi >= log(1/prior);",
           "success_exact: 1 - h^-1(h(prior) - mi), 1 where mi >= h(prior), nan where prior < 1/2;",
           "failure = 1 - success"), attack_rows()),
    Table("gaussian_dp", ("mu", "prior"), ("mutual_information",),
          ("binary_channel's I(X; Y) at sigma = 2/mu (the exact quotient)",), gaussian_dp_rows()),
    Table("approx_dp", ("epsilon", "delta"), ("mutual_information",),
          ("delta log 2 + (1 - delta) (log 2 - h(1/(1 + e^epsilon)))",), approx_dp_rows()),
    Table("gauss_hermite", ("prior", "sigma"), ("gauss_hermite_60", "mutual_information"),
          ("sum_s p_s sum_k w_k/sqrt(pi) log(N(y; s)/(q N(y; 1) + (1-q) N(y; -1))), 60 nodes,",
           "y = s + sqrt(2) sigma x_k, N of variance sigma^2; beside it the integral itself"),
          list(product([1e-3, .03, .3, .5], [.15, .364, .7, 1., 3., 20.]))),
    Table("gauss_hermite_nodes", ("order", "k"), ("node", "weight"),
          ("Gauss-Hermite rules for the weight e^(-x^2), nodes ascending, k from 0",),
          [(n, k) for n in (5, 20, 60) for k in range(n)]),
    Table("dp_renyi", ("rate", "sigma", "order", "direction"), ("divergence",),
          ("Renyi divergence of P = (1-rate) N(0, sigma^2) + rate N(1, sigma^2) from",
           "Q = N(0, sigma^2) for `remove`, of Q from P for `add`"), dp_renyi_rows),
    Table("dp_profile", ("rate", "sigma", "direction", "epsilon"), ("delta",),
          ("hockey-stick divergence sup_E P(E) - e^epsilon Q(E) of the pairs of dp_renyi.csv",),
          dp_profile_rows),
    Table("dp_gaussian", ("mu", "epsilon"), ("delta",),
          ("delta(epsilon) of N(mu, 1) and N(0, 1)",), dp_gaussian_rows),
    Table("dp_gaussian_epsilon", ("mu", "delta"), ("epsilon",),
          ("the epsilon >= 0 at which delta(epsilon) of N(mu, 1) and N(0, 1) is delta, 0 if none",),
          dp_gaussian_epsilon_rows, inverse=True),
    Table("dp_sampled", ("rate", "sigma", "steps", "direction", "delta"), ("epsilon",),
          ("the epsilon >= 0 at which so many steps of the pair of dp_renyi.csv have this delta",
           "in one direction; 0 if none"), dp_sampled_rows, inverse=True),
    Table("dp_heterogeneous", ("schedule", "delta"), ("epsilon_remove", "epsilon_add"),
          ("the same for runs rate:sigma:steps;rate:sigma:steps;..., each direction by itself",),
          dp_heterogeneous_rows, inverse=True),
    Table("dp_pure", ("mechanism", "parameter", "delta0", "count", "epsilon"), ("delta",),
          ("delta(epsilon) of so many releases. pure: anything (parameter, delta0)-DP, the optimal",
           "composition of Kairouz, Oh & Viswanath. laplace: sensitivity/scale = parameter.",
           "exponential: bounded range = parameter. discrete_gaussian: sigma = parameter,",
           "sensitivity 1"), dp_pure_rows),
    Table("dp_user", ("rate", "sigma", "records", "direction", "order"), ("divergence",),
          ("dp_renyi.csv for P = sum_j C(records, j) rate^j (1-rate)^(records-j) N(j, sigma^2)",),
          dp_user_rows),
    Table("dp_user_profile", ("rate", "sigma", "records", "direction", "epsilon"), ("delta",),
          ("dp_profile.csv for the pairs of dp_user.csv",), dp_user_profile_rows),
    Table("dp_replace", ("rate", "sigma", "absent", "changed", "epsilon"), ("delta",),
          ("delta(epsilon') = rate ((1-theta) delta_a(epsilon) + theta delta_b(epsilon)) with",
           "e^epsilon' = 1 + rate (e^epsilon - 1), theta = e^(epsilon'-epsilon), delta_m of N(m, 1)",
           "and N(0, 1), a = absent/sigma, b = changed/sigma; the column epsilon is epsilon'.",
           "Poisson, replace one: 1, 2. Fixed size: 2, 1 (zero out), 2, 2 (replace one)"),
          dp_replace_rows),
    Table("dp_coupled", ("noise", "weight", "p", "q", "epsilon"), ("delta",),
          ("hockey-stick divergence of (1-weight) D(0) + weight D(p) and (1-weight) D(0) + weight D(q),",
           "D(m) normal noise of deviation 1 or Laplace noise of scale 1 about m"),
          dp_coupled_rows),
    Table("dp_coupled_renyi", ("noise", "weight", "p", "q", "order"), ("divergence",),
          ("Renyi divergence of the pairs of dp_coupled.csv; q > 0 stands for the symmetric pair that has",
           "their profile for epsilon >= 0"), dp_coupled_renyi_rows),
    Table("dp_replace_renyi", ("rate", "sigma", "absent", "changed", "order"), ("divergence",),
          ("Renyi divergence of the symmetric pair that has the profile of dp_replace.csv",),
          dp_replace_renyi_rows),
]


def agreed(x, ball):
    """Whether the number and every point of the ball agree."""
    if mp.isnan(x) or ball.is_nan():
        return mp.isnan(x) and ball.is_nan()
    x = arb(mp.nstr(x, 70))
    return bool(abs(ball - x) <= abs(x) * arb(10) ** -AGREEMENT)


def given(x):
    return x if isinstance(x, str) else repr(x)


def printed(x):
    if mp.isnan(x) or x == 0:
        return "nan" if mp.isnan(x) else "0"
    return mp.nstr(x, DIGITS, min_fixed=0, max_fixed=0, strip_zeros=False)


def make(table):
    first, second = table.methods()
    lines, refused = [], 0
    for row in dict.fromkeys(table.rows() if callable(table.rows) else table.rows):
        values = first(*row)
        if table.inverse:
            balls = second(*row, tuple(arb(mp.nstr(v, 70)) for v in values))
        else:
            balls = second(*row)
        complete = len(values) == len(balls) == len(table.outputs)
        if complete and all(map(agreed, values, balls)):
            lines.append(",".join([*map(given, row), *map(printed, values)]))
        else:
            refused += 1
            print(f"  {table.name}: refused {row}", file=sys.stderr)
    comment = [*table.about, "40 digits, information in nats; written by tools/reference/make.py."]
    header = ",".join(table.inputs + table.outputs)
    text = "\n".join([*(f"# {line}" for line in comment), header, *lines]) + "\n"
    (DATA / f"{table.name}.csv").write_text(text, encoding="ascii")
    return len(lines), refused


def main(names):
    unknown = set(names) - {table.name for table in TABLES}
    if unknown:
        sys.exit(f"make.py: no such table: {', '.join(sorted(unknown))}")
    any_refused = False
    for table in TABLES:
        if names and table.name not in names:
            continue
        start = time.monotonic()
        kept, refused = make(table)
        any_refused |= refused > 0
        print(f"{table.name}.csv: {kept} rows kept, {refused} refused, "
              f"{time.monotonic() - start:.0f} s", flush=True)
    return 1 if any_refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
