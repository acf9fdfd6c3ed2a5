# SPDX-License-Identifier: Apache-2.0
"""Runs compilers over many small sources, without making an object."""
import argparse
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor


def parse_command_line(description):
    """--compiler=… (repeated), then the flags that every compiler gets."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--compiler", action="append", required=True)
    known, flags = parser.parse_known_args()
    distinct = {os.path.realpath(compiler): compiler for compiler in known.compiler}
    return list(distinct.values()), flags


def fastest(compilers):
    """For what the language asks, one compiler is enough."""
    return next((compiler for compiler in compilers if "clang" in compiler), compilers[0])


def accepts(command, source=None, out=os.devnull, after=None):
    """(whether the compiler accepts it, what it said); a source is given on the standard input.

    clang reads it as a header to precompile, into `out` and beginning with what `after` has precompiled. That
    leaves the bodies of function templates alone: most of the time goes into those, and the tests
    instantiate them.
    """
    if "clang" in command[0]:
        how = ["-Xclang", "-emit-pch", "-fno-pch-instantiate-templates", "-x", "c++-header", "-o", str(out)]
        how += ["-include-pch", str(after)] if after else []
    else:
        how = ["-fsyntax-only", "-x", "c++"]
    command = [command[0], *how, *command[1:]] + (["-"] if source is not None else [])
    run = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stderr


def report(answers, what):
    """Prints what was refused of {name: answer of accepts}; the exit status of a test."""
    bad = 0
    for name, (accepted, said) in answers.items():
        if not accepted:
            bad += 1
            print(f"{name}\n{said}")
    print(f"{len(answers)} {what}, {bad} failures")
    return 1 if bad or not answers else 0


def in_parallel(function, items):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))
