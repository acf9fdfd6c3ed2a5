# SPDX-License-Identifier: Apache-2.0
"""tacit as an accountant of Opacus. Where PyTorch is not installed, Opacus' accountants are taken without the rest."""
import importlib.util
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("scipy")
if importlib.util.find_spec("opacus") is None:
    pytest.skip("needs Opacus", allow_module_level=True)
if importlib.util.find_spec("torch") is None:
    import opacus_without_torch  # noqa: F401

from opacus.accountants import PRVAccountant, RDPAccountant, create_accountant  # noqa: E402
from opacus.accountants.utils import get_noise_multiplier  # noqa: E402

import tacit  # noqa: E402
import tacit.opacus  # noqa: E402
from tacit.opacus import TacitAccountant  # noqa: E402


def after(history):
    accountant = TacitAccountant()
    accountant.history = list(history)
    return accountant


def test_is_registered():
    assert isinstance(create_accountant("tacit"), TacitAccountant)


def test_step_by_step_is_all_at_once():
    one_by_one = TacitAccountant()
    for sigma, rate, steps in ((1.5, 0.04, 300), (1.2, 0.04, 200), (1.5, 0.04, 100)):
        for _ in range(steps):
            one_by_one.step(noise_multiplier=sigma, sample_rate=rate)
    assert one_by_one.history == [(1.5, 0.04, 300), (1.2, 0.04, 200), (1.5, 0.04, 100)]
    assert len(one_by_one) == 600
    truth = tacit.PrivacyLossAccountant()
    truth.compose(tacit.Event(tacit.Gaussian(1.5), tacit.Poisson(0.04)), 400)
    truth.compose(tacit.Event(tacit.Gaussian(1.2), tacit.Poisson(0.04)), 200)
    said = one_by_one.epsilon(1e-5)
    assert max(said.lower, truth.epsilon(1e-5).lower) <= min(said.upper, truth.epsilon(1e-5).upper)
    assert one_by_one.get_epsilon(1e-5) == said.upper


@settings(max_examples=15, deadline=None)
@given(sigma=st.floats(0.7, 5.0), rate=st.floats(1e-3, 0.1), steps=st.integers(1, 3000),
       delta=st.sampled_from([1e-4, 1e-5, 1e-6]))
def test_never_above_opacus(sigma, rate, steps, delta):
    """Their Rényi bound is above the truth; their privacy-loss accountant states an error of 0.01."""
    ours = after([(sigma, rate, steps)])
    for theirs in (RDPAccountant(), PRVAccountant()):
        theirs.history = list(ours.history)
        assert ours.epsilon(delta).lower <= theirs.get_epsilon(delta=delta) * (1 + 1e-9)


def test_epsilon_and_delta_are_inverse():
    accountant = after([(1.1, 0.02, 700)])
    assert accountant.get_delta(accountant.get_epsilon(1e-6)) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("accountant", [RDPAccountant, PRVAccountant])
def test_a_checkpoint_of_theirs_goes_on(accountant):
    theirs = accountant()
    for _ in range(40):
        theirs.step(noise_multiplier=1.3, sample_rate=0.02)
    ours = TacitAccountant()
    with pytest.raises(ValueError):
        ours.load_state_dict(theirs.state_dict())  # of another accountant: Opacus' own rule
    ours.load_state_dict({**theirs.state_dict(), "mechanism": "tacit"})
    ours.step(noise_multiplier=1.3, sample_rate=0.02)
    assert ours.history == [(1.3, 0.02, 41)]
    assert theirs.history == [(1.3, 0.02, 40)]  # and theirs is as it was


def test_state_dict_is_kept_and_read():
    ours = after([(1.3, 0.02, 41)])
    again = TacitAccountant()
    again.load_state_dict(ours.state_dict())
    assert again.history == ours.history and again.history is not ours.history


@pytest.mark.parametrize("broken", [[(1.0, 0.01)], [(1.0, 0.01, -3)], [(1.0, 0.01, 2.5)], [(math.nan, 0.01, 3)],
                                    [(1.0, 1.5, 3)], [(-1.0, 0.01, 3)], ["abc"], 7])
def test_a_broken_history_is_refused(broken):
    accountant = TacitAccountant()
    with pytest.raises(ValueError):
        accountant.load_state_dict({"history": broken, "mechanism": "tacit"})
    assert accountant.history == []


@pytest.mark.parametrize("sigma, rate", [(-1.0, 0.1), (math.nan, 0.1), (1.0, -0.1), (1.0, 1.1), (1.0, math.nan),
                                         (0.0, 1.1)])
def test_a_step_out_of_range_is_refused(sigma, rate):
    accountant = after([(1.0, 0.1, 3)])
    with pytest.raises(ValueError):
        accountant.step(noise_multiplier=sigma, sample_rate=rate)
    assert accountant.history == [(1.0, 0.1, 3)]


def test_a_step_without_noise_is_not_private():
    accountant = after([(1.0, 0.1, 3), (0.0, 0.1, 1)])
    assert accountant.get_epsilon(1e-5) == math.inf and accountant.get_delta(3.0) == 1.0
    with pytest.raises(ValueError):
        accountant.get_epsilon(2.0)


def test_nothing_yet():
    assert TacitAccountant().get_epsilon(1e-5) == 0.0 and len(TacitAccountant()) == 0


def test_noise_for_a_target():
    run = {"target_epsilon": 8.0, "target_delta": 1e-5, "sample_rate": 0.04, "epochs": 90}
    ours = tacit.opacus.get_noise_multiplier(**run)
    theirs = get_noise_multiplier(**run, accountant="tacit", epsilon_tolerance=1e-4)
    assert ours <= theirs and theirs == pytest.approx(ours, rel=1e-4)
    steps = int(90 / 0.04)
    assert after([(ours, 0.04, steps)]).get_epsilon(1e-5) <= 8.0
    assert ours == tacit.opacus.get_noise_multiplier(target_epsilon=8.0, target_delta=1e-5, sample_rate=0.04,
                                                     steps=steps)
    for wrong in ({"steps": 3}, {"epochs": None}):
        with pytest.raises(ValueError):
            tacit.opacus.get_noise_multiplier(**{**run, **wrong})


def test_a_private_engine():
    torch = pytest.importorskip("torch")
    import opacus
    engine = opacus.PrivacyEngine(accountant="tacit")
    model = torch.nn.Linear(4, 1)
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1)),
                                       batch_size=8)
    model, optimizer, data = engine.make_private(module=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
                                                 data_loader=data, noise_multiplier=1.0, max_grad_norm=1.0)
    for x, y in data:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    steps = len(engine.accountant)
    assert steps > 0
    exact = tacit.epsilon(noise_multiplier=1.0, rate=1 / 8, steps=steps, delta=1e-5)
    assert engine.get_epsilon(delta=1e-5) == exact.upper
