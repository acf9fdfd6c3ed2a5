# SPDX-License-Identifier: Apache-2.0
"""Each header compiles by itself, and twice in one file, without a warning; by the faster compiler, for what
a header forgot does not depend on it."""
import sys
from pathlib import Path

from compiling import fastest, parse_command_line, refusals


def main():
    compilers, flags = parse_command_line(__doc__)
    command = [fastest(compilers), *flags]
    include = Path(flags[flags.index("-I") + 1])
    headers = [path for path in sorted(include.rglob("*.hpp"))
               if not path.with_suffix("").is_dir()]  # those only list others
    names = [path.relative_to(include).as_posix() for path in headers]
    return refusals({name: (command, f"#include <{name}>\n" * 2) for name in names}, "headers")


if __name__ == "__main__":
    sys.exit(main())
