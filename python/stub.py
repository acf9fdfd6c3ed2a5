# SPDX-License-Identifier: Apache-2.0
"""Takes `| None` out of a stub where an argument has no default of None: there None is refused, by the argument's name.

usage: stub.py FILE
"""
import re
import sys
from pathlib import Path

# What only this package calls, with None for what is left out.
OWN = ("ask", "gap", "information_of_candidates", "noise_for_candidates", "noise_for_samples")
REFUSED = re.compile(r" \| None(?=[,)]| = (?!None\b))")


def written(line):
    own = line.startswith(tuple(f"def {name}(" for name in OWN))
    return line if own or not line.lstrip().startswith("def ") else REFUSED.sub("", line)


if __name__ == "__main__":
    stub = Path(sys.argv[1])
    stub.write_text("".join(written(line) for line in stub.read_text(encoding="utf-8").splitlines(True)), encoding="utf-8")
