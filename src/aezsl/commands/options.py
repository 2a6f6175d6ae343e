"""Options that the project's own commands share."""

from typing import Any

import click
from kedro.framework.cli.utils import split_string
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError


def split_params(context: click.Context, option: click.Parameter, value: Any) -> dict[str, Any]:
    """``--params`` as ``kedro run`` takes it: name=value pairs with commas between them, as nested mappings."""
    items = split_string(context, option, value)
    if wrong := [item for item in items if not item.partition("=")[1]]:
        raise click.BadParameter(f"expected name=value pairs with commas between them, got {wrong[0]!r}")
    try:
        return dict(OmegaConf.to_container(OmegaConf.from_dotlist(items)))  # type: ignore[arg-type]
    except (YAMLError, OmegaConfBaseException, ValueError) as error:
        raise click.BadParameter(f"{value!r} cannot be read ({' '.join(str(error).split())})") from error
