"""Methods with a pool on pools as they come."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from aezsl.errors import DataError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from aezsl.pipelines.realistic import nodes
from aezsl.pipelines.realistic.nodes import RealisticSettings, measure_pools
from aezsl.selection import SelectionSettings, SelectionStores
from tests.helpers.problems import make_problem
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_synthetic

PROBLEM = make_problem("zsl", make_synthetic(n_seen=16, n_unseen=6, per_class=15))
SETTINGS = RealisticSettings(
    methods="eszsl_t+tzsar", classes="1-2+all+9", batches="20+all", streams="0.1", stream_batches=3, draws=3
)
METHODS = {
    name: make_method(name).settings()(grid={key: values[:1] for key, values in make_method(name).grid.items()})
    for name in ("eszsl", "eszsl_t", "tzsar")
}


def measure(folder, settings=SETTINGS, problem=PROBLEM):
    stores = SelectionStores(folder / "models", "{}/selection.csv"), SelectionStores(folder / "cells", "{}.csv")
    return measure_pools(problem, settings, SelectionSettings(), METHODS, make_recipe()[0], *stores)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("realistic")


@pytest.fixture(scope="module")
def draws(folder):
    return measure(folder)[0]


def test_a_row_per_method_cell_and_draw(draws):
    assert draws["method"].unique().tolist() == ["eszsl_t", "tzsar"]
    for _, own in draws.groupby("method"):
        ran = own[own["state"] == "run"]
        assert ran.groupby(["classes", "size", "stream"]).size().to_dict() == {
            ("0.1", "20", True): 3,
            ("1-2", "20", False): 3,
            ("1-2", "all", False): 3,
            ("all", "20", False): 3,
            ("all", "all", False): 1,
        }
        out = own[own["state"] != "run"]
        assert out["classes"].tolist() == ["9", "9"]
        assert out["state"].str.contains("6 classes").all()
    ran = draws[draws["state"] == "run"]
    assert (ran["low"] <= ran["high"]).all()


def test_the_whole_pool_is_what_a_run_of_the_method_has(draws):
    """Methods meet the same pools; without a pool a method is its base."""
    whole = draws[(draws["classes"] == "all") & (draws["size"] == "all")].set_index("method")
    true = PROBLEM.y_test
    model = make_method("tzsar", **{key: values[0] for key, values in METHODS["tzsar"].searched.items()})
    model.fit(PROBLEM.X_train, PROBLEM.y_train, PROBLEM.S_seen)
    X, S = PROBLEM.X_test, PROBLEM.S_target
    expected = [per_class_accuracy(true, model.adapt(S, pool).predict(X)) for pool in (None, X)]
    assert whole.loc["tzsar", ["base", "accuracy"]].tolist() == expected
    point = {key: values[0] for key, values in METHODS["eszsl"].searched.items()}
    base = make_method("eszsl", **point).fit(PROBLEM.X_train, PROBLEM.y_train, PROBLEM.S_seen)
    assert whole.loc["eszsl_t", "base"] == per_class_accuracy(true, base.predict(X, S))
    sizes = draws.groupby(["classes", "size", "draw"])[["images", "present"]].nunique()
    assert (sizes == 1).all(axis=None)


def test_what_is_carried_along_changes_streams_alone(tmp_path, draws):
    carried = measure(tmp_path, SETTINGS.model_copy(update={"carry": True, "methods": "eszsl_t", "batches": "20"}))[0]
    both = draws.merge(carried, on=["method", "classes", "size", "stream", "draw"], suffixes=("", "_carried"))
    both = both[both["state"] == "run"]
    same = both["accuracy"] == both["accuracy_carried"]
    assert same[~both["stream"]].all()
    assert not same[both["stream"]].all()
    assert (both["base"] == both["base_carried"]).all()


def test_an_interrupted_run_goes_on_where_it_was(folder, draws, monkeypatch):
    fitted = []
    monkeypatch.setattr(nodes.Measured, "fitted", lambda self: fitted.append(self.name) or _fit(self))
    again = measure(folder)[0]
    assert fitted == []
    assert again.equals(draws)
    (folder / "cells" / "tzsar" / "all_of_20.csv").unlink()
    assert measure(folder)[0].equals(draws)
    assert fitted == ["tzsar"]
    measure(folder, SETTINGS.model_copy(update={"methods": "tzsar", "seed": 1}))
    assert fitted == ["tzsar", "tzsar"]


def _fit(method, fitted=nodes.Measured.fitted):
    return fitted(method)


def test_unlabelled_images_are_in_no_pool(tmp_path):
    y = np.where(np.arange(len(PROBLEM.y_test)) % 3 == 0, -1, PROBLEM.y_test)
    settings = SETTINGS.model_copy(update={"methods": "tzsar", "classes": "all", "batches": "all", "streams": ""})
    found = measure(tmp_path, settings, replace(PROBLEM, y_test=y))[0]
    assert found["images"].tolist() == [(y >= 0).sum()]
    with pytest.raises(DataError, match="no labels"):
        measure(tmp_path, settings, replace(PROBLEM, y_test=np.full_like(y, -1)))


def test_what_cannot_be_measured_is_named(tmp_path):
    for name, hint in (("tsar", "perhaps tzsar"), ("eszsl", "'eszsl'"), ("", "there are: ")):
        with pytest.raises(ValidationError, match=hint):
            RealisticSettings(methods=name)
    assert [RealisticSettings(streams=given).streams for given in (None, "", 0.1)] == ["", "", "0.1"]
    with pytest.raises(DataError, match="no cell"):
        measure(tmp_path, SETTINGS.model_copy(update={"classes": "9", "streams": ""}))
