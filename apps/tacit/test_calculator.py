#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks the calculator, and holds its answers and its refusals to their promises.

usage: test_calculator.py PROGRAM DIGITS_CSV [UNITTEST ARGUMENTS]
"""
import concurrent.futures
import contextlib
import hashlib
import json
import math
import os
import random
import re
import resource
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from xml.etree import ElementTree

PROGRAM, DIGITS = (str(Path(name).resolve()) for name in sys.argv[1:3])
LARGEST = sys.float_info.max
KEYS = ["accuracy", "mi", "mi_worst_record", "attack_bound", "attack_achieved", "unanimity",
        "steps", "losses_evaluated", "seconds"]


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
            revealed = self.ask("mi", "--prior", prior, "--sigma", 1, "--observed", "sign")["mi"]
            self.assertAlmostEqual(revealed, entropy(plus) - entropy(flip), delta=1e-12)
            value = self.ask("mi", "--prior", prior, "--sigma", 1, "--observed", "value")["mi"]
            self.assertLess(revealed, value)

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


def gaussian_delta(mu, epsilon):
    """Of one Gaussian of sensitivity mu, where nothing cancels."""
    def phi(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))
    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


class Runs(Case):
    """Three runs of DP-SGD, and a folder for schedules."""
    A = ["--rate", 0.01, "--noise-multiplier", 1, "--steps", 10000]
    B = ["--rate", 0.001, "--noise-multiplier", 0.6, "--steps", 100000]
    C = ["--rate", 0.5, "--noise-multiplier", 10, "--steps", 1000]
    NAMES = ["pld", "rdp", "zcdp", "gdp", "gdp-clt"]  # of all; discretised is asked by itself

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.kept.name)

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def schedule(self, content):
        """The path of a schedule with this content, an object or a text."""
        path = self.folder / "schedule.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def bound(self, answer, key):
        self.assertEqual([word for word in answer if word != "attained"], ["accountant", key, "lower", "upper"])
        self.assertEqual(answer[key], answer["upper"])
        self.assertLessEqual(answer["lower"], answer["upper"])
        return answer["lower"], answer["upper"]


class Accounting(Runs):
    def test_known_runs(self):
        for words, truth, digits in [(self.A, 6.1877123899715, 1e-8), (self.B, 6.1128, 1e-4),
                                     (self.C, 7.5452, 1e-4)]:
            answer = self.ask("epsilon", *words, "--delta", 1e-5)
            self.assertEqual(answer["accountant"], "pld")
            lower, upper = self.bound(answer, "epsilon")
            self.assertAlmostEqual(upper, truth, delta=digits)
            self.assertLessEqual(upper - lower, 1e-8 * upper)
        for delta, truth in [(1e-10, 9.316138526), (1e-20, 13.87977272), (1e-50, 24.44449131),
                             (1e-100, 40.45484475)]:
            lower, upper = self.bound(self.ask_json("epsilon", *self.A, "--delta", delta), "epsilon")
            self.assertLessEqual(lower, truth + 1e-8)
            self.assertGreaterEqual(upper, truth - 1e-8)
            self.assertLessEqual(upper - lower, 1e-8 * upper)

    def test_delta_undoes_epsilon(self):
        epsilon = self.ask("epsilon", *self.A, "--delta", 1e-5)["epsilon"]
        lower, upper = self.bound(self.ask("delta", *self.A, "--epsilon", repr(epsilon)), "delta")
        self.assertAlmostEqual(upper, 1e-5, delta=1e-13)
        self.assertLessEqual(lower, 1e-5)

    def test_closed_forms(self):
        for sigma, steps, epsilon in [(2, 1, 0.5), (10, 100, 1), (50, 10000, 3)]:
            mu = math.sqrt(steps) / sigma
            words = ["--noise-multiplier", sigma, "--steps", steps]
            for by in ("pld", "gdp"):
                lower, upper = self.bound(
                    self.ask("delta", *words, "--epsilon", epsilon, "--accountant", by), "delta")
                truth = gaussian_delta(mu, epsilon)
                self.assertLessEqual(lower, truth * (1 + 1e-12))
                self.assertGreaterEqual(upper, truth * (1 - 1e-12))
                self.assertAlmostEqual(upper, truth, delta=1e-9 * truth)
            # Replacing moves the sum twice as far, and two records of a person do, too.
            for more in (["--adjacency", "replace-one"], ["--records-per-person", 2]):
                twice = self.ask_json("delta", *words, "--epsilon", epsilon, *more)["delta"]
                truth = gaussian_delta(2 * mu, epsilon)
                self.assertAlmostEqual(twice, truth, delta=1e-9 * truth)
        laplace = ["--mechanism", "laplace", "--noise-multiplier", 2, "--steps", 1]
        lower, upper = self.bound(self.ask("delta", *laplace, "--epsilon", 0.1), "delta")
        truth = 1 - math.exp((0.1 - 0.5) / 2)
        self.assertLessEqual(lower, truth)
        self.assertGreaterEqual(upper, truth)
        self.assertAlmostEqual(upper, truth, delta=1e-4 * truth)

    def test_all_accountants(self):
        answer = self.ask("epsilon", *self.A, "--delta", 1e-5, "--accountant", "all")
        self.assertEqual(list(answer), ["accountants"])
        by = {entry["accountant"]: entry for entry in answer["accountants"]}
        self.assertEqual(list(by), self.NAMES)
        by["discretised"] = self.ask("epsilon", *self.A, "--delta", 1e-5, "--accountant",
                                     "discretised")
        for name in ("pld", "discretised", "rdp"):
            lower, upper = self.bound(by[name], "epsilon")
            self.assertLessEqual(by["pld"]["lower"], upper)
            self.assertLessEqual(lower, by["pld"]["upper"])
        self.assertAlmostEqual(by["rdp"]["epsilon"], 6.7127, delta=0.02)
        for name in ("zcdp", "gdp"):
            self.assertEqual(list(by[name]), ["accountant", "refused"])
            self.assertIn("sampled", by[name]["refused"])
        self.assertEqual(list(by["gdp-clt"]), ["accountant", "epsilon", "estimate"])
        self.assertIs(by["gdp-clt"]["estimate"], True)
        self.assertAlmostEqual(by["gdp-clt"]["epsilon"], 6.00708, delta=1e-5)
        sentence = run("epsilon", *self.A, "--delta", 1e-5, "--accountant", "gdp-clt").stdout
        self.assertIn("estimate", sentence)
        self.assertNotIn("at most", sentence)
        for verb, key in (("delta", "delta"), ("epsilon", "epsilon")):
            target = ["--epsilon", 1] if verb == "delta" else ["--delta", 1e-6]
            answer = self.ask(verb, "--noise-multiplier", 5, "--steps", 1, *target, "--accountant",
                              "all")
            figures = {entry["accountant"]: entry[key] for entry in answer["accountants"]}
            self.assertEqual(list(figures), self.NAMES)
            for name, figure in figures.items():
                self.assertGreaterEqual(figure, figures["gdp"] * (1 - 1e-9), name)

    def test_no_finite_epsilon(self):
        path = self.schedule({"releases": [{"mechanism": "approximate", "epsilon": 1,
                                            "delta": 0.01}]})
        answer = self.ask("epsilon", "--schedule", path, "--delta", 1e-5)
        self.assertEqual((answer["epsilon"], answer["upper"]), (LARGEST, LARGEST))
        self.assertIn("no finite number",
                      run("epsilon", "--schedule", path, "--delta", 1e-5).stdout)

    def test_samples_of_practice(self):
        def epsilon(*words, delta=1e-5):
            return self.ask("epsilon", "--delta", delta, "--steps", 1000, *words)["upper"]

        plain = ["--noise-multiplier", 1, "--rate", 0.01]
        # Another record takes the place of one that is not drawn: twice the sensitivity.
        batch = ["--noise-multiplier", 2, "--batch", 600, "--records", 60000]
        self.assertAlmostEqual(epsilon(*batch), epsilon(*plain), delta=1e-9)
        # A record may be drawn again.
        again = self.ask("epsilon", "--delta", 1e-5, "--schedule", self.schedule({"releases": [
            {"mechanism": "discrete-gaussian", "sigma": 20, "sensitivity": 10, "batch": 6, "records": 600,
             "with_replacement": True, "steps": 1000}]}))["upper"]
        self.assertGreater(again, epsilon(*batch))
        self.assertLess(again, 1.2 * epsilon(*batch))
        continuous = epsilon("--noise-multiplier", 2, "--batch", 6, "--records", 600, "--with-replacement")
        self.assertAlmostEqual(continuous, again, delta=0.02 * again)
        # Another record takes the place of one that is drawn by chance: both contribute, in opposite directions.
        replaced = epsilon(*plain, "--adjacency", "replace-one")
        self.assertAlmostEqual(replaced, 2.8434, delta=1e-4)
        zeroed = epsilon(*batch, "--adjacency", "zero-out")
        self.assertAlmostEqual(zeroed, 1.4311, delta=1e-4)
        for cap, most in (900, 1.0001), (760, 1.01):
            capped = epsilon(*plain, "--cap", cap, "--cap-records", 60000)
            self.assertGreaterEqual(capped, epsilon(*plain))
            self.assertLess(capped, most * epsilon(*plain))
        # Where many batches are cut, those that are full without the record are told from the others.
        last = math.inf
        for cap, most in (600, 20), (650, 3), (690, 1.2):
            capped = epsilon(*plain, "--cap", cap, "--cap-records", 60000)
            self.assertLess(capped, min(last, most * epsilon(*plain)))
            last = capped
        self.assertEqual(epsilon(*plain, "--cap", 60, "--cap-records", 60000, "--records-per-person", 2), LARGEST)
        self.assertAlmostEqual(epsilon(*plain, "--drawn-once", 1), epsilon(*plain), delta=1e-9)
        once = math.log1p(0.1 * math.expm1(epsilon(*plain, delta=1e-4)))
        self.assertAlmostEqual(epsilon(*plain, "--drawn-once", 0.1), once, delta=1e-9)
        self.assertGreater(epsilon(*plain, "--drawn-once", 0.1, "--best-of", 5), once)
        # For a substitute the sample is of a fixed size.
        replaced = [*plain, "--adjacency", "replace-one"]
        once = math.log1p(0.1 * math.expm1(epsilon(*replaced, delta=1e-4)))
        self.assertAlmostEqual(epsilon(*replaced, "--drawn-once", 0.1), once, delta=1e-4)
        self.assertAlmostEqual(epsilon(*replaced, "--drawn-once", 1), epsilon(*replaced), delta=1e-4)
        self.assertIn("a sample of the share 0.1 of the records drawn once",
                      run("epsilon", *replaced, "--steps", 10, "--delta", 1e-5, "--drawn-once", 0.1).stdout)
        # A shape says which law: 1 is geometric, 0 logarithmic.
        best = [*plain, "--best-of", 20]
        self.assertEqual(epsilon(*best, "--best-of-shape", 1), epsilon(*best))
        self.assertEqual(epsilon(*best, "--best-of-shape", 0), epsilon(*best, "--best-of-law", "logarithmic"))
        shapes = [epsilon(*best, "--best-of-shape", shape) for shape in (-0.5, 0, 0.5, 1, 3)]
        self.assertEqual(shapes, sorted(shapes))
        self.assertEqual(self.ask_json("epsilon", *best, "--steps", 10, "--delta", 1e-5, "--best-of-shape", 0.5)["best_of"]["shape"], 0.5)
        self.assertIn("the best of a truncated negative binomial number of runs of mean 20",
                      run("epsilon", *best, "--steps", 10, "--delta", 1e-5, "--best-of-shape", 0.5).stdout)

    def test_whether_the_lower_end_is_the_runs(self):
        # Blocks of which one step each is random: the pair is above 2 of 4 steps, whose delta is .152 by draws.
        blocks = self.ask_json("delta", "--noise-multiplier", 1, "--allocate", 2, "--of", 4, "--epsilon", 1)
        self.assertIs(blocks["attained"], False)
        self.assertGreater(blocks["upper"], .1507)
        self.assertNotIn("at least", run("delta", "--noise-multiplier", 1, "--allocate", 2, "--of", 4, "--epsilon", 1).stdout)
        exact = self.ask_json("delta", "--noise-multiplier", 1, "--allocate", 1, "--of", 4, "--epsilon", 1)
        self.assertNotIn("attained", exact)
        self.assertGreater(exact["lower"], .0208)

    def test_calibration_keeps_the_target(self):
        target = ["--epsilon", 2, "--delta", 1e-5]
        plan = ["--rate", 0.01, "--steps", 10000]
        for by, about in (("pld", 2.127), ("rdp", 2.278)):
            asked = ["--accountant", by]
            answer = self.ask("noise", *plan, *target, *asked)
            self.assertEqual(list(answer), ["noise_multiplier", "accountant", "adjacency"])
            sigma = answer["noise_multiplier"]
            self.assertAlmostEqual(sigma, about, delta=0.006)
            noised = [*plan, *asked, "--noise-multiplier"]
            self.assertLessEqual(
                self.ask_json("epsilon", *noised, repr(sigma), "--delta", 1e-5)["epsilon"], 2)
            self.assertLessEqual(
                self.ask_json("delta", *noised, repr(sigma), "--epsilon", 2)["delta"], 1e-5)
            self.assertGreater(
                self.ask_json("epsilon", *noised, repr(sigma * (1 - 2e-6)), "--delta",
                              1e-5)["lower" if by == "pld" else "epsilon"], 2)

        def epsilon(*words):
            return self.ask_json("epsilon", *words, "--delta", 1e-5)["epsilon"]

        answer = self.ask("steps", "--rate", 0.01, "--noise-multiplier", 1, *target)
        self.assertEqual(list(answer), ["steps", "accountant", "adjacency"])
        steps = answer["steps"]
        self.assertLessEqual(epsilon("--rate", 0.01, "--noise-multiplier", 1, "--steps", steps), 2)
        self.assertGreater(epsilon("--rate", 0.01, "--noise-multiplier", 1, "--steps", steps + 1),
                           2)
        answer = self.ask("rate", "--noise-multiplier", 1, "--steps", 1000, *target)
        self.assertEqual(list(answer), ["rate", "accountant", "adjacency"])
        rate = answer["rate"]
        fixed = ["--noise-multiplier", 1, "--steps", 1000, "--rate"]
        self.assertLessEqual(epsilon(*fixed, repr(rate)), 2)
        self.assertGreater(epsilon(*fixed, repr(rate * (1 + 2e-6))), 2)
        words = ["--noise-multiplier", 2, "--steps", 1000, "--adjacency", "replace-one",
                 "--records", 60000, "--accountant", "rdp"]
        answer = self.ask("rate", *words, *target)
        self.assertEqual(list(answer), ["rate", "batch", "accountant", "adjacency"])
        self.assertEqual(answer["rate"], answer["batch"] / 60000)
        self.assertLessEqual(epsilon(*words, "--batch", answer["batch"]), 2)
        self.assertGreater(epsilon(*words, "--batch", answer["batch"] + 1), 2)
        answer = self.ask("noise", "--steps", 10, *target, "--accountant", "all")
        by = {entry["accountant"]: entry for entry in answer["accountants"]}
        self.assertEqual(list(by), self.NAMES)
        self.assertAlmostEqual(by["pld"]["noise_multiplier"], by["gdp"]["noise_multiplier"],
                               delta=1e-5)
        self.assertIn("refused", by["gdp-clt"])

    def test_calibration_of_what_is_around_a_run(self):
        """What is found is found as epsilon answers for the same words, and a bit more of it does not keep the target."""
        target = ["--epsilon", 2, "--delta", 1e-5]
        best = ["--best-of", 20]
        capped = ["--cap", 700, "--cap-records", 50000]
        for verb, key, option, plan, around, more in [
                ("noise", "noise_multiplier", "--noise-multiplier", ["--rate", 0.01, "--steps", 1000], best, 1 - 1e-5),
                ("noise", "noise_multiplier", "--noise-multiplier", ["--rate", 0.01, "--steps", 1000],
                 ["--drawn-once", 0.2, *best, "--best-of-law", "logarithmic"], 1 - 1e-5),
                ("noise", "noise_multiplier", "--noise-multiplier", ["--rate", 0.01, "--steps", 1000], capped, 1 - 1e-5),
                ("rate", "rate", "--rate", ["--noise-multiplier", 2, "--steps", 1000], best, 1 + 1e-5),
                ("rate", "batch", "--batch", ["--noise-multiplier", 4, "--steps", 100, "--records", 5000], best, None),
                ("steps", "steps", "--steps", ["--noise-multiplier", 1, "--rate", 0.01], capped, None),
                ("steps", "steps", "--epochs", ["--noise-multiplier", 4, "--shuffle", 9, "--adjacency", "zero-out", "--accountant", "gdp"],
                 ["--drawn-once", 0.5], None)]:
            answer = self.ask_json(verb, *plan, *target, *around)
            found = answer[key]
            kept = self.ask_json("epsilon", *plan, option, repr(found), "--delta", 1e-5, *around)
            self.assertLessEqual(kept["epsilon"], 2, (verb, around))
            self.assertLessEqual(self.ask_json("delta", *plan, option, repr(found), "--epsilon", 2, *around)["delta"], 1e-5)
            bolder = repr(found * more) if more else found + 1
            self.assertGreater(self.ask_json("epsilon", *plan, option, bolder, "--delta", 1e-5, *around)["epsilon"], 2)
            for name in ("best_of", "cap", "drawn_once"):  # what was asked, and of the run that was found
                self.assertEqual(answer.get(name), kept.get(name), (verb, around))
            said = run(verb, *plan, *target, *around).stdout
            self.assertEqual("the best of a" in said, "--best-of" in around, said)
            self.assertEqual("batches of at most" in said, "--cap" in around, said)
        few = ["--epsilon", 2, "--delta", 1e-5, "--steps", 1000]
        for words, naming in [
                (["noise", "--rate", 0.01, *few, "--cap", 100], ["--cap-records is missing"]),
                (["noise", *few, *capped], ["--cap is 700", "allocated at random"]),
                (["rate", "--noise-multiplier", 2, "--records", 50000, *few, *capped], ["--cap is 700", "one size"]),
                (["noise", "--rate", 0.01, *few, "--best-of-law", "poisson"], ["--best-of-law", "unless --best-of"]),
                (["noise", "--rate", 0.01, *few, "--best-of-shape", 2], ["--best-of-shape", "unless --best-of"]),
                (["noise", "--rate", 0.01, *few, "--best-of", 5, "--best-of-shape", 2, "--best-of-law", "poisson"],
                 ["--best-of-law", "where --best-of-shape"]),
                (["noise", "--rate", 0.01, *few, "--cap", 500, "--cap-records", 50000, "--records-per-person", 2],
                 ["no noise multiplier up to 1e300 keeps epsilon 2 at delta 1e-05 by the pld accountant"]),
                (["steps", "--rate", 0.01, "--noise-multiplier", 0.1, *few[:4], *best], ["not even one step", "pld"])]:
            self.refused(*words, naming=naming)
        # A bound on the best of several runs, or on capped batches, takes no estimate.
        for around in (best, capped):
            for verb, asked in (("epsilon", ["--delta", 1e-5]), ("delta", ["--epsilon", 1])):
                self.refused(verb, *self.A, *asked, *around, "--accountant", "gdp-clt",
                             naming=["--accountant is gdp-clt", around[0], "bound"])
            of_all = self.ask_json("epsilon", *self.A, "--delta", 1e-5, *around, "--accountant", "all")["accountants"]
            self.assertIn("refused", of_all[-1])
        self.assertIs(self.ask_json("epsilon", *self.A, "--delta", 1e-5, "--drawn-once", 0.1, "--accountant",
                                    "gdp-clt")["estimate"], True)

    def test_a_cap_on_random_allocation(self):
        epoch = ["--noise-multiplier", 1, "--allocate", 1, "--of", 100, "--delta", 1e-5]
        plain = self.ask_json("epsilon", *epoch)
        capped = self.ask_json("epsilon", *epoch, "--cap", 700, "--cap-records", 50000)
        # The chance that any of 100 batches of Bin(50000, 1/100) is larger, and (1 + e^epsilon) of it counted as delta.
        binomial = statistics.NormalDist(500, math.sqrt(500 * 0.99))
        self.assertTrue(100 * (1 - binomial.cdf(700.5)) < capped["cap"]["overflow"] < 1e-13, capped)
        self.assertTrue(plain["upper"] < capped["upper"] < plain["upper"] + 1e-6, capped)
        self.assertEqual(self.ask_json("epsilon", *epoch, "--cap", 550, "--cap-records", 50000)["upper"], LARGEST)


class Patience(Case):
    """Questions that an accountant takes minutes for."""

    def test_it_ends_and_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "picture"
            slow = ["--noise-multiplier", 2, "--rate", "1e-100", "--steps", 1000]
            for seconds in (0.1, 0.5):
                for words in (["curve", *slow, "--plot", picture], ["curve", *slow]):
                    began = resource.getrusage(resource.RUSAGE_CHILDREN)
                    self.refused(*words, "--patience", seconds, naming=[f"--patience is {seconds:g}", "must be more"])
                    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
                    took = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
                    self.assertLess(took, seconds + 0.5)
            self.assertEqual(list(Path(folder).iterdir()), [])
            self.ask("epsilon", "--noise-multiplier", 2, "--rate", 0.01, "--steps", 1000, "--delta", 1e-5,
                     "--patience", 5)


class Schedules(Runs):
    def test_schedules(self):
        release = {"mechanism": "gaussian", "noise_multiplier": 1, "rate": 0.01, "steps": 10000}
        run_a = self.ask("epsilon", *self.A, "--delta", 1e-5)
        opacus = [[1.0, 0.01, 4000], [1.0, 0.01, 6000]]
        for content in [{"releases": [release]}, {"adjacency": "add-remove", "releases": [release]},
                        {"releases": [dict(release, steps=9000), dict(release, steps=1000)]},
                        opacus, {"history": opacus}, {"mechanism": "prv", "history": opacus}]:
            answer = self.ask("epsilon", "--schedule", self.schedule(content), "--delta", 1e-5)
            self.assertEqual(answer, run_a, content)
        path = self.schedule({"adjacency": "replace-one", "releases": [release]})
        worse = self.ask("epsilon", "--schedule", path, "--delta", 1e-5)["epsilon"]
        self.assertGreater(worse, run_a["epsilon"])
        self.ask("epsilon", "--schedule", path, "--delta", 1e-5, "--adjacency", "replace-one")
        self.refused("epsilon", "--schedule", path, "--delta", 1e-5, "--adjacency", "zero-out",
                     naming=["--adjacency is zero-out", "replace-one"])

    def test_every_mechanism_of_a_schedule(self):
        gaussian = {"mechanism": "gaussian", "noise_multiplier": 3}
        for release, neighbours in [
                (gaussian, "add-remove"), (dict(gaussian, rate=0.1, steps=50), "add-remove"),
                (dict(gaussian, rate=0.1, records_per_person=3), "zero-out"),
                (dict(gaussian, batch=20, records=1000, steps=50), "replace-one"),
                (dict(gaussian, shuffled=True, steps=3), "zero-out"),
                (dict(gaussian, allocate=1, of=50, steps=2), "add-remove"),
                ({"mechanism": "gaussian", "groups": [{"clip": 1, "sigma": 4},
                                                      {"clip": 2, "sigma": 6}]}, "add-remove"),
                ({"mechanism": "laplace", "noise_multiplier": 3, "rate": 0.1}, "add-remove"),
                ({"mechanism": "discrete-gaussian", "sigma": 5.5, "sensitivity": 2}, "add-remove"),
                ({"mechanism": "discrete-laplace", "scale": 4}, "add-remove"),
                ({"mechanism": "randomised-response", "epsilon": 1, "categories": 5},
                 "replace-one"),
                ({"mechanism": "exponential", "epsilon": 0.5}, "add-remove"),
                ({"mechanism": "pure", "epsilon": 0.5}, "add-remove"),
                ({"mechanism": "approximate", "epsilon": 0.5, "delta": 1e-8}, "add-remove"),
                ({"mechanism": "matrix-gaussian", "noise_multiplier": 4, "sensitivity": 2.5},
                 "add-remove"),
                ({"mechanism": "gaussian-dp", "mu": 0.5, "rate": 0.1}, "add-remove"),
                ({"mechanism": "profile", "points": [{"epsilon": 0.2, "delta": 1e-3},
                                                     {"epsilon": 1, "delta": 1e-6}]},
                 "replace-one"),
                ({"mechanism": "report-noisy-max", "noise": "gumbel", "scale": 10}, "replace-one"),
                ({"mechanism": "permute-and-flip", "scale": 10, "rate": 0.1, "steps": 3}, "add-remove"),
                ({"mechanism": "sparse-vector", "threshold_scale": 10, "query_scale": 20, "answers": 3}, "zero-out"),
                ({"mechanism": "gnmax-check", "sigma": 20, "steps": 9}, "replace-one"),
                ({"mechanism": "gnmax-answer", "sigma": 20, "steps": 9}, "add-remove")]:
            path = self.schedule({"adjacency": neighbours, "releases": [release]})
            for by in ("pld", "discretised"):
                answer = self.ask_json("epsilon", "--schedule", path, "--delta", 1e-4,
                                       "--accountant", by)
                lower, upper = self.bound(answer, "epsilon")
                self.assertTrue(0 < upper < 20, (release, by))
        # Known by their divergences, for the accountants that have a bound.
        for release, known_to in [({"mechanism": "vector-discrete-gaussian", "sigma": 10, "l2": 4}, ("rdp", "zcdp")),
                                  ({"mechanism": "vector-skellam", "variance": 100, "l1": 9, "l2": 3}, ("rdp",)),
                                  ({"mechanism": "zcdp", "rho": 0.1}, ("rdp", "zcdp")),
                                  ({"mechanism": "renyi", "points": [{"order": 2, "divergence": .1},
                                                                     {"order": 9, "divergence": .6}]},
                                   ("rdp",))]:
            path = self.schedule({"releases": [release]})
            for by in ("pld", "discretised", "rdp", "zcdp", "gdp"):
                asked = ["epsilon", "--schedule", path, "--delta", 1e-4, "--accountant", by]
                if by in known_to:
                    self.assertTrue(0 < self.ask_json(*asked)["epsilon"] < 20, (release, by))
                else:
                    self.refused(*asked, naming=["no"])
        for point, wrong in [({"order": 1, "divergence": 1}, "order"), ({"order": 2}, "divergence"),
                             ({"order": 2, "divergence": -1}, "divergence")]:
            path = self.schedule({"releases": [{"mechanism": "renyi", "points": [point]}]})
            self.refused("epsilon", "--schedule", path, "--delta", 1e-4,
                         naming=["releases[0].points[0]", wrong])
        # Groups of one step are one release: 1/sqrt(1/16 + 1/9) = 2.4.
        groups = {"mechanism": "gaussian", "groups": [{"clip": 1, "sigma": 4},
                                                      {"clip": 2, "sigma": 6}]}
        asked = ["--delta", 1e-5]
        joint = self.ask_json("epsilon", "--schedule", self.schedule({"releases": [groups]}), *asked)
        plain = self.ask_json("epsilon", "--noise-multiplier", 2.4, "--steps", 1, *asked)
        self.assertAlmostEqual(joint["epsilon"], plain["epsilon"], delta=1e-9)

    def test_runs_as_one_release(self):
        """A schedule may hold whole runs: docs/accountants.md, "A run as one release"."""
        step = {"mechanism": "gaussian", "noise_multiplier": 2, "rate": 0.02, "steps": 500}
        options = ["--noise-multiplier", 2, "--rate", 0.02, "--steps", 500]
        inner = {"mechanism": "run", "releases": [step]}
        best = ["--best-of", 10, "--best-of-law"]
        for run, around, neighbours in [
                (inner, [], "add-remove"), (inner, [], "replace-one"), ({**inner, "releases": [inner]}, [], "zero-out"),
                (dict(inner, drawn_once=0.3), ["--drawn-once", 0.3], "add-remove"),
                (dict(inner, cap={"most": 200, "records": 5000}), ["--cap", 200, "--cap-records", 5000], "add-remove"),
                (dict(inner, best_of={"mean": 10}), best + ["geometric"], "add-remove"),
                (dict(inner, best_of={"mean": 10, "law": "logarithmic"}), best + ["logarithmic"], "zero-out"),
                (dict(inner, best_of={"mean": 10, "law": "poisson"}), best + ["poisson"], "add-remove"),
                (dict(inner, best_of={"mean": 10, "shape": 0.5}), ["--best-of", 10, "--best-of-shape", 0.5], "add-remove"),
                (dict(inner, cap={"most": 200, "records": 5000}, drawn_once=0.3, best_of={"mean": 10}),
                 ["--cap", 200, "--cap-records", 5000, "--drawn-once", 0.3, "--best-of", 10], "add-remove")]:
            path = self.schedule({"adjacency": neighbours, "releases": [run]})
            found = self.ask_json("epsilon", "--schedule", path, "--delta", 1e-5)
            known = self.ask_json("epsilon", *options, *around, "--adjacency", neighbours, "--delta", 1e-5)
            self.assertIs(found["attained"], False)
            self.assertGreaterEqual(found["upper"], known["lower"], run)
            self.assertLess(found["upper"], known["upper"] * 1.002, run)
        # Two runs cost what their releases do.
        twice = self.ask_json("epsilon", "--schedule", self.schedule({"releases": [dict(inner, steps=2)]}), "--delta", 1e-5)
        plain = self.ask_json("epsilon", *options[:-1], 1000, "--delta", 1e-5)
        self.assertGreaterEqual(twice["upper"], plain["lower"])
        self.assertLess(twice["upper"], plain["upper"] * 1.003)
        # A report says what is inside, states it anew, and assumes what its releases do.
        choice = {"mechanism": "report-noisy-max", "noise": "laplace", "scale": 8}
        run = dict(inner, releases=[step, choice], drawn_once=0.3, best_of={"mean": 10})
        asked = ["report", "--schedule", self.schedule({"releases": [run, step]})]
        self.assertEqual(self.ask_json(*asked)["releases"][0], run)
        page = self.ask(*asked, "--json")
        said = " ".join(page["assumptions"])
        for part in ["Poisson samples", "Noisy max", "one sample of the records", "The number of runs is drawn", "inside of another"]:
            self.assertIn(part, said)
        self.refused("epsilon", "--schedule", self.schedule({"releases": [inner, step]}), "--delta", 1e-5, "--cap", 200,
                     "--cap-records", 5000, naming=["--cap", "itself a run"])
        self.refused("epsilon", "--schedule", self.schedule({"releases": [inner]}), "--delta", 1e-5, "--accountant", "zcdp",
                     naming=["privacy profile", "pld"])
        asked = ["epsilon", "--schedule", self.schedule({"releases": [inner]}), "--delta", 1e-5]
        self.assertGreaterEqual(self.ask_json(*asked, "--accountant", "rdp")["upper"], self.ask_json(*asked)["lower"])
        for run, naming in [(dict(inner, releases=[]), [".releases is []"]),
                            (dict(inner, releases=[dict(step, rate=2)]), ["releases[0].releases[0].rate is 2"]),
                            (dict(inner, rate=0.1), ["releases[0].rate is unknown"]),
                            (dict(inner, cap={"most": 5}), [".cap.records is missing"]),
                            (dict(inner, releases=[{"mechanism": "pure", "epsilon": 1}], cap={"most": 5, "records": 9}),
                             [".cap is", "left out"]),
                            (dict(inner, releases=[inner, step], cap={"most": 5, "records": 9}), [".cap is", "itself a run"]),
                            (dict(inner, drawn_once=1.5), [".drawn_once is 1.5"]),
                            (dict(inner, best_of={"mean": 0.5}), [".best_of.mean is 0.5"]),
                            (dict(inner, best_of={"mean": 5, "law": "binomial"}), [".best_of.law"]),
                            (dict(inner, best_of={"mean": 5, "law": "poisson", "shape": 1}), [".best_of.shape is 1"]),
                            (dict(inner, releases=[dict(step, rate=0.1, records_per_person=2), {"mechanism": "zcdp", "rho": 1}]),
                             ["releases[0].releases[1]: ", "no"]),
                            (dict(inner, releases=[{"mechanism": "gaussian", "noise_multiplier": 1, "shuffled": True, "batches": 5}]),
                             [".batches is 5"])]:
            self.refused("epsilon", "--schedule", self.schedule({"adjacency": "add-remove", "releases": [run]}), "--delta", 1e-5,
                         naming=naming)

    def test_mechanisms_that_choose(self):
        """docs/accountants.md; dp/choices.hpp: what stands for them under each adjacency."""
        pure, twice = {"mechanism": "pure"}, {"add-remove": 1, "zero-out": 1, "replace-one": 2}
        for neighbours, factor in twice.items():
            for release, stands in [
                    ({"mechanism": "report-noisy-max", "noise": "laplace", "scale": 8}, dict(pure, epsilon=2 * factor / 8)),
                    ({"mechanism": "permute-and-flip", "scale": 8, "contribution": "non-negative"}, dict(pure, epsilon=factor / 8)),
                    ({"mechanism": "report-noisy-max", "noise": "gumbel", "scale": 8, "contribution": "any-sign"},
                     {"mechanism": "exponential", "epsilon": 2 * factor / 8}),
                    # most = 2 where a record is replaced, else 1: most/16 + 3 * 2 * most/32
                    ({"mechanism": "sparse-vector", "threshold_scale": 16, "query_scale": 32, "answers": 3},
                     dict(pure, epsilon=factor * (1 / 16 + 6 / 32))),
                    ({"mechanism": "sparse-vector", "threshold_scale": 16, "query_scale": 32, "answers": 3,
                      "contribution": "non-negative"}, dict(pure, epsilon=1 / 16 + (6 if factor == 2 else 3) / 32)),
                    ({"mechanism": "gnmax-check", "sigma": 4}, {"mechanism": "gaussian-dp", "mu": 0.25}),
                    ({"mechanism": "gnmax-answer", "sigma": 8}, {"mechanism": "gaussian-dp", "mu": 2 ** .5 / 8})]:
                # The option names the neighbours as well as the schedule does.
                asked = ["--delta", 1e-4, "--adjacency", neighbours]
                found = self.ask_json("epsilon", "--schedule", self.schedule({"releases": [release]}), *asked)
                self.assertIs(found.pop("attained"), False)  # it may cost less than what stands for it
                known = self.ask_json("epsilon", "--schedule", self.schedule({"releases": [stands]}), *asked)
                self.assertAlmostEqual(found["upper"], known["upper"], delta=1e-9, msg=(release, neighbours))
                again = self.schedule({"adjacency": neighbours, "releases": [release]})
                self.assertEqual(found["upper"], self.ask_json("epsilon", "--schedule", again, "--delta", 1e-4)["upper"])
        max_of = {"mechanism": "report-noisy-max", "noise": "laplace", "scale": 1}
        vector = {"mechanism": "sparse-vector", "threshold_scale": 1, "query_scale": 1, "answers": 1}
        for release, naming in [
                ({"mechanism": "report-noisy-max", "scale": 1}, [".noise is missing"]),
                (dict(max_of, noise="cauchy"), ['.noise is "cauchy"', "gumbel, exponential or laplace"]),
                (dict(max_of, scale=0), [".scale is 0", "in [1e-290, 1e290]"]),
                (dict(max_of, contribution="any_sign"), [".contribution", "any-sign or non-negative"]),
                ({"mechanism": "permute-and-flip", "scale": 1, "noise": "laplace"}, [".noise is unknown"]),
                (dict(vector, answers=0), [".answers is 0", "a whole number in [1, 2^53]"]),
                (dict(vector, query_scale=1e300), [".query_scale is 1e+300", "in [1e-290, 1e290]"]),
                ({"mechanism": "gnmax-check", "sigma": -1}, [".sigma is -1", "in [1e-290, 1e290]"]),
                ({"mechanism": "vector-discrete-gaussian", "sigma": 1e-300, "l2": 1}, [".sigma is 1e-300", "losses are finite"]),
                ({"mechanism": "vector-discrete-gaussian", "sigma": 1, "l2": -1}, [".l2 is -1", "at least 0"]),
                ({"mechanism": "vector-skellam", "variance": 9, "l1": 3}, [".l2 is missing"])]:
            self.refused("epsilon", "--schedule", self.schedule({"releases": [release]}), "--delta", 1e-4,
                         naming=["releases[0]" + naming[0], *naming[1:]])

    def imported(self, text, releases, neighbours="add-remove", accountant="pld"):
        """The state of another accountant has the answer of this schedule."""
        asked = ["--delta", 1e-5, "--accountant", accountant]
        known = self.ask_json("epsilon", "--schedule",
                              self.schedule({"adjacency": neighbours, "releases": releases}), *asked)
        found = self.ask_json("epsilon", "--schedule", self.schedule(text), "--adjacency", neighbours, *asked)
        self.assertAlmostEqual(found["upper"], known["upper"], delta=1e-9 * (1 + known["upper"]), msg=text)
        self.assertAlmostEqual(found["lower"], known["lower"], delta=1e-9 * (1 + known["upper"]), msg=text)

    def test_states_of_other_accountants(self):
        """Texts as Python 3.11 prints them: dp-accounting 0.6.0, opacus 1.6.0, prv-accountant 0.2.0."""
        step = {"mechanism": "gaussian", "noise_multiplier": 1.5, "rate": 0.01, "steps": 100}
        sampled = "PoissonSampledDpEvent(sampling_probability=0.01, event=GaussianDpEvent(noise_multiplier=1.5))"
        self.imported(f"SelfComposedDpEvent(event={sampled}, count=100)", [step])
        self.imported(f"  dp_accounting.SelfComposedDpEvent({sampled}, 100)\n", [step])
        self.imported("ComposedDpEvent(events=[SelfComposedDpEvent(event=ComposedDpEvent(events=["
                      f"{sampled}, LaplaceDpEvent(noise_multiplier=np.float64(20.0)), NoOpDpEvent()]), count=100), "
                      "DiscreteLaplaceDpEvent(noise_parameter=0.125, sensitivity=2)])",
                      [step, {"mechanism": "laplace", "noise_multiplier": 20.0, "steps": 100},
                       {"mechanism": "discrete-laplace", "scale": 8.0, "sensitivity": 2}])
        wrapped = ("_{0}NamedTupleWrapper(module_name='dp_accounting.dp_event', class_name='{0}', {1})".format)
        self.imported(wrapped("SelfComposedDpEvent", "count=100, event=" + wrapped(
            "PoissonSampledDpEvent", "sampling_probability=0.01, event=" + wrapped(
                "GaussianDpEvent", "noise_multiplier=1.5"))), [step])
        module = "dp_accounting.dp_event"
        self.imported([module, "ComposedDpEvent", [[module, "SelfComposedDpEvent", [
            module, "PoissonSampledDpEvent", 0.01, [module, "GaussianDpEvent", 1.5]], 100]]], [step])
        # Gaussians on one sample are one, a sample of a sample is a sample.
        self.imported("PoissonSampledDpEvent(0.01, SelfComposedDpEvent(ComposedDpEvent([GaussianDpEvent(3.0), "
                      "GaussianDpEvent(3.0)]), 2))", [dict(step, steps=1)])
        self.imported("PoissonSampledDpEvent(0.1, PoissonSampledDpEvent(0.1, GaussianDpEvent(1.5)))", [dict(step, steps=1)])
        self.imported("SampledWithoutReplacementDpEvent(1000, 10, GaussianDpEvent(3.0))",
                      [{"mechanism": "gaussian", "noise_multiplier": 3.0, "batch": 10, "records": 1000}], "replace-one")
        self.imported("SampledWithReplacementDpEvent(source_dataset_size=1000, sample_size=10, event=LaplaceDpEvent(3))",
                      [{"mechanism": "laplace", "noise_multiplier": 3, "batch": 10, "records": 1000,
                        "with_replacement": True}], "replace-one")
        # 1 − p + p/k against p/k; a step is in 7 sums of a tree of 70; a mixture.
        self.imported("RandomizedResponseDpEvent(noise_parameter=0.25, num_buckets=4)",
                      [{"mechanism": "randomised-response", "epsilon": math.log(13), "categories": 4}], "replace-one")
        for counts in ("70", "[3, 70]", "array([ 3, 70])"):
            self.imported(f"SingleEpochTreeAggregationDpEvent(noise_multiplier=10.0, step_counts={counts})",
                          [{"mechanism": "matrix-gaussian", "noise_multiplier": 10.0, "sensitivity": math.sqrt(7)}], "zero-out")
        self.imported("MixtureOfGaussiansDpEvent(standard_deviation=1.5, sensitivities=[0.0, 1.0], sampling_probs=(0.99, 0.01))",
                      [{"mechanism": "gaussian-mixture", "sigma": 1.5, "points": [
                          {"sensitivity": 0.0, "weight": 0.99}, {"sensitivity": 1.0, "weight": 0.01}]}])
        self.imported("ZCDpEvent(rho=0.1, xi=0.0)", [{"mechanism": "zcdp", "rho": 0.1}], accountant="rdp")

        # Runs that are one release, also under the neighbours of a tree.
        noised = {"mechanism": "gaussian", "noise_multiplier": 4.0}
        for shape, law in [("inf", {"law": "poisson"}), ("1.0", {"shape": 1.0}), ("0.0", {"law": "logarithmic"})]:
            self.imported(f"ComposedDpEvent([RepeatAndSelectDpEvent(event=GaussianDpEvent(noise_multiplier=4.0), mean=10.0, shape={shape}), "
                          "GaussianDpEvent(noise_multiplier=4.0)])",
                          [{"mechanism": "run", "releases": [noised], "best_of": {"mean": 10.0, **law}}, noised])
        self.imported("RepeatAndSelectDpEvent(SingleEpochTreeAggregationDpEvent(10.0, 7), 10.0, 1.0)",
                      [{"mechanism": "run", "best_of": {"mean": 10.0}, "releases": [
                          {"mechanism": "matrix-gaussian", "noise_multiplier": 10.0, "sensitivity": math.sqrt(3)}]}], "zero-out")
        self.imported("SelfComposedDpEvent(TruncatedSubsampledGaussianDpEvent(dataset_size=1000, sampling_probability=0.01, "
                      "truncated_batch_size=40, noise_multiplier=1.5), 100)",
                      [{"mechanism": "run", "releases": [step], "cap": {"most": 40, "records": 1000}}])

        # Compositions on one sample are a run on it.
        noise = {"mechanism": "laplace", "noise_multiplier": 10}
        self.imported("SelfComposedDpEvent(PoissonSampledDpEvent(0.1, SelfComposedDpEvent(LaplaceDpEvent(10.0), 5)), 3)",
                      [{"mechanism": "run", "releases": [dict(noise, steps=5)], "drawn_once": 0.1, "steps": 3}])
        self.imported("PoissonSampledDpEvent(0.1, RepeatAndSelectDpEvent(GaussianDpEvent(4.0), 10.0, 1.0))",
                      [{"mechanism": "run", "drawn_once": 0.1, "releases": [
                          {"mechanism": "run", "releases": [noised], "best_of": {"mean": 10.0}}]}])
        self.imported("SampledWithoutReplacementDpEvent(1000, 100, ComposedDpEvent([LaplaceDpEvent(10.0), GaussianDpEvent(4.0)]))",
                      [{"mechanism": "run", "releases": [noise, noised], "drawn_once": 0.1}], "replace-one")
        # D = xi + rho·order, at its best order for 1e-5.
        found = self.ask_json("epsilon", "--schedule", self.schedule("ZCDpEvent(rho=0.1, xi=0.02)"), "--delta", 1e-5,
                              "--accountant", "rdp")
        least = min(0.02 + 0.1 * order + (math.log(1e5) + (order - 1) * math.log1p(-1 / order) - math.log(order)) / (order - 1)
                    for order in (1 + k / 1000 for k in range(1, 100_000)))
        self.assertTrue(least * (1 - 1e-9) <= found["upper"] <= least * 1.001, (least, found))

        for word in ("rdp", "gdp", "prv", "tacit"):
            self.imported(f"OrderedDict([('history', [(1.5, 0.01, 60), (np.float64(1.5), 0.01, 40)]), ('mechanism', '{word}')])",
                          [step])
            self.imported(f"{{'history': [(1.5, 0.01, 100)], 'mechanism': '{word}'}}", [step])
        self.imported("[(1.5, 0.01, 60), (1.5, 0.01, 40)]", [step])

        self.imported("DPSGDAccountant(noise_multiplier=1.5, sampling_probability=0.01, max_steps=100, eps_error=0.1)", [step])
        self.imported("PRVAccountant(prvs=[PoissonSubsampledGaussianMechanism(p=0.01, sigma=1.5), LaplaceMechanism(mu=0.0625), "
                      "PureDPMechanism(eps=0.5), GaussianMechanism(8.0, 2.0), GaussianMechanism(mu=0.25)], "
                      "max_self_compositions=[100, 2, 1, 1, 1], eps_error=0.01, delta_error=1e-10)",
                      [step, {"mechanism": "laplace", "noise_multiplier": 16, "steps": 2},
                       {"mechanism": "pure", "epsilon": 0.5}, {"mechanism": "gaussian", "noise_multiplier": 4, "steps": 2}])
        self.imported("prv_accountant.PRVAccountant(PoissonSubsampledGaussianMechanism(0.01, 1.5), 0.01, 1e-10, 100)", [step])

    def test_states_that_are_not_known(self):
        path = self.schedule("SingleEpochTreeAggregationDpEvent(10.0, 70)")
        self.refused("epsilon", "--schedule", path, "--delta", 1e-5, "--adjacency", "add-remove",
                     naming=["--adjacency is add-remove", "zero-out"])

        def refused(text, *naming):
            path = self.schedule(text)
            self.refused("epsilon", "--schedule", path, "--delta", 1e-5, naming=[f"--schedule {path}", *naming])
        gaussian = "GaussianDpEvent(noise_multiplier=1.0)"
        for text, *naming in [
                ("NonPrivateDpEvent()", "nothing bounds"), ("UnsupportedDpEvent()", "UnsupportedDpEvent"),
                (f"RepeatAndSelectDpEvent(event={gaussian}, mean=10.0, shape=-1.0)", "shape is -1"),
                (f"RepeatAndSelectDpEvent(event={gaussian}, mean=0.5, shape=1.0)", "mean is 0.5"),
                ("RepeatAndSelectDpEvent(event=ZCDpEvent(rho=0.1, xi=0.0), mean=10.0, shape=1.0)", "releases[0]: ", "no"),
                ("TruncatedSubsampledGaussianDpEvent(1000, 1.01, 20, 1.0)", "sampling_probability is 1.01"),
                ("ComposedDpEvent([CauchyDpEvent(1.0)])", "ComposedDpEvent.events[0] is CauchyDpEvent", "GaussianDpEvent"),
                ("NoOpDpEvent()", "no release"), ("ComposedDpEvent([])", "no release"),
                ("GaussianDpEvent()", "GaussianDpEvent.noise_multiplier is missing"),
                ("GaussianDpEvent(1.0, 2.0)", "2 arguments"),
                ("GaussianDpEvent(1.0, noise_multiplier=2.0)", "noise_multiplier is given twice"),
                ("GaussianDpEvent(sigma=1.0)", "noise_multiplier is missing"),
                ("ZCDpEvent(rho=1.0, sigma=1.0)", "sigma is unknown"), ("ZCDpEvent(rho=1.0, xi=-0.5)", "xi is -0.5"),
                ("GaussianDpEvent(nan)", "noise_multiplier is \"nan\"", "0.001"), ("GaussianDpEvent(0)", "is 0"),
                ("GaussianDpEvent(-1.0)", "is -1"), ("GaussianDpEvent(1e400)", "a number"),
                ("GaussianDpEvent('1.0')", "noise_multiplier"),
                (f"SelfComposedDpEvent({gaussian}, 0)", "SelfComposedDpEvent.count is 0", "whole"),
                (f"SelfComposedDpEvent({gaussian}, 1.5)", "count is 1.5"),
                (f"SelfComposedDpEvent(SelfComposedDpEvent({gaussian}, 2**20), 3)", "at character"),
                (f"SelfComposedDpEvent(SelfComposedDpEvent({gaussian}, 9007199254740992), 2)", "all steps together"),
                (f"PoissonSampledDpEvent(1.5, {gaussian})", "sampling_probability is 1.5"),
                ("SampledWithoutReplacementDpEvent(10, 2, SelfComposedDpEvent(LaplaceDpEvent(1.0), 2))", "replace-one alone"),
                ("SampledWithReplacementDpEvent(10, 2, SelfComposedDpEvent(LaplaceDpEvent(1.0), 2))", "no bound is known"),
                (f"PoissonSampledDpEvent(0.5, SampledWithoutReplacementDpEvent(10, 2, {gaussian}))", "samples of samples"),
                (f"SampledWithoutReplacementDpEvent(10, 20, {gaussian})", "sample_size is 20"),
                ("RandomizedResponseDpEvent(0.0, 4)", "noise_parameter is 0"),
                ("MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0], [0.5, 0.4])", "add up to 1"),
                ("MixtureOfGaussiansDpEvent(1.0, [0.0], [0.5, 0.5])", "as many"),
                (["dp_accounting.dp_event", "CauchyDpEvent", 1.0], "CauchyDpEvent"),
                ("_GaussianDpEventNamedTupleWrapper(module_name='os', class_name='GaussianDpEvent', noise_multiplier=1.0)",
                 "dp_accounting.dp_event"),
                ("OrderedDict([('history', [(1.0, 0.01, 100)]), ('history', [])])", "history is given twice"),
                ("{'history': [(1.0, 0.01)]}", "history[0]"), ("{'history': [(1.0, 1.5, 10)]}", "history[0].rate is 1.5"),
                ("{'history': [(tensor(1.0), 0.01, 1)]}", "history[0].noise_multiplier"),
                ("{'history': [(1.0, 0.01, 10)], 'mechanism': 'zcdp'}", "mechanism"),
                ("PRVAccountant([CauchyMechanism(1.0)])", "PRVAccountant.prvs[0] is CauchyMechanism"),
                ("PRVAccountant([LaplaceMechanism(1.0)], max_self_compositions=[1, 2])", "as many"),
                ("PRVAccountant([])", "no release"), ("DPSGDAccountant(1.0, 0.01)", "max_steps is missing"),
                ("GaussianDpEvent(1.0", "at character 20 is its end"), ("GaussianDpEvent(1.0))", "ends here"),
                ("GaussianDpEvent(noise_multiplier=1.0, 2.0)", "argument with a name"),
                ("__import__('os')", "__import__"), ("lambda: 1", "a value"), ("[(1.0, 0.01, 10), ", "its end"),
                ("ComposedDpEvent(" + "[" * 100, "less deep")]:
            refused(text, *naming)

    def test_adaptive_clipping(self):
        asked = ["--steps", 100, "--delta", 1e-5]
        # 1/sqrt(1/3^2 + 1/4^2) = 2.4
        given = self.ask_json("epsilon", "--noise-multiplier", 3, "--clip-count-noise", 2, *asked)
        plain = self.ask_json("epsilon", "--noise-multiplier", 2.4, *asked)
        self.assertAlmostEqual(given["epsilon"], plain["epsilon"], delta=1e-9)
        path = self.schedule({"releases": [{"mechanism": "gaussian", "noise_multiplier": 3,
                                            "clip_count_noise": 2, "steps": 100}]})
        planned = self.ask_json("epsilon", "--schedule", path, "--delta", 1e-5)
        self.assertEqual(given["epsilon"], planned["epsilon"])
        target = ["--steps", 100, "--epsilon", 5, "--delta", 1e-5]
        alone = self.ask_json("noise", *target)["noise_multiplier"]
        beside = self.ask_json("noise", *target, "--clip-count-noise", 50)["noise_multiplier"]
        self.assertAlmostEqual((beside ** -2 + 100 ** -2) ** -.5, alone, delta=1e-5 * alone)
        self.refused("epsilon", "--noise-multiplier", 3, "--mechanism", "laplace",
                     "--clip-count-noise", 2, *asked, naming=["--clip-count-noise", "left out"])
        self.refused("epsilon", "--schedule", path, "--clip-count-noise", 2, "--delta", 1e-5,
                     naming=["--clip-count-noise", "left out"])

    def test_random_allocation(self):
        asked = ["--noise-multiplier", 1, "--allocate", 1, "--of", 1000, "--delta", 1e-6]
        answer = self.ask("epsilon", *asked)
        lower, upper = self.bound(answer, "epsilon")
        # The Bromwich integral of E e^(-sU), to 12 digits (tests/dp/allocation.cpp)
        self.assertTrue(lower <= .17172868446 and upper >= .17172868444, answer)
        self.assertLess(upper - lower, 1e-6)
        release = {"mechanism": "gaussian", "noise_multiplier": 1, "allocate": 1, "of": 1000}
        path = self.schedule({"releases": [release]})
        self.assertEqual(answer, self.ask("epsilon", "--schedule", path, "--delta", 1e-6))
        for words, naming in [
                (["--steps", 3], ["--steps", "left out", "--epochs"]),
                (["--rate", 0.1], ["--rate", "left out", "--allocate"]),
                (["--accountant", "zcdp"], ["no known zCDP bound"])]:
            self.refused("epsilon", *asked, *words, naming=naming)
        # As if the step were told: a release that is not sampled.
        replaced = self.bound(self.ask("epsilon", *asked, "--adjacency", "replace-one"), "epsilon")
        self.assertEqual(replaced, self.bound(self.ask("epsilon", "--noise-multiplier", 1, "--steps", 1,
                                                       "--delta", 1e-6, "--adjacency", "replace-one"), "epsilon"))
        by_orders = self.ask_json("epsilon", *asked, "--epochs", 1000, "--accountant", "rdp")
        self.assertTrue(6.67518384 < by_orders["epsilon"] < 7.5, by_orders)
        self.refused("epsilon", "--noise-multiplier", 1, "--allocate", 5, "--of", 4, "--delta", 1e-6,
                     naming=["--allocate is 5", "a whole number in [1, 4]"])
        self.refused("epsilon", "--noise-multiplier", 1, "--steps", 5, "--of", 4, "--delta", 1e-6,
                     naming=["--of", "--allocate"])

    def test_shuffled_batches(self):
        asked = ["--noise-multiplier", 4, "--shuffle", 1000, "--epochs", 10, "--adjacency", "zero-out"]
        answer = self.ask_json("epsilon", *asked, "--delta", 1e-6)
        # docs/accountants.md; dp/shuffled_batches.hpp by the C++ library (tests/dp/shuffled_batches.cpp)
        self.assertTrue(.27 < answer["epsilon"] <= .276, answer)
        self.assertEqual(answer["lower"], 0)
        back = self.ask_json("delta", *asked, "--epsilon", answer["epsilon"])
        self.assertLessEqual(back["delta"], 1.2e-6)
        release = {"mechanism": "gaussian", "noise_multiplier": 4, "shuffled": True, "steps": 10}
        path = self.schedule({"adjacency": "zero-out", "releases": [dict(release, batches=1000)]})
        self.assertEqual(answer, self.ask_json("epsilon", "--schedule", path, "--delta", 1e-6))
        plain = self.schedule({"adjacency": "zero-out", "releases": [release]})
        most = self.ask_json("epsilon", "--schedule", plain, "--delta", 1e-6)["epsilon"]
        self.assertGreater(most, 3.7)
        # An accountant that knows of no amplification has none.
        self.assertEqual(self.ask_json("epsilon", *asked, "--delta", 1e-6, "--accountant", "gdp")["epsilon"],
                         self.ask_json("epsilon", "--schedule", plain, "--delta", 1e-6, "--accountant", "gdp")["epsilon"])
        self.assertIn("10 epochs, Gaussian noise of multiplier 4, epochs of 1000 shuffled batches, zero-out neighbours",
                      run("epsilon", *asked, "--delta", 1e-6).stdout)
        half = ["--noise-multiplier", 8, "--shuffle", 1000, "--epochs", 10, "--adjacency", "replace-one"]
        self.assertAlmostEqual(self.ask_json("epsilon", *half, "--delta", 1e-6)["epsilon"], answer["epsilon"], delta=1e-9)
        success = self.ask_json("attack", *asked)["attack_success"]["upper"]
        self.assertTrue(.5 < success < .6, success)
        page = self.ask_json("report", *asked)
        self.assertEqual(page["releases"], [dict(release, batches=1000)])
        self.assertTrue(any("1000 batches of one size" in words for words in page["assumptions"]), page)
        self.assertTrue(.5 < page["attack_success"][0]["success"] < .6, page)
        for words, naming in [
                (["--steps", 3], ["--steps", "left out", "--epochs"]),
                (["--rate", 0.1], ["--rate", "left out", "--shuffle"]),
                (["--allocate", 1, "--of", 10], ["--shuffle", "left out", "--allocate"]),
                (["--mechanism", "laplace"], ["--shuffle", "left out", "gaussian"]),
                (["--records-per-person", 2], ["--records-per-person", "left out"])]:
            self.refused("epsilon", *asked, "--delta", 1e-6, *words, naming=naming)
        self.refused("epsilon", *asked[:-2], "--delta", 1e-6, naming=["no bound is known for shuffled batches under add_remove"])
        self.refused("epsilon", *asked[:-2], "--delta", 1e-6, "--accountant", "gdp", naming=["no known bound", "shuffled batches under add_remove"])
        self.refused("noise", "--shuffle", 1000, "--epsilon", 1, "--delta", 1e-6, naming=["no bound is known for shuffled batches under add_remove"])
        # What is sought keeps the target, and a little less of it, or one more, does not.
        target = ["--epsilon", 0.3, "--delta", 1e-6]
        epochs = ["--shuffle", 1000, "--epochs", 10, "--adjacency", "zero-out"]
        found = self.ask_json("noise", *epochs, *target)["noise_multiplier"]
        self.assertTrue(3.7 < found < 4, found)
        for factor, kept in [(1, True), (1 - 1e-5, False)]:
            of = self.ask_json("epsilon", *epochs, "--noise-multiplier", factor * found, "--delta", 1e-6)["epsilon"]
            self.assertEqual(of <= 0.3, kept, (factor, of))
        most = self.ask_json("steps", "--noise-multiplier", 4, *epochs[:2], *epochs[4:], *target)["steps"]
        for more, kept in [(0, True), (1, False)]:
            of = self.ask_json("epsilon", *asked[:4], "--epochs", most + more, *asked[6:], "--delta", 1e-6)["epsilon"]
            self.assertEqual(of <= 0.3, kept, (most + more, of))
        self.assertIn("epochs of 1000 shuffled batches", run("noise", *epochs, *target).stdout)
        self.refused("steps", *asked, *target, naming=["--epochs", "left out"])
        self.refused("noise", *epochs, *target, "--clip-count-noise", 1, naming=["--clip-count-noise", "left out", "--shuffle"])
        # Without amplification by another accountant.
        plain_noise = self.ask_json("noise", *epochs, *target, "--accountant", "gdp")["noise_multiplier"]
        self.assertGreater(plain_noise, 30)
        for change, naming in [
                ({"batches": 0}, [".batches is 0", "a whole number in [1, 10000000]"]),
                ({"batches": 10, "shuffled": False}, [".batches", "left out unless shuffled"]),
                ({"batches": 10, "mechanism": "laplace"}, [".batches", "left out unless mechanism is gaussian"]),
                ({"batches": 10, "records_per_person": 2}, [".batches", "left out where a person has several records"])]:
            path = self.schedule({"adjacency": "zero-out", "releases": [{**release, **change}]})
            self.refused("epsilon", "--schedule", path, "--delta", 1e-6, naming=naming)
        path = self.schedule({"adjacency": "zero-out", "releases": [dict(release, batches=10), release]})
        self.refused("epsilon", "--schedule", path, "--delta", 1e-6, naming=["releases[0].batches", "other releases"])

    def test_matrix_mechanisms(self):
        def file(name, content):
            path = self.folder / name
            path.write_text(content)
            return path

        square_root = ["matrix", "--strategy", "square-root", "--steps", 2000, "--delta", 1e-8]
        cyclic = [*square_root, "--bands", 16, "--groups", 16, "--rate", 0.1]
        answer = self.ask(*cyclic, "--noise-multiplier", 8)
        self.assertLess(answer["upper"] - answer["lower"], 1e-9)
        # 125 sampled Gaussians of noise 8 / norm of the 16 coefficients
        norm, coefficient = 0.0, 1.0
        for t in range(16):
            norm += coefficient ** 2
            coefficient *= (2 * t + 1) / (2 * t + 2)
        alone = self.ask("epsilon", "--noise-multiplier", repr(8 / norm ** .5), "--rate", 0.1,
                         "--steps", 125, "--delta", 1e-8)
        self.assertAlmostEqual(answer["epsilon"], alone["epsilon"], delta=1e-12)
        schedule = self.schedule({"releases": answer["releases"]})
        self.assertIs(self.ask_json("epsilon", "--schedule", schedule, "--delta", 1e-5)["attained"], False)
        self.assertEqual(answer["epsilon"],
                         self.ask("epsilon", "--schedule", schedule, "--delta", 1e-8)["epsilon"])
        noise = self.ask(*cyclic, "--epsilon", answer["epsilon"])
        self.assertAlmostEqual(noise["noise_multiplier"], 8, delta=2e-5)
        self.assertAlmostEqual(noise["mean_squared_error"], answer["mean_squared_error"], delta=.01)
        # The same matrix as a table: of coefficients, and in full.
        coefficients = [1, .5, .375]
        row = file("row.csv", ",".join(map(str, coefficients)) + "\n")
        whole = file("whole.csv", "".join(
            ",".join(str(coefficients[i - j] if 0 <= i - j < 3 else 0) for j in range(9)) + "\n"
            for i in range(9)))
        for how in [["--separation", 3], ["--groups", 4, "--rate", .5], ["--bins", 3]]:
            asked = ["--noise-multiplier", 2, "--delta", 1e-5, *how]
            named = self.ask("matrix", "--strategy", "square-root", "--bands", 3, "--steps", 9, *asked)
            for table in [["--table", row, "--steps", 9], ["--table", whole]]:
                found = self.ask("matrix", *table, *asked)
                for key in ["epsilon", "mean_squared_error", "largest_squared_error"]:
                    self.assertAlmostEqual(found[key], named[key], delta=1e-12)
        # Two buffers, and the same coefficients as a table.
        buffers = file("buffers.csv", "decay,scale\n.9,.3\n.5,.2\n")
        row_of_buffers = file("of_buffers.csv", ",".join(
            repr(.3 * .9 ** (t - 1) + .2 * .5 ** (t - 1) if t else 1) for t in range(40)) + "\n")
        asked = ["--steps", 40, "--noise-multiplier", 5, "--delta", 1e-5, "--participations", 4, "--separation", 9]
        by_buffers = self.ask("matrix", "--strategy", "buffered", "--buffers", buffers, *asked)
        by_table = self.ask_json("matrix", "--table", row_of_buffers, *asked)
        for key in ["epsilon", "mean_squared_error", "largest_squared_error"]:
            self.assertAlmostEqual(by_buffers[key], by_table[key], delta=1e-9, msg=key)
        self.assertIn("a buffered Toeplitz strategy of 2 buffers",
                      run("matrix", "--strategy", "buffered", "--buffers", buffers, *asked).stdout)
        for content, naming in [("", ["no rows"]), (".9\n", [":1: has 1 column", "decay, scale"]), ("1.5,1\n", ["the decay is 1.5", "[0, 1]"]),
                                (".5,-1\n", ["the scale is -1", "at least 0"]), (".5,nan\n", ["nan"]), (".5,1e308\n.5,1e308\n", ["finite"]),
                                (".5,.1\n" * 21, [":21: ", "20"]), ("scale,decay\n.9,.3\n", [":1: ", "decay, scale"])]:
            self.refused("matrix", "--strategy", "buffered", "--buffers", file("bad.csv", content), *asked, naming=["bad.csv", *naming])
        self.refused("matrix", "--strategy", "buffered", *asked, naming=["--buffers is missing"])
        self.refused("matrix", "--strategy", "tree", "--buffers", buffers, *asked, naming=["--buffers", "unless --strategy is buffered"])
        self.refused("matrix", "--table", whole, "--buffers", buffers, *asked, naming=["--buffers", "where --table"])
        self.refused("matrix", "--strategy", "buffered", "--buffers", buffers, "--bands", 3, *asked, naming=["--bands", "square-root"])
        self.refused("matrix", "--table", whole, "--steps", 9, "--delta", 1e-5, "--bins", 3,
                     naming=["--steps", "left out", "--table"])
        self.refused("matrix", "--table", file("two.csv", "1,0,0\n1,1,0\n"), "--bins", 3,
                     "--noise-multiplier", 2, "--delta", 1e-5, naming=["two.csv", "2 rows", "3"])
        self.refused("matrix", "--table", row, "--steps", 2, "--bins", 2, "--noise-multiplier", 2,
                     "--delta", 1e-5, naming=["row.csv", "3 coefficients", "at most 2"])
        for words, naming in [
                (["--noise-multiplier", 8], ["--participations is missing", "--separation"]),
                (["--bins", 4, "--noise-multiplier", 8], ["bins is 4", "at least 2000, the bands"]),
                (["--bins", 4, "--rate", .1, "--noise-multiplier", 8], ["--rate", "--bins"]),
                (["--rate", .1, "--noise-multiplier", 8], ["--separation is missing", "--groups"]),
                (["--separation", 4, "--rate", .1, "--participations", 2, "--noise-multiplier", 8],
                 ["--participations", "left out", "--rate"]),
                (["--separation", 4, "--rate", .1, "--noise-multiplier", 8],
                 ["separation is 4", "at least 2000, the bands"]),
                (["--bins", 4, "--apart", 3, "--noise-multiplier", 8], ["apart is 3", "divisor of the bins, 4"]),
                (["--groups", 2000, "--rate", .1, "--apart", 3, "--noise-multiplier", 8],
                 ["--apart", "left out", "--groups"]),
                (["--groups", 2000, "--noise-multiplier", 8], ["--rate is missing"]),
                (["--separation", 9], ["--noise-multiplier is missing", "--epsilon"]),
                (["--separation", 9, "--noise-multiplier", 8, "--epsilon", 1],
                 ["--epsilon", "left out"]),
                (["--separation", 9, "--noise-multiplier", 8, "--restart", 3], ["--restart", "tree"]),
                (["--separation", 9, "--noise-multiplier", 8, "--bands", 2001],
                 ["--bands is 2001", "[1, 2000]"])]:
            self.refused(*square_root, *words, naming=naming)
        # Another record in its place, as if the bin were told: half the noise without sampling.
        for bins, alone in [(2000, ["--bins", 2000]), (4000, ["--bins", 2000])]:
            other = self.ask_json(*square_root, "--bins", bins, "--noise-multiplier", 8, "--adjacency", "replace-one")
            half = self.ask_json(*square_root, *alone, "--noise-multiplier", 4)
            self.assertAlmostEqual(other["upper"], half["upper"], delta=1e-9 * half["upper"])
        # b-min-sep: by Rényi divergences, below cyclic samples of as many participations.
        apart = [*square_root, "--bands", 16, "--separation", 16, "--rate", 1 / 145]
        found = self.ask_json(*apart, "--noise-multiplier", 8)
        self.assertEqual((found["accountant"], found["attained"]), ("rdp", False))
        self.assertAlmostEqual(found["epsilon"], .9, delta=1e-3)
        self.assertLess(found["epsilon"], answer["epsilon"])
        noise = self.ask(*apart, "--epsilon", found["epsilon"])
        self.assertAlmostEqual(noise["noise_multiplier"], 8, delta=1e-4)
        schedule = self.schedule({"releases": found["releases"]})
        self.assertEqual(found["epsilon"], self.ask("epsilon", "--schedule", schedule, "--delta", 1e-8,
                                                    "--accountant", "rdp")["epsilon"])
        for words, naming in [(["--adjacency", "replace-one"], ["no bound is implemented", "keep a distance"]),
                              (["--accountant", "pld"], ["no known bound", "divergences"]),
                              (["--records-per-person", 2], ["no bound is implemented", "several records a person"])]:
            self.refused(*apart, "--noise-multiplier", 8, *words, naming=naming)
        # Balls in bins of a strategy without bands.
        whole_run = self.ask(*square_root, "--separation", 200, "--noise-multiplier", 8)
        in_bins = self.ask(*square_root, "--bins", 200, "--apart", 40, "--noise-multiplier", 8)
        self.assertLess(in_bins["epsilon"], whole_run["epsilon"])
        # All of the bins a secret, by Rényi divergences: below what a part of them hides.
        nested = [*square_root, "--bands", 16, "--bins", 160, "--nested"]
        found = self.ask_json(*nested, "--noise-multiplier", 8)
        self.assertEqual((found["accountant"], found["attained"]), ("rdp", False))
        self.assertAlmostEqual(found["epsilon"], 1.1089, delta=1e-3)
        self.assertLess(found["epsilon"], self.ask(*nested[:-1], "--noise-multiplier", 8)["epsilon"])
        self.assertAlmostEqual(self.ask(*nested, "--epsilon", found["epsilon"])["noise_multiplier"], 8, delta=1e-4)
        for words, naming in [(["--adjacency", "replace-one"], ["no bound is implemented", "balls in bins"]),
                              (["--accountant", "pld"], ["no known bound", "divergences"]),
                              (["--records-per-person", 2], ["no bound is implemented", "several records a person"]),
                              (["--apart", 16], ["--apart", "left out", "--nested"])]:
            self.refused(*nested, "--noise-multiplier", 8, *words, naming=naming)
        self.refused(*square_root, "--separation", 9, "--nested", "--noise-multiplier", 8,
                     naming=["--nested", "unless --bins is given"])
        self.refused("matrix", "--strategy", "tree", "--steps", 100, "--bins", 10, "--nested", "--delta", 1e-8, "--noise-multiplier", 8,
                     naming=["no bound is implemented for a tree"])
        for bins, hides_nothing in [(157, True), (160, False)]:
            said = run("matrix", "--strategy", "square-root", "--bands", 16, "--steps", 2000, "--bins", bins,
                       "--noise-multiplier", 8, "--delta", 1e-8).stdout
            self.assertEqual("hides nothing" in said, hides_nothing, said)
        self.refused("matrix", "--steps", 5, "--bins", 5, "--delta", 1e-5, "--noise-multiplier", 1,
                     naming=["--strategy is missing", "--table"])

    def test_unusable_schedules(self):
        good = {"mechanism": "gaussian", "noise_multiplier": 1, "rate": 0.01, "steps": 100}

        def bad(naming, *changes, **fields):
            release = {**good, **fields}
            for key in changes:
                del release[key]
            cases.append(({"releases": [good, good, release]}, ["releases[2]" + naming[0]] +
                          naming[1:]))

        cases = []
        bad([".rate is 1.5", "[0, 1]"], rate=1.5)
        bad([".rate is -0.1", "[0, 1]"], rate=-0.1)
        bad([".rate is true", "[0, 1]"], rate=True)
        bad([".rate is null", "[0, 1]"], rate=None)
        bad([".rate", "[0, 1]"], rate="0.1")
        bad([".noise_multiplier is 0", "in [0.001, 1e9]"], noise_multiplier=0)
        bad([".noise_multiplier is missing"], "noise_multiplier")
        bad([".mechanism is missing"], "mechanism")
        bad([".mechanism is \"gausian\"", "laplace"], mechanism="gausian")
        bad([".steps is 1.5", "whole"], steps=1.5)
        bad([".steps is -1", "whole"], steps=-1)
        bad([".steps is 0", "[1, "], steps=0)
        bad([".steps is 1e+20", "whole"], steps=1e20)
        bad([".sigma is unknown", "noise_multiplier"], sigma=1)
        bad([".epsilon is unknown"], epsilon=1)
        bad([".batch is 10", "left out"], batch=10, records=100)
        bad([".batch is 101", "in [1, 100]"], "rate", batch=101, records=100)
        bad([".records is missing"], "rate", batch=10)
        bad([".batch is missing"], "rate", records=10)
        bad([".shuffled is 1", "true"], "rate", shuffled=1)
        bad([".shuffled is true", "left out"], shuffled=True)
        bad([".rate is 0.01", "left out"], allocate=1, of=10)
        bad([".allocate is 11", "[1, 10]"], "rate", allocate=11, of=10)
        bad([".of is missing"], "rate", allocate=1)
        bad([".allocate is missing"], "rate", of=10)
        bad([".records_per_person is 0", "[1, "], records_per_person=0)
        bad([".noise_multiplier is 1", "left out"], groups=[{"clip": 1, "sigma": 1}])
        bad([".groups[0].sigma is missing"], "noise_multiplier", groups=[{"clip": 1}])
        bad([".groups is []"], "noise_multiplier", groups=[])
        bad([": ", "records_per_person times part is 1001000"], "rate", "steps", "noise_multiplier", mechanism="pure", epsilon=1,
            allocate=1001, of=2000, records_per_person=1000)
        bad([".with_replacement is true", "left out"], with_replacement=True)
        bad([".with_replacement is 1", "true or false"], "rate", batch=10, records=100, with_replacement=1)
        for word in ("skellam", "binomial"):
            bad([".variance is missing"], "rate", "noise_multiplier", mechanism=word)
            bad([".variance is 0", "positive"], "rate", "noise_multiplier", mechanism=word, variance=0)
        bad([".variance is 1.1", "coins"], "rate", "noise_multiplier", mechanism="binomial", variance=1.1)
        bad([".ratio is 1", "(0, 1)"], "rate", "noise_multiplier", mechanism="geometric", ratio=1)
        bad([".points", "add up to at most 1"], "rate", "noise_multiplier", mechanism="gaussian-mixture", sigma=1,
            points=[{"weight": 0.6, "sensitivity": 1}, {"weight": 0.5, "sensitivity": 2}])
        bad([": ", "no known bound"], "rate", shuffled=True)
        for content, naming in cases + [
                ({"releases": []}, ["releases is []"]), ({}, ["releases is missing"]),
                ({"releases": {}}, ["releases is {}", "list"]), ([], ["history is []"]),
                ({"releases": [good], "steps": 3}, ["steps is unknown", "adjacency"]),
                ({"adjacency": "replace", "releases": [good]}, ["adjacency", "replace-one"]),
                ({"releases": [5]}, ["releases[0] is 5", "object"]), (7, ["no schedule"]),
                ([[1, 0.01, 10], [1, 0.01]], ["history[1] is [1,0.01]", "three"]),
                ([[1, 2, 10]], ["history[0].rate is 2", "[0, 1]"]),
                ([[0, 0.1, 10]], ["history[0].noise_multiplier is 0", "in [0.001, 1e9]"]),
                ([[1, 0.1, 1.5]], ["history[0].steps is 1.5", "whole"]),
                ({"history": [[1, 0.1, 1]], "mechanism": "rpd"}, ["mechanism", "rdp"]),
                ({"history": [[1, 0.1, 1]], "releases": [good]}, ["releases is unknown"]),
                ("", ["no JSON"]), ("{", ["no JSON"]), ('{"releases": [NaN]}', ["no JSON"]),
                ("[[1e999, 0.1, 1]]", ["no JSON"]), ("\x00", ["no JSON"]),
                ('[[1, 0.1, 1]] []', ["no JSON"]),
                ('{"releases": [], "releases": []}', ["releases is given twice"])]:
            path = self.schedule(content)
            for verb in (["epsilon", "--delta", 0.1], ["report"]):
                self.refused(*verb, "--schedule", path, naming=["schedule.json", *naming])
        self.refused("epsilon", "--schedule", "nowhere.json", "--delta", 0.1,
                     naming=["--schedule is nowhere.json", "readable"])
        self.refused("epsilon", "--schedule", self.folder, "--delta", 0.1,
                     naming=["--schedule", "readable"])
        path = self.schedule({"releases": [good]})
        for option in ["--noise-multiplier", "--rate", "--steps", "--records-per-person"]:
            self.refused("epsilon", "--schedule", path, "--delta", 0.1, option, 1,
                         naming=[option, "left out", "--schedule"])


class Pages(Runs):
    """Refusals of the accounting verbs, and what prints more than a figure."""

    def test_refusals(self):
        for verb, target in [("epsilon", ["--delta", 1e-5]), ("delta", ["--epsilon", 1])]:
            whole = [verb, *self.A, *target]
            for k in (3, 5, 7):
                self.refused(*whole[:k], *whole[k + 2:], naming=[f"{whole[k]} is missing"])
            self.refused(*whole, "--batch", 10, naming=["--batch", "left out", "--rate"])
            self.refused(*whole, "--records", 10, naming=["--records", "left out"])
            self.refused(*whole, "--accountant", "prv", naming=["--accountant is prv", "pld"])
            self.refused(*whole, "--adjacency", "add_remove", naming=["--adjacency", "add-remove"])
            self.refused(*whole, "--mechanism", "cauchy", naming=["--mechanism", "laplace"])
            self.refused(*whole, "--accountant", "gdp", naming=["sampled"])
        plain = ["epsilon", "--noise-multiplier", 1, "--steps", 10, "--delta", 1e-5]
        self.refused(*plain, "--records", 10, naming=["--records", "unless --batch"])
        self.refused(*plain, "--batch", 10, naming=["--records is missing"])
        self.refused(*plain, "--batch", 11, "--records", 10, naming=["--batch is 11", "a whole number in [1, 10]"])
        # A combination without a bound is no answer, under any accountant.
        shuffled = ["epsilon", "--noise-multiplier", 1, "--delta", 1e-5, "--shuffle", 10, "--epochs", 3]
        for by in (*self.NAMES, "discretised", "all"):
            self.refused(*shuffled, "--accountant", by, naming=[""])
        self.refused(*shuffled, "--accountant", "rdp", naming=["no known bound", "shuffled batches under add_remove"])
        # Several records in random steps: an upper end, less than unsampled.
        allocated = ["--noise-multiplier", 4, "--delta", 1e-5, "--records-per-person", 2]
        found = self.ask_json("epsilon", *allocated, "--allocate", 1, "--of", 100)
        self.assertFalse(found["attained"])
        self.assertLess(found["epsilon"], 0.3 * self.ask("epsilon", *allocated, "--steps", 1)["epsilon"])
        self.refused(*plain, "--batch", 10, "--records", 100, "--records-per-person", 100,
                     naming=["records_per_person is 100", "below the number of records"])
        self.refused(*plain, "--with-replacement", naming=["--with-replacement", "unless --batch"])
        self.refused(*plain, "--cap", 20, "--cap-records", 100, naming=["--cap", "unless records are sampled"])
        self.refused(*plain, "--rate", 0.1, "--cap", 20, naming=["--cap-records is missing"])
        self.refused(*plain, "--cap-records", 20, naming=["--cap-records", "unless --cap"])
        self.refused(*plain, "--best-of", 5, "--best-of-shape", -1, naming=["--best-of-shape is -1", "in (-1, 1000]"])
        self.refused(*plain, "--best-of", 0.5, "--best-of-shape", 2, naming=["--best-of is 0.5", "in [1, 1e12]"])
        for option, text, must_be in [
                ("--delta", "0", "in (0, 1)"), ("--delta", "1", "in (0, 1)"),
                ("--delta", "nan", "in (0, 1)"), ("--noise-multiplier", "0", "in [0.001, 1e9]"),
                ("--noise-multiplier", "inf", "in [0.001, 1e9]"), ("--steps", "0", "whole"),
                ("--steps", "1e4", "whole"), ("--rate", "1.5", "in [0, 1]"),
                ("--records-per-person", "0", "whole")]:
            asked = {"--noise-multiplier": 1, "--steps": 10, "--delta": 1e-5, option: text}
            self.refused("epsilon", *[w for item in asked.items() for w in item],
                         naming=[f"{option} is {text}", must_be])
        target = ["--epsilon", 2, "--delta", 1e-5]
        self.refused("noise", "--steps", 10, "--noise-multiplier", 1, *target,
                     naming=["--noise-multiplier", "unknown"])
        self.refused("steps", "--steps", 10, "--noise-multiplier", 1, *target,
                     naming=["--steps", "unknown"])
        self.refused("rate", "--rate", 0.1, "--steps", 10, "--noise-multiplier", 1, *target,
                     naming=["--rate", "unknown"])
        self.refused("noise", "--steps", 10, *target, "--accountant", "gdp-clt",
                     naming=["--accountant is gdp-clt", "estimate"])
        self.refused("steps", "--noise-multiplier", 0.1, *target, naming=["not even one step"])
        self.refused("noise", "--epsilon", 1e-12, "--delta", 1e-14, "--steps", 10,
                     naming=["a noise multiplier of 5.45207e+12", "none above 1e9"])

    def test_curve(self):
        path = self.folder / "curve.svg"
        answer = self.ask_json("curve", *self.A, "--accountant", "all", "--plot", path)
        by = {entry["accountant"]: entry for entry in answer["accountants"]}
        self.assertEqual(list(by), ["pld", "rdp", "gdp-clt"])
        self.assertEqual(answer["delta"], 1e-5)
        for name, entry in by.items():
            curve = entry["delta_by_epsilon"]
            self.assertGreaterEqual(len(curve), 20)
            self.assertTrue(all(a[1] >= b[1] for a, b in zip(curve, curve[1:])), name)
            trade_off = entry["trade_off"]
            self.assertEqual([trade_off[0][0], trade_off[-1]], [0, [1, 0]])
            self.assertTrue(all(a[1] >= b[1] for a, b in zip(trade_off, trade_off[1:])), name)
            steps = entry["epsilon_by_step"]
            self.assertEqual(steps[-1][0], 10000)
            self.assertTrue(all(a[1] <= b[1] for a, b in zip(steps, steps[1:])), name)
        self.assertAlmostEqual(by["pld"]["epsilon_by_step"][-1][1], 6.18771239, delta=1e-7)
        self.assertIs(by["gdp-clt"]["estimate"], True)
        drawing = path.read_text()
        self.assertTrue(drawing.startswith("<svg ") and drawing.endswith("</svg>\n"))
        ElementTree.fromstring(drawing)
        self.assertNotIn("nan", drawing)
        for name in by:
            self.assertIn(f">{name}</text>", drawing)
        done = run("curve", *self.A)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("false alarms", done.stdout)
        self.refused("curve", *self.A, "--plot", self.folder / "nowhere" / "x.svg",
                     naming=["--plot", "folder"])
        self.refused("curve", "--noise-multiplier", 1, "--rate", 0.1, "--steps", 5, "--accountant",
                     "gdp", naming=["sampled"])

    def test_trade_off(self):
        """A Gaussian's curve in closed form, in a file and out of it; other runs by what they are made of."""
        mu, path = 0.5, self.folder / "curve"
        normal = statistics.NormalDist()
        run_of = ["--noise-multiplier", 2, "--steps", 1]
        picture = self.folder / "errors.svg"
        answer = self.ask_json("curve", *run_of, "--trade-off", path, "--points", 401, "--plot", picture)
        self.assertEqual(list(answer), ["accountant", "trade_off", "advantage", "file", "plot"])
        self.assertEqual(len(answer["trade_off"]), 401)
        self.assertEqual(answer["trade_off"][-1], [1, 0, 0])
        for alarms, lower, upper in answer["trade_off"][1:-1]:
            truth = normal.cdf(normal.inv_cdf(1 - alarms) - mu)
            self.assertTrue(lower <= truth + 1e-9 and truth - 1e-9 <= upper <= lower + 2e-3, (alarms, lower, upper))
        ElementTree.fromstring(picture.read_text())
        self.assertTrue(path.read_text().startswith("tacit-trade-off 1\nadjacency add_remove\nknots "))

        asked = ["--false-positive-rate", 0.01, "--prevalence", 0.1, "--prior", 0.3]
        hit = 1 - normal.cdf(normal.inv_cdf(0.99) - mu)
        truths = {"advantage": 2 * normal.cdf(mu / 2) - 1, "true_positive_rate": hit,
                  "positive_predictive_value": 0.1 * hit / (0.1 * hit + 0.9 * 0.01),
                  "attack_success": 0.7 + 0.3 * gaussian_delta(mu, math.log(7 / 3))}
        kept = path.read_bytes()
        for words, width in [(run_of, 1e-9), (["--trade-off", path], 2e-3)]:
            found = self.ask("attack", *words, *asked)
            self.assertIn("lower end" if "--trade-off" in words else "and at least", run("attack", *words).stdout)
            for name, truth in truths.items():
                lower, upper = found[name]["lower"], found[name]["upper"]
                self.assertTrue(lower <= truth + 1e-9 and truth - 1e-9 <= upper <= lower + width, (words, name))
            # A file does not say of what run it is.
            self.assertEqual("attained" in found, "--trade-off" in words)
        self.assertEqual(path.read_bytes(), kept)
        vote = ["--schedule", self.schedule({"releases": [{"mechanism": "gnmax-check", "sigma": 4}]})]
        for found in (self.ask("attack", *vote), self.ask_json("report", *vote),
                      self.ask_json("curve", *vote, "--trade-off", self.folder / "vote", "--points", 2)):
            self.assertIs(found["attained"], False)
        # One (epsilon, delta): the test that has it exactly.
        found = self.ask("attack", "--epsilon", 1, "--delta", 0.01, "--false-positive-rate", 0.1)
        self.assertAlmostEqual(found["true_positive_rate"]["upper"], 0.01 + 0.1 * math.e, delta=1e-12)
        found = self.ask("attack", "--epsilon", 1000, "--false-positive-rate", 0.1)
        self.assertEqual(found["true_positive_rate"]["upper"], 1)

        # What is around a run, schedules, and an accountant without lower ends.
        schedule = self.schedule({"adjacency": "zero-out", "releases": [
            {"mechanism": "gaussian", "noise_multiplier": 2.0}, {"mechanism": "laplace", "noise_multiplier": 9.0}]})
        alone = self.ask("attack", *run_of)["advantage"]
        self.assertGreater(self.ask("attack", "--schedule", schedule)["advantage"]["lower"], alone["upper"])
        once = self.ask("attack", *run_of, "--drawn-once", 0.25)
        self.assertAlmostEqual(once["advantage"]["upper"], 0.25 * alone["upper"], delta=1e-9)
        self.assertEqual(once["drawn_once"], 0.25)
        best = self.ask_json("curve", *run_of, "--best-of", 3, "--trade-off", path, "--force")
        self.assertTrue(all(low <= one[1] + 1e-12 for (_, low, _), one in zip(best["trade_off"][1:], answer["trade_off"][8::8])))
        self.assertEqual(self.ask("attack", "--trade-off", path)["advantage"], best["advantage"])
        # Of the best of many runs delta(0) says nothing, and some epsilon does.
        many = self.ask("attack", "--rate", 0.01, "--noise-multiplier", 1, "--steps", 1000, "--best-of", 20)
        self.assertLess(many["advantage"]["upper"], 0.97)
        self.assertLess(many["attack_success"]["upper"], 0.99)
        by_renyi = self.ask("attack", *self.A, "--accountant", "rdp", *asked)
        self.assertEqual(by_renyi["advantage"]["lower"], 0)
        whole = self.ask_json("curve", *self.A, "--drawn-once", 0.5)
        self.assertLess(whole["accountants"][0]["epsilon_by_step"][-1][1], 6.1)
        self.assertEqual(whole["drawn_once"], 0.5)

        # Refusals.
        self.refused("attack", naming=["--mi is missing", "--trade-off", "run"])
        self.refused("attack", "--trade-off", path, "--steps", 3, naming=["--steps is 3", "left out", "--trade-off"])
        self.refused("attack", "--epsilon", 1, *run_of, naming=["--noise-multiplier", "left out", "--epsilon"])
        self.refused("attack", "--mi", 1, "--prevalence", 0.5, naming=["--prevalence", "left out", "--mi"])
        self.refused("attack", *run_of, "--delta", 0.5, naming=["--delta", "left out"])
        self.refused("attack", *run_of, "--prevalence", 0.5, naming=["--prevalence", "--false-positive-rate"])
        self.refused("attack", *run_of, "--false-positive-rate", 0, naming=["--false-positive-rate is 0", "in (0, 1]"])
        self.refused("attack", *run_of, "--prevalence", 1.5, naming=["--prevalence is 1.5", "in [0, 1]"])
        for by in ("all", "gdp-clt"):
            self.refused("attack", *run_of, "--accountant", by, naming=["--accountant", "bound"])
            self.refused("curve", *run_of, "--trade-off", self.folder / "other", "--accountant", by,
                         naming=["--accountant", "bound"])
        self.refused("attack", "--patience", 1, naming=["--patience is 1", "unless a run"])
        self.refused("curve", *run_of, "--trade-off", path, naming=["--trade-off", "new file"])
        self.refused("curve", *run_of, "--points", 3, naming=["--points", "unless --trade-off"])
        self.refused("curve", *run_of, "--trade-off", path, "--force", "--points", 1, naming=["--points is 1", "[2, 100000]"])
        self.refused("curve", *run_of, "--trade-off", path, "--force", "--delta", 0.1, naming=["--delta", "left out"])
        self.refused("curve", *run_of, "--trade-off", path, "--plot", path, "--force", naming=["another file"])
        self.refused("attack", "--trade-off", self.folder / "none", naming=["--trade-off", "readable trade-off curve"])
        text = path.read_text()
        for bad in ("", text[:-1], text.replace("add_remove", "zero_out"), re.sub(r"knots \d+", "knots 1", text), "{}"):
            path.write_text(bad)
            self.refused("attack", "--trade-off", path, naming=[f"--trade-off is {path}", "archive"])

    def test_the_words_for_a_number_of_steps(self):
        target = ("--epsilon", 1, "--delta", 1e-5, "--rate", .001)
        one = run("steps", *map(str, target), "--noise-multiplier", ".44")
        self.assertIn("epsilon 1 at delta 1e-05 allows at most 1 step by pld: ", one.stdout)
        none = run("steps", *map(str, target), "--noise-multiplier", "1e9")
        self.assertIn(" steps (the most that are looked for) by pld: ", none.stdout)
        capped = run("steps", *map(str, target), "--noise-multiplier", "1", "--cap", "200", "--cap-records", "60000")
        self.assertIn("batches of at most 200 out of 60000 records, cut by ranks", capped.stdout)
        self.assertEqual(self.ask_json("steps", *target, "--noise-multiplier", 1)["adjacency"], "add-remove")

    def test_report(self):
        # What a mechanism takes for granted is said, once each.
        votes = {"mechanism": "gnmax-check", "sigma": 40.0}
        chosen = self.ask_json("report", "--schedule", self.schedule({"releases": [
            votes, {**votes, "steps": 3}, {"mechanism": "sparse-vector", "threshold_scale": 9.0, "query_scale": 20.0, "answers": 2},
            {"mechanism": "vector-skellam", "variance": 900.0, "l1": 3.0, "l2": 2.0}]}), "--accountant", "rdp")
        for words in ("Votes of teachers", "sparse vector", "integer vectors"):
            self.assertEqual(1, sum(words in one for one in chosen["assumptions"]), words)
        # Read again, its releases may still give away less than what stands for them.
        again = self.ask_json("report", "--schedule", self.schedule({"releases": chosen["releases"]}), "--accountant", "rdp")
        self.assertEqual([again["attained"], again["guarantees"]], [False, chosen["guarantees"]])
        self.refused("epsilon", "--schedule", self.schedule({"releases": [{**votes, "attained": 3}]}), "--delta", 1e-5,
                     naming=["attained is 3", "true or false"])
        release = {"mechanism": "gaussian", "noise_multiplier": 1.5, "rate": 0.02, "steps": 500}
        other = {"mechanism": "gaussian", "noise_multiplier": 20.0, "steps": 2}
        content = {"adjacency": "add-remove", "releases": [release, other]}
        answer = self.ask_json("report", "--schedule", self.schedule(content), "--delta", 1e-7)
        self.assertEqual(list(answer), ["releases", "adjacency", "assumptions", "accountant",
                                        "guarantees", "attack_success", "versions"])
        self.assertEqual({key: answer[key] for key in content}, content)
        deltas = [entry["delta"] for entry in answer["guarantees"]]
        self.assertEqual(deltas, [1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10])
        for entry in answer["guarantees"]:
            asked = self.ask_json("epsilon", "--schedule", self.schedule(content), "--delta",
                                  repr(entry["delta"]))
            self.assertEqual(entry["epsilon"], asked["epsilon"])
        for entry in answer["attack_success"]:
            before = max(entry["prior"], 1 - entry["prior"])
            self.assertTrue(before <= entry["success"] < 1)
        self.assertTrue(any("Poisson" in text for text in answer["assumptions"]))
        page = run("report", "--schedule", self.schedule(content))
        self.assertEqual((page.returncode, page.stderr), (0, ""))
        self.assertTrue(page.stdout.startswith("# Privacy statement\n"))
        version = run("--version").stdout.strip()
        self.assertEqual(answer["versions"]["tacit"], version)
        for text in ["Gaussian noise of multiplier 20", "Poisson", "add-remove", "tacit " + version]:
            self.assertIn(text, page.stdout)
        # What is around the run is stated with it, and counted.
        short = [*self.C[2:], "--rate", 0.01]
        for around, words, stands in [
                (["--cap", 1000, "--cap-records", 50000], ["cut down to 1000", "50000 records"], {"cap"}),
                (["--drawn-once", 0.5, "--best-of", 5], ["sample of rate 0.5 drawn once", "only the best of a geometric number"],
                 {"drawn_once", "best_of"})]:
            stated = self.ask_json("report", *short, *around)
            self.assertEqual({"cap", "drawn_once", "best_of"} & set(stated), stands)
            self.assertNotIn("attained", stated)
            page = run("report", *short, *around).stdout
            for text in words:
                self.assertIn(text, page)
            asked = self.ask_json("epsilon", *short, *around, "--delta", 1e-5)
            self.assertIn({"delta": 1e-5} | {key: asked[key] for key in ("epsilon", "lower", "upper")}, stated["guarantees"])
            guess = self.ask_json("attack", *short, *around)["attack_success"]["upper"]
            self.assertEqual(stated["attack_success"][0], {"prior": 0.5, "success": guess})
        for by in ("all", "gdp-clt"):
            self.refused("report", *self.A, "--accountant", by, naming=["--accountant", "bound"])

    def test_ferret(self):
        asked = ["ferret", "--groups", 200, "--steps", 1000, "--rate", 0.005]
        answer = self.ask(*asked, "--epsilon", 0.5)
        self.assertEqual(list(answer), ["probability", "ceiling"])
        self.assertAlmostEqual(answer["probability"], 7.2135e-4, delta=1e-8)
        self.assertLessEqual(answer["probability"], 0.5 / (1000 * math.log(2)))
        self.assertAlmostEqual(answer["ceiling"], 693.147, delta=1e-3)
        self.assertEqual(self.ask(*asked, "--epsilon", 1000)["probability"], 1)
        self.assertEqual(self.ask(*asked, "--epsilon", 0)["probability"], 0)
        self.assertIn("average", run(*asked, "--epsilon", 0.5).stdout)
        self.refused(*asked, naming=["--epsilon is missing"])
        self.refused(*asked[:-2], "--epsilon", 1, naming=["--rate is missing"])
        self.refused(*asked[:-1], 1.5, "--epsilon", 1, naming=["--rate is 1.5"])


class Tables(Case):
    """A folder for tables, and the eight corners of a box: variances (4, 1, 1/4), uncorrelated."""
    CORNERS = [(x, y, z) for x in (-2, 2) for y in (-1, 1) for z in (-0.5, 0.5)]

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = Path(kept.name)
        self.corners = self.table("corners.csv", self.CORNERS)

    def table(self, name, rows):
        return self.text(name, "".join(",".join(map(repr, row)) + "\n" for row in rows))

    def text(self, name, content):
        file = self.folder / name
        file.write_text(content)
        return file


def filled(variances, budget):
    """The least trace with a log-det of `budget`, by bisection on the water level."""
    def noise(level):
        return [(math.sqrt(r * r + 2 * level * r) - r) / 2 for r in variances]

    low, high = 1e-9, 1e9
    for _ in range(200):
        level = math.sqrt(low * high)
        revealed = sum(math.log1p(r / v) for r, v in zip(variances, noise(level))) / 2
        low, high = (level, high) if revealed > budget else (low, level)
    return sum(noise(high))


class Calibration(Tables):
    def test_a_standard_input_that_breaks_off_is_no_table(self):
        """A pipe that has no more to give, and has not ended, cannot be read."""
        outputs, inputs = os.pipe()
        os.set_blocking(outputs, False)
        os.write(inputs, b"1,2\n3,4\n5,7\n2,2\n")
        for words in (["calibrate", "-", "--mi", "1", "--method", "log-det"], ["gap", "-", "--noise", self.text("n", "1,1\n")]):
            done = subprocess.run([PROGRAM, *map(str, words)], stdin=outputs, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (2, ""), words)
            self.assertIn("cannot be read", done.stderr)
        os.close(inputs)
        os.close(outputs)

    VARIANCES = [4, 1, 0.25]

    def calibrate(self, file, *words, mi=0.5):
        return self.ask("calibrate", file, "--mi", mi, *words)

    def listed(self, method, *words, mi=0.5):
        return self.calibrate(self.corners, "--rows", "candidates", "--method", method, *words,
                              mi=mi)

    def test_least_traces(self):
        for method, trace in [("log-det", filled(self.VARIANCES, 0.5)), ("efficient", 12.25),
                              ("proportional", 5.25 / math.expm1(1 / 3))]:
            answer = self.listed(method)
            shape = "variances" if method == "efficient" else "covariance"
            self.assertEqual(list(answer),
                             ["trace", "mi_bound", "entropy_left", "confidence", "eigenvalues", shape])
            self.assertAlmostEqual(answer["entropy_left"], math.log(len(self.CORNERS)) - answer["mi_bound"], delta=1e-11)
            self.assertAlmostEqual(answer["trace"] / trace, 1, delta=1e-11)
            self.assertEqual(answer["confidence"], 1)
            self.assertEqual(answer["eigenvalues"], sorted(answer["eigenvalues"], reverse=True))
            self.assertAlmostEqual(sum(answer["eigenvalues"]), answer["trace"], delta=1e-11)
            noise = answer[shape] if shape == "variances" else [
                answer[shape][i][i] for i in range(3)]
            revealed = sum(math.log1p(r / v) for r, v in zip(self.VARIANCES, noise)) / 2
            self.assertLessEqual(revealed, 0.5)
            self.assertLessEqual(answer["mi_bound"], 0.5)
            self.assertGreaterEqual(answer["mi_bound"], revealed * (1 - 1e-12))
        self.assertAlmostEqual(self.listed("log-det")["trace"], 9.8408, delta=5e-5)
        self.assertAlmostEqual(self.listed("proportional")["trace"], 13.2706, delta=5e-5)

    def test_samples_are_an_estimate(self):
        answer = self.calibrate(self.corners, "--method", "log-det")
        self.assertEqual(list(answer), ["trace", "mi_estimate", "eigenvalues", "covariance",
                                        "calibrated_on"])
        whole = [r * 8 / 7 for r in self.VARIANCES]
        self.assertAlmostEqual(answer["trace"], filled(whole, 0.5), delta=1e-9)
        self.assertAlmostEqual(answer["mi_estimate"], 0.5, delta=1e-11)
        for row, other in zip(answer["covariance"], zip(*answer["covariance"])):
            self.assertEqual(row, list(other))
        diagonal = self.calibrate(self.corners, "--method", "log-det", "--shape", "diagonal")
        self.assertAlmostEqual(sum(diagonal["variances"]), answer["trace"], delta=1e-9)
        self.assertNotIn("covariance", diagonal)
        lifted = self.calibrate(self.corners, "--method", "log-det", "--floor", 0.5)
        self.assertAlmostEqual(lifted["trace"], filled([r + 0.5 for r in whole], 0.5), delta=1e-9)
        sentence = run("calibrate", self.corners, "--mi", 1, "--method", "efficient").stdout
        self.assertIn("nothing is certified", sentence)
        # In another order these are the same rows.
        turned = self.table("turned.csv", self.CORNERS[::-1])
        self.assertEqual(self.calibrate(turned, "--method", "log-det")["calibrated_on"],
                         answer["calibrated_on"])
        self.assertEqual(len(set(answer["calibrated_on"])), len(self.CORNERS))

    def test_algorithm_1(self):
        asked = ["--method", "auto", "--output-norm", 3, "--c", 0.1, "--slack", 0.1]
        answer = self.calibrate(self.corners, *asked)  # gaps are too small: isotropic
        self.assertAlmostEqual(answer["eigenvalues"][2], (5.25 * 8 / 7 + 0.3) / 0.8, delta=1e-12)
        self.assertEqual(answer["eigenvalues"][0], answer["eigenvalues"][2])
        self.assertAlmostEqual(answer["mi_estimate"], 0.5, delta=1e-15)
        self.refused("calibrate", self.corners, "--mi", 0.5, *asked[:-2],
                     naming=["--slack is missing"])
        self.refused("calibrate", self.corners, "--mi", 0.1, *asked, naming=["--slack", "--mi"])

    def test_candidates_need_less(self):
        trace = self.listed("log-det")["trace"]
        sure = self.listed("candidates")
        self.assertEqual(sure["confidence"], 1)
        self.assertLessEqual(sure["trace"], trace)
        drawn = self.listed("candidates", "--confidence", 0.9, mi=1)
        self.assertEqual(drawn["confidence"], 0.9)
        self.assertLess(drawn["trace"], self.listed("candidates", mi=1)["trace"])
        led = self.listed("stackelberg", "--samples", 40000, mi=1)
        self.assertEqual(led["confidence"], 0.95)
        self.assertLess(led["trace"], self.listed("log-det", mi=1)["trace"])
        for answer, budget in [(sure, 0.5), (drawn, 1), (led, 1)]:
            self.assertLessEqual(answer["mi_bound"], budget)
        same = self.listed("stackelberg", "--samples", 40000, "--seed", 1, mi=1)
        self.assertEqual(same, led)

    def test_noise_of_other_laws(self):
        # Two candidates 1 apart: with u = e^(-1/b), a guess is right with 1 - sqrt(u)/2.
        pair = self.table("pair.csv", [(0,), (1,)])
        told = self.ask_json("calibrate", pair, "--mi", 0.1, "--law", "laplace")
        self.assertEqual(list(told), ["law", "scale", "mi_bound", "variation", "entropy_left", "confidence"])
        self.assertTrue(0.0999 < told["mi_bound"] <= 0.1)
        self.assertAlmostEqual(told["variation"], (1 - math.exp(-0.5 / told["scale"])) / 2, delta=1e-9)
        self.assertAlmostEqual(told["entropy_left"], math.log(2) - told["mi_bound"], delta=1e-11)
        # Uniform noise of half width w tells which it is with probability 1/2w.
        told = self.ask_json("calibrate", pair, "--mi", 0.1, "--law", "uniform")
        self.assertAlmostEqual(told["scale"], math.log(2) / 0.2, delta=1e-6)
        told = self.ask_json("calibrate", pair, "--mi", 0.1, "--law", "laplace", "--order", 2)
        self.assertEqual((told["order"], round(told["information_of_order"], 4)), (2, 0.1))
        self.assertLess(told["mi_bound"], told["information_of_order"])
        counts = self.table("counts.csv", [(100,), (104,), (97,)])
        told = self.ask_json("calibrate", counts, "--mi", 0.1, "--law", "discrete-laplace")
        self.assertEqual(told["scale"], int(told["scale"]))
        self.assertIn("discrete Laplace noise of scale", run("calibrate", counts, "--mi", 0.1, "--law", "discrete-laplace").stdout)
        for words, naming in [(["--law", "gauss"], ["--law"]), (["--law", "laplace", "--method", "log-det"], ["--method"]),
                              (["--law", "laplace", "--order", 1], ["--order"]), (["--method", "candidates", "--order", 2], ["--order", "--law"]),
                              (["--law", "laplace", "--seed", 1], ["--seed"])]:
            self.refused("calibrate", pair, "--mi", 0.1, *words, naming=naming)
        self.assertAlmostEqual(self.ask_json("calibrate", pair, "--mi", 2, "--law", "laplace")["mi_bound"], math.log(2), delta=1e-9)
        self.refused("calibrate", self.corners, "--mi", 0.1, "--law", "laplace", naming=["3 columns", "--law"])
        self.refused("calibrate", self.table("halves.csv", [(0,), (0.5,)]), "--mi", 0.1, "--law", "discrete-laplace", naming=["output is 0.5"])

    def test_two_candidates_are_the_binary_channel(self):
        pair = self.table("pair.csv", [(-1,), (1,)])
        weights = self.table("weights.csv", [(7,), (3,)])
        for words, prior in [([], 0.5), (["--weights", weights], 0.3)]:
            answer = self.calibrate(pair, "--method", "candidates", *words, mi=0.1)
            sigma = self.ask_json("sigma", "--prior", prior, "--mi", 0.1)["sigma"]
            self.assertAlmostEqual(answer["trace"] / sigma ** 2, 1, delta=1e-9)
        # The budget pays for everything.
        silent = self.calibrate(pair, "--method", "candidates", mi=0.7)
        self.assertEqual((silent["trace"], silent["covariance"]), (0, [[0]]))
        self.assertAlmostEqual(silent["mi_bound"], math.log(2), delta=1e-12)

    def test_where_rows_agree(self):
        rows = [(*corner, 7) for corner in self.CORNERS]
        file = self.table("agree.csv", rows)
        for method in ("log-det", "efficient", "candidates"):
            answer = self.calibrate(file, "--rows", "candidates", "--method", method)
            last = (answer["variances"] if method == "efficient" else answer["covariance"][3])[3]
            self.assertEqual(last, 0, method)
        # Samples that agree may differ tomorrow.
        for method in ("log-det", "efficient", "proportional"):
            asked = ["calibrate", file, "--mi", 1, "--method", method]
            self.refused(*asked, naming=["agree.csv", "variance", "--floor"])
            self.assertGreater(min(self.ask_json(*asked, "--floor", 0.01)["eigenvalues"]), 0)
        few = self.table("few.csv", self.CORNERS[:3])
        self.refused("calibrate", few, "--mi", 1, "--method", "log-det",
                     naming=["few.csv", "number of outputs is 3", "--floor"])

    def test_many_columns(self):
        draw = random.Random(3)
        wide = self.table("wide.csv", [[draw.randrange(9) for _ in range(20000)] for _ in range(7)])
        for rows in ("samples", "candidates"):
            answer = self.ask_json("calibrate", wide, "--mi", 1, "--method", "log-det", "--shape",
                                   "diagonal", "--rows", rows, *(
                                       ["--floor", 1] if rows == "samples" else []))
            self.assertEqual(len(answer["variances"]), 20000)
            self.assertAlmostEqual(sum(answer["variances"]) / answer["trace"], 1, delta=1e-9)
        self.refused("calibrate", wide, "--mi", 1, "--method", "log-det",
                     naming=["20000 columns", "4096", "--shape"])

    def test_weights(self):
        # A weight of 0 rules a candidate out.
        weights = self.table("weights.csv", [(2,)] * 4 + [(0,)] * 4)
        some = self.table("some.csv", self.CORNERS[:4])
        for rows in ("samples", "candidates"):
            asked = ["--rows", rows, "--method", "log-det", "--shape", "diagonal"]
            if rows == "samples":
                asked += ["--floor", 0.1]
            weighed = self.calibrate(self.corners, *asked, "--weights", weights)
            alone = self.calibrate(some, *asked)
            self.assertAlmostEqual(weighed["trace"], alone["trace"], delta=1e-12)
        for content, complaint in [("1\n2\n", ["has 2 weights", "corners.csv"]),
                                   ("1\n" * 9, ["has 9 weights", "8"]),
                                   ("1\n-1\n", [":2", "-1", "at least 0"]),
                                   ("1,2\n", [":1", "2 columns"]), ("0\n" * 8, ["positive"])]:
            bad = self.text("bad.csv", content)
            for rows in ("samples", "candidates"):
                self.refused("calibrate", self.corners, "--mi", 1, "--method", "log-det", "--rows",
                             rows, "--weights", bad, naming=["bad.csv", *complaint])

    def test_tables(self):
        asked = ["--mi", 0.5, "--method", "efficient"]
        plain = self.ask_json("calibrate", self.corners, *asked)
        body = self.corners.read_text()
        for content in ["x,y,z\n" + body, "# made\n" + body + "# end\n\n\n",
                        "\ufeff" + body.replace(",", " ,\t").replace("\n", "\r\n"),
                        body.rstrip("\n"), body.replace("0.5", "+0.5").replace("-+", "-")]:
            other = self.text("other.csv", content)
            self.assertEqual(self.ask_json("calibrate", other, *asked), plain, content)
        for content, complaint in [
                ("", ["has no rows"]), ("x,y\n", ["has no rows"]), ("#\n\n", ["has no rows"]),
                ("1,2\n3,abc\n", [":2: column 2 is 'abc', but must be a finite number"]),
                ("a,b\n1,2\nc,d\n", [":3: column 1 is 'c'"]), ("a,2\n1,2\n", [":1: column 1"]),
                ("1,2\n1,nan\n", [":2: column 2 is 'nan'"]), ("inf,1\n", [":1: column 1 is 'inf'"]),
                ("1,2\n1,1e999\n", [":2: column 2"]), ("1,2\n1\n", [":2: has 1 column", "2"]),
                ("1,2\n1,2,\n", [":2: has 3 columns"]), ("1,2\n3,\n", [":2: column 2 is ''"]),
                ("1\n\n2\n", [":2: is empty"]), ("1;2\n1;3\n", [":2: column 1 is '1;3'"]),
                ("1,0x10\n", [":1: column 2 is '0x10'"]), ("1,2 3\n", [":1: column 2 is '2 3'"]),
                ("1,2\n1," + "\u00bd" * 99 + "\n", [":2: column 2", "..."]),
                ("1e308,1\n-1e308,2\n1,1\n", ["spread"])]:
            bad = self.text("bad.csv", content)
            self.refused("calibrate", bad, *asked, naming=["bad.csv", *complaint])
        for name in ("nowhere.csv", self.folder):
            self.refused("calibrate", name, *asked, naming=[str(name), "cannot be read"])

    def test_refusals(self):
        asked = ["calibrate", self.corners, "--mi", 1]
        self.refused("calibrate", "--mi", 1, naming=["OUTPUTS is missing"])
        self.refused(*asked, naming=["--method is missing", "log-det"])
        self.refused("calibrate", self.corners, "--method", "log-det", naming=["--mi is missing"])
        self.refused("calibrate", self.corners, "--mi", 0, "--method", "log-det", naming=["--mi"])
        everywhere = [["--slack", 0.1], ["--c", 1], ["--output-norm", 1]]
        for method, refused in [
                ("log-det", [["--confidence", 0.9], ["--samples", 9], ["--seed", 1]]),
                ("efficient", [["--shape", "full"], ["--confidence", 0.9]]),
                ("proportional", [["--shape", "diagonal"]]),
                ("candidates", [["--rows", "samples"], ["--samples", 9], ["--seed", 1],
                                ["--floor", 1]]),
                ("stackelberg", [["--rows", "samples"], ["--floor", 1]])]:
            for words in refused + everywhere:
                self.refused(*asked, "--method", method, *words, naming=[words[0]])
        for words in [["--rows", "candidates"], ["--floor", 1], ["--shape", "diagonal"]]:
            self.refused(*asked, "--method", "auto", "--output-norm", 3, "--c", 1, "--slack", 0.5,
                         *words, naming=[words[0]])
        self.refused(*asked, "--method", "log-det", "--rows", "candidates", "--floor", 1,
                     naming=["--floor", "candidates"])


class BlackBoxes(Tables):
    """`calibrate --run`: a universe of forty records, and programs that nobody looks into."""
    SUBSETS = 8
    MEAN = "awk -F, 'NR > 1 {n++; s += $2; q += $2 * $2} END {print s / n \",\" sqrt(q / n)}' {}"

    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        self.records = [f"r{i},{draw.gauss(3, 1):.4f}" for i in range(40)]
        self.universe = self.text("universe.csv", "name,x\n" + "".join(line + "\n" for line in self.records))
        self.runs = self.folder / "runs"

    def words(self, command, *more, folder=None, universe=None):
        return ["calibrate", "--run", command, "--universe", universe or self.universe, "--header", "yes", "--subsets",
                self.SUBSETS, "--folder", folder or self.runs, "--mi", 0.25, *more]

    def outputs(self, folder=None):
        """By subset, from what is kept."""
        found = {}
        for file in (folder or self.runs).glob("output-*"):
            fields = dict(line.split(" ", 1) for line in file.read_text().splitlines())
            found[int(fields["of"].split()[1])] = [float(x) for x in fields["numbers"].split()[1:]]
        return [found[m] for m in sorted(found)]

    def counting(self, then):
        """A command that leaves a line for each of its runs, and what it was given."""
        self.log = self.folder / "log"
        return f"echo x >> {self.log}; {then}"

    def runs_made(self):
        return len(self.log.read_text().split()) if self.log.exists() else 0

    def nothing_released(self):
        state = self.runs / "release"
        self.assertIn("\nnats 0 0\n", state.read_text())

    def test_one_release_with_its_ledger(self):
        page = self.folder / "page.md"
        answer = self.ask_json(*self.words(self.MEAN, "--statement", page))
        self.assertEqual(list(answer)[:7], ["release", "subsets", "records", "header", "repeats", "attack_bound",
                                            "attack_bound_subset"])
        self.assertEqual((answer["subsets"], answer["records"], answer["repeats"]), (self.SUBSETS, 40, True))
        ledger = answer["ledger"]
        self.assertEqual((ledger["budget"], ledger["spent"]), (0.25, answer["mi_bound"]))
        self.assertLessEqual(ledger["spent"] + ledger["left"], 0.25)
        self.assertGreaterEqual(divergence(answer["attack_bound"], 0.5), answer["mi_bound"] * (1 - 1e-12))
        self.assertGreaterEqual(divergence(answer["attack_bound_subset"], 1 / self.SUBSETS), answer["mi_bound"] * (1 - 1e-12))
        # The noise is that of the table of outputs.
        table = self.table("outputs.csv", self.outputs())
        noise = self.ask_json("calibrate", table, "--mi", 0.25, "--method", "candidates")
        for name in ("trace", "mi_bound", "confidence", "covariance"):
            self.assertEqual(answer[name], noise[name])
        # Within ten deviations of the range: a chance of 1e-22.
        for j, x in enumerate(answer["release"]):
            column = [row[j] for row in self.outputs()]
            margin = 10 * math.sqrt(answer["covariance"][j][j])
            self.assertTrue(min(column) - margin <= x <= max(column) + margin)
            self.assertEqual(x, round(x * 2**30) / 2**30)  # on a grid, and the noise is near .1
        said = page.read_text()
        for text in ("What is released", "What is assumed", "What follows", "of a budget of 0.25", "public"):
            self.assertIn(text, said)
        # Once: the same again is the same release, whoever asks.
        self.assertEqual(self.ask_json(*self.words(self.MEAN, "--statement", page)), answer)
        self.assertIn("released ", run(*self.words(self.MEAN)).stdout)

    def test_what_a_command_is_given(self):
        seen = self.folder / "seen"
        seen.mkdir()
        command = f"n=$(basename {{}}) && cp {{}} {seen}/$n && cat > {seen}/$n.in && wc -l < {{}}"
        self.ask_json(*self.words(command, "--jobs", 3))
        inputs = sorted(seen.glob("*.csv"))
        self.assertEqual([file.name for file in inputs], [f"subset-{m}.csv" for m in range(self.SUBSETS)])
        members = []
        for file in inputs:
            lines = file.read_text().splitlines()
            self.assertEqual(lines[0], "name,x")
            self.assertEqual(file.read_bytes(), Path(f"{file}.in").read_bytes())
            places = [self.records.index(line) for line in lines[1:]]
            self.assertEqual(places, sorted(places))
            members.append(set(places))
        for i in range(40):
            self.assertEqual(sum(i in subset for subset in members), self.SUBSETS // 2)
        self.assertFalse(list(self.runs.glob("subset-*")))

    def test_quotes_blanks_and_ends_of_lines(self):
        odd = self.folder / "a folder's $name"
        command = """awk -F, 'NR > 1 {s += $2} END {printf "%s,\\r\\n+2 -0\\r\\n", s/NR}' {} | cat"""
        self.ask_json(*self.words(command, folder=odd))
        self.assertEqual({tuple(row[1:]) for row in self.outputs(odd)}, {(2.0, 0.0)})
        self.universe.write_bytes(("name,x\r\n" + "\r\n".join(self.records)).encode())
        other = self.folder / "crlf"
        self.ask_json(*self.words("grep -c $(printf '\\r') {}; grep -c ^ {}", folder=other))
        for with_end, lines in self.outputs(other):
            self.assertGreaterEqual(with_end, lines - 1)

    def test_bad_outputs_are_named_by_their_subset(self):
        on_3 = "case {} in *subset-3.csv) %s;; esac; echo 1"
        for what, naming in [("echo no such luck >&2; exit 7", ["exit status 7", "no such luck"]),
                             ("kill -SEGV $$", ["signal 11"]), ("echo nan; exit", ["'nan'", "finite"]),
                             ("echo 1e999; exit", ["'1e999'"]), ("exit", ["empty"]), ("echo x1; exit", ["'x1'"]),
                             ("echo 1,,2; exit", ["''"]), ("echo 1,; exit", ["comma"]), ("echo 5", ["2 numbers", "1 on subset 0"]),
                             ("sleep 100", ["longer than", "0.3 s"]), ("yes", ["more than 64 MiB"])]:
            with self.subTest(what):
                self.refused(*self.words(on_3 % what, "--jobs", 2, *(["--timeout", 0.3] if "sleep" in what else [])),
                             naming=["subset 3", *naming, "Nothing was charged or released"])
                self.nothing_released()
        # The run is not lost: the same command, when it is mended, does the rest.
        good = self.folder / "good"
        command = self.counting(f"case {{}} in *subset-3.csv) test -e {good} || exit 1;; esac; wc -l < {{}}")
        self.refused(*self.words(command, "--jobs", 1), naming=["subset 3"])
        self.assertEqual(self.runs_made(), 4)
        good.touch()
        self.ask_json(*self.words(command, "--jobs", 1))
        self.assertEqual(self.runs_made(), self.SUBSETS + 1 + 1)  # the bad one twice, and the first one again
        self.refused(*self.words("/no/such/program {}"), naming=["--folder"])  # its release was made
        self.refused(*self.words("/no/such/program {}", folder=self.folder / "new"), naming=["subset 0", "exit status 127"])

    def test_a_killed_run_goes_on(self):
        for signal_, status in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 1), (signal.SIGTERM, 1)):
            folder = self.folder / f"killed by {signal_}"
            gate = self.folder / f"gate{int(signal_)}"
            command = self.counting(f"case {{}} in *subset-5.csv) test -e {gate} || sleep 1000;; esac; wc -l < {{}}")
            self.log.unlink(missing_ok=True)
            words = [str(word) for word in self.words(command, "--jobs", 1, folder=folder)]
            with subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
                while self.runs_made() < 6:
                    self.assertIsNone(child.poll())
                    time.sleep(0.01)
                child.send_signal(signal_)
                out, err = child.communicate()
            self.assertEqual((child.returncode, out), (status, ""))
            if status == 1:
                self.assertIn("the same command goes on", err)
            gate.touch()
            answer = self.ask_json(*words)
            self.assertEqual(self.runs_made(), 5 + 1 + 3 + 1)  # the sixth twice, and the first one again
            self.assertEqual(self.ask_json(*words), answer)
            self.assertFalse(list(folder.glob("subset-*")))

    def test_one_run_at_a_time(self):
        gate = self.folder / "gate"
        command = self.counting(f"while ! test -e {gate}; do sleep 0.01; done; wc -l < {{}}")
        first = subprocess.Popen([PROGRAM, *map(str, self.words(command))], stdout=subprocess.PIPE, text=True)
        while self.runs_made() == 0:
            time.sleep(0.01)
        self.refused(*self.words(command), naming=["--folder", "another run writes"])
        gate.touch()
        said, _ = first.communicate()
        self.assertEqual((said.count("released"), first.returncode), (1, 0))

    def test_one_release_a_folder(self):
        self.ask_json(*self.words(self.MEAN))
        kept = (self.runs / "release").read_bytes()
        for other in (self.words(self.MEAN, "--mi", 0.5)[:-4] + ["--mi", 0.5], self.words(self.MEAN + " "),
                      self.words(self.MEAN, "--seed", 2), self.words(self.MEAN, "--method", "log-det")):
            self.refused(*other, naming=["--folder", "another"])
        self.universe.write_text(self.universe.read_text() + "new,1\n")
        self.refused(*self.words(self.MEAN), naming=["--folder"])
        self.assertEqual((self.runs / "release").read_bytes(), kept)

    def test_a_universe_that_changes_before_the_release(self):
        command = self.counting("test $(wc -l < {}) -gt 1 || exit 1; test -e " + str(self.folder / "good") + "; wc -l < {}")
        bad = self.words(self.counting("case {} in *-7.csv) exit 1;; esac; wc -l < {}"), "--jobs", 1)
        self.refused(*bad, naming=["subset 7"])
        self.assertEqual(self.runs_made(), 8)
        self.universe.write_text(self.universe.read_text() + "new,1\n")
        self.refused(*bad, naming=["subset 7"])
        self.assertEqual(self.runs_made(), 16)  # none of the old ones counts
        self.assertEqual(self.ask_json(*self.words(command))["records"], 41)

    def test_kept_outputs_that_are_damaged_are_computed_again(self):
        stop = self.counting("case {} in *-7.csv) exit 1;; esac; wc -l < {}")
        self.refused(*self.words(stop, "--jobs", 1), naming=["subset 7"])
        files = sorted(self.runs.glob("output-*"))
        truth = self.outputs()
        files[0].write_bytes(files[0].read_bytes()[:-9])
        files[1].write_text("")
        files[2].write_text(files[2].read_text().replace("numbers 1 ", "numbers 1 7"))
        files[3].write_bytes(files[4].read_bytes())  # of another subset
        before = self.runs_made()
        self.refused(*self.words(stop, "--jobs", 1), naming=["subset 7"])
        self.assertEqual(self.runs_made() - before, 5)
        self.assertEqual(self.outputs(), truth)
        self.refused(*self.words(stop, "--jobs", 1, "--afresh"), naming=["subset 7"])
        self.assertEqual(self.runs_made() - before, 13)
        files[0].unlink()
        os.mkfifo(files[0])
        done = run(*self.words(stop, "--jobs", 1))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(f"not a regular file: {files[0]}", done.stderr)

    def test_a_command_that_draws(self):
        command = "head -c 4 /dev/urandom | od -An -tu4"
        plain = run(*self.words(command))
        self.assertEqual((plain.returncode, plain.stderr), (0, ""))
        self.assertIn("did not return the same again", plain.stdout)
        self.assertIs(self.ask_json(*self.words(command))["repeats"], False)

    def test_a_command_that_leaves_processes_behind(self):
        mark = f"9{os.getpid()}"
        begin = time.time()
        self.ask_json(*self.words(f"sleep {mark} & (sleep {mark} & ); wc -l < {{}}"))
        self.assertLess(time.time() - begin, 60)
        left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if self.read_if_there(p) == f"sleep\0{mark}\0".encode()]
        self.assertEqual(left, [])

    @staticmethod
    def read_if_there(path):
        try:
            return path.read_bytes()
        except OSError:
            return b""

    def test_which_candidate_is_released_is_drawn_anew(self):
        # A budget above the entropy needs no noise: what is released is the output of one of two subsets.
        universe = self.text("two.csv", "1\n2\n3\n4\n")
        seen = set()
        for i in range(60):  # one of them is missing with probability 2e-18
            answer = self.ask_json("calibrate", "--run", "awk '{s += $1} END {print s}' {}",
                                   "--universe", universe, "--subsets", 2, "--mi", 1, "--folder", self.folder / f"{i}")
            self.assertEqual(answer["trace"], 0.0)
            seen.add(answer["release"][0])
            if len(seen) == 2:
                break
        self.assertEqual(len(seen), 2)

    def test_refusals(self):
        table = self.corners
        for words, naming in [(["--mi", 1], ["OUTPUTS is missing"]),
                              ([table, "--run", "x", "--mi", 1], ["OUTPUTS", "left out"]),
                              ([table, "--mi", 1, "--method", "log-det", "--subsets", 4], ["--subsets", "left out"]),
                              (["--run", "x", "--mi", 1], ["--universe is missing"]),
                              (["--run", "", "--mi", 1], ["--run"])]:
            self.refused("calibrate", *words, naming=naming)
        for more, naming in [(["--method", "auto"], ["--method", "estimate"]), (["--rows", "samples"], ["--rows"]),
                             (["--weights", table], ["--weights"]), (["--subsets", 7], ["--subsets"]), (["--jobs", 0], ["--jobs"]),
                             (["--timeout", 0], ["--timeout"]), (["--floor", 1], ["--floor"])]:
            words = self.words(self.MEAN, *more)
            if more[0] == "--subsets":
                words = words[:7] + words[9:]
            self.refused(*words, naming=naming)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for content, naming in [(fifo, ["--universe", "regular"]), (self.folder, ["--universe"]),
                                (self.folder / "missing", ["--universe"]), (self.text("one", "h\n1\n"), ["1 record"]),
                                (self.text("gap", "h\n1\n\n2\n"), ["gap:3", "empty"]), (self.text("odd", 'h\n"1\n2"\n'), ["odd:2", "quotation"]),
                                ("-", ["--universe"])]:
            self.refused(*self.words("x", universe=content), naming=naming)
        words = self.words(self.MEAN)
        del words[5:7]
        self.refused(*words, naming=["--header", "names of the columns"])
        self.refused(*self.words(self.MEAN, folder=self.universe), naming=["--folder"])
        self.refused(*self.words(self.MEAN, folder=self.folder), naming=["--folder", "--universe"])
        self.refused(*self.words(self.MEAN, folder=self.folder / "no" / "such"), naming=["--folder"])
        self.assertFalse(self.runs.exists())
        (self.folder / "kept").mkdir()
        (self.folder / "kept" / "release").write_text("something else\n")
        self.refused(*self.words(self.MEAN, folder=self.folder / "kept"), naming=["--folder", "damaged"])
        page = self.text("page", "mine")
        self.refused(*self.words(self.MEAN, "--statement", page), naming=["--statement"])
        self.assertEqual(page.read_text(), "mine")


class Gap(Tables):
    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        # A fair sign along each of two axes, which are turned by 30 degrees; a little off, each time another
        # way, as rows that are equal count once.
        self.rows = lambda draw, count: [self.turned(draw.choice((-1, 1)) + draw.uniform(-1e-5, 1e-5),
                                                     draw.choice((-1, 1))) for _ in range(count)]
        rows = self.rows(draw, 4000)
        self.signs = self.table("signs.csv", rows)
        self.noise = self.table("noise.csv", [(0.09, 0.09)])
        self.truth = 2 * self.ask_json("mi", "--prior", 0.5, "--sigma", 0.3)["mi"]
        self.asked = ["gap", self.signs, "--noise", self.noise]

    @staticmethod
    def turned(x, y):
        c, s = math.cos(math.pi / 6), 0.5
        return c * x - s * y, s * x + c * y

    def test_signs(self):
        log_det = math.log1p(1 / 0.09)
        answer = self.ask(*self.asked, "--radius", 1.4143)
        self.assertEqual(list(answer), ["mi_estimate", "estimates", "gap_certified", "mi_bound",
                                        "mi_bounds", "confidence"])
        self.assertAlmostEqual(answer["estimates"]["log_det"], log_det, delta=0.01)
        # Twice in the dimension: a basis says d times as much as a mean over directions.
        estimates = answer["estimates"]
        self.assertGreater(estimates["wasserstein"], 1.5 * estimates["sliced_wasserstein"])
        self.assertAlmostEqual(estimates["marginal"], log_det - self.truth, delta=0.15)
        self.assertAlmostEqual(answer["mi_estimate"], self.truth, delta=0.15)
        self.assertTrue(0.5 * (log_det - self.truth) < answer["gap_certified"]
                        < estimates["donsker_varadhan"] < log_det - self.truth)
        self.assertEqual(answer["mi_bound"], min(answer["mi_bounds"].values()))
        self.assertTrue(self.truth < answer["mi_bound"] < log_det)
        self.assertEqual(answer["confidence"], 0.95)
        # Without a radius nothing but the gap; more confidence, and foreign axes, show less of it.
        bare = self.ask(*self.asked)
        self.assertEqual(list(bare), ["mi_estimate", "estimates", "gap_certified", "confidence"])
        surer = self.ask(*self.asked, "--confidence", 0.999)
        self.assertLess(surer["gap_certified"], bare["gap_certified"])
        turned = self.ask(*self.asked, "--axes", "random", "--seed", 3)
        self.assertLess(turned["gap_certified"], bare["gap_certified"])
        self.assertEqual(self.ask_json(*self.asked, "--seed", 1), bare)
        self.assertNotEqual(self.ask_json(*self.asked, "--seed", 2), bare)

    def test_normal_outputs_have_no_gap(self):
        draw = random.Random(6)
        normal = self.table("normal.csv", [(draw.gauss(0, 1), draw.gauss(0, 1))
                                           for _ in range(2000)])
        answer = self.ask("gap", normal, "--noise", self.noise, "--axes", "principal")
        self.assertLess(answer["gap_certified"], 0.01)
        self.assertLess(answer["estimates"]["marginal"], 0.05)
        self.assertAlmostEqual(answer["mi_estimate"], math.log1p(1 / 0.09), delta=0.1)

    def test_the_noise_may_be_stated_in_several_ways(self):
        plain = self.ask_json(*self.asked, "--axes", "principal")
        for name, content in [("matrix.csv", "0.09,0\n0,0.09\n"),
                              ("a.json", '{"variances": [0.09, 0.09]}'),
                              ("b.json", ' {"covariance": [[0.09, 0], [0, 0.09]], "trace": 1}')]:
            other = self.ask_json("gap", self.signs, "--noise", self.text(name, content), "--axes",
                                  "principal")
            self.assertAlmostEqual(other["gap_certified"], plain["gap_certified"], delta=0.02)
            self.assertAlmostEqual(other["estimates"]["log_det"], plain["estimates"]["log_det"],
                                   delta=1e-9)
        for content, complaint in [
                ("{", ["no JSON"]), ("{}", ["covariance is missing"]),
                ('{"covariance": [[1, 0]]}', ["covariance[0] has 2 entries", "1"]),
                ('{"covariance": [[1, "x"], [0, 1]]}', ["covariance[0][1]", "finite"]),
                ('{"covariance": 3}', ["covariance is 3", "list"]),
                ('{"variances": []}', ["variances is []"]),
                ('{"variances": [1, 0]}', ["least variance is 0", "positive"]),
                ('{"variances": [1, 1, 1]}', ["3 dimensions", "2"]),
                ("1,-1\n", ["variance is -1"]),
                ("1,2\n3,4\n5,6\n", ["3 rows and 2 columns"]), ("1,0\n1,x\n", [":2: column 2"]),
                ("1,2\n2,1\n", ["least eigenvalue is -"]), ("1,2\n0,1\n", ["asymmetry"]),
                ("1,1\n1,1\n", ["least variance"])]:
            bad = self.text("bad", content)
            self.refused("gap", self.signs, "--noise", bad, naming=["bad", *complaint])

    def test_rows_that_chose_the_noise_certify_nothing(self):
        chosen = self.folder / "chosen.json"
        asked = ["calibrate", self.signs, "--mi", 1, "--method", "log-det", "--json"]
        chosen.write_text(run(*asked).stdout)
        answer = self.ask("gap", self.signs, "--noise", chosen)
        self.assertEqual(list(answer), ["mi_estimate", "estimates"])
        self.assertAlmostEqual(answer["estimates"]["log_det"], 1, delta=1e-9)
        self.assertLess(answer["mi_estimate"], 1)
        for words in [["--radius", 2], ["--confidence", 0.9]]:
            self.refused("gap", self.signs, "--noise", chosen, *words, naming=[words[0], "chose"])
        # Nor do some of them, in whatever company; rows of their own do.
        rows = self.signs.read_text().splitlines(keepends=True)
        fresh = self.table("fresh.csv", self.rows(random.Random(7), 1000))
        self.assertIn("mi_bound", self.ask_json("gap", fresh, "--noise", chosen, "--radius", 2))
        for some in [rows[1:], rows[:3000], [*fresh.read_text().splitlines(keepends=True), rows[9]]]:
            mixed = self.text("mixed.csv", "".join(some))
            self.assertEqual(list(self.ask_json("gap", mixed, "--noise", chosen)),
                             ["mi_estimate", "estimates"])
            self.refused("gap", mixed, "--noise", chosen, "--radius", 2, naming=["--radius", "chose"])
        # What is no list of rows names none.
        old = self.text("old.json", '{"variances": [1, 1], "calibrated_on": "0123456789abcdef"}')
        self.refused("gap", self.signs, "--noise", old, naming=["old.json", "calibrated_on"])
        for name in ("none", "0123456789abcdef ", "0123456789abcdeg"):
            bad = self.text("bad.json", json.dumps({"variances": [1, 1], "calibrated_on": [name]}))
            self.refused("gap", self.signs, "--noise", bad, naming=["bad.json", "calibrated_on", name])

    def test_rows_that_are_equal_count_once(self):
        draw = random.Random(8)
        ten = self.table("ten.csv", [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(10)] * 60)
        self.refused("gap", ten, "--noise", self.noise, "--radius", 9,
                     naming=["ten.csv", "10 different rows", "48"])
        some = self.rows(draw, 100)
        once = self.ask("gap", self.table("once.csv", some), "--noise", self.noise, "--radius", 2)
        often = self.ask("gap", self.table("often.csv", some * 20), "--noise", self.noise, "--radius", 2)
        self.assertEqual(often.pop("rows_repeated"), 1900)
        self.assertEqual(often["estimates"], once["estimates"])
        # Never more than what the different rows show.
        self.assertLessEqual(often["gap_certified"], once["gap_certified"])
        self.assertGreaterEqual(often["mi_bound"], once["mi_bound"])

    def test_refusals(self):
        self.refused("gap", self.signs, naming=["--noise is missing"])
        self.refused("gap", "--noise", self.noise, naming=["OUTPUTS is missing"])
        self.refused(*self.asked, "--radius", 1.2, naming=["signs.csv:1", "--radius, 1.2"])
        few = self.table("few.csv", [(1, 0.1 * i) for i in range(9)])
        self.refused("gap", few, "--noise", self.noise, naming=["few.csv", "9 different rows", "48"])
        for option, text in [("--axes", "all"), ("--confidence", 1), ("--radius", 0)]:
            self.refused(*self.asked, option, text, naming=[option])


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
        verbs = ("epsilon, delta, noise, steps, rate, matrix, curve, report, mi, sigma, attack, "
                 "budget, ferret, calibrate, gap, train, replay, releases, audit")
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
        self.refused("attack", "--delta", 0.1, naming=["--delta", "--epsilon"])
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


class Records(Case):
    """A small table to train on."""

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
        self.assertEqual([k for k in answer if k not in ("seeds", "mi_worst_group")], KEYS)
        self.assertEqual(answer["steps"], steps)
        for key in ("accuracy", "unanimity", "attack_bound", "attack_achieved"):
            self.assertTrue(0 <= answer[key] <= 1, key)
        return answer


class Training(Records):
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

    def test_caps_together(self):
        for words in [["--ledger", "subset"], ["--ledger", "record"], ["--allocation", "budget-then-zero"]]:
            answer = self.train("--mechanism", "paczero-mi", "--mi", 0.33, "--kappa", 0.05, *words)
            self.assertAlmostEqual(answer["attack_bound"], 0.55, delta=1e-12)
            self.assertLessEqual(answer["attack_achieved"], answer["attack_bound"])
            self.assertLessEqual(answer["mi" if "subset" in words else "mi_worst_record"], 0.33)

    def test_groups_of_records(self):
        groups = self.folder / "groups"
        rows = len(self.data.read_text().splitlines())
        groups.write_text("".join(f"{i}, {i + 1}\t{i + 2}\n" for i in range(0, rows - 2, 3)) + "\n")
        mi = ["train", self.data, "--mechanism", "paczero-mi", "--steps", 50]
        budget = [*mi, "--mi", 0.33]
        for words in [[], ["--ledger", "record"], ["--observed", "value"], ["--kappa", 0.2]]:
            answer = self.ask_json(*budget, "--record-groups", groups, "--group-mi", 0.01, *words)
            self.assertEqual(list(answer), [*KEYS[:3], "mi_worst_group", *KEYS[3:]])
            self.assertTrue(0 < answer["mi_worst_group"] <= 0.01, words)
            self.assertGreater(answer["mi"], 0.01)
        # Unless it is given the budget of a group is that of the run, which is enough for subsets.
        answer = self.ask_json(*budget, "--record-groups", groups)
        self.assertLessEqual(answer["mi_worst_group"], answer["mi"])
        answer = self.ask_json(*mi, "--ledger", "pathwise", "--kappa", 0.1, "--record-groups", groups,
                               "--group-mi", 0.002)
        self.assertTrue(0 < answer["mi_worst_group"] <= 0.002)
        several = self.ask_json(*budget, "--record-groups", groups, "--group-mi", 0.01, "--seeds", 2)
        self.assertTrue(0 < several["mi_worst_group"] <= 0.01)

        self.refused(*mi, "--ledger", "pathwise", "--kappa", 0.1, "--record-groups", groups,
                     naming=["--group-mi is missing"])
        for text, naming in [("", "no groups"), ("0 1\n2 x\n", ":2: x is no row"), (f"0 {rows + 7}\n", "no row"),
                             ("0,1\n\n5,5\n", ":3: 5 is twice"), ("-1\n", "no row"), ("1.5\n", "no row")]:
            bad = self.folder / "bad_groups"
            bad.write_text(text)
            self.refused(*budget, "--record-groups", bad, naming=["--record-groups", naming])
        self.refused(*budget, "--record-groups", self.folder / "none", naming=["--record-groups"])
        self.refused("train", self.data, "--mechanism", "paczero-zpl", "--record-groups", groups,
                     naming=["--record-groups"])

        # A run keeps its groups.
        state = self.folder / "grouped"
        asked = [*budget, "--record-groups", groups, "--group-mi", 0.01]
        first = self.ask_json(*asked, "--save", state)
        self.assertIn("\nspent_by_group ", state.read_text())
        again = self.ask_json(*asked, "--resume", state)
        self.assertEqual(again["mi_worst_group"], first["mi_worst_group"])
        self.assertEqual(self.ask_json("train", self.data, "--resume", state)["mi_worst_group"], first["mi_worst_group"])
        self.refused(*budget, "--record-groups", groups, "--group-mi", 0.02, "--resume", state,
                     naming=["--group-mi", "0.01, as in the saved run"])
        groups.write_text("0 1\n")
        self.refused(*asked, "--resume", state, naming=["--record-groups", "the groups of the saved run"])

    def test_seeds(self):
        words = ["--mechanism", "paczero-zpl"]
        answer = self.train(*words, "--seed", 5, "--seeds", 3)
        runs = answer["seeds"]
        self.assertEqual([r["seed"] for r in runs], [5, 6, 7])
        mean = sum(r["accuracy"] for r in runs) / 3
        self.assertAlmostEqual(answer["accuracy"], mean, delta=1e-12)
        # Nothing secret enters ZPL with hold: the same seed gives the same run.
        self.assertEqual(self.train(*words, "--seed", 6)["accuracy"], runs[1]["accuracy"])

    def test_optimisers(self):
        files = {name: self.folder / f"optimised_{name}" for name in ("t", "b", "o", "again", "state")}
        tuned = set()
        for words in [[], ["--optimiser", "momentum"], ["--optimiser", "momentum", "--momentum", 0.5],
                      ["--optimiser", "adam", "--weight-decay", 0.1], ["--optimiser", "adamw", "--weight-decay", 0.1],
                      ["--optimiser", "adam", "--beta1", 0.5], ["--optimiser", "adam", "--beta2", 0.5],
                      ["--optimiser", "adam", "--adam-epsilon", 1]]:
            for file in files.values():
                file.unlink(missing_ok=True)
            asked = [self.data, "--mechanism", "paczero-zpl", "--learning-rate", 0.01, "--steps", 300, *words,
                     "--transcript", files["t"], "--base", files["b"], "--tuned", files["o"]]
            self.ask_json("train", *asked, "--save", files["state"])
            version = files["t"].read_bytes().split(b"\n")[0]
            self.assertEqual(version, b"tacit-transcript 2" if words else b"tacit-transcript 1")
            self.ask_json("replay", files["b"], files["t"], files["again"])
            self.assertEqual(files["again"].read_bytes(), files["o"].read_bytes(), words)
            self.ask_json("audit", files["t"], "--universe", self.data)
            tuned.add(files["o"].read_bytes())
            # A run that is done writes its files again, and only with the optimiser that it had.
            files["o"].unlink()
            self.ask_json("train", *asked, "--resume", files["state"])
            self.assertEqual(files["again"].read_bytes(), files["o"].read_bytes(), words)
            other = ["--optimiser", "adamw"] if not words else []
            self.refused("train", self.data, "--resume", files["state"], "--learning-rate", 0.01, *other,
                         naming=["DATA", "--optimiser"])
        self.assertEqual(len(tuned), 8)

    def test_refused_optimisers(self):
        def refused(*words, naming):
            self.refused("train", self.data, "--mechanism", "mezo", *words, naming=naming)

        refused("--optimiser", "lion", naming=["--optimiser is lion", "sgd, momentum, adam or adamw"])
        for option in ("--momentum", "--beta1", "--beta2"):
            rule = "momentum" if option == "--momentum" else "adamw"
            for text in ("nan", "1", "-0.1", "inf", "x"):
                refused("--optimiser", rule, option, text, naming=[option, "in [0, 0.999999]"])
            refused(option, 0.5, naming=[option, "left out", rule])
        for text in ("0", "nan", "-1", "inf"):
            refused("--optimiser", "adam", "--adam-epsilon", text, naming=["--adam-epsilon", "in [1e-30"])
        refused("--optimiser", "momentum", "--beta1", 0.5, naming=["--beta1", "left out"])
        refused("--adam-epsilon", 1, naming=["--adam-epsilon", "left out"])
        for text in ("nan", "-1", "inf"):
            refused("--weight-decay", text, naming=["--weight-decay", "in [0, "])
        refused("--learning-rate", 0.5, "--weight-decay", 2.1, naming=["--weight-decay", "at most 1/0.5"])
        refused("--learning-rate", 1e31, "--optimiser", "adam", naming=["--learning-rate", "at most 1e30"])

    def test_refusals(self):
        small = ["train", self.data]
        mi = [*small, "--mechanism", "paczero-mi"]
        self.refused("train", naming=["DATA is missing"])
        self.refused("train", "--mechanism", "mezo", naming=["DATA is missing"])
        self.refused(*small, naming=["--mechanism is missing", "mezo, paczero-mi, paczero-zpl"])
        self.refused(*small, "--mechanism", "adam", naming=["--mechanism is adam", "ferret or rldp"])
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
                ("--save", str(self.data), "another file than DATA"),
                ("--resume", "nowhere", "the state of a run")]:
            self.refused(*spent, option, text, naming=[option, must_be])

    def test_no_record_is_taken_for_the_names_of_columns(self):
        draw = random.Random(1)
        rows = [f"{draw.gauss(k % 2, 1):.3f},{'uv'[k % 2]}" for k in range(60)]

        def trained(first, text="\n".join(rows) + "\n"):
            table = self.folder / "first.csv"
            table.write_bytes(first + text.encode())
            return ["train", table, "--mechanism", "mezo", "--steps", 3, "--json"]

        def answer(*those):
            found = self.ask_json(*trained(*those)[:-1])
            return {key: value for key, value in found.items() if key != "seconds"}

        plain = answer(b"")
        self.assertEqual(answer(b"\xef\xbb\xbf"), plain)
        self.assertEqual(answer(b"x,kind\n"), plain)
        self.assertEqual(answer(b"\xef\xbb\xbfx,kind\n"), plain)
        self.assertEqual(answer(b"", "\n".join(["+1.5,u", *rows]) + "\n"), answer(b"", "\n".join(["1.5,u", *rows]) + "\n"))
        self.assertNotEqual(answer(b"+1.5,u\n"), plain)
        for first in (b"inf,u\n", b"1e999,u\n", b"nan,u\n", b"-1e40,u\n"):
            self.refused(*trained(first)[:-1], naming=["first.csv:1", "is not a finite number"])
        self.refused(*trained(b"1,\n")[:-1], naming=["first.csv:1", "the label is missing"])
        # A text of two bytes a character.
        self.refused(*trained(b"", "1,u\n1\0,\0u\0\n")[:-1], naming=["first.csv:2", "is not a finite number"])

    def test_a_column_that_is_wider_than_a_float(self):
        """Its numbers are floats, and their shares of its width are those of a narrow one."""
        draw = random.Random(2)
        kinds = [k % 2 for k in range(90)]
        values = [draw.randrange(-12, 9) / 8 + k / 2 for k in kinds]
        written = []
        for scale in (1.0, 2.0 ** 127):
            table, base, tuned = (self.folder / f"wide{scale}{end}" for end in (".csv", "b", "t"))
            table.write_text("".join(f"{x * scale!r},{'uv'[k]}\n" for x, k in zip(values, kinds)))
            self.ask_json("train", table, "--mechanism", "mezo", "--steps", 20, "--base", base, "--tuned", tuned)
            written.append((base.read_bytes(), tuned.read_bytes()))
        self.assertEqual(*written)
        self.assertNotEqual(*written[0])  # no step was held

    def test_what_means_nothing_is_refused(self):
        mi, zpl, mezo = (["--mechanism", name] for name in ("paczero-mi", "paczero-zpl", "mezo"))
        budget = [*mi, "--mi", 1]
        pathwise = [*mi, "--ledger", "pathwise", "--kappa", 0.1]
        confident = [*budget, "--allocation", "confident-or-hold"]
        spending = [["--mi", 1], ["--ledger", "record"], ["--kappa", 0.1], ["--observed", "sign"],
                    ["--allocation", "uniform"], ["--horizon", 3], ["--minimum-correlation", 0.5]]
        cases = [(mechanism, option) for mechanism in (zpl, mezo) for option in spending]
        cases += [(mezo, ["--disagreement", "coin"]), (mezo, ["--save", self.folder / "state"]),
                  (budget, ["--group-mi", 0.1]), (budget, ["--horizon", 3]),
                  ([*budget, "--kappa", 0.1], ["--observed", "value"]),
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
            self.refused("train", self.data, "--resume", other, naming=["--resume", "the state of a run"])
            self.assertEqual(other.read_text(), damaged)

        answer = self.ask_json(*go_on, *asked)
        self.assertEqual((list(answer), answer["steps"]), (KEYS, steps))
        self.assertTrue(0 < answer["mi"] <= 0.33)
        # A run that is done tells the same again.
        again = self.ask_json(*go_on)
        self.assertEqual({k: again[k] for k in KEYS[:-1]}, {k: answer[k] for k in KEYS[:-1]})


class Forgeries(Records):
    """A checksum finds accidents: whoever can write a state can make one."""
    VALUES = ["0", "1", "3", "-1", "nan", "inf", "-inf", "1e300", "1e-310", "4294967296", "18446744073709551615", "x", ""]

    def forged(self, lines):
        text = "\n".join(lines) + "\n"
        return text + f"checksum {crc64(text.encode())}\n"

    def forgeries(self, lines):
        """Each field of each line with other values, lines that are missing, doubled and longer."""
        for at, line in enumerate(lines):
            words = line.split(" ")
            fields = range(1, len(words)) if len(words) < 12 else (1, 2, len(words) - 1)
            others = [[*words[:k], value, *words[k + 1:]] for k in fields for value in self.VALUES]
            for other in [*others, words[:-1], [*words, "1"]]:
                yield words[0], [*lines[:at], " ".join(other), *lines[at + 1:]]
            yield words[0], lines[:at] + lines[at + 1:]
            yield words[0], [*lines[:at], line, *lines[at:]]

    def test_no_forged_field_is_a_failure(self):
        state = self.folder / "whole"
        self.ask_json("train", self.data, "--mechanism", "paczero-mi", "--mi", 0.33, "--subsets", 8, "--steps", 6,
                      "--save", state)
        kept = state.read_text().splitlines()[:-1]
        self.assertEqual(self.forged(kept), state.read_text())
        kept = [line.replace("steps 6", "steps 9") for line in kept]  # a run that goes on

        def resumed(number, lines):
            file = self.folder / f"forged{number}"
            file.write_text(self.forged(lines))
            done = subprocess.run([PROGRAM, "train", self.data, "--resume", file], capture_output=True, text=True,
                                  timeout=60)
            if done.returncode != 0:
                self.assertEqual(file.read_text(), self.forged(lines))
            return file, done

        _, done = resumed(0, kept)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with concurrent.futures.ThreadPoolExecutor() as pool:
            tried = list(self.forgeries(kept))
            calls = [pool.submit(resumed, number, lines) for number, (_, lines) in enumerate(tried)]
        refused = 0
        for (field, lines), call in zip(tried, calls):
            file, done = call.result()
            if done.returncode == 0:  # who can write a state can change its account
                self.assertIn(done.stderr.split(":")[-1], ("", " --mi is log 2 or more, which allows an attacker to be "
                                                           "sure of a record's membership\n"), field)
                continue
            self.assertEqual((done.returncode, done.stdout), (2, ""), (field, done.stderr))
            self.assertRegex(done.stderr, rf"\Atacit train: (--resume is {file}|DATA is)[^\n]*\n\Z", field)
            refused += 1
        self.assertGreater(refused, len(tried) / 2)


class Systems(Records):
    """The systems of the other papers, by the same verb."""

    def tuned(self, *words, steps=6):
        answer = self.ask_json("train", self.data, "--steps", steps, *words)
        if "sac" in words:  # it may choose less noise, and then the budget ends the run
            self.assertTrue(0 < answer["steps"] <= steps)
        else:
            self.assertEqual(answer["steps"], steps)
        for key in ("accuracy", "attack_bound", "attack_achieved"):
            if key in answer:
                self.assertTrue(0 <= answer[key] <= 1, key)
        return answer

    def test_what_is_spent_is_what_was_allowed(self):
        for words in [["dpzero"], ["dp-aggzo", "--directions", 3], ["dpgd-0th"], ["dp-sgd"],
                      ["dp-sgd", "--rate", 0.3], ["rldp"], ["rldp", "--controller", "median"],
                      ["rldp", "--controller", "sac", "--rate", 0.5]]:
            answer = self.tuned("--mechanism", *words, "--epsilon", 2, "--delta", 1e-6)
            self.assertTrue((1 if "sac" in words else 1.9) < answer["epsilon"] <= 2, (words, answer))
            self.assertEqual(answer["delta"], 1e-6)
            bound = self.ask_json("attack", "--epsilon", 2, "--delta", 1e-6)["success"]
            self.assertTrue(0.5 < answer["attack_bound"] <= bound, words)
        answer = self.tuned("--mechanism", "dp-zo-laplace", "--epsilon", 1)  # purely
        self.assertTrue(0 < answer["epsilon"] <= 1 and answer["attack_bound"] < 0.74)
        answer = self.tuned("--mechanism", "ferret", "--mi", 0.2, "--rate", 0.1, "--groups", 2)
        self.assertTrue(0 < answer["mi_worst_record"] <= 0.2)
        self.assertEqual(self.tuned("--mechanism", "sgd")["attack_bound"], 1)

    def test_what_is_evaluated_is_the_batch(self):
        # Records are in a batch with probability 1/2 (the secret half) times the rate: 2·K·steps·rate·N/2 losses.
        records = self.tuned("--mechanism", "paczero-zpl", steps=1)["losses_evaluated"] // 2
        for words, rate, k in [(["dpzero"], 0.05, 1), (["dp-zo-laplace"], 0.05, 1), (["dpgd-0th"], 0.05, 1),
                               (["dp-aggzo", "--directions", 3], 0.05, 3), (["dpzero"], 1, 1)]:
            answer = self.tuned("--mechanism", *words, "--epsilon", 2, "--rate", rate, steps=20)
            self.assertTrue(0 < answer["epsilon"] <= 2, words)
            expected = 2 * k * 20 * records * rate / 2
            self.assertTrue(expected / 2 < answer["losses_evaluated"] < expected * 2, (words, answer, expected))
        answer = self.tuned("--mechanism", "dp-sgd", "--epsilon", 2, "--rate", 0.05, steps=20)
        self.assertNotIn("losses_evaluated", answer)
        self.assertTrue(0 < answer["gradients_evaluated"] < 20 * records * 0.05)
        answer = self.tuned("--mechanism", "rldp", "--controller", "median", "--epsilon", 2, "--rate", 0.05, steps=20)
        self.assertTrue(0 < answer["losses_evaluated"] < 20 * records * 0.05, answer)  # once, of the batch
        self.assertEqual(answer["losses_evaluated"], answer["gradients_evaluated"])

    def test_optimisers(self):
        for words in [["dp-sgd", "--epsilon", 2], ["rldp", "--epsilon", 2], ["ferret", "--mi", 1],
                      ["dpgd-0th", "--epsilon", 2], ["dpzero", "--epsilon", 2], ["sgd"]]:
            spent = None
            for optimiser in [[], ["momentum"], ["adam"], ["adamw", "--weight-decay", 0.1]]:
                answer = self.tuned("--mechanism", *words, *(["--optimiser", *optimiser] if optimiser else []))
                cost = [answer[key] for key in ("epsilon", "attack_bound") if key in answer]
                if words[0] != "ferret":  # which pays by what it released
                    self.assertEqual(spent or cost, cost, (words, optimiser))  # it costs nothing
                spent = cost

    def test_models(self):
        for words in [["paczero-zpl"], ["mezo"], ["dp-sgd", "--epsilon", 1]]:
            self.tuned("--mechanism", *words, "--model", "adapters")
        zero = self.tuned("--mechanism", "paczero-zpl", "--model", "adapters", "--seeds", 2)
        self.assertEqual((zero["mi_worst_record"], zero["attack_bound"], len(zero["seeds"])), (0, 0.5, 2))
        answer = self.ask_json("train", "--model", "transformer", "--mechanism", "dpzero", "--epsilon", 4,
                               "--steps", 1)
        self.assertGreater(answer["perplexity"], 1)
        self.assertTrue(0 < answer["epsilon"] <= 4)

    def test_transcripts(self):
        files = {name: self.folder / name for name in ("t", "b", "o", "again")}
        for mechanism in (["dpzero"], ["dp-aggzo"], ["dp-zo-laplace"], ["dp-aggzo", "--optimiser", "adamw"]):
            for file in files.values():
                file.unlink(missing_ok=True)
            done = self.tuned("--mechanism", *mechanism, "--epsilon", 2, "--transcript", files["t"],
                              "--base", files["b"], "--tuned", files["o"], steps=20)
            self.ask_json("replay", files["b"], files["t"], files["again"])
            self.assertEqual(files["again"].read_bytes(), files["o"].read_bytes())
            seen = self.ask_json("audit", files["t"], "--delta", done["delta"])
            self.assertEqual(seen["epsilon"], done["epsilon"])

    def test_refusals(self):
        def refused(*words, naming):
            self.refused("train", self.data, "--mechanism", *words, naming=naming)

        refused("dpzero", naming=["--epsilon is missing", "positive"])
        refused("ferret", naming=["--mi is missing"])
        refused("dpzero", "--epsilon", 0, naming=["--epsilon", "positive"])
        refused("dpzero", "--epsilon", 1, "--delta", 1, naming=["--delta", "in (0, 1)"])
        refused("rldp", "--epsilon", 1, "--controller", "none", naming=["--controller", "median"])
        refused("ferret", "--mi", 1, "--groups", 3, naming=["--groups", "eighth"])
        for words in [["dpzero", "--epsilon", 1, "--mi", 1], ["paczero-mi", "--mi", 1, "--rate", 0.5],
                      ["dpzero", "--epsilon", 1, "--directions", 2], ["sgd", "--epsilon", 1],
                      ["dp-sgd", "--epsilon", 1, "--transcript", self.folder / "x"],
                      ["dp-sgd", "--epsilon", 1, "--ledger", "record"],
                      ["mezo", "--epsilon", 1], ["paczero-mi", "--mi", 1, "--groups", "max"],
                      ["paczero-zpl", "--model", "adapters", "--save", self.folder / "x"]]:
            refused(*words, naming=[next(w for w in reversed(words) if str(w).startswith("--")), "left out"])
        self.refused("train", "--mechanism", "dpzero", "--epsilon", 1, naming=["DATA is missing"])
        self.refused("train", self.data, "--model", "transformer", "--mechanism", "dpzero", "--epsilon", 1,
                     naming=["DATA", "left out"])
        self.assertFalse((self.folder / "x").exists())


def crc64(data):
    """CRC-64/XZ, bit by bit."""
    crc = 2**64 - 1
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xC96C5795D7870F42 if crc & 1 else 0)
    return crc ^ 2**64 - 1


class Model:
    """A safetensors file and its hash, written by docs/transcript.md alone."""

    BYTES = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8}

    def __init__(self, tensors):
        self.tensors = tensors  # (name, type, shape, data), in the order of the file
        header, end = {"__metadata__": {"format": "pt"}}, 0
        for name, kind, shape, data in tensors:
            assert math.prod(shape) * self.BYTES[kind] == len(data)
            header[name] = {"dtype": kind, "shape": shape, "data_offsets": [end, end + len(data)]}
            end += len(data)
        text = json.dumps(header).encode() + b"  "
        self.bytes = struct.pack("<Q", len(text)) + text + b"".join(t[3] for t in tensors)

    def hash(self, names):
        digest = hashlib.blake2b(digest_size=32)

        def text(word):
            digest.update(struct.pack("<Q", len(word)) + word)

        text(b"tacit-parameters")
        digest.update(struct.pack("<Q", len(names)))
        for name in names:
            _, kind, _, data = next(t for t in self.tensors if t[0] == name)
            text(name.encode())
            text(kind.encode())
            digest.update(struct.pack("<Q", len(data) // self.BYTES[kind]) + data)
        return digest.hexdigest()


def quoted(text):
    return '"' + "".join(chr(b) if 32 < b < 127 and chr(b) not in '"%' else f"%{b:02X}"
                         for b in text.encode()) + '"'


def sealed(model, names, scalars, mechanism=None, symbols="scalar 0", packed=None, directions=1,
           steps=None, version=1, rounding=None, **fields):
    """A transcript, written by docs/transcript.md alone."""
    name, parameters = mechanism or ("mezo", [("steps", "whole", 0), ("surrogate", "text", "raw"),
                                              ("clip", "real", 1024), ("records", "whole", 10)])
    lines = [f"tacit-transcript {version}", f"mechanism {quoted(name)}", f"parameters {len(parameters)}"]
    for key, kind, value in parameters:
        lines.append(f"parameter {quoted(key)} {kind} "
                     f"{quoted(value) if kind == 'text' else value}")
    known = {"smoothing": "0.001", "learning_rate": "0.5", "weight_decay": "0",
             "schedule": "constant 0", "law": "rademacher", "seed": "7"}
    for key, value in {**known, **fields}.items():
        lines.append(f"{key} {value}")
        if key == "schedule" and rounding:
            lines.append(f"rounding {rounding}")
    lines += [f"directions {directions}", f"symbols {symbols}", f"tensors {len(names)}"]
    for key in names:
        _, kind, shape, _ = next(t for t in model.tensors if t[0] == key)
        lines += [f"tensor {quoted(key)} {kind}", " ".join(map(str, ["shape", len(shape), *shape]))]
    steps = len(scalars) // directions if steps is None else steps
    lines += [f"start {model.hash(names)}", f"released {steps}"]
    header = ("\n".join(lines) + "\n").encode()
    header += f"checksum {crc64(header)}\n".encode()
    packed = packed if packed is not None else struct.pack(f"<{len(scalars)}d", *scalars)
    return header + packed + struct.pack("<Q", crc64(header + packed))


class Transcripts(Records):
    """What train writes, replay rebuilds and audit checks."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.here = Path(kept.name)
        self.transcript, self.base, self.tuned, self.out = (
            self.here / name for name in ("transcript", "base", "tuned", "out"))
        self.groups = self.folder / "families"
        self.groups.write_text("".join(f"{i},{i + 60}\n" for i in range(60)))

    def written(self):
        return ["--transcript", self.transcript, "--base", self.base, "--tuned", self.tuned]

    def rebuilt(self):
        self.out.unlink(missing_ok=True)
        answer = self.ask_json("replay", self.base, self.transcript, self.out)
        self.assertEqual(self.out.read_bytes(), self.tuned.read_bytes())
        self.assertNotEqual(self.out.read_bytes(), self.base.read_bytes())
        self.assertEqual(answer["untouched"], 0)
        return answer

    def test_no_memory_in_the_middle_says_how_to_go_on(self):
        words = ["train", self.data, "--mechanism", "paczero-mi", "--mi", 0.33]
        state = self.here / "state"
        with subprocess.Popen([PROGRAM, *map(str, words), "--steps", "1000000", "--save", state], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as training:
            first = None
            while first is None or state.stat().st_size < first + 100:  # a hundred steps
                time.sleep(0.01)
                first = first or (state.stat().st_size if state.exists() else None)
            for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
                resource.prlimit(training.pid, kind, (1, 1))
            answer, said = training.communicate(timeout=60)
        self.assertEqual((training.returncode, answer, said.count("\n")), (1, "", 1), said)
        self.assertIn("not enough memory", said)
        self.assertIn(f"the run is kept: go on with the same command and --resume {state} in place of --save", said)
        self.refused(*words[:-1], 0.5, "--resume", state, naming=["--mi", "as in the saved run"])

    def test_where_files_run_out_the_message_says_how_to_go_on(self):
        ends = set()
        for most in range(4, 16):
            for file in self.here.iterdir():
                file.unlink()
            state = self.here / "state"
            words = [PROGRAM, "train", self.data, "--mechanism", "paczero-mi", "--mi", "0.33", "--steps", "3",
                     *self.written()]
            limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))}
            done = subprocess.run([*words, "--save", state], capture_output=True, text=True, **limited)
            kept = state.exists()
            ends.add((done.returncode, kept))
            if done.returncode == 0:
                continue
            if done.returncode != 127:  # not even the program was loaded
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
                self.assertEqual(kept, f"--resume {state} in place of --save" in done.stderr, done.stderr)
            again = subprocess.run([*words, "--resume" if kept else "--save", state], capture_output=True, text=True)
            self.assertEqual((again.returncode, again.stderr), (0, ""))
            self.rebuilt()
        self.assertTrue({(0, True), (1, False), (1, True)} <= ends, ends)

    def taken_meanwhile(self, sign, name, *words):
        """What a run says where `name` is written by somebody else after it made `sign`: (steps, its message)."""
        for steps in (400, 4000, 40000, 400000):  # until the run is not over before that
            with subprocess.Popen([PROGRAM, "train", self.data, "--mechanism", "paczero-mi", "--mi", "0.33",
                                   "--steps", str(steps), *map(str, words)], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as training:
                while not sign.exists():
                    time.sleep(0.001)
                with contextlib.suppress(FileExistsError), open(name, "x") as file:
                    file.write("somebody else's")
                _, said = training.communicate(timeout=120)
            if name.read_bytes() == b"somebody else's":
                break
            for file in self.here.iterdir():
                file.unlink()
        self.assertEqual((training.returncode, said.count("\n")), (1, 1), said)
        self.assertEqual(name.read_text(), "somebody else's")
        return steps, said

    def test_a_name_that_was_taken_meanwhile(self):
        state = self.here / "state"
        steps, said = self.taken_meanwhile(state, self.tuned, "--save", state, "--tuned", self.tuned)
        self.assertIn(f"--resume {state} in place of --save, and another name for {self.tuned}", said)
        self.ask_json("train", self.data, "--mechanism", "paczero-mi", "--mi", 0.33, "--steps", steps, "--resume", state,
                      "--tuned", self.out)
        self.assertTrue(self.out.exists())
        # Of a run that keeps nothing, too.
        again = self.here / "again"
        _, said = self.taken_meanwhile(self.base, again, "--base", self.base, "--tuned", again)
        self.assertIn(f"the same command, with another name for {again}, begins another one", said)

    def test_a_model_is_its_transcript(self):
        mi = ["--mechanism", "paczero-mi", "--mi", 0.33]
        for words, steps, symbols in [
                ([*mi, "--allocation", "uniform"], 1000, None),
                ([*mi, "--allocation", "confident-or-hold"], 200, "held_sign"),
                ([*mi, "--directions", 3, "--ledger", "record"], 200, None),
                (["--mechanism", "paczero-mi", "--ledger", "pathwise", "--kappa", 0.1], 200, None),
                ([*mi, "--ledger", "record", "--kappa", 0.2, "--record-groups", self.groups,
                  "--group-mi", 0.05], 200, None),
                (["--mechanism", "paczero-zpl", "--disagreement", "coin"], 1000, "sign"),
                (["--mechanism", "mezo", "--directions", 2], 200, "scalar")]:
            for file in self.here.iterdir():
                file.unlink()
            trained = self.train(*words, *self.written(), steps=steps)
            self.assertEqual({f.name for f in self.here.iterdir()}, {"transcript", "base", "tuned"})
            self.assertEqual(self.rebuilt()["steps"], steps)
            public = self.ask("audit", self.transcript)
            self.assertEqual((public["checked"], public["steps"]), ("public part", steps))
            if symbols:
                self.assertEqual(public["symbols"], symbols)
            if symbols == "sign":  # a bit a step, and the header
                content = self.transcript.read_bytes()
                header = re.search(rb"\nchecksum \d+\n", content).end()
                self.assertEqual(len(content) - header, 125 + 8)
            self.assertEqual(public["attack_bound"], trained["attack_bound"])
            full = self.ask("audit", self.transcript, "--universe", self.data)
            self.assertEqual(full["checked"], "public part and universe")
            self.assertEqual({k: full[k] for k in public if k != "checked"},
                             {k: public[k] for k in public if k != "checked"})
            if "mezo" not in words:
                for ours, theirs in [("mi_spent", "mi"), ("unanimity", "unanimity"),
                                     ("mi_spent_worst_record", "mi_worst_record"),
                                     ("attack_achieved", "attack_achieved"),
                                     *[("mi_spent_worst_group", "mi_worst_group")] * (self.groups in words)]:
                    self.assertEqual(full[ours], trained[theirs], (words, ours))

    def test_audit_sees_what_the_rule_forbids(self):
        self.train("--mechanism", "paczero-zpl", "--disagreement", "majority", *self.written())
        content = self.transcript.read_bytes()
        with_universe = ["audit", self.transcript, "--universe", self.data]
        self.ask_json(*with_universe)
        # A sign that no majority gave: the file is whole, and only the universe tells.
        start = re.search(rb"\nchecksum \d+\n", content).end()
        for step in (0, 77, 199):
            forged = bytearray(content[:-8])
            forged[start + step // 8] ^= 1 << step % 8
            self.transcript.write_bytes(bytes(forged) + struct.pack("<Q", crc64(forged)))
            self.ask_json("audit", self.transcript)
            self.refused(*with_universe, naming=["TRANSCRIPT", "rule", f"step {step}:"])
        self.transcript.write_bytes(content)
        self.refused("audit", self.transcript, "--universe", DIGITS, naming=["--universe"])
        self.refused("audit", self.transcript, "--universe", "nowhere", naming=["--universe"])
        self.refused("audit", self.transcript, "--delta", 1e-5, naming=["--delta", "left out"])
        for path in (self.out, self.base):
            path.unlink(missing_ok=True)
        self.train("--mechanism", "paczero-mi", "--mi", 0.33, "--observed", "value",
                   "--transcript", self.out)
        self.ask_json("audit", self.out)
        self.refused("audit", self.out, "--universe", self.data, naming=["--universe", "values"])

    def test_what_replay_refuses(self):
        self.train("--mechanism", "paczero-zpl", *self.written())
        command = ["replay", self.base, self.transcript, self.out]
        self.refused("replay", self.tuned, *command[2:], naming=["BASE", "hash"])
        self.refused("replay", self.data, *command[2:], naming=["BASE"])
        self.refused("replay", "nowhere", *command[2:], naming=["BASE"])
        self.refused("replay", self.base, self.base, self.out, naming=["TRANSCRIPT"])
        # A state has the releases, and is no transcript.
        state, again = self.here / "state", self.here / "again"
        words = ["--mechanism", "paczero-mi", "--mi", 0.33]
        self.train(*words, "--save", state, "--tuned", again)
        for verb in (["replay", self.base, state, self.out], ["audit", state]):
            self.refused(*verb, naming=["TRANSCRIPT", "state of a run", f"--resume {state} --transcript FILE"])
        written = self.here / "written"
        self.train(*words, "--resume", state, "--transcript", written)
        self.ask_json("replay", self.base, written, self.out)
        self.assertEqual(self.out.read_bytes(), again.read_bytes())
        self.out.unlink()
        self.refused(*command[:3], self.here / "no" / "where", naming=["OUT", "folder"])
        self.refused(*command[:3], self.base, naming=["OUT", "another file than BASE"])
        self.refused(*command[:3], self.tuned, naming=["OUT", "new"])
        content = self.transcript.read_bytes()
        for damaged, defect in [(content[:-1], "symbols"), (content + b"x", "symbols"),
                                (content.replace(b"0.001", b"0.002"), "checksum"), (b"", "header")]:
            self.transcript.write_bytes(damaged)
            for words in (command, ["audit", self.transcript]):
                self.refused(*words, naming=["TRANSCRIPT", defect])
        self.assertFalse(self.out.exists())
        mezo = ["train", self.data, "--mechanism", "mezo"]
        for option in ("--transcript", "--base", "--tuned"):
            self.refused(*mezo, option, self.tuned, naming=[option, "new"])
            self.refused(*mezo, option, self.here / "no" / "where", naming=[option, "folder"])
            self.refused(*mezo, "--seeds", 2, option, self.out, naming=[option, "--seeds"])
        Path(str(self.out) + ".journal").write_text("")
        self.refused(*mezo, "--transcript", self.out, naming=["--transcript", "journal"])

    def test_a_killed_run_goes_on_in_its_journal(self):
        state, journal = self.here / "state", self.here / "transcript.journal"
        asked = ["--mechanism", "paczero-mi", "--mi", 0.33]
        for steps in (400, 4000, 40000):  # until a run is not over before it is killed
            for file in self.here.iterdir():
                file.unlink()
            words = [*asked, "--steps", steps, "--save", state, "--transcript", self.transcript,
                     "--base", self.base]
            process = subprocess.Popen(
                [PROGRAM, "train", str(self.data), *map(str, words)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and (
                    not journal.exists() or journal.stat().st_size < 1200):
                time.sleep(0.001)
            process.kill()
            if process.wait() == -signal.SIGKILL:
                break
        self.assertEqual(process.returncode, -signal.SIGKILL)

        # What there is of the run replays and is audited as it stands.
        part = self.ask_json("replay", self.base, journal, self.out)
        self.assertTrue(0 < part["steps"] < steps)
        self.assertEqual(self.ask_json("audit", journal, "--universe", self.data)["steps"],
                         part["steps"])
        # Another run's journal is refused, and both files stay as they were.
        go_on = ["train", self.data, "--resume", state, "--transcript", self.transcript,
                 "--tuned", self.tuned]
        kept = journal.read_bytes()
        self.refused(*go_on, "--learning-rate", 0.5, naming=["DATA", "--learning-rate"])
        self.refused(*go_on, "--base", self.data, naming=["--base", "another file"])
        other = self.here / "other"
        other.write_bytes(self.base.read_bytes()[:-1] + b"x")
        self.refused(*go_on, "--base", other, naming=["--base", "new"])
        self.assertEqual(journal.read_bytes(), kept)
        # A copy of the state goes on with the journal and with no other, while that is there.
        late, late_state, late_tuned, copy = (self.here / f"late{n}" for n in range(4))
        for file in (late_state, copy):
            file.write_bytes(state.read_bytes())
        for words in ([], ["--transcript", late]):
            self.refused("train", self.data, "--resume", late_state, *words,
                         naming=[f"--transcript is {late if words else 'missing'}", str(self.transcript)])
        # A run whose journal is gone can begin one: the state has all that it released. But not in silence.
        journal.rename(self.here / "aside")
        self.refused("train", self.data, "--resume", late_state,
                     naming=["--transcript is missing", f"no longer {journal}", "a new name"])
        self.ask_json("train", self.data, "--resume", late_state, "--transcript", late,
                      "--tuned", late_tuned)
        (self.here / "aside").rename(journal)
        self.out.unlink()
        self.ask_json("replay", self.base, late, self.out)
        self.assertEqual(self.out.read_bytes(), late_tuned.read_bytes())
        # The crash came between the two files: the journal lacks what the state has, and is torn.
        journal.write_bytes(kept[:-20])
        self.ask_json(*go_on)
        self.assertFalse(journal.exists())
        self.assertEqual(self.rebuilt()["steps"], steps)
        self.ask_json("audit", self.transcript, "--universe", self.data)
        # An old copy of the state of a run that is over.
        for words in ([], ["--transcript", self.here / "again"]):
            self.refused("train", self.data, "--resume", copy, *words, naming=["--resume", "last state"])

    def test_a_run_that_was_killed_at_its_end_is_finished(self):
        words = ["train", self.data, "--mechanism", "paczero-mi", "--mi", 0.33, "--steps", 50]
        state, journal = self.here / "state", self.here / "transcript.journal"
        asked = self.ask_json(*words, "--save", state, *self.written())
        sealed, tuned = self.transcript.read_bytes(), self.tuned.read_bytes()
        finish = [*words, "--resume", state, *self.written()]
        # The same command with --resume finds all done, or does what is missing.
        for gone in ([], [self.tuned], [self.tuned, self.transcript],
                     [self.tuned, self.transcript, self.base]):
            for file in gone:
                file.unlink()
            answer = self.ask_json(*finish)
            self.assertEqual({k: answer[k] for k in KEYS[:-1]}, {k: asked[k] for k in KEYS[:-1]})
            self.assertEqual(self.transcript.read_bytes(), sealed)
            self.assertEqual(self.tuned.read_bytes(), tuned)
            self.assertFalse(journal.exists())
        # The state alone has the releases, and stays as it is.
        kept = state.read_bytes()
        told = self.ask_json("releases", state)
        self.assertRegex(told.pop("releases"), r"^[-+0]{50}$")
        self.assertEqual(told, {"steps": 50, "steps_of_run": 50, "directions": 1, "finished": True})
        self.assertEqual(state.read_bytes(), kept)
        self.refused("releases", self.transcript, naming=["STATE", "the state of a run"])
        # Other files of these names stay as they are.
        for file, whole in [(self.transcript, sealed), (self.tuned, tuned)]:
            file.write_bytes(whole[:-1] + b"x")
            done = run(*finish)
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(file.read_bytes(), whole[:-1] + b"x")
            file.write_bytes(whole)

    def test_names_that_a_user_may_type(self):
        words = ["train", str(self.data), "--mechanism", "paczero-mi", "--mi", "0.33"]
        in_folder = lambda *more: subprocess.run([PROGRAM, *words, *more], cwd=self.here,
                                                 capture_output=True, text=True)
        self.assertEqual(in_folder("--steps", "20", "--save", "run").returncode, 0)
        for name in ("run", "./run", "../" + self.here.name + "/run", str(self.here / "run")):
            done = in_folder("--resume", name)
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
        self.assertEqual({f.name for f in self.here.iterdir()}, {"run"})
        # A second name of a state would remain as a copy.
        (self.here / "second").hardlink_to(self.here / "run")
        self.refused(*words, "--resume", self.here / "run", naming=["--resume", "names"])

    def test_commands_in_messages_can_be_typed(self):
        """Whatever the files are called: a shell takes them as they are named."""
        limited = {"cwd": self.here, "capture_output": True,
                   "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1900, 1900))}
        for k, kind in enumerate((b"quo'te\\ do$x`y`*?", b"-new\nline'\\\x7f", b"~lat\xe9")):
            name = kind + str(k).encode()
            words = ["train", str(self.data), "--mechanism", "paczero-zpl", "--steps", "2000", "--subsets", "2"]
            done = subprocess.run([PROGRAM, *words, b"--save=" + name, b"--transcript=" + name + b".t"], **limited)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
            said = done.stderr.split(b"--resume ")[1].split(b" in place of --save")[0]
            typed = subprocess.run(["bash", "-c", b"printf %s " + said], capture_output=True, cwd=self.here).stdout
            self.assertEqual(typed.removeprefix(b"./") if name.startswith(b"-") else typed, name, said)
            # And one that keeps no state.
            words[3:] = ["dpzero", "--epsilon", "1", "--steps", "2000"]
            done = subprocess.run([PROGRAM, *words, b"--base=" + name + b".b", b"--transcript=" + name + b".u"], **limited)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
            replay = done.stderr.split(b"tacit replay ")[1].split(b" OUT ")[0]
            replayed = subprocess.run(["bash", "-c", b'"$0" replay ' + replay + b" out%d" % k, PROGRAM], capture_output=True, cwd=self.here)
            self.assertEqual(replayed.returncode, 0, (replay, replayed.stderr))

    def started(self, *words, when):
        """A run of many steps, which this holds of."""
        process = subprocess.Popen([PROGRAM, "train", str(self.data), "--mechanism", "paczero-mi", "--mi", "0.33",
                                    "--steps", "1000000", *map(str, words)], cwd=self.here,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while not when():
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        return process

    def test_a_journal_of_another_run_is_not_taken_for_a_crashed_one(self):
        """What is said of a run that cannot go on is said of the one that was asked for, and its command works."""
        journal, words = self.here / "t.journal", ["train", self.data, "--epsilon", 1, "--transcript", self.here / "t"]
        process = self.started("--save", "state", "--transcript", "t", when=lambda: journal.exists() and
                              journal.stat().st_size > 1200)
        process.kill()
        process.communicate()
        kept = journal.read_bytes()
        for others in ([], ["--base", self.here / "b"], ["--base", self.here / "c", "--seed", 2]):
            self.refused(*words, "--mechanism", "dpzero", *others, naming=["--transcript", "of another run"])
        self.assertEqual(journal.read_bytes(), kept)  # which goes on with its state
        journal.unlink()
        words += ["--mechanism", "dpzero", "--steps", 1000000, "--base"]
        process = subprocess.Popen([PROGRAM, *map(str, words), str(self.base)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        while not journal.exists() or journal.stat().st_size < 1200:
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        process.kill()
        process.wait()
        self.refused(*words, self.base, naming=[f"cannot go on: tacit replay {self.base} {journal} OUT"])
        self.ask_json("replay", self.base, journal, self.out)
        self.refused(*words, self.here / "d", "--seed", 2, naming=["--transcript", "of another run"])

    def test_a_run_without_its_journal_says_how_it_goes_on(self):
        """The state was made, and the journal could not be: here a folder has the name of its lock."""
        state, lock = self.here / "state", self.here / "t.journal.lock"
        lock.mkdir()
        words = ["train", self.data, "--mechanism", "paczero-mi", "--mi", "0.33", "--steps", "5", "--transcript",
                 self.here / "t"]
        done = run(*words, "--save", state)
        self.assertEqual(done.returncode, 2, done.stderr)
        lock.rmdir()
        if state.exists():
            self.assertIn(f"go on with the same command and --resume {state} in place of --save", done.stderr)
            self.ask(*words, "--resume", state)
        else:
            self.ask(*words, "--save", state)
        self.assertTrue((self.here / "t").exists())

    def test_a_copy_is_refused_wherever_it_is_resumed(self):
        """The journal was named from the folder that the run began in."""
        state, copy, journal = self.here / "state", self.here / "copy", self.here / "t.journal"
        process = self.started("--save", "state", "--transcript", "t", when=lambda: journal.exists() and
                              journal.stat().st_size > 1200)
        process.kill()
        process.communicate()
        copy.write_bytes(state.read_bytes())
        elsewhere = self.here / "elsewhere"
        elsewhere.mkdir()
        done = subprocess.run([PROGRAM, "train", self.data, "--resume", "../copy"], cwd=elsewhere,
                              capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(f"--transcript is missing, but must be {self.here / 't'}", done.stderr)

    def test_a_journal_that_was_moved_stays_its_run_s(self):
        state, copy = self.here / "state", self.here / "copy"
        journal, moved = self.here / "t.journal", self.here / "u.journal"

        def killed_in(file, *words):
            before = file.stat().st_size if file.exists() else 0
            process = self.started(*words, when=lambda: file.exists() and file.stat().st_size > before + 900)
            process.kill()
            process.communicate()

        killed_in(journal, "--save", "state", "--transcript", "t")
        copy.write_bytes(state.read_bytes())
        journal.rename(moved)
        for file in (state, copy):
            self.refused("train", self.data, "--resume", file, naming=["--transcript is missing", f"no longer {journal}"])
        killed_in(moved, "--resume", "state", "--transcript", "u")
        # From then on the state asks for the journal's new name, and the journal refuses a copy of before.
        for words in ([], ["--transcript", self.here / "t"]):
            self.refused("train", self.data, "--resume", state, *words, naming=[f"must be {self.here / 'u'}, whose journal"])
        kept = moved.read_bytes()
        self.refused("train", self.data, "--resume", copy, naming=["--transcript is missing"])
        self.refused("train", self.data, "--resume", copy, "--transcript", self.here / "u",
                     naming=["--resume no older copy", "steps of the journal"])
        self.assertEqual(moved.read_bytes(), kept)
        # Another run's journal does not become this one's name.
        self.ask_json("train", self.data, "--mechanism", "paczero-zpl", "--steps", 3, "--transcript", self.here / "other")
        aside = self.here / "aside"
        moved.rename(aside)
        other = self.here / "v.journal"
        other.write_bytes(kept[:200])
        self.refused("train", self.data, "--resume", state, "--transcript", self.here / "v", naming=["--transcript"])
        other.unlink()
        aside.rename(moved)
        killed_in(moved, "--resume", "state", "--transcript", "u")

    def test_a_run_whose_state_was_moved_ends(self):
        """Another run may go on with it, under that name."""
        state, moved = self.here / "state", self.here / "moved"
        process = self.started("--save", "state", when=lambda: state.exists() and
                              "transcript none" not in state.read_text())
        while process.poll() is None and state.exists():  # between a look and a renaming there is a moment
            state.replace(moved)
            time.sleep(0.1)
        said = process.communicate(timeout=20)[1]
        self.assertEqual((process.returncode, said.count("\n")), (1, 1), said)
        self.assertIn("moved", said)
        self.assertIn(f"the run's state is no longer state: go on with the same command and --resume", said)
        self.assertFalse(state.exists())

    def test_a_run_whose_state_got_a_second_name_ends(self):
        """The name would stay a copy of what the state was."""
        state, second = self.here / "state", self.here / "second"
        process = self.started("--save", "state", when=lambda: state.exists() and
                              "transcript none" not in state.read_text())
        while process.poll() is None:  # between a look and a renaming there is a moment
            second.unlink(missing_ok=True)
            with contextlib.suppress(FileNotFoundError):  # it was just replaced
                second.hardlink_to(state)
            time.sleep(0.1)
        said = process.communicate(timeout=20)[1]
        self.assertEqual((process.returncode, said.count("\n")), (1, 1), said)
        self.assertIn(f"remove all names but one of {state}", said)
        self.assertEqual(state.read_bytes(), second.read_bytes())
        self.refused("train", self.data, "--resume", second, naming=["remove all names but one"])

    def test_a_transcript_that_another_run_sealed_meanwhile(self):
        """Three runs at once: one has the files, and the others leave nothing."""
        words = [PROGRAM, "train", self.data, "--mechanism", "dpzero", "--epsilon", "1", "--steps", "30", *self.written()]
        for _ in range(5):
            for file in self.here.iterdir():
                file.unlink()
            runs = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
            said = [one.communicate(timeout=60)[1] for one in runs]
            self.assertEqual([one.returncode for one in runs].count(0), 1, said)
            self.assertEqual({file.name for file in self.here.iterdir()}, {"transcript", "base", "tuned"})
            self.rebuilt()

    def test_a_folder_that_cannot_be_written_is_refused_before_the_run(self):
        if os.geteuid() != 0:
            self.here.chmod(0o500)
        where = "/proc/self" if os.geteuid() == 0 else self.here  # which root cannot write, either
        for option in ("--transcript", "--tuned"):
            self.refused("train", self.data, "--mechanism", "mezo", "--steps", 10_000_000, option, f"{where}/new",
                         naming=[option, "a folder that can be written"])
        self.here.chmod(0o700)

    def test_another_table_of_the_same_length_is_refused(self):
        state, other = self.here / "state", self.here / "other.csv"
        words = ["--mechanism", "paczero-mi", "--mi", 0.33]
        self.ask_json("train", self.data, *words, "--steps", 20, "--save", state)
        lines = self.data.read_text().splitlines()
        lines[7], lines[8] = lines[8], lines[7]
        other.write_text("\n".join(lines) + "\n")
        self.refused("train", other, *words, "--resume", state, naming=["DATA", "saved run"])
        self.ask_json("train", self.data, *words, "--resume", state)

    def test_no_file_is_lost(self):
        """Every pair of names of one command, the same file: refused, and the file as it was."""
        mi = ["--mechanism", "paczero-mi", "--mi", "0.33", "--steps", "5"]
        files = ["--save", "--transcript", "--base", "--tuned"]
        target = self.here / "x"
        link = self.here / "link"
        for one in files:
            for text in (f"{target}", f"{self.here}/../{self.here.name}/x"):
                for other in files:
                    if other != one:
                        self.refused("train", self.data, *mi, one, target, other, text,
                                     naming=["another file"])
                        self.assertFalse(target.exists())
            kept = self.data.read_bytes()
            self.refused("train", self.data, *mi, one, self.data, naming=[one])
            self.assertEqual(self.data.read_bytes(), kept)
            # A link that leads nowhere is not written through, nor is one to a file.
            link.symlink_to(self.here / "nothing")
            self.refused("train", self.data, *mi, one, link, naming=[one])
            self.assertTrue(link.is_symlink())
            link.unlink()
            self.assertFalse((self.here / "nothing").exists())
        for option in files:  # no standard output
            self.refused("train", self.data, *mi, option, "-", naming=[f"{option} is -"])
        self.refused("train", self.data, *mi, "--save", target, "--base", f"{target}.lock",
                     naming=["another file"])
        self.refused("train", self.data, *mi, "--transcript", target, "--base",
                     f"{target}.journal", naming=["another file"])
        # A table of which an output's temporary file once had the name.
        for ending in (".new", ".lock", ".claimed"):
            table = self.here / f"y{ending}"
            table.write_bytes(self.data.read_bytes())
            run("train", table, *mi, "--save", self.here / "y", "--base", self.here / "z")
            self.assertEqual(table.read_bytes(), self.data.read_bytes(), ending)
            for name in ("y", "z"):
                (self.here / name).unlink(missing_ok=True)
        self.train("--mechanism", "paczero-zpl", *self.written())
        planted = self.here / "out.new"
        planted.symlink_to(self.base)
        kept = self.base.read_bytes()
        self.ask_json("replay", self.base, self.transcript, self.out)
        self.assertEqual(self.base.read_bytes(), kept)
        self.refused("replay", self.base, self.transcript, self.base, naming=["another file"])
        self.refused("replay", self.base, self.transcript, self.transcript, naming=["another file"])
        picture = self.here / "p.svg"
        curve = ["curve", "--noise-multiplier", 5, "--steps", 3, "--plot", picture]
        self.assertEqual(run(*curve).returncode, 0)
        self.refused(*curve, naming=["--plot", "new"])
        self.assertEqual(run(*curve, "--force").returncode, 0)
        self.refused(*curve[:-2], "--force", naming=["--force", "--plot"])
        # What is no file, such as /dev/null, is not replaced by one.
        pipe = self.here / "pipe"
        os.mkfifo(pipe)
        self.refused(*curve[:-1], pipe, "--force", naming=["--plot", "regular"])
        self.assertTrue(pipe.is_fifo())

    def test_inputs_without_end_or_bottom(self):
        deep = self.here / "deep.json"
        deep.write_text("[" * 75000)
        self.refused("epsilon", "--delta", 1e-5, "--schedule", deep, naming=["nested"])
        self.refused("gap", DIGITS, "--noise", deep, naming=["deep.json"])
        deep.write_text('{"a":' * 75000)
        self.refused("epsilon", "--delta", 1e-5, "--schedule", deep, naming=["nested"])
        pipe = self.here / "pipe"
        os.mkfifo(pipe)
        for endless in ("/dev/zero", pipe):
            for words in (["train", endless, "--mechanism", "mezo"],
                          ["calibrate", endless, "--method", "log-det", "--mi", 1],
                          ["epsilon", "--delta", 1e-5, "--schedule", endless],
                          ["audit", endless], ["replay", endless, endless, self.out]):
                done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, timeout=20)
                self.assertEqual(done.returncode, 2, (words, done.stderr))
        wide = self.here / "wide.csv"
        wide.write_text("1e39,u\n" * 100 + "1,v\n" * 100)
        self.refused("train", wide, "--mechanism", "mezo", naming=["1e39", "finite"])
        wide.write_text("".join(f"{i % 7},label{i}\n" for i in range(20000)))
        self.refused("train", wide, "--mechanism", "mezo", naming=["20000 different labels"])
        # It says to be empty, and is as long as the address space.
        if Path("/proc/self/pagemap").exists():
            limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
                       "capture_output": True, "text": True}
            for words in (["train", "/proc/self/pagemap", "--mechanism", "mezo"],
                          ["calibrate", "/proc/self/pagemap", "--method", "log-det", "--mi", "1"],
                          ["epsilon", "--delta", "1e-5", "--schedule", "/proc/self/pagemap"],
                          ["audit", "/proc/self/pagemap"]):
                done = subprocess.run([PROGRAM, *words], **limited)
                self.assertEqual(done.returncode, 2, (words, done.stderr))
        # A table may come through the standard input.
        done = subprocess.run([PROGRAM, "train", "-", "--mechanism", "paczero-zpl", "--steps", "20",
                               "--json"], input=self.data.read_text(), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    @staticmethod
    def peak_of(*words):
        """Bytes that a command had in memory at most."""
        process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, words
        return 1024 * used.ru_maxrss

    def test_a_small_file_takes_little_memory(self):
        """What a file says to need is not believed before there is reason to."""
        def edited(lines, **fields):
            for name, value in fields.items():
                lines = re.sub(rf"(?m)^{name} .*$", f"{name} {value}", lines)
            return f"{lines}checksum {crc64(lines.encode())}\n".encode()

        state = self.here / "state"
        self.ask_json("train", self.data, "--mechanism", "paczero-zpl", "--steps", 4, "--save", state,
                      *self.written())
        limited = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29)),
                   "capture_output": True, "text": True}
        # 4 GiB of candidate subsets.
        lines = state.read_text().partition("checksum ")[0]
        state.write_bytes(edited(lines, candidates="4294967296 128 2 0 1 0"))
        done = subprocess.run([PROGRAM, "train", self.data, "--resume", state], **limited)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("4294967296 private records", done.stderr)
        # A million directions in one step: a sum for each and every subset would be 1 GB.
        count = 1_008_000
        lines = self.transcript.read_bytes().partition(b"checksum ")[0].decode()
        body = edited(lines, directions=count, symbols=f"sign {1 / count!r}", released=1)
        body += b"\x55" * (count // 8)
        many = self.here / "many"
        many.write_bytes(body + crc64(body).to_bytes(8, "little"))
        for words, status in ((["audit", many], 0), (["replay", self.base, many, self.out], 0),
                              (["audit", many, "--universe", self.data], 2)):
            done = subprocess.run([PROGRAM, *words], **limited)
            self.assertEqual(done.returncode, status, (words, done.stderr))
        # Whether its bits are directions or steps: some hundred bytes for each of its own.
        self.out.unlink()
        for fields in ({"directions": count, "symbols": f"sign {1 / count!r}", "released": 1},
                       {"directions": 1, "symbols": "sign 1", "released": count}):
            body = edited(lines, **fields) + b"\x55" * (count // 8)
            many.write_bytes(body + crc64(body).to_bytes(8, "little"))
            self.assertLess(self.peak_of("replay", self.base, many, self.out)
                            - self.peak_of("replay", "--help"), 500 * len(body))
            self.out.unlink()

    def test_answers_that_cannot_be_written(self):
        for words in (["--help"], ["epsilon", "--help"], ["--version"],
                      ["attack", "--mi", "0.3"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("cannot write the answer", done.stderr)

    def test_the_answer_of_a_run_that_cannot_be_written_is_told_again(self):
        state = self.here / "state"
        words = [PROGRAM, "train", self.data, "--mechanism", "paczero-mi", "--mi", "0.33", "--steps", "5"]
        for kept, end in (("--save", " in place of --save answers again"), ("--resume", " answers again")):
            with open("/dev/full", "w") as full:
                done = subprocess.run([*words, kept, state, *self.written()], stdout=full, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"the same command and --resume {state}{end}\n", done.stderr)
        self.ask(*words[1:], "--resume", state, *self.written())
        self.rebuilt()

    def test_a_limit_on_the_size_of_files_is_a_full_disk(self):
        done = subprocess.run([PROGRAM, "train", self.data, "--mechanism", "paczero-zpl", "--steps", "4", "--base", self.base,
                               "--save", self.here / "state"], capture_output=True, text=True,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)))
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
        self.assertIn("File too large", done.stderr)

    def test_a_closed_stream_is_no_file(self):
        """What is opened next would have its number."""
        close = {1: ">&-", 2: "2>&-"}
        for stream, how in close.items():
            words = " ".join(["train", str(self.data), "--mechanism paczero-zpl --steps 200000 --transcript",
                              str(self.here / f"transcript{stream}")])
            process = subprocess.Popen(["sh", "-c", f"exec {PROGRAM} {words} {how}"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            journal = self.here / f"transcript{stream}.journal"
            while not journal.exists():
                self.assertIsNone(process.poll())
                time.sleep(0.02)
            opened = os.readlink(f"/proc/{process.pid}/fd/{stream}")
            process.kill()
            process.wait()
            self.assertEqual(opened, "/dev/null", how)

    def test_a_budget_that_promises_nothing_is_said_to(self):
        done = run("train", self.data, "--mechanism", "paczero-mi", "--mi", 1, "--steps", 5)
        self.assertEqual(done.returncode, 0)
        self.assertIn("warning: --mi", done.stderr)

    def test_tensors_of_every_type(self):
        draw = random.Random(3)
        floats = struct.pack("<50f", *[draw.gauss(0, 1) for _ in range(50)])
        halves = struct.pack("<60e", *[draw.gauss(0, 1) for _ in range(60)])
        brains = b"".join(struct.pack("<f", draw.gauss(0, 1))[2:] for _ in range(70))
        model = Model([("ids", "I64", [2], bytes(range(16))), ("w", "F32", [5, 10], floats),
                       ("frozen", "F32", [50], floats), ("h \u00e9", "F16", [60], halves),
                       ("b", "BF16", [7, 1, 10], brains), ("none", "F32", [0], b"")])
        names = ["b", "w", "none", "h \u00e9"]
        self.base.write_bytes(model.bytes)

        def replayed(scalars, **fields):
            self.transcript.write_bytes(sealed(model, names, scalars, **fields))
            self.out.unlink(missing_ok=True)
            answer = self.ask_json("replay", self.base, self.transcript, self.out)
            self.assertEqual((answer["parameters"], answer["tensors"], answer["untouched"]),
                             (180, 4, 2))
            return answer, self.out.read_bytes()

        answer, content = replayed([])
        self.assertEqual((content, answer["hash"]), (model.bytes, model.hash(names)))
        answer, content = replayed([0.25])
        at = len(model.bytes) - sum(len(t[3]) for t in model.tensors)
        self.assertEqual(content[:at + 16], model.bytes[:at + 16])
        after = []
        for name, kind, shape, data in model.tensors:
            after.append((name, kind, shape, content[at:at + len(data)]))
            at += len(data)
            if name in names and data:
                self.assertNotEqual(after[-1][3], data, name)
            else:
                self.assertEqual(after[-1][3], data, name)
        self.assertEqual(answer["hash"], Model(after).hash(names))
        # A step of 0.5 * 0.25 along a sign: as far as rounding lets every entry come.
        for index, size, code, ulps in [(1, 50, "f", 2**-20), (3, 60, "e", 2**-8)]:
            was, now = (struct.unpack(f"<{size}{code}", t[index][3])
                        for t in (model.tensors, after))
            for x, y in zip(was, now):
                self.assertAlmostEqual(abs(y - x), 0.125, delta=ulps)
        self.assertNotEqual(replayed([0.25], seed="8")[1], content)
        self.assertNotEqual(replayed([0.25, 0.0])[1], model.bytes)

        # Rounded at random, float tensors have the same bits, and others are at one of the two neighbours.
        near, content = content, replayed([0.25], version=3, rounding="stochastic")[1]
        self.assertEqual(replayed([0.25], version=3, rounding="stochastic")[1], content)
        at = len(model.bytes) - sum(len(t[3]) for t in model.tensors)
        for name, kind, _, data in model.tensors:
            a, b = near[at:at + len(data)], content[at:at + len(data)]
            at += len(data)
            if kind in ("F16", "BF16"):
                apart = [abs(x - y) for (x,), (y,) in zip(struct.iter_unpack("<H", a), struct.iter_unpack("<H", b))]
                self.assertEqual(set(apart), {0, 1}, name)
            else:
                self.assertEqual(a, b, name)
        at_random = dict(version=3, rounding="stochastic")
        for kept, change in [(names, dict(version=1, rounding="stochastic")), (names, dict(version=2, rounding="stochastic")),
                             (names, dict(version=3)), (names, dict(version=3, rounding="nearest")),
                             (names, dict(version=3, rounding="up")), (names, dict(version=4)), (["w"], at_random),
                             (["w", "none"], at_random)]:
            self.transcript.write_bytes(sealed(model, kept, [0.25], **change))
            for words in (["audit", self.transcript],
                          ["replay", self.base, self.transcript, self.here / "other"]):
                self.refused(*words, naming=["TRANSCRIPT"])

        for change in [dict(smoothing="1e-3"), dict(smoothing="1e300"), dict(learning_rate="-1"),
                       dict(weight_decay="3"), dict(schedule="linear 0"), dict(seed="-1"),
                       dict(law="cauchy"), dict(steps=2), dict(directions=0), dict(packed=b""),
                       dict(packed=b"\xff" * 8)]:
            self.transcript.write_bytes(sealed(model, names, [0.25], **{"steps": 1, **change}))
            for words in (["audit", self.transcript],
                          ["replay", self.base, self.transcript, self.here / "other"]):
                self.refused(*words, naming=["TRANSCRIPT"])
        for wrong in (["b", "w", "absent"], ["w", "w"]):
            others = Model([*model.tensors, ("absent", "F32", [1], b"1234")])
            self.transcript.write_bytes(sealed(others, wrong, [0.25]))
            self.refused("replay", self.base, self.transcript, self.here / "other",
                         naming=["BASE", "missing"])

    def test_what_follows_from_the_parameters(self):
        model = Model([("w", "F32", [2], bytes(8))])

        def audited(name, parameters, scalars=(0.5, 1.5), **fields):
            self.transcript.write_bytes(
                sealed(model, ["w"], scalars, mechanism=(name, parameters), **fields))
            return ["audit", self.transcript]

        noisy = [("steps", "whole", 1000), ("noise_multiplier", "real", 1), ("rate", "real", 0.01)]
        answer = self.ask(*audited("gaussian", noisy), "--delta", 1e-5)
        epsilon = self.ask_json("epsilon", "--steps", 1000, "--noise-multiplier", 1, "--rate", 0.01,
                                "--delta", 1e-5)["epsilon"]
        self.assertEqual((answer["epsilon"], answer["delta"]), (epsilon, 1e-5))
        self.refused(*audited("gaussian", noisy), naming=["--delta is missing"])
        self.refused(*audited("gaussian", noisy[1:]), "--delta", 1e-5, naming=["steps", "missing"])
        self.refused(*audited("gaussian", [("steps", "whole", 1), *noisy[1:]]), "--delta", 1e-5,
                     naming=["2 steps", "at most 1"])
        self.refused(*audited("gaussian", noisy), "--delta", 1e-5, "--universe", self.data,
                     naming=["--universe", "left out"])

        sums = [("steps", "whole", 1000), ("clip", "real", 1), ("noise_multiplier", "real", 1),
                ("rate", "real", 0.01), ("expected_records", "real", 100), ("records", "whole", 90)]
        for name in ("dpzero", "dp_aggzo"):
            answer = self.ask(*audited(name, sums), "--delta", 1e-5)
            self.assertEqual((answer["epsilon"], answer["delta"]), (epsilon, 1e-5))
        answer = self.ask(*audited("dp_zo_laplace", [("steps", "whole", 3), *sums[1:3],
                                                     ("rate", "real", 1),
                                                     ("expected_records", "real", 1), sums[5]],
                                   scalars=(0.5, 1.5, -2.25)), "--delta", 1e-9)
        self.assertTrue(2.9 < answer["epsilon"] <= 3.000001)  # pure 3
        for name in ("dpzero", "dp_aggzo", "dp_zo_laplace"):
            self.refused(*audited(name, sums), naming=["--delta is missing"])
            self.refused(*audited(name, sums, scalars=(0.5, 0.3)), "--delta", 1e-5,
                         naming=["step 1", "grid"])
            self.refused(*audited(name, [("steps", "whole", 1), *sums[1:]]), "--delta", 1e-5,
                         naming=["2 steps", "at most 1"])
            self.refused(*audited(name, [*sums[:1], ("clip", "real", 0), *sums[2:]]), "--delta", 1e-5,
                         naming=["clip"])
            self.refused(*audited(name, sums, symbols="sign 1", packed=b"\x03", steps=4), "--delta",
                         1e-5, naming=["signs"])

        groups = [("groups", "whole", 5), ("steps", "whole", 40), ("rate", "real", 0.01),
                  ("probability", "real", 0.25)]
        signs = dict(directions=5, steps=1, symbols="held_sign 0.2", packed=bytes([121]))
        answer = self.ask(*audited("ferret", groups, **signs))
        self.assertAlmostEqual(answer["mi"], 5 * 40 * 0.01 * 0.25 * math.log(2), delta=1e-12)
        self.assertEqual(answer["attack_bound"],
                         self.ask_json("attack", "--mi", answer["mi"])["success"])
        self.refused(*audited("ferret", [("groups", "whole", 4), *groups[1:]], **signs),
                     naming=["5 coefficients", "4 groups"])
        self.refused(*audited("ferret", groups, **{**signs, "symbols": "held_sign 0.25"}),
                     naming=["0.25", "0.2"])
        self.refused(*audited("ferret", groups), naming=["scalars"])

        pac = [("steps", "whole", 4), ("ledger", "text", "record"), ("budget", "real", 0.33),
               ("observed", "text", "sign"), ("allocation", "text", "adaptive"),
               ("disagreement", "text", "hold"), ("clip", "real", 1024), ("records", "whole", 9),
               ("subsets", "whole", 8), ("one_in", "whole", 4), ("complementary", "whole", 0),
               ("candidate_seed", "whole", 2**64 - 1)]
        sign = dict(symbols="sign 1", packed=b"\x03", steps=4)
        answer = self.ask(*audited("paczero", pac, **sign))
        self.assertEqual((answer["mi"], answer["ledger"]), (0.33, "record"))
        self.assertEqual(answer["attack_bound"],
                         self.ask_json("attack", "--mi", 0.33, "--prior", 0.75)["success_exact"])
        self.refused(*audited("paczero", pac, **{**sign, "steps": 5}), naming=["5 steps"])
        self.refused(*audited("paczero", pac, **{**sign, "symbols": "sign 0.5"}), naming=["0.5"])
        self.refused(*audited("paczero", pac), naming=["scalars"])
        for i, (key, kind, _) in enumerate(pac):
            value = {"whole": 2**64 - 1, "real": -1, "text": "other"}[kind]
            if key in ("steps", "candidate_seed"):
                continue
            wrong = [*pac[:i], (key, kind, value), *pac[i + 1:]]
            self.refused(*audited("paczero", wrong, **sign), naming=["TRANSCRIPT", key])
        self.refused(*audited("paczero", [*pac, ("more", "whole", 1)], **sign), naming=["more"])
        self.refused(*audited("unknown", []), naming=["unknown", "paczero"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
