"""``kedro pipelines``: every pipeline with a line of what it does."""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import click

#: What pipelines do that are not one method's.
OTHERS = {
    "ingestion": "raw files -> images, classes, split",
    "feature_extraction": "images -> features; what is stored already is not computed again",
    "semantic_embedding": "descriptions of classes -> vectors",
    "sensitivity_k": "accuracy of aezsl_lr against k, the paper's figure of robustness",
    "sensitivity_lambda3": "accuracy of aezsl_lr against lambda3, likewise",
    "ablation_weighting": "AEZSL with other weights or none, beside ESZSL: what its weights contribute",
    "large_scale": "methods for thousands of classes: candidate lists, hit@K, hierarchical precision",
    "daezsl_end_to_end": "DAEZSL from images, its network learning with it",
    "qualitative": "where AEZSL is right and ESZSL wrong, and why",
    "table1": "every method on one problem, in one table beside the published figures",
    "table1_pair": "the same with the methods that need a pair of image and text encoders",
    "report": "one page of whatever has been run",
    "predict": "names for new images, by a trained model (--params=method=...,predict.images=<folder>)",
    "export": "a trained model as an MLflow model (--params=method=...)",
}


def describe_pipelines() -> dict[str, str]:
    """Name -> what it does, methods first; ``gzsl_`` stands for the generalized setting of all of them."""
    from aezsl.methods import METHODS
    from aezsl.pipeline_registry import DEFAULT_METHOD

    lines = {name: _plain(_first_line(entry.place)) for name, entry in METHODS.items()}
    lines[DEFAULT_METHOD] += " [what kedro run without a name runs]"
    return {**lines, "gzsl_<method>": "the same among seen and unseen classes, with calibrated stacking", **OTHERS}


def _first_line(place: str) -> str:
    """Of a class's docstring, read off its file: to import every method there is takes seconds."""
    module, _, name = place.partition(":")
    spec = find_spec(f"aezsl.methods.{module}")
    tree = ast.parse(Path(spec.origin or "").read_text(encoding="utf-8")) if spec else ast.Module([], [])
    found = (part for part in tree.body if isinstance(part, ast.ClassDef) and part.name == name)
    return (ast.get_docstring(next(found)) or "").partition("\n")[0]


def _plain(text: str) -> str:
    """A line of a docstring without the marks of its formulas and code."""
    return re.sub(r":math:`\\?([^`]+)`", r"\1", text).replace("``", "")


@click.command()
def pipelines() -> None:
    """List pipelines, with a line of what each does."""
    lines = describe_pipelines()
    width = max(map(len, lines))
    for name, what in lines.items():
        click.echo(f"{name:<{width}}  {what}")
