"""What may stand in a configuration: every section with its names, and of each name the kind of its value."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_type_hints

from aezsl.data.normalise import STEPS
from aezsl.encoders.images.engine import PROVIDERS
from aezsl.encoders.texts.semantics import KINDS
from aezsl.kinds import (
    AtLeastOne,
    Count,
    CountOrNone,
    Fraction,
    NotNegative,
    Seed,
    Share,
    Text,
    choice,
    joined,
    list_of,
    mapping,
)
from aezsl.methods import METHODS, Entry
from aezsl.methods.core.parameters import kind_of

#: Arguments of a kind of semantics that are not for the user to set.
GIVEN = ("classes", "reference", "fingerprint", "new")


@dataclass(frozen=True)
class Section:
    """Names and what stands behind each: a kind of value, a section, or sections in a list."""

    names: Mapping[str, Any]
    required: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def whole(cls, **names: Any) -> "Section":
        """All names must be there: base gives every one of them."""
        return cls(names, frozenset(names))

    def paths(self, above: str = "") -> Iterator[str]:
        """All names in full, joined by dots."""
        for name, behind in self.names.items():
            if isinstance(behind, Section):
                yield from behind.paths(f"{above}{name}.")
            else:
                yield f"{above}{name}"


@dataclass(frozen=True)
class Listed:
    """A list of mappings, at least one; which section each must keep to depends on its ``by``."""

    by: str
    sections: Mapping[str, Section]


def semantic_sources() -> Listed:
    """Kinds of semantics with the arguments of their functions."""
    kinds = {"auto": Section({"kind": Text, "encoder": Text}, frozenset(["kind"]))}
    for kind, embed in KINDS.items():
        known = {name: hint for name, hint in hints(embed).items() if name not in GIVEN}
        needed = [
            name for name in known if inspect.signature(embed).parameters[name].default is inspect.Parameter.empty
        ]
        kinds[kind] = Section({"kind": Text, **known}, frozenset(["kind", *needed]))
    return Listed("kind", kinds)


def method_section(entry: Entry) -> Section:
    """``init`` and ``grid`` of a method take what its class declares."""
    known = {parameter.name: kind_of(parameter) for parameter in entry.load().declared()}
    grid = {name: list_of(kind, at_least=1) for name, kind in known.items()}
    return Section.whole(init=Section(known), grid=Section(grid))


def hints(annotated: type[Any] | Callable[..., Any]) -> dict[str, Any]:
    """Annotations by name, with their limits."""
    found = get_type_hints(annotated, include_extras=True)
    return {name: hint for name, hint in found.items() if name != "return"}


def all_sections() -> Section:
    """Everything that conf/base may say; a new parameter is a line here and one there, a new method none here."""
    names, way = list_of(Text), list_of(choice(STEPS))
    own = mapping("backbone", backbone=Text, weights=Text, layer=Text | None, path=Text | list_of(Text) | None)
    steps = way | joined(STEPS, alternatives=True) | list_of(way, at_least=1)
    fixed = {
        "ingestion": Section.whole(groups=names | Text | None, sources=names | Text | None, complete=bool | None),
        "split": Section.whole(
            seed=Seed,
            rule=Literal["given", "drawn"],
            unseen_fraction=Fraction,
            seen_test_fraction=Fraction,
            test_imbalance=AtLeastOne,
            folder=str,
        ),
        "feature_extraction": Section.whole(
            backbone=Text | list_of(Text | own, at_least=1),
            weights=Text,
            layer=Text | None,
            path=Text | list_of(Text, at_least=1) | None,
            device=choice(("auto", *PROVIDERS)),
            batch_size=Count,
            shard_size=Count,
            on_error=Literal["fail", "skip"],
        ),
        "semantic_embedding": Section.whole(sources=semantic_sources()),
        "normalise": Section.whole(features=steps, semantics=steps),
        "selection": Section.whole(
            rule=Literal["random", "first"],
            n_folds=Count,
            seed=Seed,
            fraction=Fraction | None,
            criterion=Literal["accuracy", "harmonic", "ausuc"],
        ),
        "confidence": Section.whole(calibrate=bool, none_share=Share),
        "end_to_end": Section.whole(weights=Text),
        "evaluation": Section.whole(n_confusions=CountOrNone, scores=bool),
        "calibration": Section.whole(
            criterion=Literal["ausuc", "harmonic", "accuracy"], per_class=bool, seen_test_fraction=Fraction
        ),
        "sensitivity": Section.whole(k=list_of(Count, at_least=1), lambda3=list_of(NotNegative, at_least=1)),
        "gallery": Section.whole(rows=Count, columns=Count, seed=Seed),
        "qualitative": Section.whole(
            cases=Count, images=Count, neighbours=Count, class_name=Text | None, mappings=Count, weights=Count
        ),
        "report": Section.whole(benchmark=Any, data_set=Text | None, env=Any, gallery_width=Count),
        "export": Section.whole(benchmark=Any, licence=Text),
        "predict": Section.whole(
            method=Text, model=Text | None, backbone=Text | None, sorted=Literal["copies", "links"] | None
        ),
    }
    return Section({**fixed, **{entry.name: method_section(entry) for entry in METHODS.values()}})
