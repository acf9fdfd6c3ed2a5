# SPDX-License-Identifier: Apache-2.0
"""Every file in must_not_compile/ is refused, and its twin, with -DCONTROL, is accepted.

The twin differs by the misuse alone, so that the refusal has the right reason. Without exceptions the library is
refused in one message.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from compiling import accepts, fastest, in_parallel, parse_command_line

INCLUDE = Path(__file__).resolve().parents[2] / "include/tacit"


def without_exceptions(compilers, flags):
    """What each compiler says of the whole library, and its preprocessor of each umbrella header."""
    include = "#include <tacit/{}>\n".format
    said = {}
    for compiler in compilers:
        command = [compiler, *flags, "-fno-exceptions"]
        said[compiler] = accepts(command, include("tacit.hpp"))[1]
        for header in sorted(INCLUDE.glob("*.hpp")):
            run = subprocess.run([*command, "-E", "-x", "c++", "-"], input=include(header.name), capture_output=True,
                                 text=True, check=False)
            said[f"{compiler} {header.name}"] = run.stderr
    return said


def main():
    compilers, flags = parse_command_line(__doc__)
    sources = sorted((Path(__file__).parent / "must_not_compile").glob("*.cpp"))
    compiler = fastest(compilers)
    command = [compiler, *flags, "-w"]  # refused by the language, not by a warning

    def check(source):
        misuse, _ = accepts([*command, str(source)], after=start)
        control, said = accepts([*command, str(source), "-DCONTROL"], after=start)
        return misuse, control, said

    with tempfile.TemporaryDirectory() as folder:
        start = None
        if "clang" in compiler:  # all begin with the same headers: those that any of them includes
            start = Path(folder, "headers.pch")
            headers = {line for source in sources for line in re.findall(r"^#include <.*", source.read_text(), re.MULTILINE)}
            accepted, said = accepts(command, "\n".join(sorted(headers)) + "\n", out=start)
            if not accepted:
                print(said)
                return 1
        answers = in_parallel(check, sources)
    bad = 0
    for source, (misuse, control, said) in zip(sources, answers):
        if misuse:
            bad += 1
            print(f"{source.name}: the misuse compiles")
        if not control:
            bad += 1
            print(f"{source.name}: the control does not compile\n{said}")
    for name, said in without_exceptions(compilers, flags).items():
        errors = re.findall(r"error: .*", said)
        if len(errors) != 1 or "tacit needs exceptions" not in errors[0]:
            bad += 1
            print(f"{name}: -fno-exceptions gives {len(errors)} errors\n{said}")
    print(f"{len(sources)} misuses, {bad} failures")
    return 1 if bad or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
