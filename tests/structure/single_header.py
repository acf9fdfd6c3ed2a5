# SPDX-License-Identifier: Apache-2.0
"""README's first program gives the answers that README prints from the single header alone, where nothing else
of tacit and no Eigen is to be found."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compiling import fastest, parse_command_line

ROOT = Path(__file__).resolve().parents[2]
FIRST = re.compile(r"```cpp\n(?P<program>.*?)```\n```\n(?P<printed>.*?)```", re.DOTALL)


def main():
    compilers, flags = parse_command_line(__doc__)
    warnings = [flag for flag in flags if flag.startswith(("-std", "-W"))]
    first = FIRST.search((ROOT / "README.md").read_text())
    program = re.sub(r"#include <tacit/[^>]+>\n", "", first["program"])

    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder) / "tacit_dp.hpp"
        subprocess.run([sys.executable, ROOT / "tools/single_header.py", header], check=True)
        (Path(folder) / "main.cpp").write_text('#include "tacit_dp.hpp"\n' + program)

        made = Path(folder) / "first"
        subprocess.run([fastest(compilers), *warnings, "-O0", "main.cpp", "-o", made], cwd=folder, check=True)
        said = subprocess.run([made], check=True, capture_output=True, text=True).stdout
    print(said)
    return 0 if said == first["printed"] else 1


if __name__ == "__main__":
    sys.exit(main())
