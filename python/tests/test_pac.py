# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import pickle
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit
from tacit.pac import NoisyOutputs, gap, information, noise_for_candidates, noise_for_samples

OUTPUTS = np.array([[1.0, 0.2], [1.1, 0.1], [0.8, 0.3], [0.9, 0.2]])


def truth_on_a_line(points, weights, variance):
    """I(X; Z) of candidates on a line under this noise, by quadrature:
    -sum_i w_i E log sum_j w_j exp(-d_ij^2/2 - d_ij g), d_ij = (x_i - x_j)/sigma and g standard normal."""
    weights = weights / weights.sum()
    g = np.linspace(-12, 12, 4801)
    density = np.exp(-g ** 2 / 2) / np.sqrt(2 * np.pi) * (g[1] - g[0])
    total = 0.0
    for here, w in zip(points, weights):
        d = (here - points)[:, None] / np.sqrt(variance)
        total -= w * density @ np.logaddexp.reduce(np.log(weights)[:, None] - d ** 2 / 2 - d * g)
    return total


@pytest.mark.parametrize("method, shape", [
    ("least", "full"), ("least", "diagonal"), ("log_det", "full"), ("log_det", "diagonal"), ("efficient", "diagonal"),
    ("proportional", "full"), ("stackelberg", "full")])
def test_noise_for_candidates(method, shape):
    noise = noise_for_candidates(OUTPUTS, 0.5, method=method, shape=shape)
    assert noise.certified and 0.0 < noise.information <= 0.5
    assert noise.confidence == (1.0 if method != "stackelberg" else pytest.approx(noise.confidence))
    assert noise.confidence >= 0.95
    assert noise.dimension == 2
    assert noise.covariance.shape == (2, 2)
    assert np.trace(noise.covariance) == pytest.approx(noise.trace, rel=1e-12)
    assert np.trace(noise.covariance) >= noise.trace
    assert np.all(np.linalg.eigvalsh(noise.covariance) >= 0)
    if shape == "diagonal":
        assert np.array_equal(np.diag(noise.covariance), noise.variances)


def test_no_method_has_more_noise_than_it_says():
    least = noise_for_candidates(OUTPUTS, 0.5).trace
    log_det = noise_for_candidates(OUTPUTS, 0.5, method="log_det").trace
    assert least <= log_det
    assert noise_for_candidates(OUTPUTS, 0.5, method="stackelberg").trace <= least
    assert log_det <= noise_for_candidates(OUTPUTS, 0.5, method="proportional").trace


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=6, unique=True),
       st.floats(0.02, 0.6), st.lists(st.floats(0.1, 1.0), min_size=6, max_size=6))
@settings(deadline=None, max_examples=25)
def test_the_bound_is_above_the_truth(points, budget, weights):
    points, weights = np.array(points), np.array(weights[:len(points)])
    noise = noise_for_candidates(points[:, None], budget, weights=weights)
    assert noise.information <= budget
    if noise.trace > 0.0 and np.ptp(points) > 1e-6:
        assert truth_on_a_line(points, weights, noise.trace) <= noise.information + 1e-7
        assert information(points[:, None], noise, weights=weights) <= noise.information * (1 + 1e-9)


def test_two_candidates_are_a_sign():
    # The information of N(+-1/2, v) with even odds is that of a sign with noise sigma = 2 sqrt(v).
    noise = noise_for_candidates([[0.0], [1.0]], 0.1)
    assert tacit.mutual_information(0.5, 2 * np.sqrt(noise.trace)) <= noise.information * (1 + 1e-12)
    assert tacit.sigma_for(0.5, 0.1) <= 2 * np.sqrt(noise.trace) * (1 + 1e-9)


@given(st.floats(0.01, 0.99), st.floats(0.05, 20.0))
@settings(deadline=None)
def test_information_and_its_inverse(prior, sigma):
    nats = tacit.mutual_information(prior, sigma)
    found = tacit.sigma_for(prior, nats)
    assert found == pytest.approx(sigma, rel=1e-4) or nats > 0.99 * -(
        prior * np.log(prior) + (1 - prior) * np.log1p(-prior)) or nats < 1e-9
    assert tacit.mutual_information(prior, found) <= nats * (1 + 1e-9)
    assert tacit.attack_success_from_information(nats, max(prior, 1 - prior)) >= max(prior, 1 - prior)


@given(st.floats(1e-6, 0.6))
@settings(deadline=None)
def test_success_and_information_are_inverse(nats):
    success = tacit.attack_success_from_information(nats)
    assert tacit.information_for_success(success) == pytest.approx(nats, rel=1e-6)


def test_arrays_of_any_layout_and_type():
    rows = np.random.default_rng(1).normal(size=(20, 5))
    expected = noise_for_candidates(rows, 0.2, method="log_det").covariance
    for same in (np.asfortranarray(rows), np.repeat(rows, 2, axis=0)[::2], rows.tolist()):
        assert np.array_equal(noise_for_candidates(same, 0.2, method="log_det").covariance, expected)
    frozen = rows.copy()
    frozen.flags.writeable = False
    assert np.array_equal(noise_for_candidates(frozen, 0.2, method="log_det").covariance, expected)
    assert noise_for_candidates(np.array([[0], [1]]), 0.2).trace == noise_for_candidates([[0.0], [1.0]], 0.2).trace


def test_samples_are_estimates():
    rows = np.random.default_rng(2).normal(size=(500, 3))
    for options in (dict(), dict(method="proportional"), dict(shape="diagonal"),
                    dict(method="efficient", shape="diagonal"),
                    dict(method="auto", output_norm=10.0, c=0.01, slack=0.1)):
        noise = noise_for_samples(rows, 0.5, **options)
        assert not noise.certified and noise.confidence == 0.0
        with pytest.raises(ValueError, match="certified"):
            NoisyOutputs(1.0).release(rows[0], noise)
    with pytest.raises(tacit.Infeasible):
        noise_for_samples(rows[:3], 0.5)
    assert noise_for_samples(rows[:3], 0.5, floor=0.1).trace > 0


def test_releases_are_charged():
    noise = noise_for_candidates(OUTPUTS, 0.3)
    account = NoisyOutputs(budget=0.7)
    released = [account.release(OUTPUTS[0], noise) for _ in range(2)]
    assert released[0].shape == (2,) and not np.array_equal(*released)
    assert 0.0 < account.spent <= 0.6 and account.remaining >= 0.1
    with pytest.raises(tacit.BudgetExhausted):
        account.release(OUTPUTS[0], noise)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="copied"):
            duplicate(account)
    for wrong in (np.zeros(3), [np.nan, 0.0]):
        with pytest.raises(ValueError):
            NoisyOutputs(1.0).release(np.asarray(wrong, dtype=float), noise)


def test_draws_have_the_covariance():
    noise = noise_for_candidates(OUTPUTS, 0.5)
    draws = np.array([noise.draw() for _ in range(4000)])
    assert np.cov(draws.T) == pytest.approx(noise.covariance, abs=0.2 * noise.trace)
    normals = np.random.default_rng(3).normal(size=(4000, 2))
    shaped = np.array([noise.shaped(g) for g in normals])
    assert np.cov(shaped.T) == pytest.approx(noise.covariance, abs=0.2 * noise.trace)
    assert noise.shaped(np.zeros(2)).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError):
        noise.shaped(np.zeros(3))


def test_nothing_to_hide_needs_no_noise():
    noise = noise_for_candidates(np.ones((3, 2)), 0.5)
    assert noise.trace == 0.0 and noise.information == 0.0
    assert noise.draw().tolist() == [0.0, 0.0]


def test_many_columns_take_no_matrix():
    rows = np.random.default_rng(4).normal(size=(8, 20_000))
    noise = noise_for_candidates(rows, 0.1, method="log_det", shape="diagonal")
    assert noise.variances.shape == (20_000,)
    with pytest.raises(ValueError, match="dimension"):
        noise.covariance
    with pytest.raises(ValueError, match="columns"):
        noise_for_candidates(rows, 0.1)


BAD = [
    (np.empty((0, 2)), {}, ValueError, "outputs|entries"), (np.empty((2, 0)), {}, ValueError, "outputs|entries"),
    (np.full((2, 2), np.nan), {}, ValueError, "outputs is nan at"), (np.full((2, 2), np.inf), {}, ValueError, "outputs is inf"),
    (np.zeros(3), {}, ValueError, "outputs has shape"), (np.zeros((2, 2, 2)), {}, ValueError, "outputs has shape"),
    (np.array([["a"]]), {}, TypeError, "outputs"), (np.array([[None]]), {}, TypeError, "outputs"),
    (np.zeros((2, 2), complex), {}, TypeError, "outputs"),
    (np.ma.masked_array(OUTPUTS, mask=OUTPUTS > 1), {}, TypeError, "mask"),
    (OUTPUTS, dict(budget=0.0), ValueError, "budget"), (OUTPUTS, dict(budget=-1.0), ValueError, "budget|nats"),
    (OUTPUTS, dict(budget=np.nan), ValueError, "budget|nats"), (OUTPUTS, dict(method="largest"), ValueError, "method"),
    (OUTPUTS, dict(shape="round"), ValueError, "shape"), (OUTPUTS, dict(weights=np.ones(3)), ValueError, "weights has shape"),
    (OUTPUTS, dict(weights=-np.ones(4)), ValueError, "weight"), (OUTPUTS, dict(weights=np.zeros(4)), ValueError, "weight|effective"),
    (OUTPUTS, dict(weights=[1, 1, 1, np.nan]), ValueError, "weights is nan"),
]


@pytest.mark.parametrize("rows, options, error, words", BAD + [
    (OUTPUTS, dict(method="efficient"), ValueError, "method"),
    (OUTPUTS, dict(method="stackelberg", confidence=1.0), ValueError, "confidence"),
    (OUTPUTS, dict(method="stackelberg", samples=-1), ValueError, "samples"),
    (OUTPUTS, dict(method="stackelberg", seed=2**64), ValueError, "seed"),
])
def test_bad_candidates_are_refused(rows, options, error, words):
    with pytest.raises(error, match=words):
        noise_for_candidates(rows, **{"budget": 0.5, **options})


@pytest.mark.parametrize("rows, options, error, words", BAD + [
    (OUTPUTS, dict(floor=-1.0), ValueError, "floor"), (OUTPUTS, dict(floor=np.nan), ValueError, "floor"),
    (OUTPUTS, dict(method="auto"), ValueError, "output_norm"), (OUTPUTS, dict(c=0.1), ValueError, "output_norm"),
    (OUTPUTS, dict(method="auto", output_norm=1.0, c=0.1, slack=0.5), ValueError, "slack"),
    (OUTPUTS, dict(method="auto", output_norm=np.inf, c=0.1, slack=0.1), ValueError, "output_norm"),
])
def test_bad_samples_are_refused(rows, options, error, words):
    with pytest.raises(error, match=words):
        noise_for_samples(rows, **{"budget": 0.5, **options})


@pytest.mark.parametrize("method, word, options", [
    ("least", "candidates", []), ("log_det", "log-det", ["--rows", "candidates"]),
    ("proportional", "proportional", ["--rows", "candidates"]), ("stackelberg", "stackelberg", [])])
def test_the_calculator_says_the_same(tmp_path, method, word, options):
    calculator = os.environ.get("TACIT_CALCULATOR")
    if calculator is None:
        pytest.skip("TACIT_CALCULATOR names no calculator")
    np.savetxt(tmp_path / "outputs.csv", OUTPUTS, fmt="%.17g", delimiter=",")
    said = json.loads(subprocess.run(
        [calculator, "calibrate", tmp_path / "outputs.csv", "--mi", "0.5", "--method", word, *options, "--json"],
        check=True, capture_output=True, text=True).stdout)
    noise = noise_for_candidates(OUTPUTS, 0.5, method=method)
    # Another version of Eigen may round in another order.
    assert noise.information == pytest.approx(said["mi_bound"], rel=1e-11)
    assert noise.covariance == pytest.approx(np.array(said["covariance"]), rel=1e-10)


def signs(rows, seed):
    """Two fair signs, turned by 30 degrees. The first is spread a little: no two rows are equal by the way."""
    draw = np.random.default_rng(seed)
    x = draw.choice((-1.0, 1.0), (rows, 2))
    x[:, 0] += draw.uniform(-1e-5, 1e-5, rows)
    c, s = np.sqrt(0.75), 0.5
    return x @ np.array([[c, s], [-s, c]])


def test_the_gap_of_two_signs():
    # A fair sign in noise of deviation 0.3, by quadrature; the spread adds less than 1e-8 nats.
    truth = 2 * tacit.mutual_information(0.5, 0.3)
    found = gap(signs(4000, 1), [0.09, 0.09], radius=1.4143)
    assert found.log_det == pytest.approx(np.log1p(1 / 0.09), abs=0.01)
    assert found.information == pytest.approx(truth, abs=0.15)
    assert 0.5 * (found.log_det - truth) < found.certified_gap < found.log_det - truth
    assert found.wasserstein > 1.5 * found.sliced_wasserstein
    assert truth < found.information_bound < found.log_det
    assert found.information_bound == min(found.bound_by_normal, found.bound_by_mixture)
    assert found.confidence == 0.95 and found.rows_repeated == found.rows_that_chose == 0
    bare = gap(signs(4000, 1), np.array([0.09, 0.09]))
    assert bare.information_bound is None and bare.log_det == found.log_det
    surer = gap(signs(4000, 1), [0.09, 0.09], confidence=0.999)
    assert surer.certified_gap < bare.certified_gap and surer.confidence == 0.999
    assert gap(signs(4000, 1), [0.09, 0.09], axes="random", seed=3).certified_gap < bare.certified_gap
    assert gap(signs(4000, 1), [[0.09, 0.0], [0.0, 0.09]]).log_det == pytest.approx(bare.log_det, abs=1e-9)
    assert repr(found).startswith(f"Gap(information={found.information}, log_det=")


def test_rows_that_chose_the_noise_certify_nothing():
    rows = signs(500, 2)
    chosen = noise_for_samples(rows, 1.0)
    for some in (rows, rows[100:], np.vstack([signs(100, 3), rows[:1]])):
        found = gap(some, chosen)
        assert found.rows_that_chose == (some[:, None] == rows).all(2).any(1).sum()
        assert found.certified_gap is None and found.information_bound is None and found.confidence is None
        for wrong in (dict(radius=2.0), dict(confidence=0.9)):
            with pytest.raises(ValueError, match=f"{next(iter(wrong))} is .* left out .* chose"):
                gap(some, chosen, **wrong)
    assert gap(signs(500, 4), chosen, radius=2.0).information_bound > 0.0


@pytest.mark.parametrize("changes, error, words", [
    (dict(outputs=signs(47, 5)), ValueError, "47 different rows"), (dict(outputs=np.tile(signs(40, 5), (3, 1))), ValueError, "40 different rows"),
    (dict(outputs=signs(99, 5)[:, 0]), ValueError, "outputs has shape"), (dict(outputs=np.empty((0, 2))), ValueError, "rows"),
    (dict(noise=[1.0, 0.0]), ValueError, "variance"), (dict(noise=[1.0, -1.0]), ValueError, "variance"), (dict(noise=[1.0]), ValueError, "columns"),
    (dict(noise=[1.0, np.nan]), ValueError, "noise is nan"), (dict(noise=np.ones((2, 2))), ValueError, "least variance"),
    (dict(noise=np.ones((2, 2, 2))), ValueError, "noise has shape"), (dict(noise=0.5), ValueError, "noise has shape"), (dict(noise=None), TypeError, "noise"),
    (dict(noise="0.1"), TypeError, "noise"), (dict(axes="all"), ValueError, "axes"), (dict(confidence=1.0), ValueError, "confidence"),
    (dict(confidence=np.nan), ValueError, "confidence"), (dict(radius=1.2), ValueError, "length of row .* radius"), (dict(radius=0.0), ValueError, "radius"),
    (dict(radius=np.nan), ValueError, "radius"), (dict(seed=-1), ValueError, "seed"), (dict(seed=2**64), ValueError, "seed"),
])
def test_bad_gaps_are_refused(changes, error, words):
    with pytest.raises(error, match=words):
        gap(**{"outputs": signs(200, 6), "noise": [0.09, 0.09], **changes})


@pytest.mark.parametrize("options", [{}, dict(radius=1.5), dict(axes="random", seed=3, confidence=0.99), dict(axes="principal", radius=2.0)])
@pytest.mark.parametrize("noise", [[[0.09, 0.16]], [[0.09, 0.01], [0.01, 0.08]]])
def test_the_calculator_sees_the_same_gap(tmp_path, noise, options):
    calculator = os.environ.get("TACIT_CALCULATOR")
    if calculator is None:
        pytest.skip("TACIT_CALCULATOR names no calculator")
    outputs = signs(900, 7)
    np.savetxt(tmp_path / "outputs.csv", outputs, fmt="%.17g", delimiter=",")
    np.savetxt(tmp_path / "noise.csv", noise, fmt="%.17g", delimiter=",")
    words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
    said = json.loads(subprocess.run([calculator, "gap", tmp_path / "outputs.csv", "--noise", tmp_path / "noise.csv", *words, "--json"],
                                     check=True, capture_output=True, text=True).stdout)
    found = gap(outputs, noise[0] if len(noise) == 1 else noise, **options)
    # Another version of Eigen, or other vectors, may round in another order.
    same = lambda x: pytest.approx(x, rel=1e-7)  # noqa: E731
    assert found.information == same(said["mi_estimate"])
    for name, value in said["estimates"].items():
        assert getattr(found, name) == same(value)
    assert found.certified_gap == same(said["gap_certified"]) and found.confidence == said["confidence"]
    if "radius" in options:
        assert found.information_bound == same(said["mi_bound"])
        assert [found.bound_by_normal, found.bound_by_mixture] == same(list(said["mi_bounds"].values()))
    else:
        assert found.information_bound is None
