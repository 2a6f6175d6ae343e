"""Where a project keeps what the page shows: trained models, pictures of their classes, and what was measured."""

import json
import socket
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd

from aezsl.app.opened import OpenModel
from aezsl.errors import DataError
from aezsl.evaluation.metrics import METRICS
from aezsl.methods import METHODS, MethodRun
from aezsl.reporting.pictures import data_uri
from aezsl.serving.model_file import ModelFolder
from aezsl.serving.photos import PHOTOS, photo_model

#: Models in memory together.
KEPT_MODELS = 4

#: Runs that are looked through at most, the newest first.
MAX_RUNS = 200

#: Photos offered to those who have none at hand, and widths of pictures in pixels.
EXAMPLES, SMALL, LARGE = 8, 160, 420

#: What the photo model chooses among at first.
WORDS = ("a cat", "a dog", "a cup of coffee", "a rocket", "a temple", "a flower", "a person")

#: Photos that installed packages carry and that may be shown, and whose they are.
INSTALLED = (
    "sklearn/datasets/images/china.jpg",
    "sklearn/datasets/images/flower.jpg",
    "matplotlib/mpl-data/sample_data/grace_hopper.jpg",
)
CREDITS = (
    "Photos: a temple by danielbuechele and a flower by vultilion, both CC BY 2.0, from scikit-learn; "
    "Grace Hopper, public domain, from matplotlib."
)


@dataclass(frozen=True)
class Place:
    """Folders of one benchmark, as the command that opens the page found them; others lie beside them."""

    root: Path  # of the project
    models: Path  # <method>/model.npz
    tables: Path  # images.parquet and split.parquet
    method: str = ""  # whose model is shown first; without one it is the photo model
    tracking: str = ""  # where MLflow keeps runs
    training: tuple[str, ...] = ()  # the command that trains on a collection, {name}; without it nothing is taught
    runs_page: str = ""  # where MLflow's own page is, when somebody opens it
    runs_command: str = ""  # what opens it
    results: Path | None = None  # <method>/record.json

    @property
    def benchmark(self) -> str:
        """Its name."""
        return self.models.name

    def problem_of(self, model: str) -> str:
        """The fingerprint of what a model (<benchmark>/<method>) was trained on; empty where none is known."""
        if self.results is None:
            return ""
        try:
            record = json.loads((self.results.parent / model / "record.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):  # a model that came without its results
            return ""
        return str(record.get("problem_fingerprint", ""))


class Pictures:
    """The images of a benchmark, where there are any."""

    def __init__(self, root: Path, tables: Path) -> None:
        self._root, self._tables = root, tables

    @cached_property
    def _images(self) -> pd.DataFrame:
        """image_id, class_name, path, zsl (train or test); nothing where images have not been listed."""
        files = [self._tables / f"{name}.parquet" for name in ("images", "split")]
        if not all(file.is_file() for file in files):
            return pd.DataFrame({"class_name": [], "path": [], "zsl": []}, dtype=str)
        images, split = (pd.read_parquet(file) for file in files)
        if "path" not in images:
            return pd.DataFrame({"class_name": [], "path": [], "zsl": []}, dtype=str)
        joined = split[["image_id", "class_name", "zsl"]].merge(images[["image_id", "path"]], on="image_id")
        return joined[joined["path"].notna()]

    @cached_property
    def _first(self) -> dict[str, str]:
        training = self._images[self._images["zsl"] == "train"].drop_duplicates("class_name")
        return dict(zip(training["class_name"], training["path"], strict=True))

    def of_class(self, name: str) -> str:
        """A training picture of a class as a data URI; empty where there is none."""
        path = self._first.get(name)
        return data_uri(self._root / path, SMALL) if path else ""

    def tests(self, names: list[str]) -> list[tuple[str, Path]]:
        """Class and file of every test image of some classes."""
        found = self._images[(self._images["zsl"] == "test") & self._images["class_name"].isin(names)]
        pairs = zip(found["class_name"], found["path"], strict=True)
        return [(name, file) for name, path in pairs if (file := self._root / path).is_file()]

    def examples(self, names: list[str]) -> list[Path]:
        """Test images of some classes, evenly chosen among the classes, one of each."""
        first = dict(reversed(self.tests(names)))
        chosen = [first[name] for name in names if name in first]
        return [chosen[i] for i in np.unique(np.linspace(0, len(chosen) - 1, EXAMPLES).astype(int))] if chosen else []


class Library:
    """The photo model, and all trained models of a project by ``benchmark/method``, the chosen benchmark's first."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._open: OrderedDict[tuple[str, float], OpenModel] = OrderedDict()
        self._pictures: dict[str, Pictures] = {}
        self._lock = Lock()

    def names(self) -> list[str]:
        """What can be opened; the one to be shown first is the first."""
        chosen, models = self.place.benchmark, self.place.models
        benchmarks = sorted(path.name for path in models.parent.glob("*") if path.is_dir() and path.name != chosen)
        found = [f"{one}/{name}" for one in (chosen, *benchmarks) for name in self._folder(one).trained()]
        found = [*(name for name in found if _run(name).entry), PHOTOS]
        first = f"{chosen}/{self.place.method}" if self.place.method else PHOTOS
        return sorted(found, key=lambda name: name != first)

    def label(self, name: str) -> str:
        """What the page calls a model."""
        if name == PHOTOS:
            return "Any photo, any words"
        run = _run(name)
        both = " (known and new classes)" if run.setting == "gzsl" else ""
        return f"{METHODS[run.method].label}{both}, {name.partition('/')[0]}"

    def refines(self, name: str) -> bool:
        """Whether a model can learn from the photos it is to name."""
        return name == PHOTOS or METHODS[_run(name).method].pool

    def open(self, name: str) -> OpenModel:
        """A model, read from disk where it is not in memory as it is there."""
        if name not in self.names():
            raise DataError(f"there is no trained model {name!r}: choose one of the list")
        benchmark, _, method = name.partition("/")
        file = self._folder(benchmark).folder / method / "model.npz"
        key = name, 0.0 if name == PHOTOS else file.stat().st_mtime
        with self._lock:
            if key not in self._open:
                self._open[key] = (
                    OpenModel(photo_model(), photo_model(together=True), WORDS)
                    if name == PHOTOS
                    else OpenModel(self._folder(benchmark).load(method))
                )
            self._open.move_to_end(key)
            while len(self._open) > KEPT_MODELS:
                self._open.popitem(last=False)
            return self._open[key]

    def pictures(self, name: str) -> Pictures:
        """The images of the benchmark of a model."""
        benchmark = name.partition("/")[0]
        with self._lock:
            if benchmark not in self._pictures:
                self._pictures[benchmark] = Pictures(self.place.root, self.place.tables.parent / benchmark)
            return self._pictures[benchmark]

    def examples(self, name: str) -> list[Path]:
        """Photos for those who have none at hand."""
        if name == PHOTOS:
            return installed_photos()
        return self.pictures(name).examples([own for own, _ in self.open(name).prefilled()])

    def _folder(self, benchmark: str) -> ModelFolder:
        return ModelFolder(self.place.models.parent / benchmark)


def installed_photos() -> list[Path]:
    """Photos of ``INSTALLED`` that are there."""
    found = []
    for name in INSTALLED:
        package, _, inside = name.partition("/")
        spec = find_spec(package)
        if spec and spec.origin and (file := Path(spec.origin).parent / inside).is_file():
            found.append(file)
    return found


def measured(tracking: str, page: str, benchmark: str, method: str, problem: str = "") -> dict[str, Any]:
    """Metrics of the newest finished run that has measured a method on a benchmark; empty where there is none.

    tracking : where MLflow keeps runs. page : where its own page is, when somebody has opened it. problem : fingerprint
    of what the model was trained on, if known: runs on other classes, such as splits of a repeat, are of other models.
    """
    if not tracking:
        return {}
    import mlflow

    client = mlflow.MlflowClient(tracking)
    experiment = client.get_experiment_by_name(f"aezsl_{benchmark}")
    if experiment is None:
        return {}
    newest = ["attributes.start_time DESC"]
    same = f"tags.problem_fingerprint = '{problem}'" if problem else ""
    for run in client.search_runs([experiment.experiment_id], same, order_by=newest, max_results=MAX_RUNS):
        about = run.data.tags.get("method", run.info.run_name)
        prefix = "" if about == method else f"{method}."  # in a run of another method its name comes first
        found = {m.label: run.data.metrics[prefix + m.key] for m in METRICS if prefix + m.key in run.data.metrics}
        if run.info.status == "FINISHED" and found:
            link = f"{page}/#/experiments/{experiment.experiment_id}/runs/{run.info.run_id}"
            return {"link": link, "metrics": found}
    return {}


def is_open(page: str) -> bool:
    """Whether somebody listens where MLflow's own page would be."""
    address = urlsplit(page)
    try:
        socket.create_connection((address.hostname or "", address.port or 80), timeout=1).close()
    except OSError:
        return False
    return True


def _run(name: str) -> MethodRun:
    """What made the model that the page calls ``benchmark/method``."""
    return MethodRun.parse(name.partition("/")[2])
