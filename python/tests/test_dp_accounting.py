# SPDX-License-Identifier: Apache-2.0
import math

import pytest

pytest.importorskip("dp_accounting")

from dp_accounting import dp_event, mechanism_calibration, privacy_accountant  # noqa: E402

import tacit  # noqa: E402
from tacit.dp_accounting import NeighboringRelation, TacitAccountant  # noqa: E402

STEP = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))


def test_it_is_the_accountant_of_this_package():
    run = TacitAccountant().compose(dp_event.SelfComposedDpEvent(STEP, 100), 100)
    whole = tacit.epsilon(noise_multiplier=1.0, rate=0.01, steps=10_000, delta=1e-5)
    assert run.epsilon_interval(1e-5) == whole
    assert run.get_epsilon(1e-5) == whole.upper
    assert run.delta_interval(2.0).upper == run.get_delta(2.0)


def test_composed_events_and_a_ledger():
    both = dp_event.ComposedDpEvent([STEP, dp_event.LaplaceDpEvent(5.0), dp_event.NoOpDpEvent()])
    run = TacitAccountant().compose(both, 3)
    by_hand = tacit.PrivacyLossAccountant()
    by_hand.compose(tacit.Event(tacit.Gaussian(1.0), tacit.Poisson(0.01)), 3).compose(tacit.Laplace(5.0), 3)
    assert run.epsilon_interval(1e-6) == by_hand.epsilon(1e-6)
    assert run.ledger == dp_event.SelfComposedDpEvent(both, 3)


def test_randomised_response():
    # One of 4 buckets, at random with probability 4/(3 + e): the truth is e times as likely as each other bucket.
    run = TacitAccountant(NeighboringRelation.REPLACE_ONE)
    run.compose(dp_event.RandomizedResponseDpEvent(4 / (3 + math.e), 4))
    assert run.get_delta(1.0) < 1e-12
    assert 1.0 <= run.get_epsilon(0.0) < 1.0 + 1e-9


def test_pure_runs_have_an_epsilon_without_delta():
    run = TacitAccountant().compose(dp_event.LaplaceDpEvent(2.0), 4)
    assert 2.0 <= run.get_epsilon(0.0) < 2.0 + 1e-9
    run.compose(dp_event.PoissonSampledDpEvent(0.2, dp_event.LaplaceDpEvent(0.5)))
    # log(1 + 0.2 (e^2 - 1)) = 0.82321... (mpmath)
    assert run.get_epsilon(0.0) == pytest.approx(2.0 + math.log(1 + 0.2 * math.expm1(2.0)), rel=1e-9)
    assert TacitAccountant().compose(dp_event.GaussianDpEvent(1.0)).get_epsilon(0.0) == math.inf


@pytest.mark.parametrize("event", [
    dp_event.NonPrivateDpEvent(), dp_event.GaussianDpEvent(0.0),
    dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(0.0)),
    dp_event.ComposedDpEvent([dp_event.NonPrivateDpEvent(), STEP]),
])
def test_what_is_not_private_is_infinite(event):
    run = TacitAccountant().compose(event)
    assert run.get_epsilon(1e-5) == math.inf
    assert run.get_delta(1.0) == 1.0


@pytest.mark.parametrize("event", [
    dp_event.UnsupportedDpEvent(), dp_event.ZCDpEvent(0.1), dp_event.GaussianDpEvent(-1.0),
    dp_event.GaussianDpEvent(math.nan), dp_event.PoissonSampledDpEvent(1.5, dp_event.GaussianDpEvent(1.0)),
    dp_event.PoissonSampledDpEvent(0.1, STEP), dp_event.DiscreteLaplaceDpEvent(-1.0, 1),
    dp_event.ComposedDpEvent([STEP, dp_event.UnsupportedDpEvent()]),
    # Whatever it answers, a record more is an answer more.
    dp_event.RandomizedResponseDpEvent(1.0, 3), dp_event.RandomizedResponseDpEvent(0.5, 1),
    dp_event.PoissonSampledDpEvent(0.0, dp_event.GaussianDpEvent(-1.0)),
    dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.GaussianDpEvent(1.0)),
])
def test_what_has_no_bound_is_refused_and_changes_nothing(event):
    run = TacitAccountant().compose(STEP)
    before = run.get_epsilon(1e-5)
    assert not run.supports(event)
    with pytest.raises(privacy_accountant.UnsupportedEventError):
        run.compose(event)
    assert run.get_epsilon(1e-5) == before


def test_no_events_reveal_nothing():
    run = TacitAccountant()
    assert (run.get_epsilon(0.0), run.get_delta(0.0), run.get_delta(math.inf)) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_what_nobody_takes_part_in_reveals_nothing(noise):
    run = TacitAccountant().compose(dp_event.PoissonSampledDpEvent(0.0, dp_event.GaussianDpEvent(noise)))
    assert (run.get_epsilon(0.0), run.get_epsilon(1e-5), run.get_delta(0.0)) == (0.0, 0.0, 0.0)


def test_calibration_by_their_function():
    sigma = mechanism_calibration.calibrate_dp_mechanism(
        TacitAccountant, lambda s: dp_event.SelfComposedDpEvent(
            dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(s)), 1000), 2.0, 1e-5)
    assert sigma == pytest.approx(tacit.noise_multiplier_for(epsilon=2.0, delta=1e-5, rate=0.01, steps=1000), abs=1e-5)
