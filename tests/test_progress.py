import logging

from aezsl import progress as module
from aezsl.progress import progress


def test_a_log_has_a_line_per_tenth_of_long_work(monkeypatch, caplog):
    monkeypatch.setattr(module, "QUIET_SECONDS", -1.0)
    with caplog.at_level(logging.INFO):
        assert list(progress(range(25), 25, "counting")) == list(range(25))
    assert len(caplog.records) == 10
    assert caplog.messages[-1].startswith("counting: 25 of 25")


def test_short_work_and_work_that_is_not_shown_leave_no_line(monkeypatch, caplog):
    with caplog.at_level(logging.INFO):
        assert list(progress(range(25), 25, "counting")) == list(range(25))
        monkeypatch.setattr(module, "QUIET_SECONDS", -1.0)
        assert list(progress(range(25), 25, "counting", show=False)) == list(range(25))
    assert not caplog.records


def test_a_terminal_has_a_bar(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert list(progress(range(3), 3, "counting")) == [0, 1, 2]
    assert "counting" in capsys.readouterr().err
