"""Models in MLflow's model registry: registered by ``export``, used by ``predict`` and from Python."""

from pathlib import Path

from aezsl.errors import DataError, ParameterError
from aezsl.serving.model_file import load_trained
from aezsl.serving.trained import TrainedModel

#: How MLflow names a model of its registry: models:/<name>/<version>, or models:/<name>@<alias>.
SCHEME = "models:/"


def load_registered(uri: str) -> TrainedModel:
    """The trained model that a registry has under ``models:/<name>/<version>``."""
    import mlflow
    from mlflow.models import Model

    from aezsl.serving.service import MODEL_FILE

    if not uri.startswith(SCHEME):
        raise DataError(f"expected {SCHEME}<name>/<version> or {SCHEME}<name>@<alias>, got {uri!r}")
    try:
        folder = Path(mlflow.artifacts.download_artifacts(uri))
        flavour = Model.load(str(folder / "MLmodel")).flavors["python_function"]
    except Exception as error:  # of the registry, the store or the file
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{uri} cannot be loaded from the model registry ({reason}): register it by kedro run --pipeline=export "
            "--params=export.register=<name>"
        ) from error
    return load_trained(folder / flavour["data"] / MODEL_FILE)


def check_name(name: str) -> None:
    """Refuse a name that the registry would, before anything is written."""
    if not name.strip() or {"/", ":"} & set(name):
        raise ParameterError(f"export.register must be a name without / and :, such as birds, got {name!r}")


def register(folder: Path, name: str) -> str:
    """A copy of an MLflow model under ``name`` in the registry, in the run that is going on; its URI."""
    import mlflow
    from mlflow.exceptions import MlflowException
    from mlflow.models import Model

    with mlflow.start_run(nested=mlflow.active_run() is not None):
        run = mlflow.active_run()
        assert run is not None  # just started
        mlflow.log_artifacts(str(folder), "registered_model")
        source = mlflow.get_artifact_uri("registered_model")
        Model.load(str(folder / "MLmodel"))  # what is registered can be loaded
        client = mlflow.MlflowClient()
        try:
            client.create_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        version = client.create_model_version(name, source, run.info.run_id)
    return f"{SCHEME}{name}/{version.version}"
