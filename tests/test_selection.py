import pandas as pd

from aezsl.selection import best_point


def test_best_point_keeps_the_types_of_the_grid():
    table = pd.DataFrame(
        {"C": [0.1, 1.0], "T": [1, 10], "metric": ["a", "b"], "flag": [False, True], "mean": [0.2, 0.4]}
    )
    best = best_point(table, ["C", "T", "metric", "flag"])
    assert best == {"C": 1.0, "T": 10, "metric": "b", "flag": True}
    assert [type(value) for value in best.values()] == [float, int, str, bool]


def test_best_point_takes_the_earlier_row_on_ties():
    assert best_point(pd.DataFrame({"C": [3, 4], "mean": [0.5, 0.5]}), ["C"]) == {"C": 3}
