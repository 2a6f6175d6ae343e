"""Runs at the same time: who waits for whom."""

import json
import os
import threading
from dataclasses import asdict

import psutil
import pytest
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline, node

from aezsl.hooks import turns
from aezsl.machine.processes import Process, this_host


def run_of(folder, images, **params):
    """A run that names images: what it writes, and what it is given."""
    pipeline = Pipeline(
        [
            node(lambda new, top: None, ["new_images", "params:top"], "names", name="name"),
            node(lambda names, method: None, ["names", "params:method"], "table", name="list"),
        ]
    )
    catalog = DataCatalog.from_config(
        {
            "new_images": {"type": "aezsl.datasets.inputs.NewImagesDataset", "images": images},
            **{
                name: {"type": "json.JSONDataset", "filepath": str(folder / f"{name}.json")}
                for name in ("names", "table")
            },
        }
    )
    for name, value in {"top": 1, "method": {"lam": 1}, **params}.items():
        catalog[f"params:{name}"] = value
    return pipeline, catalog


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({}, None),
        ({"images": "b"}, "new_images"),
        ({"top": 2}, "top"),
        ({"method": {"lam": 2}}, "method"),
        ({"elsewhere": True, "images": "b"}, None),
    ],
)
def test_only_runs_of_the_same_files_and_other_settings_are_in_each_other_s_way(tmp_path, other, expected):
    place = tmp_path / "elsewhere" if other.pop("elsewhere", False) else tmp_path
    own = turns.describe_run(*run_of(tmp_path, "a"))
    assert len(own["written"]) == 2
    found = turns.describe_run(*run_of(place, **{"images": "a", **other}))
    assert turns.conflict(own, found) == turns.conflict(found, own) == expected


def announced(folder, process, run):
    (folder / turns.PLACE).mkdir(parents=True)
    path = folder / turns.PLACE / "other.json"
    path.write_text(json.dumps({**turns.describe_run(*run), "process": asdict(process)}))
    return path


def begin(folder, run):
    hook = turns.TakeTurns()
    pipeline, catalog = run
    hook.before_pipeline_run({"project_path": str(folder)}, pipeline, catalog)
    return hook


def test_a_run_waits_until_the_other_has_ended_and_then_leaves_no_trace(tmp_path, monkeypatch, caplog):
    parent = psutil.Process(os.getppid())
    process = Process(this_host(), parent.pid, int(parent.create_time()))
    path = announced(tmp_path, process, run_of(tmp_path, "b"))
    monkeypatch.setattr(turns, "PAUSE", 0.01)
    waited = threading.Event()
    monkeypatch.setattr(turns.time, "sleep", lambda _: (waited.set(), path.unlink(missing_ok=True)))
    hook = begin(tmp_path, run_of(tmp_path, "a"))
    assert waited.is_set()
    assert f"process {parent.pid}, which works on the same results with another new_images" in caplog.text
    assert len(list((tmp_path / turns.PLACE).glob("*.json"))) == 1
    hook.on_pipeline_error()
    assert not list((tmp_path / turns.PLACE).glob("*.json"))


@pytest.mark.parametrize("content", [None, "{", "[]", '{"process": 3}'])
def test_nobody_waits_for_a_process_that_is_gone_or_for_a_damaged_file(tmp_path, monkeypatch, content):
    path = announced(tmp_path, Process(this_host(), 2**22 + 1, 0), run_of(tmp_path, "b"))
    if content is not None:
        path.write_text(content)
    monkeypatch.setattr(turns.time, "sleep", lambda _: pytest.fail("it waits"))
    begin(tmp_path, run_of(tmp_path, "a")).after_pipeline_run()
    assert not list((tmp_path / turns.PLACE).glob("*.json"))
