# SPDX-License-Identifier: Apache-2.0
"""Matrix mechanisms."""
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit import matrix

quick = settings(max_examples=40, deadline=None)
coefficients = st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=6)


def dense_of(toeplitz):
    n = toeplitz.steps
    c = np.zeros((n, n))
    for t, x in enumerate(toeplitz.coefficients):
        c += x * np.eye(n, k=-t)
    return c


def patterns(steps, separation, most):
    """All sets of steps in which a record may take part."""
    for size in range(1, most + 1):
        for chosen in itertools.combinations(range(steps), size):
            if all(b - a >= separation for a, b in zip(chosen, chosen[1:])):
                yield list(chosen)


@quick
@given(coefficients, st.integers(0, 4), st.integers(1, 4), st.integers(1, 3))
def test_a_sensitivity_bounds_every_participation(given_coefficients, more, separation, most):
    toeplitz = matrix.ToeplitzStrategy(given_coefficients, len(given_coefficients) + more)
    c = dense_of(toeplitz)
    # Contributions of one dimension, of any sign: there may be worse ones of several.
    worst = max(np.linalg.norm(c[:, steps] @ np.array(signs)) for steps in patterns(toeplitz.steps, separation, most)
                for signs in itertools.product((1, -1), repeat=len(steps)))
    schema = matrix.MinSeparation(separation, most)
    for strategy in (toeplitz, matrix.DenseStrategy(c)):
        assert matrix.sensitivity(strategy, schema) >= worst * (1 - 1e-12)
    once = max(np.linalg.norm(c, axis=0))
    assert matrix.sensitivity(matrix.DenseStrategy(c)) == pytest.approx(once, rel=1e-12)
    assert matrix.sensitivity(toeplitz) == pytest.approx(once, rel=1e-12)


@quick
@given(st.integers(1, 200), st.floats(0.5, 20.0))
def test_the_identity_is_dp_sgd(steps, sigma):
    strategy = matrix.identity_strategy(steps)
    [(event, count)] = matrix.matrix_run(strategy, sigma, matrix.MinSeparation(most=steps))
    run = tacit.PrivacyLossAccountant().compose(event, count)
    assert run.epsilon(1e-6).upper == pytest.approx(tacit.epsilon(noise_multiplier=sigma, steps=steps, delta=1e-6).upper, rel=1e-9)
    assert matrix.matrix_run(strategy, sigma, matrix.CyclicPoisson(1, 0.1)) == [
        (tacit.Event(tacit.Gaussian(sigma), tacit.Poisson(0.1)), steps)]


@quick
@given(st.integers(1, 40))
def test_the_square_root_of_the_prefix_sums(steps):
    c = dense_of(matrix.square_root_strategy(steps))
    assert np.allclose(c @ c, np.tril(np.ones((steps, steps))), atol=1e-12)
    rows = np.tril(np.ones((steps, steps))) @ np.linalg.inv(c)
    error = matrix.prefix_error(matrix.square_root_strategy(steps))
    assert error.mean == pytest.approx(np.mean(np.sum(rows**2, axis=1)), rel=1e-9)
    assert error.largest == pytest.approx(np.max(np.sum(rows**2, axis=1)), rel=1e-9)
    assert matrix.prefix_error(matrix.DenseStrategy(c)).mean == pytest.approx(error.mean, rel=1e-9)


def test_banded_and_buffered_strategies():
    banded = matrix.square_root_strategy(100, bands=10)
    assert np.array_equal(banded.coefficients, matrix.square_root_strategy(100).coefficients[:10])
    buffered = matrix.buffered_strategy([(0.9, 0.3), (0.5, 0.2)], 50)
    assert np.allclose(buffered.coefficients[1:], [0.3 * 0.9**t + 0.2 * 0.5**t for t in range(49)], rtol=1e-12)
    assert buffered == matrix.buffered_strategy(np.array([[0.9, 0.3], [0.5, 0.2]]), 50)
    run = matrix.matrix_run(banded, 4.0, matrix.CyclicPoisson(groups=20, rate=0.05))
    assert sum(count for _, count in run) == 5
    [(event, count)] = matrix.matrix_run(banded, 4.0, matrix.BallsInBins(50))
    assert (type(event.sampling), event.sampling.steps, count) == (tacit.RandomAllocation, 5, 1)


def epsilon_of(run, accountant, delta, adjacency="add_remove"):
    account = accountant(adjacency)
    for event, count in run:
        account.compose(event, count)
    return account.epsilon(delta).upper


def test_balls_in_bins_apart():
    # `tacit matrix --strategy buffered --buffers FILE --steps 2000 --bins 200 --apart 20 --epsilon 2 --delta 1e-8` has this noise.
    strategy = matrix.buffered_strategy([(0.99, 0.06), (0.9, 0.15), (0.4, 0.29)], 2000)
    run = matrix.matrix_run(strategy, 6.60595, matrix.BallsInBins(200, apart=20))
    assert [(type(event.mechanism), type(event.sampling), count) for event, count in run] == [
        (tacit.Gaussian, tacit.Unsampled, 1), (tacit.Gaussian, tacit.RandomAllocation, 1)]
    assert run[1][0].sampling.steps == 10
    assert epsilon_of(run, tacit.PrivacyLossAccountant, 1e-8) == pytest.approx(2.0, rel=1e-5)
    # Without it a strategy of so many bands has none; and 0 is as if it were not given.
    with pytest.raises(ValueError, match="bins is 200, but must be at least 2000"):
        matrix.matrix_run(strategy, 6.6, matrix.BallsInBins(200))
    assert matrix.BallsInBins(200, 0) == matrix.BallsInBins(200) != matrix.BallsInBins(200, 20)


def test_nested_bins():
    # `tacit matrix --strategy square-root --bands 16 --steps 2000 --bins 160 --nested --noise-multiplier 8 --delta 1e-8`
    strategy = matrix.square_root_strategy(2000, bands=16)
    [(event, count)] = run = matrix.matrix_run(strategy, 8.0, matrix.NestedBins(160), adjacency="zero_out")
    assert (type(event.mechanism), count) == (tacit.RenyiDP, 1)
    assert run == matrix.matrix_run(strategy, 8.0, matrix.NestedBins(160))
    nested = epsilon_of(run, tacit.RenyiAccountant, 1e-8)
    assert nested == pytest.approx(1.10887, rel=1e-5)
    assert nested < epsilon_of(matrix.matrix_run(strategy, 8.0, matrix.BallsInBins(160)), tacit.PrivacyLossAccountant, 1e-8)


def test_samples_that_keep_a_distance():
    # `tacit matrix --strategy square-root --bands 16 --steps 2000 --separation 16 --rate 0.0069 --noise-multiplier 8 --delta 1e-8`
    strategy = matrix.square_root_strategy(2000, bands=16)
    how = matrix.SeparatedPoisson(separation=16, rate=0.0069)
    [(event, count)] = run = matrix.matrix_run(strategy, 8.0, how, adjacency="zero_out")
    assert (type(event.mechanism), count) == (tacit.RenyiDP, 1)
    assert run == matrix.matrix_run(strategy, 8.0, how)
    assert epsilon_of(run, tacit.RenyiAccountant, 1e-8) == pytest.approx(0.900434, rel=1e-5)
    # Without separation and correlation it is DP-SGD.
    plain = matrix.matrix_run(matrix.identity_strategy(100), 2.0, matrix.SeparatedPoisson(1, 0.1))
    sgd = [(tacit.Event(tacit.Gaussian(2.0), tacit.Poisson(0.1)), 100)]
    assert epsilon_of(plain, tacit.RenyiAccountant, 1e-5) == pytest.approx(epsilon_of(sgd, tacit.RenyiAccountant, 1e-5), rel=0.02)
    assert matrix.matrix_run(strategy, 8.0, matrix.SeparatedPoisson(16, 0.0)) == []


def test_trees():
    tree = matrix.TreeStrategy(8)
    assert matrix.sensitivity(tree) == pytest.approx(2.0, rel=1e-12)  # a leaf is in 4 nodes
    assert matrix.sensitivity(matrix.TreeStrategy(8, restart=2)) == pytest.approx(math.sqrt(2), rel=1e-12)


@pytest.mark.parametrize("value", [
    matrix.ToeplitzStrategy([1.0, 0.5], 4), matrix.TreeStrategy(8, 2), matrix.DenseStrategy([[1.0, 0.0], [0.5, 1.0]]),
    matrix.MinSeparation(3, 4), matrix.CyclicPoisson(3, 0.1), matrix.BallsInBins(7),
    matrix.BallsInBins(8, 4), matrix.NestedBins(8), matrix.SeparatedPoisson(3, 0.1)], ids=repr)
def test_they_can_be_kept(value):
    for again in (eval(repr(value), vars(matrix)), pickle.loads(pickle.dumps(value))):
        assert repr(again) == repr(value) and type(again) is type(value)
        assert again == value


def test_arrays_of_every_layout():
    c = np.tril(np.arange(1.0, 17.0).reshape(4, 4))
    strategy = matrix.DenseStrategy(c)
    for same in (np.asfortranarray(c), c.tolist(), np.repeat(c, 2, axis=1)[:, ::2], c.astype(np.float32), c.astype(int), c[::-1][::-1]):
        assert matrix.DenseStrategy(same) == strategy
    strategy.entries[0, 0] = 99.0  # a copy
    assert strategy.entries[0, 0] == 1.0


@pytest.mark.parametrize("ask, said", [
    (lambda: matrix.ToeplitzStrategy([], 3), "number of coefficients is 0"),
    (lambda: matrix.ToeplitzStrategy([1.0, math.nan], 3), "coefficient is nan"),
    (lambda: matrix.ToeplitzStrategy([1.0] * 4, 3), "number of coefficients is 4"),
    (lambda: matrix.ToeplitzStrategy([1.0], 0), "steps is 0, but must be"),
    (lambda: matrix.TreeStrategy(0), "steps is 0"),
    (lambda: matrix.DenseStrategy(np.zeros((0, 3))), "number of entries is 0"),
    (lambda: matrix.DenseStrategy(np.zeros((3, 0))), "number of entries is 0"),
    (lambda: matrix.identity_strategy(0), "identity_strategy: steps is 0"),
    (lambda: matrix.square_root_strategy(5, 6), "bands is 6"),
    (lambda: matrix.buffered_strategy([(1.5, 0.1)], 5), "decay is 1.5"),
    (lambda: matrix.sensitivity(matrix.identity_strategy(5), matrix.MinSeparation(0)), "separation is 0"),
    (lambda: matrix.sensitivity(matrix.DenseStrategy(np.eye(2049)), matrix.MinSeparation(1, 2)), "number of columns is 2049"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(5), 0.0, matrix.MinSeparation()), "noise_multiplier is 0"),
    (lambda: matrix.matrix_run(matrix.square_root_strategy(5), 1.0, matrix.CyclicPoisson(2, 0.1)), "groups is 2, but must be at least 5"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(5), 1.0, matrix.CyclicPoisson(1, 1.5)), "rate is 1.5"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(8), 1.0, matrix.BallsInBins(8, 3)), "apart is 3, but must be a divisor of the bins, 8"),
    (lambda: matrix.matrix_run(matrix.TreeStrategy(8), 1.0, matrix.BallsInBins(8, 2)), "apart is not 0, but must be for a tree"),
    (lambda: matrix.matrix_run(matrix.square_root_strategy(5), 1.0, matrix.SeparatedPoisson(2, 0.1)),
     "separation is 2, but must be at least 5"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(5), 1.0, matrix.SeparatedPoisson(0, 0.1)), "separation is 0"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(5), 1.0, matrix.SeparatedPoisson(1, 1.5)), "rate is 1.5"),
    (lambda: matrix.matrix_run(matrix.TreeStrategy(8), 1.0, matrix.SeparatedPoisson(8, 0.1)), "no bound is implemented for a tree"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(5), 1.0, matrix.SeparatedPoisson(1, 0.1), "replace_one"),
     "no bound is implemented for samples that keep a distance, under replace_one"),
    (lambda: matrix.NestedBins(0), "bins is 0, but must be a whole number in [1, 10000000]"),
    (lambda: matrix.matrix_run(matrix.TreeStrategy(8), 1.0, matrix.NestedBins(8)), "no bound is implemented for a tree"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(5), 1.0, matrix.NestedBins(5), "replace_one"),
     "no bound is implemented for balls in bins, under replace_one"),
    (lambda: matrix.matrix_run(matrix.identity_strategy(5), 1.0, matrix.MinSeparation(), "nobody"), "adjacency is 'nobody'"),
    (lambda: matrix.matrix_run(matrix.DenseStrategy([[1.0, 1.0], [0.0, 1.0]]), 1.0, matrix.BallsInBins(2)), "not lower triangular"),
])
def test_what_is_refused(ask, said):
    with pytest.raises(ValueError) as refusal:
        ask()
    assert said in str(refusal.value)


@pytest.mark.parametrize("bad", [None, "x", [[1.0]], [True], [1j], [None], np.ma.masked_array([1.0], [True]), [np.longdouble(1)], [[1], [1, 2]],
                                 np.array([1.0], dtype=object)], ids=repr)
def test_what_is_no_array_of_numbers(bad):
    with pytest.raises(TypeError, match=r"\AToeplitzStrategy: coefficients is [\s\S]*, but must be an array of numbers, of shape \(bands,\)\Z"):
        matrix.ToeplitzStrategy(bad, 3)
