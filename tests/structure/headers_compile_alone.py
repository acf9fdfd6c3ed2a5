# SPDX-License-Identifier: Apache-2.0
"""Each header compiles by itself, and twice in one file, without a warning; by the faster compiler, for what
a header forgot does not depend on it."""
import sys
from pathlib import Path

from compiling import accepts, fastest, in_parallel, parse_command_line


def main():
    compilers, flags = parse_command_line(__doc__)
    include = Path(flags[flags.index("-I") + 1])
    names = [path.relative_to(include).as_posix() for path in sorted(include.rglob("*.hpp"))]
    names = [name for name in names if not (include / name).with_suffix("").is_dir()]  # only list others
    jobs = [(fastest(compilers), name) for name in names]

    def check(job):
        compiler, name = job
        return accepts([compiler, *flags], f"#include <{name}>\n" * 2)

    bad = 0
    for (compiler, name), (accepted, said) in zip(jobs, in_parallel(check, jobs)):
        if not accepted:
            bad += 1
            print(f"{compiler} <{name}>\n{said}")
    print(f"{len(names)} headers, {bad} failures")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main())
