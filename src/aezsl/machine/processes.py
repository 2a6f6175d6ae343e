"""Which process did something, so that a later one can tell whether it is still at work; commands that end with it."""

import hashlib
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from threading import Thread

import psutil

#: Seconds that a command gets to end by itself.
PATIENCE = 10.0


@dataclass(frozen=True)
class Process:
    """A process of a machine: its number may be given again, but not with the same start (seconds since 1970)."""

    host: str
    pid: int
    started: int

    @classmethod
    def this(cls) -> "Process":
        """The one that asks."""
        return cls(this_host(), os.getpid(), int(psutil.Process().create_time()))

    @property
    def is_gone(self) -> bool:
        """Whether it has certainly ended: of another machine nothing is known."""
        if self.host != this_host():
            return False
        try:
            return abs(int(psutil.Process(self.pid).create_time()) - self.started) > 1
        except psutil.NoSuchProcess:
            return True
        except psutil.AccessDenied:
            return False


@cache
def this_host() -> str:
    """A short digest of this machine's name, which may stand in names of files."""
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def tied(command: Sequence[str]) -> list[str]:
    """A command that runs another one and ends it, with all that it has started, when its own input is closed.

    Whoever starts it with a pipe as its input holds the other end, which is closed with that process, however it ends.
    """
    return [sys.executable, "-m", "aezsl.machine.processes", *command]


def _run_tied(command: Sequence[str]) -> int:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)

    def end() -> None:
        while os.read(0, 1):
            pass
        with suppress(ProcessLookupError):  # it has ended
            os.killpg(process.pid, signal.SIGTERM)
            time.sleep(PATIENCE)
            os.killpg(process.pid, signal.SIGKILL)

    Thread(target=end, daemon=True).start()
    return process.wait()


if __name__ == "__main__":
    sys.exit(_run_tied(sys.argv[1:]))
