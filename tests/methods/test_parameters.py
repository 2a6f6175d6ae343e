"""Parameters are declared in the class body; the constructor follows."""

from inspect import signature
from typing import Any, ClassVar, Literal

import pytest
from sklearn.base import clone

from aezsl.kinds import Positive, accepts, without_limits
from aezsl.methods.parameters import Declared


class Parent(Declared):
    lam: float = 1.0
    k: int = 10
    kind: ClassVar[str] = "not a parameter"
    W_: Any  # fitted


class Child(Parent):
    fixed: ClassVar[dict[str, Any]] = {"k": 3}
    mode: str = "fast"
    lam: float = 2.0


def test_annotated_values_are_parameters_in_the_order_of_the_class_body():
    parameters = signature(Parent).parameters
    assert {name: p.default for name, p in parameters.items()} == {"lam": 1.0, "k": 10}
    assert [p.annotation for p in parameters.values()] == [float, int]
    assert vars(Parent(5.0)) == {"lam": 5.0, "k": 10}


def test_a_subclass_adds_replaces_and_fixes():
    model = Child(mode="exact")
    assert model.get_params() == {"lam": 2.0, "mode": "exact"}
    assert model.k == 3
    with pytest.raises(TypeError, match="Child has no parameter k; it takes: lam, mode"):
        Child(k=4)


def test_scikit_learn_copies_and_sets_them():
    model = clone(Parent(lam=0.5)).set_params(k=2)
    assert model.get_params() == {"lam": 0.5, "k": 2}


def test_a_constructor_of_one_s_own_stays():
    class Own(Parent):
        def __init__(self, lam: float = 7.0) -> None:
            self.lam = lam

    assert Own().get_params() == {"lam": 7.0}


@pytest.mark.parametrize(
    ("kind", "fits", "wrong"),
    [
        (Positive, [1.0, -1, 0], ["1", None, True, float("nan")]),
        (Positive | None, [1.0, -1, None], ["1", True]),
        (Literal["a", "b"], ["a", "c"], [1, None]),
        (Literal["a"] | list[Positive], ["c", [1.0], [-1]], [["x"], 1.0, None]),
    ],
)
def test_a_kind_without_its_limits_is_a_type(kind, fits, wrong):
    plain = without_limits(kind)
    assert all(accepts(plain, value) for value in fits)
    assert not any(accepts(plain, value) for value in wrong)
