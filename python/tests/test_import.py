# SPDX-License-Identifier: Apache-2.0
"""The package is there at once."""
import subprocess
import sys

SECONDS = """
import time
before = time.process_time()
import tacit
print(time.process_time() - before)
"""


def test_import_takes_less_than_a_tenth_of_a_second():
    found = [float(subprocess.run([sys.executable, "-c", SECONDS], capture_output=True, text=True, check=True).stdout) for _ in range(5)]
    assert min(found) < 0.1


def test_import_brings_no_other_library_and_numpy_only_when_it_is_used():
    program = "import sys, tacit; print(*sys.modules)"
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "torch", "opacus", "dp_accounting"} & set(there)
