"""``describe``: drafts of descriptions for a person to edit, as ``kedro describe`` or ``aezsl describe``."""

from pathlib import Path

import click


@click.command()
@click.argument("names")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("classes.csv"),
    show_default=True,
    help="The table to write. A class with a folder of images beside it, images/<class>, is a seen one.",
)
def describe(names: str, out: Path) -> None:
    """Draft classes.csv for the classes NAMES, such as "red fox, melon", offline.

    A description says what WordNet and published sentences say of a class, or of the known ones that are most like it.
    It begins with DRAFT: read and edit it, then delete that word.
    """
    from aezsl.data.spreadsheet import escaped
    from aezsl.encoders.knowledge.drafts import draft_descriptions
    from aezsl.errors import AezslError, counted
    from aezsl.formats.names import folder_of
    from aezsl.machine.files import written_whole
    from aezsl.serving.classes import class_table

    if out.exists():
        raise click.ClickException(f"{out} is there already: name another file by --out, or move it away")
    try:
        classes, _ = class_table([name.strip() for name in names.split(",") if name.strip()])
        if classes is None:
            raise click.ClickException('name the classes to describe, such as "red fox, melon"')
        table, missing = draft_descriptions(classes)
    except AezslError as error:
        raise click.ClickException(str(error)) from error
    images = out.parent / "images"
    roles = ["seen" if (images / folder_of(name)).is_dir() else "unseen" for name in table["class_name"]]
    table = table.assign(role=roles, description=table["description"].map(escaped))
    table = table[["class_name", "role", "wnid", "description"]]
    with written_whole(out) as temporary:
        table.to_csv(temporary, index=False, encoding="utf-8-sig")
    for row in table.itertuples():
        click.echo(f"{row.class_name} ({row.role}): {row.description}")
    if missing:
        click.echo(f"note: {missing}", err=True)
    click.echo(f"{counted(len(table), 'drafts are', 'draft is')} in {out}: read and edit before use", err=True)
