import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from kedro.io import DatasetError

from aezsl.datasets.mlflow_model import model_parts
from aezsl.datasets.models import ClassifierDataset, ModelFolderDataset, TrainedModelDataset
from aezsl.errors import DataError
from aezsl.methods import make_method
from aezsl.serving.model_file import VERSION
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_synthetic


@pytest.fixture
def dataset(tmp_path):
    return TrainedModelDataset(filepath=str(tmp_path / "deep" / "eszsl" / "model.npz"))


def trained():
    recipe, data = make_recipe()
    return TrainedModel(make_method("eszsl", gamma=0.1, lam=10.0).fit(*data[:3]), recipe), data


def test_a_saved_model_predicts_the_same(dataset):
    saved, data = trained()
    dataset.save(saved)
    loaded = dataset.load().model
    assert loaded.get_params() == saved.model.get_params()
    np.testing.assert_allclose(
        loaded.decision_function(data.X_new, data.S_new),
        saved.model.decision_function(data.X_new, data.S_new),
        rtol=1e-9,
    )
    assert not list(dataset._filepath.parent.glob(".*"))


def test_an_adapted_classifier_is_saved_with_its_model(tmp_path):
    data = make_synthetic()
    dataset = ClassifierDataset(filepath=str(tmp_path / "classifier.npz"))
    for name in ("aezsl", "aezsl_lr", "exem"):
        classifier = make_method(name).fit(*data[:3]).adapt(data.S_new, data.X_new)
        dataset.save(classifier)
        loaded = dataset.load()
        assert type(loaded) is type(classifier)
        np.testing.assert_array_equal(loaded.predict(data.X_new), classifier.predict(data.X_new))
        np.testing.assert_allclose(loaded.scores(data.X[:5]), classifier.scores(data.X[:5]), rtol=1e-9, atol=1e-12)
    with pytest.raises(DatasetError, match=r"classifier\.npz"):  # one kind of file is not taken for the other
        TrainedModelDataset(filepath=str(tmp_path / "classifier.npz")).load()


def test_a_folder_says_what_is_trained_and_how_to_train(dataset):
    saved, _ = trained()
    dataset.save(saved)
    models = ModelFolderDataset(filepath=str(dataset._filepath.parents[1])).load()
    assert models.trained() == ["eszsl"]
    assert models.load("eszsl").model.gamma == 0.1
    with pytest.raises(DataError, match="--pipeline=aezsl"):
        models.load("aezsl")
    with pytest.raises(DataError, match=r"aezls.*eszsl"):
        models.load("aezls")


@pytest.mark.parametrize("name", ["aezsl", "gzsl_aezsl"])
def test_a_model_under_the_name_of_another_method_is_refused(dataset, name):
    dataset.save(trained()[0])
    folder = dataset._filepath.parents[1]
    shutil.copytree(folder / "eszsl", folder / name)
    models = ModelFolderDataset(filepath=str(folder)).load()
    with pytest.raises(DataError, match=f"eszsl.*aezsl.*--pipeline={name}"):
        models.load(name)


def test_mlflow_keeps_no_name_of_something_half_written(tmp_path):
    with model_parts(trained()[0], tmp_path / "mlflow_model") as parts:
        folder = Path(parts["data_path"])
        assert (folder.name, [path.name for path in folder.iterdir()]) == ("model", ["model.npz"])
    assert list(tmp_path.iterdir()) == []


def test_pickles_are_refused(dataset):
    dataset._filepath.parent.mkdir(parents=True)
    header = {"version": VERSION, "method": "eszsl", "parameters": {}, "scalars": {}, "recipe": {}}
    evil = np.array([{"run": "me"}], dtype=object)
    np.savez(dataset._filepath, header=np.array(json.dumps(header)), **{"model.W_": evil})
    with pytest.raises(DatasetError, match=r"model\.npz"):
        dataset.load()


@pytest.mark.parametrize("spoil", [lambda b: b"hello", lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b[:-30]])
def test_other_and_damaged_files_are_refused(dataset, spoil):
    saved, _ = trained()
    dataset.save(saved)
    dataset._filepath.write_bytes(spoil(dataset._filepath.read_bytes()))
    with pytest.raises(DatasetError, match=r"model\.npz"):
        dataset.load()


def test_files_of_another_version_are_refused(dataset):
    dataset._filepath.parent.mkdir(parents=True)
    np.savez(dataset._filepath, header=np.array(json.dumps({"method": "eszsl", "parameters": {}, "scalars": {}})))
    with pytest.raises(DatasetError, match=r"model\.npz"):
        dataset.load()
