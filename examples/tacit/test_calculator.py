#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the calculator, and holds its answers and its refusals to their promises.

usage: test_calculator.py PROGRAM DIGITS_CSV [UNITTEST ARGUMENTS]
"""
import json
import math
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, DIGITS = sys.argv[1], sys.argv[2]
LARGEST = sys.float_info.max
KEYS = ["accuracy", "mi", "mi_worst_record", "attack_bound", "attack_achieved", "unanimity",
        "steps", "seconds"]


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def no_constant(word):
    raise AssertionError(f"{word} is no JSON")


def entropy(p):
    return -p * math.log(p) - (1 - p) * math.log1p(-p)


def divergence(p, q):
    """D(p||q) of two Bernoulli laws."""
    first = p * math.log(p / q) if p > 0 else 0.0
    return first + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def equivocation(prior, sigma):
    """What an observer of the noised value does not know of the sign: the definition, summed."""
    total, step = 0.0, sigma / 50
    for k in range(round(-1 / step) - 500, round(1 / step) + 501):
        y = k * step
        minus, plus = [(1 - prior) * math.exp(-((y + 1) / sigma) ** 2 / 2),
                       prior * math.exp(-((y - 1) / sigma) ** 2 / 2)]
        share = plus / (plus + minus)
        if 0 < share < 1:
            total += (plus + minus) * entropy(share)
    return total * step / (sigma * math.sqrt(2 * math.pi))


class Case(unittest.TestCase):
    def ask(self, *words):
        """The JSON answer. The sentence must come too, on one line and without a word on stderr."""
        plain = run(*words)
        self.assertEqual((plain.returncode, plain.stderr), (0, ""), words)
        self.assertEqual(plain.stdout.count("\n"), 1, words)
        return self.ask_json(*words)

    def ask_json(self, *words):
        done = run(*words, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        self.assertEqual(done.stdout.count("\n"), 1, words)
        answer = json.loads(done.stdout, parse_constant=no_constant)
        self.assertIsInstance(answer, dict)
        self.assertNotIn(None, answer.values())
        return answer

    def refused(self, *words, naming):
        """Exit 2, nothing on stdout, one line on stderr with each of `naming`."""
        done = run(*words)
        self.assertEqual((done.returncode, done.stdout), (2, ""), words)
        self.assertRegex(done.stderr, r"\Atacit[^\n]*: [^\n]+\n\Z", words)
        for text in naming:
            self.assertIn(text, done.stderr, words)


class Questions(Case):
    def test_information_of_the_noised_value(self):
        for prior, sigma in [(0.5, 1), (0.3, 2), (0.01, 0.7)]:
            answer = self.ask("mi", "--prior", prior, "--sigma", sigma)
            self.assertEqual(list(answer), ["mi"])
            self.assertAlmostEqual(answer["mi"], entropy(prior) - equivocation(prior, sigma),
                                   delta=1e-13)

    def test_information_of_the_released_sign(self):
        for prior in (0.5, 0.1):
            flip = 0.5 * math.erfc(1 / math.sqrt(2))
            plus = prior * (1 - flip) + (1 - prior) * flip
            told = self.ask("mi", "--prior", prior, "--sigma", 1, "--observed", "sign")["mi"]
            self.assertAlmostEqual(told, entropy(plus) - entropy(flip), delta=1e-12)
            value = self.ask("mi", "--prior", prior, "--sigma", 1, "--observed", "value")["mi"]
            self.assertLess(told, value)

    def test_ends_of_the_channel(self):
        self.assertAlmostEqual(self.ask("mi", "--prior", 0.5, "--sigma", 0)["mi"], math.log(2))
        self.assertEqual(self.ask("mi", "--prior", 1, "--sigma", 2)["mi"], 0.0)
        self.assertEqual(self.ask("sigma", "--prior", 0.5, "--mi", 1)["sigma"], 0.0)

    def test_noise_never_overspends(self):
        draw = random.Random(1)
        for observed in ("value", "sign"):
            for _ in range(20):
                prior = 0.5 * 10 ** draw.uniform(-12, 0)
                budget = entropy(prior) * 10 ** draw.uniform(-12, 0)
                asked = ["--prior", repr(prior), "--observed", observed]
                answer = self.ask_json("sigma", *asked, "--mi", repr(budget))
                self.assertEqual(list(answer), ["sigma", "mi"])
                self.assertLessEqual(answer["mi"], budget)
                self.assertGreaterEqual(answer["mi"], budget * (1 - 1e-11))
                # The printed sigma reads back as the same number.
                again = self.ask_json("mi", *asked, "--sigma", repr(answer["sigma"]))
                self.assertLessEqual(again["mi"], budget)
        tiny = self.ask("sigma", "--prior", 0.5, "--mi", 1e-290)
        self.assertTrue(1e144 < tiny["sigma"] < LARGEST)

    def test_attack_from_nats(self):
        answer = self.ask("attack", "--mi", 0.33)
        self.assertEqual(list(answer), ["success", "success_exact", "epsilon", "mi"])
        self.assertAlmostEqual(answer["success"], 0.881888, delta=1e-6)
        self.assertAlmostEqual(answer["epsilon"], 2.010, delta=1e-3)
        self.assertEqual(answer["mi"], 0.33)
        self.assertGreaterEqual(divergence(answer["success"], 0.5), 0.33 * (1 - 1e-15))
        # One membership bit of another prior: the exact form is strictly tighter.
        answer = self.ask("attack", "--mi", 0.05, "--prior", 0.9)
        self.assertAlmostEqual(answer["success_exact"], 0.921504, delta=1e-6)
        self.assertAlmostEqual(answer["success"], 0.979245, delta=1e-6)

    def test_attack_on_a_rare_secret(self):
        answer = self.ask("attack", "--mi", 0.1, "--prior", 0.01)
        self.assertEqual(list(answer), ["success", "epsilon", "mi"])
        self.assertAlmostEqual(divergence(answer["success"], 0.01), 0.1, delta=1e-12)
        fair = self.ask("attack", "--mi", 0.1)
        self.assertEqual(answer["epsilon"], fair["epsilon"])

    def test_attack_ends(self):
        self.assertEqual(self.ask("attack", "--mi", 0),
                         {"success": 0.5, "success_exact": 0.5, "epsilon": 0.0, "mi": 0.0})
        known = self.ask("attack", "--mi", 0.7)
        self.assertEqual((known["success"], known["epsilon"]), (1.0, LARGEST))
        self.assertEqual(self.ask("attack", "--epsilon", 1e308)["success"], 1.0)

    def test_attack_from_epsilon(self):
        answer = self.ask("attack", "--epsilon", 2, "--delta", 1e-5)
        self.assertEqual(list(answer), ["success", "epsilon", "mi"])
        expected = 1 - (1 - 1e-5) / (1 + math.exp(2))
        self.assertAlmostEqual(answer["success"], expected, delta=1e-15)
        self.assertGreaterEqual(answer["success"], expected)
        self.assertAlmostEqual(answer["mi"], divergence(expected, 0.5), delta=1e-12)
        self.assertEqual(self.ask("attack", "--epsilon", 0, "--prior", 0.8)["success"], 0.8)

    def test_budget_keeps_the_attacker_under(self):
        for success, prior in [(0.55, 0.5), (0.95, 0.9), (0.500001, 0.5), (0.2, 0.01)]:
            answer = self.ask("budget", "--success", success, "--prior", prior)
            self.assertEqual(list(answer), ["mi", "epsilon"])
            self.assertGreater(answer["mi"], 0)
            reached = self.ask("attack", "--mi", repr(answer["mi"]), "--prior", prior)["success"]
            self.assertAlmostEqual(reached, success, delta=1e-9)
            if prior >= 0.5:
                reached = self.ask("attack", "--epsilon", repr(answer["epsilon"]), "--prior", prior)
                self.assertAlmostEqual(reached["success"], success, delta=1e-12)
        self.assertEqual(self.ask("budget", "--success", 0.5), {"mi": 0.0, "epsilon": 0.0})
        self.assertEqual(self.ask("budget", "--success", 1)["epsilon"], LARGEST)


class Refusals(Case):
    def test_numbers(self):
        bad = ["", " ", "1x", "x", "nan", "-nan", "inf", "-inf", "1e999", "1e-999", "0x1", "1,5",
               "+.5", "[0.5]", "{}", "0.5 ", "-0.1", "1.1", "0.5\n0.5", "\u00bd"]
        for text in bad:
            self.refused("mi", "--sigma", 1, f"--prior={text}", naming=["--prior", "in [0, 1]"])
            self.refused("mi", "--sigma", 1, "--json", f"--prior={text}", naming=["--prior"])
        for text in ["-1", "nan", "inf"]:
            for words in [["mi", "--prior", 0.5, "--sigma"], ["attack", "--mi"],
                          ["attack", "--epsilon"]]:
                self.refused(*words, text, naming=[words[-1] + " is " + text, "at least 0"])
        self.refused("attack", "--epsilon", 1, "--delta", 2, naming=["--delta", "in [0, 1]"])
        self.refused("attack", "--mi", 1, "--prior", 0, naming=["--prior", "in (0, 1]"])
        for text in ["0", "-0", "1e-300"]:
            self.refused("sigma", "--prior", 0.5, "--mi", text, naming=["--mi", "at least 1e-290"])

    def test_words(self):
        verbs = "mi, sigma, attack, budget, train"
        self.refused(naming=["missing", verbs])
        self.refused("--json", naming=["--json", verbs])
        self.refused("guess", "--mi", 1, naming=["guess", verbs])
        self.refused("guess", "mi", "--prior", 0.5, "--sigma", 1, naming=["guess", verbs])
        options = "--prior, --sigma, --observed"
        asked = ["mi", "--prior", 0.5, "--sigma", 1]
        self.refused(*asked, "--noise", 3, naming=["--noise", options])
        self.refused(*asked, "-p", naming=["-p", options])
        self.refused(*asked, "surplus", naming=["surplus", options])
        self.refused(*asked, "sigma", naming=["sigma", options])
        self.refused(*asked, "--json=3", naming=["--json"])
        self.refused(*asked, "--observed", "both", naming=["--observed", "value or sign"])

    def test_missing_and_repeated(self):
        self.refused("mi", "--sigma", 1, naming=["--prior is missing", "in [0, 1]"])
        self.refused("mi", "--sigma", 1, "--prior", naming=["--prior", "in [0, 1]"])
        self.refused("mi", "--prior", 0.5, "--sigma", "--json", naming=["--sigma", "at least 0"])
        self.refused("mi", "--sigma", 1, "--prior", 0.1, "--prior", 0.2,
                     naming=["--prior", "in [0, 1]"])
        self.refused("budget", naming=["--success is missing", "in (0, 1]"])

    def test_combinations(self):
        self.refused("attack", naming=["--mi", "--epsilon"])
        self.refused("attack", "--delta", 0.1, naming=["--mi", "--epsilon"])
        self.refused("attack", "--mi", 1, "--epsilon", 1, naming=["--epsilon", "--mi"])
        self.refused("attack", "--mi", 1, "--delta", 0.1, naming=["--delta", "--mi"])
        self.refused("attack", "--epsilon", 1, "--prior", 0.4, naming=["--prior", "[0.5, 1]"])
        self.refused("budget", "--success", 0.4, naming=["--success", "[0.5, 1]", "before"])

    def test_help_is_no_refusal(self):
        for words in [["--help"], ["-h"], ["--version"], ["train", "--help"],
                      ["mi", "--prior", "nan", "--help"]]:
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)
            self.assertTrue(done.stdout)


class Training(Case):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.kept.name)
        cls.data = cls.folder / "small.csv"
        draw = random.Random(1)
        lines = ["a,b,c,kind"]
        for _ in range(180):
            kind = draw.randrange(3)
            row = [draw.gauss(centre, 1) for centre in (math.cos(2 * kind), math.sin(2 * kind), 0)]
            lines.append(",".join(f"{x:.3f}" for x in row) + f",{'uvw'[kind]}")
        cls.data.write_text("\n".join(lines) + "\n")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def train(self, *words, steps=200):
        answer = self.ask_json("train", self.data, "--steps", steps, *words)
        self.assertEqual([k for k in answer if k != "seeds"], KEYS)
        self.assertEqual(answer["steps"], steps)
        for key in ("accuracy", "unanimity", "attack_bound", "attack_achieved"):
            self.assertTrue(0 <= answer[key] <= 1, key)
        return answer

    def test_digits_just_work(self):
        start = self.ask_json("train", DIGITS, "--mechanism", "mezo", "--steps", 1)["accuracy"]
        answer = self.ask_json("train", DIGITS, "--mechanism", "paczero-zpl", "--steps", 400)
        # The network has seen eight of ten digits: .78 before, about .90 after 400 steps.
        self.assertGreater(answer["accuracy"], start + 0.02)
        self.assertEqual([answer[key] for key in KEYS[1:4]], [0, 0, 0.5])

    def test_budget_is_kept(self):
        done = run("train", self.data, "--mechanism", "paczero-mi", "--mi", 0.33, "--steps", 50)
        self.assertEqual((done.returncode, done.stderr, done.stdout.count("\n")), (0, "", 1))
        bound = self.ask_json("attack", "--mi", 0.33)["success"]
        for words in [[], ["--observed", "value"], ["--allocation", "uniform"],
                      ["--allocation", "confident-or-hold", "--horizon", 20,
                       "--minimum-correlation", 0.2],
                      ["--allocation", "budget-then-zero", "--disagreement", "majority"],
                      ["--directions", 2, "--subsets", 16, "--clip", 10]]:
            answer = self.train("--mechanism", "paczero-mi", "--mi", 0.33, *words)
            self.assertTrue(0 < answer["mi"] <= 0.33, words)
            self.assertLessEqual(answer["mi_worst_record"], answer["mi"], words)
            self.assertEqual(answer["attack_bound"], bound, words)
        answer = self.train("--mechanism", "paczero-mi", "--mi", 0.05, "--ledger", "record")
        self.assertTrue(0 < answer["mi_worst_record"] <= 0.05)
        self.assertGreater(answer["mi"], 0.05)

    def test_no_nats_and_no_privacy(self):
        for otherwise in ("coin", "hold", "majority"):
            answer = self.train("--mechanism", "paczero-zpl", "--disagreement", otherwise)
            self.assertEqual((answer["mi"], answer["mi_worst_record"]), (0, 0))
            self.assertAlmostEqual(answer["attack_achieved"], 0.5, delta=1e-12)
        answer = self.train("--mechanism", "mezo", "--learning-rate", 0.01, "--smoothing", 0.01)
        self.assertEqual((answer["attack_bound"], answer["attack_achieved"]), (1, 1))
        self.assertGreaterEqual(answer["mi"], math.log(128))

    def test_pathwise(self):
        answer = self.train("--mechanism", "paczero-mi", "--ledger", "pathwise", "--kappa", 0.05)
        self.assertAlmostEqual(answer["attack_bound"], 0.55, delta=1e-12)
        self.assertLessEqual(answer["attack_achieved"], answer["attack_bound"])

    def test_seeds(self):
        words = ["--mechanism", "paczero-zpl"]
        answer = self.train(*words, "--seed", 5, "--seeds", 3)
        runs = answer["seeds"]
        self.assertEqual([r["seed"] for r in runs], [5, 6, 7])
        mean = sum(r["accuracy"] for r in runs) / 3
        self.assertAlmostEqual(answer["accuracy"], mean, delta=1e-12)
        # Nothing secret enters ZPL with hold: the same seed gives the same run.
        self.assertEqual(self.train(*words, "--seed", 6)["accuracy"], runs[1]["accuracy"])

    def test_refusals(self):
        small = ["train", self.data]
        mi = [*small, "--mechanism", "paczero-mi"]
        self.refused("train", naming=["DATA is missing"])
        self.refused("train", "--mechanism", "mezo", naming=["DATA is missing"])
        self.refused(*small, naming=["--mechanism is missing", "mezo, paczero-mi or paczero-zpl"])
        self.refused(*small, "--mechanism", "sgd", naming=["--mechanism is sgd", "paczero-zpl"])
        self.refused(*small, small[1], "--mechanism", "mezo", naming=[str(self.data)])
        for name in ["nowhere.csv", self.folder]:
            self.refused("train", name, "--mechanism", "mezo", naming=["DATA", "readable table"])
        self.refused(*mi, naming=["--mi is missing", "positive"])
        for text in ["0", "-1", "nan", "inf"]:
            self.refused(*mi, "--mi", text, naming=["--mi", "positive"])
        spent = [*mi, "--mi", 1]
        for option, text, must_be in [
                ("--ledger", "all", "subset, record or pathwise"),
                ("--observed", "no", "value or sign"), ("--allocation", "all", "adaptive"),
                ("--disagreement", "no", "coin, hold or majority"),
                ("--steps", "0", "in [1, "), ("--steps", "1.5", "whole"),
                ("--subsets", "3", "even"), ("--smoothing", "0", "in [1e-37"),
                ("--learning-rate", "nan", "in [1e-37"),
                ("--clip", "0", "in (0, "), ("--directions", "-1", "in [1, "),
                ("--seed", "-1", "in [0, 18446744073709551615]"), ("--seeds", "0", "in [1, "),
                ("--seed", "18446744073709551616", "in [0, 18446744073709551615]"),
                ("--save", "", "file"), ("--save", "nowhere/state", "folder"),
                ("--save", str(self.data), "new or empty"),
                ("--resume", "nowhere", "unfinished run")]:
            self.refused(*spent, option, text, naming=[option, must_be])

    def test_what_means_nothing_is_refused(self):
        mi, zpl, mezo = (["--mechanism", name] for name in ("paczero-mi", "paczero-zpl", "mezo"))
        budget = [*mi, "--mi", 1]
        pathwise = [*mi, "--ledger", "pathwise", "--kappa", 0.1]
        confident = [*budget, "--allocation", "confident-or-hold"]
        spending = [["--mi", 1], ["--ledger", "record"], ["--kappa", 0.1], ["--observed", "sign"],
                    ["--allocation", "uniform"], ["--horizon", 3], ["--minimum-correlation", 0.5]]
        cases = [(mechanism, option) for mechanism in (zpl, mezo) for option in spending]
        cases += [(mezo, ["--disagreement", "coin"]), (mezo, ["--save", self.folder / "state"]),
                  (budget, ["--kappa", 0.1]), (budget, ["--horizon", 3]),
                  (budget, ["--minimum-correlation", 0.1]), (pathwise, ["--mi", 1]),
                  (pathwise, ["--allocation", "adaptive"]), (pathwise, ["--horizon", 3]),
                  (pathwise, ["--observed", "value"]), (confident, ["--disagreement", "coin"]),
                  ([*budget, "--seeds", 2], ["--save", self.folder / "state"]),
                  (mi, ["--ledger", "pathwise"])]
        for before, option in cases:
            name = "--kappa" if option[1] == "pathwise" else option[0]
            self.refused("train", self.data, *before, *option, naming=[name])
        self.assertFalse((self.folder / "state").exists())

    def test_a_killed_run_goes_on(self):
        state = self.folder / "run"
        for steps in (400, 4000, 40000):  # until a run is not over before it is killed
            state.unlink(missing_ok=True)
            asked = ["--mechanism", "paczero-mi", "--mi", 0.33, "--steps", steps]
            process = subprocess.Popen(
                [PROGRAM, "train", str(self.data), *map(str, asked), "--save", str(state)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and (
                    not state.exists() or "transcript none" in state.read_text()):
                time.sleep(0.001)
            process.kill()
            if process.wait() == -signal.SIGKILL:
                break
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertEqual(state.stat().st_mode & 0o777, 0o600)

        # What does not fit the saved run leaves it as it was.
        go_on = ["train", self.data, "--resume", state]
        kept = state.read_text()
        self.refused(*go_on, "--mi", 0.5, naming=["--mi is 0.5", "0.33", "saved"])
        self.refused(*go_on, "--steps", 300, naming=["--steps", str(steps), "saved"])
        self.refused(*go_on, "--seed", 2, naming=["--seed", "saved"])
        self.refused(*go_on, "--mechanism", "paczero-zpl", naming=["--mechanism", "paczero-mi"])
        self.refused(*go_on, "--allocation", "uniform", naming=["--allocation", "adaptive"])
        self.refused(*go_on, "--save", self.folder / "other", naming=["--save", "--resume"])
        self.refused("train", DIGITS, "--resume", state, naming=["DATA", "private records"])
        self.refused("train", self.data, *asked, "--save", state, naming=["--save"])
        self.assertEqual(state.read_text(), kept)
        for damaged in [kept[:len(kept) // 2], kept.replace("\nspent ", "\nspent 1"), "", "hi\n"]:
            other = self.folder / "damaged"
            other.write_text(damaged)
            self.refused("train", self.data, "--resume", other, naming=["--resume", "unfinished"])
            self.assertEqual(other.read_text(), damaged)

        answer = self.ask_json(*go_on, *asked)
        self.assertEqual((list(answer), answer["steps"]), (KEYS, steps))
        self.assertTrue(0 < answer["mi"] <= 0.33)
        self.refused(*go_on, naming=["--resume", "unfinished"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
