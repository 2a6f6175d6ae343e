import base64

import pytest
from kedro.io import DatasetError

from aezsl.datasets.files import FigureDataset
from aezsl.reporting.figures import new_figure

PNG = b"\x89PNG\r\n"


def test_a_figure_becomes_a_picture_that_kedro_viz_can_show(tmp_path):
    dataset = FigureDataset(filepath=str(tmp_path / "new" / "figure.png"), save_args={"dpi": 20})
    assert not dataset.exists()
    with pytest.raises(DatasetError):
        dataset.load()
    dataset.save(new_figure(1, 1))
    assert dataset.exists()
    assert dataset.load().startswith(PNG)
    assert base64.b64decode(dataset.preview()).startswith(PNG)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["figure.png"]
