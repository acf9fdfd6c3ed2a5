# SPDX-License-Identifier: Apache-2.0
"""Measures private_opt: python figures.py FOLDER [--seeds 5] [--width 64], where FOLDER has build/private_opt, as
tools/torch.sh makes it. Prints README.md's tables. What was run is kept in FOLDER/figures, a file a run, and not run
again. --rehearse tries learning rates on a seed that is in no table; --cost leaves out what is learnt.

For each seed: the texts of the grammar, a model that was trained openly on the public ones, and of 1000 private records a
half, by coins or the mechanism's own, that takes part in the tuning. Scores are those on fresh records, attacks those of
--audit. Times are those of runs without --audit.
"""
import argparse
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Student's t, two-sided 95 %, by degrees of freedom.
QUANTILES = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
# As docs/results.md has it: the information that allows an attacker what one Gaussian release of (8, 1e-5) does.
NATS, EPSILON = 0.1894, 8
SYSTEMS = {
    "PACZero-ZPL": {"mechanism": "paczero-zpl", "steps": 150, "smoothing": 0.003, "rate-of-learning": 0.001},
    "PACZero-MI": {"mechanism": "paczero-mi", "nats": NATS, "steps": 150, "smoothing": 0.003, "rate-of-learning": 0.001},
    "DPZero": {"mechanism": "dpzero", "epsilon": EPSILON, "batch-rate": 0.2, "clip": 4, "steps": 300, "smoothing": 0.003,
               "rate-of-learning": 0.001},
    "DP-AggZO, K = 4": {"mechanism": "dp-aggzo", "directions": 4, "epsilon": EPSILON, "batch-rate": 0.2, "clip": 4,
                        "steps": 150, "smoothing": 0.003, "rate-of-learning": 0.001},
    "FERRET, two groups": {"mechanism": "ferret", "nats": NATS, "batch-rate": 0.02, "clip": 1, "steps": 100,
                           "rate-of-learning": 0.5},
}
RATES = {"paczero": (0.0003, 0.001, 0.003), "dp": (0.0001, 0.0003, 0.001), "ferret": (0.1, 0.3, 1)}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--public", type=int, default=4000)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--cost", action="store_true", help="only what steps cost")
    given = parser.parse_args()
    if given.seeds - 1 not in QUANTILES:
        parser.error(f"--seeds is {given.seeds}, but must be in [2, 10]")
    return given


class Runs:
    def __init__(self, given):
        self.given = given
        self.program = given.folder.resolve() / "build" / "private_opt"
        self.folder = given.folder.resolve() / "figures" / f"width{given.width}_layers{given.layers}_{given.public}"
        self.folder.mkdir(parents=True, exist_ok=True)

    def call(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def seed(self, seed):
        """The folder of a seed's texts, with the model that was trained openly."""
        folder = self.folder / f"seed{seed}"
        if not (folder / "open" / "model.safetensors").exists():
            subprocess.run([sys.executable, HERE / "grammar.py", folder, "--public", str(self.given.public), "--private",
                            "1000", "--canaries", "8", "--seed", str(seed)], check=True)
            self.call("start", folder / "vocab.txt", folder / "random", "--width", self.given.width, "--layers",
                      self.given.layers, "--heads", 4, "--positions", 40, "--seed", seed)
            self.call("train-openly", folder / "random", folder / "public.tsv", folder / "open", "--epochs", 3,
                      "--rate-of-learning", 0.003, "--seed", seed)
        return folder

    def score(self, folder, model):
        tested = json.loads(self.call("losses", model, folder / "test.tsv", "--json"))
        bits = re.search(r"mean ([\d.]+)", self.call("exposure", model, folder / "canaries.tsv"))
        return {"accuracy": tested["accuracy"], "loss": tested["loss"], "exposure": float(bits[1])}

    def kept(self, name, run):
        file = self.folder / f"{name}.json"
        if not file.exists():
            result = run()
            file.with_suffix(".new").write_text(json.dumps(result))
            file.with_suffix(".new").rename(file)
        return json.loads(file.read_text())

    def openly(self, seed):
        folder = self.seed(seed)
        return self.kept(f"open_{seed}", lambda: self.score(folder, folder / "open"))

    def tuned(self, system, seed, audit=True, model=None, records=None, **other):
        settings = {**SYSTEMS[system], **other}
        folder = self.seed(seed)
        name = "_".join([settings["mechanism"], str(seed), "audit" if audit else "timed", model or "open"]
                        + [f"{key}{value}" for key, value in sorted(settings.items()) if key != "mechanism"])

        def run():
            out = self.folder / "tuned"
            transcript = self.folder / "tuned.run"
            transcript.unlink(missing_ok=True)
            words = [f"--{key}={value}" for key, value in settings.items()]
            report = json.loads(self.call("train", folder / (model or "open"), records or folder / "private.tsv", out,
                                          "--transcript", transcript, "--seed", seed, "--json", *words,
                                          *(["--audit", "--watched", 100] if audit else [])))
            report["transcript_bytes"] = transcript.stat().st_size
            return {**report, **(self.score(folder, out) if audit else {})}

        return self.kept(name, run)


def interval(of, digits):
    mean = statistics.fmean(of)
    width = QUANTILES[len(of) - 1] * statistics.stdev(of) / math.sqrt(len(of))
    return f"{mean:.{digits}f} ± {width:.{digits}f}"


def rehearse(runs):
    before = runs.openly(100)
    print("open", before)
    for system, settings in SYSTEMS.items():
        kind = next(kind for kind in RATES if settings["mechanism"].startswith(kind))
        for rate in RATES[kind]:
            now = runs.tuned(system, 100, **{"rate-of-learning": rate})
            print(f"{system} {rate}: {now['accuracy']:.3f}, loss {now['loss']:.3f}, {now['processor_seconds_a_step']:.2f} s a step",
                  flush=True)


def processor():
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = re.search(r"model name\s*: (.*)", text)
    return f"{name[1] if name else platform.processor()}, {os.cpu_count()} cores"


def quality(runs):
    seeds = range(1, runs.given.seeds + 1)
    before = [runs.openly(seed) for seed in seeds]
    print("| | accuracy | gain | bound | attack | exposure |")
    print("|---|---:|---:|---:|---:|---:|")
    print(f"| trained openly alone | {interval([one['accuracy'] for one in before], 3)} | – | 0.500 | – | "
          f"{interval([one['exposure'] for one in before], 2)} |")
    for system in SYSTEMS:
        after = [runs.tuned(system, seed) for seed in seeds]
        gain = [now["accuracy"] - then["accuracy"] for now, then in zip(after, before)]
        bound = statistics.fmean(one["attack_bound"] for one in after)
        print(f"| {system} | {interval([one['accuracy'] for one in after], 3)} | {interval(gain, 3)} | {bound:.3f} | "
              f"{interval([one['attack'] for one in after], 3)} | {interval([one['exposure'] for one in after], 2)} |",
              flush=True)
    print(f"\n{after[0]['parameters']} parameters, float32, {len(seeds)} seeds.\n")


def cost(runs):
    print("| | processor seconds a step | not computing losses | peak memory | transcript |")
    print("|---|---:|---:|---:|---:|")
    folder = runs.seed(1)
    inference = runs.kept("inference", lambda: json.loads(
        runs.call("losses", folder / "open", folder / "private.tsv", "--json")))
    print(f"| losses of all records, once | – | – | {inference['peak_megabytes']:.0f} MB | – |")
    for system in SYSTEMS:
        few = {} if system.startswith("FERRET") else {"steps": 8}  # of FERRET's most do nothing: an average over all
        one = runs.tuned(system, 1, audit=False, **few)
        print(f"| {system} | {one['processor_seconds_a_step']:.2f} | {one['percent_not_computing_losses']:.2f} % | "
              f"{one['peak_megabytes']:.0f} MB | {one['transcript_bytes']} bytes |", flush=True)
    print()


def large(runs):
    """31 million parameters, with random weights: what a step costs, not what it learns."""
    folder = runs.seed(1)
    few = folder / "few.tsv"
    few.write_text("".join((folder / "private.tsv").read_text().splitlines(True)[:32]))
    print("| 32 records | parameters | processor seconds a step | not computing losses | peak of inference | peak of tuning |")
    print("|---|---:|---:|---:|---:|---:|")
    for type_ in ("float32", "bfloat16"):
        name = f"large_{type_}"
        if not (folder / name / "model.safetensors").exists():
            runs.call("start", folder / "vocab.txt", folder / name, "--width", 512, "--layers", 10, "--heads", 8,
                      "--positions", 40, *(["--bfloat16"] if type_ == "bfloat16" else []))
        inference = runs.kept(f"inference_{name}",
                              lambda: json.loads(runs.call("losses", folder / name, few, "--json")))
        one = runs.tuned("PACZero-MI", 1, audit=False, model=name, records=few, steps=5)
        print(f"| {type_} | {one['parameters']:,} | {one['processor_seconds_a_step']:.2f} | {one['percent_not_computing_losses']:.2f} % | "
              f"{inference['peak_megabytes']:.0f} MB | {one['peak_megabytes']:.0f} MB |", flush=True)
        (folder / name / "model.safetensors").unlink()
    print()


def main():
    given = options()
    runs = Runs(given)
    if given.rehearse:
        rehearse(runs)
        return
    if not given.cost:
        quality(runs)
    cost(runs)
    large(runs)
    print(f"{processor()}; one thread; width {given.width}, {given.layers} layers, {given.public} public texts.")


if __name__ == "__main__":
    main()
