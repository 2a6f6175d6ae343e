import threading

import numpy as np
import pandas as pd
import pytest

from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.machine.workers import Workers, working_on
from aezsl.methods import METHODS, make_method, method_class
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.selection import (
    class_folds,
    class_split,
    cross_validate,
    effective_grid,
    grid_points,
)
from tests.synthetic import make_synthetic


def given(name, **values):
    return method_class(name).settings()(**values)


class TestEffectiveGrid:
    @pytest.mark.parametrize("name", METHODS)
    def test_nothing_named_is_the_grid_of_the_class(self, name):
        assert list(effective_grid(name, given(name)).items()) == list(method_class(name).grid.items())

    def test_a_named_parameter_replaces_its_values_and_keeps_its_place(self):
        grid = effective_grid("aezsl", given("aezsl", grid={"lambda3": [5.0], "lambda1": [1.0, 2.0]}))
        assert list(grid) == ["lambda1", "lambda2", "lambda3"]
        assert (grid["lambda1"], grid["lambda3"]) == ([1.0, 2.0], [5.0])
        assert grid["lambda2"] == method_class("aezsl").grid["lambda2"]

    def test_a_parameter_that_the_class_does_not_search_comes_last(self):
        assert list(effective_grid("aezsl_lr", given("aezsl_lr", grid={"k": [50, 100]})))[-1] == "k"
        assert effective_grid("daezsl", given("daezsl", grid={"rho": [0.1, 0.5]})) == {"rho": [0.1, 0.5]}

    def test_the_class_keeps_its_own_grid(self):
        before = dict(method_class("eszsl").grid)
        effective_grid("eszsl", given("eszsl", grid={"gamma": [1.0]}))["lam"] = [2.0]
        assert method_class("eszsl").grid == before

    def test_a_parameter_with_one_value_is_not_searched(self):
        settings = given("aezsl", lambda1=0.1, tol=1e-6, grid={"lambda1": [1.0, 2.0]})  # the grid of an environment
        assert settings.fixed == {"lambda1": 0.1, "tol": 1e-6}
        assert list(effective_grid("aezsl", settings)) == ["lambda2", "lambda3"]


def test_grid_points_run_the_last_parameter_fastest():
    assert grid_points({"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]
    assert grid_points({}) == [{}]


class Spy(ZeroShotClassifier):
    """Remembers what it was trained on and what it was asked; predicts the first class."""

    seen: list = []
    own_threads = True  # one fold after the other

    def __init__(self, strength=1.0, depth=None, size=1):
        self.strength = strength
        self.depth = depth
        self.size = size

    def _fit(self, seen):
        self.S_ = seen.S
        Spy.seen.append((seen.X, seen.S))

    def _target_parts(self, S_target):
        return {"targets": S_target}

    def _scores(self, X, targets):
        Spy.seen[-1] += (X, targets)
        return np.zeros((len(X), len(targets)))


class TestCrossValidate:
    grid = {"gamma": [0.01, 1.0, 100.0], "lam": [0.1, 10.0]}

    def test_equals_separate_fits(self):
        data = make_synthetic()
        folds = class_folds(30, 8, n_folds=2)
        table = cross_validate(make_method("eszsl"), *data[:3], folds, self.grid)
        assert list(table.columns) == ["gamma", "lam", "score_0", "score_1", "mean", "std"]
        assert table[["gamma", "lam"]].to_dict("records") == grid_points(self.grid)
        for row in table.to_dict("records"):
            scores = []
            for fold in folds:
                training, (X_val, y_val, S_val) = class_split(*data[:3], fold)
                model = make_method("eszsl", gamma=row["gamma"], lam=row["lam"]).fit(*training)
                scores.append(per_class_accuracy(y_val, model.predict(X_val, S_val)))
            assert [row["score_0"], row["score_1"]] == scores
            assert row["mean"] == pytest.approx(np.mean(scores))
            assert row["std"] == pytest.approx(np.std(scores))
        assert table["mean"].max() > table["mean"].min()

    def test_leaves_the_method_unfitted_and_unchanged(self):
        data = make_synthetic()
        method = make_method("eszsl", gamma=7.0)
        cross_validate(method, *data[:3], class_folds(30, 8), self.grid)
        assert vars(method) == {"gamma": 7.0, "lam": 1.0}

    def test_validation_classes_never_reach_training(self):
        data = make_synthetic()
        X = data.y[:, None] + np.zeros((1, 3))  # a feature that tells the class
        S = np.arange(1.0, 31.0)[:, None]
        folds = class_folds(30, 8, n_folds=4)
        Spy.seen = []
        cross_validate(Spy(), X, data.y, S, folds, {"strength": [1.0, 2.0]})
        assert len(Spy.seen) == 8  # fold by fold, point by point
        for i, (X_train, S_train, X_val, S_val) in enumerate(Spy.seen):
            held_out = folds[i // 2]
            assert set(X_val[:, 0]) == set(held_out)
            assert set(X_train[:, 0]) == set(range(30)) - set(held_out)
            np.testing.assert_array_equal(S_val[:, 0], held_out + 1)
            assert not set(S_train[:, 0]) & set(S_val[:, 0])

    @pytest.mark.parametrize("name", ["eszsl", "aezsl", "conse"])
    def test_any_number_of_workers_gives_the_same_bits(self, name):
        data, folds = make_synthetic(), class_folds(30, 8, n_folds=3)
        grid = {key: values[:2] for key, values in make_method(name).grid.items()}
        with working_on(Workers(1)):
            expected = cross_validate(make_method(name), *data[:3], folds, grid)
        for n in (2, 7):
            with working_on(Workers(n)):
                found = cross_validate(make_method(name), *data[:3], folds, grid)
            pd.testing.assert_frame_equal(found, expected, check_exact=True)

    def test_folds_are_worked_on_side_by_side(self):
        both = threading.Barrier(2, timeout=30)

        class Waiting(Spy):
            own_threads = False

            def _fit(self, seen):
                both.wait()  # one after the other, they would wait in vain
                super()._fit(seen)

        with working_on(Workers(2)):
            cross_validate(Waiting(), *make_synthetic()[:3], class_folds(30, 8, n_folds=2), {})

    def test_rows_are_the_points_of_the_grid_in_order(self):
        data = make_synthetic()
        grid = {"size": [3, 5], "depth": [None, 2], "strength": [0.5, "auto"]}
        table = cross_validate(Spy(), *data[:3], class_folds(30, 8), grid)
        assert table[list(grid)].to_dict("records") == grid_points(grid)

    def test_a_method_without_a_grid_is_one_point(self):
        data = make_synthetic()
        table = cross_validate(Spy(), *data[:3], class_folds(30, 8), {})
        assert len(table) == 1
