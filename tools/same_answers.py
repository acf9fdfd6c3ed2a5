#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a change moved: asks two calculators the same 281 questions, and compares their answers.

usage: tools/same_answers.py OLD NEW        each a built `tacit`

Names each number that differs, sums up by verb, and fails where two certified intervals do not meet or where a trained
model, a transcript or a refusal is another.
"""
import hashlib
import itertools
import json
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SECONDS = 120


def option(name, value):
    return [] if value is None else [f"--{name}", str(value)]


def accounting():
    samplings = [[], ["--rate", "1e-4"], ["--rate", "0.01"], ["--rate", "0.3"], ["--batch", "32", "--records", "1000"]]
    for noise, sampling, steps in itertools.product([0.5, 1, 3, 20], samplings, [1, 100, 10_000]):
        run = ["--noise-multiplier", str(noise), *sampling, "--steps", str(steps)]
        yield ["epsilon", *run, "--delta", "1e-6"]
        yield ["delta", *run, "--epsilon", "1"]
    run = ["--noise-multiplier", "1.5", "--rate", "0.02", "--steps", "500"]
    for accountant in ["discretised", "rdp", "zcdp", "gdp", "gdp-clt", "all"]:
        for sampling in [run, run[:2] + run[4:]]:
            yield ["epsilon", *sampling, "--delta", "1e-5", "--accountant", accountant]
    for adjacency in ["replace-one", "zero-out"]:
        yield ["epsilon", *run, "--delta", "1e-5", "--adjacency", adjacency]
    yield ["epsilon", *run, "--delta", "1e-5", "--records-per-person", "3"]
    for noise, rate in itertools.product([1, 4], [None, 0.05]):
        laplace = ["--mechanism", "laplace", "--noise-multiplier", str(noise), *option("rate", rate), "--steps", "20"]
        yield ["epsilon", *laplace, "--delta", "1e-6"]
        yield ["delta", *laplace, "--epsilon", "2"]
    for k, t in [(1, 10), (1, 1000), (3, 30)]:
        yield ["epsilon", "--noise-multiplier", "1", "--allocate", str(k), "--of", str(t), "--delta", "1e-6"]
    for epsilon, delta in itertools.product([0.5, 2, 8], ["1e-5", "1e-9"]):
        budget = ["--epsilon", str(epsilon), "--delta", delta]
        yield ["noise", "--rate", "0.01", "--steps", "1000", *budget]
        yield ["noise", "--steps", "10", *budget]
        yield ["steps", "--noise-multiplier", "2", "--rate", "0.01", *budget]
        yield ["rate", "--noise-multiplier", "2", "--steps", "100", *budget]


def information():
    for prior, sigma, seen in itertools.product([0.5, 0.9, 1e-6], [0.01, 0.7, 3, 1e4], ["value", "sign"]):
        yield ["mi", "--prior", str(prior), "--sigma", str(sigma), "--observed", seen]
    for prior, nats, seen in itertools.product([0.5, 0.1], ["1e-9", "0.01", "0.3"], ["value", "sign"]):
        yield ["sigma", "--prior", str(prior), "--mi", nats, "--observed", seen]
    for nats, prior in itertools.product([0, 1e-300, 1e-6, 0.1, 0.6, 5], [0.5, 0.01]):
        yield ["attack", "--mi", str(nats), "--prior", str(prior)]
    for epsilon, delta in itertools.product([0, 0.1, 3, 50], [0, 1e-6]):
        yield ["attack", "--epsilon", str(epsilon), "--delta", str(delta)]
    for success in [0.5, 0.500001, 0.6, 0.99]:
        yield ["budget", "--success", str(success)]
    for groups, steps, rate, epsilon in itertools.product([10, 1000], [100, 5000], [0.01, 1], [0.1, 5]):
        yield ["ferret", "--groups", str(groups), "--steps", str(steps), "--rate", str(rate), "--epsilon", str(epsilon)]


def noise(tables):
    for table, rows in itertools.product(["wide.csv", "few.csv"], ["samples", "candidates"]):
        for method in ["log-det", "efficient", "proportional"]:
            for nats in [0.01, 0.5]:
                yield ["calibrate", tables / table, "--mi", str(nats), "--method", method, "--rows", rows]
    for method, nats in itertools.product(["candidates", "stackelberg"], [0.05, 1, 2]):
        yield ["calibrate", tables / "few.csv", "--mi", str(nats), "--method", method]


def refusals():
    yield ["epsilon", "--noise-multiplier", "nan", "--steps", "1", "--delta", "1e-5"]
    yield ["epsilon", "--noise-multiplier", "1", "--steps", "0", "--delta", "1e-5"]
    yield ["delta", "--noise-multiplier", "1", "--steps", "1", "--epsilon", "-1"]
    yield ["mi", "--prior", "2", "--sigma", "1"]
    yield ["calibrate", "no such table", "--mi", "1", "--method", "log-det"]


def training():
    yield ["--mechanism", "paczero-mi", "--mi", "0.33", "--steps", "200"]
    yield ["--mechanism", "paczero-zpl", "--steps", "200"]
    yield ["--mechanism", "mezo", "--steps", "100"]


def write_tables(folder):
    draw = random.Random(20261123)
    for name, count, width in [("wide.csv", 300, 5), ("few.csv", 12, 3)]:
        rows = [[draw.gauss(0, 1 + j) for j in range(width)] for _ in range(count)]
        (folder / name).write_text("".join(",".join(map(repr, row)) + "\n" for row in rows))
    records = []
    for _ in range(120):
        kind = draw.randrange(3)
        records.append([draw.gauss(math.cos(2 * kind), 1), draw.gauss(math.sin(2 * kind), 1), kind])
    (folder / "records.csv").write_text("".join(",".join(map(repr, row)) + "\n" for row in records))


def answer(program, words):
    try:
        done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "no answer in time"
    if done.returncode:
        return f"exit {done.returncode}"
    return json.loads(done.stdout)


def trained(program, words, folder):
    """The folder of a run: its base, transcript and tuned model."""
    folder.mkdir()
    run = [program, "train", folder.parent / "records.csv", *words, "--tuned", folder / "tuned", "--transcript",
           folder / "transcript", "--base", folder / "base"]
    subprocess.run(run, check=True, capture_output=True, timeout=SECONDS)
    return folder


def replayed(program, folder, out):
    subprocess.run([program, "replay", folder / "base", folder / "transcript", out], check=True, capture_output=True,
                   timeout=SECONDS)
    return hashlib.sha256(out.read_bytes()).hexdigest()


def differences(old, new, path=""):
    """Yields (path, old, new) of each leaf that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(old.get(key), new.get(key), f"{path}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for k, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{path}[{k}]")
    elif old != new:
        yield path, old, new


def intervals(found, path=""):
    """All (path, lower, upper); an answer's figure is the upper end of its "lower"."""
    if isinstance(found, dict):
        for upper in ("epsilon", "delta", "upper"):
            if isinstance(found.get("lower"), (int, float)) and isinstance(found.get(upper), (int, float)):
                yield path, found["lower"], found[upper]
        for key, value in found.items():
            yield from intervals(value, f"{path}.{key}")
    elif isinstance(found, list):
        for k, value in enumerate(found):
            yield from intervals(value, f"{path}[{k}]")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    old, new = (str(Path(word).resolve()) for word in sys.argv[1:])
    failures = 0
    count, same, moved = Counter(), Counter(), defaultdict(float)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder)
        asked = [*accounting(), *information(), *noise(folder), *refusals()]
        with ThreadPoolExecutor() as pool:
            pairs = pool.map(lambda words: (answer(old, words), answer(new, words)), asked)
            for words, (before, after) in zip(asked, pairs):
                said = " ".join(map(str, words))
                count[words[0]] += 1
                leaves = list(differences(before, after))
                same[words[0]] += not leaves
                for path, a, b in leaves:
                    print(f"{said}\n  {path or 'answer'}: {a} -> {b}")
                    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
                        moved[words[0]] = max(moved[words[0]], abs(a - b) / max(abs(a), abs(b)))
                    elif isinstance(a, str) and not path:
                        failures += 1
                ends = {path: ends for path, *ends in intervals(before)}
                for path, low, high in intervals(after):
                    if path in ends and not (low <= ends[path][1] and ends[path][0] <= high):
                        failures += 1
                        print(f"{said}\n  DISJOINT {path or 'interval'}: {ends[path]} and {[low, high]}")
        for k, words in enumerate(training()):
            run = trained(old, words, folder / str(k))
            by_old, by_new = (replayed(p, run, run / end) for p, end in [(old, "old"), (new, "new")])
            tuned = hashlib.sha256((run / "tuned").read_bytes()).hexdigest()
            count["replay"] += 1
            if by_old == by_new == tuned:
                same["replay"] += 1
            else:
                failures += 1
                print(f"train {' '.join(words)}\n  the replayed models differ")
    print()
    for verb in count:
        print(f"{verb:10} {same[verb]:4} of {count[verb]:4} the same to the byte; largest move {moved[verb]:.1e}, relative")
    print(f"{sum(same.values())} of {sum(count.values())} the same, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
