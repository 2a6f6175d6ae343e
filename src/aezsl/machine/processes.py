"""Which process did something, so that a later one can tell whether it is still at work."""

import hashlib
import os
import platform
from dataclasses import dataclass
from functools import cache

import psutil


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
