import io
import json
import logging
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from aezsl.encoders.texts import encoder
from aezsl.errors import DataError
from aezsl.hooks.closing import Closing
from aezsl.hooks.crash import make_hook
from aezsl.machine import screen
from aezsl.machine.screen import ON_SCREEN, VERBOSE, OnScreen
from aezsl.methods import make_method
from aezsl.selection import cross_validate


@pytest.fixture
def lines(capsys, monkeypatch):
    monkeypatch.setattr(screen, "LINE_INTERVAL", 0.0)
    return lambda: capsys.readouterr().err.splitlines()


def test_without_a_terminal_every_tenth_is_a_line(lines):
    assert list(screen.progress_bar(range(1000), desc="features")) == list(range(1000))
    assert lines() == [f"features: {p}% ({10 * p:,} of 1,000)" for p in range(10, 101, 10)]


def test_what_was_done_before_is_said_first(lines):
    with screen.progress_bar(total=10, initial=8, desc="features") as bar:
        bar.update(2)
    assert lines() == ["features: 8 of 10 are there already", "features: 100% (10 of 10)"]


def test_short_work_and_switched_off_bars_say_nothing(capsys):
    for options in ({}, {"disable": True, "initial": 1}):
        list(screen.progress_bar(range(20), desc="quick", **options))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("level", "extra", "verbose", "shown"),
    [
        (logging.INFO, {}, "", False),
        (logging.INFO, {}, "1", True),
        (logging.INFO, ON_SCREEN, "", True),
        (logging.WARNING, {}, "", True),
    ],
)
def test_only_warnings_and_results_come_to_the_screen(monkeypatch, level, extra, verbose, shown):
    monkeypatch.setenv(VERBOSE, verbose)
    record = logging.makeLogRecord({"levelno": level, **extra})
    assert OnScreen().filter(record) is shown


class Terminal(io.StringIO):
    def isatty(self):
        return True

    @property
    def shown(self):
        """What stands on it when every carriage return has overwritten its line."""
        return [line.rpartition("\r")[2].strip() for line in self.getvalue().split("\n")]


def open_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(sys, "stdout", screen)
    return screen


def test_a_bar_on_a_terminal_leaves_nothing_behind(monkeypatch):
    terminal = open_terminal(monkeypatch)
    list(screen.progress_bar(range(3), desc="known features", mininterval=0))
    assert "known features: 100%" in terminal.getvalue()
    assert terminal.shown == [""]


def test_a_terminal_has_one_bar_at_a_time_and_lines_stand_above_it(monkeypatch):
    terminal = open_terminal(monkeypatch)
    with screen.progress_bar(total=2, desc="selecting uda") as bar:
        with screen.progress_bar(total=2, desc="selecting sms", mininterval=0) as other:
            other.update()
        screen.say("1.2 s  sms: select parameters")
        bar.update()
    assert "selecting sms" not in terminal.getvalue()
    assert terminal.shown == ["1.2 s  sms: select parameters", ""]
    with screen.progress_bar(total=2, desc="selecting sms"):
        assert "selecting sms" in terminal.getvalue()


def test_a_bar_calls_a_method_by_the_name_of_its_pipeline(lines):
    S = np.random.default_rng(0).random((6, 4))
    cross_validate(make_method("aezsl_sim"), S, np.arange(6), S, [np.arange(4, 6)], {"lambda1": [1.0]})
    assert lines() == ["selecting aezsl_sim: 100% (1 of 1)"]


def test_a_warning_is_one_line_and_a_result_its_text(monkeypatch, capsys):
    monkeypatch.delenv(VERBOSE, raising=False)
    root, rich = logging.Logger("root"), logging.NullHandler()
    rich.set_name("rich")
    rich.addFilter(lambda record: record.name != "kedro.runner")  # somebody else's
    root.addHandler(rich)
    monkeypatch.setattr(logging, "getLogger", lambda: root)
    screen.install()
    screen.install()  # a second time changes nothing
    root.warning("%s", "points tie " * 20)
    root.info("a table\nof two lines", extra=ON_SCREEN)
    root.info("chatter")
    root.handle(logging.makeLogRecord({"name": "kedro.runner", "levelno": logging.ERROR, "msg": "how to resume"}))
    assert capsys.readouterr().out == f"warning: {'points tie ' * 20}\na table\nof two lines\n"
    assert [handler.get_name() for handler in root.handlers] == ["rich"]


def test_many_descriptions_are_a_bar_of_ours(lines, monkeypatch, tmp_path):
    model = SimpleNamespace(
        tokenizer=None, encode=lambda texts, **_: np.array([[float(text)] for text in texts], dtype=np.float32)
    )
    library = SimpleNamespace(SentenceTransformer=lambda *_, **__: SimpleNamespace(float=lambda: model))
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    quiet = SimpleNamespace(disable_progress_bar=lambda: None)
    monkeypatch.setitem(sys.modules, "transformers.utils.logging", quiet)
    complete = SimpleNamespace(require_vocabulary=lambda *_: None)
    monkeypatch.setitem(sys.modules, "aezsl.encoders.pretrained", complete)
    texts = [str(i) for i in range(3 * encoder.TOGETHER + 1)]
    assert encoder._sentences(tmp_path)(texts).ravel().tolist() == list(map(float, texts))
    assert lines()[-1] == "descriptions: 100% (4 of 4)"


@pytest.fixture
def followed(tmp_path, monkeypatch):
    """What another program reads of how far a run is."""
    monkeypatch.chdir(tmp_path)  # where tracebacks go
    monkeypatch.setenv(screen.PROGRESS_FILE, str(tmp_path / "progress.json"))
    monkeypatch.setattr(screen, "_reported", {})
    return lambda: json.loads((tmp_path / "progress.json").read_text())


def test_a_run_says_in_a_file_how_far_it_is_and_why_it_ended(followed, capsys):
    nodes = [SimpleNamespace(name=name) for name in ("eszsl.fit", "eszsl.rank")]
    closing = Closing()
    closing.before_pipeline_run(SimpleNamespace(nodes=nodes))
    assert followed() == {"done": 0, "total": 2}
    for done, node in enumerate(nodes, start=1):
        closing.before_node_run(node)
        closing.after_node_run(node)
        assert followed() == {"done": done, "total": 2}
    error = DataError("there is no photo of ruby")
    make_hook(lambda *_: None)(type(error), error, None)
    assert followed() == {"done": 2, "total": 2, "error": "there is no photo of ruby"}


def test_nobody_follows_where_no_file_is_named_and_a_bad_place_ends_nothing(followed, monkeypatch, tmp_path):
    monkeypatch.setenv(screen.PROGRESS_FILE, "/proc/nowhere/progress.json")
    screen.report(done=1)
    monkeypatch.delenv(screen.PROGRESS_FILE)
    screen.report(done=2)
    assert list(tmp_path.iterdir()) == []
