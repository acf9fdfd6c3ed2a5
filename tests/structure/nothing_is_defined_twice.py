# SPDX-License-Identifier: Apache-2.0
"""Two files that include all headers link: nothing in a header is defined but inline. A function that
forgot to be inline is a strong symbol of the one object that is made here."""
import subprocess
import sys
import tempfile
from pathlib import Path

from compiling import fastest, parse_command_line

STRONG = set("ABCDGRST")  # nm's letters of global symbols that are not weak


def strong_symbols(command, source):
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "unit.o"
        subprocess.run([*command, "-O0", "-c", "-x", "c++", "-", "-o", str(made)], input=source,
                       text=True, check=True)
        listed = subprocess.run(["nm", "--demangle", "--defined-only", str(made)], text=True,
                                capture_output=True, check=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return [name for _, letter, name in rows if letter in STRONG]


def main():
    compilers, flags = parse_command_line(__doc__)
    found = strong_symbols([fastest(compilers), *flags],
                           "#include <tacit/tacit.hpp>\nnamespace tacit { int forgot() { return 0; } }\n")
    for name in found:
        print(name)
    return 0 if found == ["tacit::forgot()"] else 1  # that one has to be seen


if __name__ == "__main__":
    sys.exit(main())
