# SPDX-License-Identifier: Apache-2.0
"""Groups that are clipped apart, and counts beside updates: each is one Gaussian."""
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tacit

quick = settings(max_examples=60, deadline=None)
positive = st.floats(0.01, 100.0)


@quick
@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=6))
def test_groups_are_one_gaussian(groups):
    joint = tacit.joint_gaussian(groups)
    exact = 1.0 / math.sqrt(sum((clip / sigma) ** 2 for clip, sigma in groups))
    assert exact * (1 - 1e-12) <= joint.noise_multiplier <= exact * (1 + 1e-15)
    assert tacit.joint_gaussian(np.array(groups)) == joint


@quick
@given(positive, positive)
def test_a_count_is_a_group_of_half_a_clip(multiplier, count_noise):
    both = tacit.with_clip_count(tacit.Gaussian(multiplier), count_noise)
    assert both == tacit.joint_gaussian([(1.0, multiplier), (0.5, count_noise)])
    assert both.noise_multiplier == pytest.approx((multiplier**-2 + (2 * count_noise) ** -2) ** -0.5, rel=1e-12)
    assert both.noise_multiplier <= min(multiplier, 2 * count_noise)


@quick
@given(positive, st.floats(1.001, 100.0))
def test_the_inverse_keeps_the_multiplier(together, ratio):
    count_noise = 0.5 * together * ratio
    alone = tacit.beside_clip_count(tacit.Gaussian(together), count_noise)
    again = tacit.with_clip_count(alone, count_noise).noise_multiplier
    assert together <= again <= together * (1 + 1e-9)


def test_figures():
    # As `tacit epsilon --clip-count-noise` has them: z = 1 beside a count of noise 10.
    assert tacit.with_clip_count(tacit.Gaussian(1.0), 10.0).noise_multiplier == pytest.approx(1 / math.sqrt(1 + 1 / 400), rel=1e-12)
    assert tacit.joint_gaussian([(1.0, 2.0)] * 4).noise_multiplier == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("ask, said", [
    (lambda: tacit.joint_gaussian([]), "number of groups with a positive clip is 0"),
    (lambda: tacit.joint_gaussian([(-1.0, 1.0)]), "clip is -1"),
    (lambda: tacit.joint_gaussian([(1.0, 0.0)]), "sigma is 0"),
    (lambda: tacit.with_clip_count(tacit.Gaussian(1.0), 0.0), "count_noise is 0"),
    (lambda: tacit.beside_clip_count(tacit.Gaussian(2.0), 1.0), "count_noise is 1, but must be above half the noise_multiplier"),
])
def test_what_is_out_of_range(ask, said):
    with pytest.raises(ValueError) as refusal:
        ask()
    assert said in str(refusal.value)


@pytest.mark.parametrize("ask, said", [
    (lambda: tacit.joint_gaussian(1.0), "joint_gaussian: groups is 1.0, but must be pairs of numbers"),
    (lambda: tacit.joint_gaussian([(1.0, "x")]), "joint_gaussian: sigma is 'x'"),
    (lambda: tacit.with_clip_count(1.0, 1.0), "with_clip_count: updates is 1.0, but must be a Gaussian"),
    (lambda: tacit.beside_clip_count(tacit.Laplace(1.0), 1.0), "beside_clip_count: together is Laplace(noise_multiplier=1.0), but must be a Gaussian"),
])
def test_what_is_of_another_type(ask, said):
    with pytest.raises(TypeError) as refusal:
        ask()
    assert said in str(refusal.value)
