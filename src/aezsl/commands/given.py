"""``--params`` of every command, Kedro's own ``run`` among them: what cannot be read is told in a sentence."""

from typing import Any

import click
import yaml
from kedro.framework.cli.utils import _split_params
from omegaconf.errors import OmegaConfBaseException


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


def read_by(command: click.Command) -> None:
    """Let a command of Kedro read its parameters so."""
    for option in command.params:
        if option.callback is _split_params:
            option.callback = split_params
