# SPDX-License-Identifier: Apache-2.0
"""Each header compiles by itself, and twice in one file, without a warning; by the faster compiler, for what
a header forgot does not depend on it.

clang starts a header from what it precompiled of the largest header that this one includes, if many do. That
hides nothing: what a header says comes after all its includes. (One step only: clang 14 fails on longer chains.)
"""
import re
import sys
import tempfile
from collections import Counter
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


def main():
    compilers, flags = parse_command_line(__doc__)
    command = [fastest(compilers), *flags]
    include = Path(flags[flags.index("-I") + 1])
    direct = {path.relative_to(include).as_posix(): set(INCLUDE.findall(path.read_text()))
              for path in include.rglob("*.hpp")}
    closed = with_all_they_include(direct)
    used = Counter(included for names in closed.values() for included in names)
    hubs = {name for name in closed if used[name] > 12}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        waiting = {}

        def precompiled(name):
            return Path(folder, name.replace("/", "_") + ".pch")

        def check(name):
            if name not in hubs and (include / name).with_suffix("").is_dir():
                return True, ""  # only lists others
            start = max(hubs & (closed[name] - {name}), key=lambda hub: (len(closed[hub]), hub), default=None)
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
