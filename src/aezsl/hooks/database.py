"""MLflow's database, made whole or not at all, its view of results, and runs whose process is gone."""

import json
import logging
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from filelock import FileLock

from aezsl.errors import NotReadyError
from aezsl.machine.files import written_whole
from aezsl.machine.processes import Process

log = logging.getLogger(__name__)

#: Tags of a run by which a later one can tell whether its process is still there.
HOST, PID, STARTED = "process.host", "process.pid", "process.started"


#: The view of an experiment that shows what matters at once: MLflow opens it at ?viewStateShareKey=results.
VIEW = "results"
_RUN_NAME = "attributes.`Run Name`"  # always there; names of runs have three parts
_COLUMNS = (
    *("tags.`kind`", "tags.`method`", "tags.`split`", "metrics.`per_class_accuracy`"),
    *("metrics.`per_class_accuracy_low`", "metrics.`per_class_accuracy_high`", "metrics.`hit_at_5`"),
    *("metrics.`gzsl_harmonic_calibrated`", "metrics.`wall_seconds`", "attributes.`Models`"),
)


#: Seconds that a database may be in use by another process.
PATIENCE = 10.0

_ELSEWHERE = "name another place by the environment variable MLFLOW_TRACKING_URI"
_IN_USE = "it is in use by another process: wait until that has ended, then run again"
_DAMAGED = f"it is damaged, or no database: put a good copy in its place, or {_ELSEWHERE}"
_NO_ROOM = "the disk is full or failing: make room, then run again; the runs before this one are kept"
_CLOSED = f"it is a folder, or may not be written: rename it or make it writable, or {_ELSEWHERE}"
#: What to do, by SQLite's reason. None of these tells what the database holds.
_REMEDIES = {
    **dict.fromkeys((sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED), _IN_USE),
    **dict.fromkeys((sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT), _DAMAGED),
    **dict.fromkeys((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR), _NO_ROOM),
    **dict.fromkeys((sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY), _CLOSED),
}
#: Tables in which MLflow itself puts rows.
_NO_USERS = ("alembic_version", "workspaces", "experiments", "experiment_tags")


def prepare_database(uri: str, experiment: Mapping[str, Any]) -> None:
    """Make a local database and the experiment, where they are missing, under a lock: first runs may start together.

    MLflow makes its tables one by one, and cannot resume where a killed process has stopped. So they are made in
    another file, which takes the database's name when they are complete.

    uri : where MLflow tracks; only SQLite files are made here. experiment : its section of mlflow.yml.
    """
    from sqlalchemy.engine import make_url

    if not uri.startswith("sqlite:"):
        return
    name = make_url(uri).database
    if not name or name == ":memory:":
        return
    path = Path(name)
    # It tells of every table, and prints errors with their tracebacks, which it then raises as well.
    logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock")):
            if not path.exists() or not path.stat().st_size:
                _create(path)
            _open(uri, path, experiment)
    except OSError as error:
        raise NotReadyError(
            f"{path.absolute()}, where MLflow keeps runs, cannot be made or opened ({error}): make its folder "
            "writable, or name another place by the environment variable MLFLOW_TRACKING_URI"
        ) from error


def _create(path: Path) -> None:
    from mlflow.store.db import utils

    with written_whole(path) as temporary:
        engine = utils.create_sqlalchemy_engine_with_retry(f"sqlite:///{temporary}")  # type: ignore[no-untyped-call]
        utils._initialize_tables(engine)  # type: ignore[no-untyped-call]
        engine.dispose()  # Windows renames no file that is open


def _open(uri: str, path: Path, experiment: Mapping[str, Any]) -> None:
    """As kedro-mlflow does next; what it would end in is told in a sentence."""
    import mlflow
    from sqlalchemy.exc import SQLAlchemyError

    try:
        with closing(_connect(path)) as connection:  # MLflow would try for minutes
            connection.execute("begin immediate")
            connection.execute("select count(*) from sqlite_master")
        client = mlflow.MlflowClient(uri)
        if client.get_experiment_by_name(experiment["name"]) is None:
            client.create_experiment(experiment["name"], **experiment.get("create_experiment_kwargs", {}))
    except (SQLAlchemyError, mlflow.MlflowException, sqlite3.Error) as error:
        reason = str(error).strip().splitlines()[0]
        todo = _REMEDIES.get(_sqlite_code(error)) or _look_inside(path, uri)
        raise NotReadyError(f"{path.resolve()}, where MLflow keeps runs, cannot be used ({reason}): {todo}") from error


def _connect(path: Path) -> sqlite3.Connection:
    """The database as it is: none is made where there is none."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", timeout=PATIENCE, uri=True, isolation_level=None)


def _sqlite_code(error: BaseException | None) -> int:
    """SQLite's own reason for an error that libraries have wrapped; 0 where it has none."""
    while error is not None:
        code = getattr(getattr(error, "orig", error), "sqlite_errorcode", None)
        if code is not None:
            return int(code) & 0xFF  # without the details of the extended codes
        error = error.__cause__ or error.__context__
    return 0


def remedy(error: BaseException) -> str:
    """What to do about an error of SQLite in the middle of a run."""
    return _REMEDIES.get(_sqlite_code(error), _NO_ROOM)


def _look_inside(path: Path, uri: str) -> str:
    """What to do with a database that SQLite reads and MLflow does not.

    It may be deleted only where it is whole, all its tables are MLflow's, and none has a row of a user's.
    """
    from mlflow.store.db.base_sql_model import Base

    upgrade = f"keep a copy of it, then try `mlflow db upgrade {uri}`"
    try:
        with closing(_connect(path)) as connection:
            names = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
            rows = {name: connection.execute(f'select count(*) from "{name}"').fetchone()[0] for name in names}
            whole = connection.execute("pragma quick_check").fetchone()[0] == "ok"
    except sqlite3.Error as error:
        return _REMEDIES.get(_sqlite_code(error), f"what it holds cannot be read ({error}): {upgrade}")
    if runs := rows.get("runs"):
        return f"another version of MLflow made it, and it holds {runs} run{'s' * (runs > 1)}: {upgrade}"
    ours = set(rows) <= {*Base.metadata.tables, *_NO_USERS}
    if rows and whole and ours and not any(n for name, n in rows.items() if name not in _NO_USERS):
        return "MLflow was stopped while it made the tables, and they hold nothing: delete it and run again"
    return f"another version of MLflow may have made it: {upgrade}"


def save_view(experiment_id: str) -> None:
    """Keep the view with the experiment, as MLflow's own button for sharing a view does."""
    import mlflow

    client = mlflow.MlflowClient()
    widths = {column: max(100, 6 * len(column)) for column in _COLUMNS}  # pixels, so that headings are not cut off
    widths[_RUN_NAME] = 300
    order = (_RUN_NAME, *_COLUMNS)
    view = json.dumps({"selectedColumns": _COLUMNS, "columnOrder": order, "columnWidths": widths})
    key = f"mlflow.sharedViewState.{VIEW}"
    if client.get_experiment(experiment_id).tags.get(key) != view:
        client.set_experiment_tag(experiment_id, key, view)


def sign_run() -> None:
    """Note in the active run whose it is, and mark former runs of this machine as killed whose process is gone."""
    import mlflow

    if mlflow.active_run() is None:  # tracking is switched off
        return
    own = Process.this()
    mlflow.set_tags({HOST: own.host, PID: own.pid, STARTED: own.started})
    client = mlflow.MlflowClient()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    running = f"attributes.status = 'RUNNING' and tags.`{HOST}` = '{own.host}'"
    for run in client.search_runs(experiments, running):
        tags = run.data.tags
        if Process(tags[HOST], int(tags.get(PID, 0)), int(tags.get(STARTED, 0))).is_gone:
            client.set_terminated(run.info.run_id, "KILLED")
            log.info("the run %s of %s was killed, and is marked so now", run.info.run_name, run.info.run_id)
