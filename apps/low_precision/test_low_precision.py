# SPDX-License-Identifier: Apache-2.0
"""tacit_low_precision, stopped and resumed on a few steps.

usage: test_low_precision.py TACIT_LOW_PRECISION
"""

import pathlib
import re
import statistics
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "shared" / "runs"))

from study_test import Study  # noqa: E402

PROGRAM = sys.argv.pop(1)
SYSTEMS = ("PACZero-MI", "PACZero-ZPL", "DPZero", "DP-AggZO", "DP-ZO, Laplace")


class LowPrecision(Study, unittest.TestCase):
    program = PROGRAM
    name = "tacit_low_precision"
    log, page, picture = "low_precision.jsonl", "low_precision.md", "low_precision.svg"
    # The times, five systems and quantised parameters on two seeds to tune on and two to score, and the moves on the
    # latter.
    jobs = 1 + (5 + 1) * 4 + 2

    def said(self, page, lines):
        lines = {line["key"]: line for line in lines}
        for system in SYSTEMS:
            scored = [lines[f"quick score {system} seed {seed}"] for seed in (1, 2)]
            tuned = [lines[f"quick tune {system} seed {seed}"]["accuracy"] for seed in (101, 102)]
            # The accuracy of each arm, at the μ of the best mean over the rates of the tuning seeds.
            row = re.search(rf"^\| {re.escape(system)} \| ([0-9].*)\|$", page, re.MULTILINE).group(1).split("|")
            for arm, cell in enumerate(row[:5]):
                means = [max((x + y) / 2 for x, y in zip(*rates)) for rates in zip(tuned[0][arm], tuned[1][arm])]
                best = means.index(max(means))
                mean = statistics.mean(one["accuracy"][arm][best] for one in scored)
                self.assertAlmostEqual(float(cell.split()[0]), mean, delta=6e-4)
            # A float run that is replayed as it was is that run, to the bit, and another storage is not.
            for one in scored:
                self.assertEqual(min(one["apart"][0][:-1]), 0.0)
                self.assertGreater(min(min(row[:-1]) for row in one["apart"][1:]), 0.0)
        scored = [lines[f"quick score quantised seed {seed}"]["accuracy"] for seed in (1, 2)]
        for arm, name in enumerate(("float", "Q8_0", "Q4_0")):
            cell = re.search(rf"^\| {name} \| [^|]*, [^|]*\|([^|]*)\|", page.split("## Quantised parameters")[1], re.MULTILINE)
            mean = statistics.mean(one[arm] for one in scored)
            self.assertAlmostEqual(float(cell.group(1).split()[0]), mean, delta=6e-4)
        self.assertIn("Holm", page)
        # Nothing is said of a difference without its test: ten questions of five systems.
        self.assertEqual(len(re.findall(r"\| (?:\*\*yes\*\*|\*\*no, the opposite\*\*|not seen) \|$", page, re.MULTILINE)),
                         10 * 5)


if __name__ == "__main__":
    unittest.main()
