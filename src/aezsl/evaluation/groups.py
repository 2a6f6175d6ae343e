r"""Groups of classes, and the deepest one that is probable enough.

The probability of a group is the sum of those of its members. An image whose best class is too improbable for a name,
:math:`p_1 < \theta` (see ``confidence``), is named by a group: of those with :math:`p \ge (1 + \theta) / 2` by the one
with the fewest classes, of equal ones by the most probable.

Why not :math:`\theta`: a group of many classes has that much by chance. On classes of ImageNet that were held out
(``python -m tests.benchmarks.bench_backoff choose``) 68% of the groups are right by it, and 14% of the photos whose
class is not in the list are refused; halfway to one 89% and 34%, and the threshold without groups refuses 68%.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aezsl.arrays import Array, Labels


@dataclass(frozen=True)
class Groups:
    """Some groups of C classes; a class may be in several, narrow and wide ones."""

    names: tuple[str, ...]  # (G,)
    members: tuple[Labels, ...]  # (G,) the classes of each, in their order

    @classmethod
    def of(cls, lineages: Sequence[Sequence[str]], called: Mapping[str, str] | None = None) -> "Groups | None":
        """From what is above every class, nearest first; called : what a group is called, where not by its key.

        A group of one class, or of all, says nothing that the class itself, or the list, does not. Of groups that have
        the same members the nearest one stays.
        """
        found: dict[str, list[int]] = {}
        for number, above in enumerate(lineages):
            for key in dict.fromkeys(above):
                found.setdefault(key, []).append(number)
        telling: dict[tuple[int, ...], str] = {}
        for key, numbers in found.items():
            if 1 < len(numbers) < len(lineages):
                telling.setdefault(tuple(numbers), key)
        if not telling:
            return None
        return cls(tuple((called or {}).get(key, key) for key in telling.values()), tuple(map(np.array, telling)))

    def classes(self, group: int) -> Labels:
        """The members of a group."""
        return self.members[group]

    def back_off(self, classes: Labels, shares: Array, threshold: float) -> "BackOff":
        """The group that names every image whose best class is below the threshold.

        classes, shares : (n, k) those of an image, best first, and their probabilities.
        """
        unsure = np.flatnonzero(shares[:, 0] < threshold)
        few = np.s_[:, : np.count_nonzero(shares, axis=1).max(initial=1)]  # further classes have no probability
        of, share = classes[unsure][few], shares[unsure][few]
        sums = np.array([(np.isin(of, own) * share).sum(axis=1) for own in self.members])
        rows, group = np.nonzero(least_of_group(threshold) <= sums.T)
        found, sizes = sums[group, rows], np.array([len(own) for own in self.members])
        order = np.lexsort((group, -found, sizes[group], rows))
        first = order[np.unique(rows[order], return_index=True)[1]]
        named = BackOff.none(len(classes), self.names)
        at = unsure[rows[first]]
        named.group[at], named.probabilities[at] = group[first], np.minimum(found[first], 1.0)
        named.best[at] = [np.isin(classes[i], self.classes(named.group[i])).argmax() for i in at]
        return named


def least_of_group(threshold: float) -> float:
    """The least probability of a group that names an image."""
    return (1 + threshold) / 2


@dataclass(frozen=True)
class BackOff:
    """The groups that name n images."""

    names: tuple[str, ...]  # (G,) of all groups
    group: Labels  # (n,) -1 where the best class names the image, or nothing does
    probabilities: Array  # (n,) of the group, 0 there
    best: Labels  # (n,) the place of the best member among the classes of the image

    @classmethod
    def none(cls, n: int, names: tuple[str, ...] = ()) -> "BackOff":
        """No group names an image."""
        return cls(names, np.full(n, -1), np.zeros(n), np.zeros(n, dtype=np.int64))

    @property
    def called(self) -> list[str]:
        """The name of the group of every image; empty where there is none."""
        return [(*self.names, "")[number] for number in self.group]
