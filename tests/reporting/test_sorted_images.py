import os

import pandas as pd
import pytest
from kedro.io import DatasetError

from aezsl.datasets.answers import SortedImagesDataset
from aezsl.reporting.names import PredictSettings, SortedImages, sort_images


def table(*rows):
    return pd.DataFrame(rows, columns=["image_id", "predicted", "none_of_these", "path"])


@pytest.mark.parametrize("how", ["copies", "links"])
def test_images_lie_in_folders_by_name(tmp_path, how):
    for name in ("a.png", "b.png", "c.png"):
        (tmp_path / name).write_text(name)
    rows = [
        ("trip/a.png", "red fox", False, str(tmp_path / "a.png")),
        ("trip__a.png", "red fox", False, str(tmp_path / "b.png")),
        ("c.png", "../../melon", True, str(tmp_path / "c.png")),
        ("d.png", "../../melon", False, str(tmp_path / "c.png")),
    ]
    dataset = SortedImagesDataset(filepath=str(tmp_path / "data" / "sorted"))
    dataset.save(sort_images(table(*rows), PredictSettings(sorted=how)))
    folder = dataset.load()
    found = {file.relative_to(folder).as_posix(): file.read_text() for file in folder.rglob("*.png")}
    assert found == {
        "red fox/trip__a.png": "a.png",
        "red fox/trip__a (2).png": "b.png",
        "none of these/c.png": "c.png",
        "_.._melon/d.png": "c.png",
    }
    assert all(os.path.islink(file) == (how == "links") for file in folder.rglob("*.png"))
    dataset.save(sort_images(table(rows[0]), PredictSettings(sorted=how)))
    assert [path.name for path in folder.iterdir()] == ["red fox"]  # the former folder is replaced
    dataset.save(sort_images(table(rows[1]), PredictSettings()))
    assert [path.name for path in folder.iterdir()] == ["red fox"]


def test_no_image_leaves_its_folder(tmp_path):
    dataset = SortedImagesDataset(filepath=str(tmp_path / "sorted"))
    with pytest.raises(DatasetError, match=r"out\.png"):
        dataset.save(SortedImages("copies", {"../out.png": str(tmp_path / "a.png")}))
    assert not list(tmp_path.iterdir())


def test_names_that_differ_by_capital_letters_alone_have_folders_of_their_own():
    found = sort_images(
        table(("a.png", "Fox", False, "x"), ("b.png", "fox", False, "y")), PredictSettings(sorted="copies")
    )
    assert list(found.files) == ["Fox/a.png", "fox (2)/b.png"]


def test_names_of_any_script_stay_as_they_are_and_long_ones_are_cut():
    names = ["तोता", "तोती", "鳥" * 90, "a/b"]
    rows = [(f"{number}.png", name, False, "x") for number, name in enumerate(names)]
    folders = [file.split("/")[0] for file in sort_images(table(*rows), PredictSettings(sorted="copies")).files]
    assert folders[:2] == names[:2]
    assert folders[2].startswith("鳥鳥")
    assert len(folders[2].encode()) < 255
    assert folders[3] == "a_b"
