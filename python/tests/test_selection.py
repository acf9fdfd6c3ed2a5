# SPDX-License-Identifier: Apache-2.0
"""The best of several runs."""
import copy
import math
import pickle

import numpy as np
import pytest

import tacit

RUN = dict(noise_multiplier=1.0, rate=0.01, steps=10_000)


def accountant(kind=tacit.PrivacyLossAccountant):
    return kind().compose(tacit.Event(tacit.Gaussian(1.0), tacit.Poisson(0.01)), 10_000)


def test_the_calculators_figure():
    # docs/accountants.md: tacit epsilon --rate 0.01 --noise-multiplier 1 --steps 10000 --delta 1e-5 --best-of 20
    found = tacit.epsilon(**RUN, delta=1e-5, best_of=20)
    assert found.upper == pytest.approx(11.0332, abs=1e-4) and found.lower == tacit.epsilon(**RUN, delta=1e-5).lower
    same = tacit.BestOf(accountant(), tacit.repetitions_of_mean(20)).epsilon(1e-5)
    assert found == same


def test_arrays_of_means():
    means = np.array([[1.0, 10.0], [100.0, 1000.0]])
    for law in ("geometric", "logarithmic", "poisson"):
        found = tacit.epsilon(**RUN, delta=1e-5, best_of=means, best_of_law=law)
        assert found.shape == (2, 2)
        assert np.all(np.diff(found.upper.ravel()) > 0)
        for index in np.ndindex(means.shape):
            assert found[index] == tacit.epsilon(**RUN, delta=1e-5, best_of=means[index], best_of_law=law)
    deltas = tacit.delta(**RUN, epsilon=[6.0, 8.0], best_of=20)
    assert deltas.upper[0] > deltas.upper[1] > tacit.delta(**RUN, epsilon=8.0).upper


def test_one_run_and_rows_of_other_runs():
    one = tacit.epsilon(**RUN, delta=1e-5)
    assert tacit.epsilon(**RUN, delta=1e-5, best_of=1) == one
    mixed = tacit.epsilon(noise_multiplier=[1.0, 2.0, 1.0], rate=0.01, steps=100, delta=1e-5, best_of=[2.0, 2.0, 3.0], threads=1)
    for k, (noise, mean) in enumerate([(1.0, 2.0), (2.0, 2.0), (1.0, 3.0)]):
        assert mixed[k] == tacit.epsilon(noise_multiplier=noise, rate=0.01, steps=100, delta=1e-5, best_of=mean)


def test_searches_for_the_best_of_several_runs():
    target = dict(epsilon=3.0, delta=1e-5)
    run = dict(noise_multiplier=1.0, rate=0.01, steps=1000)

    def kept(mean, **numbers):
        return tacit.epsilon(**numbers, delta=1e-5, best_of=mean).upper <= 3.0

    means = [1.0, 20.0]
    noise = tacit.noise_multiplier_for(**target, rate=0.01, steps=1000, best_of=means)
    steps = tacit.steps_for(**target, noise_multiplier=1.5, rate=0.01, best_of=means)
    rates = tacit.rate_for(**target, noise_multiplier=1.5, steps=1000, best_of=means)
    batches = tacit.batch_for(**target, noise_multiplier=1.5, steps=100, records=10_000, best_of=means)
    assert noise[0] < noise[1] and steps[0] > steps[1] and rates[0] > rates[1] and batches[0] > batches[1]
    for k, mean in enumerate(means):
        assert kept(mean, **{**run, "noise_multiplier": noise[k]}) and not kept(mean, **{**run, "noise_multiplier": noise[k] * (1 - 2e-6)})
        long = dict(noise_multiplier=1.5, rate=0.01)
        assert kept(mean, **long, steps=steps[k]) and not kept(mean, **long, steps=steps[k] + 1)
        often = dict(noise_multiplier=1.5, steps=1000)
        assert kept(mean, **often, rate=rates[k]) and not kept(mean, **often, rate=rates[k] * (1 + 2e-6))
        large = dict(noise_multiplier=1.5, steps=100, records=10_000, adjacency="replace_one")
        assert kept(mean, **large, batch=batches[k]) and not kept(mean, **large, batch=batches[k] + 1)
    assert noise[0] == tacit.noise_multiplier_for(**target, rate=0.01, steps=1000)
    with pytest.raises(tacit.Infeasible, match="steps_for: not even one step keeps"):
        tacit.steps_for(epsilon=0.01, delta=1e-9, noise_multiplier=0.5, best_of=20)


@pytest.mark.parametrize("given, said", [
    ({"best_of": 0.5}, r"best_of is 0.5, but must be in \[1, 1e12\] unless best_of_law is poisson"),
    ({"best_of": 1e-4, "best_of_law": "poisson"}, r"best_of is 1e-04, but must be in \[1e-3, 1e12\]"),
    ({"best_of": 2e12}, "best_of is 2e\\+12"), ({"best_of": math.nan}, "best_of is nan"),
    ({"best_of": 2, "best_of_law": "fixed"}, "best_of_law is 'fixed', but must be 'geometric', 'logarithmic' or 'poisson'"),
    ({"best_of_law": "poisson"}, "best_of_law is 'poisson', but must be left out unless best_of is given"),
])
def test_what_is_refused(given, said):
    for ask in (lambda: tacit.epsilon(**RUN, delta=1e-5, **given), lambda: tacit.delta(**RUN, epsilon=1.0, **given)):
        with pytest.raises((ValueError, TypeError), match=said):
            ask()


def test_what_a_function_bounds_is_a_part():
    run = accountant()
    by_function = tacit.DivergenceSum().add(tacit.RenyiAccountant().compose(tacit.Gaussian(3.0)).divergence, 4).add(run)
    by_accountant = tacit.DivergenceSum().add(tacit.GaussianAccountant().compose(tacit.Gaussian(3.0)), 4).add(run)
    assert by_function.epsilon(1e-5).upper == pytest.approx(by_accountant.epsilon(1e-5).upper, rel=1e-12)
    assert by_function.divergence(3.0) == by_accountant.divergence(3.0)
    # (eps, 0): 2 for every order; the conversion of the largest orders leaves it nearly whole.
    assert tacit.DivergenceSum().add(lambda order: 2.0).epsilon(1e-5).upper == pytest.approx(2.0, rel=1e-5)
    for bad, kind, said in ((lambda order: "x", TypeError, "part.order. is 'x', but must be a number"), (lambda order: -1.0, ValueError, "part.order. is -1"),
                            (lambda order: math.nan, ValueError, "part.order. is nan"), (lambda order: 1 / 0, ZeroDivisionError, "division by zero")):
        with pytest.raises(kind, match=said):
            tacit.DivergenceSum().add(bad).epsilon(1e-5)


def test_divergences_rise_with_the_order():
    tuned = tacit.BestOf(accountant(), tacit.repetitions_of_mean(100.0))
    found = [tuned.divergence(order) for order in (1.0 + 1e-6, 1.1, 1.5, 2.0, 4.0, 16.0)]
    assert found == pytest.approx(sorted(found), rel=1e-6)
    assert found[0] < 30.0  # where log(100)/1e-6 was added


def test_every_accountant_has_it():
    times = tacit.TruncatedNegativeBinomial(0.1)
    for kind in (tacit.PrivacyLossAccountant, tacit.DiscretisedAccountant, tacit.RenyiAccountant, tacit.ZcdpAccountant, tacit.GaussianAccountant):
        run = kind().compose(tacit.Gaussian(5.0))
        tuned = tacit.BestOf(run, times)
        assert tuned.epsilon(1e-5).upper > run.epsilon(1e-5).upper
        assert tuned.delta(1.0).upper <= 1.0 and tuned.times == times
        assert type(tuned.run) is kind and tuned.run.epsilon(1e-5) == run.epsilon(1e-5)


def test_the_run_is_as_it_was():
    run = accountant()
    tuned = tacit.BestOf(run, tacit.PoissonCount(3.0))
    before = tuned.epsilon(1e-5)
    run.compose(tacit.Gaussian(1.0))
    assert tuned.epsilon(1e-5) == before
    for other in (copy.copy(tuned), copy.deepcopy(tuned), pickle.loads(pickle.dumps(tuned))):
        assert other.epsilon(1e-5) == before
    assert repr(tuned).startswith("BestOf(PrivacyLossAccountant(") and repr(tuned).endswith("PoissonCount(mean=3.0))")


def test_laws_are_values():
    law = tacit.TruncatedNegativeBinomial(0.05, 0.5)
    assert law == pickle.loads(pickle.dumps(law)) and repr(law) == "TruncatedNegativeBinomial(gamma=0.05, shape=0.5)"
    assert tacit.mean_repetitions(tacit.TruncatedNegativeBinomial(0.05)) == pytest.approx(20.0, rel=1e-12)
    assert tacit.mean_repetitions(tacit.repetitions_of_mean(7.0, 0.0)) == pytest.approx(7.0, rel=1e-9)
    for bad in (lambda: tacit.TruncatedNegativeBinomial(0.0), lambda: tacit.TruncatedNegativeBinomial(0.5, -1.0),
                lambda: tacit.PoissonCount(0.0), lambda: tacit.PoissonCount(math.inf), lambda: tacit.repetitions_of_mean(0.5)):
        with pytest.raises(ValueError, match="but must be"):
            bad()


def test_divergences_compose_on():
    run = accountant(tacit.RenyiAccountant)
    tuned = tacit.BestOf(accountant(), tacit.TruncatedNegativeBinomial(0.1))
    for order in (1.5, 2.0, 20.0):
        assert tuned.divergence(order) > run.divergence(order)
        both = tacit.DivergenceSum().add(run, 2).add(tuned)
        assert both.divergence(order) == pytest.approx(2 * run.divergence(order) + tuned.divergence(order), rel=1e-12)
    assert tacit.DivergenceSum().add(run).epsilon(1e-5).upper == pytest.approx(run.epsilon(1e-5).upper, rel=1e-6)
    assert tacit.DivergenceSum().add(run).add(tuned).epsilon(1e-5).upper > tuned.epsilon(1e-5).upper
    no_divergence = tacit.PrivacyLossAccountant().compose(tacit.ApproxDP(1.0, 1e-6))
    with pytest.raises(ValueError, match="no known bound for an event with delta > 0"):
        tacit.DivergenceSum().add(no_divergence).divergence(2.0)
    with pytest.raises(ValueError, match="no known bound"):
        tacit.BestOf(no_divergence, tacit.PoissonCount(2.0)).divergence(2.0)
