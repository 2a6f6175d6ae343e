import pandas as pd

from aezsl.reporting.names import list_names


def test_a_line_has_image_name_score_and_runner_up():
    predictions = pd.DataFrame(
        {
            "image_id": ["a.png", "=b.png"],
            "true": ["cat", None],
            "predicted": ["cat", "+1"],
            "score": [0.9, 0.5],
            "top_1": ["cat", "+1"],
            "top_2": ["dog", "cat"],
            "top_2_score": [0.4, 0.25],
        }
    )
    table = list_names(predictions)
    assert list(table) == ["image", "name", "score", "runner_up", "behind", "true_name"]
    assert table["image"].tolist() == ["a.png", "=b.png"]
    assert table["name"].tolist() == ["cat", "+1"]
    assert table["runner_up"].tolist() == ["dog", "cat"]
    assert table["behind"].tolist() == [0.5, 0.25]


def test_new_images_have_their_names_in_lists():
    row = {"image_id": ["a"], "true": [None], "predicted": ["x"], "score": [1.0]}
    two = list_names(pd.DataFrame(row | {"top_5": [["x", "y"]], "top_5_scores": [[1.0, 0.5]]}))
    assert (two["runner_up"].item(), two["behind"].item()) == ("y", 0.5)
    assert "true_name" not in two
    one = list_names(pd.DataFrame(row | {"top_5": [["x"]], "top_5_scores": [[1.0]]}))
    assert one["runner_up"].item() is None


def test_without_images_the_table_is_empty():
    columns = ["image_id", "true", "predicted", "score", "top_1"]
    assert list_names(pd.DataFrame(columns=columns)).empty
