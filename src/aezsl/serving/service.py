"""A trained model behind MLflow: features or images in, names out, among classes that the request describes."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Float32
from aezsl.encoders.images.encoder import Encode
from aezsl.formats.class_table import read_class_table
from aezsl.formats.images import read_image
from aezsl.serving.model_file import load_trained
from aezsl.serving.recipe import NamedClasses
from aezsl.serving.trained import TOP, TrainedModel

#: Where the trained model lies in the folder that MLflow keeps.
MODEL_FILE = "model.npz"

#: How a row of the request may show its image.
COLUMNS = ("features", "image", "path")


def _load_pyfunc(data_path: str) -> "ServedModel":
    """What MLflow calls to load the model."""
    return ServedModel(load_trained(Path(data_path) / MODEL_FILE))


class ServedModel:
    """Answers requests. Each row of a request has one of three columns.

    features : the vector that the backbone gives, as it is.
    image : the content of an image file, in JSON as base64.
    path : an image file on the machine that serves.

    Parameters of the request: ``classes``, a table like classes.csv as one text (empty: the unseen classes of
    training; without descriptions: classes of training by name); ``top``, how many names to give; ``backbone``, what
    made the features, where training had them from a file. The answer has a row per row: predicted, score, top,
    top_scores. A method that learns from test data takes the rows of a request as its pool.
    """

    def __init__(self, trained: TrainedModel) -> None:
        self.trained = trained
        self._targets = lru_cache(maxsize=16)(self._find_targets)  # requests about the same classes follow each other
        self._encode = lru_cache(maxsize=1)(lambda backbone: trained.recipe.make_encoder(backbone).load())

    def predict(self, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Names of all rows."""
        given = {"classes": "", "top": TOP, "backbone": "", **(params or {})}
        targets = self._targets(given["classes"].strip())
        top = int(given["top"])
        if top < 1:
            raise ValueError(f"top must be at least 1, got {top}")
        answer = self.trained.classify(self._features(model_input, given["backbone"] or None), targets, top)
        return answer.rename(columns={f"top_{top}": "top", f"top_{top}_scores": "top_scores"})

    def _find_targets(self, text: str) -> NamedClasses:
        if not text:
            return self.trained.recipe.targets()
        return self.trained.recipe.targets(*read_class_table(Path("the table of classes in the request"), text))

    def _features(self, rows: pd.DataFrame, backbone: str | None) -> NDArray[np.float64]:
        shown = [column for column in COLUMNS if column in rows and rows[column].notna().all()]
        if len(shown) != 1:
            raise ValueError(f"all rows must have exactly one of the columns {', '.join(COLUMNS)}; got {list(rows)}")
        values = rows[shown[0]].tolist()
        if shown[0] == "features":
            return np.array([np.asarray(vector, dtype=np.float64) for vector in values])
        return encode_files(self._encode(backbone), values).astype(np.float64)


def encode_files(encode: Encode, files: Sequence[Any], batch_size: int = 32) -> Float32:
    """Features (n, d) of images given by path or content; few of them are in memory at a time."""
    batches = (files[i : i + batch_size] for i in range(0, len(files), batch_size))
    return np.concatenate([encode([read_image(file) for file in batch]) for batch in batches])


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
        ColSpec(Array(DataType.string), "top"),
        ColSpec(Array(DataType.double), "top_scores"),
    ]
    params = [
        ParamSpec("classes", DataType.string, ""),
        ParamSpec("top", DataType.long, TOP),
        ParamSpec("backbone", DataType.string, ""),
    ]
    return ModelSignature(Schema(inputs), Schema(outputs), ParamSchema(params))


def example(trained: TrainedModel) -> pd.DataFrame:
    """A request that the model can answer."""
    return pd.DataFrame({"features": [row.astype(float).tolist() for row in trained.recipe.example]})
