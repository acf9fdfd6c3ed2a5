# SPDX-License-Identifier: Apache-2.0
"""PACZero's published rule (arXiv 2605.06505), written anew in NumPy, and its CPU times.

usage: paczero.py OUTPUT.json

Information by 60-node Gauss-Hermite, its inverse by bisection of log sigma in [1e-4, 1e4] until the
information is within 1e-6 of the budget, absolutely; beside it SciPy's Brent on the same function, the
inverse that one would write today. The nodes, the membership matrix and the inputs are set up off the
clock. Each time is the median of 15 samples of CPU time, each of them at least 20 ms long.
"""
import itertools
import json
import math
import sys
from functools import partial

import numpy as np
import scipy
from scipy.optimize import brentq

from timing import medians

NODES, WEIGHTS = np.polynomial.hermite.hermgauss(60)
LOW, HIGH, TOLERANCE = math.log(1e-4), math.log(1e4), 1e-6


def information(q, sigma):
    total = 0.0
    for s, share in ((1.0, q), (-1.0, 1.0 - q)):
        y = s + math.sqrt(2.0) * sigma * NODES
        log_plus = -((y - 1.0) ** 2) / (2.0 * sigma**2)
        log_minus = -((y + 1.0) ** 2) / (2.0 * sigma**2)
        mixture = np.logaddexp(math.log(q) + log_plus, math.log1p(-q) + log_minus)
        total += share * (WEIGHTS @ ((log_plus if s > 0 else log_minus) - mixture))
    return total / math.sqrt(math.pi)


def sigma_by_bisection(q, budget):
    low, high = LOW, HIGH
    for _ in range(200):
        middle = 0.5 * (low + high)
        revealed = information(q, math.exp(middle))
        if abs(revealed - budget) < TOLERANCE:
            break
        if revealed > budget:
            low = middle
        else:
            high = middle
    return math.exp(middle)


def sigma_by_brent(q, budget):
    return math.exp(brentq(lambda x: information(q, math.exp(x)) - budget, LOW, HIGH,
                           xtol=1e-13, rtol=1e-13))


def entropy(q):
    return -q * math.log(q) - (1.0 - q) * math.log1p(-q)


def observe_value(posterior, signs, value, sigma):
    with np.errstate(divide="ignore"):  # a weight may have underflowed to 0
        log_weights = np.log(posterior) - (value - signs) ** 2 / (2.0 * sigma**2)
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


class Run:
    """1000 steps under a budget of 0.33 nats, the same as in bench/mechanism.cpp."""

    def __init__(self, records, subsets, steps=1000, budget=0.33, clip=1024.0):
        self.random = np.random.default_rng(1)
        order = np.argsort(self.random.random((subsets, records)), axis=0)
        self.member = (order < subsets // 2).astype(np.float64)
        self.counts = self.member.sum(axis=1)
        self.steps, self.budget, self.clip = steps, budget, clip
        self.start()

    def start(self):
        subsets = len(self.counts)
        self.posterior = np.full(subsets, 1.0 / subsets)
        self.secret = int(self.random.integers(subsets))
        self.spent, self.done = 0.0, 0

    def step(self, scalars):
        if self.done == self.steps:
            self.start()
        means = self.member @ np.clip(scalars, -self.clip, self.clip) / self.counts
        signs = np.where(means >= 0.0, 1.0, -1.0)
        q = float(self.posterior[signs > 0.0].sum())
        left = self.steps - self.done
        self.done += 1
        truth = signs[self.secret]
        if q < 1e-12 or q > 1.0 - 1e-12:
            return truth
        share = min(max(0.0, self.budget - self.spent) / left, 0.999 * entropy(q))
        sigma = sigma_by_bisection(q, share)
        self.spent += share
        value = truth + sigma * self.random.standard_normal()
        self.posterior = observe_value(self.posterior, signs, value, sigma)
        return 1.0 if value >= 0.0 else -1.0


def main():
    functions = {}
    for q, sigma in ((0.3, 20.0), (0.3, 1.0), (0.3, 0.5)):
        functions[f"information q={q:g} sigma={sigma:g}"] = partial(information, q, sigma)
    for q, budget in ((0.3, 1e-7), (0.3, 3.3e-4), (0.3, 0.01), (0.3, 0.25), (0.3, 0.55)):
        at = f"q={q:g} nats={budget:g}"
        functions[f"bisection {at}"] = partial(sigma_by_bisection, q, budget)
        functions[f"brent {at}"] = partial(sigma_by_brent, q, budget)

    random = np.random.default_rng(2)
    for subsets in (128, 1000, 10_000, 100_000, 1_000_000):
        uniform = np.full(subsets, 1.0 / subsets)
        signs = random.choice((-1.0, 1.0), subsets)
        functions[f"observe_value M={subsets}"] = partial(observe_value, uniform, signs, 0.7, 4.0)

    pool = itertools.cycle(random.standard_normal((32, 1000)))
    run = Run(records=1000, subsets=128)
    functions["step N=1000 M=128"] = lambda: run.step(next(pool))

    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"numpy": np.__version__, "scipy": scipy.__version__,
                   "python": sys.version.split()[0], "nanoseconds": medians(functions)},
                  out, indent=1)


if __name__ == "__main__":
    main()
