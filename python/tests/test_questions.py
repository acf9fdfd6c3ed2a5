# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

import tacit

RUN = dict(noise_multiplier=1.0, rate=0.01, steps=10_000)


def test_epsilon_holds_the_truth():
    # 6.1877123899715..., by the composition's contour integral in 50 digits (tests/data).
    found = tacit.epsilon(delta=1e-5, **RUN)
    assert found.lower <= 6.18771238997154 <= found.upper
    assert found.width < 1e-12


def test_one_gaussian_release_is_the_closed_form():
    # delta(epsilon) = Phi(1/2 - e) - e^e Phi(-1/2 - e) at noise multiplier 1, epsilon 1: 0.12693673750664397 (mpmath).
    found = tacit.delta(noise_multiplier=1.0, epsilon=1.0)
    assert 0.12693673750664397 in found
    assert found.width < 1e-13


def test_numbers_give_an_interval_and_arrays_intervals():
    assert isinstance(tacit.epsilon(delta=1e-5, **RUN), tacit.Interval)
    found = tacit.epsilon(delta=np.array([1e-5, 1e-6]), **RUN)
    assert isinstance(found, tacit.Intervals)
    assert found.shape == (2,)
    assert len(found) == 2
    assert found[0] == tacit.epsilon(delta=1e-5, **RUN)
    assert isinstance(found[:1], tacit.Intervals)


def test_arguments_are_broadcast():
    sigma = np.array([0.8, 1.0, 1.5])[:, None]
    steps = np.array([10, 1000])
    found = tacit.epsilon(noise_multiplier=sigma, rate=0.01, steps=steps, delta=1e-5)
    assert found.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            one = tacit.epsilon(noise_multiplier=float(sigma[i, 0]), rate=0.01,
                                steps=int(steps[j]), delta=1e-5)
            assert found[i, j] == one


def test_threads_give_the_same_bits():
    steps = np.arange(1, 400)
    one = tacit.epsilon(noise_multiplier=1.1, rate=0.02, steps=steps, delta=1e-6, threads=1)
    three = tacit.epsilon(noise_multiplier=1.1, rate=0.02, steps=steps, delta=1e-6, threads=3)
    assert np.array_equal(one.lower, three.lower)
    assert np.array_equal(one.upper, three.upper)


def test_an_empty_array_has_empty_answers():
    found = tacit.epsilon(noise_multiplier=np.array([]), delta=1e-5)
    assert found.shape == (0,)


def test_calibration_keeps_its_target_and_is_close_to_it():
    target = dict(epsilon=2.0, delta=1e-5)
    sigma = tacit.noise_multiplier_for(rate=0.01, steps=1000, **target)
    assert tacit.epsilon(noise_multiplier=sigma, rate=0.01, steps=1000, delta=1e-5).upper <= 2.0
    assert tacit.epsilon(noise_multiplier=sigma * (1 - 2e-6), rate=0.01, steps=1000,
                         delta=1e-5).upper > 2.0

    steps = tacit.steps_for(noise_multiplier=1.0, rate=0.01, **target)
    assert isinstance(steps, int)
    assert tacit.epsilon(noise_multiplier=1.0, rate=0.01, steps=steps, delta=1e-5).upper <= 2.0
    assert tacit.epsilon(noise_multiplier=1.0, rate=0.01, steps=steps + 1, delta=1e-5).upper > 2.0

    rate = tacit.rate_for(noise_multiplier=1.0, steps=1000, **target)
    assert tacit.epsilon(noise_multiplier=1.0, rate=rate, steps=1000, delta=1e-5).upper <= 2.0

    batch = tacit.batch_for(noise_multiplier=4.0, records=60_000, steps=1000, **target)
    there = dict(noise_multiplier=4.0, records=60_000, steps=1000, delta=1e-5,
                 adjacency="replace_one")
    assert tacit.epsilon(batch=batch, **there).upper <= 2.0


def test_attackers():
    success = tacit.attack_success(**RUN)
    assert 0.74 < success < 0.7401
    assert tacit.attack_success(prior=np.array([0.0, 1.0]), **RUN).tolist() == [1.0, 1.0]
    missed = tacit.false_negative_rate(false_positive_rate=np.linspace(0, 1, 11), **RUN)
    assert np.all(np.diff(missed) <= 0)
    assert missed[-1] == 0.0


@pytest.mark.parametrize("changed, message", [
    (dict(delta=0.0), "delta"),
    (dict(delta=1.0), "delta"),
    (dict(delta=float("nan")), "delta"),
    (dict(noise_multiplier=0.0), "noise_multiplier"),
    (dict(noise_multiplier=-1.0), "noise_multiplier"),
    (dict(noise_multiplier=float("inf")), "noise_multiplier"),
    (dict(noise_multiplier=float("nan")), "noise_multiplier"),
    (dict(rate=1.5), "rate"),
    (dict(rate=float("nan")), "rate"),
    (dict(steps=0), "steps"),
    (dict(steps=-3), "steps"),
    (dict(steps=1.5), "steps"),
    (dict(steps=float("nan")), "steps"),
    (dict(steps=float("inf")), "steps"),
    (dict(steps=2**60), "steps"),
    (dict(records_per_person=0), "records_per_person"),
    (dict(adjacency="neighbours"), "adjacency"),
    (dict(mechanism="cauchy"), "mechanism"),
    (dict(accountant="moments"), "accountant"),
    (dict(threads=0), "threads"),
])
def test_bad_values_are_named(changed, message):
    with pytest.raises(ValueError, match=message):
        tacit.epsilon(**{"delta": 1e-5, **RUN, **changed})


def test_bad_types_are_named():
    with pytest.raises(TypeError, match="noise_multiplier"):
        tacit.epsilon(noise_multiplier="1", delta=1e-5)
    with pytest.raises(TypeError, match="rate"):
        tacit.epsilon(noise_multiplier=1.0, rate=0.1, batch=10, records=100, delta=1e-5)
    with pytest.raises(TypeError, match="records"):
        tacit.epsilon(noise_multiplier=1.0, batch=10, delta=1e-5)
    with pytest.raises(TypeError, match="batch"):
        tacit.epsilon(noise_multiplier=1.0, records=10, delta=1e-5)


def test_the_first_bad_entry_of_an_array_is_named():
    sigma = np.full((40, 50), 1.0)
    sigma[17, 3] = -1.0
    sigma[30, 0] = np.nan
    for threads in (1, 2, 5):
        with pytest.raises(ValueError, match=r"at \[17, 3\].*noise_multiplier"):
            tacit.epsilon(noise_multiplier=sigma, delta=1e-5, threads=threads)


def test_what_nothing_keeps_is_infeasible():
    with pytest.raises(tacit.Infeasible):
        tacit.steps_for(noise_multiplier=0.1, epsilon=0.1, delta=1e-9)
    with pytest.raises(tacit.Infeasible, match=r"at \[1\]"):
        tacit.steps_for(noise_multiplier=np.array([1e3, 0.1]), epsilon=0.1, delta=1e-9)
    assert issubclass(tacit.Infeasible, ValueError)
    with pytest.raises(tacit.Infeasible, match="none above 1e9"):
        tacit.noise_multiplier_for(epsilon=1e-12, delta=1e-14, steps=10)
    with pytest.raises(tacit.Infeasible, match="none above 1e9"):
        tacit.shuffled_noise_multiplier_for(epsilon=1e-12, delta=1e-14, steps=2)


def test_no_bound_is_no_number():
    with pytest.raises(ValueError, match="no exact Gaussian-DP bound"):
        tacit.epsilon(accountant="gdp", noise_multiplier=1.0, batch=10, records=100, delta=1e-5)
    with pytest.raises(ValueError):
        tacit.epsilon(accountant="gdp", delta=1e-5, **RUN)


def test_batches_of_a_fixed_size_have_a_bound_under_each_adjacency():
    found = [tacit.epsilon(noise_multiplier=1.0, batch=10, records=100, delta=1e-5, adjacency=adjacency)
             for adjacency in ("add_remove", "zero_out", "replace_one")]
    assert all(0.0 <= one.lower <= one.upper < 10.0 for one in found)


@pytest.mark.parametrize("changed, error, words", [
    (dict(noise_multiplier=None), TypeError, "noise_multiplier is missing"), (dict(steps=None), TypeError, "steps is missing"),
    (dict(delta=None), TypeError, "delta is missing"), (dict(records_per_person=None), TypeError, "records_per_person"),
    (dict(steps=np.ma.masked_array([10, 20], mask=[0, 1])), TypeError, "mask"),
    (dict(noise_multiplier=np.ma.masked_array([1.0], mask=[1])), TypeError, "mask"),
    (dict(steps=2**53 + 1), ValueError, "steps is 9007199254740993"), (dict(steps=10**30), ValueError, "steps is 1000000"),
    (dict(steps=-10**30), ValueError, "steps is -1000000"), (dict(steps=np.uint64(2**64 - 1)), ValueError, "steps"),
    (dict(steps=np.array([1, 2], dtype=object)), TypeError, "steps"), (dict(steps=True), TypeError, "steps"),
    (dict(steps=np.array([1.5, 2.0])), ValueError, "steps is 1.5"), (dict(noise_multiplier=1 + 0j), TypeError, "noise"),
    (dict(threads=0), ValueError, "threads"), (dict(threads=2**40), ValueError, "threads"),
])
def test_nothing_is_guessed(changed, error, words):
    with pytest.raises(error, match=words):
        tacit.epsilon(**{**RUN, "delta": 1e-5, **changed})


def test_what_a_target_needs_is_not_guessed():
    for ask, options in ((tacit.noise_multiplier_for, dict(epsilon=None, delta=1e-5)),
                         (tacit.noise_multiplier_for, dict(epsilon=1.0, delta=None)),
                         (tacit.steps_for, dict(epsilon=1.0, delta=1e-5, noise_multiplier=None)),
                         (tacit.rate_for, dict(epsilon=1.0, delta=1e-5, noise_multiplier=None)),
                         (tacit.batch_for, dict(epsilon=1.0, delta=1e-5, noise_multiplier=1.0, records=None))):
        with pytest.raises(TypeError, match="is missing, but must be"):
            ask(**options)


def test_arrays_of_any_layout():
    steps = np.array([10, 20, 30, 40])
    frozen = steps.copy()
    frozen.flags.writeable = False
    expected = tacit.epsilon(noise_multiplier=1.0, rate=0.01, delta=1e-5, steps=steps).upper
    for same in (frozen, np.repeat(steps, 3)[::3], steps.astype(np.int8), steps.astype(float), steps.tolist()):
        found = tacit.epsilon(noise_multiplier=1.0, rate=0.01, delta=1e-5, steps=same)
        assert np.array_equal(found.upper, expected)
    nothing = tacit.epsilon(noise_multiplier=1.0, rate=0.01, delta=1e-5, steps=np.zeros((0, 3), int))
    assert nothing.shape == (0, 3)


def test_many_threads():
    steps = np.arange(1, 5000)
    found = tacit.epsilon(noise_multiplier=1.0, delta=1e-5, steps=steps, threads=1024)
    assert np.array_equal(found.upper, tacit.epsilon(noise_multiplier=1.0, delta=1e-5, steps=steps, threads=1).upper)


def test_a_curve_is_delta_by_epsilon():
    found = tacit.curve(points=21, **RUN)
    assert isinstance(found, tacit.Curve) and found.epsilon.shape == found.delta.shape == (21,)
    assert found.epsilon[0] == 0.0 and found.epsilon[-1] == tacit.epsilon(delta=1e-10, **RUN).upper
    assert np.all(np.diff(found.delta.upper) < 0) and found.delta.upper[-1] <= 1e-10
    for k in (0, 7, 20):
        assert found.delta[k] == tacit.delta(epsilon=found.epsilon[k], **RUN)
    at = tacit.curve(epsilon=[0.5, 3.0], batch=10, records=1000, noise_multiplier=2.0, adjacency="replace_one")
    assert at.epsilon.tolist() == [0.5, 3.0] and at.delta.shape == (2,)


def test_a_trade_off_is_misses_by_false_alarms():
    found = tacit.trade_off(points=11, **RUN)
    assert isinstance(found, tacit.TradeOff)
    assert np.array_equal(found.false_positive_rate, np.linspace(0, 1, 11))
    assert np.array_equal(found.false_negative_rate, tacit.false_negative_rate(false_positive_rate=np.linspace(0, 1, 11), **RUN))
    # One Gaussian release: Phi(Phi^-1(1 - alpha) - 1/sigma), here at alpha = 1/2: Phi(-1) = 0.15865525393145707 (mpmath).
    one = tacit.trade_off(noise_multiplier=1.0, false_positive_rate=[0.5]).false_negative_rate
    assert one[0] <= 0.15865525393145707 and one[0] == pytest.approx(0.15865525393145707, abs=1e-6)


@pytest.mark.parametrize("ask", [tacit.curve, tacit.trade_off])
def test_a_curve_is_of_one_run(ask):
    with pytest.raises(TypeError, match=r"noise_multiplier has shape \(2,\), but must be a number: a curve is of one run"):
        ask(noise_multiplier=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"points is 1, but must be a whole number in \[2, 1000000\]"):
        ask(noise_multiplier=1.0, points=1)


def test_a_curve_without_an_end_must_be_told_where(monkeypatch):
    with monkeypatch.context() as changed, pytest.raises(ValueError, match="epsilon is missing, but must be given"):
        changed.setattr(tacit._questions, "_ask", lambda *_, **__: (np.array(0.0), np.array(np.inf)))
        tacit.curve(noise_multiplier=1.0)
    with pytest.raises(ValueError, match=r"smallest_delta is 1.0, but must be in \(0, 1\)"):
        tacit.curve(noise_multiplier=1.0, smallest_delta=1.0)
    with pytest.raises(ValueError, match=r"epsilon has shape \(1, 2\), but must have shape \(n,\)"):
        tacit.curve(noise_multiplier=1.0, epsilon=[[1.0, 2.0]])
