"""``kedro app``: a page on this machine to try the trained models of the project."""

import sys
from pathlib import Path
from typing import Any

import click
from kedro.framework.cli.utils import KedroCliError, _split_params, env_option

#: What the page runs to train on a collection of a visitor's own images, as one would type it.
TRAINING = (
    *(sys.executable, "-m", "kedro", "run", "--env=own", "--pipeline=aezsl"),
    "--params=own.name={name},own.root=data/01_raw/{name}",
)


@click.command()
@env_option
@click.option(
    "--params", type=click.UNPROCESSED, default="", callback=_split_params, help="As of kedro run: method=..."
)
@click.option("--port", type=click.IntRange(1, 65535), default=7860, show_default=True, help="Where the page is.")
def app(env: str | None, params: dict[str, Any], port: int) -> None:
    """Open a page to try trained models: drop photos, describe classes, see why."""
    from aezsl.app.server import serve
    from aezsl.errors import AezslError

    try:
        place = find_place(env, params)
        if not (place.models / place.method / "model.npz").is_file():
            chosen = f" --env={env}" if env else ""
            raise KedroCliError(
                f"{place.method} has not been trained yet on {place.benchmark}: run kedro run{chosen} "
                f"--pipeline={place.method} first"
            )
        serve(place, port)
    except AezslError as error:
        raise KedroCliError(str(error)) from error


def find_place(env: str | None, params: dict[str, Any]) -> Any:
    """Where an environment keeps its models, its tables and its runs."""
    from kedro.framework.session import KedroSession
    from kedro.framework.startup import bootstrap_project

    from aezsl.app.library import Place

    root = Path.cwd()
    bootstrap_project(root)
    with KedroSession.create(root, env=env, runtime_params=params) as session:
        context = session.load_context()
        catalog = context.catalog
        tracking, ui = context.mlflow.server.mlflow_tracking_uri, context.mlflow.ui
        return Place(
            root=root,
            models=catalog.load("models").folder.resolve(),
            tables=Path(catalog.get("images")._filepath).parent,
            training=TRAINING,
            method=context.params["predict"]["method"],
            tracking=tracking,
            runs_page=tracking if tracking.startswith("http") else f"http://{ui.host}:{ui.port}",
        )
