"""Parameters are declared in the class body; the constructor follows."""

from inspect import signature
from typing import Any, ClassVar

import pytest
from sklearn.base import clone

from aezsl.errors import ParameterError
from aezsl.methods import make_method
from aezsl.methods.core.parameters import Declared

#: Of every method values that its formulas have no use for, though other parameters may have them.
OUTSIDE: dict[str, dict[str, list[Any]]] = {
    "adaptive_devise": {"violator": ["max"]},
    "adaptive_eszsl": {"gamma": [0.0], "lam": [0.0], "weighting": ["cosin"]},
    "adaptive_ridge": {"lam": [0.0]},
    "adaptive_sje": {"n_own_epochs": [0], "learning_rate": [0.0]},
    "aezsl": {"solver": ["magic"], "tol": [0.0], "max_iter": [0, 2.5], "memory_mb": [0], "weighting": ["cosin"]},
    "aezsl_lr": {"k": [0, 2.5], "nu": [0.0], "eps": [0.0], "n_components": [0], "n_neighbors": [0], "inner_iter": [0]},
    "aezsl_t": {"balance": [1.5], "n_neighbors": [0], "ridge": [0.0], "shrinkage": [0.0], "labelled": [2.5]}
    | {"totals": ["equal", [0.5, 0.0]]},
    "amp": {"lam": [0.0], "C": [0.0], "k_unseen": [0], "n_links": [0], "links": ["all"]}
    | {"bandwidth": [0.0], "image_bandwidth": [0.0], "variant": ["gaussian"]},
    "conse": {"T": [0], "C": [0.0]},
    "costa": {"n_related": [0], "metric": ["cosine"], "C": [0.0]},
    "daezsl": {"masks": ["half"], "start": ["warm"], "dropout": [1.0], "validation_fraction": [1.0], "epochs": [0]}
    | {"patience": [0], "batch_size": [0], "learning_rate": [0.0], "mapping_rate": [0.0]},
    "dap": {"C": [0.0]},
    "devise": {"violator": ["max"], "margin": [0.0], "learning_rate": [0.0], "n_epochs": [0], "batch_size": [0]},
    "eszsl": {"gamma": [0.0], "lam": [0.0]},
    "exem": {"C": [0.0], "nu": [0.0, 1.5], "gamma": [0.0], "n_components": [0]},
    "iap": {"C": [0.0]},
    "jeac": {"lam": [0.0], "gam": [0.0], "max_rounds": [0], "start": ["random"]},
    "jlse": {"n_atoms": [0], "n_rounds": [0], "lam_w": [0.0], "lam_s": [0.0], "lam_v": [0.0], "precision": [0.0]},
    "latem": {"violator": ["worst"], "learning_rate": [0.0], "n_epochs": [0], "batch_size": [0], "n_maps": [0]},
    "lrl": {"beta": [0.0], "gamma": [0.0], "n_neighbors": [0], "upper": [0.5]},
    "max_margin": {"beta": [0.0], "lower": [1.5], "upper": [0.5], "max_rounds": [0], "n_components": [0]}
    | {"start": ["eszsl"]},
    "ridge": {"lam": [0.0]},
    "rkt": {"sparsity": [0.0], "gamma": [0.0], "lam": [0.0], "learn_from": ["nothing"]},
    "secml": {"learning_rate": [0.0], "n_components": [1.3, 0.0], "negatives": ["none"], "n_epochs": [0]}
    | {"batch_size": [0]},
    "sje": {"learning_rate": [0.0], "n_epochs": [0], "batch_size": [0]},
    "sms": {"alpha": [0.0], "gamma": [0.0], "lam": [0.0], "spread": [0.5], "max_rounds": [0]},
    "sse": {"gamma": [0.0], "lam": [0.0]},
    "structured_prediction": {"gam": [0.0], "space": ["latent"], "start": ["random"], "n_init": [0]}
    | {"max_rounds": [0]},
    "sync": {"lam": [0.0], "scale": [0.0], "loss": ["l2"]},
    "transclip": {"lam": [0.0], "scale": [0.0], "n_neighbors": [0], "max_rounds": [0], "n_inner": [0]},
    "tzsar": {"gamma_a": [0.0], "n_nearest": [0], "n_neighbors": [0], "hubness": ["csls"], "rounds": [0.5]},
    "uda": {"l1": [0.0], "lam": [0.0], "temperature": [0.0], "C": [0.0], "alpha": [0.0, 1.0], "n_neighbors": [0]}
    | {"max_rounds": [0], "code_tol": [0.0], "code_iterations": [0], "codes": ["signed"], "decide": ["svm"]},
    "zlap": {"alpha": [0.0, 1.0], "n_neighbors": [0]},
}


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
    with pytest.raises(TypeError, match=r"\bChild\b.*\bk\b"):
        Child(k=4)


def test_scikit_learn_copies_and_sets_them():
    model = clone(Parent(lam=0.5)).set_params(k=2)
    assert model.get_params() == {"lam": 0.5, "k": 2}


def test_a_constructor_of_one_s_own_stays():
    class Own(Parent):
        def __init__(self, lam: float = 7.0) -> None:
            self.lam = lam

    assert Own().get_params() == {"lam": 7.0}


@pytest.mark.parametrize("method", OUTSIDE)
def test_values_outside_of_a_parameter_s_range_are_refused_by_name(method):
    for name, values in OUTSIDE[method].items():
        for value in values:
            model = make_method(method).set_params(**{name: value})
            with pytest.raises(ParameterError, match=rf"^{name} of {type(model).__name__}\b"):
                model.check_parameters()
