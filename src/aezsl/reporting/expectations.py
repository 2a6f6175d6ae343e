"""What to expect of names that nobody can check: which classes will be mixed up."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from aezsl.arrays import Array


def alike_pairs(S_seen: Array, S_target: Array, names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of target classes that are described more alike than any two seen classes, the most alike first.

    Nothing in training teaches a model to tell two classes apart whose vectors are that close. Closeness is the cosine
    of the vectors as methods see them.
    """
    seen, targets = _cosines(S_seen), _cosines(S_target)
    limit = max((seen[pair] for pair in combinations(range(len(S_seen)), 2)), default=np.inf)
    pairs = [pair for pair in combinations(range(len(S_target)), 2) if targets[pair] > limit]
    return [(names[i], names[j]) for i, j in sorted(pairs, key=lambda pair: -targets[pair])]


def describe_alike(pairs: Sequence[tuple[str, str]], shown: int = 3) -> str:
    """A sentence that names the most alike ones; empty where there are none."""
    if not pairs:
        return ""
    named = "; ".join(" and ".join(pair) for pair in pairs[:shown])
    more = f" (and {len(pairs) - shown} more pairs)" if len(pairs) > shown else ""
    return f"described more alike than any two seen classes, and likely to be mixed up: {named}{more}"


def _cosines(S: Array) -> Array:
    lengths = np.linalg.norm(S, axis=1, keepdims=True)
    unit = S / np.where(lengths > 0, lengths, 1.0)
    cosines: Array = unit @ unit.T
    return cosines
