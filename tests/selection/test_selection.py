import threading

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from aezsl.data.draws import held_out_mask
from aezsl.errors import DataError, ParameterError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.machine.workers import Workers, working_on
from aezsl.methods import METHODS, make_method, method_class
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.selection import (
    SelectionSettings,
    SelectionStore,
    class_folds,
    class_split,
    cross_validate,
    effective_grid,
    grid_points,
    most_cautious_first,
    most_central_first,
    select_parameters,
)
from tests.helpers.problems import make_problem
from tests.synthetic import make_synthetic


class TestClassFolds:
    @pytest.mark.parametrize(
        ("n_seen", "n_unseen", "size"),
        [(150, 50, 38), (707, 10, 10), (85, 28, 21), (1000, 20842, 954)],  # 37.5, 9.86, 21.06, 954.2
    )
    def test_validation_classes_relate_to_seen_as_unseen_to_all(self, n_seen, n_unseen, size):
        for rule in ("first", "random"):
            assert {len(fold) for fold in class_folds(n_seen, n_unseen, rule)} == {size}

    @hypothesis.given(st.integers(4, 60), st.integers(1, 200), st.sampled_from(["first", "random"]), st.integers(1, 8))
    def test_both_parts_always_keep_two_classes(self, n_seen, n_unseen, rule, n_folds):
        for fold in class_folds(n_seen, n_unseen, rule, n_folds):
            assert 2 <= len(fold) <= n_seen - 2
            assert len(np.unique(fold)) == len(fold)
            assert fold.min() >= 0
            assert fold.max() < n_seen

    def test_first_takes_the_data_order_in_one_fold(self):
        (fold,) = class_folds(12, 4, "first", n_folds=5)
        np.testing.assert_array_equal(fold, [0, 1, 2])

    def test_random_folds_are_disjoint_while_classes_last(self):
        folds = class_folds(12, 4, "random", n_folds=5)  # four folds of three use up all twelve classes
        assert len(folds) == 5
        np.testing.assert_array_equal(np.sort(np.concatenate(folds[:4])), np.arange(12))

    def test_the_seed_decides(self):
        first, again, other = (np.stack(class_folds(40, 10, seed=seed)) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()

    def test_bad_requests_are_refused(self):
        with pytest.raises(DataError):
            class_folds(3, 10)
        with pytest.raises(ParameterError, match="last"):
            class_folds(10, 10, "last")
        for n_folds in (0, -1):
            with pytest.raises(ParameterError, match="n_folds"):
                class_folds(10, 10, n_folds=n_folds)
        for fraction in (0, 1, 2, -0.5, float("nan")):
            with pytest.raises(ParameterError, match="fraction"):
                class_folds(10, 10, fraction=fraction)
            with pytest.raises(ParameterError, match="fraction"):
                held_out_mask(np.array([0, 0, 1, 1]), fraction, 0)


class TestClassSplit:
    def test_labels_are_numbered_again_in_order(self):
        X = np.arange(6.0)[:, None]
        y = np.array([3, 0, 1, 2, 3, 1])
        S = np.array([[10.0], [11.0], [12.0], [13.0]])
        (X_t, y_t, S_t), (X_v, y_v, S_v) = class_split(X, y, S, np.array([2, 1]))  # the order given does not count
        np.testing.assert_array_equal(X_t[:, 0], [0, 1, 4])
        np.testing.assert_array_equal(y_t, [1, 0, 1])
        np.testing.assert_array_equal(S_t[:, 0], [10, 13])
        np.testing.assert_array_equal(X_v[:, 0], [2, 3, 5])
        np.testing.assert_array_equal(y_v, [0, 1, 0])
        np.testing.assert_array_equal(S_v[:, 0], [11, 12])

    @hypothesis.given(st.data())
    def test_every_sample_keeps_its_semantics_and_no_class_is_on_both_sides(self, data):
        n_classes = data.draw(st.integers(2, 8))
        y = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=30)))
        held_out = np.array(sorted(data.draw(st.sets(st.integers(0, n_classes - 1), min_size=1))))
        X, S = y[:, None] + 0.5, np.arange(n_classes)[:, None] + 0.5  # X repeats its class's semantics
        training, validation = class_split(X, y, S, held_out)
        for X_part, y_part, S_part in (training, validation):
            np.testing.assert_array_equal(S_part[y_part], X_part)
        assert len(training[0]) + len(validation[0]) == len(X)
        assert not set(training[2][:, 0]) & set(validation[2][:, 0])
        np.testing.assert_array_equal(validation[2], S[held_out])


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


def test_the_most_cautious_point_is_chosen_among_those_as_good_as_the_best():
    table = pd.DataFrame({"g": [1.0, 3.0, 3.0, 10.0], "n": [1, 2, 1, 1], "mean": [0.60, 0.595, 0.59, 0.57]})
    by = {"g": 1, "n": -1}
    # Standard errors 0.049, 0.022 and 0.0002.
    few, some, many = (most_cautious_first(table, by, n) for n in (100, 500, 5_000_000))
    assert few.iloc[0].to_list() == [10.0, 1, 0.57]
    assert some.iloc[0].to_list() == [3.0, 1, 0.59]
    assert many.iloc[0].to_list() == [1.0, 1, 0.60]
    assert len(few) == 4


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_left_out_is_more_cautious_than_any_value(sign):
    table = pd.DataFrame({"g": pd.Series([0.1, None, 1.0], dtype=object), "mean": [0.60, 0.59, 0.60]})
    few, many = (most_cautious_first(table, {"g": sign}, n) for n in (500, 5_000_000))
    assert few["g"].to_list() == [None, 0.1, 1.0]
    assert many["g"].iloc[0] == (1.0 if sign > 0 else 0.1)


def test_a_fraction_replaces_the_papers_rule():
    assert len(class_folds(1000, 20_842, n_folds=1)[0]) == 954
    assert len(class_folds(1000, 20_842, n_folds=1, fraction=0.2)[0]) == 200


class TestTies:
    grid = {"a": [1e-3, 1e-2, 1e-1, 1.0, 1e1], "b": [1.0, 2.0, 3.0], "how": ["x", "y"]}

    def chosen(self, is_best):
        points = grid_points(self.grid)
        table = pd.DataFrame(points).assign(mean=[1.0 if is_best(point) else 0.5 for point in points])
        ordered = most_central_first(table, self.grid)
        assert sorted(ordered.index) == list(table.index)
        return ordered.iloc[0][["a", "b", "how"]].tolist()

    @pytest.mark.parametrize(
        ("is_best", "chosen"),
        [
            (lambda point: True, [0.1, 2.0, "x"]),  # the middle of all
            (lambda point: point["a"] < 0.1 and point["b"] == 1, [0.01, 1.0, "x"]),  # of a pair the one inside
            (lambda point: point["a"] > 0.1, [1.0, 2.0, "x"]),
            (lambda point: point["a"] >= 0.1 and point["b"] > 1 and point["how"] == "y", [1.0, 2.0, "y"]),
            (lambda point: point == {"a": 10.0, "b": 3.0, "how": "y"}, [10.0, 3.0, "y"]),  # no tie, no change
        ],
    )
    def test_the_point_in_the_middle_of_the_tied_ones_is_taken(self, is_best, chosen):
        assert self.chosen(is_best) == chosen

    def test_the_order_of_the_grids_values_does_not_count(self):
        values = {"a": [3.0, 1.0, 2.0]}
        table = pd.DataFrame(grid_points(values)).assign(mean=1.0)
        assert most_central_first(table, values).iloc[0]["a"] == 2.0

    def test_a_warning_says_how_many_points_tie_on_how_many_classes(self, tmp_path, caplog):
        problem = make_problem("zsl")
        n_classes = len(class_folds(len(problem.S_seen), len(problem.S_unseen))[0])
        grid = {"gamma": [1.0, 1.0 + 1e-12, 1.0 + 2e-12], "lam": [1.0]}  # validation cannot tell them apart
        for _ in range(2):  # also where the table is taken over
            caplog.clear()
            selected = select_parameters(
                "eszsl", problem, {}, grid, SelectionSettings(), SelectionStore(tmp_path / "table.csv")
            )
            assert selected.parameters["gamma"] == 1.0 + 1e-12
            assert f"3 of 3 points tie for the best accuracy on {n_classes} validation classes" in caplog.text
