"""``aezsl``: the package's own command, for photos anywhere; a project has ``kedro ...`` beside it."""

import click

from aezsl.commands.classify import classify, name
from aezsl.commands.describe import describe


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="aezsl")
def main() -> None:
    """Name photos by any words, offline."""


main.add_command(classify)
main.add_command(name)
main.add_command(describe)
