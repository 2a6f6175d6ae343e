"""``classify`` and ``name``: names of photos among words, as ``kedro ...`` in a project or ``aezsl ...`` anywhere."""

import csv
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from aezsl.errors import counted

if TYPE_CHECKING:
    from aezsl.serving.photos import Named

LABELS = click.option("--labels", help='The names to choose among: "a red fox, a melon".')
LABELS_FILE = click.option(
    "--labels-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file with one name per line, or a table with class_name and description.",
)
MODEL = click.option(
    "--model", help="photos (needs no training), a method that has been trained here, or the file of a model. [photos]"
)
_MULTI = click.option(
    "--multi", is_flag=True, help="Several labels may be true: every label has a probability of its own, yes or no."
)
DEVICE = click.option("--device", default="auto", show_default=True, help="As feature_extraction.device.")


@click.command()
@click.argument("images", nargs=-1, required=True, metavar="IMAGE...")
@LABELS
@LABELS_FILE
@MODEL
@click.option("--top", type=click.IntRange(min=1), help="How many labels to print per image. [all]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_MULTI
@DEVICE
def classify(
    images: tuple[str, ...],
    labels: str | None,
    labels_file: Path | None,
    model: str | None,
    top: int | None,
    as_json: bool,
    multi: bool,
    device: str,
) -> None:
    """Name a photo: labels with their probabilities, the best first. Of several photos, or a folder: a line for each.

    Where the best one is too improbable, its group stands before them, or "none of these". Labels have groups by a
    column group of --labels-file, or where WordNet has them. Every photo is named by itself.
    """
    several = len(images) > 1 or Path(images[0]).is_dir()
    named = name_photos(images, labels, labels_file, model, device, together=False, multi=multi)
    lines = named.answers.best(top).labels(named.none)
    if as_json:
        answers: Any = dict(zip(named.paths, lines, strict=True)) if several else lines[0]
        click.echo(json.dumps(answers, indent=2, ensure_ascii=False))
    elif several:
        _print_table(named)
    else:
        width = max(len(line["label"]) for line in lines[0])
        for line in lines[0]:
            is_none = "group" not in line and line["label"] not in named.answers.names[0]
            click.echo(line["label"] if is_none else f"{line['label']:<{width}}  {line['score']:4.0%}")
    _end(named)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@LABELS
@LABELS_FILE
@MODEL
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@click.option("--csv", "as_csv", type=click.Path(dir_okay=False, path_type=Path), help="Write the names to this file.")
@click.option(
    "--sort", type=click.Choice(["copies", "links", "move"]), help="Put the photos into folders by name, see --to."
)
@click.option("--to", type=click.Path(path_type=Path), help="The folder of sorted photos. [<folder>_sorted]")
@click.option("--undo", is_flag=True, help="Bring photos back that --sort move has moved to the folder of --to.")
@click.option("--alone", is_flag=True, help="Name every photo by itself, not the folder as a whole.")
@_MULTI
@DEVICE
def name(
    folder: Path,
    labels: str | None,
    labels_file: Path | None,
    model: str | None,
    as_json: bool,
    as_csv: Path | None,
    sort: str | None,
    to: Path | None,
    undo: bool,
    alone: bool,
    multi: bool,
    device: str,
) -> None:
    """Name all photos of a folder, one line each; sort them into folders by name."""
    target = to or folder.resolve().with_name(f"{folder.resolve().name}_sorted")
    if undo:
        from aezsl.errors import AezslError
        from aezsl.formats.sorted_folders import undo_moves

        try:
            click.echo(f"{_photos(undo_moves(target))} back in place")
        except AezslError as error:
            raise click.ClickException(str(error)) from error
        return
    if sort == "move" and (n := _finish_moves(target)):
        click.echo(f"{_photos(n)} in {target}, as the run had named them that was stopped", err=True)
        return
    if sort not in (None, "move") and target.resolve().is_relative_to(folder.resolve()):
        raise click.UsageError(
            f"--to {target} is in {folder}, where copies would be named as photos: give another folder"
        )
    named = name_photos([str(folder)], labels, labels_file, model, device, together=not alone, multi=multi)
    if as_json:
        lines = dict(zip(named.paths, named.answers.labels(named.none), strict=True))
        click.echo(json.dumps(lines, indent=2, ensure_ascii=False))
    elif as_csv is None:
        _print_table(named)
    if as_csv is not None:
        _write_csv(named, as_csv)
        click.echo(f"{counted(len(named.paths), 'names are', 'name is')} in {as_csv}", err=as_json)
    if sort is not None:
        _sort(named, folder, target, sort)
    _end(named)


def name_photos(
    images: Sequence[str],
    labels: str | None,
    labels_file: Path | None,
    model: str | None,
    device: str,
    together: bool,
    multi: bool,
    ask: int = 0,
) -> "Named":
    """Names of photos or a folder as the options say; what a user should know is printed."""
    from aezsl.errors import AezslError
    from aezsl.serving.photos import name_one_photo

    given = given_labels(labels, labels_file)
    places = [Path(image) for image in images]
    if len(places) > 1 and (folders := [place for place in places if place.is_dir()]):
        raise click.UsageError(f"give photos, or one folder: {folders[0]} is a folder")
    try:
        with redirect_stdout(sys.stderr):  # the answer alone is for whoever reads the output
            named = name_one_photo(places[0], given, model, device, multi) if len(places) == 1 else None
            if named is None:
                from aezsl.serving.zero_shot import name_images

                named = name_images(
                    places if len(places) > 1 else places[0], given, model, device, together, multi, ask
                )
    except AezslError as error:
        raise click.ClickException(str(error)) from error
    for warning in named.warnings:
        click.echo(f"note: {warning}", err=True)
    return named


def given_labels(labels: str | None, labels_file: Path | None) -> Any:
    """What one of the two options gives."""
    if (labels is None) == (labels_file is None):
        raise click.UsageError("give the names to choose among by --labels or by --labels-file, one of the two")
    return labels if labels_file is None else _read_labels(labels_file)


def _read_labels(path: Path) -> Any:
    """A table as it is; else one label per line."""
    from aezsl.errors import DataError
    from aezsl.formats.class_table import file_text

    try:
        text = file_text(path)
    except DataError as error:
        raise click.ClickException(str(error)) from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return text if lines and "class_name" in lines[0] else lines


def _rows(named: "Named") -> list[tuple[str, str, str, str]]:
    answers = named.answers
    columns = named.shown, answers.texts(named.none), answers.sureness, answers.said(named.none), answers.names.tolist()
    mentioned = zip(answers.names[range(len(answers.names)), answers.groups.best], *columns, strict=True)
    return [
        (
            path,
            text,
            "corrected" if row in named.corrected else f"{share:.0%}",
            next((one for one in names if one not in said and one != best), ""),
        )
        for row, (best, path, text, share, said, names) in enumerate(mentioned)
    ]


def _print_table(named: "Named") -> None:
    rows = [("photo", "name", "", "or"), *_rows(named)]
    widths = [min(max(len(row[i]) for row in rows), 48) for i in range(3)]
    for row in rows:
        cells = [f"{row[0]:<{widths[0]}}", f"{row[1]:<{widths[1]}}", f"{row[2]:>{widths[2]}}", row[3]]
        click.echo("  ".join(cells).rstrip())


def _write_csv(named: "Named", path: Path) -> None:
    from aezsl.data.spreadsheet import escaped
    from aezsl.machine.files import written_whole

    answers = named.answers
    with written_whole(path) as temporary, temporary.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "name", "best", "probability", "name_probability"])
        columns = named.paths, named.names, answers.predicted, answers.probabilities[:, 0], answers.sureness
        for image, name, best, share, sureness in zip(*columns, strict=True):
            writer.writerow([*map(escaped, (image, name, best)), f"{share:.4f}", f"{sureness:.4f}"])


def _sort(named: "Named", folder: Path, target: Path, how: Any) -> None:
    from aezsl.errors import AezslError
    from aezsl.formats.sorted_folders import former_copies, sort_files, sorted_places

    files = dict(zip(sorted_places(named.shown, named.names), named.paths, strict=True))
    try:
        sort_files(target, files, how)
    except AezslError as error:
        raise click.ClickException(str(error)) from error
    undo = f"; back: aezsl name {folder} --undo --to {target}" if how == "move" else ""
    click.echo(f"{_photos(len(files))} in {target}, by name{undo}", err=True)
    if former := former_copies(target, files, how):
        click.echo(
            f"note: {_photos(len(former))} there by an earlier name, too, such as {former[0]}: remove {target} and "
            "sort again, or name another folder by --to",
            err=True,
        )


def _finish_moves(target: Path) -> int:
    from aezsl.errors import AezslError
    from aezsl.formats.sorted_folders import finish_moves

    try:
        return finish_moves(target)
    except AezslError as error:
        raise click.ClickException(str(error)) from error


def _end(named: "Named") -> None:
    """List what could not be read; the exit code tells it, too."""
    if named.unreadable:
        click.echo(f"{counted(len(named.unreadable), 'files', 'file')} cannot be read:", err=True)
        for reason in _few(list(named.unreadable.values())):  # which begins with the file
            click.echo(f"  {reason}", err=True)
        sys.exit(3)


def _few(items: Sequence[str], n: int = 20) -> list[str]:
    return [*items[:n], *([f"... and {len(items) - n} more"] if len(items) > n else [])]


def _photos(n: int) -> str:
    return counted(n, "photos are", "photo is")
