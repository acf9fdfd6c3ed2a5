# SPDX-License-Identifier: Apache-2.0
"""What every door answers with the same figures, and refuses in the same words: the calculator, the page's engine, and Python.
No door has a figure where the headers refuse.

usage: doors.py CALCULATOR ASK HEADERS      (built of apps/tacit, web and header_door.cpp; python/tests/test_doors.py asks Python)
"""
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = {"epsilon": 2, "delta": 1e-5}
RUN = {"noise_multiplier": 1, "rate": 0.01, "steps": 100}

# A question that has an answer: the names are Python's.
QUESTIONS = {
    "epsilon": RUN | {"delta": 1e-5},
    "delta": RUN | {"epsilon": 1},
    "noise_multiplier_for": TARGET | {"rate": 0.01, "steps": 100},
    "steps_for": TARGET | {"noise_multiplier": 1, "rate": 0.01},
    "rate_for": TARGET | {"noise_multiplier": 1, "steps": 100},
    "batch_for": TARGET | {"noise_multiplier": 4, "steps": 100, "records": 1000},
    "attack_success_from_information": {"information": 0.3, "prior": 0.5},
    "attack_success_from_dp": TARGET | {"prior": 0.5},
    "information_for_success": {"success": 0.6, "prior": 0.5},
}

COUNT = "a whole number in [1, 2^53]"
NOISE = "in [0.001, 1e9]"


def batches(**changes):
    return {"rate": None, "batch": 10, "records": 100, "adjacency": "replace_one", **changes}


# None to Python, null to the page, an option left out of a command. (A value of None here is an argument left out.)
MISSING = object()

# What the page does not ask: it has one accountant.
NOT_OF_THE_PAGE = {"accountant"}

# (question, what is changed, the upper end to six digits)
ANSWERED = [
    ("epsilon", {"best_of": 20}, 1.61085),
    ("epsilon", {"best_of": 20, "best_of_law": "geometric"}, 1.61085),
    ("epsilon", {"best_of": 20, "best_of_law": "logarithmic"}, 1.43535),
    ("epsilon", {"best_of": 20, "best_of_law": "poisson"}, 1.70470),
    ("epsilon", {"best_of": 20, "accountant": "rdp"}, 2.29826),
    ("epsilon", {"best_of": 1}, 0.718036),
    ("epsilon", {"best_of": 0.5, "best_of_law": "poisson"}, 0.680215),
    ("delta", {"best_of": 20}, 0.00687926),
    ("delta", {"best_of": 20, "best_of_law": "logarithmic"}, 0.000770865),
    ("delta", {"best_of": 20, "best_of_law": "poisson"}, 0.00801804),
]

# What a command may leave out, and is answered.
OPTIONAL = {("batch_for", "records"), ("attack_success_from_information", "prior"), ("information_for_success", "prior"),
            ("attack_success_from_dp", "delta")}

# (question, what is changed, what is refused, what it must be)
REFUSED = [
    *(("epsilon", {"delta": x}, "delta", "in (0, 1)") for x in (0, 1, -0.5, 1.5)),
    *(("delta", {"epsilon": x}, "epsilon", "finite and at least 0") for x in (-1, -1e-300)),
    *(("epsilon", {"noise_multiplier": x}, "noise_multiplier", NOISE) for x in (0, -1, 0.0005, 2e9, 1e-320)),
    *(("epsilon", {"noise_multiplier": x, "mechanism": "laplace", "rate": None}, "noise_multiplier", NOISE) for x in (0, 0.0005)),
    *((ask, {"noise_multiplier": 0.0005}, "noise_multiplier", NOISE) for ask in ("delta", "steps_for", "rate_for", "batch_for")),
    *(("epsilon", {"rate": x}, "rate", "in [0, 1]") for x in (-0.1, 1.5)),
    *(("epsilon", {"steps": x}, "steps", COUNT) for x in (0, -3, 1.5, 2**53 + 1)),
    *(("epsilon", batches(records=x), "records", COUNT) for x in (0, 0.5, 2**53 + 1)),
    *(("epsilon", batches(batch=x), "batch", "a whole number in [1, 100]") for x in (101, 2**53)),
    *(("epsilon", {"records_per_person": x}, "records_per_person", "a whole number in [1, 1000000]") for x in (0, 1.5, 1000001)),
    ("epsilon", {"batch": 10, "records": 100}, "batch", "left out where rate is given"),
    ("epsilon", {"records": 100}, "records", "left out where rate is given"),
    ("epsilon", {"mechanism": "cauchy"}, "mechanism", None),  # the page has more of them
    ("epsilon", {"adjacency": "else"}, "adjacency", "add_remove, replace_one or zero_out"),
    *((ask, {"epsilon": -1}, "epsilon", "finite and at least 0")
      for ask in ("noise_multiplier_for", "steps_for", "rate_for", "batch_for")),
    *((ask, {"delta": x}, "delta", "in (0, 1)") for ask in ("noise_multiplier_for", "steps_for", "rate_for", "batch_for") for x in (0, 1)),
    ("noise_multiplier_for", {"rate": 1.5}, "rate", "in [0, 1]"),
    ("noise_multiplier_for", {"steps": 0}, "steps", COUNT),
    ("batch_for", {"records": 0}, "records", COUNT),
    ("attack_success_from_information", {"information": -1}, "information", "at least 0"),
    ("attack_success_from_dp", {"epsilon": -1}, "epsilon", "at least 0"),
    *(("attack_success_from_information", {"prior": x}, "prior", "in (0, 1]") for x in (0, 1.5)),
    ("attack_success_from_dp", {"delta": 1.5}, "delta", "in [0, 1]"),
    *(("information_for_success", {"success": x}, "success", "in (0, 1]") for x in (0, 1.5)),
    *(("information_for_success", {"prior": x}, "prior", "in (0, 1]") for x in (0, 1.5)),
    *(("epsilon", {name: x}, name, must_be) for x in (MISSING, "x") for name, must_be in (("delta", "in (0, 1)"), ("noise_multiplier", NOISE), ("steps", COUNT))),
    *(("epsilon", batches(**{name: x}), name, COUNT) for name, x in (("records", MISSING), ("records", "x"))),
    ("delta", {"epsilon": MISSING}, "epsilon", "finite and at least 0"),
    *((ask, {name: MISSING}, name, must_be) for ask in ("noise_multiplier_for", "steps_for", "rate_for", "batch_for")
      for name, must_be in (("epsilon", "finite and at least 0"), ("delta", "in (0, 1)"))),
    *((ask, {"noise_multiplier": MISSING}, "noise_multiplier", NOISE) for ask in ("delta", "steps_for", "rate_for", "batch_for")),
    ("noise_multiplier_for", {"steps": MISSING}, "steps", COUNT),
    ("batch_for", {"records": MISSING}, "records", COUNT),
    *(("attack_success_from_information", {"prior": x}, "prior", "in (0, 1]") for x in (MISSING, "x")),
    *(("information_for_success", {name: x}, name, "in (0, 1]") for name in ("success", "prior") for x in (MISSING, "x")),
    ("attack_success_from_dp", {"delta": MISSING}, "delta", "in [0, 1]"),
    *((ask, {"best_of": x, **law}, "best_of", "in [1e-3, 1e12]") for ask in ("epsilon", "delta") for x in (0, -1, 1e-4, 2e12, "x")
      for law in ({}, {"best_of_law": "poisson"})),
    *((ask, {"best_of": 0.5, **law}, "best_of", "in [1, 1e12] unless best_of_law is poisson") for ask in ("epsilon", "delta")
      for law in ({}, {"best_of_law": "logarithmic"})),
    ("epsilon", {"best_of": 20, "best_of_law": "fixed"}, "best_of_law", "geometric, logarithmic or poisson"),
    ("epsilon", {"best_of_law": "poisson"}, "best_of_law", "left out unless best_of is given"),
]

# What each number must be, whether a value is that; of an infinite one that only C++ and Python can tell, None.
def is_count(x):
    return x == int(x) and 1 <= x <= 2**53 if math.isfinite(x) else False


def at_least_0(x):
    return None if x == math.inf else x >= 0


AT_LEAST_HALF = "in [0.5, 1]"
RULES = {
    "noise_multiplier": (NOISE, lambda x: 0.001 <= x <= 1e9),
    "rate": ("in [0, 1]", lambda x: 0 <= x <= 1),
    "steps": (COUNT, is_count),
    "records": (COUNT, is_count),
    "delta": ("in (0, 1)", lambda x: 0 < x < 1),
    "epsilon": ("finite and at least 0", lambda x: 0 <= x < math.inf),
    "information": ("at least 0", at_least_0),
    "prior": ("in (0, 1]", lambda x: 0 < x <= 1),
    "success": ("in (0, 1]", lambda x: 0 < x <= 1),
    ("attack_success_from_dp", "epsilon"): ("at least 0", at_least_0),
    ("attack_success_from_dp", "prior"): (AT_LEAST_HALF, lambda x: 0.5 <= x <= 1),
    ("attack_success_from_dp", "delta"): ("in [0, 1]", lambda x: 0 <= x <= 1),
}
HOSTILE = [math.nan, math.inf, -math.inf, -1, -1e-300, 0, 5e-324, 0.5, 1, 1.5, 2**53, 2**64, 1e308, -1e308, "", "x", "1e400", "0x1", "1,5", "1 2"]
# Every number of every question: (question, name, value, range, whether it is refused), and where it is: None.
SWEPT = [(question, name, x, rule[0], not isinstance(x, str) and rule[1](x))
         for question, given in QUESTIONS.items() for name in given
         for rule in [RULES.get((question, name), RULES[name])] for x in HOSTILE]
REFUSED += [(question, {name: x}, name, must_be) for question, name, x, must_be, good in SWEPT if good is False]
# What all of them answer with one figure, or refuse alike because nothing keeps the target.
# (Calibrations of noise below what protects, or to the least delta, take seconds to minutes.)
GOOD = [(question, {name: x}) for question, name, x, _, good in SWEPT
        if good and not (question == "noise_multiplier_for" and (name, x) in {("delta", 5e-324), *(("epsilon", x) for x in (2**53, 2**64, 1e308))})]

WHOLE = "a whole number in [1, 1000000000]"
MATRIX = ["--noise-multiplier", "1", "--delta", "1e-5"]
STEP = ["--noise-multiplier", "1", "--rate", "0.01", "--steps", "10", "--delta", "1e-5"]


def strategy(word, *more, steps=5):
    return ["matrix", "--strategy", word, "--steps", str(steps), *more]


# What has no function of its own: (what Python does, a release of a schedule or the arguments of a command, name, value, range).
# RUN is an accountant of Poisson-sampled steps; an event is composed. A command's name of an argument may be another.
VALUES = [
    *((f"DiscreteGaussian({x})", {"mechanism": "discrete-gaussian", "sigma": x}, "sigma", x, "positive and finite") for x in (0, -1)),
    *((f"DiscreteLaplace(1, {x})", {"mechanism": "discrete-laplace", "scale": 1, "sensitivity": x}, "sensitivity", x, WHOLE)
      for x in (0, 2_000_000_000)),
    *((f"IntegerNoise('{law}', {x})", {"mechanism": law, "variance": x}, "variance", x, "positive and finite")
      for law in ("skellam", "binomial") for x in (0, -1)),
    ("IntegerNoise('binomial', 0.3)", {"mechanism": "binomial", "variance": 0.3}, "variance", 0.3,
     "a quarter of a number of coins in [1, 2^53] for binomial noise"),
    ("IntegerNoise('skellam', 5, 0)", {"mechanism": "skellam", "variance": 5, "sensitivity": 0}, "sensitivity", 0, WHOLE),
    *((f"two_sided_geometric({x})", {"mechanism": "geometric", "ratio": x}, "ratio", x, "in (0, 1)") for x in (0, 1, 1.5)),
    ("GaussianMixture(0, [(0.5, 1)])", {"mechanism": "gaussian-mixture", "sigma": 0, "points": [{"weight": 0.5, "sensitivity": 1}]},
     "sigma", 0, "positive and finite"),
    ("GaussianMixture(1, [(1.5, 1)])", {"mechanism": "gaussian-mixture", "sigma": 1, "points": [{"weight": 1.5, "sensitivity": 1}]},
     "weight", 1.5, "in [0, 1]"),
    ("GaussianMixture(1, [(0.5, -1)])", {"mechanism": "gaussian-mixture", "sigma": 1, "points": [{"weight": 0.5, "sensitivity": -1}]},
     "sensitivity", -1, "finite and at least 0"),
    ("Event(Gaussian(1), WithReplacement(0, 10))", {"mechanism": "gaussian", "noise_multiplier": 1, "batch": 0, "records": 10,
                                                    "with_replacement": True}, "batch", 0, COUNT),
    ("Event(Gaussian(1), WithReplacement(5, 0))", {"mechanism": "gaussian", "noise_multiplier": 1, "batch": 5, "records": 0,
                                                   "with_replacement": True}, "records", 0, COUNT),
    ("RandomisedResponse(1, 1)", {"mechanism": "randomised-response", "epsilon": 1, "categories": 1}, "categories", 1,
     "a whole number in [2, 2^53]"),
    ("GaussianDP(-1)", {"mechanism": "gaussian-dp", "mu": -1}, "mu", -1, "finite and at least 0"),
    ("ZCDP(-1)", {"mechanism": "zcdp", "rho": -1}, "rho", -1, "finite and at least 0"),
    ("DPProfile([(1, 1.5)])", {"mechanism": "profile", "points": [{"epsilon": 1, "delta": 1.5}]}, "delta", 1.5, "in [0, 1]"),
    ("RenyiDP([(1, 1)])", {"mechanism": "renyi", "points": [{"order": 1, "divergence": 1}]}, "order", 1, "finite and above 1"),
    ("matrix.identity_strategy(0)", strategy("identity", *MATRIX, steps=0), "steps", 0, "a whole number in [1, 10000000]"),
    *((f"matrix.matrix_run(matrix.identity_strategy(5), 1, {how})", strategy("identity", *words, *MATRIX), name, x, must_be)
      for how, words, name, x, must_be in (
          ("matrix.CyclicPoisson(2, 1.5)", ["--groups", "2", "--rate", "1.5"], "rate", 1.5, "in [0, 1]"),
          ("matrix.BallsInBins(0)", ["--bins", "0"], "bins", 0, "a whole number in [1, 10000000]"),
          ("matrix.MinSeparation(0)", ["--separation", "0"], "separation", 0, COUNT))),
    ("matrix.matrix_run(matrix.identity_strategy(5), 0, matrix.MinSeparation())",
     strategy("identity", "--noise-multiplier", "0", "--delta", "1e-5"), "noise_multiplier", 0, NOISE),
    ("CappedRun(RUN, 0, 10)", ["epsilon", *STEP, "--cap", "0", "--cap-records", "10"], "most", 0, COUNT),
    ("CappedRun(RUN, 5, 0)", ["epsilon", *STEP, "--cap", "5", "--cap-records", "0"], "records", 0, COUNT),
    ("SampledRun(RUN, Poisson(1.5))", ["epsilon", *STEP, "--drawn-once", "1.5"], "rate", 1.5, "in [0, 1]"),
]
COMMANDS_NAMES = {"cap": "most", "cap_records": "records", "drawn_once": "rate"}


def python_refuses(tacit, text):
    """Does what an entry of VALUES says."""
    run = tacit.PrivacyLossAccountant()
    accountant = tacit.PrivacyLossAccountant().compose(tacit.Event(tacit.Gaussian(1.0), tacit.Poisson(0.01)), 10)
    made = eval(text, {**vars(tacit), "RUN": accountant})
    if not isinstance(made, (list, tacit.CappedRun, tacit.SampledRun)):
        run.compose(made)


def agrees_on(said, name, value, must_be):
    said = message(said)
    for command, python in COMMANDS_NAMES.items():
        said = re.sub(rf"\A{command} is ", f"{python} is ", said)
    return said == f"{name} is {number(str(value))}, but must be {must_be}"


def asked(question, changes):
    """What is asked: of Python as it is, where None is what is missing."""
    given = {key: x for key, x in {**QUESTIONS[question], **changes}.items() if x is not None}
    return {key: None if x is MISSING else x for key, x in given.items()}


def message(said):
    """`NAME is VALUE, but must be RANGE`, without where it stands, and as Python names the argument."""
    found = re.fullmatch(r"(?s)(?:.*[ :.])?(?:--)?([a-z_-]+) is (.+?), but must be (.+?)\s*", said)
    if not found:
        return said
    name, value, must_be = found.groups()
    value = re.sub(r"""^['"]|['"]$""", "", value)
    must_be = must_be.replace("'", "").replace("--", "")
    must_be = re.sub(r"(?<=[a-z])-(?=[a-z])", "_", must_be)
    value = "missing" if value == "null" else value  # as the page itself says it
    name = {"prior_success": "prior", "mi": "information"}.get(name.replace("-", "_"), name.replace("-", "_"))
    return f"{name} is {number(value)}, but must be {must_be}"


def number(text):
    """5e-04 as 0.0005."""
    try:
        return repr(float(text))
    except ValueError:
        return text


def expected(changes, name, must_be):
    value = "missing" if changes[name] is MISSING else number(changes[name])
    return f"{name} is {value}, but must be {must_be}"


def agrees(said, changes, name, must_be):
    """What may be infinite in C++ and Python must be finite where numbers are texts, and the attacks that begin from nats
    take more priors."""
    if must_be is None:
        return name in said
    if must_be == AT_LEAST_HALF:
        return message(said) in {expected(changes, name, rule) for rule in (must_be, f"{must_be} where epsilon is given", "in (0, 1]")}
    return message(said) in {expected(changes, name, must_be), expected(changes, name, f"finite and {must_be}")}


def is_figure(upper, expected):
    return abs(upper - expected) <= 1e-5 * expected


def words(value):
    return str(value).replace("_", "-")


def ask_calculator(calculator, question, given):
    verb = {"epsilon": "epsilon", "delta": "delta", "noise_multiplier_for": "noise", "steps_for": "steps", "rate_for": "rate",
            "batch_for": "rate", "attack_success_from_information": "attack", "attack_success_from_dp": "attack",
            "information_for_success": "budget"}[question]
    call = [calculator, verb]
    if question == "batch_for":
        given = {"adjacency": "replace-one", **given}
    for key, x in given.items():
        if x is None:
            continue
        call += ["--" + {"information": "mi"}.get(key, key.replace("_", "-")), words(x)]
    done = subprocess.run([*call, "--json"], capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def asked_of_calculator(calculator, given):
    if isinstance(given, list):
        done = subprocess.run([calculator, *given, "--json"], capture_output=True, text=True, check=False)
        return done.stdout, done.stderr
    with tempfile.TemporaryDirectory() as folder:
        schedule = Path(folder) / "schedule.json"
        schedule.write_text(json.dumps({"adjacency": "add-remove", "releases": [{"steps": 1, **given}]}))
        done = subprocess.run([calculator, "epsilon", "--schedule", schedule, "--delta", "1e-5", "--json"], capture_output=True,
                              text=True, check=False)
    return done.stdout, done.stderr


def ask_headers(headers, cases):
    lines = "".join(f"{q} {' '.join(f'{key}={x}' for key, x in asked(q, changes).items())}\n" for q, changes in cases)
    done = subprocess.run([headers], input=lines, capture_output=True, text=True, check=True)
    return [None if line.startswith("refused") else float(line) for line in done.stdout.splitlines()]


def figure_of_calculator(number):
    """The figure that is the answer; None where there is none."""
    found = json.loads(number) if number else {}
    return next((float(found[key]) for key in ("upper", "noise_multiplier", "steps", "batch", "rate", "success", "mi") if key in found), None)


def figure_of_page(answer):
    found = next((answer[key] for key in ("upper", "value", "success", "mi") if key in answer), {"value": None})
    return found["value"]


def page_question(question, given):
    given = {key: as_text(x) for key, x in given.items()}
    if question == "information_for_success":
        return {"ask": "budget", **given}
    if question.startswith("attack"):
        return {"ask": "attack", **{{"information": "mi"}.get(key, key): x for key, x in given.items()}}
    of_run = {key: x for key, x in given.items()
              if key in ("noise_multiplier", "rate", "batch", "records", "steps", "records_per_person", "mechanism")}
    found = question.removesuffix("_for")
    adjacency = words(given.get("adjacency", "replace_one" if found == "batch" else "add_remove"))
    asks = {key: given[key] for key in (*TARGET, "best_of", "best_of_law") if key in given}
    return {"ask": found, **asks, "run": {"adjacency": adjacency, "releases": [{"mechanism": "gaussian", **of_run}]}}


def as_text(x):
    """What no JSON holds is sent as it was typed."""
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x


def ask_page(page, questions):
    lines = "".join(json.dumps(q) + "\n" for q in questions)
    done = subprocess.run([page], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main():
    calculator, page, headers = sys.argv[1:4]
    wrong = []

    def check(door, case, said, number):
        question, changes, name, must_be = case
        if number or not agrees(said, changes, name, must_be):
            wrong.append(f"{door}, {question} {changes}:\n  {said.strip() or number}\n  {expected(changes, name, must_be)}")

    for question in QUESTIONS:
        number, said = ask_calculator(calculator, question, QUESTIONS[question])
        if said or not number:
            wrong.append(f"calculator, {question}: {said}")
    for question, changes, upper in ANSWERED:
        number, said = ask_calculator(calculator, question, asked(question, changes))
        if said or not is_figure(json.loads(number)["upper"], upper):
            wrong.append(f"calculator, {question} {changes}: {said or number}")
    of_page = [case for case in ANSWERED if not NOT_OF_THE_PAGE & case[1].keys()]
    for case, answer in zip(of_page, ask_page(page, [page_question(q, asked(q, changes)) for q, changes, _ in of_page])):
        if "error" in answer or not is_figure(answer["upper"]["value"], case[2]):
            wrong.append(f"page, {case}: {answer}")
    of_page = ask_page(page, [page_question(q, asked(q, changes)) for q, changes in GOOD])
    for (q, changes), of_headers, answer in zip(GOOD, ask_headers(headers, GOOD), of_page):
        number, said = ask_calculator(calculator, q, asked(q, changes))
        figures = {"headers": of_headers, "calculator": figure_of_calculator(number), "page": figure_of_page(answer)}
        if len({None if x is None else f"{x:.4e}" for x in figures.values()}) > 1:
            wrong.append(f"{q} {changes}: {figures} {said}")
    answers = ask_page(page, [page_question(q, given) for q, given in QUESTIONS.items()])
    wrong += [f"page, {q}: {answer}" for q, answer in zip(QUESTIONS, answers) if "error" in answer]
    of_page = [case for case in REFUSED if not NOT_OF_THE_PAGE & case[1].keys()]
    answers = iter(ask_page(page, [page_question(q, asked(q, changes)) for q, changes, _, _ in of_page]))
    for case in REFUSED:
        if case[1].get(case[2]) is not MISSING or (case[0], case[2]) not in OPTIONAL:
            number, said = ask_calculator(calculator, case[0], asked(*case[:2]))
            check("calculator", case, said, number)
        if case in of_page:
            answer = next(answers)
            check("page", case, answer.get("error", ""), {} if "error" in answer else answer)
    releases = [value for value in VALUES if isinstance(value[1], dict)]
    questions = [{"ask": "epsilon", "delta": 1e-5, "run": {"adjacency": "add-remove", "releases": [{"steps": 1, **release}]}}
                 for _, release, *_ in releases]
    for (text, release, *named), answer in zip(releases, ask_page(page, questions)):
        if not agrees_on(answer.get("error", ""), *named):
            wrong.append(f"page, {release}:\n  {answer}\n  {named}")
    for text, given, *named in VALUES:
        number, said = asked_of_calculator(calculator, given)
        if number or not agrees_on(said, *named):
            wrong.append(f"calculator, {given}:\n  {said.strip() or number}\n  {named}")
    print("\n".join(wrong) or f"{len(ANSWERED) + len(GOOD)} answers of the same figures, {len(REFUSED) + len(VALUES)} refusals in the same words")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
