# SPDX-License-Identifier: Apache-2.0
import copy
import math
import pickle
import threading

import pytest

import tacit

EVENTS = [
    tacit.Event(tacit.Gaussian(1.0), tacit.Poisson(0.01)),
    tacit.Event(tacit.Gaussian(3.0)),
    tacit.Event(tacit.Laplace(20.0)),
    tacit.Event(tacit.DiscreteGaussian(sigma=4.0, sensitivity=2)),
    tacit.Event(tacit.DiscreteLaplace(scale=8.0)),
    tacit.Event(tacit.ExponentialMechanism(0.2)),
    tacit.Event(tacit.Pure(0.1)),
    tacit.Event(tacit.ApproxDP(0.1, 1e-9)),
    tacit.Event(tacit.MatrixGaussian(noise_multiplier=4.0, sensitivity=1.5)),
    tacit.Event(tacit.Gaussian(2.0), tacit.Poisson(0.1), records_per_person=3),
]
ACCOUNTANTS = [tacit.PrivacyLossAccountant, tacit.DiscretisedAccountant, tacit.RenyiAccountant,
               tacit.ZcdpAccountant, tacit.GaussianAccountant]


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_events_are_values(event):
    again = eval(repr(event), vars(tacit))
    assert again == event
    assert hash(again) == hash(event)
    assert pickle.loads(pickle.dumps(event)) == event
    assert event != tacit.Event(tacit.Gaussian(0.5))
    assert event != "an event" and event != None and event.mechanism != None  # noqa: E711


@pytest.mark.parametrize("event", EVENTS, ids=repr)
def test_one_by_one_is_at_once(event):
    one_by_one = tacit.PrivacyLossAccountant()
    for _ in range(3):
        one_by_one.compose(event)
    at_once = tacit.PrivacyLossAccountant().compose(event, 3)
    a, b = one_by_one.epsilon(1e-6), at_once.epsilon(1e-6)
    assert a.lower <= b.upper and b.lower <= a.upper


def test_a_mechanism_is_an_event():
    a = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(1.0))
    b = tacit.PrivacyLossAccountant().compose(tacit.Event(tacit.Gaussian(1.0)))
    assert a.history == b.history
    assert a.epsilon(1e-5) == b.epsilon(1e-5)


@pytest.mark.parametrize("kind", ACCOUNTANTS)
def test_copies_pickles_and_saves_are_independent_and_equal(kind):
    run = kind().compose(tacit.Gaussian(2.0), 5)
    before = run.epsilon(1e-6)
    copies = [copy.copy(run), copy.deepcopy(run), pickle.loads(pickle.dumps(run)),
              kind.load(run.save()), eval(repr(run), vars(tacit))]
    run.compose(tacit.Gaussian(2.0), 5)
    for other in copies:
        assert other.history == [(tacit.Event(tacit.Gaussian(2.0)), 5)]
        assert other.epsilon(1e-6) == before
    assert run.epsilon(1e-6).upper > before.upper


def test_a_changed_state_is_refused():
    text = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(2.0), 5).save()
    for corrupt in ("", text[:-5], text.replace("gaussian", "laplace"), text + " "):
        with pytest.raises(tacit.CorruptState):
            tacit.PrivacyLossAccountant.load(corrupt)
    with pytest.raises(tacit.CorruptState):
        tacit.RenyiAccountant.load(text)


def test_what_is_refused_changes_nothing():
    run = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(2.0))
    for event in (tacit.Gaussian(-1.0), tacit.Event(tacit.GaussianMixture(1.0, [(0.5, 1.0)]), tacit.FixedSize(1, 10)),
                  tacit.RandomisedResponse(1.0), tacit.Event(tacit.Gaussian(1.0), tacit.Poisson(2.0)),
                  tacit.Event(tacit.Gaussian(float("nan")))):
        with pytest.raises(ValueError):
            run.compose(event)
    with pytest.raises(TypeError):
        run.compose(1.0)
    with pytest.raises(ValueError, match="count is -1"):
        run.compose(tacit.Gaussian(1.0), -1)
    assert run.history == [(tacit.Event(tacit.Gaussian(2.0)), 1)]


def test_merging_needs_one_adjacency():
    a = tacit.PrivacyLossAccountant().compose(tacit.Gaussian(2.0))
    b = tacit.PrivacyLossAccountant("replace_one")
    with pytest.raises(ValueError, match="adjacency"):
        a.compose(b)
    assert a.compose(a).history == [(tacit.Event(tacit.Gaussian(2.0)), 2)]


def test_budget():
    run = tacit.PrivacyLossAccountant().compose(EVENTS[0], 1000)
    assert not run.would_exceed(EVENTS[0], 10, epsilon=3.0, delta=1e-5)
    assert run.would_exceed(EVENTS[0], 100_000, epsilon=3.0, delta=1e-5)
    assert run.epsilon_route(1e-5) in ("two releases", "contour", "rays", "grid", "closed form")


def test_intervals():
    x = tacit.Interval(1.0, 2.0)
    lower, upper = x
    assert (lower, upper, x.width) == (1.0, 2.0, 1.0)
    assert 1.5 in x and 2.5 not in x
    assert pickle.loads(pickle.dumps(x)) == x
    with pytest.raises(ValueError):
        tacit.Interval(2.0, 1.0)
    with pytest.raises(ValueError):
        tacit.Interval(float("nan"), 1.0)
    with pytest.raises(AttributeError):
        x.upper = 0.0


def test_pure_epsilon():
    run = tacit.PrivacyLossAccountant().compose(tacit.Event(tacit.Laplace(1.3)), 10)
    assert 10 / 1.3 in run.pure_epsilon()
    run.compose(tacit.Event(tacit.Pure(0.5), tacit.Poisson(0.2)), 3)
    found = run.pure_epsilon()
    assert found.upper == pytest.approx(10 / 1.3 + 3 * math.log1p(0.2 * math.expm1(0.5)), rel=1e-13)
    assert found.width < 1e-13
    run.compose(tacit.Event(tacit.Gaussian(1.0)))
    assert run.pure_epsilon() == tacit.Interval(math.inf, math.inf)


def test_questions_while_another_thread_composes():
    run = tacit.PrivacyLossAccountant()
    answers, done = [], threading.Event()

    def ask():
        mine = []
        while not done.is_set():
            mine.append(run.epsilon(1e-5).upper)
        answers.append(mine)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    for k in range(300):
        run.compose(tacit.Event(tacit.Gaussian(5.0 + 0.01 * k)))
    done.set()
    for thread in asking:
        thread.join()
    for mine in answers:
        assert mine == sorted(mine)  # each is of a run as it was at some time


def test_counts_are_refused_by_name():
    run = tacit.PrivacyLossAccountant()
    for count in (-1, 2**64, 10**30):
        with pytest.raises(ValueError, match="count is"):
            run.compose(EVENTS[0], count)
        with pytest.raises(ValueError, match="count is"):
            run.would_exceed(EVENTS[0], count, 1.0, 1e-5)
    assert not run.history
    assert (tacit.Interval(0.0, 1.0) == None) is False  # noqa: E711


class Annotated(tacit.PrivacyLossAccountant):
    """A subclass with a constructor and an attribute of its own."""

    def __init__(self, name, notes):
        super().__init__("zero_out")
        self.name = name
        self.notes = notes


class Named(tacit.Gaussian):
    def __init__(self, noise_multiplier):
        super().__init__(noise_multiplier)
        self.name = "unnamed"


class Answer(tacit.Interval):
    def __init__(self, lower, upper):
        super().__init__(lower, upper)
        self.asked = "nothing"


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_subclass_is_copied_with_all_it_has(again):
    run = Annotated("run", ["first"])
    run.compose(EVENTS[0], 100)
    other = again(run)
    assert type(other) is Annotated and other.adjacency == "zero_out"
    assert (other.name, other.notes) == ("run", ["first"]) and (other.notes is run.notes) == (again is copy.copy)
    assert other.epsilon(1e-5) == run.epsilon(1e-5) and other.history == run.history
    other.compose(EVENTS[0], 1)
    assert other.history != run.history
    for value in (Named(2.0), Answer(1.0, 2.0)):
        value.about = "a run"
        assert type(again(value)) is type(value) and vars(again(value)) == vars(value) and again(value) == value


def test_an_object_of_a_subclass_equals_one_of_the_class_and_has_its_hash():
    assert Named(2.0) == tacit.Gaussian(2.0) and hash(Named(2.0)) == hash(tacit.Gaussian(2.0))
    assert Answer(1.0, 2.0) == tacit.Interval(1.0, 2.0) and hash(Answer(1.0, 2.0)) == hash(tacit.Interval(1.0, 2.0))


def test_a_copy_that_knows_itself():
    run = Annotated("run", [])
    run.notes.append(run)
    other = copy.deepcopy(run)
    assert other.notes[0] is other
