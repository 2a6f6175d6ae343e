import pytest

from aezsl.runner import PLACE


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not list(tmp_path.glob(f"{PLACE.parent}/.*"))  # nothing of a run is left
