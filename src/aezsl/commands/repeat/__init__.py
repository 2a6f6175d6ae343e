"""``kedro repeat``: pipelines over several class splits, in one process."""

from aezsl.commands.repeat.command import Repeat

__all__ = ["Repeat"]
