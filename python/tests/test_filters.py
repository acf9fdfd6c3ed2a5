# SPDX-License-Identifier: Apache-2.0
"""Runs whose releases are chosen on the way."""
import copy
import math
import pickle
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit

quick = settings(max_examples=40, deadline=None)
TARGET = tacit.ApproxDP(2.0, 1e-6)
STEP = tacit.Event(tacit.Gaussian(2.0), tacit.Poisson(0.1))
sigmas = st.lists(st.floats(0.5, 50.0), min_size=1, max_size=20)


@quick
@given(sigmas, st.floats(0.1, 5.0))
def test_a_gaussian_filter_never_leaves_its_budget(noises, mu):
    account = tacit.GaussianFilter(tacit.GaussianDP(mu))
    spent = Fraction(0)
    for sigma in noises:
        cost = 1 / Fraction(sigma) ** 2
        if account.would_exceed(tacit.Gaussian(sigma)):
            with pytest.raises(tacit.BudgetExhausted):
                account.charge(tacit.Gaussian(sigma))
            assert spent + cost > Fraction(mu) ** 2 * Fraction(1 - 1e-12)
        else:
            account.charge(tacit.Gaussian(sigma))
            spent += cost
        assert spent <= Fraction(account.spent.mu) ** 2 and account.spent.mu <= mu * (1 + 1e-15)
        assert math.isclose(float(spent), account.spent.mu**2, rel_tol=1e-12)


@quick
@given(sigmas, st.floats(1.1, 64.0))
def test_one_order_reads_what_its_conversion_says(noises, order):
    odometer = tacit.RenyiOdometer(order)
    run = tacit.RenyiAccountant()
    for sigma in noises:
        assert odometer.add(tacit.Gaussian(sigma)) is odometer
        run.compose(tacit.Gaussian(sigma))
    assert odometer.spent.shape == odometer.orders.shape == (1,)
    assert odometer.spent[0] == pytest.approx(run.divergence(order), rel=1e-12)
    z = order - 1
    assert odometer.epsilon(1e-5) == pytest.approx(max(0.0, run.divergence(order) + math.log(z / order) - math.log(1e-5 * order) / z), rel=1e-9)
    assert odometer.epsilon(1e-5) >= run.epsilon(1e-5).upper * (1 - 1e-9)  # the best order of a fixed run


def test_a_renyi_filter_stops_in_time():
    plan = [(STEP, 100)]
    order = tacit.order_for(plan, TARGET.delta)
    account = tacit.RenyiFilter(order, TARGET)
    steps = 0
    while not account.would_exceed(STEP):
        account.charge(STEP)
        steps += 1
    with pytest.raises(tacit.BudgetExhausted, match="epsilon after it is"):
        account.charge(STEP)
    assert steps > 20 and account.epsilon() <= TARGET.epsilon == account.budget.epsilon
    assert tacit.PrivacyLossAccountant().compose(STEP, steps).epsilon(TARGET.delta).upper <= TARGET.epsilon
    assert tacit.RenyiFilter(order, TARGET).charge(STEP, steps) is None
    with pytest.raises(tacit.BudgetExhausted):
        tacit.RenyiFilter(order, TARGET).charge(STEP, steps + 1)


@quick
@given(sigmas)
def test_a_gaussian_odometer_reads_the_rung_that_a_filter_keeps(noises):
    ladder = [tacit.ApproxDP(epsilon, 2.5e-7) for epsilon in (0.5, 1.0, 2.0, 4.0)]
    odometer = tacit.GaussianOdometer(ladder)
    filters = [tacit.GaussianFilter(rung) for rung in ladder]
    assert odometer.ladder == ladder and 1e-6 <= odometer.delta <= 1e-6 * (1 + 1e-12)
    assert odometer.epsilon() == 0.0
    for sigma in noises:
        expected = math.inf
        for rung, account in reversed(list(zip(ladder, filters))):
            if not account.would_exceed(tacit.Gaussian(sigma)) and account.spent == odometer.spent:
                expected = rung.epsilon
        assert odometer.epsilon_after(tacit.Gaussian(sigma)) == expected
        assert odometer.add(tacit.Gaussian(sigma)) is odometer
        assert odometer.epsilon() == expected
        for account in filters:
            if not account.would_exceed(tacit.Gaussian(sigma)):
                account.charge(tacit.Gaussian(sigma))


def test_releases_that_may_fail():
    inside = tacit.RenyiFilter([8.0, 32.0], TARGET)
    account, alone = tacit.ApproximateFilter(inside, 1e-7), tacit.RenyiFilter([8.0, 32.0], TARGET)
    with pytest.raises(RuntimeError, match="used after it was moved from"):
        inside.charge(tacit.Gaussian(10.0))
    account.charge(tacit.ApproxDP(0.1, 1e-8))
    alone.charge(tacit.Pure(0.1))
    account.charge(tacit.Event(tacit.ApproxDP(0.1, 1e-8), tacit.Poisson(0.25)))
    alone.charge(tacit.Event(tacit.Pure(0.1), tacit.Poisson(0.25)))
    account.charge(tacit.Gaussian(10.0), 2, failure=2e-8)
    alone.charge(tacit.Gaussian(10.0), 2)
    account.charge(lambda order: 1e-3 * order, failure=1e-8)
    account.charge(lambda order: 1e-3 * order)
    alone.charge(lambda order: 1e-3 * order, 2)
    assert account.failed == pytest.approx(6.25e-8) and account.failures == 1e-7
    assert list(account.spent) == pytest.approx(list(alone.spent)) and account.budget == alone.budget
    before = account.save()
    assert account.would_exceed(tacit.ApproxDP(1e-6, 4e-8)) and not account.would_exceed(tacit.Pure(1e-6))
    assert account.would_exceed(tacit.Pure(1e-6), failure=4e-8) and account.would_exceed(tacit.ApproxDP(50.0, 1e-12))
    for release, failure in ((tacit.ApproxDP(1e-6, 4e-8), None), (tacit.ApproxDP(50.0, 1e-12), None), (tacit.Gaussian(1e6), 4e-8)):
        with pytest.raises(tacit.BudgetExhausted):
            account.charge(release, failure=failure)
    assert account.save() == before
    gaussians = tacit.ApproximateFilter(tacit.GaussianFilter(tacit.GaussianDP(1.0)), 1e-6)
    gaussians.charge(tacit.Gaussian(2.0), 3, failure=1e-7)
    assert gaussians.spent.mu == pytest.approx(math.sqrt(0.75)) and gaussians.failed == pytest.approx(3e-7) and gaussians.budget.mu == 1.0
    kept = tacit.RenyiFilter(8.0, TARGET)
    with pytest.raises(ValueError, match="failures is 1, but must be"):
        tacit.ApproximateFilter(kept, 1.0)
    kept.charge(tacit.Pure(0.01))  # it was not taken over


def test_a_mechanism_of_ones_own():
    for by in (STEP, tacit.RenyiAccountant().compose(STEP).divergence):
        odometer = tacit.RenyiOdometer([2.0, 8.0, 32.0]).add(by, 5)
        account = tacit.RenyiFilter([2.0, 8.0, 32.0], TARGET)
        assert not account.would_exceed(by, 5)
        account.charge(by, 5)
        assert account.spent == pytest.approx(odometer.spent) and account.epsilon() == pytest.approx(odometer.epsilon(TARGET.delta), rel=1e-12)
    account = tacit.RenyiFilter(8.0, TARGET)
    for bad, kind, said in ((lambda order: "x", TypeError, "divergence is 'x'"), (lambda order: -1.0, ValueError, "divergence is -1"),
                            (lambda order: math.nan, ValueError, "divergence is nan"), (lambda order: 1 / 0, ZeroDivisionError, "division")):
        with pytest.raises(kind, match=said):
            account.charge(bad)
        with pytest.raises(kind, match=said):
            tacit.RenyiOdometer(8.0).add(bad)
    assert account.spent[0] == 0.0


@pytest.mark.parametrize("account, spend", [
    (tacit.RenyiFilter([4.0, 16.0], TARGET, "zero_out"), lambda a: a.charge(STEP)),
    (tacit.GaussianFilter(TARGET, "replace_one"), lambda a: a.charge(tacit.Gaussian(20.0))),
    (tacit.RenyiOdometer([4.0, 16.0]), lambda a: a.add(STEP)),
    (tacit.GaussianOdometer([TARGET], "zero_out"), lambda a: a.add(tacit.Gaussian(20.0))),
    (tacit.ApproximateFilter(tacit.RenyiFilter(8.0, TARGET, "replace_one"), 1e-6), lambda a: a.charge(tacit.ApproxDP(0.1, 1e-7))),
    (tacit.ApproximateFilter(tacit.GaussianFilter(TARGET), 1e-6), lambda a: a.charge(tacit.Gaussian(20.0), failure=1e-7)),
], ids=lambda a: type(a).__name__)
def test_a_saved_run_goes_on(account, spend):
    spend(account)
    again = type(account).load(account.save())
    assert again.save() == account.save() and again.adjacency == account.adjacency
    for text in ("", account.save()[:-4], account.save() + " "):
        with pytest.raises(tacit.CorruptState):
            type(account).load(text)


FILTERS = [tacit.RenyiFilter(8.0, TARGET), tacit.GaussianFilter(TARGET), tacit.RenyiOdometer(8.0), tacit.GaussianOdometer([TARGET]),
           tacit.ApproximateFilter(tacit.RenyiFilter(8.0, TARGET), 1e-6),
           tacit.IndividualGaussianFilter(3, TARGET), tacit.IndividualRenyiFilter(3, 8.0, TARGET)]


@pytest.mark.parametrize("account", FILTERS, ids=lambda a: type(a).__name__)
def test_a_budget_is_not_copied(account):
    for again in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="is not copied or pickled: a copy would spend its budget again"):
            again(account)
    with pytest.raises(TypeError):
        class Other(type(account)):  # a subclass could copy it
            pass


@quick
@given(st.integers(1, 30), st.floats(0.1, 3.0), st.integers(0, 2**31))
def test_every_record_has_its_own_budget(records, mu, seed):
    account = tacit.IndividualGaussianFilter(records, tacit.GaussianDP(mu))
    draw = random.Random(seed)
    spent = [Fraction(0)] * records
    for _ in range(20):
        norms = [draw.choice((0.0, draw.random(), 1.0)) for _ in range(records)]
        sigma = draw.uniform(0.5, 5.0)
        taking_part = account.charge(norms, sigma)
        assert taking_part.dtype == np.int64 and list(taking_part) == sorted(set(taking_part))
        for i in range(records):
            cost = (Fraction(norms[i]) / Fraction(sigma)) ** 2
            if i in taking_part:
                spent[i] += cost
            else:
                assert spent[i] + cost > Fraction(mu) ** 2 * Fraction(1 - 1e-12)
            assert spent[i] <= Fraction(mu) ** 2 and spent[i] <= Fraction(account.spent[i])
    assert account.budget.mu == pytest.approx(mu, rel=1e-14)


def test_individual_divergences():
    account = tacit.IndividualRenyiFilter(3, 8.0, 1.0)
    assert list(account.charge([0.5, 1.0, math.inf])) == [0, 1]
    assert list(account.charge([0.5, 1e-9, 0.0])) == [0, 2]
    assert account.spent == pytest.approx([1.0, 1.0, 0.0]) and (account.order, account.budget) == (8.0, 1.0)
    for target in (TARGET, tacit.ApproxDP(0.5, 1e-3)):
        budget = tacit.IndividualRenyiFilter(3, 32.0, target).budget
        assert tacit.RenyiFilter(32.0, target).would_exceed(lambda order: budget * (1 + 1e-9))
        assert not tacit.RenyiFilter(32.0, target).would_exceed(lambda order: budget * (1 - 1e-9))
    with pytest.raises(ValueError, match="divergence is -1, but must be at least 0"):
        account.charge([0.0, -1.0, 0.0])
    assert account.spent == pytest.approx([1.0, 1.0, 0.0])


@pytest.mark.parametrize("ask, kind, said", [
    (lambda: tacit.RenyiFilter(1.0, TARGET), ValueError, "order is 1"),
    (lambda: tacit.RenyiFilter([4.0, 2.0], TARGET), ValueError, "order is 2"),
    (lambda: tacit.RenyiFilter([], TARGET), ValueError, "number of orders is 0"),
    (lambda: tacit.RenyiFilter(math.nan, TARGET), ValueError, "order is nan"),
    (lambda: tacit.RenyiFilter(True, TARGET), TypeError, "orders is True"),
    (lambda: tacit.RenyiFilter(None, TARGET), TypeError, "orders is missing"),
    (lambda: tacit.RenyiFilter(2.0, 1.0), TypeError, "budget is 1.0, but must be an ApproxDP"),
    (lambda: tacit.RenyiFilter([1.5, 2.0], tacit.ApproxDP(0.1, 1e-6)), tacit.Infeasible, "epsilon is"),
    (lambda: tacit.RenyiFilter(2.0, tacit.ApproxDP(1.0, 0.0)), ValueError, "delta is 0"),
    (lambda: tacit.RenyiFilter(16.0, TARGET).charge(tacit.Gaussian(-1.0)), ValueError, "noise_multiplier is -1"),
    (lambda: tacit.RenyiFilter(16.0, TARGET).charge(1.0), TypeError, "event is 1.0"),
    (lambda: tacit.RenyiFilter(16.0, TARGET).charge(STEP, -1), ValueError, "count is -1"),
    (lambda: tacit.GaussianFilter(tacit.GaussianDP(-1.0)), ValueError, "mu is -1"),
    (lambda: tacit.GaussianFilter(None), TypeError, "budget is missing, but must be a GaussianDP or an ApproxDP"),
    (lambda: tacit.GaussianFilter(TARGET).charge(STEP), ValueError, "not dominated by a Gaussian pair"),
    (lambda: tacit.RenyiOdometer(8.0).epsilon(0.0), ValueError, "delta is 0"),
    (lambda: tacit.GaussianOdometer([]), ValueError, "number of rungs is 0"),
    (lambda: tacit.GaussianOdometer([TARGET, TARGET]), ValueError, "epsilon is 2, but must be finite, positive and above the one before"),
    (lambda: tacit.GaussianOdometer([tacit.ApproxDP(1.0, 0.0)]), ValueError, "delta is 0"),
    (lambda: tacit.GaussianOdometer([1.0]), TypeError, "ladder is [1.0], but must be a list of ApproxDP"),
    (lambda: tacit.GaussianOdometer([TARGET]).add(STEP), ValueError, "not dominated by a Gaussian pair"),
    (lambda: tacit.GaussianOdometer([TARGET]).epsilon_after(tacit.Laplace(1.0)), ValueError, "not dominated by a Gaussian pair"),
    (lambda: tacit.ApproximateFilter(TARGET, 0.1), TypeError, "rest is ApproxDP"),
    (lambda: tacit.ApproximateFilter(tacit.RenyiFilter(8.0, TARGET), math.nan), ValueError, "failures is nan"),
    (lambda: tacit.ApproximateFilter(tacit.RenyiFilter(8.0, TARGET), 0.1).charge(STEP, failure=1.5), ValueError, "failure is 1.5"),
    (lambda: tacit.ApproximateFilter(tacit.RenyiFilter(8.0, TARGET), 0.1).charge(STEP, failure="x"), TypeError, "failure is 'x'"),
    (lambda: tacit.ApproximateFilter(tacit.GaussianFilter(TARGET), 0.1).charge(tacit.ApproxDP(0.1, 0.01)), ValueError, "not dominated by a Gaussian pair"),
    (lambda: tacit.ApproximateFilter(tacit.GaussianFilter(TARGET), 0.1).charge(lambda order: 0.1), TypeError, "event is <function"),
    (lambda: tacit.order_for([], 1e-5), ValueError, "size of plan is 0"),
    (lambda: tacit.order_for([STEP], 1e-5), TypeError, "plan is "),
    (lambda: tacit.IndividualGaussianFilter(0, TARGET), ValueError, "records is 0"),
    (lambda: tacit.IndividualGaussianFilter(3, TARGET).charge([0.0, 1.0], 1.0), ValueError, "number of norms is 2"),
    (lambda: tacit.IndividualGaussianFilter(3, TARGET).charge([0.0, 1.0, math.nan], 1.0), ValueError, "norm is nan"),
    (lambda: tacit.IndividualGaussianFilter(1, TARGET).charge([1.0], 0.0), ValueError, "sigma is 0"),
    (lambda: tacit.IndividualGaussianFilter(1, TARGET).charge([True], 1.0), TypeError, "norms is "),
    (lambda: tacit.IndividualRenyiFilter(1, 2.0, math.inf), ValueError, "divergence is inf"),
    (lambda: tacit.IndividualRenyiFilter(1, 2.0, None), TypeError, "budget is missing"),
    (lambda: tacit.IndividualRenyiFilter(10**30, 2.0, 1.0), ValueError, "records is 1000"),
])
def test_what_is_refused(ask, kind, said):
    with pytest.raises(kind) as refusal:
        ask()
    assert said in str(refusal.value)
