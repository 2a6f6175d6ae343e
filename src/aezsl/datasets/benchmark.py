"""Any benchmark as a catalog entry."""

from typing import Any

from aezsl.data.benchmark import Benchmark
from aezsl.datasets.read_only import ReadOnlyDataset
from aezsl.formats import make_format


class BenchmarkDataset(ReadOnlyDataset[Benchmark]):
    """A data set as its authors lay it out: ``format`` names the reader (``aezsl.formats``), the rest is for it."""

    why = "benchmarks are read-only"

    def __init__(self, *, format: str, metadata: dict[str, Any] | None = None, **options: Any) -> None:
        super().__init__(metadata=metadata)
        self._format, self._options = format, options
        self._reader = make_format(format, **options)

    def load(self) -> Benchmark:
        """Read all of it; no image is opened."""
        return self._reader.read()

    def _exists(self) -> bool:
        return self._reader.exists()

    def _describe(self) -> dict[str, Any]:
        return {"format": self._format, **self._options}
