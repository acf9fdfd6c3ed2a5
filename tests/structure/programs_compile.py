# SPDX-License-Identifier: Apache-2.0
"""The programs that a build leaves out compile: benchmarks, and those that make the tables of docs/pac.md."""
import sys
from pathlib import Path

from compiling import fastest, parse_command_line, refusals

ROOT = Path(__file__).resolve().parents[2]


def main():
    compilers, flags = parse_command_line(__doc__)
    command = [fastest(compilers), *flags, "-I", str(ROOT / "examples"), '-DTACIT_EXAMPLE_DATA=""']
    sources = sorted([*ROOT.glob("bench/*.cpp"), *ROOT.glob("examples/pac/*.cpp")])
    return refusals({source.name: ([*command, str(source)],) for source in sources}, "programs")


if __name__ == "__main__":
    sys.exit(main())
