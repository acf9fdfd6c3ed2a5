# SPDX-License-Identifier: Apache-2.0
"""Puts the medians of one run of tools/bench.sh into Markdown tables.

usage: table.py FOLDER COMPILER    FOLDER holds info.json, pac.json, mechanism.json and peer.json

The load is that of the machine's last minute as the run began: above 0 it had other work.
"""
import json
import os
import re
import sys
from datetime import date
from pathlib import Path

# What is compared with what: label, benchmark, and the peer's time.
PAIRS = [
    *((f"mutual information, q=.3, σ={sigma}", f"information_of_value/prior=0.3/sigma={sigma}",
       f"information q=0.3 sigma={sigma}") for sigma in ("20", "1", "0.5")),
    ("mutual information by the published rule in C++, q=.3, σ=20",
     "information_by_gauss_hermite_60/prior=0.3/sigma=20", "information q=0.3 sigma=20"),
    *((f"inverse, q=.3, {nats} nats; peer: {name}", f"sigma_for/prior=0.3/nats={nats}",
       f"{peer} q=0.3 nats={nats}")
      for name, peer in (("bisection as published", "bisection"), ("SciPy's Brent", "brent"))
      for nats in ("1e-07", "0.00033", "0.01", "0.25", "0.55")),
    *((f"posterior update by a value, M={m:,}", f"observe_value/{m}", f"observe_value M={m}")
      for m in (128, 1000, 10_000, 100_000, 1_000_000)),
    ("release step, N=1000, M=128, value charged", "release_step/subset_value/1000/128",
     "step N=1000 M=128"),
    ("release step, N=1000, M=128, sign charged", "release_step/subset_sign/1000/128",
     "step N=1000 M=128"),
]


def medians(path):
    """Benchmark → median CPU time in nanoseconds, and half its interquartile range over the median."""
    samples = {}
    for row in json.loads(path.read_text())["benchmarks"]:
        if row.get("error_occurred"):
            sys.exit(f"{row['name']}: {row['error_message']}")
        if row["run_type"] == "iteration":
            unit = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}[row["time_unit"]]
            samples.setdefault(row["run_name"], []).append(unit * row["cpu_time"])
    result = {}
    for name, times in samples.items():
        times.sort()
        n = len(times)
        middle = 0.5 * (times[(n - 1) // 2] + times[n // 2])
        result[name] = middle, 0.5 * (times[(3 * n - 1) // 4] - times[n // 4]) / middle
    return result


def shown(nanoseconds):
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if nanoseconds < 0.9995 * limit:
            return f"{nanoseconds / limit * 1e3:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def natural(name):
    """A key that sorts by name, numbers by size."""
    return [(0, float(part), "") if re.fullmatch(r"[0-9.]+(e-?[0-9]+)?", part) else (1, 0.0, part)
            for part in re.split(r"[/=]", name)]


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "an unnamed processor"


def print_conditions(first, compiler, peer):
    """What the machine was; `first` is the run's first file."""
    load = json.loads(first.read_text())["context"]["load_avg"][0]
    print(f"{processor()}, {os.cpu_count()} cores, load {load:.1f}; {compiler}; Python {peer['python']}, "
          f"NumPy {peer['numpy']}, SciPy {peer['scipy']}; {date.today()}.\n")


def print_all(ours):
    print("\nEverything that was timed:\n")
    print("| benchmark | median | ± |\n|---|---:|---:|")
    for name, (middle, spread) in sorted(ours.items(), key=lambda item: natural(item[0])):
        print(f"| `{name}` | {shown(middle)} | {100 * spread:.0f} % |")


def main():
    folder, compiler = Path(sys.argv[1]), sys.argv[2]
    ours = {}
    for name in ("info", "pac", "mechanism"):
        ours |= medians(folder / f"{name}.json")
    peer = json.loads((folder / "peer.json").read_text())

    print_conditions(folder / "info.json", compiler, peer)
    print("| | tacit | peer | ratio |\n|---|---:|---:|---:|")
    for label, mine, theirs in PAIRS:
        a, b = ours[mine][0], peer["nanoseconds"][theirs]
        print(f"| {label} | {shown(a)} | {shown(b)} | {b / a:.{0 if b > 10 * a else 1}f} |")
    print_all(ours)


if __name__ == "__main__":
    main()
