# SPDX-License-Identifier: Apache-2.0
"""Which accountant has a bound for which event: asks them all, and prints a Markdown table.

usage: cells.py CALCULATOR

Every cell is asked for the epsilon of ten releases at delta = 1e-5 (random allocation: of ten epochs; a banded matrix: of one
run). What a package says is an answer; what it raises, or an infinite epsilon, is a refusal; and where none of its classes and
arguments states the event, there is nothing to ask. What dp_accounting has no event for, its constructors of privacy losses may
state, by the name of the mechanism; that they take any two laws, of which the caller works out the pair, does not count. An
answer below the certified lower end of a run whose own loss that end bounds is too low.
Ends with status 1 where a peer has a bound and tacit none.
"""
import json
import logging
import math
import os
import re
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import dp_accounting
import numpy as np
import PLD_accounting as plds
import prv_accountant as prv
from dp_accounting import dp_event as dp
from dp_accounting.pld import common
from dp_accounting.pld import privacy_loss_distribution as loss
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from random_allocation.comparisons.structs import PrivacyParams, SchemeConfig
from random_allocation.other_schemes.local import local_epsilon
from random_allocation.other_schemes.poisson import Poisson_epsilon_PLD
from random_allocation.other_schemes.shuffle import shuffle_epsilon_analytic
from random_allocation.random_allocation_scheme.combined import allocation_epsilon_combined
from random_allocation.random_allocation_scheme.decomposition import allocation_epsilon_decomposition
from scipy import stats

import opacus_accountants as opacus

STEPS, DELTA = 10, 1e-5
NEIGHBOURS = ("add-remove", "zero-out", "replace-one")
RELATION = {"add-remove": "ADD_OR_REMOVE_ONE", "zero-out": "REPLACE_SPECIAL", "replace-one": "REPLACE_ONE"}
RATE, BATCH, RECORDS, BINS = 0.1, 10, 100, 10
SIGMA = 2.0
MU = 0.5
WEIGHTS = {0.0: 0.5, 1.0: 0.3, 2.0: 0.2}  # of a mixture, by sensitivity

# The release in a schedule, and dp_accounting's event, if it has one.
MECHANISMS = {
    "Gaussian": ({"mechanism": "gaussian", "noise_multiplier": SIGMA}, dp.GaussianDpEvent(SIGMA)),
    "Laplace": ({"mechanism": "laplace", "noise_multiplier": SIGMA}, dp.LaplaceDpEvent(SIGMA)),
    "discrete Gaussian": ({"mechanism": "discrete-gaussian", "sigma": SIGMA}, None),
    "discrete Laplace": ({"mechanism": "discrete-laplace", "scale": 4.0}, dp.DiscreteLaplaceDpEvent(0.25, 1)),
    "Skellam": ({"mechanism": "skellam", "variance": 16.0}, None),
    "binomial": ({"mechanism": "binomial", "variance": 16.0}, None),
    "mixture of Gaussians": ({"mechanism": "gaussian-mixture", "sigma": SIGMA, "points": [
        {"sensitivity": s, "weight": w} for s, w in WEIGHTS.items()]},
                             dp.MixtureOfGaussiansDpEvent(SIGMA, list(WEIGHTS), list(WEIGHTS.values()))),
    "randomised response": ({"mechanism": "randomised-response", "epsilon": math.log(3), "categories": 2},
                            dp.RandomizedResponseDpEvent(0.5, 2)),
    "exponential": ({"mechanism": "exponential", "epsilon": 0.5}, None),
    "ε-DP": ({"mechanism": "pure", "epsilon": 0.5}, None),
    "(ε, δ)-DP": ({"mechanism": "approximate", "epsilon": 0.5, "delta": 1e-8}, None),
    "a profile": ({"mechanism": "profile", "points": [{"epsilon": 0.0, "delta": 0.1}, {"epsilon": 0.5, "delta": 1e-8}]}, None),
    "μ-GDP": ({"mechanism": "gaussian-dp", "mu": MU}, dp.GaussianDpEvent(1 / MU)),
    "ρ-zCDP": ({"mechanism": "zcdp", "rho": 0.1}, dp.ZCDpEvent(0.1)),
    "Rényi divergences": ({"mechanism": "renyi", "points": [{"order": k, "divergence": 0.1 * k} for k in range(2, 40)]}, None),
    "(ξ, ρ)-zCDP": ({"mechanism": "renyi", "points": [{"order": k, "divergence": 0.05 + 0.1 * k} for k in range(2, 40)]},
                    dp.ZCDpEvent(0.1, 0.05)),
    "geometric": ({"mechanism": "geometric", "ratio": math.exp(-0.25)}, dp.DiscreteLaplaceDpEvent(0.25, 1)),
    "discrete Gaussian on vectors": ({"mechanism": "vector-discrete-gaussian", "sigma": SIGMA, "l2": 1.0}, None),
    "Skellam on vectors": ({"mechanism": "vector-skellam", "variance": 16.0, "l1": 2, "l2": 1.5}, None),
    "report noisy max": ({"mechanism": "report-noisy-max", "noise": "laplace", "scale": 8.0}, None),
    "permute and flip": ({"mechanism": "permute-and-flip", "scale": 8.0}, None),
    "sparse vector": ({"mechanism": "sparse-vector", "threshold_scale": 16.0, "query_scale": 32.0, "answers": 3}, None),
    "teachers' vote": ({"mechanism": "gnmax-answer", "sigma": 8.0}, None),
    "check of a vote": ({"mechanism": "gnmax-check", "sigma": 8.0}, None),
    "tree, matrix": ({"mechanism": "matrix-gaussian", "noise_multiplier": 8.0, "sensitivity": math.sqrt(3)},
                     dp.SingleEpochTreeAggregationDpEvent(8.0, 7)),
}


def composed(event):
    return dp.SelfComposedDpEvent(event, STEPS)


def thinned(event):
    """A mixture's Poisson sample is a mixture, too, in which the other share of the weights is on nothing."""
    if not isinstance(event, dp.MixtureOfGaussiansDpEvent):
        return composed(dp.PoissonSampledDpEvent(RATE, event))
    weights = [RATE * w for w in event.sampling_probs]
    weights[0] += 1 - RATE
    return composed(dp.MixtureOfGaussiansDpEvent(event.standard_deviation, event.sensitivities, weights))


def several(event):
    """Of a person's three records a binomial number is in a sample."""
    if not isinstance(event, dp.GaussianDpEvent):
        return None
    return composed(dp.MixtureOfGaussiansDpEvent(event.noise_multiplier, [0.0, 1.0, 2.0, 3.0],
                                                 list(map(float, stats.binom.pmf(range(4), 3, RATE)))))


# What a schedule has besides, options of the calculator, and what dp_accounting makes of its event, if it has a counterpart.
SAMPLINGS = {
    "none": ({}, [], composed),
    "Poisson": ({"rate": RATE}, [], thinned),
    "batches without replacement": ({"batch": BATCH, "records": RECORDS}, [],
                                    lambda e: composed(dp.SampledWithoutReplacementDpEvent(RECORDS, BATCH, e))),
    "batches with replacement": ({"batch": BATCH, "records": RECORDS, "with_replacement": True}, [],
                                 lambda e: composed(dp.SampledWithReplacementDpEvent(RECORDS, BATCH, e))),
    "Poisson, batches capped": ({"rate": RATE}, ["--cap", 30, "--cap-records", RECORDS],
                                lambda e: composed(dp.TruncatedSubsampledGaussianDpEvent(RECORDS, RATE, 30, e.noise_multiplier))
                                if isinstance(e, dp.GaussianDpEvent) else None),
    "Poisson, a person's 3 records": ({"rate": RATE, "records_per_person": 3}, [], several),
    "1 of 10 steps, a person's 3 records": ({"allocate": 1, "of": BINS, "records_per_person": 3}, [], None),
    "a sample drawn once": ({}, ["--drawn-once", RATE], lambda e: dp.PoissonSampledDpEvent(RATE, composed(e))),
    "1 of 10 steps, at random": ({"allocate": 1, "of": BINS}, [], None),
    "2 of 10 steps, at random": ({"allocate": 2, "of": BINS}, [], None),
    "shuffled batches": ({"shuffled": True}, [], None),
    "1000 shuffled batches, amplified": ({"shuffled": True, "batches": 1000}, [], None),
    "the best of a geometric number": ({}, ["--best-of", 10],
                                       lambda e: dp.RepeatAndSelectDpEvent(composed(e), 10.0, 1.0)),
}

# Samples of one run of a banded matrix mechanism, as options of the calculator. No package has an event for these.
BANDED = "banded matrix"
BANDED_SAMPLES = {
    "cyclic Poisson samples": ["--groups", 10, "--rate", RATE],
    "balls in bins": ["--bins", 10],
    "balls in nested bins": ["--bins", 10, "--nested"],
    "Poisson samples that keep a distance": ["--separation", 10, "--rate", RATE / 10],
    "any steps that keep a distance": ["--separation", 10],
}

NOTHING, REFUSED, BOUND, CERTIFIED, WRONG = "–", "refused", "bound", "certified", "too low"


def tacit(calculator, folder, mechanism, sampling, neighbours):
    """The cell, and what is certain of the run's own loss from below."""
    if mechanism == BANDED:
        words = ["matrix", "--strategy", "square-root", "--bands", 4, "--steps", 40, "--noise-multiplier", 8,
                 *BANDED_SAMPLES[sampling], "--adjacency", neighbours]
    else:
        release, _ = MECHANISMS[mechanism]
        how, options, _ = SAMPLINGS[sampling]
        file, path = tempfile.mkstemp(dir=folder)
        with open(file, "w", encoding="utf-8") as out:
            json.dump({"adjacency": neighbours, "releases": [{**release, **how, "steps": STEPS}]}, out)
        words = ["epsilon", "--schedule", path, *options]
    for accountant, cell in (("pld", CERTIFIED), ("rdp", BOUND), ("zcdp", BOUND), ("gdp", BOUND)):
        done = subprocess.run([calculator, *map(str, words), "--delta", str(DELTA), "--accountant", accountant],
                              capture_output=True, text=True, check=False)
        found = re.search(r"at most ([0-9.e+-]+)(?: \(and at least ([0-9.e+-]+)\))?", done.stdout)
        if done.returncode == 0 and found:
            return cell, float(found[2] or 0)
        assert done.returncode == 0 or any(word in done.stderr for word in ("but must be", "no ", "known")), done.stderr
    return REFUSED, 0.0


def constructed(mechanism, sampling, neighbours):
    """The privacy loss that one of dp_accounting's constructors makes of a release, if one of them states it. They take a
    sensitivity, which is twice as much where a record is replaced, and a rate of Poisson samples, of which a record is
    there or is not."""
    replaced = neighbours == "replace-one"
    if sampling == "Poisson" and replaced or sampling not in ("none", "Poisson"):
        return None
    how = {"sensitivity": 2 if replaced else 1, "sampling_prob": RATE if sampling == "Poisson" else 1.0}
    noise = {"Laplace": lambda: loss.from_laplace_mechanism(SIGMA, **how),
             "discrete Gaussian": lambda: loss.from_discrete_gaussian_mechanism(SIGMA, **how),
             "discrete Laplace": lambda: loss.from_discrete_laplace_mechanism(0.25, **how)}
    known = {"ε-DP": (0.5, 0.0), "(ε, δ)-DP": (0.5, 1e-8)}
    if mechanism in noise:
        return noise[mechanism]
    if mechanism in known and sampling == "none":
        return lambda: loss.from_privacy_parameters(common.DifferentialPrivacyParameters(*known[mechanism]))
    return None


def google(mechanism, sampling, neighbours):
    _, event = MECHANISMS[mechanism]
    state = SAMPLINGS[sampling][2]
    made = state(event) if state and event else None
    if mechanism == "μ-GDP" and (sampling != "none" and (sampling, neighbours) != ("Poisson", "add-remove")):
        made = None  # as a Gaussian's, the guarantee's sample is one of add-remove alone
    asked = []
    if made:
        # Under mu-GDP neighbours are as far apart as the Gaussian's whatever they are.
        relation = dp_accounting.NeighboringRelation[RELATION["add-remove" if mechanism == "μ-GDP" else neighbours]]
        asked = [lambda a=a: a(neighboring_relation=relation).compose(made).get_epsilon(DELTA)
                 for a in (PLDAccountant, RdpAccountant)]
    if one := constructed(mechanism, sampling, neighbours):
        asked.append(lambda: one().self_compose(STEPS).get_epsilon_for_delta(DELTA))
    return asked or None


def meta(mechanism, sampling, neighbours):
    """A history is of Gaussian noise and of Poisson rates; the neighbours are add-remove, but without samples half the noise does
    for those that are replaced."""
    if mechanism not in ("Gaussian", "μ-GDP") or sampling not in ("none", "Poisson"):
        return None
    if sampling == "Poisson" and neighbours != "add-remove":
        return None
    sigma = 1 / MU if mechanism == "μ-GDP" else SIGMA / 2 if neighbours == "replace-one" else SIGMA
    rate = RATE if sampling == "Poisson" else 1.0

    def ask(accountant):
        accountant.history = [(sigma, rate, STEPS)]
        return accountant.get_epsilon(delta=DELTA)
    return [lambda a=a: ask(a()) for a in (opacus.PRVAccountant, opacus.RDPAccountant)]


def microsoft(mechanism, sampling, neighbours):
    twice = 2.0 if neighbours == "replace-one" else 1.0
    if sampling == "Poisson" and mechanism in ("Gaussian", "μ-GDP") and neighbours == "add-remove":
        one = prv.PoissonSubsampledGaussianMechanism(sampling_probability=RATE,
                                                     noise_multiplier=SIGMA if mechanism == "Gaussian" else 1 / MU)
    elif sampling == "none" and mechanism in ("Gaussian", "Laplace", "ε-DP", "(ε, δ)-DP", "μ-GDP"):
        one = {"Gaussian": lambda: prv.GaussianMechanism(SIGMA, twice), "Laplace": lambda: prv.LaplaceMechanism(twice / SIGMA),
               "μ-GDP": lambda: prv.GaussianMechanism(1 / MU), "ε-DP": lambda: prv.PureDPMechanism(0.5),
               "(ε, δ)-DP": lambda: prv.ApproximateDPMechanism(0.5, 1e-8)}[mechanism]()
    else:
        return None
    return [lambda: prv.PRVAccountant(prvs=[one], max_self_compositions=[STEPS], eps_error=0.01,
                                      delta_error=DELTA / 1000).compute_epsilon(DELTA, [STEPS])[2]]


def allocation(mechanism, sampling, neighbours):
    """The package is about Gaussians under add-remove. Its shuffled batches, of one epoch, are of records that are swapped for an
    absent one."""
    if mechanism != "Gaussian" or neighbours != ("zero-out" if sampling == "shuffled batches" else "add-remove"):
        return None
    config = SchemeConfig(allocation_direct_alpha_orders=list(range(2, 61)))  # as in the package's examples

    def run(steps, selected=1, epochs=1):
        return PrivacyParams(sigma=SIGMA, num_steps=steps, num_selected=selected, num_epochs=epochs, delta=DELTA)
    return {
        "none": [lambda: local_epsilon(run(1, epochs=STEPS), config)],
        "Poisson": [lambda: Poisson_epsilon_PLD(run(STEPS), config, sampling_prob=RATE)],
        "1 of 10 steps, at random": [lambda: allocation_epsilon_combined(run(BINS, epochs=STEPS), config),
                                     lambda: allocation_epsilon_decomposition(run(BINS, epochs=STEPS), config)],
        "2 of 10 steps, at random": [lambda: allocation_epsilon_combined(run(BINS, 2, STEPS), config),
                                     lambda: allocation_epsilon_decomposition(run(BINS, 2, STEPS), config)],
        "shuffled batches": [lambda: shuffle_epsilon_analytic(run(BINS), config)],
    }.get(sampling)


def integer_law(mechanism):
    """Noise on the integers as PLD_accounting takes it: by its probabilities, but for tails of less than 1e-30."""
    k = np.arange(-32, 33) if mechanism == "binomial" else np.arange(-320, 321)
    weights = {"discrete Gaussian": lambda: np.exp(-k**2 / (2 * SIGMA**2)), "discrete Laplace": lambda: np.exp(-np.abs(k) / 4.0),
               "Skellam": lambda: stats.skellam.pmf(k, 8.0, 8.0), "binomial": lambda: stats.binom.pmf(k + 32, 64, 0.5)}[mechanism]()
    kept = weights > 1e-33
    weights = weights[kept] / weights[kept].sum()
    return plds.DenseDiscreteDist(grid=plds.GridSpec(step=1.0, n=len(weights), index_0=int(k[kept][0])), prob_arr=weights)


def losses(mechanism, sensitivity):
    """PLD_accounting's two directions of a release."""
    if mechanism in ("Gaussian", "μ-GDP"):
        one = plds.gaussian_distribution(scale=SIGMA / sensitivity if mechanism == "Gaussian" else 1 / MU)
        return one, one
    if mechanism == "Laplace":
        one = plds.laplace_distribution(scale=SIGMA / sensitivity)
        return one, one
    if mechanism in ("discrete Gaussian", "discrete Laplace", "Skellam", "binomial"):
        return plds.discrete_distribution(noise_dist=integer_law(mechanism), sensitivity=sensitivity,
                                          loss_discretization=plds.DEFAULT_LOSS_DISCRETIZATION,
                                          tail_truncation=plds.DEFAULT_TAIL_TRUNCATION)
    if mechanism == "mixture of Gaussians":
        made = loss.from_mixture_gaussian_mechanism(SIGMA, list(WEIGHTS), list(WEIGHTS.values()))
    else:
        made = constructed(mechanism, "none", "add-remove")()
    both = made._pmf_remove, made._pmf_remove if made._pmf_add is None else made._pmf_add
    return tuple(plds.dp_accounting_pmf_to_pld_realization(pmf=pmf) for pmf in both)


def direct(mechanism, sampling, neighbours):
    """PLD_accounting takes any privacy loss that it or dp_accounting can make, samples it and allocates it, a record being added
    or removed. Without samples it only composes: noise of its own of twice the sensitivity, too."""
    own = mechanism in ("Gaussian", "Laplace", "discrete Gaussian", "discrete Laplace", "Skellam", "binomial", "μ-GDP")
    if not own and mechanism not in ("mixture of Gaussians", "ε-DP", "(ε, δ)-DP"):
        return None
    if sampling == "none":
        if not own:
            return None  # dp_accounting's own
    elif neighbours != "add-remove":
        return None

    def pld():
        remove, add = losses(mechanism, 2 if neighbours == "replace-one" else 1)
        return plds.compose_full_pld(remove_dist=remove, add_dist=add, bound_type=plds.BoundType.DOMINATES)

    def allocated(selected):
        remove, add = losses(mechanism, 1)
        return plds.general_allocation_epsilon(delta=DELTA, num_steps=BINS, num_selected=selected, num_epochs=STEPS,
                                               remove_realization=remove, add_realization=add,
                                               config=plds.AllocationSchemeConfig())
    return {
        "none": [lambda: pld().self_compose(STEPS).get_epsilon_for_delta(DELTA)],
        "Poisson": [lambda: plds.subsample_pld(pld=pld(), sampling_probability=RATE).self_compose(STEPS)
                    .get_epsilon_for_delta(DELTA)],
        "1 of 10 steps, at random": [lambda: allocated(1)],
        "2 of 10 steps, at random": [lambda: allocated(2)],
    }.get(sampling)


def cell(calls, at_least):
    """The best that a package has for an event."""
    if calls is None:
        return NOTHING
    best = REFUSED
    for call in calls:
        try:
            epsilon = float(call())
        except Exception:  # whatever its kind: a refusal
            continue
        if not math.isfinite(epsilon):
            continue
        if epsilon < at_least * (1 - 1e-5):
            return WRONG
        best = BOUND
    return best


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    calculator = Path(sys.argv[1]).resolve()
    peers = ("dp-accounting", "opacus", "prv-accountant", "random-allocation", "PLD_accounting")
    table, counts, missing = {}, {}, []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [(m, s) for m in MECHANISMS for s in SAMPLINGS] + [(BANDED, s) for s in BANDED_SAMPLES]
        events = [(*row, n) for row in rows for n in NEIGHBOURS]
        ours = list(pool.map(lambda key: tacit(calculator, Path(folder), *key), events))
    for key, (mine, at_least) in zip(events, ours):
        mechanism, sampling, neighbours = key
        # The two-sided geometric law is the discrete Laplace law by another name.
        asked = ("discrete Laplace" if mechanism == "geometric" else mechanism, sampling, neighbours)
        found = dict.fromkeys(peers, NOTHING)
        if mechanism != BANDED:
            found = {"dp-accounting": cell(google(*asked), at_least),
                     "opacus": cell(meta(*asked), at_least),
                     "prv-accountant": cell(microsoft(*asked), at_least),
                     "random-allocation": cell(allocation(*asked), 0.0 if sampling == "shuffled batches" else at_least),
                     "PLD_accounting": cell(direct(*asked), at_least)}
        found["tacit"] = mine
        table[key] = found
        for package, what in found.items():
            counts.setdefault(package, {}).setdefault(what, 0)
            counts[package][what] += 1
            if what == BOUND and mine == REFUSED:
                missing.append((package, *key))
    print(", ".join(f"{name} {version(name)}" for name in peers) + f"; {len(table)} events.\n")
    columns = (*peers, "tacit")
    print(f"| cells | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for what in (CERTIFIED, BOUND, WRONG, REFUSED, NOTHING):
        print(f"| {what} | {' | '.join(str(counts[c].get(what, 0)) for c in columns)} |")
    print(f"\n| mechanism | records | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}")
    for mechanism, sampling in rows:
        of_each = [table[mechanism, sampling, n] for n in NEIGHBOURS]
        if not any(row[c] in (CERTIFIED, BOUND, WRONG) for row in of_each for c in columns):
            continue
        cells = [", ".join(row[c] for row in of_each) if len({row[c] for row in of_each}) > 1 else of_each[0][c] for c in columns]
        print(f"| {mechanism} | {sampling} | {' | '.join(cells)} |")
    for key in missing:
        print(f"missing: {' / '.join(key)}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
