import json

import numpy as np
import pytest
from kedro.io import DatasetError

from aezsl.datasets.model import ModelDataset
from aezsl.methods import make_method
from tests.synthetic import make_synthetic


@pytest.fixture
def dataset(tmp_path):
    return ModelDataset(filepath=str(tmp_path / "deep" / "model.npz"))


def test_a_saved_model_predicts_the_same(dataset):
    data = make_synthetic()
    model = make_method("eszsl", gamma=0.1, lam=10.0).fit(*data[:3])
    dataset.save(model)
    loaded = dataset.load()
    assert loaded.get_params() == model.get_params()
    np.testing.assert_allclose(
        loaded.decision_function(data.X_new, data.S_new), model.decision_function(data.X_new, data.S_new), rtol=1e-9
    )
    assert not list(dataset._filepath.parent.glob(".*"))


def test_pickles_are_refused(dataset):
    dataset._filepath.parent.mkdir()
    header = json.dumps({"method": "eszsl", "parameters": {}, "scalars": {}})
    evil = np.array([{"run": "me"}], dtype=object)
    np.savez(dataset._filepath, header=np.array(header), W_=evil)
    with pytest.raises(DatasetError, match="not a model saved by this project"):
        dataset.load()


def test_other_files_are_refused(dataset):
    dataset._filepath.parent.mkdir()
    dataset._filepath.write_text("hello")
    with pytest.raises(DatasetError, match="not a model saved by this project"):
        dataset.load()
