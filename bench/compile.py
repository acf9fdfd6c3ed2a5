#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiling costs: headers alone, and two small programs with and without tacit::compiled.

usage: compile.py [--compiler=…] [--runs=3] [--check=FACTOR] [--ratios] [FLAGS]

Prints the table of docs/benchmarks.md: user CPU seconds and the compiler's memory, medians of some runs, and the ratio to
<Eigen/Dense> in the same run, which hardly depends on the machine. --check prints nothing of the kind, but fails
where a header costs more than FACTOR times what it did when KNOWN was written; --ratios prints that list.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
UNIT = "Eigen/Dense"

# The aims: a ratio to <Eigen/Dense>, and MB or nothing.
HEADERS = {
    "core": (1.0, None),
    "info": (1.0, None),
    "zo": (1.0, None),
    "dp/privacy_loss": (1.5, None),
    "dp": (2.0, None),
    "mechanism": (2.5, None),
    "pac": (2.5, 500),
    "tacit": (3.5, 700),
}
# What headers cost at most today, by g++ 12: see --ratios.
KNOWN = {
    "core": 0.60,
    "info": 0.63,
    "random": 0.15,
    "secret": 0.63,
    "zo": 1.00,
    "dp/privacy_loss": 1.46,
    "dp": 1.67,
    "mechanism": 1.65,
    "pac": 1.52,
    "train": 1.20,
    "audit": 0.76,
    "tacit": 3.70,
}
PROGRAMS = {
    "certified_epsilon": ("one certified ε", 3.0),
    "calibrated_candidates": ("one calibration from candidates", 6.0),
}


def cost(command, source=None):
    """(user CPU seconds, MB) of a run of the compiler."""
    with tempfile.TemporaryFile("w+") as given, tempfile.TemporaryFile("w+") as said:
        given.write(source or "")
        given.seek(0)
        process = subprocess.Popen(command, stdin=given, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}\n{said.read()}")
    return usage.ru_utime, usage.ru_maxrss / 1024


def cost_of_include(compiler, header):
    return cost([*compiler, "-fsyntax-only", "-x", "c++", "-"], f"#include <{header}>\n")


def cost_of_program(compiler, name, *flags):
    source = ROOT / "bench" / "compile" / f"{name}.cpp"
    return cost([*compiler, "-O2", *flags, "-c", "-o", os.devnull, str(source)])


def print_table(compiler, runs):
    def measured(what, *arguments):
        costs = [what(*arguments) for _ in range(runs)]
        return median(seconds for seconds, _ in costs), median(memory for _, memory in costs)

    version = subprocess.run([compiler[0], "--version"], capture_output=True, text=True, check=True).stdout
    print(f"{version.splitlines()[0]}; load {os.getloadavg()[0]:.1f}; {date.today()}.\n")
    unit, memory = measured(cost_of_include, compiler, UNIT)
    print("| | CPU | ratio | aim | memory | aim |")
    print("|---|---:|---:|---:|---:|---:|")
    print(f"| `<{UNIT}>` | {unit:.2f} s | 1 | | {memory:.0f} MB | |")

    def print_row(name, got, ratio_aim=None, memory_aim=None):
        seconds, memory = got
        ratio_aim = f"≤ {ratio_aim:g}" if ratio_aim else ""
        memory_aim = f"≤ {memory_aim} MB" if memory_aim else ""
        print(f"| {name} | {seconds:.2f} s | {seconds / unit:.2f} | {ratio_aim} "
              f"| {memory:.0f} MB | {memory_aim} |")

    for header, aims in HEADERS.items():
        print_row(f"`<tacit/{header}.hpp>`",
                  measured(cost_of_include, compiler, f"tacit/{header}.hpp"), *aims)
    for name, (words, aim) in PROGRAMS.items():
        print_row(f"{words}, `-O2`", measured(cost_of_program, compiler, name), aim)
        print_row(f"{words}, `-O2`, with `tacit::compiled`",
                  measured(cost_of_program, compiler, name, "-DTACIT_COMPILED"))


def ratio_of(compiler, header, units, enough):
    """(CPU of the least of some runs over that of <Eigen/Dense>, MB): no more runs than show that it is `enough`."""
    least = float("inf")
    for _ in range(5):
        # One right after the other, so that a busy machine slows both.
        units.append(cost_of_include(compiler, UNIT)[0])
        seconds, memory = cost_of_include(compiler, f"tacit/{header}.hpp")
        least = min(least, seconds)
        if least / min(units) <= enough:
            break
    return least / min(units), memory


def check(compiler, factor):
    bad, units = 0, []
    for header, known in KNOWN.items():
        _, memory_aim = HEADERS.get(header, (None, None))
        most = factor * known
        ratio, memory = ratio_of(compiler, header, units, most)
        good = ratio <= most and memory <= factor * (memory_aim or 1000)
        bad += not good
        print(f"tacit/{header}.hpp: {ratio:.2f} times <{UNIT}>, at most {most:.2f}; "
              f"{memory:.0f} MB{'' if good else ' FAILS'}")
    return 1 if bad else 0


def print_ratios(compiler):
    units = []
    for header in KNOWN:
        print(f'    "{header}": {ratio_of(compiler, header, units, 0.0)[0]:.2f},')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--check", type=float, metavar="FACTOR")
    parser.add_argument("--ratios", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    arguments, flags = parser.parse_known_args()
    flags = flags or ["-std=c++20", "-I", str(ROOT / "include"), "-isystem", "/usr/include/eigen3"]
    compiler = [arguments.compiler, *flags]
    if arguments.check:
        return check(compiler, arguments.check)
    if arguments.ratios:
        return print_ratios(compiler)
    print_table(compiler, arguments.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
