"""``--params`` and ``--runner`` of every command, Kedro's own ``run`` too: what cannot be meant is told in words."""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import Any

import click
import yaml
from kedro.framework.cli.utils import KedroCliError, _config_file_callback, _split_load_versions, _split_params
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


def read_file(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """Options in a file, as Kedro reads them."""
    try:
        return _config_file_callback(context, option, value)
    except KedroCliError as error:
        raise click.BadParameter(str(error)) from error
    except (KeyError, TypeError, AttributeError, OSError, ValueError, yaml.YAMLError, OmegaConfBaseException) as error:
        raise click.BadParameter(
            f"expected a YAML file with a section {context.info_name}, its options by name, got {value!r} "
            f"({' '.join(f'{type(error).__name__}: {error}'.split())})"
        ) from error


def split_versions(context: click.Context, option: click.Parameter, value: Any) -> Any:
    """As Kedro splits them."""
    try:
        return _split_load_versions(context, option, value)
    except KedroCliError as error:
        raise click.BadParameter(str(error)) from error


def check_runner_params(runner: str | None, given: dict[str, Any]) -> None:
    """Refuse names that are not among the runner's own."""
    name = runner or "SequentialRunner"
    taken = inspect.signature(load_obj(name, "kedro.runner")).parameters
    for parameter in given:
        if parameter not in taken:
            near = get_close_matches(parameter, taken, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(taken)}"
            raise click.BadParameter(f"--runner-params: {name} has no {parameter!r}: {hint}")


def _checked(command: Callable[..., Any]) -> Callable[..., Any]:
    """Kedro's command, once its runner and the runner's parameters are known to fit each other."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        check_runner_params(options.get("runner"), options.get("runner_params") or {})
        try:
            return command(*args, **options)
        except KedroCliError as error:  # which Kedro itself would show without its message
            raise click.UsageError(str(error)) from error

    return run


#: What Kedro reads an option by -> what it is read by here.
READERS = {_split_params: split_params, _config_file_callback: read_file, _split_load_versions: split_versions}


def read_by(command: click.Command) -> None:
    """Let a command of Kedro read these so."""
    for option in command.params:
        if option.name == "runner" and option.callback is None:
            option.callback = check_runner
        elif option.callback in READERS:
            option.callback = READERS[option.callback]
    if command.callback and any(option.name == "runner_params" for option in command.params):
        command.callback = _checked(command.callback)
