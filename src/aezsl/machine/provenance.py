"""Where results come from and what they cost."""

import subprocess
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import psutil

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

#: Packages whose versions a result may depend on.
PACKAGES = ("aezsl", "numpy", "scipy", "scikit-learn", "torch", "torchvision", "onnxruntime", "kedro", "mlflow")


def git_commit(folder: Path) -> str:
    """The commit of the code, marked where it was changed since; 'unknown' outside a checkout."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


class Cost:
    """Measures what happens inside its context: ``{stage}_seconds``, and how far memory rose above what was in use.

    Linux lets a process restart the count of its largest size. Elsewhere only a rise above all former peaks shows,
    and ``{stage}_memory_mb`` may be too small. It is the whole process that is measured, so memory is left out
    where several nodes share it.
    """

    #: Off where several nodes share this process: none could tell whose memory it sees. The hooks know the runner.
    measure_memory: ClassVar[bool] = True

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def __enter__(self) -> "Cost":
        self._before = _restart_peak()
        self._start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.measured = {f"{self._stage}_seconds": time.perf_counter() - self._start}
        if self.measure_memory:
            self.measured[f"{self._stage}_memory_mb"] = max(_own_peak_mb() - self._before, 0.0)


#: The largest size that ``Cost`` has made the system forget.
_forgotten_peak_mb = 0.0


def peak_memory_mb() -> float:
    """The largest resident size so far of this process and, where the system tells and if greater, of any worker."""
    workers = 0.0 if resource is None else _peak_mb(resource.RUSAGE_CHILDREN)
    return max(_forgotten_peak_mb, _own_peak_mb(), workers)


def _own_peak_mb() -> float:
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        if resource is None:
            return float(psutil.Process().memory_info().peak_wset) / 2**20
        return _peak_mb(resource.RUSAGE_SELF)
    # Not ru_maxrss, which remembers the process that this one was started from.
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _peak_mb(who: int) -> float:
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    return resource.getrusage(who).ru_maxrss * unit / 2**20


def _restart_peak() -> float:
    """Reset the recorded peak to what is in use now, where the system allows it; the peak after that."""
    global _forgotten_peak_mb
    _forgotten_peak_mb = max(_forgotten_peak_mb, _own_peak_mb())
    with suppress(OSError):  # not Linux, or not allowed
        Path("/proc/self/clear_refs").write_text("5")
    return _own_peak_mb()


def now() -> str:
    """The time to the second, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on, where installed."""
    found = {"python": sys.version.split()[0]}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def make_record(cost: dict[str, Any], fingerprint: str) -> dict[str, Any]:
    """What a reader must know to trust a result: its cost, the problem it was made on, the code and the time.

    ``process_peak_mb`` is of the whole process so far, other methods of the same run included.
    """
    return {
        **cost,
        "process_peak_mb": peak_memory_mb(),
        "problem_fingerprint": fingerprint,
        "code_commit": git_commit(Path(__file__).parent),
        "finished": now(),
    }
