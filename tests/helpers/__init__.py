"""What several test modules share: no test imports another test, and nothing is imported from conftest."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
