# SPDX-License-Identifier: Apache-2.0
"""The programs that a build leaves out compile: benchmarks, and those that make the tables of docs/pac.md."""
import sys
from pathlib import Path

from compiling import accepts, fastest, in_parallel, parse_command_line, report

ROOT = Path(__file__).resolve().parents[2]


def main():
    compilers, flags = parse_command_line(__doc__)
    command = [fastest(compilers), *flags, "-I", str(ROOT / "apps" / "shared"), '-DTACIT_EXAMPLE_DATA=""']
    sources = sorted([*ROOT.glob("bench/*.cpp"), *ROOT.glob("apps/pac_studies/*.cpp")])
    answers = in_parallel(lambda source: accepts([*command, str(source)]), sources)
    return report({source.name: answer for source, answer in zip(sources, answers)}, "programs")


if __name__ == "__main__":
    sys.exit(main())
