#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the accountants as a single header, for online compilers and for projects that copy one file.

usage: python3 tools/single_header.py [FILE]      (build/tacit_dp.hpp unless given)

The file is <tacit/dp.hpp> and what it includes, in that order, without comments: these are in the headers that it
names. It needs a C++20 compiler and nothing else, and must not be included together with tacit's own headers.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
ROOTS = ["tacit/dp.hpp", "tacit/core/decimal.hpp"]
OURS = re.compile(r"#\s*include <(tacit/[^>]+)>$")
THEIRS = re.compile(r"#\s*include <([^>]+)>$")
CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|endif)\b")
HEAD = """\
// SPDX-License-Identifier: Apache-2.0
//
// tacit {version}: differential privacy accounting in one header, made by tools/single_header.py of
// the project, where the same code stands with its comments, proofs and tests.
#pragma once

{system}
"""


def joined(headers):
    """The bodies of headers and of what they include, each once, and the standard headers they need."""
    bodies, system, seen = [], set(), set()

    def add(name):
        if name in seen:
            return
        seen.add(name)
        body, depth = [], 0
        for line in (INCLUDE / name).read_text().split("\n"):
            text = line.strip()
            condition = CONDITION.match(text)
            if condition:
                depth += -1 if condition[1] == "endif" else 1
            if ours := OURS.match(text):
                if depth:
                    raise SystemExit(f"{name}: an include of tacit under a condition")
                add(ours[1])
            elif not depth and (theirs := THEIRS.match(text)):
                system.add(theirs[1])
            elif text and not text.startswith("//") and text != "#pragma once":
                body.append(line)
        if body:
            bodies.append(f"// {name}\n" + "\n".join(body) + "\n")

    for header in headers:
        add(header)
    return bodies, sorted(system)


def main():
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    out = Path(sys.argv[1]) if len(sys.argv) == 2 else ROOT / "build" / "tacit_dp.hpp"
    bodies, system = joined(ROOTS)
    version = re.search(r'#define TACIT_VERSION "([^"]+)"',
                        (INCLUDE / "tacit/config.hpp").read_text())[1]
    head = HEAD.format(version=version, system="\n".join(f"#include <{s}>" for s in system))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(head + "\n" + "\n".join(bodies))
    print(f"{out}: {out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
