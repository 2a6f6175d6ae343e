"""Commands to type next, on the data of the one that was typed."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

#: Sections of parameters that are about one command, not about the problem.
OF_ONE_COMMAND = ("predict", "export")


def next_command(run_params: Mapping[str, Any], pipeline: str, more: Mapping[str, str] | None = None) -> str:
    """``kedro run`` for another pipeline on the same problem: whatever was given stays, but settings of a method."""
    from aezsl.methods import METHODS

    left_out = {*OF_ONE_COMMAND, *METHODS}
    sections = (run_params.get("runtime_params") or {}).items()
    given = {name: values for name, values in sections if isinstance(values, Mapping) and name not in left_out}
    env = f" --env={run_params['env']}" if run_params.get("env") else ""
    flat = dict(flat_params(given))
    params = ",".join(f"{name}={value}" for name, value in {**flat, **(more or {})}.items())
    if any(shlex.quote(value) != value for value in flat.values()):  # lists, and folders with a blank
        params = shlex.quote(params)
    return f"kedro run{env} --pipeline={pipeline}" + (f" --params={params}" if params else "")


def short_path(path: Path) -> Path:
    """A place as the user would type it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def flat_params(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Parameters by their full names, as the command line takes them."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat_params(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)
