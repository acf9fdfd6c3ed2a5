# SPDX-License-Identifier: Apache-2.0
"""What accountants from PyPI answer to the questions of bench/dp.cpp, and their CPU times.

usage: accountants.py OUTPUT.json [--slow]

Each asks as its documentation shows, from a fresh object, with its own defaults but for the error that
prv-accountant requires as an argument: 0.01 in epsilon, the default of Opacus' accountant, which is the same
method, and delta/1000. `lower` is there where the peer gives one; for dp-accounting it is its optimistic
estimate, made off the clock. --slow adds what takes minutes and 14 GB, PLD_accounting's random allocation among it; each
of those runs once, in a process of its own that may have ten minutes of CPU time and the memory that is free.
"""
import json
import logging
import math
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from functools import partial
from importlib.metadata import version

import dp_accounting
import PLD_accounting
import prv_accountant
from dp_accounting import gaussian_mechanism
from dp_accounting.dp_event import (GaussianDpEvent, PoissonSampledDpEvent,
                                    SelfComposedDpEvent)
from dp_accounting.pld import privacy_loss_distribution, privacy_loss_mechanism
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from prv_accountant.dpsgd import find_noise_multiplier
from random_allocation.comparisons.structs import PrivacyParams, SchemeConfig
from random_allocation.random_allocation_scheme.combined import allocation_epsilon_combined

import opacus_accountants as opacus
from timing import medians

DELTA = 1e-5
MOST_SECONDS = 600
# (rate, noise multiplier, steps), …
RUNS = {
    "A": [(0.01, 1.0, 10_000)],
    "B": [(0.001, 0.6, 100_000)],
    "C": [(0.5, 10.0, 1000)],
    "long": [(0.01, 100.0, 100_000_000)],
    "schedule": [(0.01, 1.0 + 0.01 * k, 100) for k in range(100)],
}


def google(accountant, run, delta):
    for rate, sigma, steps in run:
        accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(sigma)), steps)
    return {"upper": float(accountant.get_epsilon(delta))}


def google_rdp(run, delta):
    return google(RdpAccountant(), run, delta)


def google_pld(run, delta):
    return google(PLDAccountant(), run, delta)


def google_optimistic(run, delta):
    (rate, sigma, steps), = run
    single = privacy_loss_distribution.from_gaussian_mechanism(sigma, sampling_prob=rate,
                                                               pessimistic_estimate=False)
    return single.self_compose(steps).get_epsilon_for_delta(delta)


def meta(accountant, run, delta):
    accountant.history = [(sigma, rate, steps) for rate, sigma, steps in run]
    return {"upper": float(accountant.get_epsilon(delta=delta))}


def meta_rdp(run, delta):
    return meta(opacus.RDPAccountant(), run, delta)


def meta_prv(run, delta):
    return meta(opacus.PRVAccountant(), run, delta)


def meta_lower(run, delta):
    accountant = opacus.PRVAccountant()
    accountant.history = [(sigma, rate, steps) for rate, sigma, steps in run]
    composed = accountant._get_dprv(eps_error=0.01, delta_error=delta / 1000)
    return composed.compute_epsilon(delta, delta / 1000, 0.01)[0]


def microsoft(run, delta):
    steps = [steps for _, _, steps in run]
    accountant = prv_accountant.PRVAccountant(
        prvs=[prv_accountant.PoissonSubsampledGaussianMechanism(noise_multiplier=sigma,
                                                                sampling_probability=rate)
              for rate, sigma, _ in run],
        max_self_compositions=steps, eps_error=0.01, delta_error=delta / 1000)
    lower, _, upper = accountant.compute_epsilon(delta, steps)
    return {"lower": float(lower), "upper": float(upper)}


def allocation(selected, epochs):
    """The best of the package's bounds, at the orders of its examples."""
    return {"upper": float(allocation_epsilon_combined(
        PrivacyParams(sigma=1.0, num_steps=1000, num_selected=selected, num_epochs=epochs, delta=1e-6),
        SchemeConfig(allocation_direct_alpha_orders=list(range(2, 61)))))}


def allocation_by_losses(selected, epochs):
    """To the package's own accuracy, a ratio of the ends."""
    upper, lower = PLD_accounting.gaussian_allocation_epsilon_range(delta=1e-6, sigma=1.0, num_steps=1000, num_selected=selected,
                                                                    num_epochs=epochs)
    return {"lower": float(lower), "upper": float(upper)}


def google_noise(make):
    return {"upper": dp_accounting.calibrate_dp_mechanism(
        make, lambda sigma: SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(sigma)),
                                                10_000), 2.0, DELTA)}


def meta_noise(accountant):
    return {"upper": opacus.get_noise_multiplier(target_epsilon=2.0, target_delta=DELTA,
                                                 sample_rate=0.01, steps=10_000,
                                                 accountant=accountant)}


def microsoft_noise():
    return {"upper": float(find_noise_multiplier(0.01, 10_000, 2.0, DELTA, eps_error=0.01))}


GOOGLE, META, MICROSOFT, ALLOCATION = "dp-accounting", "opacus", "prv-accountant", "random-allocation"
LOSSES = "PLD_accounting"
ALLOCATIONS = (("1", 1, 1), ("10", 1, 10), ("2of1000", 2, 1))
PLD = ((f"{GOOGLE} PLD", google_pld), (f"{META} PRV", meta_prv), (f"{MICROSOFT}", microsoft))
RDP = ((f"{GOOGLE} RDP", google_rdp), (f"{META} RDP", meta_rdp))


def questions():
    """(question, peer) → a call that answers it."""
    ask = {}
    for run in "ABC":
        for peer, answer in PLD:
            ask[f"epsilon {run}", peer] = partial(answer, RUNS[run], DELTA)
        for peer, answer in RDP:
            ask[f"renyi {run}", peer] = partial(answer, RUNS[run], DELTA)
    for name, make in (("PLD", PLDAccountant), ("RDP", RdpAccountant)):
        ask["noise", f"{GOOGLE} {name}"] = partial(google_noise, make)
    for name in ("PRV", "RDP"):
        ask["noise", f"{META} {name}"] = partial(meta_noise, name.lower())
    ask["noise", MICROSOFT] = microsoft_noise
    for run in ("long", "schedule"):
        for peer, answer in RDP:
            ask[f"renyi {run}", peer] = partial(answer, RUNS[run], DELTA)
    for name, selected, epochs in ALLOCATIONS:
        ask[f"epsilon allocation/{name}", ALLOCATION] = partial(allocation, selected, epochs)
    ask["delta of mu", GOOGLE] = lambda: {
        "upper": float(privacy_loss_mechanism.GaussianPrivacyLoss(1.0).get_delta_for_epsilon(1.0))}
    ask["delta of mu", META] = lambda: {"upper": float(opacus.gdp.delta_eps_mu(eps=1.0, mu=1.0))}
    ask["epsilon of mu", GOOGLE] = lambda: {
        "upper": float(gaussian_mechanism.get_epsilon_gaussian(1.0, DELTA))}
    ask["epsilon of mu", META] = lambda: {"upper": float(opacus.gdp.eps_from_mu(mu=1.0, delta=DELTA))}
    return ask


def small_deltas():
    """Asked once each: what counts is the answer."""
    return {(f"epsilon A at {delta:g}", peer): partial(answer, RUNS["A"], delta)
            for delta in (1e-10, 1e-12, 1e-14, 1e-20) for peer, answer in PLD}


def slow_questions():
    return {**{("epsilon schedule", peer): partial(answer, RUNS["schedule"], DELTA)
               for peer, answer in PLD},
            **{("epsilon long", peer): partial(answer, RUNS["long"], DELTA) for peer, answer in PLD},
            **{(f"epsilon allocation/{name}", LOSSES): partial(allocation_by_losses, selected, epochs)
               for name, selected, epochs in ALLOCATIONS}}


def answer_of(call):
    try:
        return call()
    except Exception as error:  # the peer's refusal, whatever its kind, is its answer
        return {"refused": str(error) or type(error).__name__}


def in_a_process(index):
    """The index-th of the slow ones: its answer, CPU time and peak of memory."""
    with open("/proc/meminfo", encoding="ascii") as facts:
        free = next(1024 * int(line.split()[1]) for line in facts if line.startswith("MemAvailable"))
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (free, free))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
    child = subprocess.run([sys.executable, __file__, "--one", str(index)], stdout=subprocess.PIPE,
                           check=False, text=True, preexec_fn=limit)
    if child.returncode == -signal.SIGXCPU:
        return {"refused": f"no answer in {MOST_SECONDS} s"}
    if child.returncode != 0:
        return {"refused": f"ended with status {child.returncode}"}
    return json.loads(child.stdout)


def one(index):
    call = list(slow_questions().values())[index]
    start = time.process_time()
    answer = answer_of(call)
    answer["nanoseconds"] = 1e9 * (time.process_time() - start)
    answer["bytes"] = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps(answer))


def finite(row):
    """JSON has no infinity."""
    return {key: "inf" if value == math.inf else value for key, value in row.items()}


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if sys.argv[1] == "--one":
        one(int(sys.argv[2]))
        return

    rows = {}

    def keep(key, call):
        rows[key] = call()
    times = medians({key: partial(keep, key, call) for key, call in questions().items()})
    for key, nanoseconds in times.items():
        rows[key]["nanoseconds"] = nanoseconds
    for run in "ABC":
        rows[f"epsilon {run}", f"{GOOGLE} PLD"]["lower"] = google_optimistic(RUNS[run], DELTA)
        rows[f"epsilon {run}", f"{META} PRV"]["lower"] = meta_lower(RUNS[run], DELTA)
    for key, call in small_deltas().items():
        rows[key] = answer_of(call)
    if "--slow" in sys.argv[2:]:
        for index, key in enumerate(slow_questions()):
            rows[key] = in_a_process(index)

    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"versions": {name: version(name) for name in
                                (GOOGLE, META, MICROSOFT, ALLOCATION, LOSSES, "numpy", "scipy")},
                   "python": sys.version.split()[0], "load": os.getloadavg()[0],
                   "rows": [{"question": question, "peer": peer, **finite(row)}
                            for (question, peer), row in rows.items()]}, out, indent=1)


if __name__ == "__main__":
    main()
