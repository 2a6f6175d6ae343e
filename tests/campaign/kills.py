"""Commands killed at random moments of their work, then typed again: they end as if nobody had killed them.

Every kind of run begins in a project of its own with made-up images, eight pixels wide, and so takes seconds.
"""

import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from tests.helpers.projects import Commands, Project

COLUMNS = ("tried", "killed", "ended before", "resumed equal", "lost")
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
#: What a killed writer leaves behind: the next run clears it.
LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}-\d+-\d+-[0-9a-f]{32}.*")

#: The vectors of all images.
STORE = "data/04_feature/own/features"

#: Columns of tables that tell what results cost, which is another time another number.
COST = re.compile("second|memory|minute|time|cost|mb", re.IGNORECASE)
OWN = ("run", "--env=own")
SHARDS = "--params=feature_extraction.shard_size=4,feature_extraction.batch_size=2"
#: Runs that others begin after: the database is there, so that kills fall into what is special about a kind.
BEGUN, TRAINED = ((*OWN, "--pipeline=ingestion"),), ((*OWN, "--pipeline=eszsl"),)
#: Kind of run -> commands that were finished before, and the one that is killed.
KINDS = {
    "first database": ((), (*OWN, "--pipeline=ingestion")),
    "extraction": (BEGUN, (*OWN, "--pipelines=ingestion,feature_extraction", SHARDS)),
    "main run": (BEGUN, (*OWN, "--pipeline=aezsl_lr")),
    "several methods": (BEGUN, (*OWN, "--pipelines=eszsl,aezsl,exem", "--runner=ThreadRunner")),
    "training by epochs": (BEGUN, (*OWN, "--pipeline=daezsl")),
    "generalized": (BEGUN, (*OWN, "--pipeline=gzsl_eszsl")),
    "repeat": (BEGUN, ("repeat", "--env=own", "--pipeline=eszsl,aezsl_sim", "--splits=2")),
    "trained again": (TRAINED, (*OWN, "--pipeline=eszsl", "--params=normalise.features=centre+l2")),
    "predict": (TRAINED, (*OWN, "--pipeline=predict", "--params=method=eszsl,predict.images=new")),
    "export": (TRAINED, (*OWN, "--pipeline=export", "--params=method=eszsl")),
    "report": (TRAINED, (*OWN, "--pipeline=report")),
    "curve": (TRAINED, (*OWN, "--pipeline=sensitivity_k")),
    "realistic": (BEGUN, (*OWN, "--pipeline=realistic")),
    "page": (TRAINED, ("app",)),
    "move": (BEGUN, ("aezsl", "name", "new", "--labels=red,green,blue", "--sort=move")),
}
#: Kinds in which another process works, so that their moments are told by the clock.
BY_THE_CLOCK = ("page",)


def write_images(root):
    """Ten classes whose colours follow from three numbers, and new images without a name."""
    rng = np.random.default_rng(0)
    colours = rng.integers(30, 226, size=(10, 3))
    rows = "".join(f"c{i},{'unseen' if i > 6 else 'seen'},{r},{g},{b}\n" for i, (r, g, b) in enumerate(colours))
    (root / "data/01_raw/own").mkdir(parents=True)
    (root / "data/01_raw/own/classes.csv").write_text(f"class_name,role,red,green,blue\n{rows}")
    for i, colour in enumerate(colours):
        for number in range(5):
            pixels = np.clip(colour + rng.normal(0, 20, size=(8, 8, 3)), 0, 255).astype(np.uint8)
            for place in (f"data/01_raw/own/images/c{i}", *(["new"] if number == 0 else [])):
                (root / place).mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(root / place / f"{i}-{number}.png")


def results(folder):
    """What commands have found out, to the bit: metrics, names with their scores, fitted numbers, tables, photos."""
    photos = [path for place in ("new", "new_sorted") for path in (folder / place).rglob("*.png")]
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(photos)}
    for path in sorted((folder / "data").rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.name in ("predictions.parquet", "new_predictions.parquet"):
            table = pd.read_parquet(path)
            if "path" in table:
                table = table.drop(columns="path")
            found[name] = table.to_json(double_precision=15), table["score"].to_numpy().tobytes()
        elif path.name == "metrics.json":
            found[name] = path.read_text()
        elif path.suffix == ".csv" and "08_reporting" in name:
            table = pd.read_csv(path, dtype=str)
            found[name] = table.drop(columns=[column for column in table if COST.search(column)]).to_json()
        elif path.suffix in (".html", ".png") and "08_reporting" in name:  # what is in them is compared elsewhere
            found[name] = path.stat().st_size > 0
        elif path.name == "model.npz":
            with np.load(path) as arrays:
                found[name] = {key: arrays[key].tobytes() for key in arrays.files if key != "header"}
        elif path.name == "split.parquet":
            found[name] = pd.read_parquet(path).to_json()
    return found


def features(folder):
    """All vectors that the store gives, by image."""
    from aezsl.data.vector_store import VectorStore

    vectors = VectorStore(folder / STORE).load()
    return {
        name: row.tobytes() for name, row in zip(vectors.ids, vectors.take(np.arange(len(vectors.ids))), strict=True)
    }


@dataclass
class Kind:
    """One kind of run: the state that it begins in, its results when nobody kills it, and the processor's time."""

    name: str
    commands: Commands
    place: Path

    def __post_init__(self):
        before, self.command = KINDS[self.name]
        self.start = self.place / f"start{sorted({before for before, _ in KINDS.values()}).index(before)}"
        if not self.start.exists():  # no other kind has begun there
            self.start.mkdir()
            project = Project.copy(self.start, self.commands)
            write_images(self.start)
            for command in before:
                self._finish(project, command)
        whole = self.copy("whole")
        began = time.monotonic()
        used = self._finish(whole, self.command).seconds
        self.seconds = time.monotonic() - began if self.name in BY_THE_CLOCK else used
        self.expected = results(whole.folder)
        self.vectors = features(whole.folder) if (whole.folder / STORE).exists() else {}

    def kill(self, rng):
        """Whether the command was killed; an error where it then does not end as it should."""
        project = self.copy("killed")
        after, how = float(rng.uniform(0.0, self.seconds)), int(SIGNALS[rng.integers(len(SIGNALS))])
        clock = self.name in BY_THE_CLOCK
        stopped = self.commands.fork(project.folder, self.command, signal=how, after=after, clock=clock)
        note = f"after {after:.1f} of {self.seconds:.1f} s by signal {how}"
        if self.name == "move" and not list((project.folder / "new").iterdir()):
            project.commands.run(project.folder, ("aezsl", "name", "new", "--undo"))  # or nothing is left to name
        again = project.commands.run(project.folder, self.command)
        if again.returncode:
            raise RuntimeError(f"{note}: the second run fails: {(again.stdout + again.stderr)[-600:]}")
        if results(project.folder) != self.expected:
            raise RuntimeError(f"{note}: the second run has other results: {self._differences(project.folder)}")
        if self.vectors and features(project.folder) != self.vectors:
            raise RuntimeError(f"{note}: other features")
        if left := [path for path in project.folder.rglob(".*") if LEFTOVER.fullmatch(path.name)]:
            raise RuntimeError(f"{note}: it leaves {left[0].relative_to(project.folder)}")
        if running := [run for run in project.runs() if run.info.status == "RUNNING"]:
            raise RuntimeError(f"{note}: {len(running)} runs are said to be running")
        return stopped.returncode != 0

    def _differences(self, folder):
        found = results(folder)
        return [name for name in {**found, **self.expected} if found.get(name) != self.expected.get(name)][:5]

    def copy(self, name):
        """The project as it was before the command."""
        folder = self.place / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.start, folder, symlinks=True)
        return Project(folder, self.commands)

    @staticmethod
    def _finish(project, command):
        result = project.commands.run(project.folder, command)
        if result.returncode:
            raise RuntimeError(f"kedro {' '.join(command)} failed:\n{(result.stdout + result.stderr)[-3000:]}")
        return result


def kill_all(names, n, seed, ledger):
    """A tally of ``n`` kills for each of the named kinds of run."""
    commands = Commands()
    with tempfile.TemporaryDirectory() as place:
        tallies = [_kill_kind(name, commands, Path(place), n, seed, ledger) for name in names]
    commands.close()
    return tallies


def _kill_kind(name, commands, place, n, seed, ledger):
    tally = ledger.tally(name, COLUMNS)
    kind = None
    for number in ledger.attempts(tally, n):
        kind = kind or Kind(name, commands, place)
        rng = np.random.default_rng((seed, sorted(KINDS).index(name), number))
        tally.counts["tried"] += 1
        try:
            tally.counts["killed" if kind.kill(rng) else "ended before"] += 1
            tally.counts["resumed equal"] += 1
        except (RuntimeError, AssertionError, OSError, ValueError) as error:
            tally.counts["lost"] += 1
            tally.notes.append(f"{name}, kill {number}: {error}"[:1500])
    print(f"{name}: {dict(tally.counts)}", flush=True)
    return tally


def teach():
    """In the process of a page: what a visitor does who teaches it a collection; then the page is closed."""
    port = int(sys.argv[-1].removeprefix("--port="))
    visitor = {}

    def ask(question, content):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/{question}", content, visitor)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    while not visitor:
        with suppress(OSError):
            visitor["X-Visitor"] = ask("models", {})["visitor"]
        time.sleep(0.1)
    root = Path("data/01_raw/own/images")
    try:
        classes = [[path.name, f"the thing {path.name}", "seen"] for path in sorted(root.iterdir())]
        lesson = ask("begin", {"name": "taught", "classes": [*classes[:-1], [*classes[-1][:2], "unseen"]]})["lesson"]
        for number, (name, *_) in enumerate(classes[:-1]):
            for path in sorted((root / name).iterdir()):
                ask(f"lesson?lesson={lesson}&class={number}", path.read_bytes())
        ask("train", {"lesson": lesson})
        while (state := ask("progress", {"lesson": lesson}))["state"] == "training":
            time.sleep(0.2)
        if state["state"] == "failed":
            print(state["sentence"], file=sys.stderr)
    except urllib.error.HTTPError as error:  # of one that was killed after its training there is nothing to teach
        print(error.read().decode(), file=sys.stderr)
    os.kill(os.getpid(), signal.SIGINT)
