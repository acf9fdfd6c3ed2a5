# SPDX-License-Identifier: Apache-2.0
"""Where dp-accounting states a lower epsilon than tacit certifies: random runs, as a Markdown table. Its privacy-loss accountant is
asked, and for batches its accountant of Rényi divergences, which has a bound of them.

usage: tighter.py CALCULATOR SEED COUNT

The former has its own default, a grid of 1e-4. An answer of it below tacit's lower end is below the truth; one inside of the
interval may be a bound, and is tighter than tacit's upper end. Runs whose epsilon is above 50 are left out: they take the peer's grid
gigabytes.
"""
import json
import logging
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant


def log_uniform(g, low, high):
    return math.exp(g.uniform(math.log(low), math.log(high)))


def rate(g, unsampled):
    return 1.0 if g.random() < unsampled else log_uniform(g, 1e-6, 0.9)


def gaussian(g):
    return {"mechanism": "gaussian", "noise_multiplier": log_uniform(g, 0.3, 100), "rate": rate(g, 0.2)}


def laplace(g):
    return {"mechanism": "laplace", "noise_multiplier": log_uniform(g, 0.3, 30), "rate": rate(g, 0.4)}


def on_integers(g):
    if g.random() < 0.5:
        return {"mechanism": "discrete-gaussian", "sigma": log_uniform(g, 0.5, 30)}
    return {"mechanism": "discrete-laplace", "scale": log_uniform(g, 0.5, 30)}


def in_batches(g):
    """Of a fixed size, without replacement."""
    records = int(log_uniform(g, 100, 1e6))
    batch = max(1, int(records * log_uniform(g, 1e-4, 0.3)))
    return {"mechanism": "gaussian", "noise_multiplier": log_uniform(g, 0.5, 30), "batch": batch, "records": records}


def response(g):
    return {"mechanism": "randomised-response", "epsilon": log_uniform(g, 0.01, 3), "categories": 2}


# What a run is drawn from, how many different releases it has, and the most steps of each.
KINDS = {
    "Gaussians, sampled or not": ([gaussian], (1, 1, 2, 3), 1e5),
    "Laplace noise of one scale": ([lambda g: {**laplace(g), "rate": 1.0}], (1,), 3000),
    "Laplace noise, sampled or not": ([laplace], (1, 1, 2, 3), 3000),
    "Gaussians and Laplace noise": ([gaussian, laplace], (2, 3), 3000),
    "noise on the integers": ([on_integers], (1, 1, 2), 300),
    "randomised response, and Gaussians": ([response, gaussian], (1, 2), 300),
    "Gaussians in batches, replace-one; the peer by Rényi divergences": ([in_batches], (1, 2), 3000),
}


def is_replace_one(run):
    return any(r["mechanism"] == "randomised-response" or "batch" in r for r in run)


def by_divergences(run, delta):
    """A record that is replaced moves a sum by two of what tacit calls its contribution."""
    accountant = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    for r in run:
        noise = dp_accounting.GaussianDpEvent(r["noise_multiplier"] / 2.0)
        accountant.compose(dp_accounting.SampledWithoutReplacementDpEvent(r["records"], r["batch"], noise), r["steps"])
    return accountant.get_epsilon(delta)


def by_peer(run, delta):
    if any("batch" in r for r in run):
        return by_divergences(run, delta)
    made = {
        "gaussian": lambda r: pld.from_gaussian_mechanism(r["noise_multiplier"], sampling_prob=r["rate"]),
        "laplace": lambda r: pld.from_laplace_mechanism(r["noise_multiplier"], sampling_prob=r["rate"]),
        "discrete-gaussian": lambda r: pld.from_discrete_gaussian_mechanism(r["sigma"]),
        "discrete-laplace": lambda r: pld.from_discrete_laplace_mechanism(1 / r["scale"]),
        "randomised-response": lambda r: pld.from_randomized_response(2 / (1 + math.exp(r["epsilon"])), 2),
    }
    whole = None
    for release in run:
        one = made[release["mechanism"]](release).self_compose(release["steps"])
        whole = one if whole is None else whole.compose(one)
    return whole.get_epsilon_for_delta(delta)


def by_tacit(calculator, run, delta):
    releases = [{k: v for k, v in r.items() if k != "rate" or v < 1.0} for r in run]
    adjacency = ["--adjacency", "replace-one"] if is_replace_one(run) else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.json")
        path.write_text(json.dumps({"releases": releases}))
        done = subprocess.run([calculator, "epsilon", "--schedule", path, "--delta", repr(delta), "--json", *adjacency],
                              capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    return answer["lower"], answer["upper"]


def main():
    logging.disable(logging.WARNING)
    calculator, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(f"dp-accounting {version('dp-accounting')}, seed {seed}. *Too low*: below what is certified to be true. *Tighter*: inside of "
          "tacit's interval, by at most so much of max(1, ε).\n")
    print("| runs of | asked | peer too low | peer tighter | by at most | tacit's width, median and worst | seconds, tacit and peer |")
    print("|---|---|---|---|---|---|---|")
    for kind, (releases, how_many, most_steps) in KINDS.items():
        g = random.Random(f"{seed} {kind}")
        too_low, excess, widths, seconds = 0, [], [], [0.0, 0.0]
        asked = 0
        while asked < count:
            run = [{**g.choice(releases)(g), "steps": int(log_uniform(g, 1, most_steps))} for _ in range(g.choice(how_many))]
            if is_replace_one(run) and any(r.get("rate", 1.0) < 1.0 for r in run):
                continue  # the peer samples under add or remove one alone
            delta = log_uniform(g, 1e-10, 1e-3)
            begin = time.perf_counter()
            lower, upper = by_tacit(calculator, run, delta)
            between = time.perf_counter()
            if upper > 50.0:
                continue
            try:
                peer = by_peer(run, delta)
            except (ValueError, MemoryError):
                continue  # of its own limits
            seconds[0] += between - begin
            seconds[1] += time.perf_counter() - between
            asked += 1
            scale = max(1.0, upper)
            widths.append((upper - lower) / scale)
            too_low += peer < lower
            if lower <= peer < upper:
                excess.append((upper - peer) / scale)
            print(f"{kind} {asked}/{count}", end="\r", file=sys.stderr)
        print(f"| {kind} | {asked} | {too_low} | {len(excess)} | {f'{max(excess):.1e}' if excess else '–'} | "
              f"{statistics.median(widths):.0e}, {max(widths):.0e} | {seconds[0]:.0f}, {seconds[1]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
