"""Trained models on disk and in MLflow's registry."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.encoders.recipe import Recipe
from aezsl.errors import DataError, ParameterError
from aezsl.evaluation.confidence import Confidence
from aezsl.formats.npz import DIGEST, check_unchanged, load_npz, save_npz
from aezsl.methods import METHODS, MethodRun, TargetClassifier, ZeroShotClassifier, make_method, method_name
from aezsl.serving import VERSION
from aezsl.serving.trained import TrainedModel

#: Where the trained model lies in the folder that MLflow keeps.
MODEL_FILE = "model.npz"


def save_trained(path: Path, trained: TrainedModel) -> None:
    """Model and recipe as one ``.npz`` file, written whole or not at all."""
    header, arrays = _model_parts(trained.model)
    recipe_header, recipe_arrays = trained.recipe.state()
    header |= {"recipe": recipe_header, "confidence": asdict(trained.confidence)}
    save_npz(path, header, {**arrays, **_prefixed("recipe", recipe_arrays)})


def load_trained(path: Path) -> TrainedModel:
    """What ``save_trained`` saved."""
    fields = ("method", "parameters", "scalars", "recipe", "confidence")
    name = path.parent.name if MethodRun.parse(path.parent.name).entry else "<method>"
    again = f"train it again by kedro run --pipeline={name}, with the same --env and --params"
    header, arrays = load_npz(path, "a trained model", VERSION, fields, again)
    with _refused(path, "a trained model"):
        recipe = Recipe.from_state(header["recipe"], _part("recipe", arrays)).found_near(path)
        confidence, version = Confidence.from_mapping(header["confidence"]), str(header.get(DIGEST, ""))[:12]
        trained = TrainedModel(_load_model(header, arrays), recipe, confidence, version)
        targets, given = recipe.described(recipe.class_vectors[:2])
        rows = recipe.features(recipe.example.astype(np.float64))
        _check_widths(trained.model, rows.shape[1], targets.shape[1])
        scores = trained.model.adapt(targets, rows, given).scores(rows)
        _check_scores(scores, (len(rows), len(targets)))
        check_unchanged(header, arrays)
    return trained


def save_fitted(path: Path, model: ZeroShotClassifier) -> None:
    """A fitted method alone, as one ``.npz`` file."""
    save_npz(path, *_model_parts(model))


def load_fitted(path: Path) -> ZeroShotClassifier:
    """What ``save_fitted`` saved."""
    header, arrays = load_npz(path, "a fitted method", VERSION, ("method", "parameters", "scalars"))
    with _refused(path, "a fitted method"):
        model = _load_model(header, arrays)
        check_unchanged(header, arrays)
    return model


def save_classifier(path: Path, classifier: TargetClassifier) -> None:
    """A fitted method after it has met its targets, as one ``.npz`` file."""
    header, arrays = _model_parts(classifier.model)
    save_npz(path, header, {**arrays, **_prefixed("classifier", classifier.state())})


def load_classifier(path: Path) -> TargetClassifier:
    """What ``save_classifier`` saved."""
    header, arrays = load_npz(path, "an adapted classifier", VERSION, ("method", "parameters", "scalars"))
    with _refused(path, "an adapted classifier"):
        model = _load_model(header, arrays)
        classifier = model.restore(_part("classifier", arrays))
        _check_widths(model, model.n_features_in_, classifier.S_target.shape[1])
        _check_scores(classifier.scores(np.ones((1, model.n_features_in_))), (1, len(classifier.S_target)))
        check_unchanged(header, arrays)
    return classifier


class ModelFolder:
    """The trained models of one benchmark, ``<method>/model.npz`` below a folder."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def trained(self) -> list[str]:
        """Methods that have a model."""
        return sorted(path.parent.name for path in self.folder.glob("*/model.npz"))

    def load(self, method: str) -> TrainedModel:
        """The model of a method; an error says how to make it."""
        path = self.folder / method / "model.npz"
        if path.is_file():
            trained, name = load_trained(path), MethodRun.parse(method).method
            if name in METHODS and method_name(trained.model) != name:
                raise DataError(
                    f"{path} is a model of {method_name(trained.model)}, not of {name}: put it where it was, or run "
                    f"kedro run --pipeline={method} again, with the same --env and --params"
                )
            return trained
        if not MethodRun.parse(method).entry and method not in self.trained():
            raise DataError(f"unknown method {method!r}; trained here are: {', '.join(self.trained()) or 'none'}")
        raise DataError(
            f"{method} has not been trained yet on {self.folder.name}: run kedro run --pipeline={method} first, with "
            f"the same --env and --params; trained are: {', '.join(self.trained()) or 'none'}"
        )


def _model_parts(model: ZeroShotClassifier) -> tuple[dict[str, Any], dict[str, Any]]:
    state = model.get_state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    scalars = {key: value for key, value in state.items() if key not in arrays}
    header = {
        "version": VERSION,
        "method": method_name(model),
        "parameters": model.get_params(),
        "scalars": scalars,
    }
    return header, _prefixed("model", arrays)


def _load_model(header: Mapping[str, Any], arrays: Mapping[str, Any]) -> ZeroShotClassifier:
    """The method that the header names, fitted with finite values and nothing else."""
    for name, value in {**header["parameters"], **header["scalars"]}.items():
        several = isinstance(value, list) and name in header["parameters"]  # whether it may be, the method checks
        if not all(map(_is_plain, value if several else [value])):
            raise DataError(f"its {name} must be a finite number or a word, got {value!r}")
    state = _part("model", arrays)
    for name, value in state.items():
        if value.dtype.kind not in "fiubU" or (value.dtype.kind == "f" and not np.isfinite(value).all()):
            raise DataError(f"its array {name} must hold finite numbers")
    model = make_method(header["method"], **header["parameters"])
    model.check_parameters()
    return model.set_state({**state, **header["scalars"]})


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, str, type(None))) or (isinstance(value, float) and isfinite(value))


def _check_widths(model: ZeroShotClassifier, n_features: int, n_semantics: int) -> None:
    found = getattr(model, "n_features_in_", None), getattr(model, "n_semantics_in_", None)
    if found != (n_features, n_semantics):
        raise DataError(f"it should take {n_features} features and {n_semantics} semantic numbers, and takes {found}")


def _check_scores(scores: Any, shape: tuple[int, int]) -> None:
    """What a model says about its own example, which no file with arrays that do not fit together survives."""
    if scores.shape != shape or not np.isfinite(scores).all():
        raise DataError("its arrays do not fit together: its own example cannot be scored")


@contextmanager
def _refused(path: Path, what: str) -> Iterator[None]:
    """Turn whatever a file with unfit contents leads to into an error that names the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about an example of two images
            yield
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise DataError(f"{path} is not {what} saved by this project ({reason}): make it again") from error


def _prefixed(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{part}.{name}": value for name, value in arrays.items()}


def _part(part: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    return {name.removeprefix(f"{part}."): value for name, value in arrays.items() if name.startswith(f"{part}.")}


#: How MLflow names a model of its registry: models:/<name>/<version>, or models:/<name>@<alias>.
SCHEME = "models:/"


def load_registered(uri: str) -> TrainedModel:
    """The trained model that a registry has under ``models:/<name>/<version>``."""
    import mlflow

    if not uri.startswith(SCHEME):
        raise DataError(f"expected {SCHEME}<name>/<version> or {SCHEME}<name>@<alias>, got {uri!r}")
    try:
        folder = Path(mlflow.artifacts.download_artifacts(uri))
        file = _exported_file(folder)
    except Exception as error:  # of the registry, the store or the file
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{uri} cannot be loaded from the model registry ({reason}): register it by kedro run --pipeline=export "
            "--params=export.register=<name>"
        ) from error
    return load_trained(file)


def load_exported(folder: Path) -> TrainedModel:
    """The trained model in a folder that ``export`` has written; none of the code beside it is run."""
    try:
        file = _exported_file(folder)
    except Exception as error:
        raise DataError(f"{folder} is not a folder that export has written: give that, or a file model.npz") from error
    return load_trained(file)


def _exported_file(folder: Path) -> Path:
    from mlflow.models import Model

    return folder / str(Model.load(str(folder / "MLmodel")).flavors["python_function"]["data"]) / MODEL_FILE


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
