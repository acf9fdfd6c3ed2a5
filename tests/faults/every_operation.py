#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails or kills a private training at every operation on its files, in every way, and then its recovery.

A run with a state, a transcript, a base and a tuned model is started in an empty folder. At its n-th operation on that
folder one fault comes (faults.cpp has the kinds). Then the run is finished by the command that a user would repeat, with
--resume once there is a state; and again with a second fault in that recovery. However it went:
  - the run ends, with exit status 0, and no message asks for repair by hand
  - what the state had released before is what it has released after, step by step
  - no more was spent than the budget
  - base and transcript replay to the tuned model, byte for byte
  - nothing is left in the folder but the four files, and what a kill left under a name of its own

usage: every_operation.py PROGRAM LIBFAULTS [--second N]   --second: a second fault at each N-th operation of a recovery
"""
import argparse
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ["kill", "torn", "power", "short", "EINTR", "EIO", "ENOSPC", "ENOSPC+"]
STEPS = 4
BUDGET = 0.33


class Run:
    """One training in a folder of its own."""

    def __init__(self, program, library, data, folder):
        self.program, self.library, self.data, self.folder = program, library, data, folder
        self.state, self.transcript = folder / "state", folder / "transcript"
        self.base, self.tuned = folder / "base", folder / "tuned"

    def command(self):
        """What a user types: the same command each time, with --resume once there is a state."""
        kept = "--resume" if self.state.exists() and self.state.stat().st_size else "--save"
        return [self.program, "train", self.data, "--mechanism", "paczero-mi", "--mi", str(BUDGET), "--steps", str(STEPS),
                kept, self.state, "--transcript", self.transcript, "--base", self.base, "--tuned", self.tuned, "--json"]

    def start(self, at=0, kind="", count=None):
        settings = dict(os.environ, LD_PRELOAD=self.library, FAULT_FOLDER=str(self.folder), FAULT_AT=str(at),
                        FAULT_KIND=kind)
        if count:
            settings["FAULT_COUNT"] = str(count)
        return subprocess.run(list(map(str, self.command())), env=settings, capture_output=True, text=True, timeout=60)

    def released(self):
        """The signs that the state has released, or none."""
        if not self.state.exists():
            return ""
        found = re.search(r"^transcript (\S+)$", self.state.read_text(), re.MULTILINE)
        return "" if found is None or found[1] == "none" else found[1]


def operations(program, library, data, scratch):
    """The number of operations of a run without a fault."""
    folder = scratch / "clean"
    folder.mkdir()
    run = Run(program, library, data, folder)
    done = run.start(count=scratch / "count")
    assert done.returncode == 0, done.stderr
    check_end(run, done, "")
    shutil.rmtree(folder)
    return int((scratch / "count").read_text().split()[0])


def check_end(run, done, before):
    answer = json.loads(done.stdout)
    assert answer["steps"] == STEPS and answer["mi"] <= BUDGET, answer
    after = run.released()
    assert after.startswith(before) and len(after) == STEPS, (before, after)
    again = run.folder / "again"
    replayed = subprocess.run([run.program, "replay", run.base, run.transcript, again], capture_output=True, text=True)
    assert replayed.returncode == 0, replayed.stderr
    assert again.read_bytes() == run.tuned.read_bytes(), "the replayed model is another one"
    again.unlink()
    left = {file.name for file in run.folder.iterdir()} - {"state", "transcript", "base", "tuned"}
    strangers = [name for name in left if not re.fullmatch(r"(transcript|base|tuned|transcript\.journal)\.[0-9a-f]{16}\.new|"
                                                           r"(state|transcript\.journal)\.lock", name)]
    assert not strangers, strangers


def faulted(program, library, data, scratch, at, kind, second):
    """One fault, perhaps a second one in the recovery, and the end."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    run = Run(program, library, data, folder)
    before = ""
    for fault in [(at, kind), *second, (0, "")]:
        done = run.start(*fault)
        now = run.released()
        assert now.startswith(before), (before, now)
        before = now
        if done.returncode == 0:
            break
    assert done.returncode == 0, (run.command(), done.returncode, done.stderr)
    check_end(run, done, before)
    shutil.rmtree(folder)
    for name in scratch.glob(folder.name + ".kept.*"):
        name.unlink()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--second", type=int, default=0)
    of = parser.parse_args()
    draw = random.Random(1)
    failures = 0
    faults = 0
    with tempfile.TemporaryDirectory() as kept:
        scratch = Path(kept)
        data = scratch / "data.csv"
        lines = []
        for _ in range(60):
            label = draw.randrange(2)
            lines.append(f"{draw.gauss(label, 1):.3f},{draw.gauss(-label, 1):.3f},{'uv'[label]}")
        data.write_text("\n".join(lines) + "\n")
        total = operations(of.program, of.library, data, scratch)
        for kind in KINDS:
            for at in range(1, total + 1):
                rounds = [[]]
                if of.second:
                    rounds += [[(second, "kill")] for second in range(1 + at % of.second, total, of.second)]
                    rounds += [[(second, "power")] for second in range(1 + at % of.second, total, of.second)]
                for second in rounds:
                    faults += 1 + len(second)
                    try:
                        faulted(of.program, of.library, data, scratch, at, kind, second)
                    except (AssertionError, subprocess.TimeoutExpired) as error:
                        failures += 1
                        if failures <= 20:
                            print(f"operation {at} of {total}, {kind}, then {second}: {error}", flush=True)
    print(f"{total} operations, {faults} faults, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
