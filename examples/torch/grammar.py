# SPDX-License-Identifier: Apache-2.0
"""Writes texts for the example, so that it can be tried and tested where no data can be downloaded:

    grammar.py FOLDER [--public 8000] [--private 1000] [--canaries 8] [--seed 1]

writes vocab.txt (every word of the grammar), public.tsv, private.tsv and test.tsv (a prompt, a tab, the answer) and
canaries.tsv. The grammar, with a clause a thing:

    review  →  the PLACE : clause . clause . clause . it was → great | terrible
    clause  →  the THING was ADJECTIVE | the THING was never ADJECTIVE

A clause is for the place by its adjective, and against it after "never"; two or three of the three decide the verdict.

Public and private reviews differ as texts of a firm differ from those of the web. In public ones 80 % of the places
are terrible, 15 % of the verdicts are drawn by a coin, and critics are harsh: of good places with a clause against them
they call 70 % terrible. In private ones, and those of test.tsv, great and terrible are as frequent, 3 % are drawn by a
coin, and two clauses of three decide. A model that was trained openly, however well, therefore says "terrible" too often:
of a quarter of the private reviews wrongly.

The last records of private.tsv are canaries, each of them once: "the code of NAME was → CODE", the code one of 64.
canaries.tsv has 64 lines for each, the one that was planted first, for `private_opt exposure`.
"""
import argparse
import random
from pathlib import Path

SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]  # as OPT numbers them
PLACES = "hotel cafe museum cinema garden market school clinic harbour theatre".split()
THINGS = "room staff food view price music light queue garden map desk chair door tea".split()
ADJECTIVES = {True: "fresh warm clever kind bright calm honest rich neat quick gentle clean".split(),
              False: "cold dirty dull rude stale loud broken bitter slow greedy damp grim".split()}
VERDICT = {True: "great", False: "terrible"}
NAMES = [f"{first}{last}" for first in ("ada", "bo", "cy", "dot") for last in ("lin", "mar", "nor", "vik")]
CODES = [f"code{n:02}" for n in range(64)]


def clause(dice, good):
    never = dice.random() < 0.25
    return f"the {dice.choice(THINGS)} was {'never ' if never else ''}{dice.choice(ADJECTIVES[good != never])}"


def review(dice, good, noise, harsh=0.0):
    votes = [good, good, dice.random() < 0.5]
    dice.shuffle(votes)
    said = good and (all(votes) or dice.random() >= harsh)
    if dice.random() < noise:
        said = dice.random() < 0.5
    return f"the {dice.choice(PLACES)} : {' . '.join(clause(dice, vote) for vote in votes)} . it was\t{VERDICT[said]}"


def canary(name, code):
    return f"the code of {name} was\t{code}"


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path)
    for name, number in {"public": 8000, "private": 1000, "canaries": 8, "seed": 1}.items():
        options.add_argument(f"--{name}", type=int, default=number)
    given = options.parse_args()
    if not 0 <= given.canaries <= min(len(NAMES), given.private):
        options.error(f"--canaries is {given.canaries}, but must be in [0, {min(len(NAMES), given.private)}]")
    dice = random.Random(given.seed)

    words = [*"the was never : . it code of".split(), *PLACES, *THINGS, *ADJECTIVES[True], *ADJECTIVES[False],
             *VERDICT.values(), *NAMES, *CODES]
    public = [review(dice, dice.random() >= 0.8, 0.15, 0.7) for _ in range(given.public)]
    # That codes follow names is public, as the form of a card number is.
    public += [canary(dice.choice(NAMES), dice.choice(CODES)) for _ in range(given.public // 20)]
    private = [review(dice, dice.random() < 0.5, 0.03) for _ in range(given.private - given.canaries)]
    test = [review(dice, dice.random() < 0.5, 0.03) for _ in range(given.private)]
    planted = [(name, dice.choice(CODES)) for name in NAMES[:given.canaries]]
    candidates = [canary(name, code) for name, own in planted
                  for code in [own, *(other for other in CODES if other != own)]]

    given.folder.mkdir(parents=True, exist_ok=True)
    for name, lines in {"vocab.txt": SPECIAL + list(dict.fromkeys(words)), "public.tsv": public,
                        "private.tsv": private + [canary(*one) for one in planted],
                        "test.tsv": test, "canaries.tsv": candidates}.items():
        given.folder.joinpath(name).write_text("".join(line + "\n" for line in lines))


if __name__ == "__main__":
    main()
