"""Libraries that other libraries import and hardly ever use: loaded when something of them is used, if at all."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

#: scikit-learn imports it for a function of its own that nothing here calls: half a second of every command.
POSTPONED = ("scipy.stats",)

#: What a module has before its code runs, and what debuggers and Python itself ask of all modules there are.
_KNOWN_BEFORE = frozenset(("__class__", "__file__", "__loader__", "__name__", "__package__", "__spec__"))
_WAITING = "__waiting_loader__"
_lock = RLock()


class _Waiting(ModuleType):
    """A module whose code runs when anything of it is asked for.

    As ``importlib.util.LazyLoader`` has it, but one thread loads while others wait: its own lets them see half of it.
    """

    def __getattribute__(self, name: str) -> Any:
        if name in _KNOWN_BEFORE:
            return ModuleType.__getattribute__(self, name)
        with _lock:
            state = ModuleType.__getattribute__(self, "__dict__")
            loader: Loader | None = state.pop(_WAITING, None)
            if loader is not None:  # the code itself asks, too, while it runs: the lock lets its thread pass
                state["__spec__"].loader = state["__loader__"] = loader
                try:
                    loader.exec_module(self)
                except BaseException:
                    state[_WAITING] = loader
                    raise
                self.__class__ = ModuleType  # type: ignore[assignment]  # an ordinary one from now on
        return ModuleType.__getattribute__(self, name)


class _Postponing(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the module's own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module waiting."""
        module.__dict__[_WAITING] = self._loader
        module.__class__ = _Waiting


class _Finder(MetaPathFinder):
    def __init__(self, names: Sequence[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module where it lies, with a loader that waits; nothing for all other modules."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self._names else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Postponing(spec.loader)
        return spec


def install(names: Sequence[str] = POSTPONED) -> None:
    """From now on these modules wait to be used; those that are loaded stay so."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(names))


@contextmanager
def outside_of_notebooks() -> Iterator[None]:
    """Where IPython is not loaded, nobody sits at it: whoever asks meanwhile hears so without loading it."""
    absent = "IPython" not in sys.modules
    if absent:
        sys.modules["IPython"] = None  # type: ignore[assignment]  # Python's own way to say that there is none
    try:
        yield
    finally:
        if absent and sys.modules.get("IPython", ...) is None:
            del sys.modules["IPython"]
