# SPDX-License-Identifier: Apache-2.0
"""Trade-off curves between two certified ends."""
import copy
import math
import pickle
from statistics import NormalDist

import numpy as np
import pytest

import tacit

N = NormalDist()
MU = 1.25
RUN = tacit.PrivacyLossAccountant().compose(tacit.GaussianDP(MU))
CURVE = tacit.TradeOffCurve(RUN)
RATES = np.array([1e-6, 1e-3, 0.05, 0.5, 0.9])


def test_it_holds_the_curve_of_a_gaussian():
    # f(a) = Phi(Phi^-1(1 - a) - mu)
    truth = np.array([N.cdf(N.inv_cdf(1 - a) - MU) for a in RATES])
    miss, hit = CURVE.false_negative_rate(RATES), CURVE.true_positive_rate(RATES)
    assert type(miss) is tacit.Intervals and miss.shape == RATES.shape
    assert np.all(miss.lower <= truth + 1e-12) and np.all(truth - 1e-12 <= miss.upper)
    assert np.all(hit.lower <= 1 - truth + 1e-12) and np.all(1 - truth - 1e-12 <= hit.upper)
    assert np.all(hit.upper - hit.lower < 0.02 * hit.upper)
    advantage = N.cdf(MU / 2) - N.cdf(-MU / 2)
    assert advantage in CURVE.advantage or CURVE.advantage.upper == pytest.approx(advantage, rel=1e-12)
    assert CURVE.attack_success().upper == pytest.approx(0.5 + advantage / 2, rel=1e-9)


def test_numbers_and_arrays():
    assert type(CURVE.false_negative_rate(0.05)) is tacit.Interval
    square = RATES[:4].reshape(2, 2)
    for ask in (CURVE.false_negative_rate, CURVE.true_positive_rate, CURVE.delta, CURVE.attack_success,
                lambda a: CURVE.positive_predictive_value(0.1, a)):
        found = ask(square)
        assert found.shape == (2, 2) and found[1, 0] == ask(square[1, 0]) == ask(float(square[1, 0]))
        assert ask(np.zeros(0)).shape == (0,) and ask(np.float32(0.5)) == ask(0.5) == ask(np.array(0.5))


def test_delta_and_what_a_run_is_told():
    for epsilon in (0.0, 0.7, 3.0):
        assert CURVE.delta(epsilon).lower <= RUN.delta(epsilon).upper and RUN.delta(epsilon).lower <= CURVE.delta(epsilon).upper
    assert type(CURVE.profile) is tacit.DPProfile
    composed = tacit.PrivacyLossAccountant().compose(CURVE.profile, 2)
    assert composed.delta(1.0).upper >= tacit.PrivacyLossAccountant().compose(tacit.GaussianDP(MU), 2).delta(1.0).lower


def test_refined_at_a_rate():
    rough = tacit.TradeOffCurve(RUN, knots=12)
    before = rough.true_positive_rate(0.01).width
    assert rough.refine(RUN, 0.01) is rough
    assert rough.true_positive_rate(0.01).width < 0.1 * before


def test_it_is_kept():
    for again in (tacit.TradeOffCurve.load(CURVE.save()), tacit.TradeOffCurve.from_knots(CURVE.knots, "add_remove"),
                  copy.copy(CURVE), copy.deepcopy(CURVE), pickle.loads(pickle.dumps(CURVE))):
        assert again.save() == CURVE.save() and again is not CURVE
        assert again.adjacency == "add_remove" and np.array_equal(again.knots, CURVE.knots)
    assert CURVE.knots.shape[1] == 3 and "add_remove" in repr(CURVE)
    text = CURVE.save()
    for corrupt in ("", text[:-5], text.replace("add_remove", "zero_out"), text + " ", RUN.save()):
        with pytest.raises(tacit.CorruptState):
            tacit.TradeOffCurve.load(corrupt)


def test_of_what_goes_around_an_accountant():
    once = tacit.SampledRun(RUN, tacit.Poisson(0.1))
    for run in (once, tacit.BestOf(RUN, tacit.repetitions_of_mean(5.0)), tacit.CappedRun(RUN, 5, 10)):
        found = tacit.TradeOffCurve(run, knots=16).true_positive_rate(0.01)
        assert 0.01 <= found.lower <= found.upper <= 1.0
    assert tacit.TradeOffCurve(once).true_positive_rate(0.01).upper < CURVE.true_positive_rate(0.01).lower
    one_sided = tacit.TradeOffCurve(tacit.RenyiAccountant().compose(tacit.Gaussian(1.0)), knots=16).false_negative_rate(0.1)
    assert one_sided.upper == pytest.approx(0.9, rel=1e-12)


@pytest.mark.parametrize("ask, said", [
    (lambda: tacit.TradeOffCurve(RUN, knots=1), "knots is 1, but must be in [2, 100000]"),
    (lambda: tacit.TradeOffCurve(RUN, knots=10**6), "knots is 1"), (lambda: tacit.TradeOffCurve(RUN, smallest_rate=0.0), "smallest_rate is 0"),
    (lambda: tacit.TradeOffCurve(RUN, tolerance=math.nan), "tolerance is nan"), (lambda: CURVE.false_negative_rate(1.5), "false_positive_rate is 1.5"),
    (lambda: CURVE.true_positive_rate([0.1, math.nan]), "false_positive_rate is nan"), (lambda: CURVE.delta(-1.0), "epsilon is -1"),
    (lambda: CURVE.attack_success(-0.5), "prior is -0.5"), (lambda: CURVE.positive_predictive_value(2.0, 0.1), "prevalence is 2"),
    (lambda: CURVE.positive_predictive_value(0.1, 0.0), "false_positive_rate is 0, but must be in (0, 1]"),
    (lambda: copy.copy(CURVE).refine(RUN, 2.0), "false_positive_rate is 2"),
    (lambda: tacit.TradeOffCurve.from_knots(np.zeros((0, 3)), "add_remove"), "number of knots is 0"),
    (lambda: tacit.TradeOffCurve.from_knots([[0.0, 0.5, 0.4]], "add_remove"), "but must be"),
    (lambda: tacit.TradeOffCurve.from_knots([[1.0, 0.5, 0.6]], "add_remove"), "epsilon of knot 0"),
    (lambda: tacit.TradeOffCurve.from_knots([[0.0, math.nan, 0.6]], "add_remove"), "but must be"),
    (lambda: tacit.TradeOffCurve.from_knots([[0.0, 0.5, 0.6]], "else"), "adjacency is 'else'"),
])
def test_what_is_out_of_range_is_refused(ask, said):
    with pytest.raises(ValueError) as refusal:
        ask()
    assert said in str(refusal.value)
