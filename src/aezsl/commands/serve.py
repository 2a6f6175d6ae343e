"""``aezsl serve``: a trained model on a port of this machine."""

import sys

import click


@click.command()
@click.argument("model", default="photos", envvar="AEZSL_SERVE_MODEL")
@click.option("--host", default="127.0.0.1", show_default=True, envvar="AEZSL_SERVE_HOST", help="Where it listens.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=5001, show_default=True, envvar="AEZSL_SERVE_PORT", help="And how."
)
@click.option(
    "--names",
    default="",
    envvar="AEZSL_SERVE_NAMES",
    help="Names by which clients may call it, with commas, beside --host and localhost.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    envvar="AEZSL_SERVE_WORKERS",
    help="Processes, each with the model; one that dies is replaced.",
)
@click.option("--json", "json_lines", is_flag=True, envvar="AEZSL_SERVE_JSON", help="Lines of the log as JSON.")
def serve(model: str, host: str, port: int, names: str, workers: int, json_lines: bool) -> None:
    """Serve MODEL: a file model.npz, an exported folder, models:/<name>@<alias>, a method, or photos (the default).

    POST /invocations names images; /healthz, /readyz and /metrics are for whoever watches the service.
    """
    from aezsl.errors import AezslError
    from aezsl.serving.server import NAMES, ServeSettings, reserve
    from aezsl.serving.server import serve as run
    from aezsl.serving.service import make_served

    known = tuple(dict.fromkeys([*NAMES, host, *(name.strip() for name in names.split(",") if name.strip())]))
    try:
        with reserve(port, host) as listening:
            about = make_served(model).about  # what cannot be loaded is told before anything is started
            click.echo(f"{about['method']}, version {about['version']}, is at http://{host}:{port} in a moment.")
            run(ServeSettings(model, known, json_lines, workers), listening)
    except AezslError as error:
        raise click.ClickException(str(error)) from error
    sys.exit(0)
