"""``aezsl``: the package's own command, for photos anywhere; a project has ``kedro ...`` beside it."""

import click

from aezsl.commands.classify import classify, name
from aezsl.commands.correct import correct
from aezsl.commands.describe import describe
from aezsl.commands.serve import serve
from aezsl.hooks import crash


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="aezsl")
def main() -> None:
    """Name photos by any words, offline; serve a model."""
    crash.install(log="")  # a folder of photos is no place for a log


main.add_command(classify)
main.add_command(name)
main.add_command(correct)
main.add_command(serve)
main.add_command(describe)
