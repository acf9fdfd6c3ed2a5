# SPDX-License-Identifier: Apache-2.0
"""Measures private_opt: python figures.py FOLDER [--device cuda] [--seeds 5] [--width 64], where FOLDER has
build/private_opt, as tools/torch.sh makes it (or --program). Prints README.md's tables.

For each seed: the texts of the grammar, a model that was trained openly on the public ones, and of 1000 private records a
half, by coins or the mechanism's own, that takes part in the tuning. Scores are those on fresh records, attacks those of
--audit. Learning rates are rehearsed on a seed that is in no table: as many for each system, and that with the least
loss on fresh records is taken. Costs are those of runs without --audit, one at a time.

Each run's results are a line of JSON in --results, with its settings as key. What is there is not run again: a
measurement that was cut goes on, and --table prints what there is.
"""
import argparse
import concurrent.futures
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).parent
REHEARSED = 100  # the seed
# Student's t, two-sided 95 %, by degrees of freedom.
QUANTILES = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
# As docs/results.md has it: the information that allows an attacker what one Gaussian release of (8, 1e-5) does.
NATS, EPSILON = 0.1894, 8
# The longest first: it would be waited for.
SYSTEMS = {
    "FERRET, two groups": {"mechanism": "ferret", "nats": NATS, "batch-rate": 0.02, "steps": 100},
    "DP-AggZO, K = 4": {"mechanism": "dp-aggzo", "directions": 4, "epsilon": EPSILON, "batch-rate": 0.2, "clip": 4,
                        "steps": 60},
    "DPZero": {"mechanism": "dpzero", "epsilon": EPSILON, "batch-rate": 0.2, "clip": 4, "steps": 240},
    "PACZero-ZPL": {"mechanism": "paczero-zpl", "steps": 160},
    "PACZero-MI": {"mechanism": "paczero-mi", "nats": NATS, "steps": 160},
}
# Lengths of a move of all d weights: those of a step per unit of what is released, and of the measurement. A weight
# moves by a √d-th of them, so that they fit models of any size. FERRET's directions have length 1 already.
RATES = {"paczero": (0.3, 1, 3, 10), "dp": (1, 3, 10, 30), "ferret": (1, 3, 10, 30)}
SMOOTHING = 2
FERRET_CLIP = 100  # of √d times the product with a direction: far above what a record has
DEFAULTS = {"cpu": {"width": 64, "layers": 2, "heads": 4, "public": 4000, "epochs": 4, "open_rate": 0.003, "jobs": 1},
            "cuda": {"width": 512, "layers": 10, "heads": 8, "public": 8000, "epochs": 3, "open_rate": 0.0003, "jobs": 4}}


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--program", type=Path, help="instead of FOLDER/build/private_opt")
    parser.add_argument("--results", type=Path, help="a file of JSON lines, instead of one in FOLDER/figures")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seeds", type=int, default=5)
    for name in ("width", "layers", "heads", "public", "epochs", "jobs"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--open-rate", type=float, help="of the open training's AdamW")
    parser.add_argument("--scale", type=float, default=1, help="of the numbers of steps")
    parser.add_argument("--stretch", type=float, default=1, help="of the learning rates that are rehearsed")
    parser.add_argument("--seconds", type=float, default=math.inf, help="after which no run begins")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rehearse", action="store_true", help="only the learning rates")
    what.add_argument("--cost", action="store_true", help="only what steps cost")
    what.add_argument("--table", action="store_true", help="only print what has been measured")
    given = parser.parse_args()
    if given.seeds - 1 not in QUANTILES:
        parser.error(f"--seeds is {given.seeds}, but must be in [2, 10]")
    for name, value in DEFAULTS["cpu" if given.device == "cpu" else "cuda"].items():
        if getattr(given, name) is None:
            setattr(given, name, value)
    return given


class Cut(Exception):
    """There is no time left to begin a run."""


def results_in(file):
    """Results by key. A line that was cut while it was written is none."""
    known = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            one = json.loads(line)
            known[one.pop("key")] = one
        except (ValueError, KeyError, AttributeError):
            pass
    return known


def add_result(file, key, result):
    """On a line of its own, below one that was cut."""
    before = file.read_text() if file.exists() else ""
    with file.open("a") as out:
        out.write("\n" * (before != "" and not before.endswith("\n")) + json.dumps({"key": key, **result}) + "\n")


class Runs:
    def __init__(self, given):
        self.given = given
        self.cuda = given.device != "cpu"
        self.ends = time.monotonic() + given.seconds
        self.program = given.program or given.folder / "build" / "private_opt"
        self.program = self.program.resolve()
        self.name = (f"width{given.width}_layers{given.layers}_{given.public}x{given.epochs}_{given.open_rate}"
                     f"_{given.device.partition(':')[0]}")
        self.folder = given.folder.resolve() / "figures" / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.results = (given.results or self.folder / "results.jsonl").resolve()
        self.results.parent.mkdir(parents=True, exist_ok=True)
        self.lock = threading.Lock()
        self.known = results_in(self.results)
        self.where = ["--device", given.device, *(["--tf32"] if self.cuda else [])]

    def call(self, *words):
        done = subprocess.run([self.program, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, words))}: {done.stderr or done.returncode}")
        return done.stdout

    def kept(self, key, run):
        key = f"{self.name}/{key}"
        if key not in self.known:
            if self.given.table or time.monotonic() > self.ends:
                raise Cut
            began = time.monotonic()
            result = {**run(), "seconds": time.monotonic() - began}
            with self.lock:
                add_result(self.results, key, result)
                self.known[key] = result
                brief = {name: round(result[name], 4) for name in ("accuracy", "loss", "attack", "exposure", "seconds_a_step")
                         if isinstance(result.get(name), float)}
                print(f"{key.partition('/')[2]}: {brief}, {result['seconds']:.0f} s", file=sys.stderr, flush=True)
        return self.known[key]

    def together(self, calls):
        """What the calls return, None for one that was cut; so many side by side."""
        with concurrent.futures.ThreadPoolExecutor(self.given.jobs) as pool:
            waiting = [pool.submit(*call) for call in calls]
            out = []
            for one in waiting:
                try:
                    out.append(one.result())
                except Cut:
                    out.append(None)
                except RuntimeError as failure:
                    print(failure, file=sys.stderr, flush=True)
                    out.append(None)
            return out

    def openly(self, seed):
        """Writes a seed's texts and trains a model on the public ones; what it scores."""
        folder = self.folder / f"seed{seed}"
        trained = folder / "open" / "model.safetensors"
        given = self.given

        def prepare():
            if trained.exists():
                return folder
            subprocess.run([sys.executable, HERE / "grammar.py", folder, "--public", str(given.public), "--private",
                            "1000", "--canaries", "8", "--seed", str(seed)], check=True)
            self.call("start", folder / "vocab.txt", folder / "random", "--width", given.width, "--layers",
                      given.layers, "--heads", given.heads, "--positions", 40, "--seed", seed)
            # A name that says that it is whole.
            self.call("train-openly", folder / "random", folder / "public.tsv", folder / "new", "--epochs", given.epochs,
                      "--rate-of-learning", given.open_rate, "--seed", seed, *self.where)
            shutil.rmtree(folder / "random")
            (folder / "new").rename(folder / "open")
            return folder

        def score():
            prepare()
            tested = json.loads(self.call("losses", folder / "open", folder / "test.tsv", "--json", *self.where))
            bits = re.search(r"mean ([\d.]+)", self.call("exposure", folder / "open", folder / "canaries.tsv", *self.where))
            return {"accuracy": tested["accuracy"], "loss": tested["loss"], "exposure": float(bits[1]),
                    "parameters": (trained.stat().st_size) // 4}

        result = self.kept(f"open_{seed}", score)
        if not self.given.table and time.monotonic() < self.ends:
            prepare()  # results may be there from another machine
        return result

    def settings(self, system, rate, **other):
        kind = SYSTEMS[system]["mechanism"]
        steps = max(2, round(SYSTEMS[system]["steps"] * self.given.scale))
        root = math.sqrt(self.openly(REHEARSED)["parameters"])
        out = {**SYSTEMS[system], "steps": steps, "smoothing": float(f"{SMOOTHING / root:.3g}"),
               "rate-of-learning": rate if kind == "ferret" else float(f"{rate / root:.3g}")}
        if kind == "ferret":
            out["clip"] = float(f"{FERRET_CLIP / root:.3g}")
        return {**out, **other}

    def tuned(self, system, seed, rate, kind, model="open", records="private.tsv", where=None, **other):
        """kind: rehearsed (no attacker watches), scored or timed."""
        settings = self.settings(system, rate, **other)
        folder = self.folder / f"seed{seed}"
        key = "_".join([kind, settings["mechanism"], str(seed), model, *(["" if where is None else "exact"]),
                        *(f"{name}{value}" for name, value in settings.items() if name != "mechanism")])

        def run():
            own = self.folder / f"run_{threading.get_ident()}"
            shutil.rmtree(own, ignore_errors=True)
            own.mkdir()
            words = [f"--{name}={value}" for name, value in settings.items()]
            if kind != "timed":
                words += ["--audit", "--watched", 100 if kind == "scored" else 1, "--test", folder / "test.tsv"]
                words += ["--canaries", folder / "canaries.tsv"] if kind == "scored" else []
            report = json.loads(self.call("train", folder / model, folder / records, own / "tuned", "--transcript",
                                          own / "run.tacit", "--seed", seed, "--json", *words, *(where or self.where)))
            report["transcript_bytes"] = (own / "run.tacit").stat().st_size
            shutil.rmtree(own)
            return report

        return self.kept(key, run)


def rates_of(runs, system):
    rates = RATES[next(kind for kind in RATES if SYSTEMS[system]["mechanism"].startswith(kind))]
    return [rate * runs.given.stretch for rate in rates]


def rehearse(runs):
    """The best rate of each system, as far as it is known."""
    runs.together([(runs.openly, REHEARSED)])
    each = [(system, rate) for system in SYSTEMS for rate in rates_of(runs, system)]
    scores = dict(zip(each, runs.together([(runs.tuned, system, REHEARSED, rate, "rehearsed") for system, rate in each])))
    best = {}
    print("| rehearsal, loss (accuracy) at a step's length of | " + " | ".join("1st 2nd 3rd 4th".split()) + " |")
    print("|---|" + "---:|" * 4)
    for system in SYSTEMS:
        of = {rate: scores[system, rate] for rate in rates_of(runs, system)}
        known = {rate: one for rate, one in of.items() if one and one["loss"] is not None and math.isfinite(one["loss"])}
        if known:
            best[system] = min(known, key=lambda rate: known[rate]["loss"])
        print(f"| {system} | " + " | ".join(
            f"{rate:g}: {one['loss']:.3f} ({one['accuracy']:.3f}){' ←' if best.get(system) == rate else ''}" if rate in known
            else f"{rate:g}: –" for rate, one in of.items()) + " |")
    print(flush=True)
    return best


def interval(of, digits):
    mean = statistics.fmean(of)
    if len(of) < 2:
        return f"{mean:.{digits}f}"
    width = QUANTILES[len(of) - 1] * statistics.stdev(of) / math.sqrt(len(of))
    return f"{mean:.{digits}f} ± {width:.{digits}f}"


def quality(runs, best):
    seeds = range(1, runs.given.seeds + 1)
    calls = [(runs.openly, seed) for seed in seeds]
    calls += [(runs.tuned, system, seed, best[system], "scored") for seed in seeds for system in SYSTEMS if system in best]
    opened = runs.together(calls[:len(seeds)])
    runs.together(calls[len(seeds):])
    print("| | accuracy | gain | bound | attack | exposure |")
    print("|---|---:|---:|---:|---:|---:|")
    before = {seed: one for seed, one in zip(seeds, opened) if one}
    if not before:
        return
    print(f"| trained openly alone | {interval([one['accuracy'] for one in before.values()], 3)} | – | 0.500 | – | "
          f"{interval([one['exposure'] for one in before.values()], 2)} |")
    for system in best:
        after = {}
        for seed in before:
            try:
                after[seed] = runs.tuned(system, seed, best[system], "scored")
            except (Cut, RuntimeError):
                pass
        if not after:
            continue
        gain = [now["accuracy"] - before[seed]["accuracy"] for seed, now in after.items()]
        bound = statistics.fmean(one["attack_bound"] for one in after.values())
        few = "" if len(after) == len(seeds) else f" ({len(after)} seeds)"
        print(f"| {system}{few} | {interval([one['accuracy'] for one in after.values()], 3)} | {interval(gain, 3)} | {bound:.3f} | "
              f"{interval([one['attack'] for one in after.values()], 3)} | {interval([one['exposure'] for one in after.values()], 2)} |")
    print(f"\n{before[min(before)]['parameters']:,} parameters, float32{' with TF32' * runs.cuda}, {len(seeds)} seeds, steps: "
          + ", ".join(f"{system} {runs.settings(system, 1)['steps']}" for system in SYSTEMS) + ".\n", flush=True)


def costs_of(runs, system, one, inference):
    seconds = one["seconds_a_step" if runs.cuda else "processor_seconds_a_step"]
    peak = "peak_device_megabytes" if runs.cuda else "peak_megabytes"
    print(f"| {system} | {seconds:.4f} | {one['percent_not_computing_losses']:.2f} % | {one[peak]:.0f} MB | "
          f"{one[peak] / inference[peak]:.2f} | {one['transcript_bytes']} bytes |", flush=True)


def cost(runs, best):
    """One run at a time, few steps. Of FERRET's most do nothing: an average over more."""
    runs.openly(REHEARSED)
    folder = runs.folder / f"seed{REHEARSED}"
    where = runs.where

    def inference_of(model, where):
        return runs.kept(f"inference_{model}_{len(where)}", lambda: json.loads(
            runs.call("losses", folder / model, folder / "private.tsv", "--json", *where)))

    print(f"| | {'seconds' if runs.cuda else 'processor seconds'} a step | not computing losses | peak memory | "
          "over inference | transcript |")
    print("|---|---:|---:|---:|---:|---:|")
    inference = inference_of("open", where)
    for system in reversed(SYSTEMS):
        few = 50 if system.startswith("FERRET") else 10
        one = runs.tuned(system, REHEARSED, best.get(system, rates_of(runs, system)[0]), "timed", steps=few)
        costs_of(runs, system, one, inference)
    if runs.cuda:
        exact = ["--device", runs.given.device]
        one = runs.tuned("PACZero-MI", REHEARSED, 0.3, "timed", where=exact, steps=10)
        costs_of(runs, "PACZero-MI, without TF32", one, inference_of("open", exact))
    if not runs.cuda:
        print(flush=True)
        return large(runs, folder)
    if not (folder / "half" / "model.safetensors").exists() and not runs.given.table:
        runs.call("start", folder / "vocab.txt", folder / "half", "--width", runs.given.width, "--layers",
                  runs.given.layers, "--heads", runs.given.heads, "--positions", 40, "--bfloat16")
    one = runs.tuned("PACZero-MI", REHEARSED, 0.3, "timed", model="half", steps=10)
    costs_of(runs, "PACZero-MI, bfloat16, random weights", one, inference_of("half", where))
    print(flush=True)


def large(runs, folder):
    """On a processor, a model of the size of a device's, with random weights: what a step costs, not what it learns."""
    few = folder / "few.tsv"
    few.write_text("".join((folder / "private.tsv").read_text().splitlines(True)[:32]))
    print("| 32 records | parameters | processor seconds a step | not computing losses | peak of inference | peak of tuning |")
    print("|---|---:|---:|---:|---:|---:|")
    for type_ in ("float32", "bfloat16"):
        name = f"large_{type_}"
        if not (folder / name / "model.safetensors").exists() and not runs.given.table:
            runs.call("start", folder / "vocab.txt", folder / name, "--width", 512, "--layers", 10, "--heads", 8,
                      "--positions", 40, *(["--bfloat16"] if type_ == "bfloat16" else []))
        inference = runs.kept(f"inference_{name}", lambda: json.loads(
            runs.call("losses", folder / name, few, "--json", *runs.where)))
        one = runs.tuned("PACZero-MI", REHEARSED, 1, "timed", model=name, records="few.tsv", steps=5)
        print(f"| {type_} | {one['parameters']:,} | {one['processor_seconds_a_step']:.2f} | "
              f"{one['percent_not_computing_losses']:.2f} % | {inference['peak_megabytes']:.0f} MB | "
              f"{one['peak_megabytes']:.0f} MB |", flush=True)
    print(flush=True)


def machine(runs):
    text = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = re.search(r"model name\s*: (.*)", text)
    out = f"{name[1] if name else platform.processor()}, {os.cpu_count()} cores"
    if runs.cuda and shutil.which("nvidia-smi"):
        gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                             capture_output=True, text=True)
        out = f"{gpu.stdout.strip()}; {out}"
    return out


def main():
    given = options()
    runs = Runs(given)
    best = {}
    try:
        if not given.cost:
            best = rehearse(runs)
        if not given.rehearse:
            cost(runs, best)
    except (Cut, RuntimeError) as failure:
        print(f"cut {failure}\n")
    if not given.rehearse and not given.cost:
        quality(runs, best)
    print(f"{machine(runs)}; width {given.width}, {given.layers} layers, {given.public} public texts, {given.epochs} "
          f"epochs; {given.jobs} runs side by side, costs alone. Results: {runs.results}")


if __name__ == "__main__":
    main()
