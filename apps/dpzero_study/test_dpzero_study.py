# SPDX-License-Identifier: Apache-2.0
"""tacit_dpzero, stopped and resumed on a few steps.

usage: test_dpzero_study.py TACIT_DPZERO
"""

import math
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "shared" / "runs"))

from study_test import Study  # noqa: E402

PROGRAM = sys.argv.pop(1)


class DPZeroStudy(Study, unittest.TestCase):
    program = PROGRAM
    name = "tacit_dpzero"
    log, page, picture = "dpzero_study.jsonl", "dpzero_study.md", "dpzero.svg"
    # Three ranks, two dimensions, two seeds to tune on and two to score.
    jobs = 3 * 2 * 4

    def said(self, page, lines):
        # A mean and its slope, from the log: the first row of the first table, DPZero on the sphere.
        norms = {}
        for line in lines:
            what, _, _, rank, *rest = line["key"].split()
            if what == "score" and rank == "d":
                norms.setdefault(int(rest[1]), []).append(line["norms"][0])
        row = re.search(r"^\| DPZero, sphere \|(.*)\|$", page, re.MULTILINE).group(1).split("|")
        for cell, d in zip(row, (10, 40)):
            self.assertAlmostEqual(float(cell.split()[0]), sum(norms[d]) / 2, delta=6e-4)
        slopes = [math.log(b / a) / math.log(4) for a, b in zip(norms[10], norms[40])]
        self.assertAlmostEqual(float(row[2].split()[0]), sum(slopes) / 2, delta=6e-4)
        # Theorem 1 at d = 40: α = 1/160, T = 500·2/√(40·ln(e + 2e6)).
        row = re.search(r"^\| Theorem 1 \| 0\.025,.*$", page, re.MULTILINE).group()
        alpha, _, steps = row.split("|")[3].split(",")
        self.assertAlmostEqual(float(alpha), 1 / 160)
        self.assertEqual(int(steps), round(1000 / math.sqrt(40 * math.log(math.e + 2e6))))
        self.assertIn("Holm", page)


if __name__ == "__main__":
    unittest.main()
