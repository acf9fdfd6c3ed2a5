# SPDX-License-Identifier: Apache-2.0
"""pac_dither's table against an enumeration of all records.

usage: test_dither.py PAC_DITHER
"""

import itertools
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def plus_given(total, sigma):
    if sigma == 0:
        return (total > 0) + 0.5 * (total == 0)
    return 0.5 * math.erfc(-total / sigma / math.sqrt(2))


def entropy(*law):
    return -sum(p * math.log(p) for p in law if p > 0)


def enumerated(records, mean, sigma):
    """P(the sign is +), I(X_1; Y | the others), and the most that the others allow for a fair record."""
    q = 0.5 * (1 + mean)
    right, average, most = 0.0, 0.0, 0.0
    for signs in itertools.product((-1, 1), repeat=records):
        right += math.prod(q if s > 0 else 1 - q for s in signs) * plus_given(sum(signs), sigma)
    for others in itertools.product((-1, 1), repeat=records - 1):
        up, down = (plus_given(sum(others) + s, sigma) for s in (1, -1))

        def told(p):
            y = p * up + (1 - p) * down
            return entropy(y, 1 - y) - p * entropy(up, 1 - up) - (1 - p) * entropy(down, 1 - down)

        average += math.prod(q if s > 0 else 1 - q for s in others) * told(q)
        most = max(most, told(0.5))
    return right, average, most


class Dither(unittest.TestCase):
    def rows(self, *words):
        answer = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        lines = [line.strip("| ").split(" | ") for line in answer.stdout.splitlines() if line.startswith("| ")]
        return lines[1:]

    def test_the_table_is_that_of_all_records(self):
        for records, mean in ((7, 0.3), (9, 0.0), (1, 0.5)):
            rows = self.rows("--records", records, "--mean", mean, "--releases", 256)
            self.assertEqual(float(rows[0][0]), 0.0)
            right_clear, _, _ = enumerated(records, mean, 0.0)
            for row in rows:
                right, average, most = enumerated(records, mean, float(row[0]))
                self.assertAlmostEqual(float(row[1]), right, delta=6e-5)
                masked = 0.5 + most / math.log(2) * (right_clear - 0.5)
                self.assertAlmostEqual(float(row[2]), masked, delta=6e-5)
                self.assertAlmostEqual(float(row[3]) / average, 1, delta=6e-3)
                self.assertAlmostEqual(float(row[4]) / most, 1, delta=6e-3)
                self.assertLessEqual(float(row[3]), float(row[4]) * 1.01)
                self.assertAlmostEqual(float(row[7]), (2 * right - 1) ** 2 / most,
                                       delta=6e-3 * float(row[7]) + 1e-12)

    def test_a_figure_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            self.rows("--records", 25, "--releases", 256, "--out", folder)
            picture = (pathlib.Path(folder) / "dither.svg").read_text()
        self.assertIn("<svg", picture)
        self.assertIn("mask", picture)

    def test_refusals(self):
        for words in (["--records", "0"], ["--mean", "2"], ["--mean", "nan"], ["--releases", "0"]):
            answer = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=120)
            self.assertNotEqual(answer.returncode, 0, words)


if __name__ == "__main__":
    unittest.main()
