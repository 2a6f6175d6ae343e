"""The project's own commands, beside Kedro's: ``kedro repeat``, ``classify``, ``pipelines`` and ``app``."""

from typing import Any

import click
from kedro.framework.cli.project import run  # Kedro's own, which ``python -m aezsl`` finds here
from kedro.framework.cli.utils import env_option, split_string

from aezsl.commands.app import app, split_params
from aezsl.commands.classify import classify, name
from aezsl.commands.correct import correct
from aezsl.commands.describe import describe
from aezsl.commands.pipelines import pipelines

__all__ = ["cli", "repeat", "run"]


@click.group(name="aezsl")
def cli() -> None:
    """Commands of this project."""


cli.add_command(classify)
cli.add_command(name)
cli.add_command(correct)
cli.add_command(describe)
cli.add_command(pipelines)
cli.add_command(app)


def _seeds(_: click.Context, __: click.Parameter, value: str) -> list[int]:
    try:
        seeds = [int(part) for part in value.split(",") if part.strip()]
    except ValueError:
        raise click.BadParameter(f"expected whole numbers with commas between them, got {value!r}") from None
    if len(set(seeds)) < len(seeds) or any(seed < 0 for seed in seeds):
        raise click.BadParameter(f"expected seeds from 0 on, each once, got {value!r}")
    return seeds


@cli.command()
@click.option(
    "--pipeline", "-p", "--pipelines", required=True, callback=split_string, help="What to repeat, one or more."
)
@click.option("--splits", type=click.IntRange(min=1), help="How many class splits: those of the seeds 0, 1, ...")
@click.option("--seeds", default="", callback=_seeds, help="The seeds of the splits instead, such as 3,4,7.")
@click.option("--reference", help="The method that the others are compared with. [eszsl, or the base of the others]")
@click.option("--metric", help="What differences are of. [per-class accuracy; gzsl: harmonic mean, calibrated]")
@click.option("--name", default="splits", show_default=True, help="Of the folder that keeps the results together.")
@click.option(
    "--runner",
    "-r",
    default="SequentialRunner",
    help="As of kedro run; ThreadRunner: methods side by side.",
)
@env_option
@click.option("--params", type=click.UNPROCESSED, default="", callback=split_params, help="As of kedro run.")
def repeat(
    pipeline: list[str],
    splits: int | None,
    seeds: list[int],
    reference: str | None,
    metric: str | None,
    name: str,
    runner: str,
    env: str | None,
    params: dict[str, Any],
) -> None:
    """Run pipelines over several class splits: means, deviations, paired differences.

    Which classes are unseen is drawn for every split, by its seed, also where the data names some. What is
    finished and has not changed since is taken over, so that an interrupted command resumes where it was.
    """
    from aezsl.commands.repeat import Repeat
    from aezsl.errors import AezslError

    if bool(splits) == bool(seeds):
        raise click.ClickException("kedro repeat needs --splits=<how many>, or --seeds=<which>, one of the two")
    try:
        repetition = Repeat(pipeline, seeds or list(range(splits or 0)), env, params, runner, name, reference, metric)
        repetition.run()
    except AezslError as error:
        raise click.ClickException(str(error)) from error
