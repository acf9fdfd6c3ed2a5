# SPDX-License-Identifier: Apache-2.0
"""same_bits.cpp gives its known hash by every compiler here, at every optimisation, vector width and
contraction of products, on one thread and on several; by nvcc where there is a GPU to run it."""
import argparse
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from compiling import in_parallel

SOURCE = Path(__file__).with_suffix(".cpp")
BUILDS = ["-O0", "-O3", "-O3 -march=native -ffp-contract=fast"]
BUILDS_X86 = ["-O2 -mavx2 -mno-fma", "-O3 -mavx2 -mf16c -mfma", "-O2 -mavx512f",
              "-O3 -mavx512f -mavx512cd -mavx512bw -mavx512vl -mavx512dq -mbmi2 -ffp-contract=off"]


def runs_here(build):
    """Whether this processor has what the build is for."""
    wanted = {flag[2:] for flag in build.split() if flag.startswith("-m") and flag != "-march=native"}
    wanted = {flag for flag in wanted if not flag.startswith("no-")}
    return not wanted or wanted <= set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", action="append", required=True)
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--include", required=True)
    arguments = parser.parse_args()
    compilers = {os.path.realpath(compiler): compiler for compiler in arguments.compiler}.values()
    builds = BUILDS + (BUILDS_X86 if platform.machine() == "x86_64" else [])
    for build in builds:
        if not runs_here(build):
            print(f"left out, this processor does not run it: {build}")
    builds = [build for build in builds if runs_here(build)]
    jobs = [[compiler, *build.split()] for compiler in compilers for build in builds]
    for job in jobs:
        if "clang" not in job[0] and "-march=native" in job:
            job.append("-fopenmp")  # clang's wants a library of its own
    if os.access(arguments.nvcc, os.X_OK) and os.path.exists("/dev/nvidiactl"):
        jobs.append([arguments.nvcc, "-x", "cu", "-O2"])

    with tempfile.TemporaryDirectory() as folder:
        def result_of(job):
            program = Path(folder) / str(jobs.index(job))
            made = subprocess.run([*job, "-std=c++20", "-I", arguments.include, SOURCE, "-o", program],
                                  capture_output=True, text=True, check=False)
            if made.returncode != 0:
                return False, made.stderr
            run = subprocess.run([program], capture_output=True, text=True, check=False)
            if run.returncode < 0:
                return False, f"ended by signal {-run.returncode}"
            return run.returncode in (0, 77), (run.stdout + run.stderr).strip()

        results = in_parallel(result_of, jobs)
    for job, (good, said) in zip(jobs, results):
        print(" ".join(job), "gives" if good else "FAILS:", said)
    return 0 if all(good for good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
