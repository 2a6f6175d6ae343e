"""``aezsl serve``: a trained model on a port. Its requests and answers are those of ``mlflow models serve``.

No code of the model's folder is run, strangers and requests that are too large are refused before they are read, every
request has a line in the log, and ``/metrics`` counts them. The page listens by the same rules.
"""

import json
import logging
import os
import signal
import socket
import sys
import tempfile
from asyncio import TimerHandle, Transport
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import h11
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.supervisors import Multiprocess

from aezsl.errors import DataError
from aezsl.serving.metrics import Metrics, Watched
from aezsl.serving.requests import JSON, MAX_BODY, RequestError
from aezsl.serving.service import ServedModel, answer_body, make_served

log = logging.getLogger(__name__)

#: The only address that is listened on unless the owner names another one, and names by which browsers may call it.
HOST = "127.0.0.1"
NAMES = (HOST, "localhost")

#: Seconds from the first byte of a request to its last.
REQUEST_SECONDS = 60.0

#: Bytes of all bodies that are held at once; whoever comes then is asked to come again.
MAX_HELD = 2 * MAX_BODY

#: Connections at most, and seconds that answers under way get at the end.
MAX_CONNECTIONS, PATIENCE = 1_000, 30

#: Seconds after which a worker that gives no sign is replaced, and in which the successor of one must have its model.
SIGN_SECONDS = 30

#: Where a worker finds its settings.
SETTINGS = "AEZSL_SERVE_SETTINGS"


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
            timeout_worker_healthcheck=SIGN_SECONDS,
        )
        workers = Workers(config, sockets=[listening])
        if sys.stdin is not None and sys.stdin.isatty():  # a terminal that is closed ends the service
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        workers.run()


class Workers(Multiprocess):
    """Learns at once that a worker has died, also while it waits for a sign of it."""

    def keep_subprocess_alive(self) -> None:
        """Replace workers that are gone, each asked by a pipe that ends with it: nobody else holds the other end."""
        for process in self.processes:
            process.child_conn.close()
        super().keep_subprocess_alive()


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


class TooLargeError(DataError):
    """A request has more bytes than may be sent at once."""


class ImpatientProtocol(H11Protocol):
    """Closes a connection whose request is not whole in time; uvicorn alone would wait for ever."""

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begin to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting, unless this was the rest."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._stop()

    def _wait(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def reserve(port: int, host: str = HOST) -> socket.socket:
    """A socket at a port of this machine; a port that is taken is refused, with one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    place = socket.socket(family)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a page closed a moment ago does not keep it
    try:
        place.bind((host, port))
        place.listen()  # whoever comes while the model is being loaded waits
        return place
    except OSError as error:
        place.close()
        with socket.socket() as free:
            free.bind((HOST, 0))
            other = free.getsockname()[1]
        where = f"port {port}" if host == HOST else f"port {port} of {host}"
        raise DataError(f"{where} cannot be used ({error.strerror}): try --port={other}, which is free") from error


async def read_bounded(request: Request, most: int) -> bytes:
    """The body; refused before anything of it is read where it says its size, else as soon as it is too large."""
    said = request.headers.get("content-length", "")
    body = bytearray()
    if not said.isdecimal() or int(said) <= most:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                break
        else:
            return bytes(body)
    raise TooLargeError(
        f"at most {most // 2**20 or 1} MB can be sent at once: make it smaller, or ask in several parts"
    )
