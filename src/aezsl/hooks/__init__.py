"""What Kedro calls around a run: checks before it, threads, turns, MLflow, the lines at its end."""

from collections.abc import Iterator
from functools import cache
from typing import Any


class ProjectHooks:
    """The hooks, imported when a session asks for them: Kedro reads its settings for every command, also for an answer.

    Kedro calls the last of them first, and of those that want to be first the last: what is refused need not wait for
    its turn.
    """

    def __iter__(self) -> Iterator[Any]:
        return iter(_hooks())


@cache
def _hooks() -> tuple[Any, ...]:
    from aezsl.hooks.checks import Checks, OneThreadPerTask
    from aezsl.hooks.closing import Closing
    from aezsl.hooks.repeat import split_hooks
    from aezsl.hooks.tracking import ParameterLogging, RunRecorder
    from aezsl.hooks.turns import TakeTurns

    return TakeTurns(), Checks(), split_hooks, RunRecorder(), OneThreadPerTask(), Closing(), ParameterLogging()
