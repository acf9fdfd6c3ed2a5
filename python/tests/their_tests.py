# SPDX-License-Identifier: Apache-2.0
"""Runs the accountants' own tests of dp_accounting and Opacus with tacit's accountant in the place of theirs.

usage: python their_tests.py FOLDER      (FOLDER/opacus-*/ is Opacus' unpacked source distribution; dp_accounting has
                                          its tests in its package)

A test that must fail is listed in their_exceptions.py, by its name, with what it asserts, what tacit says and the truth. Any
other failure fails this run, and so does a listed test that passes.
"""
import collections
import functools
import importlib
import importlib.util
import math
import sys
import types
import unittest
from pathlib import Path

WITH_TORCH = importlib.util.find_spec("torch") is not None
if not WITH_TORCH:
    import opacus_without_torch  # noqa: F401

import numpy as np  # noqa: E402
import their_exceptions  # noqa: E402

import tacit.dp_accounting  # noqa: E402
import tacit.opacus  # noqa: E402

ANY = tacit.dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE


class ForPLD(tacit.dp_accounting.TacitAccountant):
    def __init__(self, neighboring_relation=ANY, value_discretization_interval=None):
        super().__init__(neighboring_relation)


class ForRDP(tacit.dp_accounting.TacitAccountant):
    """Has the divergences that some tests read."""

    def __init__(self, orders=None, neighboring_relation=ANY):
        super().__init__(neighboring_relation)
        self._orders = np.array([2.0] if orders is None else orders, dtype=float)

    @property
    def _rdp(self):
        # Divergences grow with the order: that of order 1 is at most the next.
        return np.array([self.get_epsilon(0.0) if order == math.inf else self.renyi_divergence(max(order, 1.0 + 1e-9))
                         for order in self._orders])


def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        else:
            yield test


def name_of(test):
    """The test's class and method, without the values that a parameterised test has in its name."""
    return f"{type(test).__name__}.{test._testMethodName}"


def run(module):
    """Prints what failed and is not listed; returns how many did, and what was listed."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
    unexpected, applied = 0, collections.Counter()
    for test, trace in result.failures + result.errors:
        said = trace.strip().splitlines()[-1]
        known = their_exceptions.LISTED.get(name_of(test))
        if known is None or known.said not in said:
            unexpected += 1
            print(f"  {name_of(test)}\n    {said[:400]}")
        else:
            applied[name_of(test)] += 1
    failed = len(result.failures) + len(result.errors)
    print(f"{module.__name__}: {result.testsRun} tests, {result.testsRun - failed} pass, "
          f"{failed - unexpected} are listed, {unexpected} fail")
    return unexpected, set(applied)


def opacus_module(folder, name):
    file = next(Path(folder).glob(f"opacus-*/opacus/tests/{name}.py"))
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def engine_tests(folder):
    module = opacus_module(folder, "accounting_noise_multiplier_test")
    module.RDPAccountant = tacit.opacus.TacitAccountant
    module.PrivacyEngine = functools.partial(module.PrivacyEngine, accountant="tacit")
    return module


def accountants_tests(folder):
    module = opacus_module(folder, "accountants_test")
    noise, create = module.get_noise_multiplier, module.create_accountant
    module.get_noise_multiplier = lambda **asked: noise(**{**asked, "accountant": "tacit"})
    module.create_accountant = lambda mechanism: create("tacit" if mechanism == "rdp" else mechanism)
    for theirs in ("RDPAccountant", "PRVAccountant"):
        setattr(module, theirs, tacit.opacus.TacitAccountant)

    class OtherAccountant(tacit.opacus.TacitAccountant):
        @classmethod
        def mechanism(cls):  # a test asserts that its state is not another accountant's
            return "other"
    module.GaussianAccountant = OtherAccountant
    return module


def dp_accounting_tests(name, theirs=None, ours=None):
    module = importlib.import_module("dp_accounting." + name)
    if theirs is not None:
        for place in list(vars(module).values()):
            if isinstance(place, types.ModuleType) and hasattr(place, theirs):
                setattr(place, theirs, ours)
    return module


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    modules = [accountants_tests(sys.argv[1]), dp_accounting_tests("dp_event_test"),
               dp_accounting_tests("mechanism_calibration_test"),
               dp_accounting_tests("pld.pld_privacy_accountant_test", "PLDAccountant", ForPLD),
               dp_accounting_tests("rdp.rdp_privacy_accountant_test", "RdpAccountant", ForRDP)]
    if WITH_TORCH:
        modules.append(engine_tests(sys.argv[1]))
    else:
        print("accounting_noise_multiplier_test: not run, it needs PyTorch")
    ran = [run(module) for module in modules]
    unused = set(their_exceptions.LISTED).difference(*(applied for _, applied in ran))
    for name in sorted(unused):
        print(f"listed, but does not fail so: {name}")
    return 1 if unused or any(unexpected for unexpected, _ in ran) else 0


if __name__ == "__main__":
    sys.exit(main())
