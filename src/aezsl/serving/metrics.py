"""What a service has done: a line per request, and counts as Prometheus reads them, of all its workers together."""

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

#: Questions about the service itself: without a line in the log while they are answered.
PROBES = ("/ping", "/health", "/healthz", "/readyz", "/version", "/metrics")

#: Statuses of answers that are counted, and upper ends in seconds of the classes of how long an answer took.
STATUSES = (200, 400, 404, 405, 413, 500, 503)
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

#: What else is counted, and what it means.
COUNTED = {
    "request_bytes": "Bytes of the bodies of requests that were read.",
    "images": "Rows that got an answer, images or stored features.",
    "none_of_these": "Rows that show none of the classes of their request.",
    "probability": "Sum of the probabilities of the best names; divided by aezsl_images_total it is their mean.",
    "expected_rows": "Rows in requests for which training knows what share of right names to expect.",
    "expected_probability": "Sum over these rows of that share, which the mean probability had on validation classes.",
    "expected_rows_probability": "Sum over these rows of the probabilities of the best names.",
}
_SECONDS = "seconds"
_NAMES: list[str | float] = [*COUNTED, _SECONDS, *STATUSES, *BUCKETS, float("inf")]
_PLACES = {name: place for place, name in enumerate(_NAMES)}


class Metrics:
    """Counts of this process, in a file of its own in the folder that all workers share, gone ones included."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        name = folder / f"{os.getpid()}-{time.time_ns()}"
        self._counts = np.memmap(name, np.float64, "w+", shape=(len(_PLACES),))
        self._lock = Lock()

    def answered(self, status: int, seconds: float, counts: Mapping[str, float]) -> None:
        """Count an answer."""
        bucket = next((end for end in BUCKETS if seconds <= end), float("inf"))
        with self._lock:
            self._counts[_PLACES[_SECONDS]] += seconds
            self._counts[_PLACES[bucket]] += 1
            if status in STATUSES:
                self._counts[_PLACES[status]] += 1
            for name, value in counts.items():
                self._counts[_PLACES[name]] += value

    def text(self, about: Mapping[str, str]) -> str:
        """All counts in Prometheus' text form; ``about``: labels of the model."""
        files = sorted(self._folder.iterdir())
        total = np.sum([np.fromfile(file, np.float64, len(_PLACES)) for file in files], axis=0)
        return "\n".join([*_lines(total, len(files)), *_info(about)]) + "\n"


def _lines(total: np.ndarray, started: int) -> Iterator[str]:
    yield from _head("aezsl_requests_total", "counter", "Answers to requests for names, by status.")
    yield from (f'aezsl_requests_total{{status="{status}"}} {total[_PLACES[status]]:.0f}' for status in STATUSES)
    yield from _head("aezsl_request_seconds", "histogram", "Seconds from the head of a request to its answer.")
    ends = (*BUCKETS, float("inf"))
    for end, count in zip(ends, np.cumsum([total[_PLACES[end]] for end in ends]), strict=True):
        yield f'aezsl_request_seconds_bucket{{le="{"+Inf" if end == float("inf") else end}"}} {count:.0f}'
    yield f"aezsl_request_seconds_sum {total[_PLACES[_SECONDS]]:.6f}"
    yield f"aezsl_request_seconds_count {count:.0f}"
    for name, meaning in COUNTED.items():
        yield from _head(f"aezsl_{name}_total", "counter", meaning)
        yield f"aezsl_{name}_total {float(total[_PLACES[name]])!r}"
    yield from _head("aezsl_workers_started_total", "counter", "Processes that were started to answer requests.")
    yield f"aezsl_workers_started_total {started}"


def _info(about: Mapping[str, str]) -> Iterator[str]:
    yield from _head("aezsl_model_info", "gauge", "The model that this worker has loaded.")
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in about.items())
    yield f"aezsl_model_info{{{labels}}} 1"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class Watched:
    """Counts every request and writes a line about it, but for probes that are answered."""

    def __init__(self, app: ASGIApp, metrics: Metrics, json_lines: bool, version: str) -> None:
        self._app, self._metrics, self._json, self._version = app, metrics, json_lines, version
        self._mute = False  # whether a line could not be written

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, told = time.perf_counter(), 500, scope.setdefault("told", {})

        async def watch(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, watch)
        finally:
            if scope["path"] not in PROBES or status != 200:
                seconds = time.perf_counter() - start
                counts = {name: value for name, value in told.items() if name != "error"}
                self._metrics.answered(status, seconds, counts)
                self._say(self._line(scope, status, seconds, told))

    def _say(self, line: str) -> None:
        """Print the line; where that fails, on a full disk or a closed pipe, it is lost, which is told once."""
        try:
            print(line, flush=True)
        except OSError as error:
            if not self._mute:
                log.warning("lines about requests cannot be written (%s): answers go on without them", error)
            self._mute = True

    def _line(self, scope: Scope, status: int, seconds: float, told: Mapping[str, Any]) -> str:
        client = (scope.get("client") or ("",))[0]
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "client": client,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "seconds": round(seconds, 4),
            **{name: round(value, 4) if isinstance(value, float) else value for name, value in told.items()},
            "model": self._version,
        }
        if self._json:
            return json.dumps(line)
        return " ".join(f"{name}={value if _is_plain(value) else json.dumps(value)}" for name, value in line.items())


def _is_plain(value: Any) -> bool:
    """Whether a value needs no quotes in a line: no blank and nothing that could end the line."""
    return not isinstance(value, str) or all(mark.isalnum() or mark in "/.:+-_" for mark in value)
