# SPDX-License-Identifier: Apache-2.0
"""Private training of a small network around its own loss: in PyTorch where it is installed, else in NumPy.

A secret half of the records is used; the run reveals at most 0.33 nats about which. It is stopped after 400 steps
and goes on from its files.
"""
import tempfile
from pathlib import Path

import numpy as np

import tacit

try:
    import torch
except ImportError:
    torch = None

RECORDS, STEPS = 400, 1200
rng = np.random.default_rng(1)
x = rng.normal(size=(RECORDS, 4)).astype(np.float32)
y = (x[:, 0] > x[:, 1]).astype(np.float32)


def model():
    """Parameters at their public start, and a function of them: the loss of each record, shape (RECORDS,)."""
    if torch is None:
        theta = {"weight": np.zeros(4, np.float32), "bias": np.zeros(1, np.float32)}

        def loss():
            score = x @ theta["weight"] + theta["bias"]
            return np.logaddexp(0, score) - y * score

        return theta, loss

    layer = torch.nn.Linear(4, 1)
    torch.nn.init.zeros_(layer.weight)

    @torch.no_grad()
    def loss():
        score = layer(torch.from_numpy(x))[:, 0]
        return torch.nn.functional.binary_cross_entropy_with_logits(score, torch.from_numpy(y), reduction="none")

    torch.nn.init.zeros_(layer.bias)
    return dict(layer.named_parameters()), loss


folder = Path(tempfile.mkdtemp())
options = dict(smoothing=1e-3, learning_rate=0.02, schedule="linear", seed=7, journal=folder / "run.journal")

theta, loss = model()
print(f"mean loss at the start: {float(loss().mean()):.3f}")
mechanism = tacit.PACZero(RECORDS, STEPS, budget=0.33, candidate_seed=42, save=folder / "run.state")
run = tacit.Trainer(mechanism, theta, **options)
for _ in range(400):
    run.step(loss)
print(f"stopped after {run.steps} steps, {mechanism.spent:.3f} nats spent")
del run, mechanism  # the process ends here

# Later, in another process: the same secret, account and coins. The journal brings the parameters back.
theta, loss = model()
mechanism = tacit.PACZero.resume(folder / "run.state")
run = tacit.Trainer(mechanism, theta, **options)
while not run.done:
    run.step(loss)
print(f"done after {run.steps} steps, mean loss {float(loss().mean()):.3f}")
print(f"an attacker on membership is right with probability {mechanism.attack_bound:.3f} at most")

# What is public gives the tuned model again, bit for bit: here, in C++, and by `tacit replay`.
run.transcript().write(folder / "run.tacit")
again, _ = model()
tacit.train.replay(again, tacit.Transcript.read(folder / "run.tacit"))
assert tacit.train.parameter_hash(again) == tacit.train.parameter_hash(theta)
