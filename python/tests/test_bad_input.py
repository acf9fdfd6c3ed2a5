# SPDX-License-Identifier: Apache-2.0
"""Every argument of every function that is written in Python: what is no number of its kind is refused by its name."""
import inspect
import math

import numpy as np
import pytest

import tacit

ROWS = np.random.default_rng(1).normal(size=(60, 2))
GOOD = {"delta": 1e-5, "epsilon": 1.0, "noise_multiplier": 2.0, "prior": 0.5, "false_positive_rate": 0.1, "records": 1000,
        "epsilons": [0.5, 1.0], "orders": [2.0, 4.0], "divergence": lambda order: 0.1, "outputs": ROWS, "budget": 0.5, "noise": [0.1, 0.1]}
BAD = [math.nan, math.inf, None, "x", b"1", True, np.True_, 1j, object(), [[1], [1, 2]]]
ALSO = {"from_profile": {"delta": lambda epsilon: 0.1},
        "information": {"noise": tacit.pac.noise_for_candidates(ROWS, 0.5, method="log_det")},
        "noise_for_samples": {"method": "auto", "output_norm": 9.0, "c": 0.1, "slack": 0.1},
        "noise_for_candidates": {"method": "stackelberg", "samples": 1000}}


def functions():
    for module in (tacit, tacit.pac):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield getattr(module, name)


def given(function):
    parameters = inspect.signature(function).parameters.values()
    return {**{p.name: GOOD[p.name] for p in parameters if p.default is p.empty}, **ALSO.get(function.__name__, {})}


def questions():
    for function in functions():
        for parameter in inspect.signature(function).parameters.values():
            yield pytest.param(function, parameter, id=f"{function.__name__}-{parameter.name}")


def test_the_functions_are_found():
    assert {f.__name__ for f in functions()} >= {"epsilon", "batch_for", "gap", "noise_for_samples", "information"}


@pytest.mark.parametrize("function, parameter", list(questions()))
def test_no_argument_is_guessed(function, parameter):
    for bad in BAD:
        if bad is None and parameter.default is None:
            continue
        with pytest.raises((ValueError, TypeError), match=parameter.name):
            function(**{**given(function), parameter.name: bad})


EVENT = tacit.Event(tacit.Gaussian(1.0))
RUN = tacit.PrivacyLossAccountant()
TUNED = tacit.BestOf(tacit.RenyiAccountant().compose(tacit.Gaussian(1.0)), tacit.PoissonCount(2.0))
TRANSCRIPT = tacit.PACZero(records=10, steps=1, budget=0.1)
NUMBERS, COUNTS, WORDS = (["x", True, np.True_, 1j, [1.0], None], ["x", True, np.True_, 1.5, [1], None], [1, b"x", ["x"]])
ARRAYS = ["x", None, [True], [[1], [1, 2]], [1j], ["x"], np.array([1.0], dtype=object), {1.0: 2.0}]
SEVERAL = [bad for bad in ARRAYS if not (isinstance(bad, list) and bad == [True])] + [True, np.True_, b"x"]
CUT, ONCE = tacit.CappedRun(RUN, 5, 10), tacit.SampledRun(RUN, tacit.Poisson(0.5))
SHUFFLED, FAILING = tacit.ShuffledRun(tacit.Gaussian(4.0), 10), tacit.ApproximateFilter(tacit.RenyiFilter(16.0, tacit.ApproxDP(9.0, 0.1)), 0.5)
CURVE = tacit.TradeOffCurve(RUN, knots=8)
SAID = tacit.pac.Answering(2, 1.0, 0.1, recorded=True)
# A native function, good arguments, and for each of them what is of another type.
NATIVE = [
    *((kind, {"noise_multiplier": 1.0}, {"noise_multiplier": NUMBERS}) for kind in (tacit.Gaussian, tacit.Laplace)),
    *((kind, {"epsilon": 1.0}, {"epsilon": NUMBERS}) for kind in (tacit.Pure, tacit.ExponentialMechanism)),
    (tacit.DiscreteGaussian, {"sigma": 2.0, "sensitivity": 1}, {"sigma": NUMBERS, "sensitivity": COUNTS}),
    (tacit.DiscreteLaplace, {"scale": 2.0, "sensitivity": 1}, {"scale": NUMBERS, "sensitivity": COUNTS}),
    (tacit.RandomisedResponse, {"epsilon": 2.0, "categories": 3}, {"epsilon": NUMBERS, "categories": COUNTS}),
    (tacit.ApproxDP, {"epsilon": 2.0, "delta": 0.1}, {"epsilon": NUMBERS, "delta": NUMBERS}),
    (tacit.GaussianDP, {"mu": 1.0}, {"mu": NUMBERS}),
    (tacit.ZCDP, {"rho": 1.0}, {"rho": NUMBERS}),
    (tacit.IntegerNoise, {"law": "skellam", "variance": 2.0, "sensitivity": 1}, {"law": WORDS, "variance": NUMBERS, "sensitivity": COUNTS}),
    (tacit.GaussianMixture, {"sigma": 1.0, "parts": [(0.5, 1.0)]}, {"sigma": NUMBERS, "parts": [1.0, "x", [1.0], [(1, 2, 3)], None]}),
    *((kind, {"batch": 1, "records": 2}, {"batch": COUNTS, "records": COUNTS}) for kind in (tacit.FixedSize, tacit.WithReplacement)),
    (tacit.two_sided_geometric, {"ratio": 0.5, "sensitivity": 1}, {"ratio": NUMBERS, "sensitivity": COUNTS}),
    (tacit.vector_discrete_gaussian, {"sigma": 1.0, "l2": 1.0}, {"sigma": NUMBERS, "l2": NUMBERS}),
    (tacit.vector_skellam, {"variance": 9.0, "l1": 1.0, "l2": 1.0}, {"variance": NUMBERS, "l1": NUMBERS, "l2": NUMBERS}),
    (tacit.CappedRun, {"run": RUN, "most": 5, "records": 10}, {"run": [1.0, "x", EVENT, TUNED], "most": COUNTS, "records": COUNTS}),
    (tacit.SampledRun, {"run": RUN, "sampling": tacit.Poisson(0.5)}, {"run": [1.0, "x", EVENT, None], "sampling": [1.0, "x", EVENT, None]}),
    *((ask, {"delta": 1e-5}, {"delta": NUMBERS}) for ask in (CUT.epsilon, ONCE.epsilon)),
    *((ask, {"epsilon": 1.0}, {"epsilon": NUMBERS}) for ask in (CUT.delta, ONCE.delta)),
    (tacit.TradeOffCurve, {"run": RUN, "knots": 8, "smallest_rate": 1e-3, "tolerance": 0.1},
     {"run": [1.0, "x", EVENT, None], "knots": COUNTS, "smallest_rate": NUMBERS, "tolerance": NUMBERS}),
    *((ask, {"false_positive_rate": 0.1}, {"false_positive_rate": SEVERAL}) for ask in (CURVE.false_negative_rate, CURVE.true_positive_rate)),
    (CURVE.delta, {"epsilon": 1.0}, {"epsilon": SEVERAL}), (CURVE.attack_success, {"prior": 0.5}, {"prior": SEVERAL}),
    (CURVE.positive_predictive_value, {"prevalence": 0.1, "false_positive_rate": 0.1}, {"prevalence": NUMBERS, "false_positive_rate": SEVERAL}),
    (CURVE.refine, {"run": RUN, "false_positive_rate": 0.1, "tolerance": 0.1},
     {"run": [1.0, None], "false_positive_rate": NUMBERS, "tolerance": NUMBERS}),
    (tacit.TradeOffCurve.from_knots, {"knots": [[0.0, 0.1, 0.2]], "adjacency": "add_remove"},
     {"knots": ["x", None, 1.0, [1.0], [[1, 2], [1]], [[0.0, 1.0]]], "adjacency": WORDS}),
    (tacit.TradeOffCurve.load, {"text": CURVE.save()}, {"text": WORDS}),
    (tacit.pac.Answering, {"candidates": 2, "budget": 1.0, "per_answer": 0.1, "axes": "principal", "resolution": 30, "recorded": True, "kappa": 0.5, "ahead": 0.0,
                          "about": ""},
     {"candidates": COUNTS, "budget": NUMBERS, "per_answer": NUMBERS, "axes": WORDS, "resolution": COUNTS, "recorded": [1, "x", None],
      "kappa": NUMBERS[:-1], "save": [1, 1.5], "ahead": NUMBERS, "about": WORDS}),
    (tacit.pac.Answering.resume, {"file": "none", "candidates": 2, "ahead": 0.0, "about": ""},
     {"file": [1, 1.5], "candidates": COUNTS, "ahead": NUMBERS, "about": WORDS}),
    (tacit.pac.Answering(2, 1.0, 0.1).answer, {"answers": [0.0, 1.0], "at_most": 0.1}, {"answers": [*ARRAYS, 1.0], "at_most": NUMBERS[:-1]}),
    (tacit.pac.Answering(2, 1.0, 0.1).attack_bound, {"prior": 0.5}, {"prior": NUMBERS}),
    (tacit.pac.Answering(2, 1.0, 0.1).attack_bound_afterwards, {"prior": 0.5}, {"prior": NUMBERS}),
    (tacit.pac.audit_answers, {"transcript": SAID.transcript, "answers_to": lambda n: [0.0, 1.0]}, {"transcript": WORDS, "answers_to": [1, None, "x"]}),
    (tacit.report_noisy_max, {"noise": "gumbel", "scale": 1.0, "adjacency": "add_remove", "contribution": "any_sign"},
     {"noise": WORDS, "scale": NUMBERS, "adjacency": WORDS, "contribution": WORDS}),
    (tacit.sparse_vector, {"threshold_scale": 1.0, "query_scale": 1.0, "answers": 1, "adjacency": "add_remove", "contribution": "any_sign"},
     {"threshold_scale": NUMBERS, "query_scale": NUMBERS, "answers": COUNTS, "adjacency": WORDS, "contribution": WORDS}),
    *((ask, {"sigma": 1.0}, {"sigma": NUMBERS}) for ask in (tacit.gnmax_answer, tacit.gnmax_check)),
    (tacit.matrix.ToeplitzStrategy, {"coefficients": [1.0], "steps": 3}, {"coefficients": ARRAYS, "steps": COUNTS}),
    (tacit.matrix.TreeStrategy, {"steps": 8, "restart": 2}, {"steps": COUNTS, "restart": COUNTS}),
    (tacit.matrix.DenseStrategy, {"entries": [[1.0]]}, {"entries": [*ARRAYS, [1.0]]}),
    (tacit.matrix.identity_strategy, {"steps": 8}, {"steps": COUNTS}),
    (tacit.matrix.square_root_strategy, {"steps": 8, "bands": 2}, {"steps": COUNTS, "bands": COUNTS[:-1]}),
    (tacit.matrix.buffered_strategy, {"buffers": [[0.5, 0.5]], "steps": 8}, {"buffers": [*ARRAYS, [0.5, 0.5], [[0.5]]], "steps": COUNTS}),
    (tacit.matrix.MinSeparation, {"separation": 2, "most": 2}, {"separation": COUNTS, "most": COUNTS}),
    (tacit.matrix.CyclicPoisson, {"groups": 2, "rate": 0.5}, {"groups": COUNTS, "rate": NUMBERS}),
    (tacit.matrix.BallsInBins, {"bins": 2}, {"bins": COUNTS}),
    (tacit.matrix.NestedBins, {"bins": 2}, {"bins": COUNTS}),
    (tacit.matrix.sensitivity, {"strategy": tacit.matrix.identity_strategy(3), "schema": tacit.matrix.MinSeparation()},
     {"strategy": [1.0, "x", EVENT], "schema": [1, tacit.matrix.BallsInBins(2)]}),
    (tacit.matrix.prefix_error, {"strategy": tacit.matrix.identity_strategy(3)}, {"strategy": [1.0, "x", EVENT]}),
    (tacit.matrix.matrix_run, {"strategy": tacit.matrix.identity_strategy(3), "noise_multiplier": 1.0, "how": tacit.matrix.MinSeparation()},
     {"strategy": [1.0, "x", EVENT], "noise_multiplier": NUMBERS, "how": [1, "x", tacit.Poisson(0.1)]}),
    (tacit.RenyiFilter, {"orders": [2.0], "budget": tacit.ApproxDP(9.0, 0.1), "adjacency": "add_remove"},
     {"orders": ARRAYS, "budget": [1.0, EVENT], "adjacency": WORDS}),
    (tacit.GaussianFilter, {"budget": tacit.GaussianDP(1.0), "adjacency": "add_remove"}, {"budget": [1.0, EVENT], "adjacency": WORDS}),
    (tacit.RenyiOdometer, {"orders": [2.0], "adjacency": "add_remove"}, {"orders": ARRAYS, "adjacency": WORDS}),
    (tacit.GaussianOdometer, {"ladder": [tacit.ApproxDP(1.0, 0.1)], "adjacency": "add_remove"},
     {"ladder": [1.0, "x", None, [1.0], tacit.ApproxDP(1.0, 0.1)], "adjacency": WORDS}),
    (tacit.ApproximateFilter, {"rest": tacit.GaussianFilter(tacit.GaussianDP(1.0)), "failures": 0.1}, {"rest": [1.0, "x", None], "failures": NUMBERS}),
    *((ask, {"event": EVENT, "count": 1, "failure": 1e-3}, {"event": [1, "x", None], "count": COUNTS, "failure": NUMBERS[:-1]}) for ask in (
        FAILING.charge, FAILING.would_exceed)),
    (tacit.ShuffledRun, {"noise": tacit.Gaussian(4.0), "steps": 10, "epochs": 1, "adjacency": "zero_out"},
     {"noise": [1.0, "x", None, tacit.Laplace(1.0)], "steps": COUNTS, "epochs": COUNTS, "adjacency": WORDS}),
    (tacit.shuffled_noise_multiplier_for, {"epsilon": 1.0, "delta": 1e-5, "steps": 1, "epochs": 1, "adjacency": "zero_out"},
     {"epsilon": NUMBERS, "delta": NUMBERS, "steps": COUNTS, "epochs": COUNTS, "adjacency": WORDS}),
    (tacit.shuffled_epochs_for, {"epsilon": 1.0, "delta": 1e-5, "noise_multiplier": 9.0, "steps": 1, "adjacency": "zero_out"},
     {"epsilon": NUMBERS, "delta": NUMBERS, "noise_multiplier": NUMBERS, "steps": COUNTS, "adjacency": WORDS}),
    (SHUFFLED.epsilon, {"delta": 1e-5}, {"delta": NUMBERS}), (SHUFFLED.delta, {"epsilon": 1.0}, {"epsilon": NUMBERS}),
    *((ask, {"event": EVENT, "count": 1}, {"event": [1, "x", None], "count": COUNTS}) for ask in (
        tacit.GaussianOdometer([tacit.ApproxDP(1.0, 0.1)]).add, tacit.GaussianOdometer([tacit.ApproxDP(1.0, 0.1)]).epsilon_after,
        tacit.RenyiFilter(16.0, tacit.ApproxDP(9.0, 0.1)).charge, tacit.RenyiFilter(16.0, tacit.ApproxDP(9.0, 0.1)).would_exceed,
        tacit.GaussianFilter(tacit.GaussianDP(1.0)).charge, tacit.GaussianFilter(tacit.GaussianDP(1.0)).would_exceed,
        tacit.RenyiOdometer(16.0).add)),
    (tacit.RenyiOdometer(16.0).epsilon, {"delta": 0.1}, {"delta": NUMBERS}),
    (tacit.order_for, {"plan": [(EVENT, 3)], "delta": 0.1, "adjacency": "add_remove"},
     {"plan": [1, [EVENT], [(EVENT, 1, 1)]], "delta": NUMBERS, "adjacency": WORDS}),
    (tacit.IndividualGaussianFilter, {"records": 2, "budget": tacit.GaussianDP(1.0)}, {"records": COUNTS, "budget": [1.0, EVENT]}),
    (tacit.IndividualGaussianFilter(2, tacit.GaussianDP(1.0)).charge, {"norms": [0.1, 0.1], "sigma": 1.0}, {"norms": ARRAYS, "sigma": NUMBERS}),
    (tacit.IndividualRenyiFilter, {"records": 2, "order": 2.0, "budget": 1.0}, {"records": COUNTS, "order": NUMBERS, "budget": NUMBERS}),
    (tacit.IndividualRenyiFilter(2, 2.0, 1.0).charge, {"divergences": [0.1, 0.1]}, {"divergences": ARRAYS}),
    (tacit.MatrixGaussian, {"noise_multiplier": 2.0, "sensitivity": 1.0}, {"noise_multiplier": NUMBERS, "sensitivity": NUMBERS}),
    (tacit.Poisson, {"rate": 0.1}, {"rate": NUMBERS}),
    (tacit.FixedSize, {"batch": 1, "records": 10}, {"batch": COUNTS, "records": COUNTS}),
    (tacit.RandomAllocation, {"steps": 10, "part": 1}, {"steps": COUNTS, "part": COUNTS}),
    (tacit.Event, {"mechanism": tacit.Gaussian(1.0), "sampling": tacit.Unsampled(), "records_per_person": 1},
     {"mechanism": [1.0, "x", tacit.Unsampled()], "sampling": [0.1, tacit.Gaussian(1.0)], "records_per_person": COUNTS}),
    (tacit.Interval, {"lower": 1.0, "upper": 2.0}, {"lower": NUMBERS, "upper": NUMBERS}),
    (tacit.PrivacyLossAccountant, {"adjacency": "add_remove"}, {"adjacency": WORDS}),
    (RUN.compose, {"event": EVENT, "count": 1}, {"event": [1, "x", tacit.Unsampled()], "count": COUNTS}),
    (RUN.epsilon, {"delta": 1e-5}, {"delta": NUMBERS}),
    (RUN.delta, {"epsilon": 1.0}, {"epsilon": NUMBERS}),
    (RUN.attack_success, {"prior": 0.5}, {"prior": NUMBERS}),
    (RUN.false_negative_rate, {"false_positive_rate": 0.5}, {"false_positive_rate": NUMBERS}),
    (RUN.would_exceed, {"event": EVENT, "count": 1, "epsilon": 1.0, "delta": 1e-5},
     {"event": [1], "count": COUNTS, "epsilon": NUMBERS, "delta": NUMBERS}),
    (RUN.epsilon_route, {"delta": 1e-5}, {"delta": NUMBERS}),
    (tacit.RenyiAccountant().divergence, {"order": 2.0}, {"order": NUMBERS}),
    (tacit.TruncatedNegativeBinomial, {"gamma": 0.5, "shape": 1.0}, {"gamma": NUMBERS, "shape": NUMBERS}),
    (tacit.PoissonCount, {"mean": 2.0}, {"mean": NUMBERS}),
    (tacit.repetitions_of_mean, {"mean": 2.0, "shape": 1.0}, {"mean": NUMBERS, "shape": NUMBERS}),
    (tacit.mean_repetitions, {"times": tacit.PoissonCount(2.0)}, {"times": [1.0, "x", RUN]}),
    (tacit.BestOf, {"run": RUN, "times": tacit.PoissonCount(2.0)}, {"run": [1.0, "x", EVENT], "times": [1.0, "x", RUN]}),
    (TUNED.epsilon, {"delta": 1e-5}, {"delta": NUMBERS}),
    (TUNED.delta, {"epsilon": 1.0}, {"epsilon": NUMBERS}),
    (TUNED.divergence, {"order": 2.0}, {"order": NUMBERS}),
    (tacit.DivergenceSum().add, {"part": RUN, "count": 1}, {"part": [1.0, "x", None, EVENT], "count": COUNTS}),
    (tacit.DivergenceSum().epsilon, {"delta": 1e-5}, {"delta": NUMBERS}),
    (tacit.DivergenceSum().delta, {"epsilon": 1.0}, {"epsilon": NUMBERS}),
    (tacit.DivergenceSum().divergence, {"order": 2.0}, {"order": NUMBERS}),
    (tacit.PrivacyLossAccountant.load, {"text": RUN.save()}, {"text": WORDS}),
    (tacit.mutual_information, {"prior": 0.5, "sigma": 1.0}, {"prior": NUMBERS, "sigma": NUMBERS}),
    (tacit.sigma_for, {"prior": 0.5, "information": 0.1}, {"prior": NUMBERS, "information": NUMBERS}),
    (tacit.attack_success_from_information, {"information": 0.1, "prior": 0.5}, {"prior": NUMBERS, "information": NUMBERS}),
    (tacit.information_for_success, {"success": 0.6, "prior": 0.5}, {"prior": NUMBERS, "success": NUMBERS}),
    (tacit.attack_success_from_dp, {"epsilon": 1.0, "delta": 0.1, "prior": 0.5}, {"epsilon": NUMBERS, "delta": NUMBERS, "prior": NUMBERS}),
    (tacit.PACZero, {"records": 10, "steps": 2, "budget": 0.1},
     {"records": COUNTS, "steps": COUNTS, "budget": NUMBERS[:-1], "ledger": WORDS, "kappa": NUMBERS[:-1], "groups": [1, "x", [1], [[1.5]], [[True]], [["x"]]],
      "group_budget": NUMBERS[:-1], "observed": WORDS, "allocation": WORDS,
      "horizon": NUMBERS, "minimum_correlation": NUMBERS, "disagreement": WORDS, "directions": COUNTS, "clip": NUMBERS,
      "track_records": [1, "x"], "subsets": COUNTS, "one_in": COUNTS, "complementary": [1, "x"], "candidate_seed": COUNTS,
      "save": [1, 1.5], "about": WORDS}),
    (tacit.PACZero.resume, {"file": "none", "about": ""}, {"file": [1, 1.5], "about": WORDS}),
    (tacit.DPZero, {"records": 10, "steps": 2, "clip": 1.0, "noise_multiplier": 1.0, "rate": 0.5},
     {"records": COUNTS, "steps": COUNTS, "clip": NUMBERS, "noise_multiplier": NUMBERS, "rate": NUMBERS, "expected_records": NUMBERS[:-1],
      "directions": COUNTS}),
    (tacit.PACZero(records=10, steps=2, budget=0.1).step, {"scalars": np.zeros(10)}, {"scalars": ["x", 1.0, [["x"]]]}),
    (tacit.pac.NoisyOutputs, {"budget": 1.0, "allowed_failure": 0.1}, {"budget": NUMBERS, "allowed_failure": NUMBERS}),
    (tacit.pac.NoisyOutputs(1.0).release, {"output": np.zeros(2), "noise": ALSO["information"]["noise"]},
     {"output": ["x", 1.0], "noise": [1.0, "x", np.zeros(2)]}),
    (ALSO["information"]["noise"].shaped, {"normals": np.zeros(2)}, {"normals": ["x", 1.0]}),
    (tacit.Transcript.read, {"file": "none"}, {"file": [1, 1.5]}),
    (tacit.Transcript.parse, {"sealed": b"x"}, {"sealed": ["x", 1]}),
    (tacit.train.perturb, {"theta": np.zeros(2, np.float32), "amount": 1.0},
     {"amount": NUMBERS, "law": WORDS, "seed": COUNTS, "index": COUNTS}),
    (tacit.Trainer, {"mechanism": TRANSCRIPT, "theta": np.zeros(2, np.float32), "smoothing": 1e-3, "learning_rate": 0.1},
     {"mechanism": [1, None], "smoothing": NUMBERS, "learning_rate": NUMBERS, "weight_decay": NUMBERS, "schedule": WORDS, "law": WORDS,
      "seed": COUNTS, "rounding": WORDS, "journal": [1, 1.5], "threads": COUNTS}),
]


@pytest.mark.parametrize("function, good, name, bad", [
    pytest.param(function, good, name, bad, id=f"{getattr(function, '__qualname__', function)}-{name}-{bad!r}")
    for function, good, wrong in NATIVE for name, of in wrong.items() for bad in of])
def test_another_type_is_refused_by_the_arguments_name(function, good, name, bad):
    with pytest.raises(TypeError, match=rf"\A[\w ]+: {name} is [^\n]+, but must be [^\n]+\Z|\A{name} is [^\n]+, but must be [^\n]+\Z"):
        function(**{**good, name: bad})


def test_numbers_of_every_kind_are_numbers():
    for one in (1, 1.0, np.float32(1), np.int8(1), np.float64(1), np.array(1.0)):
        assert tacit.Gaussian(one) == tacit.Gaussian(1.0)
    for one in (2, np.int8(2), np.uint64(2)):
        assert tacit.DiscreteGaussian(1.0, one) == tacit.DiscreteGaussian(1.0, 2)
    with pytest.raises(TypeError, match=r"noise_multiplier is 1000.*, but must be in \[0.001, 1e9\]"):
        tacit.Gaussian(10**400)


def test_counts_out_of_range_are_values():
    with pytest.raises(ValueError, match=r"records is -1, but must be a whole number in \[0, 2\^64\)"):
        tacit.FixedSize(1, -1)
    with pytest.raises(ValueError, match="noise_multiplier is 1e-04, but must be in .0.001, 1e9."):
        RUN.compose(tacit.Event(tacit.Gaussian(1e-4), tacit.Poisson(0.01)), 1000)
    assert RUN.history == []


@pytest.mark.parametrize("name", ["mechanism", "adjacency", "accountant"])
@pytest.mark.parametrize("word", ["\ud800", "gaussian\0"])
def test_words_that_are_no_text(name, word):
    with pytest.raises(TypeError, match=rf"\A{name} is "):
        tacit.epsilon(noise_multiplier=1.0, delta=1e-5, **{name: word})


@pytest.mark.parametrize("state", [(), (1, 2), ("x", None), (RUN.save(),), (RUN.save(), 1), (RUN.save(), None, None)])
def test_a_state_that_is_none_is_corrupt(state):
    empty = tacit.PrivacyLossAccountant.__new__(tacit.PrivacyLossAccountant)
    with pytest.raises(tacit.CorruptState):
        empty.__setstate__(state)


def test_an_accountant_takes_no_second_state():
    run = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(1.0))
    with pytest.raises(tacit.CorruptState):
        run.__setstate__((RUN.save(), None))
    assert len(run.history) == 1
