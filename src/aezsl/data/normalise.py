"""Normalisation whose statistics are learnt once, from training data, and kept for whatever comes later."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from pydantic import AfterValidator

from aezsl.arrays import Array, unit_rows
from aezsl.errors import DataError
from aezsl.kinds import Settings

#: sqrt: signed root. centre: minus the mean. standardise: unit variance, then centre. l2: rows of unit length.
STEPS = ("sqrt", "centre", "standardise", "l2")

#: A step that joins blocks of columns, as ``join_step`` writes it: ``text&gloss@0:384,384:768;cupl@768:1152``.
GROUP = r"[\w&]+@\d+:\d+(,\d+:\d+)*"
JOIN = re.compile(f"{GROUP}(;{GROUP})*")
Block = tuple[int, int]


#: One way to normalise, or a list of alternatives; on the command line, where commas separate parameters, steps are
#: joined by ``+`` and alternatives by ``/``.
Steps = str | list[str] | list[list[str]]

#: What is normalised: vectors of images, and of classes.
PARTS = ("features", "semantics")

#: The steps of both PARTS, by name.
Normalisation = Mapping[str, Sequence[str]]
NOTHING: Normalisation = dict.fromkeys(PARTS, ())


def check_steps(steps: Steps) -> Steps:
    """Refuse what is not a step."""
    for way in listed_alternatives(steps):
        for step in way:
            check_step(step)
    return steps


class NormaliseSettings(Settings):
    """How vectors become the numbers that methods see. Statistics come from training images and seen classes only.

    Steps are applied in the order given; []: none. sqrt: signed root; centre: minus the mean; standardise: unit
    variance, centred; l2: unit length. Several lists are alternatives: each method uses the combination that is best
    for itself on validation classes, but the first of each unless that is clearly worse. Choosing among four takes up
    to four times as long as one. On the command line steps are joined by + and alternatives by /:
    --params=normalise.features=sqrt+centre+l2/l2.
    """

    features: Annotated[Steps, AfterValidator(check_steps)] = [["sqrt", "centre", "l2"], ["l2"]]
    """Of images."""
    semantics: Annotated[Steps, AfterValidator(check_steps)] = [["l2"], ["centre", "l2"]]
    """Of classes."""

    def alternatives(self) -> dict[str, list[list[str]]]:
        """The ways to normalise each of PARTS."""
        return {part: listed_alternatives(getattr(self, part)) for part in PARTS}


def listed_alternatives(steps: Steps) -> list[list[str]]:
    """The ways to normalise among which one is chosen; a single list of steps is the only one."""
    if isinstance(steps, str):
        return [way.split("+") for way in steps.split("/")]
    if steps and all(not isinstance(way, str) for way in steps):
        return [list(way) for way in steps]
    return [[step for step in steps if isinstance(step, str)]]


def join_step(groups: Sequence[tuple[str, Sequence[Block]]]) -> str:
    """The step that takes the mean of the blocks of columns of every group, each block and mean at unit length.

    The means stand side by side. groups : name and blocks, from a column to the one before another.
    """
    return ";".join(f"{name}@{','.join(f'{a}:{b}' for a, b in blocks)}" for name, blocks in groups)


def _groups(step: str) -> list[list[Block]]:
    """The blocks of columns of every group of a step that joins some."""
    found = []
    for group in step.split(";"):
        ends = [block.split(":") for block in group.partition("@")[2].split(",")]
        found.append([(int(a), int(b)) for a, b in ends])
    return found


def moving_steps(steps: Sequence[str]) -> list[str]:
    """The steps that change directions, and not only lengths."""
    return [step for step in steps if step != "l2"]


def given_beside(steps: Sequence[str], S: Array) -> Array | None:
    """Semantics S (C, a) as they were given, at unit length: what similarity of classes is measured by.

    None where the steps keep directions, so that the normalised semantics say the same.
    """
    return unit_rows(S) if moving_steps(steps) else None


def steps_text(steps: Sequence[str]) -> str:
    """The steps as they are given on the command line."""
    return "+".join(steps) or "no step"


def in_words(normalisation: Normalisation) -> str:
    """In words, for example "l2 for features and centre+l2 for semantics"."""
    return " and ".join(f"{steps_text(normalisation[part])} for {part}" for part in PARTS)


@dataclass(frozen=True)
class Normaliser:
    """The steps in order, with the statistics of those that have some: ``<number of the step>_mean`` and ``_scale``."""

    steps: tuple[str, ...] = ()
    statistics: dict[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for step in self.steps:
            check_step(step)
        needed = {f"{i}_mean" for i, step in enumerate(self.steps) if step in ("centre", "standardise")}
        needed |= {f"{i}_scale" for i, step in enumerate(self.steps) if step == "standardise"}
        if needed != set(self.statistics):
            raise DataError(
                f"normalisation by {', '.join(self.steps) or 'no step'} needs the statistics "
                f"{sorted(needed)}, got {sorted(self.statistics)}"
            )

    def check_width(self, width: int) -> None:
        """Refuse statistics that are not one finite number for each of ``width`` columns; no scale may be zero.

        A step that joins columns leaves fewer of them.
        """
        for step in filter(JOIN.fullmatch, self.steps):
            groups = _groups(step)
            if any(not 0 <= a < b <= width or b - a != own[0][1] - own[0][0] for own in groups for a, b in own):
                raise DataError(f"the step {step} of a normalisation does not fit {width} columns")
            width = sum(own[0][1] - own[0][0] for own in groups)
        for name, values in self.statistics.items():
            usable = values.shape == (width,) and values.dtype.kind == "f" and np.isfinite(values).all()
            if not usable or (name.endswith("_scale") and not (values > 0).all()):
                raise DataError(
                    f"the statistic {name} of a normalisation must be {width} finite numbers, scales positive"
                )

    def __call__(self, rows: Array) -> Array:
        """Normalise rows (n, d) as the training rows were."""
        for number, step in enumerate(self.steps):
            rows = _apply(step, rows, self.statistics.get(f"{number}_mean"), self.statistics.get(f"{number}_scale"))
        return rows


def fit_normaliser(steps: Sequence[str], rows: Array) -> tuple[Normaliser, Array]:
    """Learn from training rows (n, d); also the rows, normalised."""
    statistics: dict[str, Array] = {}
    for number, step in enumerate(steps):
        check_step(step)
        mean = scale = None
        if step == "standardise":
            scale = rows.std(axis=0)
            scale[scale == 0] = 1.0
            statistics[f"{number}_scale"] = scale
        if step in ("centre", "standardise"):
            mean = rows.mean(axis=0) if scale is None else rows.mean(axis=0) / scale
            statistics[f"{number}_mean"] = mean
        rows = _apply(step, rows, mean, scale)
    return Normaliser(tuple(steps), statistics), rows


def fit_normaliser_in_blocks(steps: Sequence[str], blocks: Callable[[], Iterable[Array]]) -> Normaliser:
    """As ``fit_normaliser`` for rows that do not fit in memory: every step with statistics is one pass over ``blocks``.

    blocks : called for every pass, gives the training rows in float64, some at a time.
    """
    normaliser = Normaliser()
    for number, step in enumerate(steps):
        check_step(step)
        statistics = dict(normaliser.statistics)
        if step in ("centre", "standardise"):
            n, total, squares = 0, np.float64(0.0), np.float64(0.0)
            for block in blocks():
                rows = normaliser(block)
                n, total = n + len(rows), total + rows.sum(axis=0)
                squares = squares + np.square(rows).sum(axis=0)
            mean = np.asarray(total / n)
            statistics[f"{number}_mean"] = mean
            if step == "standardise":
                scale = np.sqrt(np.maximum(squares / n - np.square(mean), 0))
                scale[scale == 0] = 1.0
                statistics[f"{number}_mean"], statistics[f"{number}_scale"] = mean / scale, scale
        normaliser = Normaliser(tuple(steps[: number + 1]), statistics)
    return normaliser


def check_step(step: str) -> None:
    """Refuse what is not a step."""
    if step not in STEPS and not JOIN.fullmatch(step):
        raise DataError(f"unknown normalisation step {step!r}; expected a list of: {', '.join(STEPS)}")


def _apply(step: str, rows: Array, mean: Array | None, scale: Array | None) -> Array:
    if step == "sqrt":
        rooted: Array = np.sign(rows) * np.sqrt(np.abs(rows))
        return rooted
    if step == "l2":
        return unit_rows(rows)
    if step not in STEPS:
        means = [np.mean([unit_rows(rows[:, a:b]) for a, b in own], axis=0) for own in _groups(step)]
        return np.hstack([unit_rows(mean) for mean in means])
    if scale is not None:
        rows = rows / scale
    return rows if mean is None else rows - mean
