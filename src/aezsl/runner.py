"""``kedro run --runner=aezsl.runner.DaskRunner``: nodes on a Dask cluster, of this machine or of many."""

import copy
import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any

import cloudpickle
from kedro.framework.hooks.manager import _NullPluginManager
from kedro.io import AbstractDataset, AbstractVersionedDataset, DataCatalog, MemoryDataset
from kedro.pipeline import Node, Pipeline
from kedro.runner import AbstractRunner
from pluggy import PluginManager

from aezsl.cluster import (
    ClusterError,
    ClusterWorkers,
    connected,
    failures_told,
    first_finished,
    is_elsewhere,
    require_dask,
    scheduler_address,
)
from aezsl.errors import ParameterError
from aezsl.hooks.crash import own_error
from aezsl.machine.files import folder_of_this_process, written_whole
from aezsl.machine.workers import one_blas_thread, working_on

#: Where datasets without a place are kept during a run, below the project, which all workers see.
PLACE = Path("data", "02_intermediate", "dask")


Datasets = Mapping[str, AbstractDataset[Any, Any]]


class DaskRunner(AbstractRunner):
    """Runs every node as a task of a Dask cluster: the one that ``DASK_SCHEDULER_ADDRESS`` names, or one of its own.

    Workers load and save; hooks and MLflow stay in this process, so a run is one run, and a node that a dead worker
    has left is simply done again. Datasets without a place in the catalog have one for the length of the run.
    Inside nodes, long work goes to the same workers (``aezsl.machine.workers.workers``).

    n_workers : of the cluster of this machine, one thread each; as many as cores by default.
    memory_limit : of each of them, such as ``4GB``; an equal share by default.
    dashboard : whether that cluster shows Dask's page at 127.0.0.1:8787.
    """

    def __init__(
        self,
        n_workers: int | None = None,
        memory_limit: str = "auto",
        dashboard: bool = False,
        is_async: bool = False,
    ) -> None:
        require_dask()
        if is_async:
            raise ParameterError("DaskRunner loads and saves on the workers, and knows no is_async: leave it out")
        super().__init__()
        self._options = {"n_workers": n_workers, "memory_limit": memory_limit, "dashboard": dashboard}

    def _get_executor(self, max_workers: int) -> None:
        """None is needed: ``_run`` speaks to the cluster itself."""

    def _run(
        self,
        pipeline: Pipeline,
        catalog: DataCatalog,  # type: ignore[override]
        hook_manager: PluginManager | None = None,
        run_id: str | None = None,
    ) -> None:
        _check_tracking()
        with ExitStack() as stack:
            folder = stack.enter_context(folder_of_this_process(Path.cwd() / PLACE))
            client = stack.enter_context(connected(**self._options))  # type: ignore[arg-type]
            places = _places(pipeline, catalog, folder)
            hooks = (hook_manager or _NullPluginManager()).hook

            def submit(node: Node) -> Any:
                datasets = {name: places.get(name) or catalog.get(name) for name in (*node.inputs, *node.outputs)}
                n_workers = sum(client.nthreads().values())
                key = f"{node.name}-{uuid.uuid4().hex}"
                return client.submit(run_node, node, datasets, Path.cwd(), folder, n_workers, key=key)

            self._work(submit, pipeline, catalog, hooks, {"is_async": False, "run_id": run_id})
            for name in places.keys() & pipeline.outputs():
                catalog.save(name, places[name].load())

    def _work(
        self,
        submit: Callable[[Node], Any],
        pipeline: Pipeline,
        catalog: DataCatalog,
        hooks: Any,
        run: dict[str, Any],
    ) -> None:
        """Start every node as soon as what it needs is there."""
        waiting, done, running = list(pipeline.nodes), set[Node](), dict[Any, Node]()
        while waiting or running:
            for node in [node for node in waiting if pipeline.node_dependencies[node] <= done]:
                waiting.remove(node)
                parameters = {name: catalog.load(name) for name in node.inputs if _is_parameter(name)}
                hooks.before_node_run(node=node, catalog=catalog, inputs=parameters, **run)
                running[submit(node)] = node
            try:
                with failures_told(" and ".join(sorted(node.name for node in running.values()))):
                    finished = first_finished(list(running))
                for task in finished:
                    node = running[task]
                    with failures_told(node.name):
                        task.result()
                    del running[task]
                    task.release()  # or it is done again if its worker dies, while others read what it has saved
                    done.add(node)
                    self._logger.info("Completed node: %s (%d of %d)", node.name, len(done), len(pipeline.nodes))
                    hooks.after_node_run(node=node, catalog=catalog, inputs={}, outputs={}, **run)
            except Exception as error:
                hooks.on_node_error(error=error, node=node, catalog=catalog, inputs={}, **run)
                self._suggest_resume_scenario(pipeline, done, catalog)
                raise


def run_node(
    node: Node, datasets: dict[str, AbstractDataset[Any, Any]], project: Path, folder: Path, n_workers: int
) -> None:
    """Load, run, save: all of it on a worker."""
    os.chdir(project)  # catalog entries may have relative paths
    try:
        with one_blas_thread(), working_on(ClusterWorkers(n_workers, folder=folder)):
            outputs = node.run({name: datasets[name].load() for name in node.inputs})
            for name, data in outputs.items():
                save_whole(datasets[name], data)
        return
    except Exception as error:
        own = own_error(error)
        if own is None:
            raise
    # Causes do not travel: the sentence itself must. And of Kedro's error, whose cause it is, it must not know: what
    # runs in a circle cannot be sent at all.
    own.__cause__ = own.__context__ = None
    raise own


def save_whole(dataset: AbstractDataset[Any, Any], data: Any) -> None:
    """Save so that the file is the old one or the new one at any time: a lost worker may still write when its node
    has been given to another one. The project's own datasets do so by themselves; those of Kedro write in place.
    """
    if not isinstance(dataset, AbstractVersionedDataset) or dataset._version or _protocol(dataset) != "file":
        dataset.save(data)
        return
    path = Path(dataset._filepath)
    with written_whole(path, path.suffix) as temporary:
        beside = copy.copy(dataset)
        beside._filepath = PurePosixPath(temporary)
        beside.save(data)


def _protocol(dataset: Any) -> str | None:
    return getattr(dataset, "_protocol", None)


class PlacedDataset(AbstractDataset[Any, Any]):
    """Keeps what has no place in the catalog in a file of the run's own folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def save(self, data: Any) -> None:
        """Write the file, whole or not at all."""
        with written_whole(self._path) as temporary, temporary.open("wb") as file:
            cloudpickle.dump(data, file)

    def load(self) -> Any:
        """What was saved."""
        with self._path.open("rb") as file:
            return cloudpickle.load(file)

    def _exists(self) -> bool:
        return self._path.exists()

    def _describe(self) -> dict[str, Any]:
        return {"path": str(self._path)}


def _places(pipeline: Pipeline, catalog: DataCatalog, folder: Path) -> dict[str, PlacedDataset]:
    """Files for the datasets that nodes make and the catalog keeps in memory, which workers do not share."""
    in_memory = [name for name in sorted(pipeline.all_outputs()) if isinstance(catalog.get(name), MemoryDataset)]
    return {name: PlacedDataset(folder / f"dataset_{number}") for number, name in enumerate(in_memory)}


def _is_parameter(name: str) -> bool:
    return name == "parameters" or name.startswith("params:")


def _check_tracking() -> None:
    """A database in a file is for one machine: over a shared drive SQLite's locks do not hold."""
    import mlflow

    address, uri = scheduler_address(), mlflow.get_tracking_uri()
    if is_elsewhere(address) and mlflow.active_run() and uri.startswith("sqlite"):
        raise ClusterError(
            f"the scheduler {address} is on another machine, but runs are tracked in {uri}, a file for one machine: "
            "start a tracking server (mlflow server) and name it by MLFLOW_TRACKING_URI"
        )
