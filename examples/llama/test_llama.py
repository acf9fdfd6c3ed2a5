# SPDX-License-Identifier: Apache-2.0
"""Tests private_tuning on the toy model: python test_llama.py FOLDER, where FOLDER has the programs and toy/. Needs
the package gguf.

Every adapter under every mechanism: a fresh process that loads the tuned file gets the losses that the training
process had, bit for bit, and the transcript replays to the same file. So do weights tuned in place, and no other
tensor has changed. llama.cpp's own program finds the same losses. Every error: one line, exit 2, nothing spent, at
every limit on memory, too.
"""
import fnmatch
import itertools
import math
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import gguf
import numpy as np

FOLDER = Path(sys.argv[1]).resolve()
PROGRAM = FOLDER / "build" / "private_tuning"
STOCK = FOLDER / "build" / "perplexity" / "llama-perplexity"
TOY = FOLDER / "toy"
STARTS = {"control": ["--control", "1"], "lora": ["--rank", "2"], "lora_f16": ["--rank", "2", "--type", "f16"]}
MECHANISMS = {"paczero-mi": [], "paczero-zpl": [], "dpzero": [], "dp-aggzo": ["--directions", "2"]}


def run(*words, **limits):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, **limits)


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


def written(name, architecture, tensors, **fields):
    """An adapter with these tensors."""
    file = gguf.GGUFWriter(name, architecture)
    file.add_string("general.type", "adapter")
    for key, value in fields.items():
        add = file.add_float32 if isinstance(value, float) else file.add_string
        add(key.replace("_", "."), value)
    for tensor, numbers in tensors.items():
        file.add_tensor(tensor, numbers)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return name


def lora(name, change, architecture="llama"):
    """lora.gguf with other tensors."""
    tensors = {one.name: one.data for one in gguf.GGUFReader("lora.gguf").tensors}
    return written(name, architecture, change(tensors), adapter_type="lora", adapter_lora_alpha=4.0)


def control(name, *names, size=256):
    return written(name, "controlvector", {one: np.zeros(size, np.float32) for one in names})


def patched(name, model, change):
    data = bytearray(Path(model).read_bytes())
    change(data)
    Path(name).write_bytes(data)
    return name


def with_weight(name, model, tensor, number):
    place = next(one.data_offset for one in gguf.GGUFReader(model).tensors if one.name == tensor)

    def change(data):
        data[place:place + 2] = struct.pack("<e", number)
    return patched(name, model, change)


def with_context(name, model, length):
    key = b"llama.context_length"

    def change(data):
        place = data.index(key) + len(key) + 4
        data[place:place + 4] = struct.pack("<I", length)
    return patched(name, model, change)


def text(name, content):
    Path(name).write_bytes(content)
    return name


def refused(says, *words, save=True, **limits):
    """One line, exit 2, and no file that was not there: least of all a state that was charged."""
    before = sorted(os.listdir())
    state = ["--save", "never.state"] if save and words[0] == "train" and "--save" not in words else []
    done = run(*words, *state, **limits)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1, (says, words, done)
    assert not done.stdout and sorted(os.listdir()) == before, (says, set(os.listdir()) - set(before))
    print("refused:", done.stderr.strip()[:300], flush=True)


def check_refusals(few):
    model, other, wide = TOY / "F16.gguf", TOY / "other" / "model.gguf", TOY / "wide" / "model.gguf"
    must("start", model, "lora.gguf")
    must("start", model, "control.gguf", "--control", "1")
    must("start", other, "other.gguf")
    must("start", wide, "wide_lora.gguf")
    must("start", wide, "wide_control.gguf", "--control", "1")
    one, half = "blk.1.attn_q.weight", "blk.0.attn_q.weight.lora_b"
    with open("large.gguf", "wb") as file:
        file.truncate(2 ** 43)
    text("text.gguf", b"a prompt without an answer\n")
    text("long.tsv", b"the" + 70_000 * b" soup" + b"\t good\n")
    transcript = ["--transcript", "never.run"]
    adapters = {
        "is not finite": patched("nan.gguf", "lora.gguf", lambda data: data.__setitem__(
            slice(-4, None), struct.pack("<f", math.nan))),
        "another tokenizer": "other.gguf",
        "does not fit the model": "wide_lora.gguf",
        "LoRA tensor 'blk.7.attn_q.weight' does not exist": lora("deep.gguf", lambda all: {
            name.replace("blk.1", "blk.7"): numbers for name, numbers in all.items()}),
        "LoRA tensor pair for": lora("lone.gguf", lambda all: {name: all[name] for name in all if name != half}),
        "LoRA arch mismatch": lora("gpt2.gguf", dict, "gpt2"),
        "number of parameters is 0": lora("empty.gguf", lambda all: {}),
        "another shape": "wide_control.gguf",
        "tensor direction.abc of 256": control("word.gguf", "direction.abc"),
        "tensor direction.99999999999999999999999 of": control("far.gguf", "direction.99999999999999999999999"),
        "tensor direction.-1": control("negative.gguf", "direction.-1"),
        "tensor direction.0 of": control("first.gguf", "direction.0"),
        "tensor direction.2 of": control("last.gguf", "direction.2"),
        "tensor direction.1x of": control("more.gguf", "direction.1x"),
        "layer 1 twice: tensor direction.01": control("twice.gguf", "direction.1", "direction.01"),
        "parameters is 0": control("none.gguf"),
        "no GGUF file": "text.gguf",
        "ends before tensor": patched("short.gguf", "lora.gguf", lambda data: data.__delitem__(slice(-100, None))),
        "cannot read missing.gguf": "missing.gguf",
    }
    for says, adapter in adapters.items():
        refused(says, "train", model, adapter, few, "tuned.gguf", *transcript)
    models = {
        "too large for the memory": "large.gguf",
        "cannot load text.gguf": "text.gguf",
        "cannot read missing.gguf": "missing.gguf",
        "cannot load short_model.gguf": patched("short_model.gguf", model, lambda data: data.__delitem__(
            slice(-100_000, None))),
        "the loss of record 1 is not finite": with_weight("nan_weight.gguf", model, one, math.nan),
        "loss of record 1 is not finite": with_weight("inf_weight.gguf", model, "blk.0.ffn_up.weight", math.inf),
    }
    for says, file in models.items():
        for start in ("lora.gguf", "control.gguf"):
            refused(says, "train", file, start, few, "tuned.gguf", *transcript)
        refused(says, "train", file, few, "tuned.gguf", "--weights", "*attn_norm*", *transcript)
        refused(says, "train", file, few, "tuned.gguf", "--weights", "*attn_norm*", *transcript, "--mechanism", "dpzero",
                save=False)
    reads = with_context("reads.gguf", model, 2 ** 20)
    refused("with a context of 70003 tokens is too large for the memory", "train", reads, "lora.gguf", "long.tsv",
            "tuned.gguf", *transcript)
    refused("70003 tokens, more than the model was trained to read: 256", "train", model, "lora.gguf", "long.tsv",
            "tuned.gguf", *transcript)
    patterns = {
        f"{one} is stored as q8_0": (TOY / "Q8_0.gguf", one),
        f"{one} is stored as q4_K": (TOY / "Q4_K.gguf", one),
        "no tensor with a name like none": (model, "none"),
    }
    for says, (file, pattern) in patterns.items():
        refused(says, "train", file, few, "tuned.gguf", "--weights", pattern, *transcript)

    must("train", model, few, "by_weights.gguf", "--weights", one, "--steps", 1, "--transcript", "by_weights.run")
    replays = {
        "must be F16": (other, "by_weights.run"),
        "with which the run began": ("nan_weight.gguf", "by_weights.run"),
        "no GGUF file": ("text.gguf", "by_weights.run"),
        "has no tensor": ("lora.gguf", "by_weights.run"),
        "header is truncated": (model, patched("short.run", "by_weights.run", lambda data: data.__delitem__(slice(60, None)))),
        "missing.run": (model, "missing.run"),
    }
    for says, words in replays.items():
        refused(says, "replay", *words, "tuned.gguf")


def check_records():
    """What is no record, and a line that ends as on Windows, which is."""
    words = ["train", TOY / "F16.gguf", "lora.gguf"]
    rest = ["tuned.gguf", "--transcript", "never.run"]
    bad = {
        "no_tab": b"a prompt without an answer\n",
        "no_answer": b"a prompt\t\n",
        "blank_answer": b"a prompt\t  \n",
        "windows_blank": b"a prompt\t\r\n",
        "no_prompt": b"\t good\n",
        "empty_line": b"\n",
        "zero": b"a pro\0mpt\t good\n",
    }
    for name, line in bad.items():
        refused(f"{name}.tsv: line 2 is not a prompt, a tab and an answer", *words,
                text(f"{name}.tsv", b"the soup was\t warm\n" + line), *rest)
    refused("has no record", *words, text("nothing.tsv", b""), *rest)
    refused("cannot read missing.tsv", *words, "missing.tsv", *rest)
    refused("does not match record 1", *words, text("no_text.tsv", b"the soup was \xff\xfe\t good\n"), *rest)
    text("unix.tsv", b"the soup was\t warm\nthe room was\t cold\n")
    text("windows.tsv", b"the soup was\t warm\r\nthe room was\t cold")
    assert losses(TOY / "F16.gguf", "unix.tsv") == losses(TOY / "F16.gguf", "windows.tsv")


def check_arguments(few):
    model = TOY / "F16.gguf"
    words = ["train", model, "lora.gguf", few, "tuned.gguf", "--transcript", "never.run"]
    values = {
        "--steps": ("abc", "0", "-1", "1e30", "", "3x"), "--directions": ("0", "nan"), "--threads": ("0", "many", "99999"),
        "--smoothing": ("small", "0", "nan"), "--rate-of-learning": ("abc", "nan", "inf"), "--nats": ("x", "nan"),
        "--seed": ("-1", "one"), "--rounding": ("up",), "--mechanism": ("none",)}
    for option, bad in values.items():
        for value in bad:
            refused(option.removeprefix("--").split("-")[-1] + " is " + value, *words, option, value)
    refused("-1", *words, "--nats", "-1")
    for option, value in {"--epsilon": "abc", "--delta": "2", "--batch-rate": "0", "--clip": "-1"}.items():
        refused(" is ", *words, "--mechanism", "dpzero", option, value, save=False)
    refused("only PACZero keeps a state", *words, "--mechanism", "dpzero")
    refused("has no option --stepz", *words, "--stepz", 3)
    refused("--steps is there twice", *words, "--steps", 3, "--steps", 4)
    refused("--steps has no value", *words, "--steps", save=False)
    refused("train has no --transcript", *words[:5])
    refused("train has no TUNED", *words[:4], *words[5:])
    refused("train has no place for more", *words[:5], "more", *words[5:])
    refused("train has no place for tuned.gguf", *words, "--weights", "*")
    refused("losses has no place for 3", "losses", model, few, "lora.gguf", 3)
    refused("there is no verb tune", "tune")
    for option, value in {"--type": "q8", "--rank": "0", "--control": "2"}.items():
        refused(f"{option} is {value}, but must be", "start", model, "started.gguf", option, value)
    help = run()
    assert help.returncode == 2 and not help.stdout and help.stderr.count("\n") < 8 and "usage:" in help.stderr, help


def check_files(few):
    """What is written is a file of its own, in a place that can be written."""
    model = Path(shutil.copy(TOY / "F16.gguf", "model.gguf"))
    shutil.copy(few, "records.tsv")
    shutil.copy("lora.gguf", "start.gguf")
    os.link("start.gguf", "linked.gguf")
    os.symlink("model.gguf", "also.gguf")
    Path("folder").mkdir()
    one = "blk.1.attn_q.weight"
    places = ["model.gguf", "start.gguf", "records.tsv"]
    before = {name: Path(name).read_bytes() for name in places}
    for tuned in ("model.gguf", "also.gguf", "start.gguf", "linked.gguf", "records.tsv", "never.run", "./never.run",
                  "folder/../never.state", "never.state.lock", "never.run.lock"):
        refused("but must be another file than", "train", *places, tuned, "--transcript", "never.run")
        if tuned not in ("start.gguf", "linked.gguf"):
            refused("but must be another file than", "train", "model.gguf", "records.tsv", tuned, "--weights", one,
                    "--transcript", "never.run")
    for option in ("--transcript", "--save", "--report"):
        for file in (*places, "tuned.gguf", "tuned.gguf.new"):
            more = [] if option == "--transcript" else ["--transcript", "never.run"]
            refused("but must be another file than", "train", *places, "tuned.gguf", option, file, *more)
    refused("must be another file than", "train", *places, "tuned.gguf", "--transcript", "x", "--save", "x")
    for file in ("none/x", "folder", "start.gguf/x", "/proc/x", "/dev/null", "", "x" * 300):
        refused("which cannot be written", "train", *places, file, "--transcript", "never.run")
        refused("which cannot be written", "start", model, file)
        refused("which cannot be written", "replay", "start.gguf", "never.run", file)
        if file:
            refused("which cannot be written", "train", *places, "tuned.gguf", "--transcript", file)
            refused("which cannot be written", "train", *places, "tuned.gguf", "--transcript", "never.run", "--save", file)
            refused("which cannot be written", "train", *places, "tuned.gguf", "--transcript", "never.run", "--report",
                    file)
    refused("must be another file than", "start", model, "also.gguf")
    must("train", *places, "tuned.gguf", "--transcript", "done.run", "--save", "done.state", "--steps", 2)
    tuned, run_before = Path("tuned.gguf").read_bytes(), Path("done.run").read_bytes()
    for file in ("start.gguf", "linked.gguf", "done.run"):
        refused("must be another file than", "replay", "start.gguf", "done.run", file)
    # A transcript that is there is nobody's to begin anew.
    refused("no state never.state from which it goes on", "train", *places, "tuned.gguf", "--transcript", "done.run",
            "--steps", 2)
    refused("done.run", "train", *places, "tuned.gguf", "--transcript", "done.run", "--steps", 2, save=False)
    assert Path("done.run").read_bytes() == run_before and Path("tuned.gguf").read_bytes() == tuned
    assert before == {name: Path(name).read_bytes() for name in places}
    # A file that is there and is none of these is replaced, once the run is done.
    text("old.gguf", b"old")
    must("train", *places, "old.gguf", "--transcript", "old.run", "--steps", 2)
    assert Path("old.gguf").read_bytes() == tuned or len(Path("old.gguf").read_bytes()) == len(tuned)


def check_memory(few):
    """Every limit on addresses, from one under which the program just starts: one line and nothing spent, or all."""
    model = TOY / "F16.gguf"
    for places in (["lora.gguf"], ["control.gguf"], ["--weights", "blk.*"]):
        for threads in (1, 5):
            ends, megabytes = [], 8
            while not ends or ends[-1] != 0:
                limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, 2 * (int(megabytes * 2 ** 20),))}
                if not ends and run(**limit).returncode != 2:  # there is no memory for the libraries that it needs
                    megabytes *= 1.2
                    continue
                before = sorted(os.listdir())
                done = run("train", model, *places, few, "limited.gguf", "--transcript", "limited.run", "--save",
                           "limited.state", "--steps", 2, "--threads", threads, **limit)
                ends.append(done.returncode)
                assert done.returncode in (0, 2), (megabytes, done)
                assert done.stderr.count("\n") == done.returncode // 2, (megabytes, done)
                if done.returncode:
                    left = set(os.listdir()) - set(before)
                    assert not left, (megabytes, done.stderr, left)
                    print(f"{megabytes:.0f} MB, {threads} threads: {done.stderr.strip()}", flush=True)
                megabytes *= 1.1
            assert 2 in ends
            for file in ("limited.gguf", "limited.run", "limited.state"):
                Path(file).unlink()
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, 2 * (2 ** 28,))}
    refused("too large for the memory that is free", "train", patched("padded.gguf", model, lambda data: data.extend(
        bytes(2 ** 28))), "lora.gguf", few, "tuned.gguf", "--transcript", "never.run", **limit)


def check_diverged(few):
    """Steps that are far too long: what they lead to gets no name."""
    model = TOY / "F16.gguf"
    for places, more in ((["lora.gguf"], []), (["control.gguf"], []), ([], ["--weights", "blk.*"])):
        for mechanism in ("dpzero", "dp-aggzo"):
            for rate in ("1e38", "1e30"):
                done = run("train", model, *places, few, "diverged.gguf", "--mechanism", mechanism, "--rate-of-learning",
                           rate, "--steps", 3, "--transcript", "diverged.run", *more)
                if done.returncode == 0:  # some models norm even that away
                    of = losses(model, few, "diverged.gguf") if places else losses("diverged.gguf", few)
                    assert places == ["control.gguf"] and math.isfinite(mean(of)), (done, of)
                    Path("diverged.gguf").unlink()
                else:
                    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "finite" in done.stderr, done
                    print("refused:", done.stderr.strip(), flush=True)
                assert not list(Path().glob("diverged.gguf*")), done
                if "tensor" in done.stderr:
                    refused("a number that is not finite", "replay", places[0] if places else model, "diverged.run", "tuned.gguf")
                Path("diverged.run").unlink()


def check_stock():
    """llama.cpp's own llama-perplexity loads what was tuned, and finds the same losses."""
    words = ("soup was fresh and warm . story was honest and clever . garden was bright and calm . room was cold and "
             "rude . film was dull and loud . song").split()
    known = gguf.GGUFReader(TOY / "F16.gguf").fields["tokenizer.ggml.tokens"].contents()
    assert all("Ġ" + word in known for word in words)
    text = [" " + word for word in words]  # 31 tokens, after the one with which a text begins
    Path("stock.txt").write_text(3 * "".join(text))
    Path("stock.tsv").write_text("".join(text[:16]) + "\t" + "".join(text[16:]) + "\n")

    def stock(model, *more):
        for _ in range(50):  # it ends without waiting for the thread that writes its last lines
            done = subprocess.run([STOCK, "-m", model, "-f", "stock.txt", "-c", "32", "-b", "32", "--chunks", "1", "-t", "1",
                                   "-ctk", "f32", "-ctv", "f32", "-fa", "off", *more], capture_output=True, text=True)
            assert done.returncode == 0, done
            if found := re.search(r"Final estimate: PPL = ([\d.]+)", done.stdout + done.stderr):
                return math.log(float(found[1]))
        raise AssertionError(done)

    for name in ("F16", "Q8_0"):
        model = TOY / f"{name}.gguf"
        before = stock(model)
        cases = {"--lora": (["stock_start.gguf"], ["--rank", "4"], ["--rate-of-learning", 0.1]),
                 "--control-vector": (["stock_start.gguf"], ["--control", "1"], ["--rate-of-learning", 3]),
                 "-m": ([], None, ["--weights", "blk.*" if name == "F16" else "*_norm.weight", "--rate-of-learning", 0.1])}
        for option, (places, start, more) in cases.items():
            if start:
                must("start", model, "stock_start.gguf", *start)
            must("train", model, *places, "stock.tsv", "stock.gguf", "--mechanism", "dp-aggzo", "--directions", 2,
                 "--batch-rate", 1, "--steps", 4, "--transcript", "stock.run", *more)
            adapter = ["stock.gguf"] if start else []
            here = mean(losses(model if start else "stock.gguf", "stock.tsv", *adapter))
            there = stock(model, option, "stock.gguf") if start else stock("stock.gguf")
            assert abs(here - there) < 1e-4 < abs(there - before), (name, option, before, here, there)
            Path("stock.run").unlink()
            print(f"{name}: llama-perplexity {option}: {there:.5f} nats a token, here {here:.5f}, before {before:.5f}",
                  flush=True)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        few = Path("few.tsv").resolve()
        few.write_text("".join(TOY.joinpath("records.tsv").read_text().splitlines(True)[:12]))
        check_refusals(few)
        check_records()
        check_arguments(few)
        check_files(few)
        check_memory(few)
        check_diverged(few)
        check_stock()
        check_round_trips(few)
        check_weights(few)
        check_resumes(few)
        check_learns()
    print("all passed")


if __name__ == "__main__":
    main()
