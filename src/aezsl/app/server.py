"""The page's web server: files of the page, questions in JSON, photos as they are. It listens on this machine alone."""

import json
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from aezsl.app.handlers import Handlers
from aezsl.app.library import Library, Place
from aezsl.app.visitors import UnknownPhotoError, UnknownVisitorError, Visitor, Visitors
from aezsl.errors import AezslError, DataError
from aezsl.machine.files import KEPT, storage_error
from aezsl.serving.requests import MAX_IMAGE, MAX_TABLE
from aezsl.serving.server import NAMES, ImpatientProtocol, read_bounded

log = logging.getLogger(__name__)

PAGE = Path(__file__).parent / "page"

#: The header with the visitor's key.
VISITOR = "X-Visitor"

#: What to do when the disk is in order again.
AGAIN = "then do the same on the page again: what was sent and taught before is kept"

#: Seconds that answers under way get when the page is closed.
PATIENCE = 5

#: Nothing may be loaded from elsewhere, and no other page may frame this one.
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def make_app(library: Library) -> Starlette:
    """The page of a project's models, as an ASGI application."""
    handlers = Handlers(library)
    server = Server(handlers)

    @asynccontextmanager
    async def open_and_close(app: Starlette) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(handlers.close)

    files = [path.name for path in sorted(PAGE.iterdir())]
    return Starlette(
        routes=[
            Route("/", _file("index.html")),
            *(Route(f"/{name}", _file(name)) for name in files),
            Route("/api/models", server.greet, methods=["POST"]),
            Route("/api/photo", server.photo, methods=["POST"]),
            Route("/api/preview", server.preview, methods=["POST"]),
            Route("/api/lesson", server.lesson, methods=["POST"]),
            Route("/api/{question}", server.question, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(NAMES))],
        lifespan=open_and_close,
    )


def serve(place: Place, listening: socket.socket) -> None:
    """Serve the page until the command is interrupted; the model to begin with is loaded meanwhile."""
    import uvicorn

    library = Library(place)
    Thread(target=_warm_up, args=(library,), daemon=True).start()
    app = make_app(library)
    config = uvicorn.Config(app, http=ImpatientProtocol, log_level="warning", timeout_graceful_shutdown=PATIENCE)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # nohup asks to stay
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))  # a terminal that is closed
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:  # how the page is closed
        log.debug("closed")


def _warm_up(library: Library) -> None:
    try:
        library.open(library.names()[0]).warm_up()
    except AezslError as error:  # whoever asks for the model is told the same
        log.warning("the model cannot be loaded: %s", error)
    if torch := sys.modules.get("torch"):  # loaded where descriptions are read by a network
        torch.set_num_threads(1)  # a sentence is too little work for two threads, which wait for each other


def _file(name: str) -> Any:
    async def send(request: Request) -> Response:
        return FileResponse(PAGE / name, headers=HEADERS)

    return send


class StrangerError(DataError):
    """Another site asks."""


class Server:
    """Refuses strangers, finds the visitor, reads the request, lets a handler answer in a thread of its own."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers, self._visitors = handlers, Visitors()

    async def greet(self, request: Request) -> Response:
        """The first question of a page, which has no visitor yet."""

        def answer(nobody: Visitor | None, body: bytes) -> dict[str, Any]:
            asked = _parse(body)
            key, visitor = self._visitors.greet(request.headers.get(VISITOR, ""))
            return {"visitor": key, **self._handlers.models(visitor, asked)}

        return await self._answer(request, MAX_TABLE, answer, greets=True)

    async def question(self, request: Request) -> Response:
        """A question in JSON."""
        handler = self._handlers.questions.get(request.path_params["question"])

        def answer(visitor: Visitor, body: bytes) -> dict[str, Any]:
            if handler is None:
                raise DataError(f"the page has no question {request.path_params['question']!r}")
            return handler(visitor, _parse(body))

        return await self._answer(request, MAX_TABLE, answer)

    async def photo(self, request: Request) -> Response:
        """A photo, as the content of its file."""
        name = request.query_params.get("model", "")
        return await self._answer(request, MAX_IMAGE, lambda v, body: self._handlers.photo(v, body, name))

    async def preview(self, request: Request) -> Response:
        """A photo that the browser cannot show, as one that it can."""
        return await self._answer(request, MAX_IMAGE, self._handlers.preview)

    async def lesson(self, request: Request) -> Response:
        """A photo of a class of a collection of the visitor's own."""
        about = [request.query_params.get(key, "") for key in ("lesson", "class")]
        return await self._answer(request, MAX_IMAGE, lambda v, body: self._handlers.lesson_photo(v, body, *about))

    async def _answer(self, request: Request, most: int, handle: Any, greets: bool = False) -> Response:
        status = 200
        try:
            _refuse_strangers(request)
            visitor = None if greets else self._visitors.find(request.headers.get(VISITOR, ""))
            body = await read_bounded(request, most)
            content = await run_in_threadpool(handle, visitor, body)
        except UnknownPhotoError as error:
            content = {"unknown_photo": str(error)}  # no error: browsers would show it to whoever looks there
        except (StrangerError, UnknownVisitorError) as error:
            status, content = 403, {"error": str(error)}
        except OSError as error:
            told = str(storage_error(error) or f"a file cannot be read or written ({error}): look at the disk")
            status, content = 500, {"error": told.replace(KEPT, AGAIN)}
        except AezslError as error:  # what the project refuses is for the visitor to read
            status, content = 400, {"error": str(error)}
        except ClientDisconnect:
            status, content = 400, {"error": "the question ended early"}  # nobody reads it
        except Exception:
            log.exception("a question of the page failed")
            status, content = 500, {"error": "this could not be answered; the reason is in the log of the command"}
        return JSONResponse(content, status, headers=HEADERS)


def _refuse_strangers(request: Request) -> None:
    """Refuse what a page of another site asks in the visitor's name: browsers say where a question comes from."""
    origin, site = (request.headers.get(name) for name in ("origin", "sec-fetch-site"))
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise StrangerError(f"questions must come from the page itself, not from {origin}")
    if site not in (None, "same-origin"):
        raise StrangerError("questions must come from the page itself, not from another site")


def _parse(body: bytes) -> dict[str, Any]:
    """A question in JSON, all of whose texts can be written to a file."""
    try:
        asked = json.loads(body or b"{}")
        json.dumps(asked, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected a question in JSON ({error})") from error
    if not isinstance(asked, dict):
        raise DataError(f"expected a question as an object, got {type(asked).__name__}")
    return asked
