# SPDX-License-Identifier: Apache-2.0
"""Every argument of every function that is written in Python: what is no number of its kind is refused by its name."""
import inspect
import math

import numpy as np
import pytest

import tacit

ROWS = np.random.default_rng(1).normal(size=(60, 2))
GOOD = {"delta": 1e-5, "epsilon": 1.0, "noise_multiplier": 2.0, "prior": 0.5, "false_positive_rate": 0.1, "records": 1000,
        "outputs": ROWS, "budget": 0.5, "noise": [0.1, 0.1]}
BAD = [math.nan, math.inf, None, "x", b"1", True, np.True_, 1j, object(), [[1], [1, 2]]]
ALSO = {"information": {"noise": tacit.pac.noise_for_candidates(ROWS, 0.5, method="log_det")},
        "noise_for_samples": {"method": "auto", "output_norm": 9.0, "c": 0.1, "slack": 0.1},
        "noise_for_candidates": {"method": "stackelberg", "samples": 1000}}


def functions():
    for module in (tacit, tacit.pac):
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                yield getattr(module, name)


def given(function):
    parameters = inspect.signature(function).parameters.values()
    return {**{p.name: GOOD[p.name] for p in parameters if p.default is p.empty}, **ALSO.get(function.__name__, {})}


def questions():
    for function in functions():
        for parameter in inspect.signature(function).parameters.values():
            yield pytest.param(function, parameter, id=f"{function.__name__}-{parameter.name}")


def test_the_functions_are_found():
    assert {f.__name__ for f in functions()} >= {"epsilon", "batch_for", "gap", "noise_for_samples", "information"}


@pytest.mark.parametrize("function, parameter", list(questions()))
def test_no_argument_is_guessed(function, parameter):
    for bad in BAD:
        if bad is None and parameter.default is None:
            continue
        with pytest.raises((ValueError, TypeError), match=parameter.name):
            function(**{**given(function), parameter.name: bad})
