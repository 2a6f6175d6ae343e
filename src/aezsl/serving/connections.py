"""Connections of every server of the project: no half request is waited for, and no body above a size is read."""

import socket
from asyncio import TimerHandle, Transport

import h11
from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol

from aezsl.errors import DataError

#: The only address that is listened on unless the owner names another one, and names by which browsers may call it.
HOST = "127.0.0.1"
NAMES = (HOST, "localhost")

#: Seconds from the first byte of a request to its last.
REQUEST_SECONDS = 60.0


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
