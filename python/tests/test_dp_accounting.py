# SPDX-License-Identifier: Apache-2.0
import copy
import math

import numpy as np
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
    dp_event.UnsupportedDpEvent(), dp_event.ZCDpEvent(-0.1), dp_event.ZCDpEvent(0.1, math.nan), dp_event.GaussianDpEvent(-1.0),
    dp_event.SingleEpochTreeAggregationDpEvent(1.0, 8),  # a record more moves the others
    dp_event.GaussianDpEvent(math.nan), dp_event.PoissonSampledDpEvent(1.5, dp_event.GaussianDpEvent(1.0)),
    dp_event.PoissonSampledDpEvent(0.1, STEP), dp_event.DiscreteLaplaceDpEvent(-1.0, 1),
    dp_event.ComposedDpEvent([STEP, dp_event.UnsupportedDpEvent()]),
    # Whatever it answers, a record more is an answer more.
    dp_event.RandomizedResponseDpEvent(1.0, 3), dp_event.RandomizedResponseDpEvent(0.5, 1),
    dp_event.PoissonSampledDpEvent(0.0, dp_event.GaussianDpEvent(-1.0)),
    dp_event.SampledWithoutReplacementDpEvent(100, 10, dp_event.RandomizedResponseDpEvent(0.5, 3)),
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


def answers(event, relation=NeighboringRelation.ADD_OR_REMOVE_ONE, count=1):
    run = TacitAccountant(relation).compose(event, count)
    return [run.epsilon_interval(1e-5), run.delta_interval(1.0)]


@pytest.mark.parametrize("relation", [NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_ONE])
def test_zcdp_is_a_bound_for_every_mechanism_that_keeps_it(relation):
    rho = 0.02
    gaussian = dp_event.GaussianDpEvent((2.0 if relation is NeighboringRelation.REPLACE_ONE else 1.0) / math.sqrt(2.0 * rho))
    for known, exact in zip(answers(dp_event.ZCDpEvent(rho), relation, 5), answers(gaussian, relation, 5)):
        assert known.lower == 0.0 and exact.upper <= known.upper
    # Bun and Steinke's conversion is one of those that it is the least of.
    assert answers(dp_event.ZCDpEvent(rho), relation, 5)[0].upper <= 5 * rho + 2 * math.sqrt(5 * rho * math.log(1e5))
    assert answers(dp_event.ZCDpEvent(rho, 0.01), relation)[0].upper > answers(dp_event.ZCDpEvent(rho), relation)[0].upper
    assert TacitAccountant(relation).compose(dp_event.ZCDpEvent(rho)).get_epsilon(0.0) == math.inf


def test_a_line_of_divergences():
    run = TacitAccountant().compose(dp_event.ZCDpEvent(0.02, 0.3), 2).compose(dp_event.ZCDpEvent(0.01))
    for order in (1.01, 2.0, 17.0):
        assert run.renyi_divergence(order) == pytest.approx(2 * 0.3 + (2 * 0.02 + 0.01) * order, rel=1e-12)
    best = answers(repeated(dp_event.ZCDpEvent(0.01, 0.02), 10))[0]
    assert best.upper >= answers(repeated(dp_event.ZCDpEvent(0.02), 10))[0].upper
    assert copy.deepcopy(run).get_epsilon(1e-5) == run.get_epsilon(1e-5)


def test_zcdp_beside_others():
    run = TacitAccountant().compose(STEP, 1000)
    alone = run.epsilon_interval(1e-5)
    run.compose(dp_event.ZCDpEvent(0.1))
    both = run.epsilon_interval(1e-5)
    assert both.lower == alone.lower and both.upper > alone.upper
    assert TacitAccountant().compose(dp_event.ZCDpEvent(0.0)).get_epsilon(1e-5) == 0.0
    assert run.renyi_divergence(2.0) == pytest.approx(0.2 + TacitAccountant().compose(STEP, 1000).renyi_divergence(2.0), rel=1e-9)


GEOMETRIC, POISSON = 1.0, math.inf


def repeated(event, mean, shape=GEOMETRIC):
    return dp_event.RepeatAndSelectDpEvent(event, mean, shape)


@pytest.mark.parametrize("mean, shape, law", [(20.0, GEOMETRIC, "geometric"), (20.0, 0.0, "logarithmic"), (5.0, POISSON, "poisson")])
def test_the_best_of_several_runs(mean, shape, law):
    run = dp_event.SelfComposedDpEvent(STEP, 1000)
    found = answers(repeated(run, mean, shape))
    asked = dict(noise_multiplier=1.0, rate=0.01, steps=1000, best_of=mean, best_of_law=law)
    for interval, same in zip(found, [tacit.epsilon(delta=1e-5, **asked), tacit.delta(epsilon=1.0, **asked)]):
        assert interval.upper == pytest.approx(same.upper, rel=1e-9) and interval.lower == same.lower
        assert interval.upper >= same.upper  # their law has the mean itself, not one a little below
    assert found[0].upper > answers(run)[0].upper


def test_the_best_of_one_run_is_that_run():
    for shape in (0.0, 0.5, GEOMETRIC, 2.0):
        assert answers(repeated(STEP, 1, shape), count=100) == answers(STEP, count=100)


def test_the_best_of_several_runs_beside_others():
    tuned = repeated(dp_event.LaplaceDpEvent(10.0), 1000, GEOMETRIC)
    pure = TacitAccountant().compose(tuned, 2).compose(dp_event.LaplaceDpEvent(5.0))
    assert pure.get_epsilon(0.0) == pytest.approx(2 * 3 * 0.1 + 0.2, rel=1e-9)
    # Divergences never exceed what pure events sum up to, and hold what each part costs alone.
    assert pure.get_epsilon(1e-12) <= pure.get_epsilon(0.0) * (1 + 1e-6)
    assert pure.get_epsilon(1e-12) > TacitAccountant().compose(tuned).get_epsilon(1e-12)
    assert pure.get_epsilon(1e-12) > TacitAccountant().compose(dp_event.LaplaceDpEvent(5.0)).get_epsilon(1e-12)
    assert pure.get_delta(0.1) <= 1.0
    assert TacitAccountant().compose(repeated(dp_event.LaplaceDpEvent(10.0), 5, POISSON)).get_epsilon(0.0) == math.inf

    both = TacitAccountant().compose(STEP, 1000).compose(tuned).compose(dp_event.ZCDpEvent(0.001))
    parts = [TacitAccountant().compose(*part) for part in [(STEP, 1000), (tuned,), (dp_event.ZCDpEvent(0.001),)]]
    assert both.renyi_divergence(3.0) == pytest.approx(sum(part.renyi_divergence(3.0) for part in parts), rel=1e-9)
    assert both.epsilon_interval(1e-5).lower == parts[0].epsilon_interval(1e-5).lower
    assert both.get_epsilon(1e-5) > max(part.get_epsilon(1e-5) for part in parts)
    assert copy.deepcopy(both).get_epsilon(1e-5) == both.get_epsilon(1e-5)


def test_the_best_of_runs_without_privacy_or_without_data():
    assert answers(repeated(dp_event.NonPrivateDpEvent(), 10))[0].upper == math.inf
    assert answers(repeated(dp_event.NoOpDpEvent(), 10))[0].upper == 0.0
    zcdp = answers(repeated(dp_event.ZCDpEvent(0.01), 10))[0]
    gaussian = answers(repeated(dp_event.GaussianDpEvent(1 / math.sqrt(0.02)), 10))[0]
    assert zcdp.lower == 0.0 and zcdp.upper >= gaussian.upper


@pytest.mark.parametrize("event, said", [
    (dp_event.GaussianDpEvent(-1.0), "Noise multiplier is -1.0, but must be"), (dp_event.LaplaceDpEvent(math.nan), "Noise multiplier is nan"),
    (dp_event.GaussianDpEvent(1e-5), "noise_multiplier is 1e-05, but must be in"),
    (dp_event.PoissonSampledDpEvent(-0.1, dp_event.GaussianDpEvent(1.0)), r"Sampling rate is -0.1, but must be in \[0, 1\]"),
    (dp_event.ZCDpEvent(-0.1), "rho and xi are -0.1"), (repeated(STEP, 0.5), "mean is 0.5"),
    (dp_event.ComposedDpEvent([STEP, dp_event.RandomizedResponseDpEvent(1.5, 2)]), "noise_parameter is 1.5"),
    (dp_event.SelfComposedDpEvent(STEP, -1), "count is -1"),
])
def test_a_value_out_of_range_is_a_value_error(event, said):
    run = TacitAccountant()
    assert not run.supports(event)
    with pytest.raises(ValueError, match=said) as refusal:
        run.compose(event)
    assert isinstance(refusal.value, privacy_accountant.UnsupportedEventError)


def test_no_bound_is_no_value_error():
    for event in (dp_event.UnsupportedDpEvent(), dp_event.RandomizedResponseDpEvent(0.5, 3)):
        with pytest.raises(privacy_accountant.UnsupportedEventError) as refusal:
            TacitAccountant().compose(event)
        assert not isinstance(refusal.value, ValueError)


@pytest.mark.parametrize("event, said", [
    (repeated(STEP, 0.5), "mean is 0.5"), (repeated(STEP, math.nan), "mean is nan"), (repeated(STEP, 10, -0.5), "shape is -0.5"),
    (repeated(STEP, 10, math.nan), "shape is nan"), (repeated(STEP, 1e13), "mean"), (repeated(STEP, math.inf), "mean"),
    (repeated(repeated(STEP, 2), 2), "the best of several runs, each"), (repeated(dp_event.UnsupportedDpEvent(), 2), "Unsupported"),
    (dp_event.PoissonSampledDpEvent(0.1, repeated(dp_event.GaussianDpEvent(1.0), 2)), "Unsupported"),
    (dp_event.TruncatedSubsampledGaussianDpEvent(10, 1.5, 5, 1.0), "but must be at least 0, in .0, 1."),
    (dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.5, 5, math.nan), "but must be"),
    (dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.5, 2.5, 1.0), "whole numbers up to"),
    (dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.5, 10, 1e-5), "noise_multiplier is 1e-05"),
    (dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.5, 5, 1e-5), "noise_multiplier is 1e-05"),
    (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0, -2.0], [0.5, 0.5]), "at least 0"),
    (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [0.5]), "sum 1"), (dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [0.5, 0.5]), "as many"),
    (dp_event.MixtureOfGaussiansDpEvent(math.nan, [1.0], [1.0]), "standard_deviation is nan"),
])
def test_what_is_refused_says_why(event, said):
    run = TacitAccountant()
    with pytest.raises(privacy_accountant.UnsupportedEventError, match=said):
        run.compose(event)
    assert run.get_epsilon(0.0) == 0.0


def test_a_mixture_of_one_shift_is_a_sampled_gaussian():
    mixture = dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0], [0.9, 0.1])
    same = dp_event.PoissonSampledDpEvent(0.1, dp_event.GaussianDpEvent(2.0))
    for relation in (NeighboringRelation.ADD_OR_REMOVE_ONE, NeighboringRelation.REPLACE_SPECIAL):
        assert answers(mixture, relation, 10) == answers(same, relation, 10)
    scaled = dp_event.MixtureOfGaussiansDpEvent(6.0, [3.0, 0.0, 3.0], [0.05, 0.9, 0.05])
    for found, exact in zip(answers(scaled, count=10), answers(same, count=10)):
        assert found.upper == pytest.approx(exact.upper, rel=1e-10) and found.upper >= exact.lower
    always = answers(dp_event.MixtureOfGaussiansDpEvent(2.0, [1.0], [1.0]))
    assert always == answers(dp_event.GaussianDpEvent(2.0))


@pytest.mark.parametrize("steps, depth", [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), ([2, 8, 3], 4)])
def test_a_tree_is_as_many_gaussians_as_it_is_deep(steps, depth):
    special = NeighboringRelation.REPLACE_SPECIAL
    tree = answers(dp_event.SingleEpochTreeAggregationDpEvent(3.0, steps), special)
    for found, same in zip(tree, answers(dp_event.GaussianDpEvent(3.0), special, depth)):
        assert same.upper <= found.upper * (1 + 1e-12) and found.upper == pytest.approx(same.upper, rel=1e-10)


def test_gaussians_of_one_sample_are_one():
    several = dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(2.0), dp_event.SelfComposedDpEvent(dp_event.GaussianDpEvent(4.0), 3)])
    one = dp_event.GaussianDpEvent((1 / 4 + 3 / 16) ** -0.5)
    for relation, sampled in [
            (NeighboringRelation.ADD_OR_REMOVE_ONE, lambda of: dp_event.PoissonSampledDpEvent(0.1, of)),
            (NeighboringRelation.REPLACE_ONE, lambda of: dp_event.SampledWithoutReplacementDpEvent(100, 10, of))]:
        for found, same in zip(answers(sampled(several), relation, 10), answers(sampled(one), relation, 10)):
            assert same.lower <= found.upper and found.upper == pytest.approx(same.upper, rel=1e-6)
    nothing = dp_event.PoissonSampledDpEvent(0.1, dp_event.ComposedDpEvent([dp_event.NoOpDpEvent()]))
    assert answers(nothing)[0].upper == 0.0
    everything = dp_event.PoissonSampledDpEvent(0.1, dp_event.ComposedDpEvent([dp_event.GaussianDpEvent(0.0)]))
    assert answers(everything)[0].upper == math.inf
    assert not TacitAccountant().supports(dp_event.PoissonSampledDpEvent(0.1, dp_event.ComposedDpEvent([dp_event.LaplaceDpEvent(1.0)])))


@pytest.mark.parametrize("p, k", [(0.1, 3), (0.5, 2), (0.9, 50), (0.01, 10)])
@pytest.mark.parametrize("count", [1, 4])
def test_randomised_response_against_a_random_answer(p, k, count):
    # All answers, by how many of them are the truth: P has it with 1 - p + p/k, the null record with 1/k.
    run = TacitAccountant(NeighboringRelation.REPLACE_SPECIAL).compose(dp_event.RandomizedResponseDpEvent(p, k), count)
    true, null = 1 - p + p / k, 1 / k
    for epsilon in (0.0, 0.1, 0.5, 2.0):
        worst = max(
            sum(math.comb(count, j) * max(0.0, a**j * (1 - a)**(count - j) - math.exp(epsilon) * b**j * (1 - b)**(count - j))
                for j in range(count + 1))
            for a, b in [(true, null), (null, true)])
        assert worst <= run.get_delta(epsilon) + 1e-15


def test_a_mixture_of_several_shifts():
    mixture = dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 3.0], [0.7, 0.2, 0.1])
    for relation, adjacency in ((NeighboringRelation.ADD_OR_REMOVE_ONE, "add_remove"), (NeighboringRelation.REPLACE_SPECIAL, "zero_out")):
        run = tacit.PrivacyLossAccountant(adjacency).compose(tacit.GaussianMixture(2.0, [(0.2, 1.0), (0.1, 3.0)]), 10)
        assert answers(mixture, relation, 10)[0] == run.epsilon(1e-5)
    # dp_accounting's own figure, in cells of 1e-4 rounded up, of half a minute
    assert answers(mixture, count=10)[0].upper == pytest.approx(7.47483115366103, rel=1e-6)
    assert not TacitAccountant(NeighboringRelation.REPLACE_ONE).supports(mixture)


def test_batches_with_replacement():
    batches = dp_event.SampledWithReplacementDpEvent(1000, 10, dp_event.GaussianDpEvent(2.0))
    for relation, adjacency in ((NeighboringRelation.ADD_OR_REMOVE_ONE, "add_remove"), (NeighboringRelation.REPLACE_ONE, "replace_one")):
        run = tacit.PrivacyLossAccountant(adjacency).compose(tacit.Event(tacit.Gaussian(2.0), tacit.WithReplacement(10, 1000)), 10)
        assert answers(batches, relation, 10)[0] == run.epsilon(1e-5)


def binomial(n, q):
    return [math.comb(n, k) * q**k * (1 - q)**(n - k) for k in range(n + 1)]


def profiles_of_a_cut_sample(n, q, size, sigma, epsilons):
    """What the batches of one neighbour release against the other's, at these epsilons in both orders, where x adds 1 and each of the
    others takes 1 away: the law of the sum by enumeration, and quadrature."""
    law = {False: {}, True: {}}
    for others, p in enumerate(binomial(n - 1, q)):
        for present in (False, True):
            for x, chance in ((0, 1.0),) if not present else ((0, 1 - q), (1, q)):
                drawn = others + x
                if drawn <= size:
                    moves = {x - others: 1.0}
                else:
                    moves = {-size: 1.0 - x * size / drawn}
                    if x:
                        moves[1 - (size - 1)] = size / drawn
                for move, share in moves.items():
                    law[present][move] = law[present].get(move, 0.0) + p * chance * share
    z = np.linspace(-n - 12 * sigma, 2 + 12 * sigma, 200_001)
    density = [sum(p * np.exp(-((z - move) / sigma)**2 / 2) for move, p in law[present].items()) / (sigma * math.sqrt(2 * math.pi))
               for present in (False, True)]
    return [max(np.maximum(0.0, a - math.exp(epsilon) * b).sum() * (z[1] - z[0]) for a, b in (density, density[::-1])) for epsilon in epsilons]


@pytest.mark.parametrize("n, q, size, sigma", [(4, 0.5, 2, 1.0), (3, 0.5, 2, 1.0), (6, 0.3, 1, 0.7), (5, 0.9, 4, 2.0), (6, 1.0, 3, 1.0)])
def test_a_cut_sample_holds_what_it_releases(n, q, size, sigma):
    event = dp_event.TruncatedSubsampledGaussianDpEvent(n, q, size, sigma)
    run = TacitAccountant().compose(event)
    epsilons = [0.0, 0.3, 1.0, 2.0, 4.0]
    for epsilon, truth in zip(epsilons, profiles_of_a_cut_sample(n, q, size, sigma, epsilons)):
        assert truth <= run.get_delta(epsilon) * (1 + 1e-6) + 1e-12
    if n == 4:
        assert run.get_delta(1.0) < 0.08467859461887169  # dp_accounting's
    for relation in [NeighboringRelation.REPLACE_SPECIAL] if n == 4 else []:
        other = TacitAccountant(relation).compose(event)
        assert 0.0 < other.get_delta(1.0) <= 1.0
    whole = TacitAccountant().compose(dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(sigma)))
    assert TacitAccountant().compose(dp_event.TruncatedSubsampledGaussianDpEvent(n, q, n, sigma)).get_delta(1.0) == whole.get_delta(1.0)


def test_a_sample_that_is_hardly_ever_cut():
    plain = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    cut = dp_event.TruncatedSubsampledGaussianDpEvent(10_000, 0.01, 200, 1.0)
    found, exact = answers(cut, count=500)[0], answers(plain, count=500)[0]
    assert exact.lower <= found.upper < 1.2 * exact.upper  # a profile does not tell which neighbour has the larger losses
    for nothing in ((0, 0.5, 5, 1.0), (10, 0.0, 5, 1.0), (10, 0.5, 0, 1.0)):
        assert TacitAccountant().compose(dp_event.TruncatedSubsampledGaussianDpEvent(*nothing)).get_epsilon(1e-5) == 0.0
    assert TacitAccountant().compose(dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.5, 5, 0.0)).get_epsilon(1e-5) == math.inf


@pytest.mark.parametrize("n, q", [(1, 0.5), (7, 0.3), (40, 0.999), (150, 0.01), (150, 1e-9)])
def test_tails_of_binomial_laws(n, q):
    from fractions import Fraction

    from tacit.dp_accounting import _tail
    exact = [math.comb(n, k) * Fraction(q)**k * (1 - Fraction(q))**(n - k) for k in range(n + 1)]
    for least in {0, 1, n // 3, n // 2, n, n + 1}:
        truth = sum(exact[least:])
        found, error = _tail(n, q, least)
        assert abs(found - truth) <= error * truth + 1e-300 and error < 1e-9
