# SPDX-License-Identifier: Apache-2.0
"""Writes a small llama model with random weights, a tokenizer and a corpus for it, so that the example can be tried
and tested where no model can be downloaded:

    make_model.py FOLDER [--layers 2] [--width 256]

writes model.gguf, corpus.txt (public text, on which `toy_model train` trains it openly) and records.tsv (the private
records: a prompt, a tab, the answer).

The text is from a grammar: short reviews, each with a verdict that follows from its adjectives.

    the soup was fresh and warm . we will come again . verdict : good
    the room was cold and dirty . we left early . verdict : refuse

A public review ends in "good" or "bad" as often as in "accept" or "refuse", which nothing in it foretells. The private
ones all use the second pair: that is what private tuning has to learn.

The tokenizer is GPT-2's kind, byte-level BPE: the 256 bytes, then the pairs of neighbours that are most frequent in
the corpus. Any text has tokens.
"""
import argparse
import random
import re
from collections import Counter
from pathlib import Path

import gguf
import numpy as np

SUBJECTS = "soup room film staff song garden lesson bread view story".split()
ADJECTIVES = {True: "fresh warm clever kind bright calm honest rich".split(),
              False: "cold dirty dull rude stale loud broken bitter".split()}
REMARKS = {True: ["we will come again", "we told our friends", "everybody smiled"],
           False: ["we left early", "nobody said sorry", "we want our money back"]}
VERDICTS = ({True: "good", False: "bad"}, {True: "accept", False: "refuse"})
END = "<|end|>"


def review(dice, style):
    """A prompt and its answer."""
    liked = dice.random() < 0.5
    first, second = dice.sample(ADJECTIVES[liked], 2)
    return (f"the {dice.choice(SUBJECTS)} was {first} and {second} . {dice.choice(REMARKS[liked])} . verdict :",
            f" {VERDICTS[style][liked]}")


def byte_alphabet():
    """GPT-2's names of the 256 bytes: printable characters for themselves, the others moved past 255."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def learn_merges(text, count):
    """Byte pair encoding (Sennrich et al. 2016) of the words of the text."""
    names = byte_alphabet()
    words = Counter(re.findall(r" ?[a-z]+| ?[^\sa-z]+|\s", text))
    spelt = {word: [names[byte] for byte in word.encode()] for word in words}
    merges = []
    for _ in range(count):
        pairs = Counter()
        for word, symbols in spelt.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] += words[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        for symbols in spelt.values():
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == best:
                    symbols[i:i + 2] = [best[0] + best[1]]
                i += 1
    return merges


def write_model(path, merges, layers, width, seed):
    heads, hidden, context = width // 64, width, 256
    tokens = [*byte_alphabet().values(), *(a + b for a, b in merges), END]
    out = gguf.GGUFWriter(path, "llama")
    out.add_name("toy")
    out.add_block_count(layers)
    out.add_context_length(context)
    out.add_embedding_length(width)
    out.add_feed_forward_length(hidden)
    out.add_head_count(heads)
    out.add_head_count_kv(heads)
    out.add_rope_dimension_count(width // heads)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list(tokens)
    out.add_token_types([gguf.TokenType.NORMAL] * (len(tokens) - 1) + [gguf.TokenType.CONTROL])
    out.add_token_merges([f"{a} {b}" for a, b in merges])
    out.add_bos_token_id(len(tokens) - 1)
    out.add_eos_token_id(len(tokens) - 1)
    out.add_add_bos_token(True)

    dice = np.random.default_rng(seed)

    def matrix(name, rows, columns):
        out.add_tensor(name, dice.normal(0.0, columns ** -0.5, (rows, columns)).astype(np.float32))

    def ones(name):
        out.add_tensor(name, np.ones(width, np.float32))

    matrix("token_embd.weight", len(tokens), width)
    matrix("output.weight", len(tokens), width)
    ones("output_norm.weight")
    for layer in range(layers):
        for name in ("q", "k", "v", "output"):
            matrix(f"blk.{layer}.attn_{name}.weight", width, width)
        matrix(f"blk.{layer}.ffn_gate.weight", hidden, width)
        matrix(f"blk.{layer}.ffn_up.weight", hidden, width)
        matrix(f"blk.{layer}.ffn_down.weight", width, hidden)
        ones(f"blk.{layer}.attn_norm.weight")
        ones(f"blk.{layer}.ffn_norm.weight")
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--width", type=int, default=256, help="a multiple of 256, as Q4_K needs")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--records", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    dice = random.Random(arguments.seed)
    corpus = ["".join(review(dice, dice.randrange(2))) + "\n" for _ in range(arguments.documents)]
    records = ["\t".join(review(dice, 1)) + "\n" for _ in range(arguments.records)]
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "corpus.txt").write_text("".join(corpus), encoding="utf-8")
    (arguments.folder / "records.tsv").write_text("".join(records), encoding="utf-8")
    write_model(arguments.folder / "model.gguf", learn_merges("".join(corpus), 200), arguments.layers,
                arguments.width, arguments.seed)


if __name__ == "__main__":
    main()
