# SPDX-License-Identifier: Apache-2.0
"""Batches cut at a size, and runs on a sample that is drawn once."""
import copy
import math
import pickle

import pytest

import tacit


def accountant(adjacency="add_remove"):
    return tacit.PrivacyLossAccountant(adjacency).compose(tacit.Event(tacit.Gaussian(2.0), tacit.Poisson(0.01)), 500)


def test_cut_batches():
    run = accountant()
    cut = tacit.CappedRun(run, most=200, records=10_000)
    truth = 500 * math.fsum(math.exp(math.lgamma(10_001) - math.lgamma(k + 1) - math.lgamma(10_001 - k) + k * math.log(0.01)
                                     + (10_000 - k) * math.log(0.99)) for k in range(201, 300))
    assert truth * (1 - 1e-9) <= cut.overflow <= 1.5 * truth
    for delta in (1e-5, 1e-9):
        plain, more = run.epsilon(delta), cut.epsilon(delta)
        assert more.upper >= plain.lower and more.lower <= plain.upper
        assert cut.delta(more.upper).upper <= delta * (1 + 1e-6)
    assert run.delta(1.0).lower <= cut.delta(1.0).upper <= run.delta(1.0).upper + (1 + math.e) * cut.overflow
    # Where many batches are cut, those that are full without the record are told from the others.
    assert run.epsilon(1e-6).lower < tacit.CappedRun(run, 110, 10_000).epsilon(1e-6).upper < 3 * run.epsilon(1e-6).upper
    person = tacit.PrivacyLossAccountant().compose(tacit.Event(tacit.Gaussian(2.0), tacit.Poisson(0.01), records_per_person=2), 500)
    assert tacit.CappedRun(person, 110, 10_000).epsilon(1e-6).upper == math.inf
    assert tacit.CappedRun(run, 10_000, 10_000).epsilon(1e-5) == run.epsilon(1e-5)


def test_a_sample_drawn_once():
    run = accountant()
    once = tacit.SampledRun(run, tacit.Poisson(0.1))
    for epsilon in (0.05, 0.2):
        inner = math.log1p(math.expm1(epsilon) / 0.1)
        assert once.delta(epsilon).upper == pytest.approx(0.1 * run.delta(inner).upper, rel=1e-9)
        assert once.delta(epsilon).lower <= once.delta(epsilon).upper
    assert 0.0 < once.epsilon(1e-6).lower <= once.epsilon(1e-6).upper < run.epsilon(1e-6).lower
    batches = tacit.PrivacyLossAccountant("replace_one").compose(tacit.Gaussian(2.0), 3)
    assert tacit.SampledRun(batches, tacit.FixedSize(10, 100)).epsilon(1e-6).upper < batches.epsilon(1e-6).lower
    assert tacit.SampledRun(run, tacit.Poisson(0.0)).epsilon(1e-6) == tacit.Interval(0.0, 0.0)


def test_one_goes_around_another():
    cut = tacit.CappedRun(accountant(), 200, 10_000)
    once = tacit.SampledRun(cut, tacit.Poisson(0.5))
    tuned = tacit.BestOf(once, tacit.repetitions_of_mean(10.0))
    assert once.epsilon(1e-6).upper < cut.epsilon(1e-6).upper < tacit.BestOf(cut, tacit.repetitions_of_mean(10.0)).epsilon(1e-6).upper
    assert once.epsilon(1e-6).upper < tuned.epsilon(1e-6).upper
    assert repr(tuned.run) == repr(once) and repr(tuned.run.run) == repr(cut)
    assert tuned.adjacency == once.adjacency == cut.adjacency == "add_remove"
    for other in (copy.copy(tuned), copy.deepcopy(tuned), pickle.loads(pickle.dumps(tuned))):
        assert type(other) is tacit.BestOf and other.epsilon(1e-6) == tuned.epsilon(1e-6)
    with pytest.raises(ValueError, match="no Renyi divergences are known"):
        tuned.divergence(2.0)
    with pytest.raises(ValueError, match="no Renyi divergences are known"):
        tacit.DivergenceSum().add(tuned)
    assert repr(cut).endswith(", 200, 10000)") and repr(once).endswith(", Poisson(rate=0.5))")
    assert (cut.most, cut.records, once.sampling) == (200, 10_000, tacit.Poisson(0.5))


def test_shuffled_batches():
    run = tacit.ShuffledRun(tacit.Gaussian(4.0), 1000, 10)
    plain = tacit.PrivacyLossAccountant("zero_out").compose(tacit.Event(tacit.Gaussian(4.0), tacit.Shuffled()), 10)
    assert 0.27 < run.epsilon(1e-6).upper <= 0.276 and plain.epsilon(1e-6).upper > 3.7  # docs/accountants.md
    assert run.epsilon(1e-6).lower == 0.0 and run.delta(run.epsilon(1e-6).upper).upper <= 1.2e-6
    replaced = tacit.ShuffledRun(tacit.Gaussian(8.0), 1000, 10, "replace_one")
    assert replaced.epsilon(1e-6).upper == pytest.approx(run.epsilon(1e-6).upper, rel=1e-9)
    loud = tacit.ShuffledRun(tacit.Gaussian(1.0), steps=10)
    assert loud.epsilon(1e-6).upper == tacit.PrivacyLossAccountant("zero_out").compose(tacit.Gaussian(1.0)).epsilon(1e-6).upper
    assert (run.noise, run.steps, run.epochs, run.adjacency) == (tacit.Gaussian(4.0), 1000, 10, "zero_out") and loud.epochs == 1
    assert repr(replaced) == "ShuffledRun(Gaussian(noise_multiplier=8.0), 1000, 10, 'replace_one')"
    for other in (copy.copy(run), copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert type(other) is tacit.ShuffledRun and other.epsilon(1e-6) == run.epsilon(1e-6)
    tuned = tacit.BestOf(run, tacit.repetitions_of_mean(10.0))
    assert repr(tuned.run) == repr(run) and tuned.adjacency == "zero_out"
    once = tacit.SampledRun(run, tacit.Poisson(0.5))
    assert once.delta(0.2).upper == pytest.approx(0.5 * run.delta(math.log1p(2 * math.expm1(0.2))).upper, rel=1e-9)


def test_what_a_shuffled_epoch_costs():
    event, failure = tacit.hidden_in_shuffle(tacit.Gaussian(4.0), 1000, 1e-9)
    assert event.mechanism == tacit.Gaussian(4.0) and type(event.sampling) is tacit.RandomAllocation
    assert 1 < event.sampling.steps < 1000 and 0.0 < failure <= 1e-9
    # Composed by hand it is no better than the run that chooses its failures, and not much worse.
    base = tacit.PrivacyLossAccountant("zero_out").compose(event, 10)
    chosen = tacit.ShuffledRun(tacit.Gaussian(4.0), 1000, 10)
    by_hand = base.delta(0.3).upper + (1 + math.exp(0.3)) * 10 * failure
    assert chosen.delta(0.3).upper <= by_hand * (1 + 1e-9) <= 2 * chosen.delta(0.3).upper
    # Under replace_one half of the noise is left, and the event is still one of zero_out.
    replaced, its = tacit.hidden_in_shuffle(tacit.Gaussian(8.0), 1000, 1e-9, adjacency="replace_one")
    assert (replaced, its) == (event, failure)
    # Too little noise hides nothing.
    assert tacit.hidden_in_shuffle(tacit.Gaussian(0.5), 10, 1e-9) == (tacit.Event(tacit.Gaussian(0.5)), 0.0)


def test_noise_and_epochs_of_shuffled_batches():
    target = {"epsilon": 0.3, "delta": 1e-6}

    def kept(noise, steps, epochs, adjacency="zero_out"):
        run = tacit.ShuffledRun(tacit.Gaussian(noise), steps, epochs, adjacency)
        return run.epsilon(target["delta"]).upper <= target["epsilon"]

    noise = tacit.shuffled_noise_multiplier_for(**target, steps=1000, epochs=10)
    assert noise == pytest.approx(3.85497, abs=2e-5)  # docs/accountants.md
    assert kept(noise, 1000, 10)
    assert tacit.shuffled_noise_multiplier_for(**target, steps=1000, epochs=10, adjacency="replace_one") == pytest.approx(2 * noise, rel=1e-4)
    most = tacit.shuffled_epochs_for(**target, noise_multiplier=6.0, steps=200)
    assert type(most) is int and kept(6.0, 200, most) and not kept(6.0, 200, most + 1)
    with pytest.raises(tacit.Infeasible, match="not even one epoch"):
        tacit.shuffled_epochs_for(**target, noise_multiplier=0.5, steps=10)


def test_the_run_is_as_it_was():
    run = accountant()
    cut = tacit.CappedRun(run, 200, 10_000)
    before = cut.epsilon(1e-6)
    run.compose(tacit.Gaussian(1.0))
    assert cut.epsilon(1e-6) == before


@pytest.mark.parametrize("ask, said", [
    (lambda: tacit.CappedRun(accountant(), 0, 10), "most is 0, but must be a whole number in [1, 2^53]"),
    (lambda: tacit.CappedRun(accountant(), 1, 0), "records is 0, but must be a whole number in [1, 2^53]"),
    (lambda: tacit.SampledRun(accountant(), tacit.FixedSize(1, 10)), "a Poisson sample needs add_remove or zero_out"),
    (lambda: tacit.SampledRun(accountant("replace_one"), tacit.Poisson(0.1)), "one of a fixed size replace_one"),
    (lambda: tacit.SampledRun(accountant(), tacit.Poisson(1.5)), "rate is 1.5, but must be in [0, 1]"),
    (lambda: tacit.SampledRun(accountant(), tacit.Shuffled()), "a sample is Poisson or of a fixed size"),
    (lambda: tacit.ShuffledRun(tacit.Gaussian(4.0), 1000, adjacency="add_remove"), "no bound is known for shuffled batches under add_remove"),
    (lambda: tacit.ShuffledRun(tacit.Gaussian(4.0), 0), "steps is 0, but must be a whole number in [1, 10000000]"),
    (lambda: tacit.ShuffledRun(tacit.Gaussian(1e-4), 10), "noise_multiplier is 1e-04, but must be in [0.001, 1e9]"),
    (lambda: tacit.ShuffledRun(tacit.Gaussian(4.0), 10, -1), "epochs is -1, but must be a whole number in [0, 2^64)"),
    (lambda: tacit.ShuffledRun(tacit.Gaussian(4.0), 10).epsilon(1.0), "delta is 1, but must be in (0, 1)"),
    (lambda: tacit.shuffled_noise_multiplier_for(epsilon=1.0, delta=0.0, steps=10), "delta is 0, but must be in (0, 1)"),
    (lambda: tacit.shuffled_noise_multiplier_for(epsilon=1.0, delta=1e-6, steps=0), "steps is 0, but must be a whole number in [1, 10000000]"),
    (lambda: tacit.hidden_in_shuffle(tacit.Gaussian(4.0), 1000, 1e-8, "add_remove"), "no bound is known for shuffled batches under add_remove"),
    (lambda: tacit.hidden_in_shuffle(tacit.Gaussian(4.0), 1000, 1.0), "failure is 1, but must be in [0, 1)"),
    (lambda: tacit.hidden_in_shuffle(tacit.Gaussian(4.0), 0, 1e-8), "steps is 0"),
    (lambda: tacit.hidden_in_shuffle(tacit.Gaussian(1e-4), 10, 1e-8), "noise_multiplier is 1e-04, but must be in [0.001, 1e9]"),
    (lambda: tacit.shuffled_noise_multiplier_for(epsilon=1.0, delta=1e-6, steps=10, adjacency="add_remove"), "no bound is known for shuffled batches under add_remove"),
    (lambda: tacit.shuffled_epochs_for(epsilon=math.nan, delta=1e-6, noise_multiplier=4.0, steps=10), "epsilon is nan"),
    (lambda: tacit.shuffled_epochs_for(epsilon=1.0, delta=1e-6, noise_multiplier=1e-4, steps=10), "noise_multiplier is 1e-04, but must be in [0.001, 1e9]"),
    (lambda: tacit.CappedRun(accountant(), 200, 10_000).epsilon(0.0), "delta is 0, but must be in (0, 1)"),
    (lambda: tacit.SampledRun(accountant(), tacit.Poisson(0.1)).epsilon(1.0), "delta is 1, but must be in (0, 1)"),
    (lambda: tacit.CappedRun(accountant(), 200, 10_000).delta(-1.0), "epsilon is -1, but must be finite and at least 0"),
    (lambda: tacit.SampledRun(accountant(), tacit.Poisson(0.1)).delta(math.inf), "epsilon is inf, but must be finite and at least 0"),
])
def test_what_is_refused(ask, said):
    with pytest.raises(ValueError) as refusal:
        ask()
    assert said in str(refusal.value)
