# SPDX-License-Identifier: Apache-2.0
"""What is refused is refused in the words of the calculator and of the page: tests/structure/doors.py asks them."""
import importlib.util
from pathlib import Path

import pytest

import tacit

FILE = Path(__file__).parents[2] / "tests" / "structure" / "doors.py"
SPEC = importlib.util.spec_from_file_location("doors", FILE)
doors = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(doors)


@pytest.mark.parametrize("question", doors.QUESTIONS)
def test_there_is_an_answer(question):
    getattr(tacit, question)(**doors.QUESTIONS[question])


@pytest.mark.parametrize("question, changes, upper", doors.ANSWERED)
def test_answers_have_the_same_figures(question, changes, upper):
    assert doors.is_figure(getattr(tacit, question)(**doors.asked(question, changes)).upper, upper)


@pytest.mark.parametrize("question, changes", doors.GOOD)
def test_what_is_in_range_is_answered(question, changes):
    try:
        found = getattr(tacit, question)(**doors.asked(question, changes))
    except tacit.Infeasible:
        assert "_for" in question  # nothing keeps the target
    else:
        assert getattr(found, "upper", found) >= 0


@pytest.mark.parametrize("question, changes, name, must_be", doors.REFUSED)
def test_what_is_refused_is_refused_in_the_same_words(question, changes, name, must_be):
    with pytest.raises((ValueError, TypeError)) as refusal:
        getattr(tacit, question)(**doors.asked(question, changes))
    assert doors.agrees(str(refusal.value), changes, name, must_be), str(refusal.value)


@pytest.mark.parametrize("text, name, value, must_be", [(text, *named) for text, _, *named in doors.VALUES])
def test_values_are_refused_in_the_same_words(text, name, value, must_be):
    with pytest.raises(ValueError) as refusal:
        doors.python_refuses(tacit, text)
    assert doors.agrees_on(str(refusal.value), name, value, must_be), str(refusal.value)
