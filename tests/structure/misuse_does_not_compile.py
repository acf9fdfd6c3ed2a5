# SPDX-License-Identifier: Apache-2.0
"""Every file in must_not_compile/ is refused, and its twin, with -DCONTROL, is accepted.

The twin differs by the misuse alone, so that the refusal has the right reason.
"""
import sys
from pathlib import Path

from compiling import accepts, fastest, in_parallel, parse_command_line


def main():
    compilers, flags = parse_command_line(__doc__)
    sources = sorted((Path(__file__).parent / "must_not_compile").glob("*.cpp"))
    jobs = [(fastest(compilers), source) for source in sources]

    def check(job):
        compiler, source = job
        command = [compiler, *flags, "-w", str(source)]  # refused by the language, not by a warning
        misuse, _ = accepts(command)
        control, said = accepts([*command, "-DCONTROL"])
        return misuse, control, said

    bad = 0
    for (compiler, source), (misuse, control, said) in zip(jobs, in_parallel(check, jobs)):
        if misuse:
            bad += 1
            print(f"{compiler} {source.name}: the misuse compiles")
        if not control:
            bad += 1
            print(f"{compiler} {source.name}: the control does not compile\n{said}")
    print(f"{len(sources)} misuses, {bad} failures")
    return 1 if bad or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
