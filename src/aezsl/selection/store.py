"""The scores of a finished selection, kept so that a run in which nothing has changed need not repeat it."""

import hashlib
import json
import logging
from collections.abc import Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd

import aezsl
from aezsl.machine.files import written_whole

log = logging.getLogger(__name__)

#: What the scores of a selection depend on, below the package; any change in there makes every selection run again.
CODE = ("arrays.py", "data", "evaluation", "machine/workers.py", "methods", "selection")


class SelectionStore:
    """One CSV file: a row per point of the grid, the chosen one first."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def find(self, key: str, n_points: int) -> pd.DataFrame | None:
        """The table, if it is as it was written and was made under the same key."""
        try:
            text = self.path.read_text(encoding="utf-8")
            table = pd.read_csv(StringIO(text))
            intact = set(table.pop("digest")) == {_digest(text)}
            points = set(table["point"])  # of a race some
            usable = set(table["key"]) == {key} and len(points) == len(table) and points <= set(range(n_points))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, OSError) as error:  # parsers' errors are ValueErrors
            log.warning("%s cannot be read (%s): it is made again", self.path, error)
            return None
        if not intact:
            log.warning("%s is not as it was written: it is made again", self.path)
        return table if intact and usable else None

    def save(self, table: pd.DataFrame) -> None:
        """Keep the table in place of the last one, with a digest of itself: a changed score could change the choice."""
        with written_whole(self.path) as path:
            path.write_text(
                table.assign(digest=_digest(table.to_csv(index=False))).to_csv(index=False), encoding="utf-8"
            )

    def best_score(self) -> float:
        """The mean accuracy of the chosen point on validation classes; NaN where there was nothing to choose."""
        return float(pd.read_csv(self.path)["mean"].iloc[0])

    def forget(self) -> None:
        """Remove the scores of an earlier run, where this run has none of its own."""
        self.path.unlink(missing_ok=True)


class SelectionStores:
    """A folder of such files.

    pattern : where a file lies in the folder, with ``{}`` for its name.
    """

    def __init__(self, folder: str | Path, pattern: str) -> None:
        self.folder, self.pattern = Path(folder), pattern

    def of(self, name: str) -> SelectionStore:
        """The file of this name, existing or not."""
        place = self.folder / self.pattern.format(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        return SelectionStore(place)


def _digest(text: str) -> str:
    """A digest of all cells of a table as text, without the column of the digest itself."""
    cells = pd.read_csv(StringIO(text), dtype=str, keep_default_na=False).drop(columns="digest", errors="ignore")
    return f"sha256-{hashlib.sha256(cells.to_csv(index=False).encode()).hexdigest()[:16]}"


def selection_key(fingerprint: str, *settings: Mapping[str, Any] | str) -> str:
    """Changes with anything that the scores of a selection depend on: data, settings, and the code itself."""
    described = json.dumps([fingerprint, *settings, code_digest()], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:16]


@cache
def code_digest() -> str:
    """A digest of every module that the scores may depend on, whether or not this run imports it."""
    root = Path(aezsl.__file__).parent
    files = sorted(file for part in CODE for file in [*(root / part).rglob("*.py"), root / part] if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
