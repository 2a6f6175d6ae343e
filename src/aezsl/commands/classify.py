"""``kedro classify``: names of an image, or of all images of a folder, among labels that the command gives."""

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click
from kedro.utils import find_kedro_project


@click.command()
@click.argument("image")
@click.option("--labels", required=True, help='The names to choose among: "a red fox, a melon".')
@click.option("--model", help="A method that has been trained here, or the file of a model. [own data's, else emoji's]")
@click.option("--top", type=click.IntRange(min=1), help="How many labels to print per image. [all]")
@click.option("--device", default="auto", show_default=True, help="As feature_extraction.device.")
def classify(image: str, labels: str, model: str | None, top: int | None, device: str) -> None:
    """Name an image, or all images of a folder: labels with their probabilities, as JSON.

    Where the best one is too improbable, "none of these" stands before them.
    """
    from aezsl.errors import AezslError
    from aezsl.formats.image_folders import read_new_images
    from aezsl.serving.zero_shot import classify as named

    project = find_kedro_project(Path.cwd()) or Path()
    try:
        with redirect_stdout(sys.stderr):  # the answer alone is for whoever reads the output
            if Path(image).is_dir():
                paths = read_new_images(Path(image)).images["path"].tolist()
                answers: Any = dict(zip(paths, named(paths, labels, model, top, project, device), strict=True))
            else:
                answers = named(image, labels, model, top, project, device)
    except AezslError as error:
        raise click.ClickException(str(error)) from error
    click.echo(json.dumps(answers, indent=2, ensure_ascii=False))
