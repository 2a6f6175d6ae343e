"""``correct``: names that a user gives to photos of a folder, which ``name`` follows."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from aezsl.commands.classify import DEVICE, LABELS, LABELS_FILE, MODEL, given_labels, name_photos
from aezsl.errors import counted

if TYPE_CHECKING:
    from aezsl.serving.trained import Confused

#: Photos worth a look that are listed.
ASKED = 3


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("photo", required=False)
@click.argument("name", required=False)
@click.option("--undo", is_flag=True, help="Take back the last correction, or the last one of PHOTO.")
@click.option(
    "--ask",
    is_flag=True,
    help="Name the folder and list three photos worth a look, and the labels that are mixed up most; needs --labels.",
)
@click.option(
    "--try", "tried", help='What another description changes: "shirt: has a collar and buttons"; needs --labels.'
)
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
    tried: str | None,
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

    asked = [photo is not None and not undo, undo, ask, tried is not None, collection is not None]
    if sum(asked) != 1 or (asked[0] and name is None) or (undo and name is not None):
        raise click.UsageError(
            'give a photo and its name, or one of --undo, --ask, --try and --collection, such as fox.jpg "red fox"'
        )
    try:
        corrections = read_corrections(folder)
        if ask:
            _ask(folder, labels, labels_file, model, device)
        elif tried is not None:
            _try(folder, tried, labels, labels_file, model, device)
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
    named = name_photos([str(folder)], labels, labels_file, model, device, together=True, multi=False, ask=ASKED)
    texts, width = named.answers.texts(named.none), max(len(named.shown[place]) for place in named.worth_a_look)
    for place in named.worth_a_look:
        click.echo(f"{named.shown[place]:<{width}}  {texts[place]}")
    for pair in named.confused:
        like = [f"{name} is more like {', '.join(known)}" for name, known in zip(*pair[::2], strict=True) if known]
        click.echo("; ".join([f"mixed up: {_mixed_up(pair)}", *like]))


def _mixed_up(pair: "Confused") -> str:
    return f"{pair.names[0]} and {pair.names[1]}, about {counted(round(pair.photos), 'photos', 'photo')}"


def _try(folder: Path, line: str, labels: str | None, labels_file: Path | None, model: str | None, device: str) -> None:
    """Name the folder with another description of a label; what that changes."""
    from aezsl.errors import DataError
    from aezsl.serving.classes import class_table
    from aezsl.serving.zero_shot import name_images

    table, _ = class_table(given_labels(labels, labels_file))
    names = [] if table is None else table["class_name"].tolist()
    texts = {} if table is None else dict(zip(names, table.get("text", table["class_name"]), strict=True))
    name, text = (part.strip() for part in line.partition(":")[::2])
    if name not in texts or not text or len(names) < 2:
        raise DataError(f'{line!r} describes none of the labels: give one of them and its description, "name: text"')
    others = [(name, other) for other in names if other != name]
    before, after = (
        name_images(folder, given, model, device, True, False, ASKED, others)
        for given in (texts, {**texts, name: text})
    )
    for photo, old, new in zip(before.shown, before.names, after.names, strict=True):
        if old != new:
            click.echo(f"{photo}  {old} -> {new}")
    pair = max((one for one in before.confused if name in one.names), key=lambda one: one.photos)
    now = next(one for one in after.confused if set(one.names) == set(pair.names))
    click.echo(f"mixed up before: {_mixed_up(pair)}; now about {now.photos:.0f}")


def _take_over(folder: Path, place: Path, labels: str | None, labels_file: Path | None) -> None:
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
    click.echo(f"{counted(len(corrected), 'photos are', 'photo is')} in {place}, with classes.csv")
