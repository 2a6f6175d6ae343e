"""Adding a method is: its file, its test file, one registry line. This holds it true."""

import inspect
import re

import pytest

from aezsl.errors import ParameterError
from aezsl.methods import METHODS, SETTINGS, MethodRun, make_method, method_class
from tests.helpers import ROOT
from tests.methods.core.contract import MethodContract


def contract_tests():
    """Names of the methods whose test files hold a contract test."""
    import importlib

    tested = set()
    for path in (ROOT / "tests" / "methods").rglob("test_*.py"):
        if path.stem == "test_registry":
            continue
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        tested |= {
            cls.method
            for cls in vars(module).values()
            if inspect.isclass(cls) and issubclass(cls, MethodContract) and hasattr(cls, "method")
        }
    return tested


@pytest.mark.parametrize("name", METHODS)
def test_method_is_documented_and_cited(name):
    cls = method_class(name)
    assert ".. math::" in (cls.__doc__ or ""), f"{cls.__name__} must open with the objective it minimises"
    assert cls.citation, f"{cls.__name__} must say where it was published"


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_explained_by_the_class(name):
    """By its own docstring, or by that of a class whose parameters it takes over."""
    sources = [*method_class(name).__mro__]
    if base := METHODS[name].refines:
        sources += [*method_class(name).stage.__mro__, method_class(base)]
    text = "\n".join(source.__doc__ or "" for source in sources)
    explained = {word for line in re.findall(r"^ +([\w, ]+) : \S", text, re.MULTILINE) for word in line.split(", ")}
    assert set(method_class(name)().get_params()) <= explained


def test_every_method_inherits_the_contract_suite():
    assert contract_tests() == set(METHODS)


def test_unknown_names_are_refused():
    with pytest.raises(ParameterError, match="nope"):
        make_method("nope")
    with pytest.raises(ParameterError, match="speed"):
        make_method("eszsl", speed=3)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("method", [*METHODS, "aezsl_sim_none"])
def test_a_name_says_its_method_and_setting(method, setting):
    run = MethodRun(method, setting)
    assert MethodRun.parse(run.name) == run
    assert (run.entry is None) == (method not in METHODS)
    refined = method in METHODS and METHODS[method].refines
    assert run.base == (MethodRun(refined, setting) if refined else None)
