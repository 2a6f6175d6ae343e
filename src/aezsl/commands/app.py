"""``kedro app``: a page on this machine to try the photo model and the trained models of the project."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from kedro.framework.cli.utils import env_option, split_string
from kedro.utils import find_kedro_project
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

if TYPE_CHECKING:
    from aezsl.app.library import Place

#: What the page runs to train on a collection of a visitor's own images, as one would type it.
TRAINING = (
    *(sys.executable, "-m", "kedro", "run", "--env=own", "--pipeline=aezsl"),
    "--params=own.name={name},own.root=data/01_raw/{name}",
)


def split_params(context: click.Context, option: click.Parameter, value: Any) -> dict[str, Any]:
    """``--params`` as ``kedro run`` takes it: name=value pairs with commas between them, as nested mappings."""
    items = split_string(context, option, value)
    if wrong := [item for item in items if not item.partition("=")[1]]:
        raise click.BadParameter(f"expected name=value pairs with commas between them, got {wrong[0]!r}")
    try:
        return dict(OmegaConf.to_container(OmegaConf.from_dotlist(items)))  # type: ignore[arg-type]
    except (YAMLError, OmegaConfBaseException, ValueError) as error:
        raise click.BadParameter(f"{value!r} cannot be read ({' '.join(str(error).split())})") from error


@click.command()
@env_option
@click.option("--params", type=click.UNPROCESSED, default="", callback=split_params, help="As of kedro run: method=...")
@click.option("--port", type=click.IntRange(1, 65535), default=7860, show_default=True, help="Where the page is.")
def app(env: str | None, params: dict[str, Any], port: int) -> None:
    """Open a page: drop photos, type words, see names. It needs no run before.

    With an environment or parameters it opens on the trained model that they name.
    """
    from aezsl.app.server import serve
    from aezsl.errors import AezslError
    from aezsl.serving.server import HOST, reserve

    try:
        with reserve(port) as listening:  # first of all: whoever has to choose another port learns it at once
            place = find_place(env, params)
            click.echo(f"In a moment the page is at http://{HOST}:{port}, on this machine alone; Ctrl+C ends it.")
            serve(place, listening)
        click.echo(
            "The page is closed. Photos that were shown to it are gone; what was taught to it is in data/01_raw."
        )
    except AezslError as error:
        raise click.ClickException(str(error)) from error


def find_place(env: str | None, params: dict[str, Any]) -> "Place":
    """Where an environment keeps its models, its tables and its runs.

    The method that an environment or parameters name is to be shown first; refused where it is not trained.
    """
    from kedro.framework.session import KedroSession

    from aezsl.app.library import Place
    from aezsl.datasets.files import dataset_path

    # Outside a run Kedro compares the parameters of all pipelines, and warns of settings classes that share a name.
    logging.getLogger("kedro.validation").setLevel(logging.ERROR)
    root = find_kedro_project(Path.cwd()) or Path.cwd()
    with KedroSession.create(root, env=env, runtime_params=params) as session:
        context = session.load_context()  # type: ignore[attr-defined]  # a Kedro session has one
        models, method = context.catalog.load("models"), context.config_loader["parameters"]["predict"]["method"]
        is_named = bool(env or params)
        if is_named and method not in models.trained():
            models.load(method)  # says what to run first
        mlflow: Any = getattr(context, "mlflow", None)  # kedro-mlflow leaves its settings here
        tracking = mlflow.server.mlflow_tracking_uri if mlflow else ""
        return Place(
            root=root,
            models=models.folder.resolve(),
            tables=dataset_path(context.catalog, "images").parent,
            method=method if is_named else "",
            tracking=tracking,
            training=TRAINING,
            results=dataset_path(context.catalog, f"{method}.record").parent.parent,
            **_runs(tracking, mlflow),
        )


def _runs(tracking: str, mlflow: Any) -> dict[str, str]:
    """Where the page of the runs is, and what opens it where that is not a server already."""
    if tracking.startswith("http") or not mlflow:
        return {"runs_page": tracking}
    host, port = mlflow.ui.host, mlflow.ui.port
    command = f"mlflow ui --backend-store-uri {tracking} --host {host} --port {port}"
    return {"runs_page": f"http://{host}:{port}", "runs_command": command}
