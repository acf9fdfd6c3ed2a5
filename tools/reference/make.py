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

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"
AGREEMENT = 41  # digits
DIGITS = 40     # printed


@dataclass(frozen=True)
class Table:
    name: str
    inputs: tuple
    outputs: tuple
    about: tuple    # lines of comment
    rows: list
    function: str = ""  # in both modules; the table's name unless given

    def methods(self):
        name = self.function or self.name
        return getattr(by_mpmath, name), getattr(by_arb, name)


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
           "exactly beta; flip = (1 - correlation)/2"), inverse_rows()),
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
]


def agreed(x, ball):
    """Whether the number and every point of the ball agree."""
    if mp.isnan(x) or ball.is_nan():
        return mp.isnan(x) and ball.is_nan()
    x = arb(mp.nstr(x, 70))
    return bool(abs(ball - x) <= abs(x) * arb(10) ** -AGREEMENT)


def printed(x):
    if mp.isnan(x) or x == 0:
        return "nan" if mp.isnan(x) else "0"
    return mp.nstr(x, DIGITS, min_fixed=0, max_fixed=0, strip_zeros=False)


def make(table):
    first, second = table.methods()
    lines, refused = [], 0
    for row in dict.fromkeys(table.rows):
        values = first(*row)
        if table.name == "inverse":  # the second method encloses what the first one found
            balls = second(*row, tuple(arb(mp.nstr(v, 70)) for v in values))
        else:
            balls = second(*row)
        complete = len(values) == len(balls) == len(table.outputs)
        if complete and all(map(agreed, values, balls)):
            lines.append(",".join([*map(repr, row), *map(printed, values)]))
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
