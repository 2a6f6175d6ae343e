"""Results on disk that are not what a run wrote: the file is named, and what is wrong with it."""

import json

import pytest

from aezsl.errors import DataError
from aezsl.reporting.results import ENTRIES, Results

SIZES = dict.fromkeys(ENTRIES["summary"], 3)


def read(tmp_path, file, content, name="eszsl"):
    path = tmp_path / name / file
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    results, kind = Results.scan([tmp_path], {}), path.stem
    return results.table(name, kind) if path.suffix == ".csv" else results.mapping(name, kind)


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        ("metrics.json", "[]", "of type list"),
        ("metrics.json", '{"accuracy": "x"}', "accuracy must be a number, got 'x'"),
        ("metrics.json", '{"accuracy": Infinity}', "got inf"),
        ("metrics.json", '{"accuracy": 1' + "0" * 400 + "}", "401 digits"),
        ("metrics.json", b"\xff", "codec"),
        ("record.json", '{"fit_seconds": true}', "fit_seconds must be a number"),
        ("summary.json", '{"n_seen": 3}', "it has no n_unseen"),
        ("summary.json", json.dumps(SIZES | {"n_unseen": 0}), "n_unseen must be above 0, got 0"),
        ("summary.json", json.dumps(SIZES | {"n_test": -1}), "n_test must not be below 0, got -1"),
        ("mapping.json", "{}", "it has no class_name"),
        ("per_class.csv", "class_name,images\na,1\n", "it has no accuracy"),
        ("per_class.csv", "class_name,images,accuracy\na,1,x\n", "accuracy must be a number"),
        ("per_class.csv", b"class_name\xff\n", "codec"),
        ("selection.csv", "lam\n1\n", "it has no mean"),
    ],
)
def test_a_file_that_is_not_a_result_is_named(tmp_path, file, content, told):
    with pytest.raises(DataError) as caught:
        read(tmp_path, file, content)
    assert str(tmp_path / "eszsl" / file) in str(caught.value)
    assert told in str(caught.value)
    assert "run eszsl again, or delete it" in str(caught.value)


def test_what_is_not_known_is_left_out(tmp_path):
    assert read(tmp_path, "metrics.json", json.dumps({"accuracy": 0.5, "hit_at_5": None})) == {"accuracy": 0.5}


def test_a_problem_may_leave_out_no_class_and_have_no_test_image(tmp_path):
    summary = SIZES | {"n_classes_without_vector": 0, "n_test": 0}
    assert read(tmp_path, "summary.json", json.dumps(summary)) == summary


def test_names_of_classes_stay_names(tmp_path):
    table = read(tmp_path, "per_class.csv", "class_name,images,accuracy\n7,1,0.5\nNA,1,\nTrue,1,1\n")
    assert table["class_name"].tolist() == ["7", "NA", "True"]
