#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page's questions, compiled natively, against the calculator's answers.

usage: test_questions.py ASK CALCULATOR
"""
import json
import subprocess
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import cases

ASK, CALCULATOR = sys.argv[1:3]


def answers(questions):
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    return [json.loads(line) for line in subprocess.run([ASK], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()]


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.asked = cases.all_cases()
        cls.answered = answers([question for question, _, _ in cls.asked])

    def test_the_digits_are_the_calculators(self):
        for (question, words, kind), answer in zip(self.asked, self.answered, strict=True):
            with self.subTest(question=question):
                for ours, theirs in cases.pairs(kind, answer, cases.of_calculator(CALCULATOR, words)):
                    self.assertTrue(cases.agree(ours, theirs), (ours, theirs))

    def test_ends_are_printed_outwards(self):
        for answer in (answer for (_, _, kind), answer in zip(self.asked, self.answered, strict=True) if kind == "interval"):
            for text in ("text", "full"):
                for end, outwards in (("lower", self.assertLessEqual), ("upper", self.assertGreaterEqual)):
                    if answer[end]["value"] is not None:
                        outwards(Fraction(answer[end][text]), Fraction(answer[end]["value"]))

    def test_bad_input_is_refused_by_name_and_never_answered(self):
        for (question, argument, must_be), answer in zip(cases.REFUSED, answers([q for q, _, _ in cases.REFUSED]), strict=True):
            with self.subTest(question=question):
                cases.check_refused(answer, argument, must_be)

    def test_the_refusal_names_the_release(self):
        two = {"ask": "epsilon", "delta": 1e-5, "run": cases.run(cases.GAUSSIAN, cases.with_(rate=-1))}
        self.assertEqual(answers([two])[0]["release"], 1)

    def test_what_is_found_keeps_the_target_after_what_came_before(self):
        for key in ("noise_multiplier", "steps", "rate"):
            found = answers([{"ask": key, "epsilon": 4, "delta": 1e-5, "run": cases.run(cases.with_(steps=1000), cases.GAUSSIAN)}])[0]
            with self.subTest(key=key):
                self.assertEqual(found["run"]["releases"][0]["steps"], 1000)
                kept = answers([{"ask": "epsilon", "delta": 1e-5, "run": found["run"]}])[0]
                self.assertTrue(3.99 < kept["upper"]["value"] <= 4, kept)

    def test_misses_are_a_lower_bound_that_is_near_the_curve(self):
        # One Gaussian release of multiplier 1: Phi(Phi^-1(1 - alpha) - 1).
        normal = NormalDist()
        at = [0.001, 0.01, 0.1, 0.3, 0.5, 0.9]
        epsilons = [k * k / 400 for k in range(97)]
        whole = cases.run({"mechanism": "gaussian", "noise_multiplier": 1, "steps": 1})
        deltas = [end["value"] for end in answers([{"ask": "deltas", "run": whole, "at": epsilons}])[0]["upper"]]
        misses = answers([{"ask": "misses", "epsilons": epsilons, "deltas": deltas, "at": at}])[0]["misses"]
        for alarms, end in zip(at, misses, strict=True):
            truth = normal.cdf(normal.inv_cdf(1 - alarms) - 1)
            self.assertLessEqual(end["value"], truth * (1 + 1e-12))
            self.assertGreater(end["value"], truth - 1e-3)

    def test_an_attacker_on_the_best_of_several(self):
        about = {"run": cases.run(cases.with_(steps=100))}
        for prior in (0.5, 0.01, 0.9, 0, 1):
            one, same, more, few = answers([{"ask": "attack_on_run", "prior": prior, **about, **changes} for changes in (
                {}, {"best_of": 1}, {"best_of": 50}, {"best_of": 0.01, "best_of_law": "poisson"})])
            with self.subTest(prior=prior):
                for key in ("success", "advantage"):
                    self.assertAlmostEqual(one[key]["value"], same[key]["value"], 12)
                    self.assertGreaterEqual(same[key]["value"], one[key]["value"] * (1 - 1e-12))
                    self.assertTrue(one[key]["value"] * (1 - 1e-12) <= more[key]["value"] <= 1)
                self.assertTrue(max(prior, 1 - prior) <= few["success"]["value"] <= 1)
        self.assertEqual(answers([{"ask": "epsilon", "delta": 1e-5, "best_of": 20, **about}])[0]["best_of"],
                         {"mean": {"value": 20.0, "text": "20", "full": "20"}, "law": "geometric", "gamma": 0.05000000000000004})

    def test_a_schedule_is_read_as_the_calculator_reads_it(self):
        allocated = cases.with_(rate=None, allocate=2, of=50, steps=3)
        read = answers([{"ask": "schedule", "text": "[[1, 0.01, 100]]"},
                        {"ask": "schedule", "text": '{"history": [[1, 0.01, 100]], "mechanism": "rdp"}'},
                        {"ask": "schedule", "text": '{"releases": [{"mechanism": "gaussian", "groups": [{"clip": 3, "sigma": 6}]}]}'},
                        {"ask": "schedule", "text": json.dumps(cases.run(allocated))},
                        {"ask": "schedule", "text": '{"releases": [], "releases": []}'},
                        {"ask": "schedule", "text": "[" * 40},
                        {"ask": "schedule", "text": '{"adjacency": "zero-out", "releases": [{"mechanism": "gaussian", "noise_multiplier": 4, "shuffled": true, "batches": 10}]}'},
                        {"ask": "schedule", "text": '{"releases": [{"mechanism": "permute-and-flip", "scale": 4}]}'},
                        {"ask": "schedule", "text": '{"releases": [{"mechanism": "gnmax-check", "sigma": 4}]}'}])
        self.assertEqual(read[0]["run"]["releases"], [cases.with_(steps=100)])
        self.assertEqual(read[0], read[1])
        self.assertAlmostEqual(read[2]["run"]["releases"][0]["noise_multiplier"], 2, 12)
        self.assertEqual(read[3]["run"]["releases"], [allocated])
        self.assertIn("given twice", read[4]["error"])
        self.assertIn("error", read[5])
        self.assertIn("batches is 10, but must be left out: the page does not amplify shuffled batches", read[6]["error"])
        self.assertIn("releases[0].mechanism is one whose epsilon depends on the neighbours", read[7]["error"])
        self.assertEqual(read[8]["run"]["releases"], [{"mechanism": "gaussian-dp", "mu": 0.25, "steps": 1}])

    def test_other_libraries_states_are_read_as_the_calculator_reads_them(self):
        step = cases.with_(steps=100)
        for text in cases.SAME_RUN:
            with self.subTest(text=text):
                self.assertEqual(answers([{"ask": "schedule", "text": text}])[0]["run"], {"adjacency": "add-remove", "releases": [step]})
        for text, release, adjacency in cases.STATES:
            with self.subTest(text=text), tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "state")
                file.write_text(text, encoding="utf-8")
                read = answers([{"ask": "schedule", "text": text}])[0]["run"]
                self.assertEqual(read, {"adjacency": adjacency, "releases": [{"steps": 1, **release}]})
                theirs = cases.of_calculator(CALCULATOR, ["epsilon", "--schedule", file, "--delta", "1e-5"])
                ours = answers([{"ask": "epsilon", "run": read, "delta": 1e-5}])[0]
                self.assertEqual((ours["lower"]["value"], ours["upper"]["value"]), (theirs["lower"], theirs["upper"]))

    def test_states_are_refused_in_the_calculators_words(self):
        for wrong in cases.NO_STATES:
            with self.subTest(wrong=wrong), tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "state")
                file.write_text(wrong, encoding="utf-8")
                said = subprocess.run([CALCULATOR, "epsilon", "--schedule", file, "--delta", "1e-5"], capture_output=True, text=True)
                ours = answers([{"ask": "schedule", "text": wrong}])[0]
                self.assertNotIn("run", ours)
                self.assertEqual(said.stderr.strip(), f"tacit epsilon: --schedule {file}: {ours['error']}")

    def test_schedules_are_refused_in_the_calculators_words(self):
        good, gaussian = cases.GAUSSIAN, {"mechanism": "gaussian", "noise_multiplier": 1}
        for wrong in ({"releases": []}, {}, {"releases": [5]}, {"releases": [good], "steps": 3}, {"releases": [good], "adjacency": "replace"},
                      [[1, 2, 10]], [[1, 0.01]], [], {"history": [[1, 0.1, 1]], "mechanism": "rpd"}, 7,
                      *({"releases": [good, release]} for release in (
                          {**good, "rate": 1.5}, {**good, "rate": None}, {**good, "steps": 1.5}, {**good, "of": 3, "allocate": 1},
                          {**gaussian, "allocate": 4, "of": 3}, {**gaussian, "of": 3}, {**gaussian, "allocate": 1},
                          {**gaussian, "batch": 3, "records": 2}, {**good, "steps": 2**53}, {"mechanism": "cauchy"}, {**good, "clip": 1},
                          {"mechanism": "gaussian", "groups": [{"clip": 1}]}, {**good, "records_per_person": 0}, {**good, "mechanism": 1}))):
            with self.subTest(wrong=wrong), tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "run.json")
                file.write_text(json.dumps(wrong), encoding="utf-8")
                said = subprocess.run([CALCULATOR, "epsilon", "--schedule", file, "--delta", "1e-5"], capture_output=True, text=True)
                ours = answers([{"ask": "schedule", "text": json.dumps(wrong)}])[0]["error"]
                self.assertEqual(said.stderr.strip(), f"tacit epsilon: --schedule {file}: {ours}")

    def test_what_is_no_question_is_refused(self):
        for line in ("", "[]", "7", "{", '{"ask": 1}', '{"ask": "epsilon", "run": 3, "delta": 1e-5}', '"\\ud800"', "\xff"):
            done = subprocess.run([ASK], input=(line + "\n").encode("latin-1"), capture_output=True, check=True)
            self.assertIn("error", json.loads(done.stdout), line)


unittest.main(argv=sys.argv[:1])
