#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiling costs: headers alone, and two small programs with and without tacit::compiled.

usage: compile.py [--compiler=…] [--runs=3] [--check | --memory] [FLAGS]

Prints the table of docs/benchmarks.md: user CPU seconds and the compiler's memory, medians of some runs, and the ratio to
<Eigen/Dense> in the same run, which depends less on the machine. --check fails where g++ needs more memory for a header
than KNOWN allows: that follows the CPU time, and is the same on an idle machine and a busy one.
--memory prints that list.
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
# The memory that g++ 12 needs for a header, as a ratio to <Eigen/Dense>: see --memory. A tenth more is allowed.
KNOWN = {
    "core": 0.72,
    "info": 0.56,
    "random": 0.24,
    "secret": 0.57,
    "zo": 0.84,
    "dp/privacy_loss": 1.35,  # .04 of it, and of dp, is a table of g++ that has doubled at this size
    "dp": 1.72,
    "mechanism": 2.00,
    "pac": 1.50,
    "train": 1.10,
    "audit": 0.73,
    "tacit": 3.18,
}
ALLOWANCE = 1.1
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


def megabytes_needed(compiler, header):
    """What g++ needs in all where it collects nothing on the way: the same in every run, and three times as fast as
    -ftime-report, which counts what is allocated."""
    _, memory = cost([*compiler, "--param", "ggc-min-heapsize=8388608", "-fsyntax-only", "-x", "c++", "-"],
                     f"#include <{header}>\n")
    return memory


def ratios_of_memory(compiler):
    unit = megabytes_needed(compiler, UNIT)
    for header in KNOWN:
        yield header, megabytes_needed(compiler, f"tacit/{header}.hpp") / unit


def check(compiler):
    bad = 0
    for header, ratio in ratios_of_memory(compiler):
        most = ALLOWANCE * KNOWN[header]
        bad += ratio > most
        print(f"tacit/{header}.hpp: g++ needs {ratio:.2f} times the memory of <{UNIT}>, at most {most:.2f} allowed"
              f"{'' if ratio <= most else ' FAILS'}")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    arguments, flags = parser.parse_known_args()
    flags = flags or ["-std=c++20", "-I", str(ROOT / "include"), "-isystem", "/usr/include/eigen3"]
    compiler = [arguments.compiler, *flags]
    if arguments.check:
        return check(compiler)
    if arguments.memory:
        for header, ratio in ratios_of_memory(compiler):
            print(f'    "{header}": {ratio:.2f},')
        return 0
    print_table(compiler, arguments.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
