import re

import pandas as pd
import pytest

from aezsl.selection import (
    SelectionSettings,
    SelectionStore,
    class_folds,
    grid_points,
    most_cautious_first,
    most_central_first,
    select_parameters,
)
from tests.helpers.problems import make_problem


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
            assert re.search(rf"3 of 3 points.*\b{n_classes}\b", caplog.text)
