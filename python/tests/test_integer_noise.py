# SPDX-License-Identifier: Apache-2.0
"""Noise on the integers, mixtures of Gaussians, batches with replacement."""
import copy
import math
import pickle

import numpy as np
import pytest

import tacit

EVENTS = [
    tacit.IntegerNoise("skellam", 50.0, 2),
    tacit.IntegerNoise("binomial", 50.0),
    tacit.GaussianMixture(2.0, [(0.3, 1.0), (0.1, 2.0)]),
]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_they_are_values(event):
    for again in (eval(repr(event), vars(tacit)), copy.copy(event), copy.deepcopy(event), pickle.loads(pickle.dumps(event))):
        assert again == event and hash(again) == hash(event)
    assert [other == event for other in EVENTS].count(True) == 1
    run = tacit.PrivacyLossAccountant().compose(event, 3)
    assert run.history == [(tacit.Event(event), 3)]
    assert pickle.loads(pickle.dumps(run)).epsilon(1e-3) == run.epsilon(1e-3)


def laws():
    variance = 6.0
    k = np.arange(-80, 81)
    coins = int(4 * variance)
    heads = np.array([math.comb(coins, i + coins // 2) if 0 <= i + coins // 2 <= coins else 0 for i in k]) / 2.0**coins
    poisson = np.array([math.exp(-variance / 2 + i * math.log(variance / 2) - math.lgamma(i + 1)) for i in range(80)])
    skellam = np.convolve(poisson, poisson[::-1])  # of the difference from -79 on
    yield "binomial", variance, heads
    yield "skellam", variance, np.concatenate([[0.0], skellam, [0.0]])


@pytest.mark.parametrize("law, variance, p", list(laws()), ids=["binomial", "skellam"])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_delta_by_enumeration(law, variance, p, sensitivity):
    run = tacit.PrivacyLossAccountant().compose(tacit.IntegerNoise(law, variance, sensitivity))
    for epsilon in (0.0, 0.3, 1.0):
        truth = np.maximum(0.0, p[sensitivity:] - math.exp(epsilon) * p[:-sensitivity]).sum() + p[:sensitivity].sum()
        found = run.delta(epsilon)
        assert found.lower <= truth * (1 + 1e-9) and truth * (1 - 1e-9) <= found.upper
        assert found.upper == pytest.approx(truth, rel=1e-6)


def test_the_geometric_mechanism_is_discrete_laplace_noise():
    found = tacit.two_sided_geometric(math.exp(-0.5), 3)
    assert type(found) is tacit.DiscreteLaplace and found.sensitivity == 3
    assert found.scale == pytest.approx(2.0, rel=1e-14) and found.scale <= 2.0 * (1 + 1e-15)


def test_vectors_by_their_norms():
    assert tacit.vector_discrete_gaussian(4.0, 2.0).rho == pytest.approx(0.125, rel=1e-14)
    known = tacit.vector_skellam(100.0, 4.0, 2.0)
    assert type(known) is tacit.RenyiDP
    run = tacit.RenyiAccountant().compose(known)
    for order in (2.0, 8.0):  # no less than the Gaussian of this variance
        assert run.divergence(order) >= order * 4.0 / (2 * 100.0)
        assert run.divergence(order) <= 1.5 * order * 4.0 / (2 * 100.0)


def test_a_mixture_is_the_sampled_sum():
    mixture = tacit.GaussianMixture(2.0, [(0.05, 1.0), (0.05, 1.0)])
    sampled = tacit.Event(tacit.Gaussian(2.0), tacit.Poisson(0.1))
    for adjacency in ("add_remove", "zero_out"):
        one, other = (tacit.PrivacyLossAccountant(adjacency).compose(event, 50).epsilon(1e-6) for event in (mixture, sampled))
        assert one.upper == pytest.approx(other.upper, rel=1e-9)
    # Of two lengths it is between those of one.
    found = [tacit.PrivacyLossAccountant().compose(tacit.GaussianMixture(2.0, parts), 10).epsilon(1e-6)
             for parts in ([(0.2, 1.0)], [(0.1, 1.0), (0.1, 2.0)], [(0.2, 2.0)])]
    assert found[0].upper < found[1].lower and found[1].upper < found[2].lower


def test_batches_with_replacement():
    batches = tacit.WithReplacement(10, 1000)
    assert batches == pickle.loads(pickle.dumps(batches)) and repr(batches) == "WithReplacement(batch=10, records=1000)"
    for adjacency in ("zero_out", "replace_one"):
        found, fixed = (tacit.PrivacyLossAccountant(adjacency).compose(tacit.Event(tacit.Gaussian(2.0), how), 100).epsilon(1e-6)
                        for how in (batches, tacit.FixedSize(10, 1000)))
        assert fixed.lower * 0.9 <= found.upper  # a record is seldom in it twice
    assert tacit.PrivacyLossAccountant().compose(tacit.Event(tacit.Gaussian(2.0), batches)).epsilon(1e-6).upper < 6.0


@pytest.mark.parametrize("event, said", [
    (tacit.IntegerNoise("skellam", 0.0), "variance is 0, but must be positive and finite"),
    (tacit.IntegerNoise("skellam", math.nan), "variance is nan"), (tacit.IntegerNoise("skellam", math.inf), "variance is inf"),
    (tacit.IntegerNoise("skellam", 1.0, 0), "sensitivity is 0, but must be a whole number in [1, 1000000000]"),
    (tacit.IntegerNoise("binomial", 0.3), "variance is 0.3, but must be a quarter of a number of coins in [1, 2^53]"),
    (tacit.GaussianMixture(0.0, [(0.5, 1.0)]), "sigma is 0, but must be positive and finite"),
    (tacit.GaussianMixture(1.0, []), "number of parts is 0, but must be a whole number in [1, 1000]"),
    (tacit.GaussianMixture(1.0, [(1.5, 1.0)]), "weight is 1.5, but must be in [0, 1]"),
    (tacit.GaussianMixture(1.0, [(0.5, -1.0)]), "sensitivity is -1"),
    (tacit.GaussianMixture(1.0, [(0.6, 1.0), (0.6, 2.0)]), "sum of weights is 1.2, but must be at most 1"),
    (tacit.GaussianMixture(1.0, np.full((1001, 2), 1e-4)), "number of parts is 1001"),
    (tacit.Event(tacit.Gaussian(1.0), tacit.WithReplacement(0, 10)), "batch is 0, but must be a whole number in [1, 2^53]"),
    (tacit.Event(tacit.Gaussian(1.0), tacit.WithReplacement(1, 0)), "records is 0"),
])
def test_what_is_out_of_range_is_refused_when_it_is_composed(event, said):
    for kind in (tacit.PrivacyLossAccountant, tacit.RenyiAccountant):
        run = kind()
        with pytest.raises(ValueError) as refusal:
            run.compose(event)
        assert said in str(refusal.value)
        assert run.history == []


@pytest.mark.parametrize("ask, said", [
    (lambda: tacit.two_sided_geometric(1.0), "ratio is 1, but must be in (0, 1)"), (lambda: tacit.two_sided_geometric(math.nan), "ratio is nan"),
    (lambda: tacit.two_sided_geometric(0.5, 0), "sensitivity is 0"), (lambda: tacit.vector_discrete_gaussian(0.0, 1.0), "sigma is 0"),
    (lambda: tacit.vector_discrete_gaussian(1.0, math.inf), "l2 is inf"), (lambda: tacit.vector_discrete_gaussian(1e-300, 1.0), "sigma is 1e-300"),
    (lambda: tacit.vector_skellam(0.0, 1.0, 1.0), "variance is 0"), (lambda: tacit.vector_skellam(1.0, -1.0, 1.0), "l1 is -1"),
    (lambda: tacit.vector_skellam(1.0, 1.0, math.nan), "l2 is nan"), (lambda: tacit.IntegerNoise("poisson", 1.0), "law is 'poisson', but must be 'skellam' or"),
])
def test_what_is_refused_at_once(ask, said):
    with pytest.raises(ValueError) as refusal:
        ask()
    assert said in str(refusal.value)
