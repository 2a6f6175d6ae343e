"""MLflow's model registry: a model goes in, and the same model comes out."""

import mlflow
import numpy as np
import pytest
from kedro.io import DataCatalog

from aezsl.datasets.mlflow_model import MlflowModelDataset
from aezsl.errors import DataError, ParameterError
from aezsl.hooks.closing import _registered
from aezsl.methods import make_method
from aezsl.pipelines.predict.nodes import load_named
from aezsl.reporting.names import PredictSettings
from aezsl.serving.model_file import load_registered
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe

pytestmark = pytest.mark.slow  # MLflow writes a model and its tables


@pytest.mark.parametrize("name", ["a/b", "a:b", " "])
def test_names_that_the_registry_would_refuse_are_refused_before_anything_is_written(name):
    with pytest.raises(ParameterError, match=r"export\.register must be a name without / and :"):
        MlflowModelDataset(filepath="nowhere", register=name)


def test_versions_are_kept_and_used_by_predict(tmp_path, monkeypatch, empty_runs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.db").write_bytes(empty_runs.read_bytes())
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("registered")  # another test may have left one that is not in this database
    try:
        recipe, data = make_recipe()
        X, S = recipe.features(data.X), recipe.semantics(data.S)
        dataset = MlflowModelDataset(filepath=str(tmp_path / "exported"), register="bird's")
        expected = {}
        for gamma in (0.1, 10.0):
            trained = TrainedModel(make_method("eszsl", gamma=gamma).fit(X, data.y, S), recipe)
            dataset.save(trained)
            expected[gamma] = trained.answer(data.X_new, recipe.targets()).scores[:, 0]
        for version, scores in zip((1, 2), expected.values(), strict=True):
            settings = PredictSettings(model=f"models:/bird's/{version}", method="eszsl")
            found = load_named(None, settings)
            np.testing.assert_allclose(found.answer(data.X_new, found.recipe.targets()).scores[:, 0], scores)
        assert dataset.registered == "models:/bird's/2"
        export = ({"mlflow_model"}, DataCatalog({"mlflow_model": dataset}), {"env": "own"})
        told = "kedro run --env=own --pipeline=predict --params=predict.model=models:/bird's/2,predict.images=<folder>"
        assert _registered(*export) == f"registered as models:/bird's/2: {told}"
        with pytest.raises(DataError, match=r"models:/cats/1 cannot be loaded .*export\.register=<name>"):
            load_registered("models:/cats/1")
        with pytest.raises(DataError, match="expected models:/<name>/<version>"):
            load_registered("birds")
    finally:
        mlflow.set_tracking_uri(before)
