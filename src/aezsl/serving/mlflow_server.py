"""MLflow's server in front of a model of this project: requests are read here, and refused in one sentence.

Left to itself MLflow drops parameters that it does not know with a line in its log, refuses lists of classes, quotes
the whole request in front of what it found wrong with it, sends the client its traceback where it cannot parse
something, and parses every request twice. Other models in the same process are asked as ever.
"""

import base64
import json
import logging
from collections.abc import Callable
from functools import wraps
from io import StringIO
from typing import Any

import pandas as pd
from mlflow.exceptions import MlflowException

from aezsl.serving.requests import COLUMNS, MAX_ROWS, RequestError, check_columns, read_params, refuse_unknown

log = logging.getLogger(__name__)

#: Bytes of one request at most, all its images together.
MAX_BODY = 256 * 1024 * 1024

JSON = "application/json"

#: How a request in JSON may hold its rows, the plainest way first.
ROWS = ("dataframe_records", "dataframe_split", "inputs", "instances")


def read_requests_first(loader: str) -> None:
    """From now on requests to models that the module ``loader`` loads are read here before MLflow sees them."""
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
        check_columns(data)
        try:
            return ask(self, data, given)
        except RequestError:
            raise
        except MlflowException as error:
            raise RequestError(_rows_wanted(error)) from error

    predict.of_aezsl = True  # type: ignore[attr-defined]
    return predict


def _answering(answer: Callable[..., Any], ours: Callable[[Any], bool]) -> Callable[..., Any]:
    @wraps(answer)
    def invocations(data: bytes, content_type: str | None, model: Any, input_schema: Any) -> Any:
        if not ours(model):
            return answer(data, content_type, model, input_schema)
        return respond(model._model_impl, data, content_type)

    return invocations


def respond(served: Any, body: bytes, content_type: str | None) -> Any:
    """What MLflow's server sends back: the answer of a ``service.ServedModel`` to the body of a request."""
    from mlflow.pyfunc.scoring_server import InvocationsResponse, predictions_to_json

    text = StringIO()
    try:
        rows, params = read_body(body, content_type)
        predictions_to_json(served.predict(rows, params), text)  # type: ignore[no-untyped-call]
    except RequestError:
        raise
    except Exception as error:
        log.exception("a request failed")
        raise RequestError(f"the request cannot be answered ({type(error).__name__}); see the service's log") from error
    return InvocationsResponse(response=text.getvalue(), status=200, mimetype="application/json")


def read_body(body: bytes, content_type: str | None) -> tuple[pd.DataFrame, Any]:
    """The rows and the parameters of a request."""
    if len(body) > MAX_BODY:
        raise RequestError(f"a request may have {MAX_BODY} bytes, got {len(body)}: ask in several requests")
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != JSON:  # CSV has no vectors, and a few kilobytes of Parquet may hold gigabytes
        raise RequestError(f"the content type must be {JSON}, got {kind or 'none'}")
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"the request is not valid JSON ({error})") from error
    if not isinstance(asked, dict):
        raise RequestError(f"a request must be an object with {ROWS[0]}, got {type(asked).__name__}")
    refuse_unknown("entry", asked, (*ROWS, "params"))
    return _read_rows({key: asked[key] for key in ROWS if key in asked}), asked.get("params")


def _read_rows(given: dict[str, Any]) -> pd.DataFrame:
    if len(given) != 1:
        raise RequestError(f"a request must have exactly one of {', '.join(ROWS)}, got {', '.join(given) or 'none'}")
    ((key, values),) = given.items()
    split = values if key == "dataframe_split" and isinstance(values, dict) else {"data": values}
    listed = split.get("data")
    if isinstance(listed, list) and len(listed) > MAX_ROWS:
        raise RequestError(f"a request may have {MAX_ROWS} rows, got {len(listed)}: ask in several requests")
    try:
        rows = pd.DataFrame(listed, columns=split.get("columns"))
    except Exception as error:  # rows that are none fail in many ways
        raise RequestError(_rows_wanted(error)) from error
    if "image" in rows:
        rows["image"] = pd.Series([_decoded(*item) for item in enumerate(rows["image"])], dtype=object)
    return rows


def _decoded(number: int, value: Any) -> Any:
    """The content of an image from base64; what is not text is left for those who say which row is wrong."""
    try:
        return base64.b64decode(value) if isinstance(value, str) else value
    except ValueError as error:
        raise RequestError(f"row {number}: image must be the content of an image file, in JSON as base64") from error


def _rows_wanted(error: Exception) -> str:
    """What rows must be, and the end of what MLflow says is wrong with these, on one line."""
    reason = " ".join(str(error).rpartition("Error: ")[2].split()).strip("' ")
    shown = reason if len(reason) <= 200 else f"{reason[:200]} ..."
    return f"all rows must have one of the columns {', '.join(COLUMNS)}: {shown}"
