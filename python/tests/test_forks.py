# SPDX-License-Identifier: Apache-2.0
"""What a forked process has a copy of spends nothing; the parent goes on."""
import os

import numpy as np
import pytest

import tacit

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")

BUDGET = tacit.ApproxDP(1.0, 1e-5)
QUIET = tacit.Gaussian(1e3)
TABLE = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [0.2, 0.1]])


def noisy():
    noise = tacit.pac.noise_for_candidates(TABLE, budget=0.1)
    return tacit.pac.NoisyOutputs(budget=1.0), lambda a: a.release(TABLE[0], noise)


HOLDERS = {
    "RenyiFilter": lambda: (tacit.RenyiFilter(32.0, BUDGET), lambda a: a.charge(QUIET), lambda a: a.would_exceed(QUIET), lambda a: a.epsilon(),
                            lambda a: a.save()),
    "GaussianFilter": lambda: (tacit.GaussianFilter(BUDGET), lambda a: a.charge(QUIET), lambda a: a.would_exceed(QUIET), lambda a: a.save()),
    "RenyiOdometer": lambda: (tacit.RenyiOdometer(8.0), lambda a: a.add(QUIET), lambda a: a.epsilon(1e-5), lambda a: a.save()),
    "GaussianOdometer": lambda: (tacit.GaussianOdometer([BUDGET]), lambda a: a.add(QUIET), lambda a: a.epsilon(), lambda a: a.epsilon_after(QUIET),
                                 lambda a: a.save()),
    "ApproximateFilter": lambda: (tacit.ApproximateFilter(tacit.GaussianFilter(BUDGET), 1e-6), lambda a: a.charge(QUIET, failure=1e-9),
                                  lambda a: a.would_exceed(QUIET), lambda a: a.save()),
    "IndividualGaussianFilter": lambda: (tacit.IndividualGaussianFilter(3, BUDGET), lambda a: a.charge([0.1, 0.1, 0.1], 10.0)),
    "IndividualRenyiFilter": lambda: (tacit.IndividualRenyiFilter(3, 8.0, 1.0), lambda a: a.charge([0.1, 0.1, 0.1])),
    "NoisyOutputs": noisy,
    "Answering": lambda: (tacit.pac.Answering(4, budget=1.0, per_answer=0.1), lambda a: a.answer(TABLE), lambda a: a.answer(TABLE[:, 0], at_most=1e-3)),
    "PACZero": lambda: (tacit.PACZero(records=8, steps=10, budget=0.3), lambda a: a.step(np.ones(8))),
    "DPZero": lambda: (tacit.DPZero(records=8, steps=10, clip=1.0, noise_multiplier=1.0, rate=1.0), lambda a: a.step(np.ones(8))),
}


def test_these_are_all_that_keep_a_budget():
    kept = set()
    for module in (tacit, tacit.pac, tacit.train):
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and {"charge", "add", "release", "answer", "step"} & set(dir(kind)):
                kept.add(name)
    assert kept - {"Trainer", "Mechanism", "DivergenceSum"} == set(HOLDERS)  # a Trainer's budget is its mechanism's; a sum has none


@pytest.mark.parametrize("name", HOLDERS)
def test_a_forked_process_is_refused(name):
    account, *uses = HOLDERS[name]()
    uses[0](account)
    for use in uses:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                use(account)
            except RuntimeError as refusal:
                code = 0 if "used in a forked process" in str(refusal) else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for use in uses:
        use(account)


def test_a_state_that_was_saved_goes_on_in_a_forked_process():
    account = tacit.RenyiFilter(32.0, BUDGET)
    account.charge(QUIET)
    state = account.save()
    child = os.fork()
    if child == 0:
        again = tacit.RenyiFilter.load(state)
        again.charge(QUIET)
        os._exit(0 if again.spent[0] > account.spent[0] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
