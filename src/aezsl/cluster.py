"""Work on a Dask cluster: where it is, what it is given, and sentences for the ways in which it fails."""

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import cloudpickle

from aezsl.errors import NotReadyError
from aezsl.machine.files import written_whole
from aezsl.machine.provenance import versions
from aezsl.machine.workers import Workers, working_on
from aezsl.selection.store import code_digest

T = TypeVar("T")
R = TypeVar("R")

#: Names the scheduler of an existing cluster; without it a cluster of this machine is started.
ADDRESS = "DASK_SCHEDULER_ADDRESS"

#: Seconds that a cluster is given to have a worker, and after which one that says nothing is looked at.
PATIENCE, LOOK = 60, 5

#: Linear algebra of a worker keeps to one thread per task.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

#: Dask's own pages, which are served with or without the dashboard: none.
NO_PAGES: dict[str, list[str]] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}


class ClusterError(NotReadyError):
    """The cluster is not there, or has given up."""


def require_dask() -> None:
    """Refuse to continue without the package."""
    if find_spec("distributed") is None:
        raise ClusterError(
            "a Dask cluster needs the package distributed, which is not installed: pip install 'aezsl[dask]'"
        )


def scheduler_address() -> str | None:
    """The address of the cluster to use; None for one of this machine."""
    return os.environ.get(ADDRESS) or None


def is_elsewhere(address: str | None) -> bool:
    """Whether a scheduler is on another machine, as far as its address tells."""
    if address is None:
        return False
    return urlsplit(address if "://" in address else f"tcp://{address}").hostname not in (
        "127.0.0.1",
        "localhost",
        "::1",
    )


@contextmanager
def connected(n_workers: int | None, memory_limit: str, dashboard: bool) -> Iterator[Any]:
    """A client of the cluster that the environment names, or of one that lasts as long as this context."""
    require_dask()
    import dask
    from distributed import Client, LocalCluster

    if address := scheduler_address():
        try:
            client = Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"no scheduler answers at {ADDRESS}={address} ({error}): start one (dask scheduler), correct the "
                "address, or unset the variable for a cluster of this machine"
            ) from error
        with client:
            _check_workers(client)
            yield client
        return
    options = {"n_workers": n_workers, "threads_per_worker": 1, "memory_limit": memory_limit, "env": ONE_THREAD}
    with (
        dask.config.set({} if dashboard else NO_PAGES),
        LocalCluster(
            host="127.0.0.1",
            dashboard_address="127.0.0.1:8787",
            # Without its page Dask would still listen there, unless another port is named.
            scheduler_kwargs={} if dashboard else {"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            **options,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _check_workers(client: Any) -> None:
    """Workers that others have started must see the files of this run and have its code."""
    from distributed import TimeoutError

    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise ClusterError(f"the cluster has no worker after {PATIENCE} s: start some (dask worker)") from error
    try:
        found = client.run(_what_a_worker_has, str(Path.cwd()))
    except ModuleNotFoundError as error:
        raise ClusterError(f"a worker cannot import {error.name}: install aezsl there as it is here") from error
    here = _packages()
    for worker, (sees_folder, code, there) in found.items():
        if not sees_folder:
            raise ClusterError(
                f"the worker {worker} does not see {Path.cwd()}: put the project where all of them see it"
            )
        if code != code_digest():
            raise ClusterError(f"the worker {worker} has another version of aezsl: install the same one everywhere")
        if others := [name for name in here | there if here.get(name) != there.get(name)]:
            told = [f"{name} {there.get(name, 'missing')} (here {here.get(name, 'missing')})" for name in others]
            raise ClusterError(f"the worker {worker} has {', '.join(told)}: install the same versions everywhere")


def _what_a_worker_has(folder: str) -> tuple[bool, str, dict[str, str]]:
    return Path(folder).is_dir(), code_digest(), _packages()


def _packages() -> dict[str, str]:
    """Versions that results and what is sent between processes depend on."""
    found = versions()
    return found | {"python": found["python"].rpartition(".")[0]}


def first_finished(tasks: list[Any]) -> set[Any]:
    """Those of the tasks that are finished, as soon as there are some; refuses to wait for a cluster without workers.

    Dask starts a worker that has died again, but not one that dies before it was up: all of them may be gone.
    """
    from distributed import TimeoutError, wait

    seen = time.monotonic()
    while True:
        try:
            return set(wait(tasks, timeout=LOOK, return_when="FIRST_COMPLETED").done)
        except TimeoutError as error:
            if tasks[0].client.nthreads():
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise ClusterError(
                    f"the cluster has had no worker for {PATIENCE} s: see why they ended, start some (dask worker) and "
                    "type the command again; finished features and selections are not computed again"
                ) from error


@contextmanager
def failures_told(what: str) -> Iterator[None]:
    """Turn the ways in which a cluster fails into sentences."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError, FuturesCancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            f"{what} was given up, as its worker died whenever it was tried ({error.allowed_failures + 1} in all), "
            "most likely for more memory than a worker may have: start workers with more, or fewer on each machine "
            "(--runner-params=memory_limit=8GB, or dask worker --memory-limit)"
        ) from error
    except (FutureCancelledError, FuturesCancelledError, CommClosedError) as error:
        raise ClusterError(
            f"the scheduler was lost while {what} was under way: see to the cluster and type the command again; "
            "finished features and selections are not computed again, and --only-missing-outputs skips what is done"
        ) from error


@dataclass(frozen=True)
class ClusterWorkers(Workers):
    """The workers of the cluster that the caller, itself a task of it, runs on.

    folder : seen by all workers. Arguments that all tasks share are put there, once, and not scattered: what lies in a
        worker's memory dies with the worker.
    """

    folder: Path = Path()

    @property
    def elsewhere(self) -> bool:
        """Yes."""
        return True

    def map(self, function: Callable[..., R], items: Iterable[T], *shared: Any) -> Iterator[R]:
        """As ``Workers.map``. The caller makes room for the tasks: its worker takes some of them while it waits."""
        from distributed import worker_client
        from distributed.cfexecutor import ClientExecutor

        task = _WithShared(function, _put(self.folder, shared))
        with worker_client() as client:
            yield from Workers(self.n, ClientExecutor(client, pure=False)).map(task, items)


@dataclass(frozen=True)
class _WithShared:
    """A function whose further arguments lie in a file."""

    function: Callable[..., Any]
    path: Path

    def __call__(self, item: Any) -> Any:
        with working_on(Workers()):  # a task has one core, and no tasks of its own
            return self.function(item, *_get(self.path))


def _put(folder: Path, value: Any) -> Path:
    content = cloudpickle.dumps(value)
    path = folder / f"{hashlib.blake2b(content, digest_size=16).hexdigest()}.pickle"
    if not path.exists():
        with written_whole(path) as temporary:
            temporary.write_bytes(content)
    return path


@lru_cache(maxsize=2)  # tasks of one map come one after the other
def _get(path: Path) -> Any:
    with path.open("rb") as file:
        return cloudpickle.load(file)  # of this run, in its own folder
