"""What runs of the project have measured, as MLflow keeps it."""

import socket
from typing import Any
from urllib.parse import urlsplit

from aezsl.evaluation.metrics import METRICS

#: Runs that are looked through at most, the newest first.
MAX_RUNS = 200


def measured(tracking: str, page: str, benchmark: str, method: str, problem: str = "") -> dict[str, Any]:
    """Metrics of the newest finished run that has measured a method on a benchmark; empty where there is none.

    tracking : where MLflow keeps runs. page : where its own page is, when somebody has opened it. problem : fingerprint
    of what the model was trained on, if known: runs on other classes, such as splits of a repeat, are of other models.
    """
    if not tracking:
        return {}
    import mlflow

    client = mlflow.MlflowClient(tracking)
    experiment = client.get_experiment_by_name(f"aezsl_{benchmark}")
    if experiment is None:
        return {}
    newest = ["attributes.start_time DESC"]
    same = f"tags.problem_fingerprint = '{problem}'" if problem else ""
    for run in client.search_runs([experiment.experiment_id], same, order_by=newest, max_results=MAX_RUNS):
        about = run.data.tags.get("method", run.info.run_name)
        prefix = "" if about == method else f"{method}."  # in a run of another method its name comes first
        found = {m.label: run.data.metrics[prefix + m.key] for m in METRICS if prefix + m.key in run.data.metrics}
        if run.info.status == "FINISHED" and found:
            link = f"{page}/#/experiments/{experiment.experiment_id}/runs/{run.info.run_id}"
            return {"link": link, "metrics": found}
    return {}


def is_open(page: str) -> bool:
    """Whether somebody listens where MLflow's own page would be."""
    address = urlsplit(page)
    try:
        socket.create_connection((address.hostname or "", address.port or 80), timeout=1).close()
    except OSError:
        return False
    return True
