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
from typing import Any

from mlflow.exceptions import MlflowException

from aezsl.serving.requests import (
    COLUMNS,
    MAX_ROWS,
    RequestError,
    Rows,
    columns_of,
    failed,
    read_params,
    refuse_unknown,
)

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
        columns_of(data)  # which refuses those that MLflow would drop
        try:
            return ask(self, data, given)
        except RequestError:
            raise
        except MlflowException as error:
            # The end of what MLflow says is wrong, on one line.
            reason = " ".join(str(error).rpartition("Error: ")[2].split()).strip("' ")
            raise RequestError(_rows_wanted(reason if len(reason) <= 200 else f"{reason[:200]} ...")) from error

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
    from mlflow.pyfunc.scoring_server import InvocationsResponse

    return InvocationsResponse(response=answer_body(served, body, content_type)[0], status=200, mimetype=JSON)


def answer_body(served: Any, body: bytes, content_type: str | None) -> tuple[str, dict[str, float]]:
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
            raise RequestError(_rows_wanted("every column must be a list"))
        if len({len(values) for values in listed.values()}) > 1:
            raise RequestError(_rows_wanted("the columns must be of one length"))
        return dict(listed)
    if not isinstance(listed, list):
        raise RequestError(_rows_wanted(f"the rows must be a list, got {type(listed).__name__}"))
    if names is None:
        if not all(isinstance(row, dict) for row in listed):
            raise RequestError(_rows_wanted("every row must be an object"))
        found = dict.fromkeys(name for row in listed for name in row)
        return {name: [row.get(name) for row in listed] for name in found}
    fits = isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)
    if not fits or not all(isinstance(row, list) and len(row) == len(names) for row in listed):
        raise RequestError(_rows_wanted("every row must be a list with a value for each of the columns"))
    return {name: [row[place] for row in listed] for place, name in enumerate(names)}


def _decoded(number: int, value: Any) -> Any:
    """The content of an image from base64; what is not text is left for those who say which row is wrong."""
    try:
        return base64.b64decode(value) if isinstance(value, str) else value
    except ValueError as error:
        raise RequestError(f"row {number}: image must be the content of an image file, in JSON as base64") from error


def _rows_wanted(reason: str) -> str:
    return f"all rows must have one of the columns {', '.join(COLUMNS)}: {reason}"
