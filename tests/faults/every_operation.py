#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails or kills a program at every operation on its files, in every way, and then its recovery.

A scenario is started in a folder of its own. At its n-th operation on that folder one fault comes (faults.cpp has the
kinds). Then the same is started again as a user would, until it ends; and with --second also with a second fault in that
recovery. However it went, it ends, no message asks for repair by hand, what was there before a fault and had been
released is there after it, and nothing is left in the folder but the files of the scenario, and what a kill left under a
name of its own. Beyond that:
  train        a table, a state, a transcript, a base and a tuned model; finished by the same command, with --resume once there is
               a state. What the state had released it has released after, step by step; no more is spent than the
               budget; base and transcript replay to the tuned model, byte for byte
  optimised    the same by AdamW, whose state is in no file: it is rebuilt with the model
  once         the same under DPZero, which keeps no state and cannot go on: what it released replays, as its message says
  systems      every mechanism that the calculator trains with, for --draws
  replay       the tuned model is there, byte for byte, or it is not there
  calibrate    a command on subsets, and its one release: what the state has released is what is said, whenever it is asked again
  plot         a picture that is replaced: the old one, or the new one
  state        the library's saved_run, which moves to another file half-way
  journal      the library's journal: what was said to be on disk is
  safetensors  a model, whole or not there
  mpi          two ranks, which cannot go on after a fault: the journal that they leave is a first part of the run, has
               every release that a rank said to be safe, and replays to the same parameters each time

usage: every_operation.py SCENARIO PROGRAM LIBFAULTS [--operations N] [--faults N] [--second N | all] [--shard I/K] [--draws] [--lookups]
                          [--mpirun MPIRUN --calculator TACIT]
  PROGRAM       the calculator for train, replay, calibrate and plot; tacit_mpi for mpi; tacit_test_files for the others
  --operations, --faults  the number of them that there must be (the test's name says it)
  --second      a second fault, of two kinds, at each N-th operation of a recovery; all: of every kind, at each of them,
                once for all first faults that leave the same files of the same sizes
  --draws       fails each draw of randomness, too
  --lookups     fails each question about a name or an open file instead, and the closing of the calculator's output
  --shard       of the first faults, or of the pairs that N gives, each K-th from the I-th on
"""
import argparse
import copy
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ("kill", "torn", "power", "short", "EINTR", "EIO", "ENOSPC", "ENOSPC+")
DRAWS = "entropy"  # a kind that fails draws of randomness, and no operation
LOOKUPS = "lookup"  # one that fails questions about names and open files
ANSWER = "answer"  # one that fails the closing of the standard output
STEPS = 4
BUDGET = 0.33
UNFINISHED = r"\.[0-9a-f]{16}\.new"


def run(*words, **how):
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=180, **how)


def ranks_of(folder):
    """The processes that were started with a path of this folder and have not ended, but for mpirun."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")  # empty once it has ended
        except OSError:
            continue
        if b"-np" not in words and any(os.fsencode(folder) in word for word in words):
            found.append(process.name)
    return found


def run_ranks(folder, words):
    """As `run`, by an mpirun. One that stays behind when all its ranks have ended, as Open MPI's does once in some
    hundred times on a busy machine, is stopped after 30 seconds without one: it may only be slow to start them. A rank
    that stays is a failure."""
    words = list(map(str, words))
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as mpirun:
        without_ranks = 0
        for _ in range(18):
            try:
                out, error = mpirun.communicate(timeout=10)
                return subprocess.CompletedProcess(words, mpirun.returncode, out, error)
            except subprocess.TimeoutExpired:
                without_ranks = 0 if ranks_of(folder) else without_ranks + 1
            if without_ranks == 3:
                mpirun.kill()
                out, error = mpirun.communicate()
                return subprocess.CompletedProcess(words, mpirun.returncode, out, error)
        mpirun.kill()
        raise subprocess.TimeoutExpired(words, 180)


class Scenario:
    """What is started in a folder, and what must hold of it."""
    files = ()
    kinds = KINDS
    fault = ""  # that was asked for
    answers = False  # on the standard output
    tools = {}  # of the command line: mpirun, calculator

    def __init__(self, program, given, folder):
        self.program, self.given, self.folder = program, given, folder
        self.seen = ""  # of what was released, what is known to be on disk

    @staticmethod
    def prepare(program, scratch):
        """What all folders share."""

    @classmethod
    def variants(cls):
        yield cls

    def command(self):
        raise NotImplementedError

    def start(self, settings):
        """The command, with the faults that these variables of its environment describe."""
        return run(*self.command(), env=dict(os.environ, **settings))

    def released(self, done):
        """In the order of its release."""
        return self.seen

    def check_kept(self, done):
        now = self.released(done)
        assert now.startswith(self.seen), (self.seen, now)
        self.seen = now

    def ended(self, done):
        return done.returncode == 0

    def check_end(self, done):
        raise NotImplementedError

    def check_names(self):
        for name in {file.name for file in self.folder.iterdir()} - set(self.files):
            known = any(re.fullmatch(rf"{re.escape(file)}({UNFINISHED}|\.lock)", name)
                        for file in [*self.files, *(f"{file}.journal" for file in self.files)])
            assert known, name


class Train(Scenario):
    files = ("data.csv", "state", "transcript", "base", "tuned")
    answers = True

    def __init__(self, *those):
        super().__init__(*those)
        shutil.copy(self.given, self.folder / "data.csv")

    @staticmethod
    def prepare(program, scratch, apart=1):
        draw = random.Random(1)
        lines = []
        for _ in range(60):
            label = draw.randrange(2)
            x = apart * label
            lines.append(f"{draw.gauss(x, 1):.3f},{draw.gauss(-x, 1):.3f},{'uv'[label]}")
        (scratch / "data.csv").write_text("\n".join(lines) + "\n")
        return scratch / "data.csv"

    def words(self):
        at = self.folder
        return ["--mechanism", "paczero-mi", "--mi", BUDGET, "--steps", STEPS, "--transcript", at / "transcript",
                "--base", at / "base", "--tuned", at / "tuned", "--json"]

    def command(self):
        state = self.folder / "state"
        kept = "--resume" if state.exists() and state.stat().st_size else "--save"
        return [self.program, "train", self.folder / "data.csv", *self.words(), kept, state]

    def released(self, done):
        state = self.folder / "state"
        if not state.exists():
            return ""
        found = re.search(r"^transcript (\S+)$", state.read_text(), re.MULTILINE)
        return "" if found is None or found[1] == "none" else found[1]

    def check_kept(self, done):
        super().check_kept(done)
        assert done.returncode in (0, 1, 2, -9), (done.returncode, done.stderr)
        if done.returncode in (1, 2):  # a fault is no argument's, and is said in a line
            assert done.stderr.count("\n") == 1, done.stderr
            assert not done.stdout or self.fault == ANSWER, (done.stdout, done.stderr)
            assert "missing, but must" not in done.stderr, done.stderr
            if self.fault == DRAWS:
                assert done.returncode == 1 and "random" in done.stderr, (done.returncode, done.stderr)
                assert "must be" not in done.stderr, done.stderr
            if self.fault != ANSWER:  # by then the run is over
                self.check_advice(done.stderr)

    def check_advice(self, said):
        state = self.folder / "state"
        kept = state.exists() and state.stat().st_size
        assert not kept or f"--resume {state}" in said, said

    def check_end(self, done):
        answer = json.loads(done.stdout)
        assert answer["steps"] == STEPS and answer["mi"] <= BUDGET, answer
        assert len(self.seen) == STEPS, self.seen
        again = self.folder / "again"
        replayed = run(self.program, "replay", self.folder / "base", self.folder / "transcript", again)
        assert replayed.returncode == 0, replayed.stderr
        assert again.read_bytes() == (self.folder / "tuned").read_bytes(), "the replayed model is another one"
        again.unlink()


class Optimised(Train):
    def words(self):
        return [*super().words(), "--optimiser", "adamw", "--weight-decay", 0.1, "--beta2", 0.9]


class Once(Train):
    files = ("data.csv", "transcript", "transcript.journal", "base", "tuned", "replayed")
    mechanism = ("--mechanism", "dpzero", "--epsilon", 1)
    recorded = True

    def left(self):
        """Where the releases are."""
        return next((file for file in (self.folder / "transcript", self.folder / "transcript.journal") if file.exists()), None)

    def words(self):
        at = self.folder
        recorded = ["--transcript", at / "transcript"] if self.recorded else []
        return [*self.mechanism, "--steps", STEPS, *recorded, "--base", at / "base", "--tuned", at / "tuned", "--json"]

    def command(self):
        if self.left():
            return [self.program, "replay", self.folder / "base", self.left(), self.folder / "replayed"]
        return [self.program, "train", self.folder / "data.csv", *self.words()]

    def replayed(self):
        again = self.folder / "again"
        done = run(self.program, "replay", self.folder / "base", self.left(), again, "--json")
        assert done.returncode == 0, done.stderr
        model = again.read_bytes()
        again.unlink()
        return model, json.loads(done.stdout)["steps"]

    def released(self, done):
        return "x" * self.replayed()[1] if self.left() else ""

    def check_advice(self, said):
        if (self.folder / "replayed").exists() or re.match("tacit (replay|train: DATA):", said):
            return
        if self.left():
            assert f"tacit replay {self.folder / 'base'} {self.left()} OUT" in said, said
        elif self.fault == LOOKUPS:  # a file that cannot be looked at is refused by its option, before the run
            assert re.match(r"tacit train: --[a-z]+ is|.*the same command", said), said
        else:
            assert "--base: " in said or "--base is" in said or "the same command" in said, said

    def ended(self, done):
        return done.returncode == 0 or (done.returncode == 2 and (self.folder / "replayed").exists())

    def check_end(self, done):
        models = [file for file in (self.folder / "replayed", self.folder / "tuned") if file.exists()]
        assert models, "no model"
        for file in models if self.left() else []:
            assert file.read_bytes() == self.replayed()[0], f"{file} is not the replayed model"


class Systems(Once):
    kinds = ()
    trained = [["sgd"], ["mezo"], ["dpzero", "--epsilon", 1], ["dp-zo-laplace", "--epsilon", 1],
               ["dp-aggzo", "--epsilon", 1, "--directions", 2], ["dpgd-0th", "--epsilon", 1], ["dp-sgd", "--epsilon", 1],
               ["ferret", "--mi", 0.2, "--rate", 0.1], ["rldp", "--epsilon", 1],
               ["rldp", "--epsilon", 1, "--controller", "sac"], ["paczero-mi", "--mi", BUDGET],
               ["paczero-zpl", "--disagreement", "coin"], ["paczero-mi", "--mi", BUDGET, "--model", "adapters"],
               ["paczero-zpl", "--model", "adapters"], ["mezo", "--model", "adapters"]]
    zeroth_order = {"mezo", "dpzero", "dp-zo-laplace", "dp-aggzo", "paczero-mi", "paczero-zpl"}

    @classmethod
    def variants(cls):
        for words in cls.trained:
            recorded = words[0] in cls.zeroth_order and "--model" not in words
            yield type("Systems", (cls,), {"mechanism": ("--mechanism", *words), "recorded": recorded})


class Replay(Scenario):
    files = ("base", "transcript", "out")
    answers = True

    @staticmethod
    def prepare(program, scratch):
        (scratch / "trained").mkdir()
        trained = Train(program, Train.prepare(program, scratch), scratch / "trained")
        done = run(*trained.command())
        assert done.returncode == 0, done.stderr
        return scratch / "trained"

    def __init__(self, *those):
        super().__init__(*those)
        for name in ("base", "transcript"):
            shutil.copy(self.given / name, self.folder)

    def command(self):
        return [self.program, "replay", *(self.folder / name for name in self.files)]

    def check_kept(self, done):
        out = self.folder / "out"
        assert not out.exists() or out.read_bytes() == (self.given / "tuned").read_bytes(), "a part of a model"

    def ended(self, done):  # a kill came after the end: the model is there, and is not written again
        return done.returncode == 0 or (done.returncode == 2 and (self.folder / "out").exists())

    def check_end(self, done):
        assert (self.folder / "out").exists()
        for name in ("base", "transcript"):
            assert (self.folder / name).read_bytes() == (self.given / name).read_bytes(), name


class Plot(Scenario):
    files = ("picture.svg",)
    answers = True
    words = ("curve", "--noise-multiplier", 5, "--steps", 3, "--force", "--plot")

    @staticmethod
    def prepare(program, scratch):
        done = run(program, *Plot.words, scratch / "new.svg")
        assert done.returncode == 0, done.stderr
        return (scratch / "new.svg").read_bytes()

    def __init__(self, *those):
        super().__init__(*those)
        (self.folder / self.files[0]).write_text("old")

    def command(self):
        return [self.program, *self.words, self.folder / self.files[0]]

    def check_kept(self, done):
        assert (self.folder / self.files[0]).read_bytes() in (b"old", self.given), "a part of a picture"

    def check_end(self, done):
        assert (self.folder / self.files[0]).read_bytes() == self.given


class Calibrate(Scenario):
    """A command on four subsets. Its own operations are not counted."""
    answers = True
    command_line = "env -u LD_PRELOAD awk '{s += $1} END {print s}' {}"

    @staticmethod
    def prepare(program, scratch):
        (scratch / "universe").write_text("".join(f"{n}\n" for n in range(1, 9)))
        return scratch / "universe"

    def command(self):
        return [self.program, "calibrate", "--run", self.command_line, "--universe", self.given, "--subsets", 4, "--mi",
                BUDGET, "--folder", self.folder, "--jobs", 1, "--json"]

    def released(self, done):
        state = self.folder / "release"
        if not state.exists() or not state.stat().st_size:
            return ""
        return re.search(r"^answer (.*)$", state.read_text(), re.MULTILINE)[1]

    def check_kept(self, done):
        super().check_kept(done)
        assert done.returncode in (0, 1, 2, -9), (done.returncode, done.stderr)
        if done.returncode in (1, 2):
            assert done.stderr.count("\n") == 1, done.stderr
            assert "--run" not in done.stderr, done.stderr
            assert not done.stdout or self.fault == ANSWER, (done.stdout, done.stderr)
        if done.stdout:
            assert self.seen, "said, and not on disk"

    def check_end(self, done):
        answer = json.loads(done.stdout)
        assert answer["mi_bound"] <= BUDGET and answer["repeats"], answer
        stored = re.sub("%([0-9A-F]{2})", lambda found: chr(int(found[1], 16)), self.seen[1:-1])
        assert json.loads(stored) == answer, (stored, answer)
        sums = [re.search(r"^numbers 1 (\d+)$", file.read_text(), re.MULTILINE)[1] for file in self.folder.glob("output-*-?")]
        assert sum(map(int, sums)) == 2 * 36, sums  # each record is in half of the subsets

    def check_names(self):
        for file in self.folder.iterdir():
            known = re.fullmatch(rf"(release(\.lock)?|output-[0-9a-f]{{16}}-\d|subset-\d)({UNFINISHED})?", file.name)
            assert known, file.name


class Lines(Scenario):
    """A program that says on each line all that it has released, when it is on disk."""

    def command(self):
        return [self.program, type(self).__name__.lower(), self.folder]

    def check_kept(self, done):
        for line in done.stdout.splitlines():
            assert line.startswith(self.seen), (self.seen, line)
            self.seen = line

    def check_end(self, done):
        assert len(self.seen) == 6, self.seen


class State(Lines):
    files = ("state", "moved")

    def check_end(self, done):
        super().check_end(done)
        assert not (self.folder / "state").exists(), "the state has two names"


class Journal(Lines):
    files = ("journal",)


class Safetensors(Scenario):
    files = ("model",)

    @staticmethod
    def prepare(program, scratch):
        done = run(program, "safetensors", scratch / "model")
        assert done.returncode == 0, done.stderr
        return (scratch / "model").read_bytes()

    def command(self):
        return [self.program, "safetensors", self.folder / "model"]

    def check_kept(self, done):
        model = self.folder / "model"
        assert not model.exists() or model.read_bytes() == self.given, "a part of a model"

    def check_end(self, done):
        assert (self.folder / "model").exists()


class Mpi(Scenario):
    files = ("transcript", "transcript.journal", "base", "tuned", "replayed")
    kinds = (*KINDS, "peer")
    words = ("--mi", 0, "--steps", STEPS, "--seed", 5, "--json")  # no leakage: all runs on a table release the same

    @classmethod
    def outputs(cls, at):
        return ["--transcript", at / "transcript", "--base", at / "base", "--tuned", at / "tuned"]

    @classmethod
    def prepare(cls, program, scratch):
        data = Train.prepare(program, scratch, apart=30)
        done = run(cls.tools["mpirun"], "-np", 2, program, data, *cls.words, *cls.outputs(scratch))
        assert done.returncode == 0, done.stderr
        assert len(cls.symbols(scratch)) == STEPS and set(cls.symbols(scratch)) == set("-0+"), cls.symbols(scratch)
        return data

    @staticmethod
    def symbols(folder):
        """What the transcript, or else the journal, has of the releases, a character a step."""
        bits = {"sign": 8, "held_sign": 5}
        sealed = folder / "transcript"
        journal = folder / "transcript.journal"
        if not sealed.exists() and not journal.exists():
            return ""
        text = (sealed if sealed.exists() else journal).read_bytes()
        header = re.match(rb"(?s)tacit-.*?\nsymbols (\w+) .*?\nchecksum \d+\n", text)
        kind = header[1].decode()
        text = text[header.end():]

        def digits(byte, count):
            base = 2 if kind == "sign" else 3
            return "".join(("-+" if kind == "sign" else "-0+")[byte // base ** j % base] for j in range(count))

        if not sealed.exists():  # a byte of one symbol and eight of a checksum, and perhaps a torn end
            return "".join(digits(text[at], 1) for at in range(0, len(text) - 8, 9) if any(text[at + 1:at + 9]))
        return "".join(digits(byte, bits[kind]) for byte in text[:-8])[:STEPS]

    def replay(self, name):
        kept = next(file for file in (self.folder / "transcript", self.folder / "transcript.journal") if file.exists())
        return [self.tools["calculator"], "replay", self.folder / "base", kept, self.folder / name]

    def died(self):
        """Whether there is a run that cannot go on, but can be replayed."""
        return any((self.folder / name).exists() for name in ("transcript", "transcript.journal"))

    def command(self):
        if self.died():
            return self.replay("replayed")
        (self.folder / "base").unlink(missing_ok=True)  # nothing was released: from the beginning
        return [self.tools["mpirun"], "-np", 2, self.program, self.given, *self.words, *self.outputs(self.folder)]

    def start(self, settings):
        words = self.command()
        at = words.index(self.program) if self.program in words else 0
        words = [*words[:at], "env", *(f"{name}={value}" for name, value in settings.items()), *words[at:]]
        done = run_ranks(self.folder, words) if at else run(*words)
        if at:
            for said in re.findall(r"at least (\d+) releases are safe", done.stderr):
                assert int(said) <= len(self.symbols(self.folder)), (said, self.symbols(self.folder))
                assert f"tacit replay {self.folder / 'base'} {self.folder / 'transcript'}.journal OUT" in done.stderr
        return done

    def released(self, done):
        found = self.symbols(self.folder)
        assert self.symbols(self.given.parent).startswith(found), found
        return found

    def ended(self, done):
        return done.returncode == 0 or (done.returncode == 2 and (self.folder / "replayed").exists())

    def check_end(self, done):
        replayed, tuned = self.folder / "replayed", self.folder / "tuned"
        if not replayed.exists():
            assert len(self.seen) == STEPS and run(*self.replay("replayed")).returncode == 0
        if tuned.exists():
            assert replayed.read_bytes() == tuned.read_bytes() == (self.given.parent / "tuned").read_bytes()
        again = run(*self.replay("again"))
        assert again.returncode == 0, again.stderr
        assert (self.folder / "again").read_bytes() == replayed.read_bytes(), "replayed to other parameters"
        (self.folder / "again").unlink()


SCENARIOS = {one.__name__.lower(): one for one in
             (Train, Optimised, Once, Systems, Replay, Plot, Calibrate, State, Journal, Safetensors, Mpi)}


class Trial:
    def __init__(self, kind, program, library, scratch):
        self.kind, self.program, self.library, self.scratch = kind, program, library, scratch
        self.given = kind.prepare(program, scratch)
        self.recovered = set()  # what first faults left

    def left(self, one):
        """All that a recovery can see of what is in the folder, but for what was drawn."""
        sizes = []
        for file in one.folder.iterdir():
            name, unfinished = re.subn(UNFINISHED, "", file.name)
            text = file.read_bytes()
            steps = re.search(rb"(?m)^transcript (\S+)$", text)  # of a state, which is whole
            size = len(text) if not steps else 0 if steps[1] == b"none" else len(steps[1])
            sizes.append((name, unfinished, None if unfinished else size))
        return (*sorted(sizes, key=str), len(one.seen))

    def start(self, one, at=0, kind=""):
        """What came of it, and the number of operations."""
        count = self.scratch / f"{one.folder.name}.count"
        count.unlink(missing_ok=True)
        one.fault = kind
        done = one.start({"LD_PRELOAD": self.library, "FAULT_FOLDER": str(one.folder), "FAULT_AT": str(at),
                          "FAULT_KIND": kind, "FAULT_COUNT": str(count)})
        one.check_kept(done)
        operations, _, lookups = count.read_text().split() if count.exists() else (0, "", 0)
        self.lookups = int(lookups)
        return done, int(operations)

    def begun(self):
        """In a folder of its own."""
        return self.kind(self.program, self.given, Path(tempfile.mkdtemp(dir=self.scratch)))

    def finished(self, one, faults):
        """These faults, one a start, and the end; the operations of each start."""
        operations = []
        for fault in [*faults, (0, "")]:
            done, count = self.start(one, *fault)
            operations.append(count)
            if one.ended(done):
                break
        self.check_end(one, done)
        return operations

    @staticmethod
    def check_end(one, done):
        assert one.ended(done), (one.command(), done.returncode, done.stderr)
        if done.returncode == 0:
            one.check_end(done)
        one.check_names()

    def forget(self, one):
        shutil.rmtree(one.folder)
        for beside in self.scratch.glob(one.folder.name + ".*"):
            shutil.rmtree(beside) if beside.is_dir() else beside.unlink()

    def faulted(self, faults):
        """The same, from the beginning."""
        one = self.begun()
        operations = self.finished(one, faults)
        self.forget(one)
        return operations

    def all_second(self, first, failed):
        """After this fault, one of each kind at each operation of its recovery, unless another fault left the same.
        Returns their number."""
        one = self.begun()
        faults = 1
        try:
            done, _ = self.start(one, *first)
            left = self.left(one)
            if one.ended(done) or left in self.recovered:
                self.check_end(one, done) if one.ended(done) else self.finished(one, [])
                self.forget(one)
                return faults
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed([first], error)
            return faults
        self.recovered.add(left)
        kept = Path(f"{one.folder}.left")
        shutil.copytree(one.folder, kept)
        for kind in self.kind.kinds:
            for at in range(1, 1000):
                shutil.rmtree(one.folder)
                shutil.copytree(kept, one.folder)
                try:
                    operations = self.finished(copy.copy(one), [(at, kind)])
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    failed([first, (at, kind)], error)
                    faults += 1
                    continue
                if operations[0] < at:  # it was over before
                    break
                faults += 1
        self.forget(one)
        return faults


    def all_draws(self, failed):
        """Fails each draw of randomness of a run. Returns their number."""
        for at in range(1, 1000):
            try:
                if len(self.faulted([(at, DRAWS)])) == 1:  # there is no such draw
                    return at - 1
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed([(at, DRAWS)], f"{' '.join(map(str, getattr(self.kind, 'mechanism', '')))} {error}")
        return 1000

    def all_lookups(self, failed):
        """Fails each question about a name or an open file. Returns their number."""
        self.faulted([])
        lookups = self.lookups
        for at in range(1, lookups + 1):
            try:
                self.faulted([(at, LOOKUPS)])
            except (AssertionError, subprocess.TimeoutExpired) as error:
                failed([(at, LOOKUPS)], f"{' '.join(map(str, getattr(self.kind, 'mechanism', '')))} {error}")
        return lookups + self.lost_answer(failed)

    def lost_answer(self, failed):
        """Some file systems say only when a file is closed that it is not on disk. Returns the number of these faults."""
        if not self.kind.answers:
            return 0
        one = self.begun()
        try:
            done, _ = self.start(one, 1, ANSWER)
            assert done.returncode == 1 and "cannot write the answer" in done.stderr, (done.returncode, done.stderr)
            self.finished(one, [])
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed([(1, ANSWER)], error)
        self.forget(one)
        return 1


def in_memory(least=512 << 20):
    """A folder in memory, or None: what is flushed to a disk thousands of times takes minutes."""
    folder = "/dev/shm"
    return folder if os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= least else None


def plans_of(scenario, operations, second):
    """Faults, one a start: each kind at each operation; then, unless `second` is 0 or all, a sample of two."""
    plans = []
    for kind in scenario.kinds:
        for at in range(1, operations + 1):
            plans.append([(at, kind)])
            if second and second != "all":
                for then in range(1 + at % second, operations, second):
                    plans += [[(at, kind), (then, "kill")], [(at, kind), (then, "power")]]
    return plans


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--operations", type=int)
    parser.add_argument("--faults", type=int)
    parser.add_argument("--second", type=lambda word: word if word == "all" else int(word), default=0)
    parser.add_argument("--draws", action="store_true")
    parser.add_argument("--lookups", action="store_true")
    parser.add_argument("--shard", default="0/1")
    parser.add_argument("--mpirun")
    parser.add_argument("--calculator")
    of = parser.parse_args()
    first, shards = map(int, of.shard.split("/"))
    scenario = SCENARIOS[of.scenario]
    scenario.tools = {"mpirun": of.mpirun, "calculator": of.calculator}
    failures = 0
    faults = 0

    def failed(plan, error):
        nonlocal failures
        failures += 1
        if failures <= 20:
            print(f"{' '.join(map(str, plan))}: {error}", flush=True)

    def ended(*_):  # by a time limit: what was done by then
        print(f"ended after {faults} faults, {failures} failures", flush=True)
        sys.exit(1)

    signal.signal(signal.SIGTERM, ended)
    totals = []
    states = 0
    for variant in scenario.variants():
        with tempfile.TemporaryDirectory(dir=in_memory()) as scratch:
            trial = Trial(variant, of.program, of.library, Path(scratch))
            total = trial.faulted([])[0]
            totals.append(total)
            if of.lookups:
                faults += trial.all_lookups(failed)
                continue
            for plan in plans_of(variant, total, of.second)[first::shards]:
                if of.second == "all":
                    faults += trial.all_second(plan[0], failed)
                    continue
                try:
                    faults += sum(at <= count for (at, _), count in zip(plan, trial.faulted(plan)))
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    failed(plan, error)
            if of.draws:
                faults += trial.all_draws(failed)
            states += len(trial.recovered)
    if of.operations not in (None, sum(totals)):
        failed([], f"{sum(totals)} operations, but the test's name says {of.operations}")
    if of.faults not in (None, faults):
        failed([], f"{faults} faults, but the test's name says {of.faults}")
    left = f" from {states} states of the files" if states else ""
    print(f"{sum(totals)} operations, {faults} faults{left}, {failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
