# SPDX-License-Identifier: Apache-2.0
"""Every public name says what it is, and of which types."""
import importlib
import importlib.util
import inspect
import sys

import pytest

import tacit

MODULES = [tacit, tacit.matrix, tacit.pac, tacit.train]
if importlib.util.find_spec("dp_accounting"):
    MODULES.append(importlib.import_module("tacit.dp_accounting"))
if "opacus" in sys.modules or importlib.util.find_spec("opacus"):
    try:
        MODULES.append(importlib.import_module("tacit.opacus"))
    except ModuleNotFoundError:  # it needs PyTorch
        pass


def ours(value):
    return getattr(value, "__module__", "").startswith("tacit")


def public():
    """(name, value, the class it belongs to)"""
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value) or isinstance(value, str) or not ours(value):
                continue
            yield f"{module.__name__}.{name}", value, None
            for member in sorted(vars(value)) if inspect.isclass(value) else ():
                if not member.startswith("_"):
                    yield f"{module.__name__}.{name}.{member}", inspect.getattr_static(value, member), value


NAMES = {name: (value, of) for name, value, of in public()}


def test_the_names_are_found():
    assert {"tacit.epsilon", "tacit.Interval", "tacit.Interval.upper", "tacit.PrivacyLossAccountant.compose", "tacit.pac.gap",
            "tacit.train.Trainer.step", "tacit.Curve"} <= set(NAMES)
    assert len(NAMES) > 150


def native(value):
    return type(value).__name__ in ("nb_func", "nb_method") or type(type(value)).__name__ == "nb_type"


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_docstring(name):
    value, of = NAMES[name]
    if of is not None and value is inspect.getattr_static(of, name.rsplit(".", 1)[1], None) and not (
            callable(value) or isinstance(value, (property, staticmethod, classmethod)) or inspect.isdatadescriptor(value)):
        return  # a field of a dataclass, which the class describes
    lines = (inspect.getdoc(value) or "").splitlines()
    if native(value) and callable(value) and not inspect.isclass(value):  # nanobind begins with signatures
        lines = [line for line in lines if not line.split(". ", 1)[-1].startswith(name.rsplit(".", 1)[1] + "(")
                 and line != "Overloaded function."]
    assert any(line.strip() for line in lines)


@pytest.mark.parametrize("name", NAMES)
def test_it_has_annotations(name):
    value, of = NAMES[name]
    if inspect.isclass(value):
        value = value.__init__
    if isinstance(value, property) and value.fget is not None:
        value = value.fget
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if not inspect.isfunction(value):
        if native(value):
            assert all("->" in text for text, *_ in value.__nb_signature__)
        return
    found = inspect.signature(value)
    assert found.return_annotation is not found.empty
    bare = [p.name for p in found.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")]
    assert bare == []
