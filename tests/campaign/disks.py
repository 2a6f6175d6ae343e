"""Disks that are full from the n-th write of a command on, for every n; then there is room and it is typed again.

What Python opens for writing below the project is counted and refused, and so are new folders; what libraries open by
themselves (SQLite, Parquet) is not. A small file system that is really full: ``tests/pipelines/test_full_disk.py``.
"""

import errno
import os
import sys
import tempfile
from pathlib import Path

from tests.campaign.kills import LEFTOVER, Kind, results
from tests.helpers.projects import Commands

COLUMNS = ("tried", "sentence", "done without", "resumed equal", "lost")
#: Lines that a command may print beside its usual ones: the sentence, where the traceback is, that no log is kept.
MOST_LINES = 40
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_TRUNC


def refuse_writes(folder, first, count):
    """From the ``first`` write below the folder on there is no space left in this process; ``count`` keeps how many."""
    seen = 0

    def hook(event, arguments):
        nonlocal seen
        if event not in ("open", "os.mkdir") or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        if event == "open" and not (arguments[2] or 0) & WRITING:
            return
        path = os.path.abspath(os.fsdecode(arguments[0]))
        if path.startswith(f"{folder}{os.sep}"):
            seen += 1
            os.pwrite(count, f"{seen:9}".encode(), 0)
            if seen >= first:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    sys.addaudithook(hook)


def fill_all(names, most, ledger):
    """A tally for each of the named kinds of run; ``most``: how many of the n are tried, spread over all of them."""
    commands = Commands()
    with tempfile.TemporaryDirectory() as place:
        tallies = [_fill_kind(name, commands, Path(place), most, ledger) for name in names]
    commands.close()
    return tallies


def _fill_kind(name, commands, place, most, ledger):
    tally = ledger.tally(name, COLUMNS)
    kind = None
    for number in ledger.attempts(tally, most):
        if kind is None:
            kind, counted = Kind(name, commands, place), place / "count"
            counted.write_text("")
            kind.commands.fork(kind.copy("counted").folder, kind.command, full_from=10**8, count=counted)
            n_writes = int(counted.read_text())
        first = 1 + number * n_writes // most
        tally.counts["tried"] += 1
        try:
            tally.counts["sentence" if _fill(kind, first, counted) else "done without"] += 1
            tally.counts["resumed equal"] += 1
        except (RuntimeError, AssertionError, OSError, ValueError) as error:
            tally.counts["lost"] += 1
            tally.notes.append(f"{kind.name}, full from write {first} of {n_writes} on: {error}"[:1500])
    print(f"{name}: {dict(tally.counts)}", flush=True)
    return tally


def _fill(kind, first, counted):
    """Whether the command ended in a sentence; an error where it ended otherwise, or does not end well afterwards."""
    project = kind.copy("full")
    full = kind.commands.fork(project.folder, kind.command, full_from=first, count=counted)
    said = full.stderr.strip().splitlines()
    if full.returncode:
        if "Traceback" in full.stderr or "─" in full.stderr or len(said) > MOST_LINES:
            raise RuntimeError(f"a traceback: {full.stderr[-700:]}")
        if not any(str(project.folder) in line or "MLflow" in line for line in said):
            raise RuntimeError(f"no path: {full.stderr[-700:]}")
    elif results(project.folder) != kind.expected:
        raise RuntimeError("it ended as if all were well, with other results")
    again = kind.commands.run(project.folder, kind.command)
    if again.returncode or results(project.folder) != kind.expected:
        raise RuntimeError(f"the second run has other results: {(again.stdout + again.stderr)[-600:]}")
    if left := [path for path in project.folder.rglob(".*") if LEFTOVER.fullmatch(path.name)]:
        raise RuntimeError(f"it leaves {left[0].relative_to(project.folder)}")
    return full.returncode != 0
