# SPDX-License-Identifier: Apache-2.0
"""Each header compiles by itself, and twice in one file, without a warning; by the faster compiler, for what
a header forgot does not depend on it.

clang starts a header from what it precompiled of the largest hub that this one includes: a hub is a header that is worth
precompiling from nothing. (One step only: clang 14 fails on longer ones.) And it reads a chain of headers at once, where each
includes the one before it. Both hide nothing: what a header says comes after all its includes, and here after nothing else.
"""
import os
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from graphlib import TopologicalSorter
from pathlib import Path

from compiling import accepts, fastest, parse_command_line, report

INCLUDE = re.compile(r"^\s*#\s*include\s*<(tacit/[^>]+)>", re.MULTILINE)
OTHERS = re.compile(r"^#include <(Eigen|[a-z_]+>)", re.MULTILINE)


def with_all_they_include(direct):
    """In an order in which each comes after what it includes: {name: all names that it brings along}."""
    closed = {}
    for name in TopologicalSorter(direct).static_order():
        closed[name] = {name}.union(*(closed[included] for included in direct[name]))
    return closed


# What it takes to read, as a size of tacit's own text.
STANDARD = 40_000  # one header of the standard library
EIGEN = 600_000
STARTING = 20_000  # what it takes to start the compiler
WRITING = 0.4  # what it takes to write what was precompiled, as a part of reading it


def size_of_others(texts):
    others = {name for text in texts for name in OTHERS.findall(text)}
    return STANDARD * len(others - {"Eigen"}) + EIGEN * ("Eigen" in others)


def in_chains(closed, whole, hubs):
    """What is compiled at once, those of hubs first: (hub to begin from or None, headers from the lowest to the top)."""
    left = set(closed)

    def largest(names):
        return max(names, key=lambda name: (whole[name], name), default=None)

    for top in sorted(closed, key=lambda name: (name in hubs, whole[name], name), reverse=True):
        if top not in left:
            continue
        chain, start = [], None
        below = top
        while below and (top in hubs or not start or STARTING + whole[below] > whole[start]):
            chain.insert(0, below)
            left.remove(below)
            start = None if top in hubs else largest(hubs & closed[below])
            below = largest(left & closed[below] - hubs)
        yield start, chain


def cost(closed, whole, hubs):
    compiled = sum(STARTING + whole[chain[-1]] - whole.get(start, 0) for start, chain in in_chains(closed, whole, hubs))
    return compiled + WRITING * sum(whole[hub] for hub in hubs)


def choose_hubs(closed, whole):
    """Those that save anything, what most of the text includes first."""
    users = {name: sum(name in names for names in closed.values()) for name in closed}
    hubs = set()
    least = cost(closed, whole, hubs)
    for name in sorted(closed, key=lambda name: (users[name] * whole[name], name), reverse=True):
        if (with_it := cost(closed, whole, hubs | {name})) < least:
            hubs.add(name)
            least = with_it
    return hubs


def main():
    compilers, flags = parse_command_line(__doc__)
    command = [fastest(compilers), *flags]
    include = Path(flags[flags.index("-I") + 1])
    texts = {path.relative_to(include).as_posix(): path.read_text() for path in include.rglob("*.hpp")}
    closed = with_all_they_include({name: set(INCLUDE.findall(text)) for name, text in texts.items()})
    whole = {name: sum(len(texts[one]) for one in names) + size_of_others(texts[one] for one in names)
             for name, names in closed.items()}
    for name in texts:
        if (include / name).with_suffix("").is_dir():
            del closed[name]  # only lists others
    hubs = choose_hubs(closed, whole)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = {}

        def precompiled(name):
            return Path(folder, name.replace("/", "_") + ".pch")

        def check(start, chain):
            source = "".join(f"#include <{name}>\n" for name in chain) * 2
            if chain[-1] in hubs:
                return accepts(command, source, out=precompiled(chain[-1]))
            if start and not answers[start].result()[0]:
                return False, "includes one that does not compile"
            return accepts(command, source, after=start and precompiled(start))

        for start, chain in in_chains(closed, whole, hubs):  # who waits for a hub was queued after it
            answers.update(dict.fromkeys(chain, pool.submit(check, start, chain)))
        return report({name: answer.result() for name, answer in answers.items()}, "headers")


if __name__ == "__main__":
    sys.exit(main())
