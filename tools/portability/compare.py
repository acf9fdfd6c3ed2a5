# SPDX-License-Identifier: Apache-2.0
"""Compares what figures.cpp printed on two platforms.

usage: compare.py HERE THERE

Prints how many figures agree, and exits 1 where bits differ, intervals do not overlap, a figure is off
by more than 1e-9 of itself, or one is missing.
"""
import sys
from pathlib import Path


def read(path):
    rows = (line.split() for line in Path(path).read_text(encoding="utf-8").splitlines())
    return {name: (kind, values) for kind, name, *values in rows}


def agrees(kind, here, there):
    if kind == "bits":
        return here == there
    if kind == "interval":
        (low, high), (other_low, other_high) = map(float, here), map(float, there)
        return max(low, other_low) <= min(high, other_high)
    x, y = float(here[0]), float(there[0])
    return abs(x - y) <= 1e-9 * abs(x)


def main():
    here, there = read(sys.argv[1]), read(sys.argv[2])
    bad = sorted(here.keys() ^ there.keys())
    bad += [name for name in here.keys() & there.keys()
            if here[name][0] != there[name][0] or not agrees(here[name][0], here[name][1], there[name][1])]
    equal = sum(here[name] == there.get(name) for name in here)
    print(f"{equal} of {len(here)} digit for digit" + (f"; DIFFER: {' '.join(bad)}" if bad else ", the others agree"))
    return 1 if bad or not here else 0


if __name__ == "__main__":
    sys.exit(main())
