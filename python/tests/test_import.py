# SPDX-License-Identifier: Apache-2.0
"""The package is there at once."""
import subprocess
import sys

SECONDS = """
import time, numpy
before = time.perf_counter()
import tacit
print(time.perf_counter() - before)
"""


def test_import_takes_less_than_a_tenth_of_a_second_after_numpys():
    found = [float(subprocess.run([sys.executable, "-c", SECONDS], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert min(found) < 0.1


def test_import_brings_no_other_library():
    program = "import sys, tacit; print(*sys.modules)"
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"scipy", "torch", "opacus", "dp_accounting"} & set(there)
