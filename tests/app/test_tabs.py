"""Tabs and browsers interleaved at random, in short; ``python -m tests.campaign --tabs 2000`` does it at length."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.helpers.colours import make_place
from tests.helpers.tabs import Tabs

pytestmark = pytest.mark.slow


def test_nothing_is_mixed_or_lost_whatever_tabs_do_in_whatever_order(tmp_path, monkeypatch):
    monkeypatch.setattr(Tabs, "place", make_place(tmp_path))
    few = {"max_examples": 8, "stateful_step_count": 30, "deadline": None, "database": None, "derandomize": True}
    run_state_machine_as_test(Tabs, settings=settings(**few, suppress_health_check=list(HealthCheck)))
