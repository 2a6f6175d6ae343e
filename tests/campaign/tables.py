"""Tables of classes and folders of images: what is accepted has the classes, attributes and images that were meant."""

import csv
import io
import os
import tempfile
import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.formats.class_table import read_class_table
from aezsl.formats.folder import Folder
from aezsl.formats.image_folders import read_new_images
from aezsl.formats.images import IMAGE_SUFFIXES
from tests.campaign.damage import damaged, odd_value, pick, same_numbers

NAMES = (
    "cat",
    "dog",
    "bird, small",
    "café",
    'the "best"',
    "狐",
    "$5 and $6",
    "=SUM(A1)",
    " lynx",
    "nan",
    "1",
    "a/b",
    "True",
)
COUNTED = (
    *(
        "id",
        "Index",
        "nr",
        "no.",
        "#",
        "Unnamed: 0",
        "class_id",
        "ROW",
        "",
        "Nr.",
        "S. No",
        "Unnamed: 0.1",
        "row.names",
    ),
    *("classIdx", "index.1", "lfd. Nr.", "label"),
)
#: What people take for the same name, each made of another.
ALIKE = (
    *(str.upper, lambda name: name + "\u200b", lambda name: f" {name}\u00a0", lambda name: name + " \u200d"),
    *(lambda name: unicodedata.normalize("NFD", name), lambda name: name),
)
ODD_NUMBERS = ("1e39", "inf", "-inf", "nan", "x", "1e-60", "", "1,5", "0x10", "１", "1_000", "--1", "1e999", "NA")


def _meant(rng):
    names = [str(name) for name in rng.permutation(NAMES)[: int(rng.integers(2, len(NAMES)))]]
    columns = {"legs": rng.integers(0, 9, len(names)) * 1.0, "size": rng.normal(size=len(names)).round(3)}
    return names, pd.DataFrame(columns)


def _text(frame, rng):
    """As some program writes it."""
    table = io.StringIO()
    options = {"delimiter": pick(rng, ",;\t"), "lineterminator": pick(rng, ("\n", "\r\n"))}
    quoting = pick(rng, (csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC))
    frame.to_csv(
        table, index=False, sep=options["delimiter"], lineterminator=options["lineterminator"], quoting=quoting
    )
    return pick(rng, ("", "\n", "\n\n")) * int(rng.random() < 0.1) + table.getvalue() + "\n" * int(rng.integers(3))


def class_table(rng):
    """A table with one thing wrong, or none."""
    names, meant = _meant(rng)
    frame = meant.assign(class_name=names)[list(rng.permutation(["legs", "size", "class_name"]))]
    attributes = [column for column in frame if column != "class_name"]
    text, harmless, encodings = None, True, ("utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16")
    match rng.integers(14):
        case 11:
            again = frame.iloc[[0]].assign(class_name=pick(rng, ALIKE)(names[0]))
            frame, harmless, encodings = pd.concat([frame, again]), False, ("utf-8",)  # others cannot hold the signs
        case 12:
            strange = pick(rng, ("\0", "\x1b", "\x07")) + names[0]
            frame, harmless = frame.assign(class_name=[strange, *names[1:]]), False
        case 0:
            text = frame.to_csv()  # with its index
            harmless = False
        case 1:
            frame, harmless = frame.assign(**{pick(rng, COUNTED): rng.permutation(len(names))}), False
        case 2:
            again = pick(rng, ("legs", " legs ", "legs.1", "size.2", "class_name", "class_name.1"))
            text, harmless = frame.assign(other=1.0).rename(columns={"other": again}).to_csv(index=False), False
        case 3:
            values = frame["size"].astype(str).astype(object)
            values.iloc[int(rng.integers(len(names)))] = pick(rng, ODD_NUMBERS)
            frame, harmless = frame.assign(size=values), False
        case 4:
            text = damaged(frame.to_csv(index=False).encode(), rng).decode(errors="replace")
            classes, found = read_class_table(Path("classes.csv"), text)
            return _plain(classes, found)  # what was typed may be another table
        case 5:
            frame, harmless = pd.concat([frame, frame.sample(1, random_state=int(rng.integers(99)))]), False
        case 6:
            start = int(rng.integers(2))
            frame = frame.assign(counted=np.arange(len(names)) + start)
            harmless = len(names) < 5
            meant, attributes = meant.assign(counted=frame["counted"]), [*attributes, "counted"]
        case 7:
            text, harmless = (
                "\n".join(line + pick(rng, ("", ",", ",1,2")) for line in frame.to_csv().splitlines()),
                False,
            )
        case 8:
            frame = frame.assign(description=[f"it is {name}" for name in names])
        case 9:
            frame = frame.assign(**{pick(rng, ("description", "text")): ""})
            harmless = False
        case 10:
            frame, harmless = (
                frame.rename(columns={"class_name": pick(rng, ("Class_Name", "name", "class", "classname"))}),
                False,
            )
    text = _text(frame, rng) if text is None else text
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classes.csv"
        encoding = pick(rng, encodings)
        path.write_bytes(text.encode(encoding, errors="replace"))
        classes, found = read_class_table(path)
    expected = [unicodedata.normalize("NFC", name.strip()) for name in names]
    if not harmless or list(found) != attributes or (encoding != "latin-1" and list(classes["class_name"]) != expected):
        return False
    return same_numbers(np.vstack(classes["attributes"].tolist()), meant[attributes].to_numpy())


def _plain(classes, attributes):
    """Whether it is a table of classes at all: names of their own, finite numbers, as many as there are attributes."""
    names = list(classes["class_name"])
    unlike = len(set(names)) == len(names) and all(isinstance(name, str) and name for name in names)
    if "attributes" not in classes:
        return unlike and not attributes
    vectors = np.vstack(classes["attributes"].tolist())
    return unlike and vectors.shape == (len(names), len(attributes)) and bool(np.isfinite(vectors).all())


def _stray(root, rng):
    """Something that does not belong there, or looks as if it did not."""
    place = root / pick(rng, ("", "images", "images/ant", "images/bee"))
    match rng.integers(10):
        case 8:
            (place / f"again{int(rng.integers(3))}").symlink_to(root / pick(rng, ("images/ant", "images/bee")))
        case 9:
            images = sorted(path for path in root.rglob("*") if path.suffix in IMAGE_SUFFIXES and os.path.isfile(path))
            (place / f"same{int(rng.integers(3))}.png").symlink_to(pick(rng, images or [root]))
        case 0:
            os.mkfifo(place / "pipe.png")
        case 1:
            (place / "link.png").symlink_to(pick(rng, ("nowhere", "link.png", "/proc/1/cwd")))
        case 2:
            (place / pick(rng, (".hidden.png", "Thumbs.db", "notes.txt", "photo.heif", "photo.CR2", "noend"))).touch()
        case 3:
            (place / pick(rng, (".git", "__MACOSX", "folder.png", "spare"))).mkdir()
        case 4:
            (place / pick(rng, ("unlabeled", "_unlabeled", "Unlabelled"))).mkdir()
        case 5:
            os.close(os.open(os.fsencode(place) + b"/\xff.png", os.O_CREAT))
        case 6:
            (place / "loop").symlink_to(root)
        case _:
            (place / f"x{pick(rng, IMAGE_SUFFIXES).upper()}").touch()


def own_folder(rng):
    """Images of one's own with strange things among them: every image of a class folder is taken, with its class."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        accent = pick(rng, ("NFC", "NFD"))
        roles = {"ant": "seen", "bee": "seen", "café": "seen", ".net": "unseen", "_x": "unseen"}
        roles = dict(pick(rng, (list(roles.items()), list(roles.items())[:4])))
        table = "".join(f"{name},{role},{i}.5\n" for i, (name, role) in enumerate(roles.items()))
        (root / "classes.csv").write_text("class_name,role,size\n" + table)
        for name in roles:
            forms = ("NFC", "NFD") if rng.random() < 0.3 else (accent,)
            for form in forms:
                place = root / "images" / unicodedata.normalize(form, name)
                place.mkdir(parents=True, exist_ok=True)
                for number in range(int(rng.integers(1, 4))):
                    (place / f"{number}{pick(rng, IMAGE_SUFFIXES)}").touch()
        for _ in range(int(rng.integers(0, 4))):
            try:
                _stray(root, rng)
            except FileExistsError:
                continue
        if rng.random() < 0.3:
            path = root / "classes.csv"
            path.write_bytes(damaged(path.read_bytes(), rng))
            return bool(len(Folder(root=folder).read().images))
        found = Folder(root=folder).read().images
        listed = {
            file.resolve(): unicodedata.normalize("NFC", place.name)
            for place in (root / "images").iterdir()
            if unicodedata.normalize("NFC", place.name) in roles
            for file in place.iterdir()
            if os.path.isfile(file) and file.suffix.lower() in IMAGE_SUFFIXES and not file.name.startswith(".")
        }
        labelled = found.dropna(subset="class_name")
        labels = {Path(path).resolve(): label for path, label in labelled[["path", "class_name"]].to_numpy()}
    return labels == listed and len(labels) == len(labelled)


def new_images(rng):
    """A folder to be named, as deep and as strange as it may be: every image in it is listed, once, where it lies."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("images/ant", "images/bee", pick(rng, ("a/b/c", "é", "x.png"))):
            (root / name).mkdir(parents=True, exist_ok=True)
            for number in range(int(rng.integers(0, 3))):
                (root / name / f"{number}{pick(rng, IMAGE_SUFFIXES)}").touch()
        for _ in range(int(rng.integers(0, 5))):
            try:
                _stray(root, rng)
            except FileExistsError:
                continue
        if rng.random() < 0.4:
            header = pick(rng, ("class_name", "name", "class_name,id", str(odd_value(rng))))
            (root / "classes.csv").write_text(f"{header}\nant\nbee\n", errors="replace")
        found = read_new_images(root).images
        paths = [Path(path) for path in found["path"]]
        listed = {
            path.resolve()
            for path in root.rglob("*")
            if os.path.isfile(path) and path.suffix.lower() in IMAGE_SUFFIXES and not path.name.startswith(".")
        }
        hidden = {
            path for path in listed if any(part.startswith(".") for part in path.relative_to(root.resolve()).parts)
        }
        real = {path.resolve() for path in paths}
        return real == listed - hidden and len(set(found["image_id"])) == len(real) == len(found)
