# SPDX-License-Identifier: Apache-2.0
"""Parameters on an NVIDIA device, for a package that was built with TACIT_CUDA: the bits of the host. Needs PyTorch, a
device and no other test of this folder; all is skipped elsewhere."""
import numpy as np
import pytest

import tacit

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no device")

TYPES = [torch.float32, torch.float16, torch.bfloat16]


def _serves_devices():
    try:
        tacit.train.parameter_hash({"w": torch.zeros(4, device="cuda")})
    except (ValueError, RuntimeError):
        return False
    return True


@pytest.fixture(autouse=True)
def _built_with_cuda():
    if not _serves_devices():
        pytest.skip("the package was built without TACIT_CUDA")


def model(dtype, device="cpu"):
    generator = torch.Generator().manual_seed(1)
    sizes = {"embedding": (300, 17), "bias": (5,), "out": (17, 40)}
    return {name: torch.randn(size, generator=generator).to(dtype).to(device) for name, size in sizes.items()}


def bits(theta):
    return [tensor.detach().cpu().view(torch.uint8).numpy().tobytes() for tensor in theta.values()]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("law", ["rademacher", "gaussian", "sphere"])
def test_a_pass_has_the_bits_of_the_host(dtype, law):
    here, there = model(dtype), model(dtype, "cuda")
    before = bits(here)
    for amount in (1e-2, -2e-2, 1e-2, 0.5):
        tacit.train.perturb(here, amount, law=law, seed=3, index=4)
        tacit.train.perturb(there, amount, law=law, seed=3, index=4)
    assert bits(there) == bits(here) != before
    assert tacit.train.parameter_hash(there) == tacit.train.parameter_hash(here)


def losses(theta, records):
    """On the host, so that it is the same numbers wherever theta lies."""
    total = sum(float((tensor.detach().cpu().double() * (1 + k)).sum()) for k, tensor in enumerate(theta.values()))
    return [np.tanh(1e-3 * total * (1 + i % 5)) for i in range(records)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("directions", [1, 3])
def test_a_run_and_its_replay_have_the_bits_of_the_host(dtype, directions):
    def run(theta):
        mechanism = tacit.PACZero(records=32, steps=12, budget=0.5, directions=directions)
        trainer = tacit.train.Trainer(mechanism, theta, smoothing=1e-2, learning_rate=1e-2, seed=6)
        while not trainer.done:
            trainer.step(lambda: losses(theta, 32))
        return trainer.transcript()

    there = model(dtype, "cuda")
    transcript = run(there)
    for device in ("cpu", "cuda"):
        again = model(dtype, device)
        tacit.train.replay(again, transcript)
        assert bits(again) == bits(there) != bits(model(dtype))


def test_work_that_was_queued_before_is_waited_for():
    here = {"w": torch.zeros(1 << 22)}
    there = {"w": torch.zeros(1 << 22, device="cuda")}
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(50):
            there["w"] += 1.0
        tacit.train.perturb(there, 0.5, seed=1)
        there["w"] *= 2.0
    stream.synchronize()
    here["w"] += 50.0
    tacit.train.perturb(here, 0.5, seed=1)
    here["w"] *= 2.0
    assert bits(there) == bits(here)


def test_tensors_of_host_and_device_together_are_refused():
    with pytest.raises(ValueError, match="another memory"):
        tacit.train.perturb({"a": torch.zeros(3), "b": torch.zeros(3, device="cuda")}, 1.0)
