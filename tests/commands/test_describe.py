"""``aezsl describe``: drafts of descriptions, as a table that ``--env=own`` reads."""

import logging

import pytest
from click.testing import CliRunner

from aezsl.console import main
from aezsl.encoders.knowledge import drafts
from aezsl.encoders.knowledge.named import found_by_name
from aezsl.formats.class_table import DRAFT, read_class_table
from aezsl.formats.folder import Folder

BANANA, FOX = found_by_name(["banana", "red fox"])


@pytest.fixture
def describe(tmp_path, monkeypatch):
    monkeypatch.setattr(drafts, "nearest_classes", lambda labels, k: [[BANANA]] * len(labels))
    return lambda *arguments: CliRunner().invoke(main, ["describe", *arguments, "--out", str(tmp_path / "classes.csv")])


def test_known_classes_by_what_they_are_and_others_by_what_is_like_them(describe, tmp_path, caplog):
    (tmp_path / "images" / "red_fox").mkdir(parents=True)
    result = describe("red_fox, melon")
    assert result.exit_code == 0, result.output
    assert result.output.count(DRAFT) == 2
    classes, attributes = read_class_table(tmp_path / "classes.csv")
    assert not attributes
    assert classes[["class_name", "role", "wnid"]].values.tolist() == [
        ["red_fox", "seen", FOX],
        ["melon", "unseen", ""],
    ]
    fox, melon = classes["text"]  # without the mark, of which the log speaks
    assert fox.startswith("red fox, Vulpes vulpes, fox, canine. ")
    assert melon.startswith("melon, perhaps like banana. ")
    assert "red_fox, melon" in caplog.text


def test_a_table_that_is_there_is_kept(describe, tmp_path):
    (tmp_path / "classes.csv").write_text("mine")
    assert describe("melon").exit_code == 1
    assert (tmp_path / "classes.csv").read_text() == "mine"


@pytest.mark.parametrize("names", ["", "melon, Melon"])
def test_names_that_are_none_or_alike_are_refused(describe, names, tmp_path):
    assert describe(names).exit_code == 1
    assert not (tmp_path / "classes.csv").exists()


def test_classes_that_have_but_a_name_are_pointed_to_it(tmp_path, caplog):
    table = "class_name,role,description\nred_fox,seen,Red fox\nmelon,unseen,round and green"
    (tmp_path / "classes.csv").write_text(table)
    (tmp_path / "images" / "red_fox").mkdir(parents=True)
    (tmp_path / "images" / "red_fox" / "1.png").touch()
    with caplog.at_level(logging.WARNING):
        Folder(root=str(tmp_path)).read()
    assert 'describe "red_fox"' in caplog.text
