# SPDX-License-Identifier: Apache-2.0
"""Questions to the page's engine, each beside the same question to the calculator: corners, and random runs."""
import json
import math
import random
import subprocess
import tempfile
from pathlib import Path

GAUSSIAN = {"mechanism": "gaussian", "noise_multiplier": 1, "rate": 0.01, "steps": 10000}
OUTPUTS = [[1.0, 0.2], [1.1, 0.1], [0.8, 0.3], [0.9, 0.2], [0.95, 0.17]]


def run(*releases, adjacency="add-remove"):
    return {"adjacency": adjacency, "releases": list(releases)}


def with_(**changes):
    return {k: v for k, v in (GAUSSIAN | changes).items() if v is not None}


def cost(ask, schedule, **at):
    """A question about a schedule. The calculator reads the same schedule from a file."""
    options = [word for key, x in at.items() for word in (f"--{key}", repr(x))]
    return {"ask": ask, "run": schedule, **at}, [ask, "--schedule", schedule, *options], "interval"


def best_of(mean, law, ask, schedule, **at):
    question, words, kind = cost(ask, schedule, **at)
    given = {"best_of": mean} | ({"best_of_law": law} if law else {})
    return question | given, [*words, *(word for key, x in given.items() for word in (f"--{key.replace('_', '-')}", str(x)))], kind


def sought(ask, verb, answer, schedule, options, epsilon, delta):
    """A calibration of a run of one phase."""
    words = [verb, "--adjacency", schedule["adjacency"], *options, "--epsilon", repr(epsilon), "--delta", repr(delta)]
    return {"ask": ask, "run": schedule, "epsilon": epsilon, "delta": delta}, words, answer


def flags(release, without=()):
    names = {"mechanism": "--mechanism", "noise_multiplier": "--noise-multiplier", "rate": "--rate", "batch": "--batch",
             "records": "--records", "allocate": "--allocate", "of": "--of", "steps": "--epochs" if "of" in release else "--steps",
             "records_per_person": "--records-per-person"}
    return [word for key, x in release.items() if key not in without for word in (names[key], str(x))]


def corners():
    laplace = {"mechanism": "laplace", "noise_multiplier": 20, "steps": 3}
    batches = with_(noise_multiplier=4, rate=None, batch=600, records=60000, steps=1000)
    yield cost("epsilon", run(GAUSSIAN), delta=1e-5)
    yield cost("epsilon", run(GAUSSIAN), delta=1e-300)
    yield cost("epsilon", run(GAUSSIAN), delta=0.999)
    yield cost("delta", run(GAUSSIAN), epsilon=0.0)
    yield cost("delta", run(GAUSSIAN), epsilon=20.0)
    yield cost("delta", run(GAUSSIAN), epsilon=700.0)
    yield cost("epsilon", run(with_(rate=0)), delta=1e-5)
    yield cost("epsilon", run(with_(rate=1)), delta=1e-5)
    yield cost("epsilon", run(with_(steps=1)), delta=1e-5)
    yield cost("epsilon", run(with_(rate=1e-9, steps=10**9)), delta=1e-12)
    yield cost("epsilon", run(with_(noise_multiplier=1e6, rate=None)), delta=1e-5)
    yield cost("epsilon", run(with_(noise_multiplier=0.3, steps=10)), delta=1e-5)
    yield cost("epsilon", run(with_(records_per_person=3, steps=100)), delta=1e-5)
    yield cost("epsilon", run(with_(), adjacency="zero-out"), delta=1e-5)
    yield cost("epsilon", run(batches, adjacency="replace-one"), delta=1e-5)
    yield cost("epsilon", run(with_(rate=None, allocate=1, of=1000, steps=1)), delta=1e-6)
    yield cost("epsilon", run(with_(rate=None, allocate=3, of=100, steps=5), with_(steps=100)), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "laplace", "noise_multiplier": 1, "allocate": 1, "of": 20, "steps": 3}), delta=1e-6)
    yield cost("epsilon", run(with_(rate=None, allocate=2, of=20, steps=3, records_per_person=2)), delta=1e-6)
    yield cost("delta", run(with_(rate=None, allocate=1, of=50, steps=2, noise_multiplier=3)), epsilon=0.5)
    yield cost("epsilon", run(with_(noise_multiplier=1.1, steps=1000), laplace), delta=1e-5)
    yield cost("epsilon", run(with_(noise_multiplier=1.1), with_(noise_multiplier=0.9, rate=0.02)), delta=1e-6)
    yield cost("epsilon", run({"mechanism": "laplace", "noise_multiplier": 20, "steps": 1}), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "discrete-gaussian", "sigma": 5, "sensitivity": 2, "steps": 1}), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "discrete-laplace", "scale": 5, "steps": 1}), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "randomised-response", "epsilon": 1, "categories": 4, "steps": 1},
                              adjacency="replace-one"), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "pure", "epsilon": 0.1, "steps": 10}), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "approximate", "epsilon": 0.1, "delta": 1e-4, "steps": 1}), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "matrix-gaussian", "noise_multiplier": 3, "sensitivity": 2, "steps": 1}), delta=1e-5)
    yield cost("epsilon", run({"mechanism": "gaussian", "steps": 1, "groups": [{"clip": 1, "sigma": 2}, {"clip": 2, "sigma": 3}]}),
               delta=1e-5)
    for ask, at in (("epsilon", {"delta": 1e-5}), ("delta", {"epsilon": 8.0})):
        yield best_of(20.0, None, ask, run(GAUSSIAN), **at)
        yield best_of(20.0, "logarithmic", ask, run(GAUSSIAN), **at)
        yield best_of(1.0, "geometric", ask, run(with_(steps=100)), **at)
        yield best_of(0.5, "poisson", ask, run(GAUSSIAN), **at)
        yield best_of(30.0, "poisson", ask, run(GAUSSIAN), **at)
    yield sought("noise_multiplier", "noise", "noise_multiplier", run(GAUSSIAN), flags(GAUSSIAN, ["noise_multiplier"]), 2.0, 1e-5)
    yield sought("steps", "steps", "steps", run(GAUSSIAN), flags(GAUSSIAN, ["steps"]), 2.0, 1e-5)
    yield sought("rate", "rate", "rate", run(GAUSSIAN), flags(GAUSSIAN, ["rate"]), 2.0, 1e-5)
    few = with_(noise_multiplier=2, rate=None, batch=1, records=1000, steps=10)
    yield sought("batch", "rate", "batch", run(few, adjacency="replace-one"), flags(few, ["batch"]), 2.0, 1e-5)
    epochs = with_(rate=None, allocate=1, of=1000, steps=10)
    yield sought("noise_multiplier", "noise", "noise_multiplier", run(epochs), flags(epochs, ["noise_multiplier"]), 2.0, 1e-5)
    for mi, prior in ((0.33, 0.5), (0.01, 0.9), (0.0, 0.5), (5.0, 0.25)):
        yield ({"ask": "attack", "mi": mi, "prior": prior}, ["attack", "--mi", repr(mi), "--prior", repr(prior)],
               {"success": "success", "epsilon": "epsilon"})
    yield ({"ask": "attack", "epsilon": 1.0, "delta": 1e-5, "prior": 0.5},
           ["attack", "--epsilon", "1.0", "--delta", "1e-05", "--prior", "0.5"], {"success": "success", "mi": "mi"})
    yield ({"ask": "budget", "success": 0.6, "prior": 0.5}, ["budget", "--success", "0.6", "--prior", "0.5"],
           {"mi": "mi", "epsilon": "epsilon"})
    for rows_are, method, shape in (("candidates", "candidates", "full"), ("candidates", "candidates", "diagonal"),
                                    ("candidates", "log-det", "full"), ("candidates", "efficient", "diagonal"),
                                    ("samples", "log-det", "full"), ("samples", "efficient", "diagonal")):
        yield ({"ask": "pac", "rows": OUTPUTS, "rows_are": rows_are, "method": method, "shape": shape, "budget": 0.5},
               ["calibrate", OUTPUTS, "--method", method, "--rows", rows_are, "--shape", shape, "--mi", "0.5"],
               {"trace": "trace", "bound": "mi_bound"} if rows_are == "candidates" else {"trace": "trace", "estimate": "mi_estimate"})
    yield ({"ask": "pac", "rows": OUTPUTS, "rows_are": "samples", "method": "auto", "shape": "full", "budget": 0.5,
            "output_norm": 2, "c": 0.001, "slack": 0.1},
           ["calibrate", OUTPUTS, "--method", "auto", "--output-norm", "2", "--c", "0.001", "--slack", "0.1", "--mi", "0.5"],
           {"trace": "trace", "estimate": "mi_estimate"})


# What is refused, by the name of the argument; and by the message where several are at fault.
REFUSED = [
    ({"ask": "epsilon", "run": run(GAUSSIAN), "delta": 0}, "delta", "in (0, 1)"),
    ({"ask": "epsilon", "run": run(GAUSSIAN), "delta": 1}, "delta", "in (0, 1)"),
    ({"ask": "epsilon", "run": run(GAUSSIAN), "delta": "nan"}, "delta", "in (0, 1)"),
    ({"ask": "epsilon", "run": run(GAUSSIAN)}, "delta", "in (0, 1)"),
    ({"ask": "delta", "run": run(GAUSSIAN), "epsilon": -1}, "epsilon", "finite and at least 0"),
    ({"ask": "epsilon", "run": run(with_(noise_multiplier=0)), "delta": 1e-5}, "noise_multiplier", "in [0.001, 1e9]"),
    ({"ask": "epsilon", "run": run(with_(noise_multiplier="inf")), "delta": 1e-5}, "noise_multiplier", "in [0.001, 1e9]"),
    ({"ask": "epsilon", "run": run(with_(rate=1.5)), "delta": 1e-5}, "rate", "in [0, 1]"),
    ({"ask": "epsilon", "run": run(with_(steps=1.5)), "delta": 1e-5}, "steps", "a whole number"),
    ({"ask": "epsilon", "run": run(with_(steps=0)), "delta": 1e-5}, "steps", "a whole number"),
    ({"ask": "epsilon", "run": run(with_(steps=2**53), with_(steps=1)), "delta": 1e-5}, "steps", "so small"),
    ({"ask": "epsilon", "run": run(with_(records_per_person=2_000_000)), "delta": 1e-5}, "records_per_person", "[1, 1000000]"),
    ({"ask": "epsilon", "run": run(with_(rate=None, batch=3, records=2), adjacency="zero-out"), "delta": 1e-5}, "batch",
     "in [1, 2]"),
    ({"ask": "epsilon", "run": run(with_(mechanism="cauchy")), "delta": 1e-5}, "mechanism", "laplace"),
    ({"ask": "epsilon", "run": run(with_(bogus=1)), "delta": 1e-5}, "bogus", "one of"),
    ({"ask": "epsilon", "run": run(GAUSSIAN, adjacency="else"), "delta": 1e-5}, "adjacency", "add-remove"),
    ({"ask": "epsilon", "run": run(), "delta": 1e-5}, "releases", "a list"),
    ({"ask": "epsilon", "run": run(with_(rate=None, shuffled=True)), "delta": 1e-5}, None, "no known bound"),
    ({"ask": "noise_multiplier", "run": run(GAUSSIAN), "epsilon": 2, "delta": 2}, "delta", "in (0, 1)"),
    ({"ask": "steps", "run": run(with_(noise_multiplier=0.1, rate=1)), "epsilon": 0.01, "delta": 1e-9}, None, "not even one step"),
    ({"ask": "attack_on_run", "run": run(GAUSSIAN), "prior": 2}, "prior", "in [0, 1]"),
    ({"ask": "attack", "mi": -1, "prior": 0.5}, "information", "at least 0"),
    ({"ask": "attack", "mi": 1, "prior": 0}, "prior_success", "in (0, 1]"),
    ({"ask": "budget", "success": 0.4, "prior": 0.5}, "success", "at least the prior success"),
    ({"ask": "pac", "rows": [[1], ["x"]], "rows_are": "candidates", "method": "log-det", "shape": "full", "budget": 1}, None,
     "must be numbers"),
    ({"ask": "pac", "rows": [[1], [2]], "rows_are": "candidates", "method": "log-det", "shape": "full", "budget": 0}, "budget",
     "positive and finite"),
    ({"ask": "pac", "rows": [[1], [2]], "rows_are": "candidates", "method": "efficient", "shape": "full", "budget": 1}, "shape",
     "diagonal with the method efficient"),
    ({"ask": "pac", "rows": [[1], [2]], "rows_are": "samples", "method": "auto", "shape": "diagonal", "budget": 1, "output_norm": 3,
      "c": 1, "slack": 0.1}, "shape", "full with the method auto"),
    ({"ask": "epsilon", "run": run({"mechanism": "gaussian", "groups": [{"clip": 1, "sigma": 1e-5}]}), "delta": 1e-5}, "groups",
     "joint noise multiplier in [0.001, 1e9]"),
    ({"ask": "epsilon", "run": run(with_(rate=None, allocate=11, of=10)), "delta": 1e-5}, "allocate", "in [1, 10]"),
    ({"ask": "epsilon", "run": run(with_(rate=None, of=10)), "delta": 1e-5}, "allocate", "is missing"),
    ({"ask": "epsilon", "run": run(with_(allocate=1, of=10)), "delta": 1e-5}, "rate", "left out"),
    ({"ask": "noise_multiplier", "run": run(with_(rate=None, allocate=1, of=0)), "epsilon": 2, "delta": 1e-5}, "of", "[1, 10000000]"),
    ({"ask": "steps", "run": run(with_(rate=1.5)), "epsilon": 2, "delta": 1e-5}, "rate", "in [0, 1]"),
    ({"ask": "batch", "run": run(with_(rate=None, records=0), adjacency="replace-one"), "epsilon": 2, "delta": 1e-5}, "records",
     "whole number"),
    ({"ask": "schedule", "text": "[[1, 0.01"}, "text", "is no JSON"),
    ({"ask": "schedule", "text": "7"}, None, "is no schedule"),
    ({"ask": "schedule", "text": "[[1, 2, 3]]"}, "rate", "in [0, 1]"),
    ({"ask": "nothing"}, "ask", "known questions"),
    *(({"ask": ask, "run": run(GAUSSIAN), **at, "best_of": x}, "best_of", must_be)
      for ask, at in (("epsilon", {"delta": 1e-5}), ("deltas", {"at": [1.0]}), ("attack_on_run", {"prior": 0.5}))
      for x, must_be in ((0, "in [1e-3, 1e12]"), (0.5, "in [1, 1e12] unless best_of_law is poisson"), ("nan", "in [1e-3, 1e12]"), (None, "in [1e-3, 1e12]"))),
    ({"ask": "epsilon", "run": run(GAUSSIAN), "delta": 1e-5, "best_of": 2, "best_of_law": "fixed"}, "best_of_law", "geometric, logarithmic or poisson"),
    ({"ask": "epsilon", "run": run(GAUSSIAN), "delta": 1e-5, "best_of_law": "poisson"}, "best_of_law", "left out unless best_of is given"),
]


# One run as other libraries state it: 100 steps of noise 1 on Poisson samples of rate 0.01.
_STEP = "PoissonSampledDpEvent(sampling_probability=0.01, event=GaussianDpEvent(noise_multiplier=1.0))"
SAME_RUN = [
    "[(np.float64(1.0), 0.01, 100)]",
    *(f"OrderedDict([('history', [(1.0, 0.01, 100)]), ('mechanism', '{word}')])" for word in ("rdp", "gdp", "prv", "tacit")),
    f"SelfComposedDpEvent(event={_STEP}, count=100)",
    f"ComposedDpEvent(events=[NoOpDpEvent(), dp_accounting.SelfComposedDpEvent({_STEP}, 100)])",
    json.dumps(["dp_accounting.dp_event", "SelfComposedDpEvent",
                ["dp_accounting.dp_event", "PoissonSampledDpEvent", 0.01, ["dp_accounting.dp_event", "GaussianDpEvent", 1.0]], 100]),
    "PRVAccountant([PoissonSubsampledGaussianMechanism(p=0.01, sigma=1.0)], max_self_compositions=[100])",
    "DPSGDAccountant(noise_multiplier=1.0, sampling_probability=0.01, max_steps=100)",
]
# (the state, the release that it is, its neighbours)
STATES = [
    ("SampledWithReplacementDpEvent(source_dataset_size=1000, sample_size=10, event=GaussianDpEvent(3.0))",
     {"mechanism": "gaussian", "noise_multiplier": 3.0, "batch": 10, "records": 1000, "with_replacement": True}, "add-remove"),
    ("SingleEpochTreeAggregationDpEvent(noise_multiplier=10.0, step_counts=array([ 3, 15]))",
     {"mechanism": "matrix-gaussian", "noise_multiplier": 10.0, "sensitivity": 2.0}, "zero-out"),
    ("MixtureOfGaussiansDpEvent(standard_deviation=1.5, sensitivities=[0.0, 1.0], sampling_probs=(0.75, 0.25))",
     {"mechanism": "gaussian-mixture", "sigma": 1.5,
      "points": [{"sensitivity": 0.0, "weight": 0.75}, {"sensitivity": 1.0, "weight": 0.25}]}, "add-remove"),
    ("PRVAccountant(prvs=[LaplaceMechanism(mu=0.0625)])", {"mechanism": "laplace", "noise_multiplier": 16.0}, "add-remove"),
]
NO_STATES = [
    "NonPrivateDpEvent()", "RepeatAndSelectDpEvent(event=GaussianDpEvent(noise_multiplier=1.0), mean=0.5, shape=1.0)",
    "TruncatedSubsampledGaussianDpEvent(1000, 1.01, 20, 1.0)", "ComposedDpEvent([CauchyDpEvent(1.0)])", "GaussianDpEvent(nan)",
    "GaussianDpEvent(0)", "GaussianDpEvent(1e400)", "PoissonSampledDpEvent(1.5, GaussianDpEvent(1.0))", "ComposedDpEvent([])",
    "{'history': [(1.0, 1.5, 10)]}", "{'history': [(1.0, 0.01, 10)], 'mechanism': 'zcdp'}", "DPSGDAccountant(1.0, 0.01)",
    "PRVAccountant([CauchyMechanism(1.0)])", "GaussianDpEvent(1.0", "__import__('os')", "[(1.0, 0.01, 10), ",
]


def random_runs(count, seed=7):
    draw = random.Random(seed)
    for _ in range(count):
        release = {"mechanism": "gaussian", "noise_multiplier": float(f"{10 ** draw.uniform(-0.3, 1.3):.4g}"),
                   "rate": float(f"{10 ** draw.uniform(-4, 0):.4g}"), "steps": round(10 ** draw.uniform(0, 5))}
        if draw.random() < 0.5:
            yield cost("epsilon", run(release), delta=float(f"{10 ** draw.uniform(-12, -2):.4g}"))
        else:
            yield cost("delta", run(release), epsilon=float(f"{draw.uniform(0, 8):.4g}"))


def all_cases():
    return [*corners(), *random_runs(20)]


def of_calculator(calculator, words):
    """The calculator's answer to a case."""
    with tempfile.TemporaryDirectory() as folder:
        call = [str(calculator)]
        for word in words:
            if isinstance(word, dict):
                Path(folder, "run.json").write_text(json.dumps(word), encoding="utf-8")
                word = f"{folder}/run.json"
            elif isinstance(word, list):
                Path(folder, "outputs.csv").write_text("".join(",".join(map(repr, row)) + "\n" for row in word), encoding="utf-8")
                word = f"{folder}/outputs.csv"
            call.append(word)
        done = subprocess.run([*call, "--json"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def pairs(kind, answer, theirs):
    """The numbers of an answer beside the calculator's. No finite number is the largest double there, null here."""
    def value(end):
        return 1.7976931348623157e308 if end["value"] is None else end["value"]

    assert "error" not in answer, answer
    if kind == "interval":
        assert value(answer["lower"]) <= theirs["upper"] and theirs["lower"] <= value(answer["upper"]), (answer, theirs)
        return [(value(answer["lower"]), theirs["lower"]), (value(answer["upper"]), theirs["upper"])]
    if isinstance(kind, str):
        return [(value(answer["value"]), theirs[kind])]
    return [(value(answer[ours]), theirs[name]) for ours, name in kind.items()]


def agree(one, other, width=0.0):
    """Equal but for what C libraries differ in, or near ends of an interval that wide."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=max(width, 1e-300))


def check_refused(answer, argument, must_be):
    assert set(answer) <= {"error", "argument", "release"}, answer  # no number
    assert must_be in answer["error"], answer
    assert argument is None or answer.get("argument") == argument, answer
