"""The schema of all parameters: one class of settings per section. What does not fit is told in one sentence each.

Node signatures name the same classes, so that Kedro builds them for the nodes. A test holds the two together.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import yaml
from pydantic import ValidationError

from aezsl.errors import ParameterError
from aezsl.kinds import Settings
from aezsl.methods import METHODS, method_class

#: Parameters that follow from others, and what to give instead.
FOLLOW = {
    "predict.method": "the model that is used: give --params=method=...",
    "report.benchmark": "the data: give --env=..., or its name",
    "export.benchmark": "the data: give --env=..., or its name",
}


def shared_sections() -> dict[str, type[Settings]]:
    """The sections that belong to no method."""
    from aezsl.data.normalise import NormaliseSettings
    from aezsl.encoders.images.settings import ExtractionSettings
    from aezsl.encoders.texts.semantics import EmbeddingSettings
    from aezsl.pipelines.end_to_end.nodes import EndToEndSettings
    from aezsl.pipelines.evaluation.nodes import EvaluationSettings
    from aezsl.pipelines.export.nodes import ExportSettings
    from aezsl.pipelines.ingestion.nodes import IngestionSettings, SplitSettings
    from aezsl.pipelines.photos.nodes import PhotosSettings
    from aezsl.pipelines.photos.own import OwnSettings
    from aezsl.pipelines.realistic.nodes import RealisticSettings
    from aezsl.pipelines.sensitivity.nodes import SensitivitySettings
    from aezsl.reporting.chosen import TableSettings
    from aezsl.reporting.explanations import QualitativeSettings
    from aezsl.reporting.formatting import ReportSettings
    from aezsl.reporting.gallery import GallerySettings
    from aezsl.reporting.names import PredictSettings
    from aezsl.selection import CalibrationSettings, ConfidenceSettings, SelectionSettings

    return {
        "ingestion": IngestionSettings,
        "split": SplitSettings,
        "feature_extraction": ExtractionSettings,
        "semantic_embedding": EmbeddingSettings,
        "normalise": NormaliseSettings,
        "selection": SelectionSettings,
        "confidence": ConfidenceSettings,
        "calibration": CalibrationSettings,
        "evaluation": EvaluationSettings,
        "gallery": GallerySettings,
        "photos": PhotosSettings,
        "own": OwnSettings,
        "predict": PredictSettings,
        "export": ExportSettings,
        "report": ReportSettings,
        "table": TableSettings,
        "qualitative": QualitativeSettings,
        "sensitivity": SensitivitySettings,
        "realistic": RealisticSettings,
        "end_to_end": EndToEndSettings,
    }


def section_class(name: str) -> type[Settings]:
    """The settings of a section: of a method, or of all."""
    return method_class(name).settings() if name in METHODS else shared_sections()[name]


def complete(
    parameters: Mapping[str, Any], given: Mapping[str, Any], texts: Mapping[str, str], elsewhere: Mapping[str, Any]
) -> dict[str, Any]:
    """The parameters with every default, refused where they do not fit the schema.

    parameters : of the files and ``--params`` together. given : those of ``--params`` alone. texts : path -> text of
    every file that counts; elsewhere : the same for each environment that does not. Names that files themselves read
    from the command line (``cub.root``) are in no section. Sections of methods have no defaults here but in the class.
    """
    read = names_read(texts)
    values, problems = _without(parameters, read), {**dict(_misplaced(given)), **dict(_not_one(given, read))}
    known = shared_sections()
    found: dict[str, Any] = {}
    for name in [*known, *METHODS]:
        section = {} if values.get(name) is None else values[name]
        values.pop(name, None)
        if name in METHODS and section == {}:
            found[name] = {}
            continue
        try:
            model = section_class(name).model_validate(section)
            found[name] = model.model_dump(exclude_unset=name in METHODS)
        except ValidationError as error:
            problems |= _problems(name, section, error, [path for path in read if path.startswith(f"{name}.")])
    for name, value in values.items():
        for path in leaves(value, name):
            problems[path] = f"unknown parameter {path}{_nearest(path, [*known, *METHODS, *read])}"
    if problems:
        raise ParameterError(
            "\n".join(_located(path, text, given, texts, elsewhere) for path, text in problems.items())
        )
    return found


def names_read(texts: Mapping[str, str]) -> set[str]:
    """Names that the files themselves take from the command line."""
    return {name for text in texts.values() for name in re.findall(r"\$\{(?:runtime_params|given):\s*([\w.]+)", text)}


def leaves(value: Any, path: str) -> list[str]:
    """The full names of everything below ``path``."""
    if not isinstance(value, Mapping) or not value:
        return [path]
    return [leaf for name, part in value.items() for leaf in leaves(part, f"{path}.{name}")]


def _without(values: Mapping[str, Any], names: set[str], above: str = "") -> dict[str, Any]:
    """The values but for some names, and for sections that have nothing else."""
    kept = {}
    for name, value in values.items():
        path = f"{above}{name}"
        inside = any(other.startswith(f"{path}.") for other in names)
        rest = _without(value, names, f"{path}.") if inside and isinstance(value, Mapping) else value
        if path not in names and not (inside and rest == {} != value):
            kept[name] = rest
    return kept


def _misplaced(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, source in FOLLOW.items():
        above, _, last = name.partition(".")
        if isinstance(section := given.get(above), Mapping) and last in section:
            yield name, f"{name} follows from {source}"


def _not_one(given: Mapping[str, Any], read: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Files read one value each from the command line: the place of data, a name."""
    for name in read:
        value: Any = given
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value == "" or isinstance(value, Mapping | list):
            yield name, f"{name}: expected one value, got {value!r}"


def _problems(name: str, section: Any, error: ValidationError, read: Sequence[str]) -> dict[str, str]:
    """Full name of a parameter -> what is wrong with it; ``read`` are names that files take from the command line."""
    found: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    unknown: dict[str, str] = {}
    for one in error.errors():
        path, value = _reached(name, section, one["loc"])
        if one["type"] == "extra_forbidden":
            for leaf in leaves(value, path):
                former = leaf.replace(f"{name}.init.", f"{name}.", 1)
                hint = f": write {former}" if former != leaf else _nearest(leaf, [*_names(name), *read])
                unknown[leaf] = f"unknown parameter {leaf}{hint}"
            continue
        found.setdefault(path, []).append(one["msg"].removeprefix("Value error, "))
        values[path] = value
    return unknown | {path: f"{path}: {' or '.join(texts)}, got {values[path]!r}" for path, texts in found.items()}


def _reached(path: str, value: Any, loc: Iterable[Any]) -> tuple[str, Any]:
    """The full name and the value at a place; pydantic's places name branches of unions too, which are left out."""
    for part in loc:
        if (isinstance(value, Mapping) and part in value) or (isinstance(value, list) and isinstance(part, int)):
            path, value = f"{path}.{part}", value[part]
    return path, value


def _names(section: str) -> list[str]:
    fields = section_class(section).model_fields
    grid = getattr(fields.get("grid"), "annotation", None)
    return [f"{section}.{name}" for name in fields] + [
        f"{section}.grid.{name}" for name in getattr(grid, "model_fields", {})
    ]


def _nearest(name: str, names: Iterable[str]) -> str:
    names = list(names)
    near = get_close_matches(name, names, n=1) or get_close_matches(name.partition(".")[0], names, n=1)
    return f": did you mean {near[0]}?" if near else ": conf/README.md lists all parameters"


def _located(path: str, sentence: str, given: Mapping[str, Any], texts: Mapping[str, str], elsewhere: Any) -> str:
    """The sentence with where the parameter comes from."""
    typed = {leaf for name, value in given.items() for leaf in leaves(value, name)}
    if any(path == leaf or leaf.startswith(f"{path}.") or path.startswith(f"{leaf}.") for leaf in typed):
        envs = [env for env, others in elsewhere.items() if path in names_read(others)]
        if envs:
            return f"--params: {path} is read with --env={' or --env='.join(envs)} only"
        return f"--params: {sentence}"
    places = [f"{file}:{line}" for file, text in texts.items() if (line := _line(text, path))]
    return f"{places[-1]}: {sentence}" if places else sentence


def _line(text: str, path: str) -> int:
    """Where a YAML file has this parameter; 0 where it has not."""
    node, line = yaml.compose(text), 0
    for part in path.split("."):
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next((pair for pair in pairs if pair[0].value == part), None)
        if pair is None:
            return line if isinstance(node, yaml.SequenceNode) else 0
        line, node = pair[0].start_mark.line + 1, pair[1]
    return line
