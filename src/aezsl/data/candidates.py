"""Lists of candidate classes, and the hierarchy that they belong to: the large-scale protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Parent and child.
Edge = tuple[str, str]


@dataclass(frozen=True)
class Candidates:
    """Names of the classes of every list, and the edges of the hierarchy where there is one."""

    lists: Mapping[str, list[str]] = field(default_factory=dict)
    edges: list[Edge] | None = None
