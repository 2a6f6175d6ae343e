"""A folder of photos that an installed package carries."""

from pathlib import Path

import pytest
import sklearn.datasets

from tests.helpers.photos import RIGHT


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for name in RIGHT:
        content = (Path(sklearn.datasets.__file__).parent / "images" / name).read_bytes()
        (folder / name).write_bytes(content)
    return folder
