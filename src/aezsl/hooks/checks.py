"""What is refused before anything runs, and how threads are shared while it runs."""

import os
from math import prod
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Node, Pipeline

from aezsl.errors import NotReadyError
from aezsl.hooks.database import prepare_database
from aezsl.hooks.subject import next_command
from aezsl.machine.provenance import Cost
from aezsl.methods import METHODS
from aezsl.pipeline_registry import TABLE
from aezsl.serving.photos import PHOTOS


class Checks:
    """Refuses parameters, networks, folders and models that cannot be meant, before MLflow hears of the run."""

    def __init__(self) -> None:
        self._searches = False

    @hook_impl(tryfirst=True)  # before kedro-mlflow opens its database
    def after_context_created(self, context: KedroContext) -> None:
        """Read all parameters, which refuses bad ones, and see to the database of the runs."""
        import mlflow

        from aezsl.reporting.chosen import TableSettings

        config = context.config_loader
        chosen = TableSettings(**config["parameters"]["table"])
        TABLE.names, TABLE.ceiling = chosen.names, chosen.ceiling
        if mlflow.active_run() is None:  # whoever started one has seen to it, and kedro-mlflow uses that one
            config.config_patterns.setdefault("mlflow", ["mlflow*", "mlflow*/**", "**/mlflow*"])  # type: ignore[attr-defined]
            settings = config["mlflow"]
            prepare_database(settings["server"]["mlflow_tracking_uri"], settings["tracking"]["experiment"])

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Refuse networks and folders that there are not, what is not a pair, and models that nobody has trained."""
        from aezsl.encoders.images.settings import ExtractionSettings, check_backbones
        from aezsl.formats.image_folders import require_folder

        inputs = pipeline.inputs()
        if "models" in inputs:  # whose networks are their own
            _require_model(run_params, pipeline, catalog)
        elif "params:feature_extraction" in inputs:
            settings = catalog.load("params:feature_extraction")
            if isinstance(settings, ExtractionSettings):  # the report takes any mapping, and only lists it
                check_backbones(settings)
                _check_pairs(inputs, catalog)
        if "new_images" in inputs and "new_images" in catalog:
            require_folder(catalog.get("new_images").folder)  # type: ignore[union-attr]
        self._searches = _searches(pipeline, catalog)

    @hook_impl
    def after_node_run(self, node: Node, catalog: DataCatalog, outputs: dict[str, Any]) -> None:
        """Refuse too few classes as soon as they are counted: features of their images would take long."""
        from aezsl.selection import require_classes

        if self._searches and node.name == "split_classes":
            # A node that ran on a cluster has left what it made on disk only.
            classes = outputs["classes"] if "classes" in outputs else catalog.load("classes")
            require_classes(int((classes["role"] == "seen").sum()))


def _searches(pipeline: Pipeline, catalog: DataCatalog) -> bool:
    """Whether parameters are chosen on validation classes, for which there must be enough classes."""
    from aezsl.data.normalise import PARTS, listed_alternatives
    from aezsl.selection import effective_grid, grid_points

    inputs = pipeline.inputs()
    if not {"params:normalise", "params:split"} <= inputs:
        return False
    normalise = dict(catalog.load("params:normalise"))
    n_ways = prod(len(listed_alternatives(normalise[part])) for part in PARTS)
    methods = [name for name in METHODS if f"params:{name}" in inputs]
    return any(n_ways * len(grid_points(effective_grid(name, catalog.load(f"params:{name}")))) > 1 for name in methods)


def _check_pairs(inputs: set[str], catalog: DataCatalog) -> None:
    """Refuse methods of a pair of encoders before features are computed that they could not use."""
    from aezsl.encoders.pairs import check_pair

    settings = [f"params:{name}" for name in ("feature_extraction", "semantic_embedding", "normalise")]
    for name in (entry.name for entry in METHODS.values() if entry.paired and f"params:{entry.name}" in inputs):
        if not catalog.load(f"params:{name}").stated_pair and inputs.issuperset(settings):
            check_pair(name, *map(catalog.load, settings))


def _require_model(run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Refuse to use a model that nobody has trained, with the command that trains it."""
    settings, trained = catalog.load("params:predict"), catalog.load("models").trained()
    registered = settings.model and "new_predictions" in pipeline.all_outputs()  # one of MLflow's will do
    if settings.method not in (*trained, PHOTOS) and not registered:
        raise NotReadyError(
            f"{settings.method} has not been trained yet: {next_command(run_params, settings.method)}; "
            f"trained are: {', '.join(trained) or 'none'}"
        )


class OneThreadPerTask:
    """Where a runner works at several nodes at once, linear algebra keeps to one thread per node.

    Otherwise every node starts as many threads as there are cores, and they wait for each other. The limit is set
    in this process for ``ThreadRunner`` and in the environment for the processes that ``ParallelRunner`` starts.
    Nodes that share a process cannot tell whose memory they see, so memory is not recorded under ``ThreadRunner``.
    """

    def __init__(self) -> None:
        self._limits: Any = None
        self._environment: dict[str, str | None] = {}

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any]) -> None:
        """Limit, where nodes run side by side; a limit that the user has set stays."""
        from threadpoolctl import threadpool_limits

        runner = str(run_params.get("runner"))
        Cost.measure_memory = "ThreadRunner" not in runner
        if "ThreadRunner" in runner or "ParallelRunner" in runner:
            self._limits = threadpool_limits(1)
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
                self._environment[name] = os.environ.get(name)
                os.environ.setdefault(name, "1")

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Restore the former limits."""
        self._restore()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Restore the former limits."""
        self._restore()

    def _restore(self) -> None:
        Cost.measure_memory = True
        if self._limits is not None:
            self._limits.restore_original_limits()
            self._limits = None
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
        self._environment = {}
