"""Every method with spoilt data, queries and parameters: finite scores, and those of clean data in other dress."""

from functools import cache

import numpy as np
import pandas as pd
import torch
from scipy.sparse import coo_matrix, csr_array

from aezsl.kinds import check_value
from aezsl.methods import METHODS, make_method, method_class
from tests.campaign.damage import misspelt, odd_value, pick, same_numbers
from tests.campaign.models import QUICK
from tests.synthetic import make_pair, make_synthetic


def _data(name, seed):
    sizes = {"n_seen": 8, "n_unseen": 3, "per_class": 4, "d": 8, "seed": seed}
    return make_pair(**sizes) if METHODS[name].paired else make_synthetic(**sizes, a=5)


@cache
def _fitted(name, seed):
    data = _data(name, seed)
    model = make_method(name, **QUICK.get(name, {})).fit(data.X, data.y, data.S)
    return model, data, model.decision_function(data.X_new, data.S_new)


#: The same numbers in another dress.
SAME = (
    *(np.asfortranarray, pd.DataFrame, lambda A: A.astype(object), np.ma.array, lambda A: A.tolist(), np.asmatrix),
    *(lambda A: A[::-1][::-1], lambda A: np.repeat(A, 2, axis=1)[:, ::2], lambda A: A.astype(">f8"), np.longdouble),
)
#: Nothing that a method could answer rightly: refused.
NEVER = (
    *(lambda A, s: A + 1j, lambda A, s: A[:, :0], lambda A, s: A[0], lambda A, s: np.where(A > 0, np.nan, A)),
    *(lambda A, s: np.ma.masked_where(A.max() == A, A), lambda A, s: A.astype("M8[s]"), lambda A, s: A[..., None]),
    *(lambda A, s: None, lambda A, s: A[:0], lambda A, s: s, lambda A, s: csr_array(A), lambda A, s: "text"),
    *(
        lambda A, s: np.where(A > 0, -np.inf, A),
        lambda A, s: [[1, 2], [3]],
        lambda A, s: {},
    ),
    *(lambda A, s: [[*list(row), None] for row in A], lambda A, s: np.rec.fromarrays(A.T), lambda A, s: iter(A)),
    *(lambda A, s: coo_matrix(A), lambda A, s: A.astype("m8[s]"), lambda A, s: A.astype(complex).astype(object)),
    *(
        lambda A, s: pd.DataFrame(A).astype("Float64").mask(A > 0),
        lambda A, s: A.astype(bytes),
        lambda A, s: list(map(set, A)),
    ),
    lambda A, s: pd.DataFrame({i: pd.date_range("2020", periods=len(A)) for i in range(A.shape[1])}),
)
#: At the edge of what a method takes.
EDGE = (
    *(
        lambda A, s: A * s,
        lambda A, s: A + s,
        lambda A, s: np.ones_like(A),
        lambda A, s: np.zeros_like(A),
        lambda A, s: A[:, :1],
        lambda A, s: A > 0,
    ),
    *(lambda A, s: np.where(np.arange(len(A))[:, None] == 1, s, A), lambda A, s: np.repeat(A[:1], len(A), axis=0)),
    *(lambda A, s: A.astype(np.float16), lambda A, s: torch.tensor(A, requires_grad=True), lambda A, s: A.astype(str)),
    *(lambda A, s: A[:1], lambda A, s: np.outer(A[:, 0], np.ones(A.shape[1])), lambda A, s: (9 * A).astype(np.int8)),
    *(lambda A, s: np.where(np.arange(A.shape[1]) == 0, s, A), lambda A, s: pd.DataFrame(A).astype("category")),
)
OTHER = NEVER + EDGE


def _scale(rng):
    return float(10.0 ** rng.integers(-300, 300)) if rng.random() < 0.5 else float(10.0 ** rng.integers(-9, 9))


def method_fit(rng):
    """A fit on data in another dress, which changes nothing, or on spoilt ones."""
    name, seed = pick(rng, METHODS), int(rng.integers(3))
    _, data, expected = _fitted(name, seed)
    X, y, S = data.X, data.y, data.S
    clean, change = rng.random() < 0.2, None
    if clean:
        X, S = (pick(rng, SAME)(array) for array in (X, S))
    elif rng.random() < 0.2:
        y = pick(
            rng,
            (
                y + 1,
                y - 1,
                y.astype(float),
                y[:-1],
                y[:, None],
                y * 0,
                y.astype(str),
                None,
                y.tolist(),
                y.astype(np.uint8),
            ),
        )
        clean = (
            y is not None
            and np.shape(y) == data.y.shape
            and np.asarray(y).dtype.kind in "iu"
            and bool((np.asarray(y) == data.y).all())
        )
    else:
        change, scale = pick(rng, OTHER), _scale(rng)
        X, S = (change(X, scale), S) if rng.random() < 0.5 else (X, change(S, scale))
    model = make_method(name, **QUICK.get(name, {})).fit(X, y, S)
    width, semantics = model.n_features_in_, model.n_semantics_in_
    scores = model.decision_function(data.X_new[:, :width], data.S_new[:, :semantics])
    if clean:
        return same_numbers(scores, expected)
    return change not in NEVER and bool(np.isfinite(scores).all())


def method_query(rng):
    """Queries in another dress, or spoilt; what was fitted answers afterwards as before."""
    name, seed = pick(rng, METHODS), int(rng.integers(3))
    model, data, expected = _fitted(name, seed)
    if rng.random() < 0.2:
        scores = model.decision_function(pick(rng, SAME)(data.X_new), pick(rng, SAME)(data.S_new))
        return same_numbers(scores, expected)
    change, scale = pick(rng, OTHER), _scale(rng)
    X, S = (change(data.X_new, scale), data.S_new) if rng.random() < 0.5 else (data.X_new, change(data.S_new, scale))
    try:
        ask = pick(rng, ("decision_function", "predict", "rank"))
        found = getattr(model, ask)(X, S, *([pick(rng, (1, 2, 3, 5, 0, -1, 10**6))] if ask == "rank" else []))
        scores = found.scores if ask == "rank" else found
        right = change not in NEVER and bool(np.isfinite(scores).all()) and len(scores) == len(X)
    finally:
        again = model.decision_function(data.X_new, data.S_new)
        assert same_numbers(again, expected), "a query changed the model"
    return right


def method_parameters(rng):
    """A method with an odd value of a parameter, or with a misspelt one: refused by its kind, or finite scores."""
    name = pick(rng, METHODS)
    data = _data(name, 0)
    declared = list(method_class(name).declared())
    parameter, value = pick(rng, declared) if declared else None, odd_value(rng)
    if parameter is None or rng.random() < 0.2:
        wrong = misspelt(parameter.name, rng) if parameter else "lam"
        return wrong in make_method(name, **{wrong: value}).get_params() and wrong == parameter.name
    fits = not check_value(parameter.annotation, value)
    if fits and isinstance(value, int) and value > 100:
        return True  # allowed, and as long as it takes
    model = make_method(name, **{**QUICK.get(name, {}), parameter.name: value})
    scores = model.fit(data.X, data.y, data.S).decision_function(data.X_new, data.S_new)
    return fits and bool(np.isfinite(scores).all())
