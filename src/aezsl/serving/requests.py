"""What a request to the service may hold: parameters, classes, rows. Anything else is refused in one sentence."""

import base64
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import BAD_REQUEST, INTERNAL_ERROR
from numpy.typing import NDArray

from aezsl.errors import DataError
from aezsl.machine.files import read_below
from aezsl.serving.classes import class_table, parsed

#: The folder below which a request may name image files; without it, images come as content.
IMAGE_FOLDER = "AEZSL_IMAGE_FOLDER"

#: What one request may hold at most.
MAX_BODY = 256 * 1024 * 1024  # bytes, all images together
MAX_ROWS = 1_000
MAX_CLASSES = 2_000
MAX_COLUMNS = 5_000
MAX_TABLE = 1_000_000  # characters of the whole table of classes
MAX_DESCRIPTION = 5_000  # characters of one description
MAX_IMAGE = 32 * 1024 * 1024  # bytes of one image

#: Parameters of a request, with what they are when it does not give them.
DEFAULTS: dict[str, Any] = {"classes": "", "top": 5, "backbone": "", "multi": False}

#: How a row of the request may show its image.
COLUMNS = ("features", "image", "path")

#: How a request in JSON may hold its rows, the plainest way first.
ROWS = ("dataframe_records", "dataframe_split", "inputs", "instances")
JSON = "application/json"

#: The rows of a request by column. A table of pandas would cost more time than to read and answer a row.
Rows = Mapping[str, Sequence[Any]]


class RequestError(DataError, MlflowException):
    """A request that is refused: one sentence, as the client reads it.

    MLflow would put the whole request before the message; this one keeps its sentence.
    """

    def __init__(self, sentence: str, error_code: int = BAD_REQUEST) -> None:
        self._sentence = sentence
        MlflowException.__init__(self, sentence, error_code=error_code)

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self.get_http_status_code())  # type: ignore[no-untyped-call]

    @property
    def message(self) -> str:
        """The sentence."""
        return self._sentence

    @message.setter
    def message(self, value: str) -> None:
        """What MLflow adds is left out."""


def failed(error: Exception) -> RequestError:
    """What a client is told of an error that is not the request's: the log has the rest."""
    return RequestError(
        f"the request cannot be answered ({type(error).__name__}); see the service's log", INTERNAL_ERROR
    )


def read_params(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters of a request, checked and completed; ``classes`` becomes a text."""
    if params is not None and not isinstance(params, Mapping):
        raise RequestError(f"params must be an object of {', '.join(DEFAULTS)}, got {type(params).__name__}")
    refuse_unknown("parameter", params or {}, DEFAULTS)
    given = {**DEFAULTS, **{key: value for key, value in (params or {}).items() if value is not None}}
    top = given["top"]
    if isinstance(top, bool) or not isinstance(top, (int, np.integer)) or not 1 <= top <= MAX_CLASSES:
        raise RequestError(f"top must be a whole number from 1 to {MAX_CLASSES}, got {top!r}")
    if not isinstance(given["backbone"], str):
        raise RequestError(f"backbone must be a name, got {given['backbone']!r}")
    if not isinstance(given["multi"], bool | np.bool_):
        raise RequestError(f"multi must be true or false, got {given['multi']!r}")
    return {**given, "top": int(top), "multi": bool(given["multi"]), "classes": class_text(given["classes"])}


def columns_of(rows: Any) -> Rows:
    """A table of pandas by column; an unknown column is refused, with the nearest name."""
    if not isinstance(rows, pd.DataFrame):
        return {}
    refuse_unknown("column", rows.columns, COLUMNS)
    if not rows.columns.is_unique:
        raise RequestError(f"a request may have every column once, got {', '.join(rows.columns)}")
    return {name: rows[name].tolist() for name in rows.columns}


def refuse_unknown(what: str, names: Iterable[Any], known: Collection[str]) -> None:
    """Refuse a name that is not a known one, with the nearest of them."""
    for name in names:
        if name not in known:
            close = get_close_matches(str(name), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"expected {', '.join(known)}"
            raise RequestError(f"unknown {what} {name!r} of the request: {hint}")


def class_text(classes: Any) -> str:
    """What a request says of classes as one text, by which what was made of them is found again: JSON unless a text."""
    if isinstance(classes, np.ndarray):
        classes = classes.tolist()
    if not isinstance(classes, str | list | dict):
        raise RequestError(f"classes must be a table as text, or a list, got {type(classes).__name__}")
    try:
        text = classes.strip() if isinstance(classes, str) else json.dumps(classes) if classes else ""
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestError(f"classes must be names, or objects of texts and numbers ({error})") from error
    if len(text) > MAX_TABLE:
        raise RequestError(f"classes may have {MAX_TABLE} characters, got {len(text)}: ask in several requests")
    return text


def read_classes(text: str) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
    """The table of the classes of a request, which may have so many, and as long descriptions, and no more."""
    given = parsed(text)
    if isinstance(given, str):
        header = given.partition("\n")[0]
        n_columns = 1 + max(header.count(mark) for mark in ",;\t")
    else:
        _check_count(len(given))
        n_columns = len(given[0]) if isinstance(given, list) and given and isinstance(given[0], dict) else 1
    if n_columns > MAX_COLUMNS:
        raise RequestError(f"a table of classes may have {MAX_COLUMNS} columns, got {n_columns}")
    classes, attribute_names = class_table(given)
    if classes is not None:
        _check_count(len(classes))
        if "text" in classes and (longest := int(classes["text"].str.len().max())) > MAX_DESCRIPTION:
            raise RequestError(f"a description may have {MAX_DESCRIPTION} characters, got {longest}: shorten it")
    return classes, attribute_names


def _check_count(n_classes: int) -> None:
    if n_classes > MAX_CLASSES:
        raise RequestError(f"a request may have {MAX_CLASSES} classes, got {n_classes}: ask in several requests")


def shown_by(rows: Rows) -> str:
    """The one column by which all rows of a request show their images."""
    refuse_unknown("column", rows, COLUMNS)
    n_rows = max(map(len, rows.values()), default=0)
    if not n_rows:
        raise RequestError(f"a request needs rows with one of the columns {', '.join(COLUMNS)}, got none")
    if n_rows > MAX_ROWS:
        raise RequestError(f"a request may have {MAX_ROWS} rows, got {n_rows}: ask in several requests")
    # A row that has another one too would be asked about something that is not looked at.
    there = {column: [not _is_missing(value) for value in values] for column, values in rows.items()}
    shown = [column for column in COLUMNS if any(there.get(column, ()))]
    if len(shown) != 1 or not all(there[shown[0]]):
        raise RequestError(
            f"all rows must have exactly one of the columns {', '.join(COLUMNS)}, the same for all; got "
            f"{' and '.join(shown) or 'none'}{' in some rows' if shown else ''}: ask in several requests"
        )
    return shown[0]


def _is_missing(value: Any) -> bool:
    """None, or the NaN that pandas writes for it."""
    return value is None or (isinstance(value, float) and value != value)


def read_features(values: Sequence[Any], width: int) -> NDArray[np.float64]:
    """Rows of features, each of exactly ``width`` finite numbers."""
    vectors = []
    for number, value in enumerate(values):
        listed = isinstance(value, list | tuple | np.ndarray) and bool not in set(map(type, value))
        numbers = np.asarray(value) if listed else np.empty(0)
        vector = numbers.astype(np.float64) if numbers.dtype.kind in "fiu" else np.empty(0)  # no texts, no true
        if vector.shape != (width,) or not np.isfinite(vector).all():
            got = f"shape {vector.shape}" if vector.size else repr(value)[:60]
            raise RequestError(f"row {number}: features must be {width} finite numbers, got {got}")
        vectors.append(vector)
    return np.array(vectors)


def image_content(number: int, value: Any, column: str) -> bytes:
    """The bytes of the image of a row: given, or of a file below the folder that the owner of the service named."""
    if column == "image":
        if not isinstance(value, bytes):
            raise RequestError(f"row {number}: image must be the content of an image file, in JSON as base64")
        content = value
    else:
        content = _read_named(number, value)
    if len(content) > MAX_IMAGE:
        raise RequestError(f"row {number}: an image may have {MAX_IMAGE} bytes, got {len(content)}: make it smaller")
    return content


def _read_named(number: int, value: Any) -> bytes:
    folder = os.environ.get(IMAGE_FOLDER)
    if not folder:
        raise RequestError(
            f"row {number}: this service reads no files; send the content of the image as image. Its owner may name a "
            f"folder of images as {IMAGE_FOLDER}"
        )
    if not isinstance(value, str):
        raise RequestError(f"row {number}: path must be the name of an image file")
    try:
        root = Path(folder).absolute()
        return read_below(root, value.removeprefix(f"{root}/"), MAX_IMAGE)
    except (OSError, ValueError) as error:
        # What is there, and where it lies, is not for the client.
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise RequestError(
            f"row {number}: path must name an image file below the folder that {IMAGE_FOLDER} names, without links; "
            f"got {value[:200]!r} ({reason})"
        ) from error


def read_body(body: bytes, content_type: str | None) -> tuple[Rows, Any]:
    """The rows and the parameters of a request."""
    if len(body) > MAX_BODY:
        raise RequestError(f"a request may have {MAX_BODY} bytes, got {len(body)}: ask in several requests")
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != JSON:  # CSV has no vectors, and a few kilobytes of Parquet may hold gigabytes
        raise RequestError(f"the content type must be {JSON}, got {kind or 'none'}")
    try:
        asked = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the request is not valid JSON ({error})") from error
    if not isinstance(asked, dict):
        raise RequestError(f"a request must be an object with {ROWS[0]}, got {type(asked).__name__}")
    refuse_unknown("entry", asked, (*ROWS, "params"))
    return _read_rows({key: asked[key] for key in ROWS if key in asked}), asked.get("params")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number in JSON")


def _read_rows(given: dict[str, Any]) -> Rows:
    if len(given) != 1:
        raise RequestError(f"a request must have exactly one of {', '.join(ROWS)}, got {', '.join(given) or 'none'}")
    ((key, values),) = given.items()
    split = values if key == "dataframe_split" and isinstance(values, dict) else {"data": values}
    refuse_unknown("entry of dataframe_split", split, ("columns", "index", "data"))
    listed = split.get("data")
    if isinstance(listed, list) and len(listed) > MAX_ROWS:
        raise RequestError(f"a request may have {MAX_ROWS} rows, got {len(listed)}: ask in several requests")
    rows = _by_column(listed, split.get("columns"))
    if "image" in rows:
        rows["image"] = [_decoded(*item) for item in enumerate(rows["image"])]
    return rows


def _by_column(listed: Any, names: Any) -> dict[str, list[Any]]:
    """Rows as objects, as lists whose columns have names, or as one list per column."""
    if isinstance(listed, dict) and names is None:
        if not all(isinstance(values, list) for values in listed.values()):
            raise RequestError(rows_wanted("every column must be a list"))
        if len({len(values) for values in listed.values()}) > 1:
            raise RequestError(rows_wanted("the columns must be of one length"))
        return dict(listed)
    if not isinstance(listed, list):
        raise RequestError(rows_wanted(f"the rows must be a list, got {type(listed).__name__}"))
    if names is None:
        if not all(isinstance(row, dict) for row in listed):
            raise RequestError(rows_wanted("every row must be an object"))
        found = dict.fromkeys(name for row in listed for name in row)
        return {name: [row.get(name) for row in listed] for name in found}
    fits = isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if not fits or not all(isinstance(row, list) and len(row) == len(names) for row in listed):
        raise RequestError(rows_wanted("every row must be a list with a value for each of the columns"))
    return {name: [row[place] for row in listed] for place, name in enumerate(names)}


def _decoded(number: int, value: Any) -> Any:
    """The content of an image from base64; what is not text is left for those who say which row is wrong."""
    try:
        return base64.b64decode(value) if isinstance(value, str) else value
    except ValueError as error:
        raise RequestError(f"row {number}: image must be the content of an image file, in JSON as base64") from error


def rows_wanted(reason: str) -> str:
    """What is wrong with the rows as a whole."""
    return f"all rows must have one of the columns {', '.join(COLUMNS)}: {reason}"
