"""``aezsl serve``: a trained model on a port. Its requests and answers are those of ``mlflow models serve``.

No code of the model's folder is run, strangers and requests that are too large are refused before they are read, every
request has a line in the log, and ``/metrics`` counts them.
"""

import json
import logging
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aezsl.serving.connections import NAMES, ImpatientProtocol, TooLargeError, read_bounded
from aezsl.serving.metrics import Metrics
from aezsl.serving.mlflow_server import JSON, MAX_BODY, answer_body
from aezsl.serving.requests import RequestError
from aezsl.serving.service import ServedModel, make_served

log = logging.getLogger(__name__)

#: Bytes of all bodies that are held at once; whoever comes then is asked to come again.
MAX_HELD = 2 * MAX_BODY

#: Connections at most, and seconds that answers under way get at the end.
MAX_CONNECTIONS, PATIENCE = 1_000, 30

#: Seconds in which a new worker must have loaded the model.
START_SECONDS = 300

#: Where a worker finds its settings.
SETTINGS = "AEZSL_SERVE_SETTINGS"

#: Questions about the service itself: without a line in the log while they are answered.
PROBES = ("/ping", "/health", "/healthz", "/readyz", "/version", "/metrics")


@dataclass(frozen=True)
class ServeSettings:
    """What a service is told when it starts."""

    model: str
    names: Sequence[str] = NAMES  # by which clients may call it
    json_lines: bool = False
    workers: int = 1
    counts: str = ""  # the folder of the counts of all workers


def serve(settings: ServeSettings, listening: socket.socket) -> None:
    """Serve until the command is interrupted; a worker that dies is replaced, SIGHUP replaces all, one by one."""
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    with tempfile.TemporaryDirectory(prefix="aezsl-serve-") as counts:
        os.environ[SETTINGS] = json.dumps(asdict(replace(settings, counts=counts)))
        listening.set_inheritable(True)
        config = uvicorn.Config(
            "aezsl.serving.server:make_worker",
            factory=True,
            http=ImpatientProtocol,
            workers=settings.workers,
            access_log=False,
            log_level="warning",
            server_header=False,
            limit_concurrency=MAX_CONNECTIONS,
            timeout_graceful_shutdown=PATIENCE,
            timeout_worker_healthcheck=START_SECONDS,
        )
        workers = Multiprocess(config, sockets=[listening])
        if sys.stdin is not None and sys.stdin.isatty():  # a terminal that is closed ends the service
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        workers.run()


def make_worker() -> Starlette:
    """The service in a process of its own, which the settings in the environment describe."""
    settings = ServeSettings(**json.loads(os.environ[SETTINGS]))
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    return make_app(make_served(settings.model), settings)


def make_app(served: ServedModel, settings: ServeSettings) -> Starlette:
    """The service as an ASGI application; what requests need is loaded before the first one is taken."""
    metrics = Metrics(Path(settings.counts))
    service = Service(served, metrics)

    @asynccontextmanager
    async def warm(app: Starlette) -> AsyncIterator[None]:
        await run_in_threadpool(served.warm_up)
        yield

    return Starlette(
        routes=[
            Route("/invocations", service.invocations, methods=["POST"]),
            *(Route(path, service.alive) for path in ("/ping", "/health", "/healthz")),
            Route("/readyz", service.ready),
            Route("/version", service.version),
            Route("/metrics", service.metrics),
        ],
        middleware=[
            Middleware(Watched, metrics, settings.json_lines, served.version),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(settings.names)),
        ],
        lifespan=warm,
    )


class Service:
    """What the service answers."""

    def __init__(self, served: ServedModel, metrics: Metrics) -> None:
        self._served, self._metrics = served, metrics
        self._held = 0  # bytes of bodies

    async def invocations(self, request: Request) -> Response:
        """Names."""
        told = request.scope["told"]
        said = request.headers.get("content-length", "")
        size = min(int(said), MAX_BODY) if said.isdecimal() else MAX_BODY
        if self._held + size > MAX_HELD:
            return _refusal("the service is busy with other requests: ask again in a moment", 503, told)
        self._held += size
        try:
            body = await read_bounded(request, MAX_BODY)
            told["request_bytes"] = len(body)
            text, counts = await run_in_threadpool(answer_body, self._served, body, request.headers.get("content-type"))
        except TooLargeError as error:
            return _refusal(str(error), 413, told)
        except RequestError as error:
            return _refusal(error.message, error.status, told)
        except ClientDisconnect:
            return _refusal("the request ended early", 400, told)  # nobody reads it
        finally:
            self._held -= size
        told |= counts
        return Response(text, media_type=JSON)

    async def alive(self, request: Request) -> Response:
        """Whether this process is at work; ``/ping`` is what MLflow calls it."""
        return Response("\n", media_type=JSON)

    async def ready(self, request: Request) -> Response:
        """Whether the model answers: it is asked its own example."""
        try:
            await run_in_threadpool(self._served.answer_example)
        except RequestError as error:
            return _refusal(error.message, 503, {})
        return Response("\n", media_type=JSON)

    async def version(self, request: Request) -> Response:
        """Of the model."""
        return Response(json.dumps(self._served.about), media_type=JSON)

    async def metrics(self, request: Request) -> Response:
        """All counts, as Prometheus reads them."""
        return PlainTextResponse(self._metrics.text(self._served.about), media_type="text/plain; version=0.0.4")


def _refusal(sentence: str, status: int, told: dict[str, Any]) -> Response:
    told["error"] = sentence
    headers = {"Retry-After": "1"} if status == 503 else None
    name = "INTERNAL_ERROR" if status == 500 else "BAD_REQUEST"  # as MLflow has them
    return Response(json.dumps({"error_code": name, "message": sentence}), status, headers, JSON)


class Watched:
    """Counts every request and writes a line about it, but for probes that are answered."""

    def __init__(self, app: ASGIApp, metrics: Metrics, json_lines: bool, version: str) -> None:
        self._app, self._metrics, self._json, self._version = app, metrics, json_lines, version

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
                print(self._line(scope, status, seconds, told), flush=True)

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
