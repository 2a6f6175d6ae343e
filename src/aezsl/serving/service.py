"""A trained model behind MLflow: features or images in, names out, among classes that the request describes."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from numpy.typing import NDArray
from PIL import Image

from aezsl import __version__
from aezsl.encoders.named_classes import NamedClasses
from aezsl.encoders.texts.sentences import text_vectors
from aezsl.errors import AezslError, DataError
from aezsl.formats.images import UnreadableImageError, read_image
from aezsl.methods import TargetClassifier, method_name
from aezsl.serving.model_file import MODEL_FILE, load_trained
from aezsl.serving.requests import (
    DEFAULTS,
    JSON,
    ROWS,
    RequestError,
    Rows,
    columns_of,
    failed,
    image_content,
    read_body,
    read_classes,
    read_features,
    read_params,
    rows_wanted,
    shown_by,
)
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)


def _load_pyfunc(data_path: str) -> "ServedModel":
    """What MLflow calls to load the model."""
    read_requests_first(__name__)
    served = ServedModel(load_trained(Path(data_path) / MODEL_FILE))
    served.warm_up()
    return served


def make_served(place: str) -> "ServedModel":
    """What ``aezsl serve`` serves: a file, an exported folder, a registered model, a method, or the photo model."""
    from aezsl.serving.zero_shot import find_model

    return ServedModel(find_model(place))


@dataclass(frozen=True)
class Reply:
    """The answer to a request by column, what share of right names to expect, and what is counted of it."""

    columns: dict[str, list[Any]]
    expected: str
    counts: dict[str, float]


class ServedModel:
    """Answers requests. Each row of a request has one of three columns.

    features : the vector that the backbone gives, as it is.
    image : the content of an image file, in JSON as base64.
    path : an image file below the folder that the owner of the service named as AEZSL_IMAGE_FOLDER, if any.

    Parameters of the request: ``classes``, a table like classes.csv as one text, a list of names, or a list of objects
    with class_name and description (empty: the unseen classes of training; see ``aezsl.serving.classes``); ``top``, how
    many names to give; ``backbone``, what made the features, where training had them from a file; ``multi``, whether
    several classes may be true of an image, so that each has a probability of its own (``aezsl.evaluation.yes_no``).
    The answer has a row per row: predicted, score (the method's own), probability (``aezsl.evaluation.confidence``),
    none_of_these (whether nothing is probable enough for a name), group and group_probability (where the best class is
    too improbable and its group is not; ``aezsl.evaluation.groups``), labels (what is said: nothing, the best class,
    the group, or with multi all classes that are probable enough), top, top_scores, top_probabilities. A method that
    learns from test data takes the rows of a request as its pool. A request with anything wrong in it is refused whole,
    in one sentence (``RequestError``).
    """

    def __init__(self, trained: TrainedModel) -> None:
        self.trained = trained
        self._adapted = lru_cache(maxsize=16)(self._adapt)  # requests about the same classes follow each other
        self._encode = lru_cache(maxsize=1)(
            lambda backbone: trained.recipe.make_encoder(backbone).load(side_by_side=True)
        )

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Names of all rows of a table."""
        return pd.DataFrame(self.answer(columns_of(model_input), params))

    def answer(self, rows: Rows, params: dict[str, Any] | None = None) -> dict[str, list[Any]]:
        """Names of all rows, both by column."""
        return self.reply(rows, params).columns

    def reply(self, rows: Rows, params: dict[str, Any] | None = None) -> Reply:
        """As ``answer``, with what else is told."""
        try:
            given = read_params(params)
            targets, adapted = self._adapted(given["classes"])
            features = self._features(rows, given["backbone"] or None)
            if given["multi"]:
                answers = self.trained.answer_each(features, targets, given["top"], adapted)
            else:
                answers = self.trained.answer(features, targets, given["top"], adapted)
        except RequestError:
            raise
        except AezslError as error:  # what the project refuses is for the client to read
            raise RequestError(str(error)) from error
        except Exception as error:
            log.exception("a request failed")
            raise failed(error) from error
        columns = answers.reply()
        n, expectation = len(targets.names), self.trained.confidence.expectation
        known = expectation is not None and n > 1 and not targets.seen.any() and not given["multi"]
        counts = {
            "images": len(features),
            "none_of_these": sum(columns["none_of_these"]),
            "probability": float(sum(columns["probability"])),
        }
        if expectation is not None and known:
            share = expectation.among_classes(n).accuracy
            counts |= {"expected_rows": len(features), "expected_probability": share * len(features)}
            counts["expected_rows_probability"] = counts["probability"]
        return Reply(columns, self.trained.expected(n) if known else "", counts)

    @property
    def version(self) -> str:
        """A digest of the model's content."""
        return self.trained.version

    @property
    def about(self) -> dict[str, str]:
        """Which model it is."""
        return {"method": method_name(self.trained.model), "version": self.version, "aezsl": __version__}

    def answer_example(self) -> None:
        """Answer a request that the model can answer."""
        rows = example(self.trained).to_dict(orient="records")
        unseen = (self.trained.recipe.classes["role"] == "unseen").any()
        params = {} if unseen else {"classes": ["a", "b"]}
        answer_body(self, json.dumps({ROWS[0]: rows, "params": params}).encode(), JSON)

    def warm_up(self) -> None:
        """Load what requests need, so that the first one is as fast as the others."""
        try:
            self.answer_example()
            for source in self.trained.recipe.sources:
                if source["kind"] == "text":
                    settings = {key: value for key, value in source.items() if key != "kind"}
                    text_vectors(pd.DataFrame({"class_name": ["a"], "text": ["a"]}), **settings)
            if all(part["backbone"] != "file" for part in self.trained.recipe.backbone["parts"]):
                self._encode(None)([Image.new("RGB", (64, 64))])
        except Exception as error:  # requests that need none of it can still be answered
            log.warning("not everything that requests may need can be loaded: %s", error)

    def _adapt(self, text: str) -> tuple[NamedClasses, TargetClassifier | None]:
        targets = self.trained.recipe.targets(*read_classes(text))
        return targets, self.trained.adapt(targets)

    def _features(self, rows: Rows, backbone: str | None) -> NDArray[np.float64]:
        column = shown_by(rows)
        values = rows[column]
        if column == "features":
            self.trained.recipe.check_backbone(backbone)  # a name that nothing asks for would pass unseen
            return read_features(values, self.trained.recipe.example.shape[1])
        contents = [image_content(number, value, column) for number, value in enumerate(values)]
        try:
            return self._encode(backbone)(contents).astype(np.float64)
        except UnreadableImageError:
            _refuse_unreadable(contents)
            raise


def _refuse_unreadable(contents: Sequence[bytes]) -> None:
    """Say which row it is."""
    for number, content in enumerate(contents):
        try:
            read_image(content)
        except DataError as error:
            raise RequestError(f"row {number}: {error}") from error


def make_signature() -> Any:
    """What the model takes and gives, for MLflow."""
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import Array

    inputs: list[Any] = [
        ColSpec(Array(DataType.double), "features", required=False),
        ColSpec(DataType.binary, "image", required=False),
        ColSpec(DataType.string, "path", required=False),
    ]
    outputs: list[Any] = [
        ColSpec(DataType.string, "predicted"),
        ColSpec(DataType.double, "score"),
        ColSpec(DataType.double, "probability"),
        ColSpec(DataType.boolean, "none_of_these"),
        ColSpec(DataType.string, "group"),
        ColSpec(DataType.double, "group_probability"),
        ColSpec(Array(DataType.string), "labels"),
        ColSpec(Array(DataType.string), "top"),
        ColSpec(Array(DataType.double), "top_scores"),
        ColSpec(Array(DataType.double), "top_probabilities"),
    ]
    types = {str: DataType.string, int: DataType.long, bool: DataType.boolean}
    params = [ParamSpec(name, types[type(default)], default) for name, default in DEFAULTS.items()]
    return ModelSignature(Schema(inputs), Schema(outputs), ParamSchema(params))


def example(trained: TrainedModel) -> pd.DataFrame:
    """A request that the model can answer."""
    return pd.DataFrame({"features": [row.astype(float).tolist() for row in trained.recipe.example]})


def read_requests_first(loader: str) -> None:
    """From now on requests to models that the module ``loader`` loads are read here before MLflow sees them.

    Left to itself MLflow drops parameters that it does not know, refuses lists of classes, quotes the whole request
    before what it found wrong, sends its traceback where it cannot parse something, and parses every request twice.
    """
    from mlflow.pyfunc import PyFuncModel, scoring_server

    def ours(model: Any) -> bool:
        return bool(model.metadata.flavors["python_function"]["loader_module"] == loader)

    if not getattr(PyFuncModel.predict, "of_aezsl", False):
        PyFuncModel.predict = _predicting(PyFuncModel.predict, ours)  # type: ignore[method-assign]
        scoring_server.invocations = _answering(scoring_server.invocations, ours)


def _predicting(ask: Callable[..., Any], ours: Callable[[Any], bool]) -> Callable[..., Any]:
    @wraps(ask)
    def predict(self: Any, data: Any, params: Any = None) -> Any:
        if not ours(self):
            return ask(self, data, params)
        given = read_params(params)
        columns_of(data)  # which refuses those that MLflow would drop
        try:
            return ask(self, data, given)
        except RequestError:
            raise
        except MlflowException as error:
            # The end of what MLflow says is wrong, on one line.
            reason = " ".join(str(error).rpartition("Error: ")[2].split()).strip("' ")
            raise RequestError(rows_wanted(reason if len(reason) <= 200 else f"{reason[:200]} ...")) from error

    predict.of_aezsl = True  # type: ignore[attr-defined]
    return predict


def _answering(answer: Callable[..., Any], ours: Callable[[Any], bool]) -> Callable[..., Any]:
    @wraps(answer)
    def invocations(data: bytes, content_type: str | None, model: Any, input_schema: Any) -> Any:
        if not ours(model):
            return answer(data, content_type, model, input_schema)
        return respond(model._model_impl, data, content_type)

    return invocations


def respond(served: ServedModel, body: bytes, content_type: str | None) -> Any:
    """What MLflow's server sends back: the answer of a ``service.ServedModel`` to the body of a request."""
    from mlflow.pyfunc.scoring_server import InvocationsResponse

    return InvocationsResponse(response=answer_body(served, body, content_type)[0], status=200, mimetype=JSON)


def answer_body(served: ServedModel, body: bytes, content_type: str | None) -> tuple[str, dict[str, float]]:
    """The answer to the body of a request, as JSON, and what is counted of it."""
    try:
        rows, params = read_body(body, content_type)
        reply = served.reply(rows, params)
        lines = [dict(zip(reply.columns, line, strict=True)) for line in zip(*reply.columns.values(), strict=True)]
        return json.dumps({"predictions": lines, "metadata": served.about | {"expected": reply.expected}}), reply.counts
    except RequestError:
        raise
    except Exception as error:
        log.exception("a request failed")
        raise failed(error) from error
