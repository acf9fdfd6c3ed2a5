# SPDX-License-Identifier: Apache-2.0
"""Identities on random runs."""
import math

from hypothesis import given, settings
from hypothesis import strategies as st

import tacit

sigmas = st.floats(0.3, 100.0)
rates = st.floats(1e-6, 1.0)
counts = st.integers(1, 100_000)
deltas = st.floats(-12.0, -1.5).map(lambda x: 10.0**x)
quick = settings(max_examples=60, deadline=None)


@quick
@given(sigmas, rates, counts, deltas)
def test_delta_of_epsilon_is_delta(sigma, rate, steps, delta):
    run = dict(noise_multiplier=sigma, rate=rate, steps=steps)
    epsilon = tacit.epsilon(delta=delta, **run)
    assert 0.0 <= epsilon.lower <= epsilon.upper
    if math.isfinite(epsilon.upper):
        assert tacit.delta(epsilon=epsilon.upper, **run).lower <= delta
    if epsilon.lower > 0.0:
        assert tacit.delta(epsilon=epsilon.lower, **run).upper >= delta * (1 - 1e-9)


@quick
@given(sigmas, rates, counts, deltas)
def test_accountants_agree(sigma, rate, steps, delta):
    run = dict(noise_multiplier=sigma, rate=rate, steps=steps, delta=delta)
    assert tacit.epsilon(**run).upper <= tacit.epsilon(accountant="rdp", **run).upper


@quick
@given(sigmas, rates, st.integers(1, 1000), st.integers(1, 1000), deltas)
def test_two_parts_are_the_whole(sigma, rate, first, second, delta):
    event = tacit.Event(tacit.Gaussian(sigma), tacit.Poisson(rate))
    parts = tacit.PrivacyLossAccountant().compose(event, first).compose(event, second)
    whole = tacit.epsilon(noise_multiplier=sigma, rate=rate, steps=first + second, delta=delta)
    found = parts.epsilon(delta)
    assert found.lower <= whole.upper and whole.lower <= found.upper


@quick
@given(sigmas, rates, counts, st.floats(0.0, 1.0))
def test_an_attacker_is_no_worse_than_the_prior(sigma, rate, steps, prior):
    success = tacit.attack_success(noise_multiplier=sigma, rate=rate, steps=steps, prior=prior)
    assert max(prior, 1 - prior) <= success <= 1.0


@quick
@given(st.floats(0.01, 0.99), st.floats(0.05, 50.0))
def test_information_and_its_inverse(prior, sigma):
    information = tacit.mutual_information(prior, sigma)
    if information < 1e-250:
        return
    again = tacit.sigma_for(prior, information)
    assert tacit.mutual_information(prior, again) <= information * (1 + 1e-12)
