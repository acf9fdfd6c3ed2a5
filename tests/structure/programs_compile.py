# SPDX-License-Identifier: Apache-2.0
"""The programs that a build leaves out compile: benchmarks, and those that make the tables of docs/pac.md."""
import sys
from pathlib import Path

from compiling import accepts, fastest, in_parallel, parse_command_line

ROOT = Path(__file__).resolve().parents[2]


def main():
    compilers, flags = parse_command_line(__doc__)
    flags += ["-I", str(ROOT / "examples"), '-DTACIT_EXAMPLE_DATA=""']
    sources = sorted([*ROOT.glob("bench/*.cpp"), *ROOT.glob("examples/pac/*.cpp")])
    answers = in_parallel(lambda source: accepts([fastest(compilers), *flags, str(source)]), sources)
    bad = 0
    for source, (accepted, said) in zip(sources, answers):
        if not accepted:
            bad += 1
            print(f"{source.name}\n{said}")
    print(f"{len(sources)} programs, {bad} failures")
    return 1 if bad or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
