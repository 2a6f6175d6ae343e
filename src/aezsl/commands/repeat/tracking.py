"""The run of MLflow that holds those of the splits, and what is seen of a split while it runs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext

from aezsl.hooks.subject import BENCHMARK, KIND, run_name
from aezsl.hooks.tracked import TrackedRun


class ParentRun:
    """The run of a whole repeat. A resumed repeat continues the one it began; without tracking there is none."""

    def __init__(self, context: KedroContext, former: str | None, name: str) -> None:
        self._run: TrackedRun | None = None
        tracking = getattr(context, "mlflow", None)  # kedro-mlflow leaves its settings here
        if tracking is None:
            return
        about = {KIND: "repeat", BENCHMARK: context.config_loader["parameters"]["report"]["benchmark"]}
        if former is not None and TrackedRun(former).is_there:
            self._run = TrackedRun(former)
            self._run.set_tags({"mlflow.runName": run_name(name, about)})  # it may have more splits now
        else:
            experiment = tracking.tracking.experiment._experiment.experiment_id
            self._run = TrackedRun.begin(experiment, run_name(name, about), about)

    @property
    def id(self) -> str | None:
        """By which MLflow knows it."""
        return self._run.id if self._run else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Its state while the repeat runs, and how it ended."""
        if self._run is None:
            yield
            return
        self._run.resume()
        try:
            yield
        except BaseException as error:
            how = "FAILED" if isinstance(error, Exception) else "KILLED"
            close_runs(how)
            self._run.end(how)
            raise
        self._run.end()

    def log(self, metrics: Mapping[str, float], tags: Mapping[str, Any], files: list[Path]) -> None:
        """What the repeat has found."""
        if self._run is None:
            return
        self._run.log_metrics(metrics)
        self._run.set_tags(tags)
        for file in files:
            self._run.log_path(file)


def close_runs(status: str = "FINISHED") -> None:
    """End the run of a split: kedro-mlflow opens it once more with every node, and closes it once."""
    import mlflow

    while mlflow.active_run() is not None:
        mlflow.end_run(status)
