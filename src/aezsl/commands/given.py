"""``--params`` and ``--runner`` of every command, Kedro's own ``run`` too: what cannot be meant is told in words."""

from difflib import get_close_matches
from typing import Any

import click
import yaml
from kedro.framework.cli.utils import _split_params
from kedro.utils import load_obj
from omegaconf.errors import OmegaConfBaseException

#: Runners that Kedro and this project have.
RUNNERS = ("SequentialRunner", "ThreadRunner", "ParallelRunner", "aezsl.runner.DaskRunner")


def split_params(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """As Kedro splits it, into nested mappings."""
    try:
        return _split_params(context, option, value)
    except (yaml.YAMLError, OmegaConfBaseException, ValueError) as error:
        reason = " ".join(str(error).split())
        raise click.BadParameter(
            f"expected name=value pairs with commas between them, each value as YAML has it, got {value!r} ({reason}): "
            "put quotes around a value that begins with one of the signs * & ! % @ [ {"
        ) from error


def check_runner(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """The name of a runner that there is."""
    if value is not None:
        try:
            load_obj(value, "kedro.runner")
        except (ImportError, AttributeError, ValueError) as error:
            near = get_close_matches(value, RUNNERS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(RUNNERS)}"
            raise click.BadParameter(f"no runner {value!r} ({error}): {hint}") from error
    return value


def read_by(command: click.Command) -> None:
    """Let a command of Kedro read these so."""
    for option in command.params:
        if option.callback is _split_params:
            option.callback = split_params
        elif option.name == "runner" and option.callback is None:
            option.callback = check_runner
