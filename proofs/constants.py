#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The constants that a proof is about, as the headers have them.

A comment "from FILE: CODE" of a proof quotes code of include/tacit/FILE with {name} in the place of each number. But for
blanks the code must be there, exactly once: a proof is of the header's own number, and fails if the code is another one.

usage: constants.py PROOF    prints "name = value;" lines, for sollya and gappa
"""
import re
import sys
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NUMBER = r"([-+]?(?:0x[0-9a-f]+(?:\.[0-9a-f]*)?(?:p[-+]?[0-9]+)?|[0-9][0-9']*(?:\.[0-9]*)?(?:e[-+]?[0-9]+)?))L?"
QUOTE = re.compile(r"^(?://|#) from ([\w/.]+): (.*)$", re.M)
NAME = re.compile(r"\{([a-z]\w*)\}")


def bare(code):
    return re.sub(r"\s+", "", code)


def double_of(literal):
    literal = literal.replace("'", "")
    return float.fromhex(literal) if literal.lstrip("+-").startswith("0x") else float(literal)


def quoted(text):
    """The doubles that a proof's quotes name. Raises LookupError where the header has other code, or the proof has no use for one."""
    found = {}
    rest = QUOTE.sub("", text)
    for header, code in QUOTE.findall(text):
        names = NAME.findall(code)
        idle = [name for name in names if not re.search(rf"\b{name}\b", rest)]
        if idle:
            raise LookupError(f"{header}: nothing is said of {idle}")
        parts = [re.escape(bare(part)) for part in NAME.split(code)[::2]]
        matches = re.findall(NUMBER.join(parts), bare((ROOT / "include/tacit" / header).read_text("utf-8")))
        if len(matches) != 1:
            raise LookupError(f"{header} has {len(matches)} places like: {code}")
        values = [matches[0]] if len(names) == 1 else matches[0] if names else []
        for name, value in zip(names, values):
            if found.setdefault(name, double_of(value)) != double_of(value):
                raise LookupError(f"{header}: {name} is {value}, and {found[name]} elsewhere")
    return found


def constants_of(script):
    """The same as fractions, of a proof in Python: constants_of(__file__)."""
    return {name: Fraction(value) for name, value in quoted(Path(script).read_text("utf-8")).items()}


class Statements:
    """Prints "proved" or "FAILED" a statement; `status` is the exit status."""

    def __init__(self):
        self.status = 0

    def __call__(self, name, holds):
        print("proved" if holds else "FAILED", name)
        if not holds:
            self.status = 1


def prove(script, *checks):
    """Runs checks(constants, statements) of a proof in Python, and returns its exit status: sys.exit(prove(__file__, ...))."""
    c, holds = constants_of(script), Statements()
    for check in checks:
        check(c, holds)
    return holds.status


if __name__ == "__main__":
    try:
        for key, number in quoted(Path(sys.argv[1]).read_text("utf-8")).items():
            print(f"{key} = {number.hex().replace('p+', 'p')};")
    except LookupError as error:
        sys.exit(f"FAILED {sys.argv[1]}: {error}")
