# SPDX-License-Identifier: Apache-2.0
"""Tests private_opt on a toy: python test_torch.py FOLDER, where FOLDER has build/private_opt and toy/, as tools/torch.sh
makes them.

The model computes what NumPy computes from the same file. Every mechanism, in float32 and bfloat16: a fresh process
gets the losses of the tuned model, and the transcript replays to it, byte for byte. One, two and four ranks tune alike.
Every error: one line, exit 2, nothing spent. Where there is a CUDA device, what was tuned there replays on the host.
With `device` as a second word it tests that alone; PROGRAM, in the environment, is another program.
"""
import itertools
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(sys.argv[1]).resolve()
PROGRAM = Path(os.environ.get("PROGRAM", FOLDER / "build" / "private_opt")).resolve()
TOY = FOLDER / "toy"
MECHANISMS = {"paczero-mi": [], "paczero-zpl": ["--directions", "3"], "dpzero": ["--rate-of-learning", "0.001"],
              "dp-aggzo": ["--directions", "2", "--rate-of-learning", "0.001"],
              "ferret": ["--nats", "4", "--batch-rate", "0.1"]}
PATIENCE = 300  # seconds, for what takes a few


def begin(*words, **environment):
    return subprocess.Popen([PROGRAM, *map(str, words)], env={**os.environ, **environment}, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process):
    out, complaint = process.communicate(timeout=PATIENCE)
    return process.returncode, out, complaint


def must(*words):
    status, out, complaint = end(begin(*words))
    assert status == 0, (words, complaint)
    return out


def losses(model, records, *more):
    return [line.split() for line in must("losses", model, records, *more).splitlines()]


def weights_of(model):
    return Path(model, "model.safetensors").read_bytes()


# ---- the model, by NumPy ------------------------------------------------------------------------

def tensors_in(model):
    import numpy as np  # what tests a device alone needs none

    data = weights_of(model)
    size = int.from_bytes(data[:8], "little")
    out = {}
    for name, one in json.loads(data[8:8 + size]).items():
        begin_at, end_at = (8 + size + offset for offset in one["data_offsets"])
        if one["dtype"] == "F32":
            values = np.frombuffer(data[begin_at:end_at], "<f4")
        else:
            values = (np.frombuffer(data[begin_at:end_at], "<u2").astype("<u4") << 16).view("<f4")
        out[name.removeprefix("model.decoder.")] = values.reshape(one["shape"]).astype(np.float64)
    return out


def losses_by_numpy(model, records):
    import numpy as np

    w, config = tensors_in(model), json.loads(Path(model, "config.json").read_text())
    words = Path(model, "vocab.txt").read_text().splitlines()

    def affine(x, name):
        return x @ w[name + ".weight"].T + w[name + ".bias"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"] + w[name + ".bias"]

    out = []
    for line in Path(records).read_text().splitlines():
        prompt, answer = ([words.index(word) for word in part.split()] for part in line.split("\t"))
        tokens = [2, *prompt, *answer]
        n, heads = len(tokens), config["num_attention_heads"]
        x = w["embed_tokens.weight"][tokens] + w["embed_positions.weight"][2:2 + n]
        for layer in range(config["num_hidden_layers"]):
            at = f"layers.{layer}."
            h = norm(x, at + "self_attn_layer_norm")
            q, k, v = (affine(h, f"{at}self_attn.{part}_proj").reshape(n, heads, -1).swapaxes(0, 1) for part in "qkv")
            score = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
            score[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
            share = np.exp(score - score.max(-1, keepdims=True))
            mixed = (share / share.sum(-1, keepdims=True)) @ v
            x = x + affine(mixed.swapaxes(0, 1).reshape(n, -1), at + "self_attn.out_proj")
            x = x + affine(np.maximum(affine(norm(x, at + "final_layer_norm"), at + "fc1"), 0), at + "fc2")
        logits = norm(x, "final_layer_norm") @ w["embed_tokens.weight"].T
        logits = logits[len(prompt):-1]
        logs = logits - logits.max(-1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(-1, keepdims=True))
        out.append(-logs[range(len(answer)), answer].mean())
    return np.array(out)


def check_model(few):
    Path("answers.tsv").write_text(few.read_text() + "the room was\tcold and dirty\nit was\tgreat\n".replace(" and", ""))
    import numpy as np

    for model, tolerance in {"m32": 1e-5, "m16": 0.05}.items():
        found = np.array([float(loss) for _, loss, _ in losses(model, "answers.tsv")])
        wanted = losses_by_numpy(model, "answers.tsv")
        assert np.abs(found - wanted).max() < tolerance * max(1, wanted.max()), (model, found - wanted)
        print(f"{model}: {len(found)} losses within {np.abs(found - wanted).max():.1e} of NumPy's", flush=True)


def check_company(few, *where):
    """A loss is the same bits whoever else is asked for."""
    lines = few.read_text().splitlines(True)
    longest = max(range(len(lines)), key=lambda i: len(lines[i].split()))
    lines[0], lines[longest] = lines[longest], lines[0]
    Path("all.tsv").write_text("".join(lines))
    Path("less.tsv").write_text("".join(lines[:11]))
    assert losses("m32", "all.tsv", *where)[:11] == losses("m32", "less.tsv", *where)


# ---- runs ---------------------------------------------------------------------------------------

def train(model, records, name, *more, steps=4):
    return ["train", model, records, name, "--transcript", f"{name}.run", "--steps", steps, *more]


def check_round_trips(few):
    for (mechanism, more), model in itertools.product(MECHANISMS.items(), ("m32", "m16")):
        if (mechanism, model) == ("ferret", "m16"):
            continue
        name = f"{mechanism}_{model}"
        report = json.loads(must(*train(model, few, name, "--mechanism", mechanism, "--json", "--audit", *more)))
        attack = report["attack"]
        assert 0 <= attack <= 1 and 0 <= report.get("loss_attack", 0) <= 1 and 0.5 <= report["attack_bound"] <= 1, report
        assert mechanism != "paczero-zpl" or report["attack_bound"] == attack == 0.5
        must("replay", model, f"{name}.run", "again")
        assert weights_of(name) == weights_of("again"), f"{name}: the replay differs"
        assert mechanism.startswith("paczero") or weights_of(name) != weights_of(model), f"{name}: nothing moved"
        print(f"{name}: replayed, the same bytes", flush=True)


def check_resumes(few, *where):
    for file in ("kept.run", "kept.state", "kept.state.lock"):
        Path(file).unlink(missing_ok=True)
    shutil.rmtree("kept", ignore_errors=True)
    words = train("m32", few, "kept", "--save", "kept.state", *where, steps=200)
    process = begin(*words)
    size = 0
    while process.poll() is None:  # a few records more than there were at first
        now = os.stat("kept.run").st_size if Path("kept.run").exists() else 0
        size = size or now
        if now > size + 40:
            process.kill()
    process.communicate()
    assert process.returncode != 0 and not Path("kept").exists(), "it was not killed on its way"
    assert os.stat("kept.state").st_mode & 0o077 == 0
    must(*words)
    must("replay", "m32", "kept.run", "again")
    assert weights_of("kept") == weights_of("again")
    print("killed and resumed: the transcript makes the same model", flush=True)


def check_learns():
    records = TOY / "private.tsv"
    before = float(json.loads(must("losses", "m32", records, "--json"))["loss"])
    must(*train("m32", records, "learnt", "--nats", 2, "--rate-of-learning", 0.003, "--smoothing", 0.003, steps=100))
    after = float(json.loads(must("losses", "learnt", records, "--json"))["loss"])
    assert after < 0.95 * before, (before, after)
    print(f"100 steps: {before:.3f} nats a token before, {after:.3f} after", flush=True)


# ---- ranks --------------------------------------------------------------------------------------

def on_ranks(ranks, words):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return [begin(*words, RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
            for rank in range(ranks)]


def check_ranks(records):
    runs = {}
    for ranks in (1, 2, 4):
        name = f"ranks{ranks}"
        ends = [end(one) for one in on_ranks(ranks, train("m32", records, name, "--mechanism", "paczero-zpl", "--json",
                                                          "--directions", 2, "--rate-of-learning", 0.003, steps=20))]
        assert all(status == 0 for status, _, _ in ends), ends
        report = json.loads(ends[0][1])
        assert report["ranks"] == ranks and not any(out for _, out, _ in ends[1:])
        # The records' numbers and 2 scalars each, and what ends a step.
        assert report["bytes_a_step"] < 3 * 8 * len(records.read_text().splitlines()) + 200, report
        runs[ranks] = Path(f"{name}.run").read_bytes(), weights_of(name)
    assert runs[1] == runs[2] == runs[4], "ranks differ"
    assert runs[1][1] != weights_of("m32"), "nothing moved"
    print("paczero-zpl: the same bytes on 1, 2 and 4 ranks", flush=True)

    ends = [end(one) for one in on_ranks(4, train("m32", records, "batches", "--mechanism", "dp-aggzo",
                                                  "--directions", 2, "--rate-of-learning", 0.001))]
    assert all(status == 0 for status, _, _ in ends), ends
    must("replay", "m32", "batches.run", "again")
    assert weights_of("batches") == weights_of("again")

    words = train("m32", records, "both", "--save", "both.state", steps=400)
    processes = on_ranks(2, words)
    while not Path("both.run").exists() or os.stat("both.run").st_size < 1900:
        assert processes[0].poll() is None, end(processes[0])
    processes[1].kill()
    ends = [end(one) for one in processes]
    assert ends[0][0] == 2 and ends[0][2].count("\n") == 1 and not Path("both").exists(), ends[0]
    ends = [end(one) for one in on_ranks(4, words)]
    assert all(status == 0 for status, _, _ in ends), ends
    must("replay", "m32", "both.run", "again")
    assert weights_of("both") == weights_of("again")
    print("a rank of two was killed, and four went on: the transcript makes the same model", flush=True)

    ends = [end(one) for one in on_ranks(2, train("m32", records, "none", "--mechanism", "none"))]
    assert all(status == 2 and complaint.count("\n") == 1 for status, _, complaint in ends), ends


# ---- a CUDA device ------------------------------------------------------------------------------

def check_device(few, records):
    where = ["--device", "cuda"]
    for device in (where, ["--device", "cuda:99"], ["--device", "gpu"]):
        status, out, complaint = end(begin(*train("m32", few, "never", "--save", "never.state"), *device))
        if device is where and status == 0:
            for file in ("never.run", "never.state"):
                Path(file).unlink()
            shutil.rmtree("never")
            there = True
            continue
        assert status == 2 and complaint.count("\n") == 1 and not out, (status, complaint)
        assert not any(Path(name).exists() for name in ("never", "never.run", "never.state")), complaint
        print("refused:", complaint.strip(), flush=True)
        if device is where:
            there = False
    if not there:
        print("no CUDA device here, or a program without it: what tests one is left out", flush=True)
        return False

    for model, tolerance in {"m32": 1e-4, "m16": 0.2}.items():
        pairs = zip(losses(model, records), losses(model, records, *where))
        off = max(abs(float(here[1]) - float(device[1])) for here, device in pairs)
        assert off < tolerance, (model, off)
        print(f"{model}: losses of the device within {off:.1e} of the processor's", flush=True)
    check_company(few, *where)
    cases = [*((mechanism, "m32") for mechanism in MECHANISMS), ("paczero-mi", "m16"), ("dp-aggzo", "m16")]
    for mechanism, model in cases:
        name, more = f"device_{mechanism}_{model}", MECHANISMS[mechanism]
        report = json.loads(must(*train(model, few, name, "--mechanism", mechanism, "--json", "--audit", "--test", few,
                                        *where, *more)))
        must("replay", model, f"{name}.run", "again")
        assert weights_of(name) == weights_of("again"), f"{name}: the host's replay differs"
        assert mechanism.startswith("paczero") or weights_of(name) != weights_of(model), f"{name}: nothing moved"
        assert report["peak_device_megabytes"] > 0, report
        print(f"{name}: the host's replay makes the same bytes", flush=True)
    fresh = json.loads(must("losses", name, few, "--json", *where))
    assert report["loss"] == fresh["loss"], (report, fresh)
    runs = {}
    for ranks in (1, 1, 2):
        name = f"device{len(runs)}"
        ends = [end(one) for one in on_ranks(ranks, train("m32", records, name, "--mechanism", "paczero-zpl",
                                                          "--directions", 2, "--rate-of-learning", 0.003, *where, steps=20))]
        assert all(status == 0 for status, _, _ in ends), ends
        runs[name] = Path(f"{name}.run").read_bytes(), weights_of(name)
    assert len(set(runs.values())) == 1, "the same run differs"
    print("paczero-zpl: the same bytes twice, and on 2 ranks of one device", flush=True)
    check_resumes(few, *where)
    return True


# ---- refusals -----------------------------------------------------------------------------------

def changed(name, change, model="m32"):
    """A copy of the model with another config.json."""
    shutil.copytree(model, name)
    config = json.loads(Path(name, "config.json").read_text())
    config.update(change)
    Path(name, "config.json").write_text(json.dumps(config))


def check_refusals(few):
    changed("huge", {"ffn_dim": 10 ** 6, "hidden_size": 10 ** 6, "word_embed_proj_dim": 10 ** 6})
    changed("wide", {"ffn_dim": 65})
    changed("deep", {"num_hidden_layers": 7})
    changed("post", {"do_layer_norm_before": False})
    changed("half", {"torch_dtype": "bfloat16"})
    changed("words", {})
    lines = Path("words", "vocab.txt").read_text().splitlines(True)
    Path("words", "vocab.txt").write_text("".join([*lines[:-2], lines[-1], lines[-2]]))
    changed("few_words", {})
    Path("few_words", "vocab.txt").write_text("".join(lines[:-1]))
    changed("nan", {})
    weights = bytearray(weights_of("nan"))
    weights[-4:] = b"\0\0\xc0\x7f"
    Path("nan", "model.safetensors").write_bytes(weights)
    changed("short", {})
    Path("short", "model.safetensors").write_bytes(weights_of("short")[:-100])
    changed("missing", {})
    Path("missing", "model.safetensors").unlink()
    Path("no_tab.tsv").write_text("a prompt without an answer\n")
    Path("nothing.tsv").write_text("")
    Path("no_answer.tsv").write_text("the room was\t \n")
    Path("no_word.tsv").write_text("the soup was\tgreat\n")
    Path("long.tsv").write_text("the " * 100 + "\tgreat\n")
    cases = {
        "too large for the memory": ("huge", few),
        "must be F32 of shape [65, 32]": ("wide", few),
        "is missing": ("deep", few),
        "do_layer_norm_before must be true": ("post", few),
        "must be BF16": ("half", few),
        "the tokenizer does not match the weights": ("words", few),
        "does not match the weights: ": ("few_words", few),
        "is not finite": ("nan", few),
        "short/model.safetensors": ("short", few),
        "missing/model.safetensors": ("missing", few),
        "has no record": ("m32", "nothing.tsv"),
        "line 1 is not a prompt": ("m32", "no_answer.tsv"),
        "not a prompt, a tab": ("m32", "no_tab.tsv"),
        'record 1: the model\'s tokenizer has no token "soup"': ("m32", "no_word.tsv"),
        "are more than the model reads": ("m32", "long.tsv"),
        "mechanism is none": ("m32", few, "--mechanism", "none"),
        "--nothing": ("m32", few, "--nothing", 1),
        "--steps": ("m32", few, "--steps", 0),
        "must be 1 for dpzero": ("m32", few, "--mechanism", "dpzero", "--directions", 2),
        "epsilon": ("m32", few, "--mechanism", "dpzero", "--epsilon", -1),
        "smoothing": ("m32", few, "--smoothing", "nan"),
        "must be float32": ("m16", few, "--mechanism", "ferret"),
        "only PACZero keeps a state": ("m32", few, "--mechanism", "dpzero", "--save", "never.state"),
    }
    for says, (model, records, *more) in cases.items():
        status, out, complaint = end(begin("train", model, records, "never", "--transcript", "never.run", *more))
        assert status == 2 and says in complaint and complaint.count("\n") == 1 and not out, (says, status, complaint)
        assert not any(Path(name).exists() for name in ("never", "never.run", "never.state")), says
        print("refused:", complaint.strip(), flush=True)


def refused(says, *words, **more):
    """One line, exit 2, and no file that was not there."""
    before = sorted(os.listdir())
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE, **more)
    assert done.returncode == 2 and says in done.stderr and done.stderr.count("\n") == 1 and not done.stdout, (says, done)
    assert sorted(os.listdir()) == before, (says, set(os.listdir()) - set(before))
    print("refused:", done.stderr.strip(), flush=True)


def check_files(few):
    """What is written is no file that is read, and can be written: before anything is spent."""
    shutil.copytree("m32", "model")
    os.symlink("model", "also")
    Path("file").write_text("no folder")
    before = weights_of("model")
    for out in ("model", "also", "./model/", few):
        for words in (["train", "model", few, out, "--transcript", "never.run", "--save", "never.state"],
                      ["train-openly", "model", few, out], ["replay", "model", "never.run", out]):
            if (out, words[0]) != (few, "replay"):
                refused("must be another file than", *words)
    refused("must be another file than", "train", "model", few, "out", "--transcript", few)
    refused("must be another file than", "train", "model", few, "out", "--transcript", "model/model.safetensors")
    refused("must be another file than", "train", "model", few, "out", "--transcript", "x", "--save", "x")
    for out in ("file/out", "file", "/proc/out", "/dev/null", "x" * 300):
        refused("which cannot be written", "train", "model", few, out, "--transcript", "never.run", "--save", "never.state")
        refused("which cannot be written", "train-openly", "model", few, out)
        refused("which cannot be written", "start", "model/vocab.txt", out)
    for option in ("--transcript", "--save"):
        more = [] if option == "--transcript" else ["--transcript", "never.run"]
        refused("which cannot be written", "train", "model", few, "out", option, "none/x", *more)
    assert weights_of("model") == before

    must(*train("model", few, "first"))
    must("start", "model/vocab.txt", "another", "--width", 32, "--layers", 2, "--heads", 2, "--positions", 32, "--seed", 7)
    refused("with which the run began", "replay", "another", "first.run", "never")
    refused("no state never.state from which it goes on", "train", "model", few, "never", "--transcript", "first.run",
            "--save", "never.state")
    status, out, complaint = end(begin(*train("model", few, "far", "--mechanism", "dpzero", "--rate-of-learning", "1e38")))
    assert status == 2 and "finite" in complaint and complaint.count("\n") == 1 and not Path("far").exists(), complaint
    # There is no memory for the weights.
    changed("tall", {"max_position_embeddings": 10 ** 6, "hidden_size": 1024, "word_embed_proj_dim": 1024})
    refused("too large for the memory that is free", "train", "tall", few, "never", "--transcript", "never.run", "--save",
            "never.state", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 ** 32, 2 ** 32)))


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        shutil.copytree(TOY / "m32", "m32")
        shutil.copytree(TOY / "m16", "m16")
        few = Path("few.tsv").resolve()
        few.write_text("".join(TOY.joinpath("private.tsv").read_text().splitlines(True)[-40:]))
        tested = check_device(few, TOY / "private.tsv")
        if sys.argv[2:] == ["device"]:
            sys.exit(print("passed on the device") if tested else 1)
        check_refusals(few)
        check_files(few)
        check_model(few)
        check_company(few)
        check_round_trips(few)
        check_resumes(few)
        check_ranks(TOY / "private.tsv")
        check_learns()
    print("all passed")


if __name__ == "__main__":
    main()
