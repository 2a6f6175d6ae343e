"""Runs at the same time: those that would write different things to the same files take turns."""

import json
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from aezsl.machine.files import written_whole
from aezsl.machine.processes import Process
from aezsl.machine.screen import ON_SCREEN

log = logging.getLogger(__name__)

#: Where runs announce themselves, below the project's folder of data; and seconds between two looks.
PLACE = "data/.runs"
PAUSE = 1.0


class TakeTurns:
    """Lets a run wait for another one of the same files whose data or parameters differ from its own.

    Results of a benchmark have one place, through which the nodes of a run hand them on: of two runs at once, each
    could continue with what the other has written. Where the two agree in everything that both use, they write the same
    and need not wait. A run that was killed keeps nobody waiting.
    """

    def __init__(self) -> None:
        self._announced: Path | None = None

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Wait for this run's turn, and announce it."""
        folder = Path(run_params["project_path"]) / PLACE
        folder.mkdir(parents=True, exist_ok=True)
        own = describe_run(pipeline, catalog)
        told = False
        while (other := self._announce(folder, own)) is not None:
            if not told:
                log.warning(
                    "waiting for the run of process %s, which works on the same results with another %s",
                    *(other["process"]["pid"], conflict(own, other)),
                    extra=ON_SCREEN,
                )
                told = True
            time.sleep(PAUSE)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Let others begin."""
        self._leave()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Let others begin."""
        self._leave()

    def _announce(self, folder: Path, own: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """A run that must end first; without one, this run is announced."""
        me = Process.this()
        with FileLock(folder / "lock"):
            for path in folder.glob("*.json"):
                try:
                    other = json.loads(path.read_text(encoding="utf-8"))
                    process = Process(**other["process"])
                except (ValueError, KeyError, TypeError, OSError):
                    other, process = None, None
                if process is None or process.is_gone:
                    path.unlink(missing_ok=True)
                elif process != me and conflict(own, other):
                    return other  # type: ignore[no-any-return]
            self._announced = folder / f"{me.host}-{me.pid}.json"
            with written_whole(self._announced) as temporary:
                temporary.write_text(json.dumps({**own, "process": asdict(me)}), encoding="utf-8")
        return None

    def _leave(self) -> None:
        if self._announced is not None:
            with suppress(OSError):
                self._announced.unlink()
            self._announced = None


def describe_run(pipeline: Pipeline, catalog: DataCatalog) -> dict[str, Any]:
    """The files that a run writes, and all that it is given: parameters, and where raw data lie."""
    written = [getattr(catalog.get(name), "_filepath", None) for name in sorted(pipeline.all_outputs())]
    given = {}
    for name in sorted(pipeline.inputs()):
        value = catalog.load(name) if name.startswith("param") else str(catalog.get(name))
        given[name.removeprefix("params:")] = json.dumps(value, sort_keys=True, default=str)
    return {"written": [str(path) for path in written if path is not None], "given": given}


def conflict(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """What two runs that write to the same files are given differently; nothing where they may work side by side."""
    if not set(one["written"]) & set(other["written"]):
        return None
    both = one["given"].keys() & other["given"].keys()
    return next((name for name in sorted(both) if one["given"][name] != other["given"][name]), None)
