# SPDX-License-Identifier: Apache-2.0
"""Every umbrella header compiles with another standard library, or for another system.

usage: portable.py libcxx|mingw FLAGS...
Exits 77 where that compiler is missing. tools/portability.sh also runs what is compiled.
"""
import subprocess
import sys
from pathlib import Path

COMPILERS = {"libcxx": ["clang++", "-stdlib=libc++"], "mingw": ["x86_64-w64-mingw32-g++-posix"]}


def compiles(command, source):
    try:
        return subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=source, text=True,
                              capture_output=True, check=False)
    except FileNotFoundError:
        return None


def main():
    platform, *flags = sys.argv[1:]
    command = [*COMPILERS[platform], *(flag for flag in flags if flag != "-Werror"), "-w"]
    include = Path(flags[flags.index("-I") + 1], "tacit")
    probe = compiles(command, "#include <version>\n")
    if probe is None or probe.returncode:
        print(f"there is no {platform} here")
        return 77
    # tacit.hpp includes the others; on Windows after the system's header, with its macros.
    source = "#if defined(_WIN32)\n#include <windows.h>\n#endif\n#include <tacit/tacit.hpp>\n"
    answer = compiles(command, source)
    print(answer.stderr[-4000:])
    listed = (include / "tacit.hpp").read_text(encoding="utf-8")
    missing = [path.name for path in include.glob("*.hpp")
               if path.name != "tacit.hpp" and f"<tacit/{path.name}>" not in listed]
    return 1 if answer.returncode or missing else 0


if __name__ == "__main__":
    sys.exit(main())
