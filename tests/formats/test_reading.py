"""What all readers of benchmarks share: files that are named where they are missing, and lists of unseen classes."""

import pytest
import scipy.io

from aezsl.formats.reading import SPLITS, BenchmarkFormat, find_list, read_names
from tests.helpers.trees import reference, refused

SIZES = {"cub_standard": 50, "cub_proposed": 50, "sun_paper": 10, "awa2_proposed": 10}


def shipped(name):
    return read_names(SPLITS / f"{name}.txt", "unseen classes")


def community_names(data_set):
    content = scipy.io.loadmat(reference("xlsa17", data_set, "att_splits.mat"))
    return [str(cell.item()) for cell in content["allclasses_names"].ravel()]


def test_each_has_its_size_and_is_tested_here():
    assert {path.stem: len(shipped(path.stem)) for path in SPLITS.glob("*.txt")} == SIZES


def test_a_list_is_found_by_its_name_unless_a_file_has_it(tmp_path):
    assert find_list(tmp_path, "sun_paper", "scenes") == SPLITS / "sun_paper.txt"
    (tmp_path / "sun_paper").write_text("a/abbey")
    assert find_list(tmp_path, "sun_paper", "scenes") == tmp_path / "sun_paper"
    with refused("sun_papers", "cub_proposed, cub_standard, sun_paper"):
        find_list(tmp_path, "sun_papers", "scenes")


@pytest.mark.slow
def test_the_standard_split_of_cub_is_how_the_community_orders_the_classes():
    names = community_names("CUB")  # first the 150 seen ones in their order, then the 50 unseen ones in theirs
    assert names[:150] == sorted(names[:150])
    assert names[150:] == shipped("cub_standard")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "path"), [("cub_proposed", "cub/unseen_proposed_split.txt"), ("sun_paper", "sun/unseen_10.txt")]
)
def test_lists_are_those_of_the_reference_data(name, path):
    assert shipped(name) == read_names(reference(path), "unseen classes")


@pytest.mark.slow
def test_the_proposed_split_of_awa2_has_the_communitys_names():
    assert set(shipped("awa2_proposed")) < set(community_names("AWA2"))


def test_missing_files_are_named(tmp_path):
    with refused("classes.txt"):
        BenchmarkFormat(root=str(tmp_path)).require("classes.txt", "the names")
