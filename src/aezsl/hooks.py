"""What every run leaves in MLflow beside its parameters."""

import logging
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

log = logging.getLogger(__name__)


class RunRecorder:
    """Logs results, origin and cost of a run.

    A catalog entry says in ``metadata.mlflow`` how its dataset is logged once the run has saved it: ``metrics``
    (a mapping of numbers), ``params`` (a mapping of chosen values), ``tags``, or ``artifact`` (the file or folder).
    Everything is logged from the main process when the run is over, so that it works under every runner.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Start the clock."""
        self._start = time.monotonic()

    @hook_impl(tryfirst=True)  # before kedro-mlflow closes the run
    def after_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log what the run produced."""
        import mlflow

        outputs = sorted(pipeline.all_outputs())
        _report(catalog, [name for name in outputs if _how(catalog, name) == "metrics"])
        if mlflow.active_run() is None:  # tracking is switched off
            return
        mlflow.set_tags({"git_commit": git_commit(Path(run_params["project_path"])), "python": sys.version.split()[0]})
        mlflow.log_metrics({"wall_seconds": time.monotonic() - self._start, "peak_memory_mb": peak_memory_mb()})
        several = len({_namespace(name) for name in outputs if _how(catalog, name) == "metrics"}) > 1
        for name in outputs:
            if how := _how(catalog, name):
                prefix = f"{_namespace(name)}." if several else ""
                _log(mlflow, how, catalog, name, prefix)


def _report(catalog: DataCatalog, metrics: list[str]) -> None:
    """The result as one line per method, the last thing a user reads of a run."""
    for name in metrics:
        values = ", ".join(f"{key} {value:.4f}" for key, value in catalog.load(name).items())
        log.info("%s: %s", _namespace(name), values or "predictions without accuracy: the test images have no labels")


def _how(catalog: DataCatalog, name: str) -> str | None:
    dataset = catalog.get(name) if name in catalog else None
    how: str | None = (getattr(dataset, "metadata", None) or {}).get("mlflow")
    return how


def _namespace(name: str) -> str:
    return name.rpartition(".")[0]


def _log(mlflow: Any, how: str, catalog: DataCatalog, name: str, prefix: str) -> None:
    if how == "artifact":
        path = Path(catalog.get(name)._filepath)  # type: ignore[union-attr]
        if path.is_dir():
            mlflow.log_artifacts(str(path), path.name)
        elif path.exists():
            mlflow.log_artifact(str(path), _namespace(name) or None)
        return
    values = catalog.load(name)
    if how == "metrics":
        mlflow.log_metrics({prefix + key: value for key, value in values.items()})
    elif how == "params":
        mlflow.log_params({f"{prefix}chosen.{key}": value for key, value in values.items()})
    elif how == "tags":
        mlflow.set_tags({prefix + key: value for key, value in values.items()})
    else:
        raise ValueError(f"metadata.mlflow of {name} must be metrics, params, tags or artifact, got {how!r}")


def git_commit(folder: Path) -> str:
    """The commit of the code, marked where it was changed since; 'unknown' outside a checkout."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def peak_memory_mb() -> float:
    """The largest resident size so far of this process and, if greater, of any worker it waited for."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak * unit / 2**20
