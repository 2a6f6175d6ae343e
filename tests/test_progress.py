import logging

import pytest

from aezsl.machine import progress
from aezsl.machine.console import ON_SCREEN, VERBOSE, OnScreen


@pytest.fixture
def lines(capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINE_INTERVAL", 0.0)
    return lambda: capsys.readouterr().err.splitlines()


def test_without_a_terminal_every_tenth_is_a_line(lines):
    assert list(progress.progress_bar(range(1000), desc="features")) == list(range(1000))
    assert lines() == [f"features: {p}% ({10 * p:,} of 1,000)" for p in range(10, 101, 10)]


def test_what_was_done_before_is_said_first(lines):
    with progress.progress_bar(total=10, initial=8, desc="features") as bar:
        bar.update(2)
    assert lines() == ["features: 8 of 10 are there already", "features: 100% (10 of 10)"]


def test_short_work_and_switched_off_bars_say_nothing(capsys):
    for options in ({}, {"disable": True, "initial": 1}):
        list(progress.progress_bar(range(20), desc="quick", **options))
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
