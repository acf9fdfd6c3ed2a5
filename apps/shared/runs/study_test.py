# SPDX-License-Identifier: Apache-2.0
"""What is tested of every study that keeps its finished jobs in a log: it is stopped and resumed on a few steps, and
refuses what it cannot use."""

import json
import pathlib
import re
import subprocess
import tempfile


class Study:
    """For a unittest.TestCase beside it, which says:"""
    program = None  # the executable
    name = None     # what it calls itself
    log = page = picture = None  # the names of its files
    jobs = None     # how many --quick has

    def said(self, page, lines):
        """What the page must say of the lines of the log, the first of which names the protocol and is left out."""
        raise NotImplementedError

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)
        self.log, self.page, self.picture = (self.out / file for file in (self.log, self.page, self.picture))

    def run_it(self, *words):
        return subprocess.run([self.program, "--quick", "--out", str(self.out), *map(str, words)],
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
        self.assertEqual(len({line["key"] for line in lines}), self.jobs)

        page = self.page.read_text()
        for word in ("nan", "inf"):
            self.assertNotIn(word, self.picture.read_text())
            self.assertIsNone(re.search(rf"\b{word}\b", page))
        self.run_it()
        self.assertEqual((self.log.read_text(), self.page.read_text()), (log, page))
        self.said(page, lines)

    refused = (["--seeds", 1], ["--threads", 0], ["--moon"])

    def test_refusals(self):
        for words in self.refused:
            answer = self.run_it(*words)
            self.assertEqual(answer.returncode, 2, words)
            self.assertTrue(answer.stderr.startswith(f"{self.name}: "), answer.stderr)
        self.log.write_text("a file of somebody's\n")
        answer = self.run_it()
        self.assertEqual(answer.returncode, 1)
        self.assertEqual(self.log.read_text(), "a file of somebody's\n")
