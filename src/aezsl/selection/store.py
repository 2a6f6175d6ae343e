"""The scores of a finished selection, kept so that a run in which nothing has changed need not repeat it."""

import hashlib
import json
import logging
from collections.abc import Mapping
from functools import cache
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
        """The table, if it is whole and was made under the same key."""
        try:
            table = pd.read_csv(self.path)
            usable = set(table["key"]) == {key} and sorted(table["point"]) == list(range(n_points))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, OSError) as error:  # parsers' errors are ValueErrors
            log.warning("%s cannot be read (%s): parameters are selected again", self.path, error)
            return None
        return table if usable else None

    def save(self, table: pd.DataFrame) -> None:
        """Keep the table in place of the former one."""
        with written_whole(self.path) as path:
            table.to_csv(path, index=False)

    def best_score(self) -> float:
        """The mean accuracy of the chosen point on validation classes; NaN where there was nothing to choose."""
        return float(pd.read_csv(self.path)["mean"].iloc[0])

    def forget(self) -> None:
        """Without a selection there are no scores: those of a former run are not of this one."""
        self.path.unlink(missing_ok=True)


def selection_key(fingerprint: str, *settings: Mapping[str, Any] | str) -> str:
    """Changes with anything that the scores of a selection depend on: data, settings, and the code itself."""
    described = json.dumps([fingerprint, *settings, code_digest()], sort_keys=True)
    return hashlib.sha256(described.encode()).hexdigest()[:16]


@cache
def code_digest() -> str:
    """Of every module that the scores may depend on, whether or not this run imports it."""
    root = Path(aezsl.__file__).parent
    files = sorted(file for part in CODE for file in [*(root / part).rglob("*.py"), root / part] if file.is_file())
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return digest.hexdigest()
