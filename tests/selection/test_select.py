import numpy as np
import pytest

from aezsl.errors import DataError
from aezsl.methods import method_class
from aezsl.selection import SelectionSettings, class_folds, cross_validate, select
from tests.synthetic import make_synthetic


def test_from_arrays_the_best_point_on_validation_classes_is_taken():
    data = make_synthetic()
    settings = SelectionSettings(fraction=0.2, n_folds=2)
    chosen = select("eszsl", data.X, data.y, data.S, settings).get_params()
    grid = method_class("eszsl").grid
    folds = class_folds(len(data.S), 0, n_folds=2, fraction=0.2)
    table = cross_validate(method_class("eszsl")(), data.X, data.y, data.S, folds, grid)
    own = table[np.logical_and.reduce([table[key] == chosen[key] for key in grid])]
    assert own["mean"].item() == table["mean"].max()


@pytest.mark.parametrize("name", ["aezsl_sim", "eszsl_t"])
def test_what_is_given_is_not_searched(name):
    data = make_synthetic()
    given = {"lambda1": 0.5} if name == "aezsl_sim" else {"gamma": 0.5}
    chosen = select(name, data.X, data.y, data.S, **given)
    assert given.items() <= chosen.get_params().items()
    assert len(chosen.fit(data.X, data.y, data.S).predict(data.X_new, data.S_new)) == len(data.X_new)


@pytest.mark.parametrize(("wrong", "named"), [("X", "of X"), ("y", "y must"), ("S", "S")])
def test_arrays_that_do_not_fit_together_are_refused_by_name(wrong, named):
    data = make_synthetic()
    arrays = {"X": data.X, "y": data.y, "S": data.S}
    with pytest.raises(DataError, match=named):
        select("eszsl", **{**arrays, wrong: arrays[wrong][:3]})
