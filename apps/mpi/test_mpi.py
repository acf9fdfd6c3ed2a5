#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program on one, two and four ranks, and kills ranks of it.

usage: test_mpi.py MPIRUN PROGRAM CHECK_JOURNAL CALCULATOR DIGITS_CSV [UNITTEST ARGUMENTS]
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

MPIRUN, PROGRAM, CHECK_JOURNAL, CALCULATOR, DIGITS = sys.argv[1:6]
SAFE = re.compile(r"at least (\d+) releases are safe in \S+\.journal")
PATIENCE = 120  # seconds, for what takes a few


def command(ranks, *words):
    return [MPIRUN, "-np", str(ranks), PROGRAM, DIGITS, *map(str, words)]


def run(ranks, *words):
    return subprocess.run(command(ranks, *words), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=PATIENCE)


def processes_below(parent):
    """All descendants of a process."""
    found = []
    for task in Path(f"/proc/{parent}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *processes_below(int(child))]
    return found


def process_of_rank(parent, rank):
    """MPI tells each process its rank by its environment."""
    for process in processes_below(parent):
        words = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in words:
            return process
    raise AssertionError(f"no process of rank {rank}")


def replay(*files):
    subprocess.run([CALCULATOR, "replay", *map(str, files)], check=True, capture_output=True,
                   timeout=PATIENCE)


class Ranks(unittest.TestCase):
    def answer(self, ranks, *words):
        done = run(ranks, "--json", *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_any_number_of_ranks_trains_the_same(self):
        answers = {ranks: self.answer(ranks, "--mi", 0, "--steps", 200) for ranks in (1, 2, 4)}
        for ranks, answer in answers.items():
            self.assertEqual(answer["ranks"], ranks)
            self.assertEqual(answer["hash"], answers[1]["hash"])
            self.assertEqual(answer["held"], answers[1]["held"])
            # 128 sums and a count; one sign and the length of an error's text.
            self.assertEqual(answer["bytes_per_step"], 129 * 8 + 2 * 8)
            self.assertEqual((answer["mi"], answer["attack_bound"]), (0, 0.5))
            self.assertGreater(answer["milliseconds_per_step"], answer["milliseconds_exchanging"])
            self.assertGreater(answer["accuracy"], answer["accuracy_before"])
        other = self.answer(2, "--mi", 0, "--steps", 200, "--seed", 2)
        self.assertNotEqual(other["hash"], answers[1]["hash"])

    def test_the_budget_is_kept(self):
        answer = self.answer(2, "--mi", 1, "--steps", 1000)
        self.assertGreater(answer["mi"], 0)
        self.assertLessEqual(answer["mi"], 1)

    def test_batches(self):
        asked = ["--epsilon", 4, "--delta", 1e-6, "--rate", 0.02, "--steps", 100]
        for ranks in (1, 2, 4):
            with tempfile.TemporaryDirectory() as folder:
                base, transcript, tuned, replayed = (
                    Path(folder) / name for name in ("base", "transcript", "tuned", "replayed"))
                answer = self.answer(ranks, *asked, "--base", base, "--transcript", transcript,
                                     "--tuned", tuned)
                self.assertTrue(3.9 < answer["epsilon"] <= 4)
                self.assertEqual((answer["delta"], answer["held"]), (1e-6, 0))
                # 1000 records join with probability 1/50: 2·100·20 losses, within five standard deviations.
                self.assertTrue(abs(answer["losses_evaluated"] - 4000) < 5 * 2 * (100 * 20) ** .5)
                replay(base, transcript, replayed)
                self.assertEqual(replayed.read_bytes(), tuned.read_bytes())
                seen = subprocess.run([CALCULATOR, "audit", transcript, "--delta", "1e-6", "--json"],
                                      capture_output=True, text=True, check=True)
                self.assertEqual(json.loads(seen.stdout)["epsilon"], answer["epsilon"])

    def test_refusals(self):
        for words, complaint in (
                (["--epsilon", 0], "--epsilon"),
                (["--epsilon", "nan"], "--epsilon"),
                (["--epsilon", 1, "--mi", 1], "--epsilon"),
                (["--epsilon", 1, "--rate", 1.5], "--rate"),
                (["--epsilon", 1, "--delta", 0], "--delta"),
                (["--rate", 0.5], "--epsilon"),
                (["--mi", -1], "--mi"),
                (["--mi", "nan"], "--mi"),
                (["--steps", 0], "--steps"),
                (["--nothing"], "--nothing")):
            done = run(2, *words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertEqual(done.stderr.count("tacit_mpi: "), 1, words)
            self.assertIn(complaint, done.stderr)
        crowd = run(33, "--steps", 1)
        self.assertNotEqual(crowd.returncode, 0)
        self.assertEqual(crowd.stderr.count("number of ranks is 33, but must be at most 32"), 1)

    def test_the_transcript_is_the_model(self):
        with tempfile.TemporaryDirectory() as folder:
            base, transcript, tuned, replayed = (
                Path(folder) / name for name in ("base", "transcript", "tuned", "replayed"))
            files = ("--base", base, "--transcript", transcript, "--tuned", tuned)
            answer = self.answer(2, "--mi", 0.33, "--steps", 100, *files)
            self.assertLess(answer["held"], 100)
            replay(base, transcript, replayed)
            self.assertEqual(replayed.read_bytes(), tuned.read_bytes())
            self.assertNotEqual(replayed.read_bytes(), base.read_bytes())
            self.assertEqual(sorted(path.name for path in Path(folder).iterdir()),
                             ["base", "replayed", "transcript", "tuned"])
            again = run(2, "--steps", 1, "--transcript", transcript)
            self.assertNotEqual(again.returncode, 0)
            self.assertIn("rank 0: output is ", again.stderr)


class Death(unittest.TestCase):
    def check(self, victim, how):
        with tempfile.TemporaryDirectory() as folder:
            base, transcript = Path(folder) / "base", Path(folder) / "transcript"
            journal = Path(folder) / "transcript.journal"
            process = subprocess.Popen(
                command(4, "--mi", 0, "--steps", 1_000_000, "--base", base,
                        "--transcript", transcript),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                end = time.monotonic() + PATIENCE
                header = None
                while header is None or journal.stat().st_size < header + 1000:
                    self.assertIsNone(process.poll(), "the run ended by itself")
                    self.assertLess(time.monotonic(), end, "no release came")
                    time.sleep(0.02)
                    if header is None and journal.exists() and journal.stat().st_size > 0:
                        header = journal.stat().st_size
                os.kill(process_of_rank(process.pid, victim), how)
                _, complaint = process.communicate(timeout=PATIENCE)
            finally:
                if process.poll() is None:
                    process.kill()
            self.assertNotEqual(process.returncode, 0)
            self.assertRegex(complaint, rf"rank {victim} .*on signal {int(how)}")
            said = [int(number) for number in SAFE.findall(complaint)]
            self.assertTrue(said, complaint)

            checked = subprocess.run([CHECK_JOURNAL, DIGITS, journal, "1"], capture_output=True,
                                     text=True, timeout=PATIENCE)
            self.assertEqual(checked.returncode, 0, checked.stderr)
            self.assertGreaterEqual(int(checked.stdout.split()[0]), max(said))
            self.assertLessEqual(int(checked.stdout.split()[0]), min(said) + 2)
            replay(base, journal, Path(folder) / "replayed")

    def test_of_a_rank(self):
        self.check(2, signal.SIGKILL)

    def test_of_the_rank_with_the_secret(self):
        self.check(0, signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[6:]])
