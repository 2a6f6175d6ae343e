"""What finished runs have left, damaged: the report says which file it is, a repeat makes it again."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from kedro.io import DataCatalog
from PIL import Image

from aezsl.commands.repeated import load_mapping
from aezsl.config.schema import section_class
from aezsl.datasets.files import JSONDataset
from aezsl.datasets.inputs import ResultsDataset
from aezsl.reporting.formatting import ReportSettings
from aezsl.reporting.page import SHOWN, make_page
from aezsl.reporting.tables import make_tables
from tests.campaign.damage import damaged, misspelt, pick, plain_value

SETTINGS = ReportSettings(benchmark="made up", gallery_width=100)
SIZES = dict.fromkeys(("n_seen", "n_unseen", "n_train", "n_test", "n_features", "n_semantics"), 8)
MAPPING = {"class_name": "cat", "moved": 0.1, "moved_others": {"dog": 0.2}, "classifier_cosine": 0.5, "n_seen": 8}
MAPPING |= {"weights": [{"name": "dog", "weight": 1.0}], "weight_share": 0.9}


def _write(root):
    """Results of three methods, as runs leave them."""

    def put(path, value):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(value if isinstance(value, str) else json.dumps(value))

    put("summary.json", {**SIZES, "problem_fingerprint": "now"})
    for name in ("eszsl", "aezsl", "gzsl_aezsl"):
        put(f"{name}/metrics.json", {"accuracy": 0.5, "per_class_accuracy": 0.5, "hit_at_5": 1.0, "ausuc": 0.2})
        put(f"{name}/record.json", {"fit_seconds": 1.0, "rank_seconds": 0.5, "problem_fingerprint": "now"})
        put(f"{name}/chosen.json", {"lam": 10})
        put(f"{name}/selection.csv", "lam,mean\n10,0.6\n5,0.7\n20,0.1\n")
        put(f"{name}/per_class.csv", "class_name,images,accuracy\ncat,10,0.5\ndog,10,0.25\n")
        names = {"image_id": ["a", "b"], "true": ["cat", "dog"], "predicted": ["cat", "cat"]}
        pd.DataFrame(names).to_parquet(root / name / "predictions.parquet")
        Image.new("RGB", (9, 9)).save(root / name / "gallery.png")
    put("qualitative/cases.json", {"why": "", "rescued": 3, "lost": 2, "attributes": False, "cases": []})
    put("qualitative/mapping.json", MAPPING)


def _spoil_json(path, rng):
    value = json.loads(path.read_text())
    key = pick(rng, value)
    match rng.integers(3):
        case 0:
            value[key] = plain_value(rng)
        case 1:
            value[misspelt(key, rng)] = value.pop(key)
        case _:
            value = plain_value(rng)
    path.write_text(json.dumps(value, default=str))


def result_file(rng):
    """One file of a result spoilt: the report is made, without it or with what it says now, or names it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _write(root)
        path = pick(rng, sorted(path for path in root.rglob("*") if path.is_file()))
        if path.suffix == ".json" and rng.random() < 0.6:
            _spoil_json(path, rng)
        elif path.suffix == ".csv" and rng.random() < 0.6:
            table = pd.read_csv(path).astype(object)
            table.iloc[int(rng.integers(len(table))), int(rng.integers(table.shape[1]))] = str(plain_value(rng))
            table.rename(columns={pick(rng, table.columns): "other"} if rng.random() < 0.3 else {}).to_csv(path)
        else:
            path.write_bytes(damaged(path.read_bytes(), rng))
        results = ResultsDataset(folders=[folder], files={"summary": str(root / "summary.json")}).load()
        tables = make_tables(results, SETTINGS)
        page = make_page(results, tables, SETTINGS, *(section_class(name)() for name in SHOWN))
    return "</html>" in page and bool(np.isfinite(len(tables["table1"].frame)))


def repeat_file(rng):
    """What a repeat remembers of itself, spoilt: a mapping, or nothing, so that it is made again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text(json.dumps({"key": "k", "settings": {"split.rule": "drawn"}}))
        if rng.random() < 0.5:
            _spoil_json(path, rng)
        else:
            path.write_bytes(damaged(path.read_bytes(), rng))
        return isinstance(load_mapping(DataCatalog({"x": JSONDataset(filepath=str(path))}), "x"), dict)
