#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every verb of the calculator, every option that its help lists, every value that nobody should give.

Each call begins with a command that has an answer, and gives one option another value. However odd that is: the exit
status is 0 with an answer, or 2 with one line that names an option, or the file of one; it is 1 only where the disk is
full. No signal, no more than three seconds of processor time, no more than 2 GB; and no file is changed, left or made but those that
an answer was asked to write. Accountants have half a second, by --patience, which few questions need.

usage: hostile_values.py PROGRAM [--calls N] [--shard I/K] [VERB...]
   --calls N     how many there must be at least (the test's name says it)
   --shard I/K   of each verb's calls its own command, and each K-th from the I-th on
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

VALUES = ["nan", "inf", "-inf", "-1", "0", "-0", "1e309", "1e-310", "1e-100", "1e100", "0x1p3", "1,5", " 1", "1 ", "+1",
          "18446744073709551616", "9007199254740993", "", "text", "\u00b5\n\x07", "--", "-", "9" * 100_000]
FILES = [".", "missing", "missing/file", "/dev/full", "/dev/null", "/dev/zero", "fifo", "link", "loop", "empty", "zeros",
         "table.csv", "state", "transcript", "base", "curve"]
PATIENCE = ["--patience", "0.5"]
RELEASES = ["--noise-multiplier", "2", "--rate", "0.01", "--steps", "1000", *PATIENCE]
MOST_SLOW = 30
slow = []  # questions that half a second is not enough for
# A command for each verb that has an answer, and others for some; what it needs must be in the folder.
COMMANDS = {
    "epsilon": [*RELEASES, "--delta", "1e-5"],
    "delta": [*RELEASES, "--epsilon", "0.1"],
    "noise": ["--rate", "0.01", "--steps", "100", "--epsilon", "1", "--delta", "1e-5", *PATIENCE],
    "steps": ["--noise-multiplier", "2", "--rate", "0.01", "--epsilon", "1", "--delta", "1e-5", *PATIENCE],
    "rate": ["--noise-multiplier", "2", "--steps", "100", "--epsilon", "1", "--delta", "1e-5", *PATIENCE],
    "matrix": ["--strategy", "square-root", "--steps", "20", "--bands", "4", "--groups", "5", "--rate", "0.1",
               "--noise-multiplier", "2", "--delta", "1e-5", *PATIENCE],
    "curve": RELEASES,
    "report": RELEASES,
    "mi": ["--prior", "0.5", "--sigma", "2"],
    "sigma": ["--prior", "0.5", "--mi", "0.33"],
    "attack": ["--mi", "0.33"],
    "budget": ["--success", "0.8"],
    "ferret": ["--groups", "10", "--steps", "10", "--rate", "0.1", "--epsilon", "1"],
    "calibrate": ["table.csv", "--mi", "1", "--method", "log-det", "--rows", "candidates"],
    "gap": ["outputs.csv", "--noise", "noise.csv"],
    "train": ["data.csv", "--mechanism", "paczero-mi", "--mi", "0.33", "--steps", "2", "--save", "new_state",
              "--transcript", "new_transcript", "--base", "new_base", "--tuned", "new_tuned"],
    "replay": ["base", "transcript", "out"],
    "releases": ["state"],
    "audit": ["transcript"],
}
RATES = ["--false-positive-rate", "0.01", "--prevalence", "0.1"]
ONLY = {"--false-positive-rate", "--prevalence", "--prior", "--trade-off", "--points", "--plot"}  # of the options, with these:
MORE = {
    "curve": [[*RELEASES, "--trade-off", "new_curve", "--points", "3"]],
    "attack": [[*RELEASES, *RATES], ["--trade-off", "curve", *RATES], ["--epsilon", "1", "--delta", "0.1", *RATES]],
}
WRITTEN = {"new_curve", "new_state", "new_transcript", "new_base", "new_tuned", "out", "new_file"}


# A function between fork and exec (preexec_fn) would make each call take a third longer.
LIMITED = ["sh", "-c", f'ulimit -t 3 && ulimit -v {2 << 20} && exec "$0" "$@"']


def run(program, words, folder):
    return subprocess.run([*LIMITED, program, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)


def help_of(program, verb, folder):
    """{name: what kind of value, None for a flag}, in the order of the help."""
    text = run(program, [verb, "--help"], folder).stdout.decode()
    found = {}
    for line in text.splitlines():
        option = re.match(r"  (?:-h,)?(--[a-z0-9-]+|[A-Z]{2,})(?: (NUMBER|COUNT|WORD|FILE)\b)?(?:\s|$)", line)
        if option and option[1] not in ("--help", "VERB"):
            found[option[1]] = option[2]
    return found


def fill(program, folder):
    """The files that the commands read, and some that nobody should."""
    lines = [f"{i * 37 % 11},{i * 53 % 7},{'uv'[i % 2]}" for i in range(60)]
    (folder / "data.csv").write_text("\n".join(lines) + "\n")
    (folder / "table.csv").write_text("\n".join(f"{i % 5},{i * i % 7}" for i in range(40)) + "\n")
    (folder / "outputs.csv").write_text("\n".join(f"{i * 37 % 101},{i * 53 % 97}" for i in range(80)) + "\n")
    (folder / "noise.csv").write_text("4,0\n0,4\n")
    (folder / "empty").touch()
    (folder / "zeros").write_bytes(bytes(1 << 16))
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("nothing")
    (folder / "loop").symlink_to("loop")
    made = run(program, ["train", "data.csv", "--mechanism", "paczero-mi", "--mi", "0.33", "--steps", "2", "--save", "state",
                         "--transcript", "transcript", "--base", "base", "--tuned", "tuned"], folder)
    assert made.returncode == 0, made.stderr
    made = run(program, ["curve", "--noise-multiplier", "2", "--steps", "1", "--trade-off", "curve"], folder)
    assert made.returncode == 0, made.stderr


def content(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def changed(command, name, value):
    """The command with another value of an option, or of the argument in that place."""
    words = list(command)
    if name in words:
        at = words.index(name)
        return [*words[:at], name, *value, *words[at + 2:]]
    return [*words, name, *value]


def calls_of(verb, options):
    yield from calls_with(COMMANDS[verb], options)
    for command in MORE.get(verb, []):
        yield from calls_with(command, {name: kind for name, kind in options.items() if name in ONLY})


def calls_with(command, options):
    yield command
    yield [*command, "extra"]
    yield [*command, "--no-such-option"]
    positionals = [name for name in options if not name.startswith("-")]
    for name, kind in options.items():
        values = [*VALUES, *FILES] if kind == "FILE" else VALUES
        if name in positionals:
            at = positionals.index(name)
            for value in values:
                words = list(command)
                words[at:at + 1] = [value]
                yield words
            continue
        if kind is None:
            yield [*command, name]
            yield [*command, name, name]
            yield [*command, f"{name}=1"]
            continue
        yield changed(command, name, [])
        for value in values:
            yield changed(command, name, [value])
            if value.startswith("-"):
                words = changed(command, name, [value])
                at = words.index(name)
                yield [*words[:at], f"{name}={value}", *words[at + 2:]]
        if name in command:
            yield [*command, *command[command.index(name):][:2]]  # twice
        if kind == "FILE":
            for other in (word for word in command if "." in word or word in WRITTEN):
                yield changed(command, name, [other])


def complaint_about(program, verb, options, words, folder, kept):
    try:
        done = run(program, [verb, *words], folder)
    except subprocess.TimeoutExpired:
        return "it goes on for ever"
    except ValueError:
        return None  # a word that the system does not pass on
    said, answer = done.stderr.decode(errors="replace"), done.stdout.decode(errors="replace")
    now = content(folder)
    asked = {part for word in words for part in (word, word.partition("=")[2])} if done.returncode == 0 else set()
    for name in sorted(set(now) - set(kept)):
        (folder / name).unlink()
    if done.returncode == 0 and "empty" in asked:  # an empty file holds a place
        now["empty"] = b""
        (folder / "empty").write_bytes(b"")
    if {name: text for name, text in now.items() if name in kept} != kept:
        for name, text in kept.items():
            (folder / name).write_bytes(text)
        return "a file was changed"
    litter = set(now) - set(kept) - asked
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    if litter:
        return f"it left {sorted(litter)}"
    if done.returncode == 0:
        return None if answer.endswith("\n") else "no answer"
    if answer:
        return "a part of an answer"
    if "no answer in so many seconds" in said:
        slow.append(" ".join([verb, *words]))
    lines = [line for line in said.splitlines() if "warning:" not in line]
    if len(lines) != 1 or not lines[0].startswith("tacit"):
        return f"{len(lines)} lines: {said[:300]!r}"
    if done.returncode == 1:
        return None if "/dev/full" in " ".join(words) and "No space" in said else f"failed: {said[:300]}"
    named = any(re.search(rf"(?<!\w){re.escape(name.lstrip('-'))}(?!\w)", said) for name in (*options, "json", "help"))
    printable = [re.sub(r"[\x00-\x1f]", " ", part) for word in words for part in (word, word.partition("=")[2]) if part]
    if done.returncode != 2 or not (named or any(f"{word}:" in said for word in printable)):
        return f"status {done.returncode}: {said[:300]}"
    return None


def ask_all(program, verb, scratch, shard):
    folder = Path(scratch) / verb
    folder.mkdir()
    fill(program, folder)
    kept = content(folder)
    options = help_of(program, verb, folder)
    asked, bad = 0, []
    first, every = shard
    for index, words in enumerate(calls_of(verb, options)):
        if index > 0 and index % every != first:
            continue
        why = complaint_about(program, verb, options, words, folder, kept)
        if asked == 0 and run(program, [verb, *words], folder).returncode != 0:
            why = why or "the command has no answer"
        for name in set(content(folder)) - set(kept):
            (folder / name).unlink()
        asked += 1
        if why:
            bad.append(f"tacit {verb} {' '.join(map(repr, words))[:300]}: {why}")
    return asked, bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--shard", type=lambda text: tuple(map(int, text.split("/"))), default=(0, 1))
    parser.add_argument("verbs", nargs="*")
    of = parser.parse_args()
    of.program = str(Path(of.program).resolve())
    listed = re.findall(r"^  ([a-z]+)  ", run(of.program, ["--help"], ".").stdout.decode(), re.MULTILINE)
    assert set(listed) == set(COMMANDS), set(listed) ^ set(COMMANDS)
    asked, bad = 0, []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for count, some in pool.map(lambda verb: ask_all(of.program, verb, scratch, of.shard), of.verbs or listed):
            asked += count
            bad += some
    print("\n".join(bad[:100]))
    print(f"{asked} calls, {len(bad)} failures, {len(slow)} that take longer than their patience:", *sorted(slow), sep="\n")
    return bool(bad) or asked < of.calls or len(slow) > MOST_SLOW


if __name__ == "__main__":
    sys.exit(main())
