import pandas as pd

from aezsl.reporting.names import list_names

TWO = {
    "image_id": ["a.png", "=b.png"],
    "true": ["cat", None],
    "predicted": ["cat", "+1"],
    "score": [0.9, 0.5],
    "top_1": ["cat", "+1"],
    "top_2": ["dog", "cat"],
    "top_2_score": [0.4, 0.25],
}


def test_a_line_has_image_name_probability_and_runner_up():
    sure = {"probability": [0.75, 0.375], "top_2_probability": [0.25, 0.125], "none_of_these": [False, True]}
    table = list_names(pd.DataFrame(TWO | sure))
    columns = ["image", "name", "best", "probability", "runner_up", "runner_up_probability", "true_name"]
    assert list(table) == columns
    assert table.iloc[0].tolist() == ["a.png", "cat", "cat", 0.75, "dog", 0.25, "cat"]
    assert table.iloc[1].tolist()[:-1] == ["=b.png", "none of these", "+1", 0.375, "cat", 0.125]


def test_new_images_have_no_true_name_and_a_single_class_no_runner_up():
    row = {"image_id": ["a"], "true": [None], "predicted": ["x"], "score": [1.0]}
    row |= {"probability": [0.75], "none_of_these": [False]}
    two = list_names(pd.DataFrame(row | {"top_1": ["x"], "top_2": ["y"], "top_2_probability": [0.25]}))
    assert (two["runner_up"].item(), two["runner_up_probability"].item()) == ("y", 0.25)
    assert "true_name" not in two
    one = list_names(pd.DataFrame(row | {"top_1": ["x"]}))
    assert one["runner_up"].item() is None


def test_without_images_the_table_is_empty():
    columns = ["image_id", "true", "predicted", "score", "probability", "none_of_these", "top_1"]
    assert list_names(pd.DataFrame(columns=columns)).empty
