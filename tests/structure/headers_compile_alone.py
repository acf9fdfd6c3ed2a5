# SPDX-License-Identifier: Apache-2.0
"""Each header compiles by itself, and twice in one file, without a warning; by the faster compiler, for what
a header forgot does not depend on it.

clang starts a header from what it precompiled of the largest hub that this one includes: a hub is a header that is worth
precompiling from nothing. That hides nothing: what a header says comes after all its includes. (One step only: clang 14
fails on longer chains.)
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


def with_all_they_include(direct):
    """In an order in which each comes after what it includes: {name: all names that it brings along}."""
    closed = {}
    for name in TopologicalSorter(direct).static_order():
        closed[name] = {name}.union(*(closed[included] for included in direct[name]))
    return closed


EIGEN = 600_000  # what it takes to read, as a size of tacit's own text
WRITING = 0.4  # what it takes to write what was precompiled, as a part of reading it


def choose_hubs(closed, texts):
    """Those that save most, one after the other, as long as one saves anything: ({name: size with all it includes}, hubs)."""
    whole = {name: sum(len(texts[one]) for one in names) + EIGEN * any("<Eigen/" in texts[one] for one in names)
             for name, names in closed.items()}
    users = {name: [user for user, names in closed.items() if name in names and user != name] for name in closed}
    saved = dict.fromkeys(closed, 0)
    hubs = set()

    def gain(hub):
        of_users = sum(max(0, whole[hub] - saved[user]) for user in users[hub] if user not in hubs)
        return of_users - saved[hub] - WRITING * whole[hub]

    while True:
        best = max(closed.keys() - hubs, key=lambda name: (gain(name), name))
        if gain(best) <= 0:
            return whole, hubs
        hubs.add(best)
        for user in users[best]:
            saved[user] = max(saved[user], whole[best])


def main():
    compilers, flags = parse_command_line(__doc__)
    command = [fastest(compilers), *flags]
    include = Path(flags[flags.index("-I") + 1])
    texts = {path.relative_to(include).as_posix(): path.read_text() for path in include.rglob("*.hpp")}
    closed = with_all_they_include({name: set(INCLUDE.findall(text)) for name, text in texts.items()})
    whole, hubs = choose_hubs(closed, texts)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = {}

        def precompiled(name):
            return Path(folder, name.replace("/", "_") + ".pch")

        def check(name):
            if name not in hubs and (include / name).with_suffix("").is_dir():
                return True, ""  # only lists others
            start = max(hubs & (closed[name] - {name}), key=lambda hub: (whole[hub], hub), default=None)
            if name in hubs or not start:
                return accepts(command, f"#include <{name}>\n" * 2, out=precompiled(name))
            if not waiting[start].result()[0]:
                return False, "includes one that does not compile"
            return accepts(command, f"#include <{name}>\n" * 2, after=precompiled(start))

        for name in closed:  # who waits for another was queued after it, so that somebody always works
            waiting[name] = pool.submit(check, name)
        return report({name: answer.result() for name, answer in waiting.items()}, "headers")


if __name__ == "__main__":
    sys.exit(main())
