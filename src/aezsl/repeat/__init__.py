"""``kedro repeat``: pipelines over several class splits, in one process."""

from aezsl.repeat.command import Repeat

__all__ = ["Repeat"]
