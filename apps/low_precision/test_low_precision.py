# SPDX-License-Identifier: Apache-2.0
"""tacit_low_precision, stopped and resumed on a few steps.

usage: test_low_precision.py TACIT_LOW_PRECISION
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
SYSTEMS = ("PACZero-MI", "PACZero-ZPL", "DPZero", "DP-AggZO", "DP-ZO, Laplace")


class Study(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.log = self.out / "low_precision.jsonl"
        self.page = self.out / "low_precision.md"

    def run_it(self, *words):
        return subprocess.run([PROGRAM, "--quick", "--out", str(self.out), *map(str, words)],
                              capture_output=True, text=True, timeout=300)

    def test_a_study_that_is_stopped_goes_on(self):
        answer = self.run_it("--most-jobs", 5)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertIn("the same command goes on", answer.stderr)
        self.assertFalse(self.page.exists())
        begun = self.log.read_text()
        self.assertEqual(len(begun.splitlines()), 1 + 5)

        answer = self.run_it()
        self.assertEqual(answer.returncode, 0, answer.stderr)
        log = self.log.read_text()
        self.assertTrue(log.startswith(begun))
        lines = [json.loads(line) for line in log.splitlines()][1:]
        # The times, five systems on two seeds to tune on and two to score, and the moves on the latter.
        self.assertEqual(len({line["key"] for line in lines}), 1 + 5 * 4 + 2)

        page = self.page.read_text()
        picture = (self.out / "low_precision.svg").read_text()
        for word in ("nan", "inf"):
            self.assertNotIn(word, picture)
            self.assertIsNone(re.search(rf"\b{word}\b", page))
        self.run_it()
        self.assertEqual((self.log.read_text(), self.page.read_text()), (log, page))
        self.said(page, {line["key"]: line for line in lines})

    def said(self, page, lines):
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
        self.assertIn("Holm", page)
        # Nothing is said of a difference without its test: ten questions of five systems.
        self.assertEqual(len(re.findall(r"\| (?:\*\*yes\*\*|\*\*no, the opposite\*\*|not seen) \|$", page, re.MULTILINE)),
                         10 * 5)

    def test_refusals(self):
        for words in (["--seeds", 1], ["--threads", 0], ["--moon"]):
            answer = self.run_it(*words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertTrue(answer.stderr.startswith("tacit_low_precision: "), answer.stderr)
        self.log.write_text("a file of somebody's\n")
        answer = self.run_it()
        self.assertEqual(answer.returncode, 1)
        self.assertEqual(self.log.read_text(), "a file of somebody's\n")


if __name__ == "__main__":
    unittest.main()
