"""``correct``: names that a user gives to photos of a folder, which ``name`` follows."""

from pathlib import Path

import click

from aezsl.commands.classify import DEVICE, LABELS, LABELS_FILE, MODEL, name_photos

#: Photos worth a look that are listed.
ASKED = 3


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("photo", required=False)
@click.argument("name", required=False)
@click.option("--undo", is_flag=True, help="Take back the last correction, or the last one of PHOTO.")
@click.option("--ask", is_flag=True, help="Name the folder and list three photos worth a look; needs --labels.")
@click.option(
    "--collection",
    type=click.Path(path_type=Path),
    help="Copy the corrected photos to this new folder as seen classes, such as data/01_raw/birds; needs --labels.",
)
@LABELS
@LABELS_FILE
@MODEL
@DEVICE
def correct(
    folder: Path,
    photo: str | None,
    name: str | None,
    undo: bool,
    ask: bool,
    collection: Path | None,
    labels: str | None,
    labels_file: Path | None,
    model: str | None,
    device: str,
) -> None:
    """Say what a photo shows: aezsl correct photos fox.jpg "red fox".

    NAME may be any class, also a new one, or "none of these". Corrections are in corrections.csv beside the photos.
    The next aezsl name, kedro name and predict read them, and the names of other photos follow.
    """
    from aezsl.errors import AezslError
    from aezsl.formats.corrections import CORRECTIONS, read_corrections

    asked = [photo is not None and not undo, undo, ask, collection is not None]
    if sum(asked) != 1 or (asked[0] and name is None) or (undo and name is not None):
        raise click.UsageError(
            'give a photo and its name, or one of --undo, --ask and --collection, such as fox.jpg "red fox"'
        )
    try:
        corrections = read_corrections(folder)
        if ask:
            _ask(folder, labels, labels_file, model, device)
        elif collection is not None:
            _take_over(folder, collection, labels, labels_file)
        elif undo:
            after, path = corrections.undo(photo)
            given = after.names()[0].get(path)
            click.echo(f"{path} is corrected to {given} again" if given else f"{path} is not corrected any more")
        else:
            assert photo is not None and name is not None  # noqa: PT018  # checked above
            names = corrections.correct(photo, name).names()[0]
            path = corrections.place_of(photo)
            click.echo(f"{path} is {names[path]}; corrected photos in {folder / CORRECTIONS}: {len(names)}")
    except AezslError as error:
        raise click.ClickException(str(error)) from error


def _ask(folder: Path, labels: str | None, labels_file: Path | None, model: str | None, device: str) -> None:
    named = name_photos(str(folder), labels, labels_file, model, device, together=True, multi=False, ask=ASKED)
    texts, width = named.answers.texts(named.none), max(len(named.shown[place]) for place in named.worth_a_look)
    for place in named.worth_a_look:
        click.echo(f"{named.shown[place]:<{width}}  {texts[place]}")


def _take_over(folder: Path, place: Path, labels: str | None, labels_file: Path | None) -> None:
    from aezsl.commands.classify import given_labels
    from aezsl.evaluation.confidence import NONE_OF_THESE
    from aezsl.formats.corrections import read_corrections, take_over
    from aezsl.serving.classes import class_table

    table, _ = class_table(given_labels(labels, labels_file))
    known = {} if table is None else dict(zip(table["class_name"], table.get("text", table["class_name"]), strict=True))
    names, doubts = read_corrections(folder).names()
    corrected = {photo: name for photo, name in names.items() if name != NONE_OF_THESE}
    take_over(folder, corrected, dict.fromkeys(corrected.values(), "") | known, place)
    for doubt in doubts:
        click.echo(f"note: {doubt}", err=True)
    click.echo(f"{len(corrected)} photos are in {place}, with classes.csv")
