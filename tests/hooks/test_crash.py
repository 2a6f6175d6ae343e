"""How a command ends: the project's own errors in their sentence, all others as Python shows them."""

import errno
import logging
import sqlite3
import sys
from contextlib import closing
from logging.handlers import RotatingFileHandler

import numpy as np
import pytest
from kedro.io import DatasetError
from kedro.pipeline import Pipeline
from kedro.utils import load_obj

from aezsl.errors import DataError
from aezsl.hooks import crash
from aezsl.machine import screen
from aezsl.methods import make_method
from aezsl.methods.shared.ranking_sgd import compatibilities


def raised(error, cause=None):
    with pytest.raises(type(error)) as caught:
        raise error from cause
    return caught.value


@pytest.fixture
def hook(tmp_path, monkeypatch):
    shown = []
    monkeypatch.chdir(tmp_path)
    return crash.make_hook(lambda *given: shown.append(given[1])), shown


@pytest.mark.parametrize(
    "error",
    [DataError("no such bird"), raised(DatasetError("Failed while loading"), DataError("no such bird"))],
    ids=["itself", "wrapped by a dataset"],
)
def test_an_own_error_is_its_sentence_and_the_traceback_is_in_the_log(hook, capsys, tmp_path, error):
    own, shown = hook
    own(type(error), error, error.__traceback__)
    log = tmp_path / "info.log"
    assert capsys.readouterr().err.splitlines() == ["", "no such bird", f"(where in the code: {log})"]
    assert "DataError: no such bird" in log.read_text()
    assert shown == []


@pytest.mark.parametrize(
    "error", [KeyError("x"), raised(RuntimeError("x"), DataError("an accident on the way")), OSError(2, "no file")]
)
def test_other_errors_keep_their_traceback(hook, capsys, tmp_path, error):
    own, shown = hook
    own(type(error), error, None)
    assert shown == [error]
    assert capsys.readouterr().err == ""
    assert not (tmp_path / "info.log").exists()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (lambda: Pipeline([]).filter(from_nodes=["fit_modle"]), "fit_modle"),
        (lambda: Pipeline([]).filter(from_inputs=["imagse"]), "imagse"),
        (lambda: Pipeline([]).filter(tags=["nothing"]), "no nodes"),
        (lambda: load_obj("ThreadRuner", "kedro.runner"), "ThreadRuner"),
    ],
    ids=["node", "dataset", "tag", "runner"],
)
def test_a_word_that_kedro_does_not_know_is_told_in_its_sentence(hook, capsys, typed, words):
    own, shown = hook
    with pytest.raises((ValueError, AttributeError)) as caught:
        typed()
    own(caught.type, caught.value, caught.tb)
    assert words in capsys.readouterr().err
    assert shown == []


def test_a_misspelt_pipeline_is_refused_with_the_nearest_name(make_project):
    refused = make_project().kedro("run", "--pipeline=eszl", check=False)
    assert refused.returncode == 1
    assert "eszsl" in refused.stderr.split()
    assert not any(mark in refused.stderr for mark in ("Traceback", "─"))


def refused_by_sqlite(tmp_path):
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table runs (a)")
    with (
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection,
        pytest.raises(sqlite3.OperationalError) as caught,
    ):
        connection.execute("insert into runs values (1)")
    return caught.value


@pytest.mark.parametrize("log", ["info.log", ""])
def test_errors_of_the_disk_the_memory_and_ctrl_c_end_in_a_sentence(hook, capsys, tmp_path, log):
    full = OSError(errno.ENOSPC, "no space", "/data/model.npz")
    for error, words in (
        (raised(DatasetError("Failed while saving"), full), "/data/model.npz"),
        (raised(RuntimeError("MLflow"), refused_by_sqlite(tmp_path)), "MLflow keeps runs"),
        (MemoryError("Unable to allocate 3 TiB"), "3 TiB"),
        (KeyboardInterrupt(), "same command"),
    ):
        crash.make_hook(lambda *given: pytest.fail("a traceback"), log)(type(error), error, None)
        told = capsys.readouterr().err.strip().splitlines()
        assert words in told[0]
        assert len(told) == (2 if log and not isinstance(error, KeyboardInterrupt) else 1)


def test_a_log_that_cannot_be_written_is_told_once(tmp_path, monkeypatch, capsys):
    handler = RotatingFileHandler(tmp_path / "missing" / "info.log", delay=True)
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.NullHandler(), handler])
    screen.install()
    for _ in range(2):
        logging.getLogger("aezsl.test").warning("a line")
    (told,) = capsys.readouterr().err.splitlines()
    assert handler.baseFilename in told


def test_a_library_s_value_error_is_an_accident_and_the_project_s_is_not():
    with pytest.raises(ValueError, match="gamma of ESZSL") as refused:
        make_method("eszsl", gamma=-1.0).check_parameters()
    with pytest.raises(ValueError, match="matmul") as accident:
        compatibilities(np.ones((1, 3, 2)), np.ones((4, 2)), np.eye(2))
    assert crash.own_error(refused.value) is refused.value
    assert crash.own_error(accident.value) is None


def test_the_log_is_begun_again_when_it_is_large_and_done_without_where_it_cannot_be(tmp_path, monkeypatch):
    monkeypatch.setattr(crash, "LARGEST", 100)
    path = tmp_path / "info.log"
    for name in ("first", "second"):
        path.write_text(path.read_text() + "x" * 200 if path.exists() else "")
        assert crash.keep_traceback(DataError(name), path) == path
    assert "second" in path.read_text()
    assert "first" not in path.read_text()
    assert crash.keep_traceback(DataError("third"), tmp_path / "nowhere" / "info.log") is None


@pytest.mark.parametrize(("error", "shown"), [(DataError("no such bird"), 0), (KeyError("x"), 1)])
def test_kedro_says_nothing_beside_an_error_of_the_project(error, shown, monkeypatch):
    handler = logging.Handler()
    handler.set_name("rich")
    lines = []
    handler.emit = lines.append
    monkeypatch.setattr(logging.getLogger(), "handlers", [handler])
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    crash.install()
    try:
        raise error
    except Exception:
        logging.getLogger("kedro.runner.sequential_runner").warning("You can resume")
    assert len(lines) == shown
