# SPDX-License-Identifier: Apache-2.0
"""Tests private_tuning on the toy model: python test_llama.py FOLDER, where FOLDER has the programs and toy/. Needs
the package gguf.

Every adapter under every mechanism: a fresh process that loads the tuned file gets the losses that the training
process had, bit for bit, and the transcript replays to the same file. So do weights tuned in place, and no other
tensor has changed. Every error: one line, exit 2, nothing spent.
"""
import fnmatch
import itertools
import math
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf

FOLDER = Path(sys.argv[1]).resolve()
PROGRAM = FOLDER / "build" / "private_tuning"
TOY = FOLDER / "toy"
STARTS = {"control": ["--control", "1"], "lora": ["--rank", "2"], "lora_f16": ["--rank", "2", "--type", "f16"]}
MECHANISMS = {"paczero-mi": [], "paczero-zpl": [], "dpzero": [], "dp-aggzo": ["--directions", "2"]}


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def must(*words):
    done = run(*words)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def losses(*words):
    return [line.split() for line in must("losses", *words).splitlines()[:-1]]


def mean(rows):
    return sum(float(loss) for _, loss, _ in rows) / len(rows)


def check_round_trips(few):
    models = itertools.cycle(["F16", "Q8_0", "Q4_K"])
    for (kind, start), (mechanism, more) in itertools.product(STARTS.items(), MECHANISMS.items()):
        name = next(models)
        model = TOY / f"{name}.gguf"
        must("start", model, "start.gguf", *start)
        assert losses(model, few) == losses(model, few, "start.gguf"), "the start changes something"
        case = f"{kind}_{mechanism}_{name}"
        must("train", model, "start.gguf", few, f"{case}.gguf", "--mechanism", mechanism, "--steps", 4,
             "--rate-of-learning", 0.05, "--transcript", f"{case}.run", "--report", f"{case}.losses", *more)
        reported = [line.split() for line in Path(f"{case}.losses").read_text().splitlines()]
        assert losses(model, few, f"{case}.gguf") == reported, f"{case}: other losses in a fresh process"
        must("replay", "start.gguf", f"{case}.run", "again.gguf")
        tuned, again = Path(f"{case}.gguf").read_bytes(), Path("again.gguf").read_bytes()
        assert tuned == again, f"{case}: the replay differs"
        if mechanism.startswith("dp"):
            assert tuned != Path("start.gguf").read_bytes(), f"{case}: nothing moved"
        print(f"{case}: loaded and replayed, the same bits", flush=True)


def tensors(file):
    return {one.name: (one.tensor_type.name, one.data.tobytes()) for one in gguf.GGUFReader(file).tensors}


def check_weights(few):
    """Weights in place, of each type; on a quantised model the norms. Nothing else in the file changes."""
    cases = itertools.product((("F16", "blk.1.attn_[qv].weight"), ("BF16", "*"), ("trained", "blk.*"),
                               ("Q8_0", "*_norm.weight")), MECHANISMS.items())
    for (name, pattern), (mechanism, more) in cases:
        model, case = TOY / f"{name}.gguf", f"weights_{mechanism}_{name}"
        must("train", model, few, f"{case}.gguf", "--weights", pattern, "--mechanism", mechanism, "--steps", 4,
             "--rate-of-learning", 2 ** -8, "--transcript", f"{case}.run", "--report", f"{case}.losses", *more)
        # Not the same bits everywhere: some processors have another layout for weights that stay as they are.
        reported = [line.split() for line in Path(f"{case}.losses").read_text().splitlines()]
        assert math.isclose(mean(losses(f"{case}.gguf", few)), mean(reported), rel_tol=1e-2), case
        must("replay", model, f"{case}.run", "again.gguf")
        assert Path(f"{case}.gguf").read_bytes() == Path("again.gguf").read_bytes(), f"{case}: the replay differs"
        start, tuned = tensors(model), tensors(f"{case}.gguf")
        changed = {tensor for tensor in start if start[tensor] != tuned[tensor]}
        named = {tensor for tensor in start if fnmatch.fnmatch(tensor, pattern)}
        assert start.keys() == tuned.keys() and all(start[one][0] == tuned[one][0] for one in start)
        assert changed <= named and (changed == named or mechanism.startswith("pac")), (case, changed)
        print(f"{case}: loaded and replayed, {len(changed)} of {len(named)} tensors moved", flush=True)


def check_resumes(few):
    """A run that is killed on its way goes on from its state, and its transcript still makes the model."""
    model = TOY / "F16.gguf"
    must("start", model, "start.gguf", "--control", "1")
    for start, places, more in (("start.gguf", [model, "start.gguf"], []),
                                (model, [model], ["--weights", "blk.*", "--rate-of-learning", 2 ** -8])):
        words = ["train", *places, few, "kept.gguf", "--mechanism", "paczero-mi", "--steps", 60,
                 "--transcript", "kept.run", "--save", "kept.state", *more]
        killed = subprocess.Popen([PROGRAM, *map(str, words)])
        size = 0
        while killed.poll() is None:  # a few records more than there were at first
            now = os.stat("kept.run").st_size if Path("kept.run").exists() else 0
            size = size or now
            if now > size + 40:
                killed.kill()
        assert killed.returncode != 0 and not Path("kept.gguf").exists(), "it was not killed on its way"
        assert os.stat("kept.state").st_mode & 0o077 == 0
        must(*words)
        must("replay", start, "kept.run", "again.gguf")
        assert Path("kept.gguf").read_bytes() == Path("again.gguf").read_bytes()
        for file in ("kept.gguf", "kept.run", "kept.state"):
            Path(file).unlink()
        print(f"killed and resumed from {start}: the transcript makes the same file", flush=True)


def check_learns():
    model, records = TOY / "F16.gguf", Path("some.tsv")
    records.write_text("".join(TOY.joinpath("records.tsv").read_text().splitlines(True)[:64]))
    must("start", model, "start.gguf", "--control", "1")
    before = mean(losses(model, records))
    must("train", model, "start.gguf", records, "learnt.gguf", "--steps", 150, "--rate-of-learning", 0.3,
         "--nats", 2, "--transcript", "learnt.run")
    after = mean(losses(model, records, "learnt.gguf"))
    assert after < 0.9 * before, (before, after)
    print(f"150 steps of a control vector: {before:.3f} nats a token before, {after:.3f} after", flush=True)

    must("train", model, records, "learnt.gguf", "--weights", "blk.*", "--steps", 150, "--rate-of-learning", 1e-3,
         "--nats", 2, "--transcript", "weights.run")
    after = mean(losses("learnt.gguf", records))
    assert after < 0.95 * before, (before, after)
    print(f"150 steps of all layers' weights: {before:.3f} nats a token before, {after:.3f} after", flush=True)


def check_refusals(few):
    model, other, wide = TOY / "F16.gguf", TOY / "other" / "model.gguf", TOY / "wide" / "model.gguf"
    must("start", model, "lora.gguf")
    must("start", other, "other.gguf")
    must("start", wide, "wide_lora.gguf")
    must("start", wide, "wide_control.gguf", "--control", "1")
    broken = bytearray(Path("lora.gguf").read_bytes())
    broken[-4:] = struct.pack("<f", math.nan)
    Path("nan.gguf").write_bytes(broken)
    Path("no_tab.tsv").write_text("a prompt without an answer\n")
    with open("large.gguf", "wb") as file:
        file.truncate(2 ** 43)
    cases = {
        "is not finite": (model, "nan.gguf", few),
        "another tokenizer": (model, "other.gguf", few),
        "does not fit the model": (model, "wide_lora.gguf", few),
        "another shape": (model, "wide_control.gguf", few),
        "too large for the memory": ("large.gguf", "lora.gguf", few),
        "line 1 is not a prompt": (model, "lora.gguf", "no_tab.tsv"),
        "cannot load": ("no_tab.tsv", "lora.gguf", few),
        "no GGUF file": (model, "no_tab.tsv", few),
        "mechanism is": (model, "lora.gguf", few, "--mechanism", "none"),
    }
    for says, words in cases.items():
        refused(says, "train", *words[:3], "tuned.gguf", "--transcript", "never.run", *words[3:])

    one = "blk.1.attn_q.weight"
    broken = bytearray(model.read_bytes())
    place = next(tensor.data_offset for tensor in gguf.GGUFReader(model).tensors if tensor.name == one)
    broken[place:place + 2] = struct.pack("<e", math.nan)
    Path("nan_weight.gguf").write_bytes(broken)
    cases = {
        "is not finite": ("nan_weight.gguf", one),
        f"{one} is stored as q8_0": (TOY / "Q8_0.gguf", one),
        f"{one} is stored as q4_K": (TOY / "Q4_K.gguf", one),
        "no tensor with a name like none": (model, "none"),
        "too large for the memory": ("large.gguf", one),
        "cannot load": ("no_tab.tsv", one),
        "rounding must be": (model, one, "--rounding", "up"),
        "smoothing is": (model, one, "--smoothing", "0"),
    }
    for says, (file, pattern, *more) in cases.items():
        refused(says, "train", file, few, "tuned.gguf", "--weights", pattern, "--transcript", "never.run", *more)
    Path("copy.gguf").write_bytes(model.read_bytes())
    refused("where the run starts", "train", "copy.gguf", few, "copy.gguf", "--weights", one, "--transcript",
            "never.run")
    assert Path("copy.gguf").read_bytes() == model.read_bytes()

    must("train", model, few, "by_weights.gguf", "--weights", one, "--steps", 1, "--transcript", "by_weights.run")
    refused("must be F16", "replay", other, "by_weights.run", "tuned.gguf")
    refused("with which the run began", "replay", "nan_weight.gguf", "by_weights.run", "tuned.gguf")
    refused("no GGUF file", "replay", "no_tab.tsv", "by_weights.run", "tuned.gguf")
    refused("has no tensor", "replay", "lora.gguf", "by_weights.run", "tuned.gguf")


def refused(says, *words):
    done = run(*words)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, (says, done)
    assert not Path("never.run").exists() and not Path("tuned.gguf").exists(), says
    print("refused:", done.stderr.strip(), flush=True)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        few = Path("few.tsv").resolve()
        few.write_text("".join(TOY.joinpath("records.tsv").read_text().splitlines(True)[:12]))
        check_refusals(few)
        check_round_trips(few)
        check_weights(few)
        check_resumes(few)
        check_learns()
    print("all passed")


if __name__ == "__main__":
    main()
