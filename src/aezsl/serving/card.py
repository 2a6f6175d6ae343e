"""What others want to know of a trained model: a card, and its results in the form that CLIP_benchmark gives."""

import json
from collections.abc import Mapping
from typing import Any

from aezsl import __version__
from aezsl.encoders.images.settings import JOINED_BY
from aezsl.methods import HEADS, METHODS, method_name
from aezsl.serving.trained import TrainedModel

#: This project's metric -> the name that CLIP_benchmark has for it.
CLIP_BENCHMARK = {"accuracy": "acc1", "hit_at_5": "acc5", "per_class_accuracy": "mean_per_class_recall"}

LIMITS = (
    "Probabilities are calibrated on validation classes: among more classes, or harder ones, they promise too much.",
    "Images are best like those of training: same kind of pictures, same network, decoded in the same way.",
    "Classes are told apart as well as their descriptions do.",
)


def model_card(
    trained: TrainedModel,
    benchmark: str,
    metrics: Mapping[str, Any] | None,
    summary: Mapping[str, Any] | None,
    licence: str,
) -> str:
    """README.md of a model: front matter as model hubs read it, then method, data, metrics and limits in words.

    metrics : of the test images, in parts of one; none where there were no labels. summary : sizes of the problem.
    """
    name = method_name(trained.model)
    entry, cls = (METHODS | HEADS)[name], type(trained.model)
    recipe = trained.recipe
    backbones = JOINED_BY.join(str(part["backbone"]) for part in recipe.backbone["parts"])
    sources = [
        json.dumps({key: value for key, value in source.items() if key != "fingerprint"}) for source in recipe.sources
    ]
    roles = recipe.classes["role"].value_counts()
    measured = {key: value for key, value in (metrics or {}).items() if isinstance(value, int | float)}
    limits = [*LIMITS, *(["It learns from the images of a request together, as a pool."] if entry.pool else [])]
    return "\n".join(
        [
            "---",
            *_front_matter(name, benchmark, licence, measured),
            "---",
            f"# {entry.label} on {benchmark}",
            "",
            (cls.__doc__ or "").partition("\n")[0],
            "",
            f"* Method: `{name}`, {cls.citation}",
            f"* Parameters: `{json.dumps(trained.model.get_params(), default=str)}`",
            f"* Features: {backbones} (fingerprint `{recipe.backbone['fingerprint']}`), normalised by "
            f"{', '.join(recipe.features.steps) or 'nothing'}",
            f"* Classes are described by {'; '.join(sources)}, normalised by "
            f"{', '.join(recipe.semantics.steps) or 'nothing'}",
            f"* Trained on {roles.get('seen', 0)} seen classes{_size(summary)}; {roles.get('unseen', 0)} unseen ones",
            f"* Licence of the data: {licence}",
            f"* Made by aezsl {__version__}",
            "",
            "## Results on unseen classes",
            "",
            *_table(measured),
            "",
            *_expected(trained, int(roles.get("unseen", 0))),
            "## Limits",
            "",
            *(f"* {limit}" for limit in limits),
            "",
        ]
    )


def _front_matter(name: str, benchmark: str, licence: str, metrics: Mapping[str, float]) -> list[str]:
    lines = [
        "library_name: aezsl",
        "pipeline_tag: zero-shot-image-classification",
        f"tags: [zero-shot, {name}]",
        "license: other",
        f"license_name: {json.dumps(licence, ensure_ascii=False)}",
        f"datasets: [{json.dumps(benchmark)}]",
        f"metrics: [{', '.join(metrics)}]",
        "model-index:",
        f"- name: {json.dumps(f'{name}-{benchmark}')}",
        "  results:",
        "  - task: {type: zero-shot-image-classification}",
        f"    dataset: {{name: {json.dumps(benchmark)}, type: {json.dumps(benchmark)}}}",
        "    metrics:" if metrics else "    metrics: []",
    ]
    return lines + [f"    - {{type: {key}, value: {value:.6f}}}" for key, value in metrics.items()]


def _table(metrics: Mapping[str, float]) -> list[str]:
    shown = {key: value for key, value in metrics.items() if "." not in key and value <= 1}
    rows = [f"| {key} | {100 * value:.2f} % |" for key, value in shown.items()]
    return ["| metric | |", "|---|---|", *rows] if rows else ["No test image has a label."]


def _expected(trained: TrainedModel, n_classes: int) -> list[str]:
    """What to expect of other classes; nothing where nothing is known."""
    sentences = [trained.expected(n) for n in sorted({5, 20, n_classes})]
    listed = [f"* {told[0].upper()}{told[1:]}." for told in sentences if told]
    note = "By seen classes that played unseen; four of five times the share of right names is within these ends:"
    return ["## What to expect of new classes", "", note, "", *listed, ""] if listed else []


def _size(summary: Mapping[str, Any] | None) -> str:
    return f" and {summary['n_train']} images" if summary and "n_train" in summary else ""


def clip_benchmark_results(trained: TrainedModel, benchmark: str, metrics: Mapping[str, Any] | None) -> dict[str, Any]:
    """Results as CLIP_benchmark writes them: one mapping with data set, model, task and metrics in parts of one."""
    parts = trained.recipe.backbone["parts"]
    measured = metrics or {}
    return {
        "dataset": benchmark,
        "model": JOINED_BY.join(str(part["backbone"]) for part in parts),
        "pretrained": JOINED_BY.join(str(part["weights"]) for part in parts),
        "task": "zeroshot_classification",
        "metrics": {theirs: measured[own] for own, theirs in CLIP_BENCHMARK.items() if own in measured},
        "language": "en",
        "method": method_name(trained.model),
    }
