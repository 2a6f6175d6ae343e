"""One run of MLflow, by its id: what is logged to it, and runs below it."""

import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd

#: The most that one request may hold.
MOST_METRICS, MOST_PARAMS = 1000, 100


class TrackedRun:
    """A run that others can be open beside: MLflow's own functions know one active run only."""

    def __init__(self, run_id: str) -> None:
        import mlflow

        self.id = run_id
        self._client = mlflow.MlflowClient()

    @classmethod
    def active(cls) -> Self | None:
        """The one that kedro-mlflow has begun; None where tracking is switched off."""
        import mlflow

        run = mlflow.active_run()
        return None if run is None else cls(run.info.run_id)

    @classmethod
    def begin(cls, experiment: str, name: str, tags: Mapping[str, Any]) -> Self:
        """A new run of the experiment with this id."""
        import mlflow

        text = {key: str(value) for key, value in tags.items()}
        return cls(mlflow.MlflowClient().create_run(experiment, tags=text, run_name=name).info.run_id)

    def child(self, name: str, tags: Mapping[str, Any]) -> "TrackedRun":
        """A new run, which MLflow shows below this one."""
        return TrackedRun.begin(self.experiment, name, {**tags, "mlflow.parentRunId": self.id})

    @property
    def is_there(self) -> bool:
        """Whether it is neither deleted nor in another place."""
        from mlflow.exceptions import MlflowException

        try:
            return bool(self._client.get_run(self.id).info.lifecycle_stage == "active")
        except MlflowException:
            return False

    @property
    def tags(self) -> dict[str, str]:
        """What was tagged so far."""
        return dict(self._client.get_run(self.id).data.tags)

    @property
    def experiment(self) -> str:
        """The id of the experiment that it belongs to."""
        return str(self._client.get_run(self.id).info.experiment_id)

    def resume(self) -> None:
        """It is at work again."""
        self._client.update_run(self.id, status="RUNNING")

    def end(self, status: str = "FINISHED") -> None:
        """It is over."""
        self._client.set_terminated(self.id, status)

    def log_metrics(self, values: Mapping[str, float]) -> None:
        """Numbers without a step."""
        from mlflow.entities import Metric

        now = _now()
        self._log_all([Metric(key, float(value), now, 0) for key, value in values.items()])

    def log_history(self, table: "pd.DataFrame", prefix: str = "") -> None:
        """Every numeric column as a metric by step, the first column being the step: MLflow draws the curve."""
        from mlflow.entities import Metric

        numbers = table.select_dtypes("number").dropna(axis="columns", how="all")
        if numbers.empty:  # no step was made
            return
        step, *columns = numbers.columns
        now = _now()
        self._log_all(
            [
                Metric(f"{prefix}{step}.{column}", float(value), now, int(at))
                for column in columns
                for at, value in zip(numbers[step], numbers[column], strict=True)
                if value == value  # a column may end earlier than the others
            ]
        )

    def _log_all(self, metrics: list[Any]) -> None:
        for start in range(0, len(metrics), MOST_METRICS):
            self._client.log_batch(self.id, metrics=metrics[start : start + MOST_METRICS])

    def log_params(self, values: Mapping[str, Any]) -> None:
        """Values that were chosen or given."""
        from mlflow.entities import Param

        params = [Param(key, str(value)) for key, value in values.items()]
        for start in range(0, len(params), MOST_PARAMS):
            self._client.log_batch(self.id, params=params[start : start + MOST_PARAMS])

    def set_tags(self, values: Mapping[str, Any]) -> None:
        """What else is to be said of it."""
        from mlflow.entities import RunTag

        self._client.log_batch(self.id, tags=[RunTag(key, str(value)) for key, value in values.items()])

    def log_path(self, path: Path, folder: str | None = None) -> None:
        """A file, or a folder under its own name; nothing where there is none."""
        if path.is_dir():
            self._client.log_artifacts(self.id, str(path), path.name)
        elif path.exists():
            self._client.log_artifact(self.id, str(path), folder)

    def log_model(self, name: str, parts: Mapping[str, Any]) -> None:
        """A model that ``mlflow.pyfunc`` loads, made of its parts, and listed with the run.

        name : of the model. parts : arguments of ``mlflow.pyfunc.save_model``, without an example: MLflow would load
            the model, encoders and all, to try it, and warns where there is none.
        """
        import mlflow.pyfunc

        with self._as_active(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*input example")
            mlflow.pyfunc.log_model(name=name, **parts)

    @contextmanager
    def _as_active(self) -> Iterator[None]:
        """MLflow logs models to its active run only."""
        import mlflow

        active = mlflow.active_run()
        if active is not None and active.info.run_id == self.id:
            yield
            return
        with mlflow.start_run(run_id=self.id, nested=active is not None):
            yield


def _now() -> int:
    return int(time.time() * 1000)
