"""Where results come from and what they cost."""

import resource
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

#: Packages whose versions a result may depend on.
PACKAGES = ("aezsl", "numpy", "scipy", "scikit-learn", "torch", "torchvision", "onnxruntime", "kedro", "mlflow")


def git_commit(folder: Path) -> str:
    """The commit of the code, marked where it was changed since; 'unknown' outside a checkout."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def peak_memory_mb() -> float:
    """The largest resident size so far of this process and, if greater, of any worker it waited for."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux kibibytes
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return peak * unit / 2**20


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
