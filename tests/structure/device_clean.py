# SPDX-License-Identifier: Apache-2.0
"""nvcc accepts the device-clean headers, makes kernels of them (device_clean.cu), and compiles what runs on a GPU: the
test of bits, the benchmark, the example and the part of the Python package. hipcc, where it is, compiles the test, too.
Compiled to take subnormal numbers for 0 the passes have a trap, and else none.

All headers are one source here: that each compiles alone is another test. Warnings are errors. Exits 77 where there is
no nvcc.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from compiling import in_parallel

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from check_floors import device_clean  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--include", required=True)
    arguments = parser.parse_args()
    if not os.access(arguments.nvcc, os.X_OK):
        print("skipped: there is no nvcc on this machine")
        return 77

    names = device_clean(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        sources = [Path(__file__).with_suffix(".cu"), ROOT / "tests" / "device" / "same_bits.cu",
                   ROOT / "bench" / "gpu.cu", ROOT / "examples" / "kernels" / "cuda.cu",
                   ROOT / "python" / "bindings" / "cuda.cu"]
        together = Path(folder) / "headers.cu"
        together.write_text("".join(f"#include <tacit/{name}>\n" for name in names), encoding="utf-8")
        sources.append(together)

        def accepted(source):
            # Without code for a card: what makes that takes minutes, and objects to nothing.
            command = [arguments.nvcc, "-std=c++20", "-arch=compute_80", "-code=compute_80",
                       "-Werror=all-warnings", "-I", arguments.include, "-Xcompiler=-Wall,-Wextra", "-c", source,
                       "-o", Path(folder) / f"{source.parent.name}_{source.name}.o"]
            return subprocess.run(command, check=False).returncode == 0

        bad = in_parallel(accepted, sources).count(False)
        passes = Path(folder) / "passes.cu"
        passes.write_text("""#include <tacit/zo/launch_gpu.hpp>
#include <tacit/zo/stochastic.hpp>
void move(float* theta, tacit::half* other, tacit::direction_steps terms) {
  tacit::gpu{}(tacit::perturb{theta, {}, 1e-3F}, 10);
  tacit::gpu{}(tacit::stochastic_update{other, terms, {}}, 10);
}
""", encoding="utf-8")
        for flags, stops in (([], False), (["-ftz=true"], True), (["-use_fast_math"], True)):
            code = Path(folder) / "passes.ptx"
            subprocess.run([arguments.nvcc, "-std=c++20", *flags, "-I", arguments.include, "-ptx", passes, "-o", code],
                           check=True)
            kernels = [text for text in code.read_text(encoding="utf-8").split(".entry ")[1:] if "over_" in text[:200]]
            if not kernels or any(("trap;" in text) != stops for text in kernels):
                print(f"{flags or 'no flags'}: a pass {'goes on' if stops else 'stops'}")
                bad += 1
        hip = shutil.which("hipcc")
        if hip:
            command = [hip, "-x", "hip", "--offload-arch=gfx90a", "-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror",
                       "-I", arguments.include, "-c", ROOT / "tests" / "device" / "same_bits.cu",
                       "-o", Path(folder) / "hip.o"]
            bad += subprocess.run(command, check=False).returncode != 0
    print(f"{len(names)} device-clean headers, {len(sources) - 1} files of kernels, "
          f"{'HIP, ' if hip else ''}{bad} refused")
    return 1 if bad or not names else 0


if __name__ == "__main__":
    sys.exit(main())
