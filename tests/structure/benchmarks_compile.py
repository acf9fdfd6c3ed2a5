# SPDX-License-Identifier: Apache-2.0
"""Each benchmark compiles, where a build leaves them out."""
import sys
from pathlib import Path

from compiling import accepts, fastest, in_parallel, parse_command_line

BENCH = Path(__file__).resolve().parents[2] / "bench"


def main():
    compilers, flags = parse_command_line(__doc__)
    sources = sorted(BENCH.glob("*.cpp"))
    answers = in_parallel(lambda source: accepts([fastest(compilers), *flags, str(source)]), sources)
    bad = 0
    for source, (accepted, said) in zip(sources, answers):
        if not accepted:
            bad += 1
            print(f"{source.name}\n{said}")
    print(f"{len(sources)} benchmarks, {bad} failures")
    return 1 if bad or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
