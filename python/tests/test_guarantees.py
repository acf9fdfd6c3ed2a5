# SPDX-License-Identifier: Apache-2.0
"""Mechanisms that are known by a guarantee, and mechanisms that choose."""
import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit

quick = settings(max_examples=40, deadline=None)
EVENTS = [
    tacit.GaussianDP(0.5),
    tacit.ZCDP(0.1),
    tacit.DPProfile([(0.5, 1e-3), (1.0, 1e-6)]),
    tacit.RenyiDP([(2.0, 0.1), (8, 0.5)]),
]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_they_are_values(event):
    for again in (eval(repr(event), vars(tacit)), copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert again == event and hash(again) == hash(event)
    assert event != EVENTS[0] or event is EVENTS[0]
    kind = tacit.PrivacyLossAccountant if isinstance(event, tacit.DPProfile) else tacit.RenyiAccountant
    run = kind().compose(event, 3)
    assert run.history == [(tacit.Event(event), 3)]
    assert pickle.loads(pickle.dumps(run)).history == run.history


@quick
@given(st.floats(0.05, 5.0), st.integers(1, 50), st.floats(-12.0, -2.0))
def test_a_gaussian_is_the_gaussian_dp_that_it_has(sigma, steps, exponent):
    delta = 10.0**exponent
    one = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(sigma), steps).epsilon(delta)
    same = tacit.PrivacyLossAccountant().compose(tacit.GaussianDP(1.0 / sigma), steps).epsilon(delta)
    assert same.upper == pytest.approx(one.upper, rel=1e-9) and same.upper >= one.lower


@quick
@given(st.floats(0.3, 20.0), st.integers(1, 50), st.floats(1.1, 100.0))
def test_a_gaussian_has_the_divergences_of_the_zcdp_that_it_has(sigma, steps, order):
    one = tacit.RenyiAccountant().compose(tacit.Gaussian(sigma), steps).divergence(order)
    same = tacit.RenyiAccountant().compose(tacit.ZCDP(0.5 / sigma**2), steps).divergence(order)
    assert same == pytest.approx(one, rel=1e-12)


@quick
@given(st.floats(0.5, 10.0), st.integers(1, 20))
def test_a_profile_of_some_points_is_above_the_mechanism(sigma, steps):
    gaussian = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(sigma))
    known = tacit.from_profile(lambda epsilon: gaussian.delta(epsilon).upper, np.linspace(0.0, 8.0 / sigma, 40))
    truth = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(sigma), steps)
    bound = tacit.PrivacyLossAccountant().compose(known, steps)
    for epsilon in (0.0, 0.5, 2.0):
        assert bound.delta(epsilon).upper >= truth.delta(epsilon).lower
    assert bound.delta(1.0).upper <= 1.3 * truth.delta(1.0).upper + 0.02
    for epsilon, delta in known.points:
        assert tacit.PrivacyLossAccountant().compose(known).delta(epsilon).upper <= delta * (1 + 1e-9)


@quick
@given(st.floats(0.5, 10.0), st.integers(1, 20))
def test_a_curve_at_some_orders_is_above_the_mechanism(sigma, steps):
    gaussian = tacit.RenyiAccountant().compose(tacit.Gaussian(sigma))
    known = tacit.from_renyi_curve(gaussian.divergence, [1.5, 2, 4, 8, 16, 64])
    truth = tacit.RenyiAccountant().compose(tacit.Gaussian(sigma), steps)
    bound = tacit.RenyiAccountant().compose(known, steps)
    assert truth.epsilon(1e-6).upper * (1 - 1e-9) <= bound.epsilon(1e-6).upper
    assert bound.divergence(4.0) == pytest.approx(truth.divergence(4.0), rel=1e-12)
    assert bound.divergence(65.0) == math.inf


@pytest.mark.parametrize("event, said", [
    (tacit.GaussianDP(-1.0), "mu is -1"), (tacit.GaussianDP(math.nan), "mu is nan"), (tacit.ZCDP(math.inf), "rho is inf"),
    (tacit.DPProfile([]), "number of points is 0, but must be a whole number in [1, 10000]"),
    (tacit.DPProfile([(1.0, 1.5)]), "delta is 1.5, but must be in [0, 1]"),
    (tacit.DPProfile([(-1.0, 0.5)]), "epsilon is -1"),
    (tacit.RenyiDP([(1.0, 0.5)]), "order is 1, but must be finite and above 1"),
    (tacit.RenyiDP([(2.0, math.nan)]), "divergence is nan"),
    (tacit.RenyiDP([(2.0, 0.1)] * 1001), "number of points is 1001, but must be a whole number in [1, 1000]"),
])
def test_what_is_out_of_range_is_refused_when_it_is_composed(event, said):
    run = tacit.RenyiAccountant()
    with pytest.raises(ValueError) as refusal:
        run.compose(event)
    assert said in str(refusal.value)
    assert run.history == []


def test_divergences_have_no_profile():
    for event in (tacit.ZCDP(0.1), tacit.RenyiDP([(2.0, 0.1)])):
        with pytest.raises(ValueError, match="no known bound"):
            tacit.PrivacyLossAccountant().compose(event)


def test_arrays_of_points():
    assert tacit.DPProfile(np.array([[0.5, 1e-3], [1.0, 1e-6]])) == EVENTS[2]
    assert tacit.DPProfile(np.array([[0.5, 1.0], [1e-3, 1e-6]]).T) == EVENTS[2]
    assert tacit.RenyiDP(np.array([[2, 1], [8, 2]])).points == ((2.0, 1.0), (8.0, 2.0))
    for bad in (None, 1.0, "ab", [1.0], [(1.0,)], [(1, 2, 3)], {1: 2}, [("x", 1.0)], [(True, 0.1)], np.zeros((2, 3))):
        with pytest.raises(TypeError, match=r"\ADPProfile: (points|epsilon) is "):
            tacit.DPProfile(bad)
    for bad in (None, 1.0, "x", ["x"]):
        with pytest.raises((TypeError, ValueError), match=r"\Aepsilons (is|has shape) "):
            tacit.from_profile(lambda epsilon: 0.1, bad)
    with pytest.raises(TypeError, match=r"\Adivergence is 1.0, but must be a function"):
        tacit.from_renyi_curve(1.0, [2.0])


def test_reports_of_noisy_maxima():
    for adjacency, any_sign, counts in (("add_remove", 2.0, 1.0), ("zero_out", 2.0, 1.0), ("replace_one", 4.0, 2.0)):
        for noise, kind in (("gumbel", tacit.ExponentialMechanism), ("exponential", tacit.Pure), ("laplace", tacit.Pure)):
            for contribution, change in (("any_sign", any_sign), ("non_negative", counts)):
                found = tacit.report_noisy_max(noise, 5.0, adjacency=adjacency, contribution=contribution)
                assert type(found) is kind and found.epsilon == pytest.approx(change / 5.0, rel=1e-15) and found.epsilon >= change / 5.0


def test_sparse_vectors_and_votes():
    found = tacit.sparse_vector(10.0, 20.0, 3, adjacency="add_remove")
    assert type(found) is tacit.Pure and found.epsilon == pytest.approx(1 / 10 + 3 * 2 / 20, rel=1e-14)
    found = tacit.sparse_vector(10.0, 20.0, 3, adjacency="add_remove", contribution="non_negative")
    assert found.epsilon == pytest.approx(1 / 10 + 3 / 20, rel=1e-14)
    assert tacit.gnmax_answer(4.0).mu == pytest.approx(math.sqrt(2) / 4, rel=1e-15)
    assert tacit.gnmax_check(4.0) == tacit.GaussianDP(0.25)
    votes = tacit.PrivacyLossAccountant().compose(tacit.gnmax_check(40.0), 100).compose(tacit.gnmax_answer(40.0), 30)
    mu = math.sqrt(100 + 30 * 2) / 40
    assert votes.epsilon(1e-6).upper == pytest.approx(tacit.PrivacyLossAccountant().compose(tacit.GaussianDP(mu)).epsilon(1e-6).upper, rel=1e-9)


@pytest.mark.parametrize("ask, said", [
    (lambda: tacit.report_noisy_max("gauss", 1.0, adjacency="add_remove"), "noise is 'gauss', but must be 'gumbel', 'exponential' or 'laplace'"),
    (lambda: tacit.report_noisy_max("gumbel", 0.0, adjacency="add_remove"), "scale is 0, but must be in [1e-290, 1e290]"),
    (lambda: tacit.report_noisy_max("gumbel", 1.0, adjacency="else"), "adjacency is 'else'"),
    (lambda: tacit.report_noisy_max("gumbel", 1.0, adjacency="add_remove", contribution="both"), "contribution is 'both', but must be 'any_sign' or"),
    (lambda: tacit.sparse_vector(0.0, 1.0, 1, adjacency="add_remove"), "threshold_scale is 0"),
    (lambda: tacit.sparse_vector(1.0, math.nan, 1, adjacency="add_remove"), "query_scale is nan"),
    (lambda: tacit.sparse_vector(1.0, 1.0, 0, adjacency="add_remove"), "answers is 0, but must be a whole number in [1, 2^53]"),
    (lambda: tacit.gnmax_answer(-1.0), "gnmax_answer: sigma is -1"), (lambda: tacit.gnmax_check(0.0), "gnmax_check: sigma is 0"),
])
def test_what_is_refused_of_choices(ask, said):
    with pytest.raises(ValueError) as refusal:
        ask()
    assert said in str(refusal.value)


def test_the_adjacency_of_a_choice_is_never_guessed():
    with pytest.raises(TypeError):
        tacit.report_noisy_max("gumbel", 1.0)
    with pytest.raises(TypeError):
        tacit.sparse_vector(1.0, 1.0, 1)
