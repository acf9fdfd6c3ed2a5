# SPDX-License-Identifier: Apache-2.0
"""Private answers."""
import copy
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tacit
from tacit.pac import Answering, audit_answers

M = 64
RANDOM = np.random.default_rng(5)
ONE = RANDOM.normal(size=M)
MANY = RANDOM.normal(size=(M, 3))


def test_answers_within_a_budget():
    answering = Answering(M, budget=1.0, per_answer=0.01)
    answer = answering.answer(ONE)
    assert type(answer) is float and math.isfinite(answer)
    cells = answering.answer(MANY)
    assert cells.shape == (3,) and cells.dtype == np.float64 and np.isfinite(cells).all()
    assert answering.answer(MANY[:, :1]).shape == (1,)
    assert 0.0 < answering.spent <= 0.03 and answering.answers == 3
    assert answering.remaining == pytest.approx(1.0 - answering.spent) and answering.budget == 1.0 and answering.candidates == M
    assert answering.belief.shape == (M,) and answering.belief.sum() == pytest.approx(1.0)
    assert 0.5 < answering.attack_bound() < 0.7 and answering.attack_bound(1 / M) < 0.2
    before = answering.spent
    answering.answer(ONE, at_most=0.2)
    assert 0.1 < answering.spent - before <= 0.2
    assert answering.transcript is None


def test_what_all_agree_on_is_free_and_exact():
    answering = Answering(3, budget=0.0, per_answer=0.01)
    assert answering.answer([2.5, 2.5, 2.5]) == 2.5
    assert np.array_equal(answering.answer(np.full((3, 2), 7.0)), [7.0, 7.0])
    assert answering.spent == 0.0


def test_noise_is_as_large_as_the_budget_asks():
    draws = []
    for _ in range(400):
        answering = Answering(2, budget=1.0, per_answer=0.01)
        draws.append(answering.answer([-1.0, 1.0]))
    # log(1 + 1/s^2) = 0.02: deviation 7.04, and 1 of the candidates; chance 1e-9 of failing
    assert 5.6 < np.std(draws) < 8.7 and abs(np.mean(draws)) < 2.2


def test_the_budget_ends_it():
    answering = Answering(M, budget=0.05, per_answer=0.02)
    with pytest.raises(tacit.BudgetExhausted):
        for _ in range(10):
            answering.answer(ONE)
    spent, said = answering.spent, answering.answers
    assert 0.03 < spent <= 0.05 and said >= 2
    with pytest.raises(tacit.BudgetExhausted):
        answering.answer(MANY)
    assert (answering.spent, answering.answers) == (spent, said)


@pytest.mark.parametrize("axes", ["principal", "coordinates"])
def test_a_transcript_is_audited(axes):
    answering = Answering(M, budget=5.0, per_answer=0.1, axes=axes, resolution=20, recorded=True)
    queries = [ONE, MANY, ONE[::-1].copy(), MANY * [1, 1e3, 1e-3]]
    for query in queries:
        answering.answer(query)
    audit = audit_answers(answering.transcript, lambda n: queries[n])
    assert audit.whole and audit.answers == 4 and audit.revealed == answering.spent
    assert np.array_equal(audit.belief, answering.belief)
    other = audit_answers(answering.transcript, lambda n: queries[n] + (np.arange(M) if n == 2 else 0.0))
    assert not other.whole and other.answers == 2 and other.revealed < answering.spent
    text = answering.transcript
    for corrupt in ("", text[:-4], text.replace("candidates 64", "candidates 65"), "x" + text):
        with pytest.raises(tacit.CorruptState):
            audit_answers(corrupt, lambda n: queries[n])
    with pytest.raises(ZeroDivisionError):
        audit_answers(text, lambda n: 1 / 0)


def test_it_is_not_copied():
    answering = Answering(M, budget=1.0, per_answer=0.01)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="not copied or pickled"):
            copied(answering)
    with pytest.raises(TypeError):
        type("Mine", (Answering,), {})


def test_threads_answer_one_after_the_other():
    answering = Answering(M, budget=0.5, per_answer=0.01, recorded=True)
    refused, queries = [], [MANY * k for k in range(1, 5)]
    said = []

    def ask(query):
        for _ in range(40):
            try:
                said.append((tuple(answering.answer(query)), answering.spent))
            except tacit.BudgetExhausted:
                refused.append(query)

    threads = [threading.Thread(target=ask, args=(query,)) for query in queries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(said) == answering.answers and len(said) + len(refused) == 160 and refused
    assert 0.48 < answering.spent <= 0.5 and max(spent for _, spent in said) == answering.spent
    assert len({answer for answer, _ in said}) == len(said)


@pytest.mark.skipif(sys.platform == "win32", reason="forks of POSIX")
def test_a_fork_during_an_answer_is_refused_at_once():
    answering = Answering(2**14, budget=9.0, per_answer=0.1)
    cells = np.random.default_rng(2).normal(size=(2**14, 200))
    asking = threading.Thread(target=answering.answer, args=(cells,))
    asking.start()
    time.sleep(0.15)  # in the middle of it
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        refused = 0
        for use in (lambda: answering.answer(cells), lambda: answering.spent):
            try:
                use()
            except RuntimeError as error:
                refused += "forked" in str(error)
        os._exit(0 if refused == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
    asking.join()
    assert answering.answers == 1


def test_kappa_caps_the_worst_answers():
    def farthest(belief):
        return np.abs(np.log(M * belief)).max()

    capped = Answering(M, budget=90.0, per_answer=0.1, kappa=0.25)
    assert capped.attack_bound_afterwards() == pytest.approx(1 - math.exp(-0.25) / 2)
    assert capped.attack_bound_afterwards(1 / M) == pytest.approx(math.exp(0.25) / M)
    free = Answering(M, budget=90.0, per_answer=0.1)
    assert free.attack_bound_afterwards() == 1.0
    for _ in range(200):
        capped.answer(MANY)
        free.answer(MANY)
        assert farthest(capped.belief) <= 0.25
    assert farthest(free.belief) > 1.0 and free.spent > 1.0
    assert 0.0 < capped.spent < free.spent and capped.attack_bound() <= capped.attack_bound_afterwards()
    spent = capped.spent
    assert capped.answer(np.full(M, 2.0)) == 2.0 and capped.spent == spent


# ---- in a file ----------------------------------------------------------------------------------------


def test_stored_answers_go_on_where_they_ended(tmp_path):
    state = tmp_path / "a"
    answering = Answering(M, budget=0.5, per_answer=0.01, save=state, about="data-1")
    if os.name == "posix":
        assert state.stat().st_mode & 0o077 == 0
    for n in range(1, 6):
        answering.answer(ONE * n)
        assert answering.charged == answering.spent
        spent, belief = answering.spent, answering.belief
        with pytest.raises(OSError):
            Answering.resume(state, M, about="data-1")  # this process has it
        del answering
        answering = Answering.resume(str(state), M, about="data-1")
        assert (answering.spent, answering.answers, answering.budget) == (spent, n, 0.5) and np.array_equal(answering.belief, belief)
    text = state.read_text()
    assert answering.answer(np.full(M, 0.1)) == 0.1 and state.read_text() == text  # what costs nothing is not written
    with pytest.raises(tacit.BudgetExhausted):
        while True:
            answering.answer(MANY)
    assert 0.48 < answering.spent <= 0.5
    with pytest.raises(FileExistsError):
        del answering
        Answering(M, budget=0.5, per_answer=0.01, save=state)
    assert Answering.resume(state, M, about="data-1").spent > 0.48


def test_the_stored_candidate_answers(tmp_path):
    apart = np.arange(16.0)
    answering = Answering(16, budget=50.0, per_answer=0.01, save=tmp_path / "a")
    answering.answer(apart)
    before = round(answering.answer(apart, at_most=4.0))  # a deviation of 0.085
    del answering
    assert round(Answering.resume(tmp_path / "a", 16).answer(apart, at_most=4.0)) == before


def test_a_file_is_charged_ahead_and_gets_the_rest_back(tmp_path):
    state = tmp_path / "a"
    answering = Answering(M, budget=0.5, per_answer=0.001, save=state, ahead=0.02)
    answering.answer(ONE)
    text = state.read_text()
    assert answering.charged == pytest.approx(0.021, rel=0.01)
    for _ in range(10):
        answering.answer(ONE)
    assert state.read_text() == text and answering.spent < answering.charged
    answering.close()
    assert answering.charged == answering.spent and state.read_text() != text
    answering.answer(ONE)
    spent = answering.spent
    del answering  # closes
    again = Answering.resume(state, M, ahead=9.0)
    assert again.spent == spent
    again.answer(ONE)
    assert again.charged == 0.5
    in_memory = Answering(M, budget=0.5, per_answer=0.001)
    in_memory.answer(ONE)
    in_memory.close()
    assert in_memory.charged == in_memory.spent > 0.0


TOLD = """
import sys
import numpy as np
from tacit.pac import Answering

answering = Answering(16, budget=2.0, per_answer=1e-3, save=sys.argv[1], ahead=float(sys.argv[2]))
for n in range(10**9):
    answering.answer(np.random.default_rng(n).normal(size=16))
    print(answering.spent, flush=True)
"""


@pytest.mark.parametrize("ahead", [0.0, 0.02])
def test_a_killed_process_gave_no_answer_that_its_file_was_not_charged_for(tmp_path, ahead):
    child = subprocess.Popen([sys.executable, "-c", TOLD, str(tmp_path / "a"), str(ahead)], stdout=subprocess.PIPE, text=True)
    said = [float(child.stdout.readline()) for _ in range(25)]
    child.kill()
    said += [float(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
    child.wait()
    answering = Answering.resume(tmp_path / "a", 16, ahead=ahead)
    assert said[-1] <= answering.spent <= said[-1] + max(ahead, 1e-3) + 1e-3
    # What was lost leaves any belief possible: the variance of (-1, ..., 1) is 1/8 at the uniform one, and 1 at the worst.
    before, ends = answering.spent, np.zeros(16)
    ends[:2] = -1.0, 1.0
    answering.answer(ends)
    assert answering.spent - before == pytest.approx(1e-3, rel=1e-3)
    assert math.isfinite(answering.answer(ends)) and answering.charged >= answering.spent


@pytest.mark.skipif(sys.platform == "win32", reason="names of open files")
@pytest.mark.parametrize("ahead", [0.0, 0.1])
@pytest.mark.parametrize("spoil", [
    lambda file: os.link(file, file.with_name("b")), lambda file: file.rename(file.with_name("b")), lambda file: file.unlink(),
    lambda file: (file.with_name("b").write_bytes(file.read_bytes()), file.with_name("b").replace(file)),
], ids=["linked", "moved", "removed", "replaced by a copy"])
def test_a_file_that_is_not_its_own_alone_ends_the_run(tmp_path, spoil, ahead):
    answering = Answering(M, budget=5.0, per_answer=0.01, save=tmp_path / "a", ahead=ahead)
    answering.answer(ONE)
    spent = answering.spent
    spoil(tmp_path / "a")
    with pytest.raises(OSError):
        answering.answer(ONE)
    with pytest.raises(RuntimeError, match="could not be stored, or was not its own alone"):
        answering.answer(ONE)
    with pytest.raises(RuntimeError):
        answering.close()
    assert answering.spent == spent


@pytest.mark.skipif(sys.platform == "win32", reason="forks of POSIX")
def test_a_forked_process_neither_answers_nor_closes(tmp_path):
    answering = Answering(M, budget=5.0, per_answer=0.01, save=tmp_path / "a", ahead=0.1)
    answering.answer(ONE)
    text = (tmp_path / "a").read_text()
    child = os.fork()
    if child == 0:
        refused = 0
        for use in (lambda: answering.answer(ONE), lambda: answering.close(), lambda: answering.charged):
            try:
                use()
            except RuntimeError as error:
                refused += "used in a forked process" in str(error)
        del answering
        os._exit(0 if refused == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert (tmp_path / "a").read_text() == text
    answering.answer(ONE)


def test_a_file_of_something_else_is_refused(tmp_path):
    state = tmp_path / "a"
    Answering(M, budget=1.0, per_answer=0.01, kappa=0.5, save=state, about="data-1")
    text = state.read_text()
    for refused, kind, said in (
        (lambda: Answering.resume(state, M), ValueError, "saved_run: about is , but must be data-1, as in the state"),
        (lambda: Answering.resume(state, 65, about="data-1"), ValueError, "saved_answering: number of candidates is 65, but must be 64"),
        (lambda: Answering.resume(state, M, ahead=0.1, about="data-1"), ValueError,
         "saved_answering: ahead is 0.1, but must be 0 with kappa, which needs all answers known"),
        (lambda: Answering.resume(state, M, ahead=-1.0), ValueError, "saved_answering: ahead is -1, but must be finite and at least 0"),
        (lambda: Answering.resume(tmp_path / "none", M), FileNotFoundError, ""),
    ):
        with pytest.raises(kind) as refusal:
            refused()
        assert said in str(refusal.value)
        assert state.read_text() == text
    assert Answering.resume(state, M, about="data-1").attack_bound_afterwards() < 0.7
    for corrupt in (text[:-4], text.replace("budget 1", "budget 2"), "tacit-answering 1\n"):
        state.write_text(corrupt)
        with pytest.raises(tacit.CorruptState):
            Answering.resume(state, M, about="data-1")
        assert state.read_text() == corrupt


@pytest.mark.parametrize("how, said", [
    ({"kappa": 0.0}, "answering: kappa is 0, but must be in (0, 100], or infinite"), ({"kappa": math.nan}, "kappa is nan"), ({"kappa": 101}, "kappa is 101"),
    ({"ahead": 0.1}, "ahead is 0.1, but must be 0 without save"), ({"about": "x"}, "about is x, but must be empty without save"),
    ({"save": "a", "ahead": -1.0}, "ahead is -1, but must be finite and at least 0"), ({"save": "a", "ahead": math.nan}, "ahead is nan"),
    ({"save": "a", "recorded": True}, "saved_answering: recorded is 1, but must be false: a file keeps no transcript"),
    ({"save": "a", "kappa": 0.5, "ahead": 0.1}, "saved_answering: ahead is 0.1, but must be 0 with kappa"), ({"save": "a", "about": "two words"}, "one word"),
    ({"save": "a", "budget": -1.0}, "budget is -1"), ({"save": "a", "per_answer": 0.0}, "per_answer is 0, but must be in [1e-100, 1000]"),
])
def test_what_is_refused_leaves_no_file(tmp_path, monkeypatch, how, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError) as refusal:
        Answering(M, **{"budget": 1.0, "per_answer": 0.01, **how})
    assert said in str(refusal.value)
    assert not (tmp_path / "a").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="forks of POSIX")
def test_a_forked_process_is_refused():
    answering = Answering(M, budget=1.0, per_answer=0.01)
    child = os.fork()
    if child == 0:
        try:
            answering.answer(ONE)
        except RuntimeError as refusal:
            os._exit(0 if "forked" in str(refusal) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    answering.answer(ONE)


@pytest.mark.parametrize("ask, kind, said", [
    (lambda a: a.answer(ONE[:-1]), ValueError, "number of answers is 63, but must be 64"),
    (lambda a: a.answer(np.full(M, np.nan)), ValueError, "answer is nan"), (lambda a: a.answer(np.full((M, 2), np.inf)), ValueError, "answer is inf"),
    (lambda a: a.answer(np.zeros((M, 0))), ValueError, "number of cells is 0, but must be positive"),
    (lambda a: a.answer(ONE, at_most=0.0), ValueError, "budget is 0, but must be in [1e-100, 1000]"),
    (lambda a: a.answer(ONE, at_most=math.nan), ValueError, "budget is nan"),
    (lambda a: a.answer(np.sign(ONE) * 1.7e308), ValueError, "but must be"), (lambda a: a.answer(np.zeros((M, 2, 2))), TypeError, "answers is"),
    (lambda a: a.answer(None), TypeError, "answers is missing"), (lambda a: a.answer("x"), TypeError, "answers is 'x'"),
    (lambda a: a.answer([True] * M), TypeError, "answers is"), (lambda a: a.answer([[1.0], [1.0, 2.0]]), TypeError, "answers is"),
    (lambda a: a.answer(ONE, at_most="x"), TypeError, "at_most is 'x'"), (lambda a: a.attack_bound(0.0), ValueError, "answering: prior is 0, but must be in (0, 1]"),
    (lambda a: Answering(1, 1.0, 0.1), ValueError, "candidates is 1, but must be a whole number in [2, 16777216]"),
    (lambda a: Answering(2**60, 1.0, 0.1), ValueError, "candidates is"), (lambda a: Answering(-1, 1.0, 0.1), ValueError, "candidates is -1"),
    (lambda a: Answering(2, -1.0, 0.1), ValueError, "is -1"), (lambda a: Answering(2, math.inf, 0.1), ValueError, "is inf"),
    (lambda a: Answering(2, 1.0, 0.0), ValueError, "per_answer is 0, but must be in [1e-100, 1000]"),
    (lambda a: Answering(2, 1.0, 0.1, axes="else"), ValueError, "axes is else, but must be 'principal' or 'coordinates'"),
    (lambda a: Answering(2, 1.0, 0.1, resolution=1), ValueError, "resolution is 1, but must be a whole number in [2, 40]"),
    (lambda a: Answering(2, 1.0, 0.1, resolution=2**32 + 2), ValueError, "resolution is 4294967298"),
    (lambda a: audit_answers(1, ONE), TypeError, "transcript is 1"), (lambda a: audit_answers("x", lambda n: ONE), tacit.CorruptState, ""),
    (lambda a: audit_answers("x", None), (TypeError, tacit.CorruptState), ""),
])
def test_what_is_refused_charges_nothing(ask, kind, said):
    answering = Answering(M, budget=1.0, per_answer=0.01)
    with pytest.raises(kind) as refusal:
        ask(answering)
    assert said in str(refusal.value)
    assert answering.spent == 0.0 and answering.answers == 0
