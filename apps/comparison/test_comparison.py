# SPDX-License-Identifier: Apache-2.0
"""tacit_comparison, run, stopped, killed and resumed on a few steps of some rows.

usage: test_comparison.py TACIT_COMPARISON
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv.pop(1)


class Comparison(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.runs = self.out / "results.jsonl"

    def command(self, *words):
        return [PROGRAM, "--quick", "--out", str(self.out), *map(str, words)]

    def run_it(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=600)

    def done(self, *words):
        answer = self.run_it(*words)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return answer

    def lines(self):
        lines = [json.loads(line) for line in self.runs.read_text().splitlines()]
        self.assertEqual(list(lines[0]), ["protocol", "quick", "digits.csv", "breast_cancer.csv"])
        self.assertEqual(lines[0]["quick"], True)
        return lines[1:]

    def page(self):
        return (self.out / "results.md").read_text()

    def test_a_run_that_is_stopped_and_killed_goes_on(self):
        answer = self.done("--most-runs", 5)
        self.assertIn("the same command goes on", answer.stderr)
        self.assertEqual(len(self.lines()), 5)
        self.assertNotIn("### Digits", self.page())  # a place is shown when all of it is there

        running = subprocess.Popen(self.command(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 300
        while self.runs.read_text().count("\n") < 20 and time.monotonic() < deadline:
            self.assertIsNone(running.poll())
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
        running.wait()
        killed = self.runs.read_text()
        whole = killed[: killed.rfind("\n") + 1]
        self.assertGreaterEqual(whole.count("\n"), 20)
        self.runs.write_text(whole + '{"key":"tune di')

        answer = self.done("--json", self.out / "all.json")
        self.assertNotIn("the same command goes on", answer.stderr)
        text = self.runs.read_text()
        self.assertTrue(text.startswith(whole))
        keys = [line["key"] for line in self.lines()]
        self.assertEqual(len(set(keys)), len(keys))
        for seed in (101, 102, 103, 104, 105):
            self.assertTrue(any(key.startswith("tune ") and key.endswith(f" {seed}") for key in keys))
        scored = [key for key in keys if key.startswith("score ")]
        self.assertTrue(all(key.split()[-1] in ("1", "2") for key in scored))

        # All of it is from the file: nothing runs again, and the page is the same.
        page = self.page()
        pictures = [(self.out / name).read_bytes() for name in ("results.svg", "claims.svg")]
        self.done()
        self.assertEqual(self.runs.read_text(), text)
        self.assertEqual(self.page(), page)
        self.assertEqual([(self.out / name).read_bytes() for name in ("results.svg", "claims.svg")],
                         pictures)
        self.said(page)

        # So it is where only a part is asked for, and where nothing may run.
        self.done("--only", "shadows", "--most-runs", 0)
        self.assertEqual(self.page(), page)

        # The chosen settings are those of the best mean over all seeds of tuning, among those that ran on all.
        scores = {}
        for line in self.lines():
            if line["key"].startswith("tune digits "):
                name, settings = line["key"].split()[2:4]
                scores.setdefault((name, settings), []).append(line["score"])
        best = {}
        for (name, settings), all_of_it in scores.items():
            self.assertIn(len(all_of_it), (2, 5))
            if len(all_of_it) == 5 and (name not in best or sum(all_of_it) > sum(best[name][1])):
                best[name] = settings, all_of_it
        for key in scored:
            _, place, name, settings, _ = key.split()
            if place == "digits" and name in best:
                self.assertAlmostEqual(sum(scores[name, settings]), sum(best[name][1]), 12, name)

        # A row without one of its runs is no row.
        without = [line for line in text.splitlines() if not line.startswith('{"key":"score digits dpzero@2 ')]
        self.runs.write_text("\n".join(without) + "\n")
        self.done("--most-runs", 0)
        self.assertNotIn("### Digits", self.page())

    def said(self, page):
        for text in ("24 settings", "Holm", "public training alone", "with tuning", "Shadow runs"):
            self.assertIn(text, page)
        row = re.search(r"^\| DPZero \| 2 \|.*$", page, re.MULTILINE).group().split("|")
        self.assertRegex(row[3], r"^ 0\.\d{3} \(-?\d\.\d{3} to \d\.\d{3}\) $")
        self.assertRegex(row[5], r"^ ε = 2\.000 $")
        with_tuning = float(row[6].split("=")[1])
        self.assertGreater(with_tuning, 2.0)
        answer = json.loads((self.out / "all.json").read_text())
        dpzero = [r for r in answer["rows"] if r["family"] == "dpzero"]
        self.assertEqual(len(dpzero), 1)
        self.assertLessEqual(dpzero[0]["epsilon_with_tuning"], with_tuning)
        self.assertEqual(len(dpzero[0]["scores"]), 2)
        papers = (self.out / "paper_rows.md").read_text()
        for text in ("## PACZero", "### Budgets", "### Drift", "### Unanimity", "### The best checkpoint", "## FERRET",
                     "### Epochs", "## RLDP", "| AdaClip |", "| AutoClip |", "**no ε**"):
            self.assertIn(text, papers)
        self.assertTrue(all(c["outcome"] in ("confirmed", "refuted", "not seen")
                            for c in answer["claims"]))

    def test_refusals(self):
        for words in (["--seeds", 1], ["--only", "moon"], ["--minutes", 0], ["--minutes", "nan"], ["--threads", 0], ["--data", "/no/such"]):
            answer = self.run_it(*words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertTrue(answer.stderr.startswith("tacit_comparison: "), answer.stderr)
        self.runs.write_text('{"protocol":1,"quick":false}\n')  # as a real run has it
        answer = self.run_it()
        self.assertEqual(answer.returncode, 1)
        self.assertIn("made with", answer.stderr)
        self.runs.write_text("a file of somebody's\n")
        answer = self.run_it()
        self.assertEqual(answer.returncode, 1)
        self.assertIn("results.jsonl", answer.stderr)
        self.assertEqual(self.runs.read_text(), "a file of somebody's\n")


if __name__ == "__main__":
    unittest.main()
