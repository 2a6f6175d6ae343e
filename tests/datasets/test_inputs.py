import pytest
from kedro.io import DatasetError

from aezsl.datasets.inputs import CandidatesDataset


def test_lists_and_edges_are_read(tmp_path):
    (tmp_path / "near.txt").write_text("n00000001\nn00000002\n")
    (tmp_path / "edges.txt").write_text("n00000001 n00000002\n")
    candidates = CandidatesDataset(lists={"2hop": str(tmp_path / "near.txt")}, edges=str(tmp_path / "edges.txt")).load()
    assert candidates.lists == {"2hop": ["n00000001", "n00000002"]}
    assert candidates.edges == [("n00000001", "n00000002")]


def test_without_lists_there_are_none():
    candidates = CandidatesDataset().load()
    assert not candidates.lists
    assert candidates.edges is None


def test_a_missing_list_is_named(tmp_path):
    with pytest.raises(DatasetError, match=r"none\.txt"):
        CandidatesDataset(lists={"2hop": str(tmp_path / "none.txt")}).load()
