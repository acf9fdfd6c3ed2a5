# SPDX-License-Identifier: Apache-2.0
"""tacit_dpzero, stopped and resumed on a few steps.

usage: test_dpzero_study.py TACIT_DPZERO
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


class Study(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.log = self.out / "dpzero_study.jsonl"
        self.page = self.out / "dpzero_study.md"

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
        # Three ranks, two dimensions, two seeds to tune on and two to score.
        self.assertEqual(len({line["key"] for line in lines}), 3 * 2 * 4)

        page = self.page.read_text()
        picture = (self.out / "dpzero.svg").read_text()
        for word in ("nan", "inf"):
            self.assertNotIn(word, picture)
        self.run_it()
        self.assertEqual((self.log.read_text(), self.page.read_text()), (log, page))
        self.said(page, lines)

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
        row = re.search(r"^\| Theorem 1 \|.*160.*$|^\| Theorem 1 \| 0\.025,.*$", page, re.MULTILINE).group()
        alpha, _, steps = row.split("|")[3].split(",")
        self.assertAlmostEqual(float(alpha), 1 / 160)
        self.assertEqual(int(steps), round(1000 / math.sqrt(40 * math.log(math.e + 2e6))))
        self.assertIn("Holm", page)

    def test_refusals(self):
        for words in (["--seeds", 1], ["--threads", 0], ["--moon"]):
            answer = self.run_it(*words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertTrue(answer.stderr.startswith("tacit_dpzero: "), answer.stderr)
        self.log.write_text("a file of somebody's\n")
        answer = self.run_it()
        self.assertEqual(answer.returncode, 1)
        self.assertEqual(self.log.read_text(), "a file of somebody's\n")


if __name__ == "__main__":
    unittest.main()
