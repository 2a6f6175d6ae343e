"""What all readers of benchmarks share."""

from aezsl.formats.base import BenchmarkFormat
from tests.helpers.trees import refused


def test_missing_files_are_named(tmp_path):
    with refused("classes.txt is missing: it holds the names"):
        BenchmarkFormat(root=str(tmp_path)).require("classes.txt", "the names")
