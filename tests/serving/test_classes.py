"""Whatever form classes are given in, they mean the same."""

import json

import numpy as np
import pandas as pd
import pytest

from aezsl.errors import DataError
from aezsl.serving.classes import class_table, find_classes
from aezsl.serving.model_file import load_trained
from tests.helpers.colours import COLOURS, make_place
from tests.helpers.recipes import make_recipe

GIVEN = {"plum": "red blue dark", "amber": "red green dark"}


@pytest.fixture
def recipe(tmp_path):
    return load_trained(make_place(tmp_path).models / "eszsl" / "model.npz").recipe


def known(recipe, name):
    return recipe.semantics(recipe.class_vectors[[list(COLOURS).index(name)]])[0]


@pytest.mark.parametrize(
    "form",
    [
        lambda rows: GIVEN,
        lambda rows: json.dumps(GIVEN),
        lambda rows: rows,
        lambda rows: json.dumps(rows),
        lambda rows: pd.DataFrame(rows).to_csv(index=False),
        lambda rows: pd.DataFrame(rows).to_csv(index=False, sep=";"),
    ],
)
def test_descriptions_mean_the_same_in_every_form(recipe, form):
    rows = [{"class_name": name, "description": text} for name, text in GIVEN.items()]
    found = find_classes(recipe, form(rows))
    expected = recipe.targets(pd.DataFrame(GIVEN.items(), columns=["class_name", "text"]))
    assert found.names == list(GIVEN)
    np.testing.assert_array_equal(found.vectors, expected.vectors)
    np.testing.assert_array_equal(found.vectors[0], known(recipe, "plum"))  # described as in training


@pytest.mark.parametrize("form", [list, ", ".join, json.dumps, lambda names: "class_name\n" + "\n".join(names)])
def test_a_name_of_training_means_that_class_and_any_other_its_own_words(recipe, form):
    names = ["SKY", "red pale", "plum"]
    found = find_classes(recipe, form(names))
    assert found.names == names
    np.testing.assert_array_equal(found.vectors[[0, 2]], [known(recipe, "sky"), known(recipe, "plum")])
    np.testing.assert_array_equal(found.vectors[1], find_classes(recipe, {"x": "red pale"}).vectors[0])


def test_a_class_of_training_that_is_described_anew_is_as_described(recipe):
    found = find_classes(recipe, {"sky": "red pale"})
    assert not np.array_equal(found.vectors[0], known(recipe, "sky"))


def test_nothing_means_the_unseen_classes(recipe):
    for nothing in ("", " , ", [], {}):
        assert find_classes(recipe, nothing).names == ["plum", "lemon", "teal"]


def test_attributes_of_json_are_those_of_a_table():
    recipe, data = make_recipe()
    rows = [
        {"class_name": n} | {f"a{i}": float(v) for i, v in enumerate(row)}
        for n, row in zip("xy", data.S_new[:2], strict=True)
    ]
    found, by_text = find_classes(recipe, rows), find_classes(recipe, pd.DataFrame(rows).to_csv(index=False))
    np.testing.assert_array_equal(found.vectors, by_text.vectors)
    with pytest.raises(DataError, match="'unicorn'"):
        find_classes(recipe, "class1, unicorn")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("[1", "JSON"),
        (["a", ["b"]], r"classes\[1\]"),
        (["a", {"class_name": "b", "description": "c"}], r"classes\[1\]"),
        ([{"class_name": "a", "size": True}], r"classes\[0\]"),
        ([{"class_name": "a", "description": float("nan")}], r"classes\[0\]"),
        ([{"class_name": "a", "size": "big"}], "'size' of 'a'"),
        ([{"name": "a"}], "class_name"),
        (["a", "A"], "'a' and 'A'"),
        ({"a": " "}, "description of a"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, named):
    with pytest.raises(DataError, match=named):
        class_table(given)


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (["a\ud800", "dog"], r"a\\ud800"),
        ('["a\\ud800", "dog"]', r"a\\ud800"),
        ("class_name,description\na\ud800,x\nb,y", "line 2"),
        ([{"class_name": "a", "x\ud800": 1}, {"class_name": "b", "x\ud800": 2}], r"x\\ud800"),
        ([{"class_name": "a", "group": "g\ud800"}, {"class_name": "b", "group": "g"}], "group of 'a'"),
        ({"a": "x\x00", "b": "y"}, "'a'"),
        ({"a": "x" * 100_001, "b": "y"}, "'a'"),
        (["x" * 1_001, "b"], "1,000"),
        ({"a": "red  fox", "b": "Red fox"}, "'a' and 'b'"),
    ],
)
def test_texts_that_people_do_not_write_are_refused_by_name(given, part):
    with pytest.raises(DataError, match=part) as refused:
        class_table(given)
    str(refused.value).encode()  # it can be printed
