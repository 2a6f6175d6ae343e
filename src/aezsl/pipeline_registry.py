"""All pipelines in one table: what each does, how it is made, what it leaves to look at.

A new pipeline is its folder below ``pipelines`` and one entry here. ``kedro pipelines``, names of runs in MLflow, the
lines at the end of a run and README's table follow. Methods share one template instead of a folder each.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

from kedro.pipeline import Pipeline

from aezsl.methods import METHODS, SETTINGS, UNPAIRED, MethodRun, in_setting
from aezsl.pipelines import (
    evaluation,
    export,
    feature_extraction,
    ingestion,
    photos,
    predict,
    realistic,
    reporting,
    semantic_embedding,
    sensitivity,
)
from aezsl.reporting.controls import CONTROLS, METHOD
from aezsl.reporting.weightings import VARIANTS
from aezsl.whole_pipelines import (
    END_TO_END,
    OWN,
    create_control_pipeline,
    create_end_to_end_pipeline,
    create_own_pipeline,
    create_variant_pipeline,
    data_pipeline,
    union,
    whole_pipeline,
)

#: What ``kedro run`` without a name runs.
DEFAULT_METHOD = "aezsl_lr"

#: What a method leaves to look at: last part of a dataset's name -> what it is.
OF_METHODS = {
    "gallery": "picture",
    "refinement_curve": "round by round",
    "seen_unseen_curve": "seen against unseen",
    "reliability_curve": "what probabilities mean",
    "predictions_table": "all names",
    "scores": "all scores",
}


@dataclass(frozen=True)
class Entry:
    """One pipeline, or those of all methods."""

    name: str
    what: str  # it does, in a line
    make: Callable[[], Pipeline]
    kind: str = "training"  # as MLflow's runs are tagged
    shows: Mapping[str, str] = field(default_factory=lambda: OF_METHODS)  # dataset -> what it is


def _sensitivity(parameter: str) -> Pipeline:
    return union(whole_pipeline("aezsl_lr"), sensitivity.create_pipeline("aezsl_lr", parameter))


def _weightings() -> Pipeline:
    variants = map(create_variant_pipeline, VARIANTS)
    return union(data_pipeline("zsl"), *variants, reporting.create_ablation(VARIANTS))


def _controls() -> Pipeline:
    names = [METHOD, *(f"{METHOD}_{control}" for control in CONTROLS)]
    return union(whole_pipeline(METHOD), *map(create_control_pipeline, CONTROLS), reporting.create_controls(names))


def _large_scale() -> Pipeline:
    names = [entry.name for entry in METHODS.values() if entry.large_scale]
    return union(*map(whole_pipeline, names), evaluation.create_large_scale_pipeline(names))


def _from_images(own: Callable[[], Pipeline]) -> Pipeline:
    """Raw files -> metrics, by a pipeline that makes features of its own."""
    stages = (ingestion, semantic_embedding)
    return union(*(stage.create_pipeline() for stage in stages), own())


def _realistic() -> Pipeline:
    return union(data_pipeline("zsl"), realistic.create_pipeline())


@cache
def _qualitative() -> Pipeline:
    return union(whole_pipeline("eszsl"), whole_pipeline("aezsl"), reporting.create_qualitative())


def _table(names: Sequence[str]) -> Pipeline:
    """All methods in one run: they share the data, and --runner=ThreadRunner works at several of them at once."""
    return union(*map(whole_pipeline, names), reporting.create_comparison(list(names)), _qualitative())


@dataclass
class ChosenTable:
    """What ``--pipeline=table`` is made for: its parameters decide which nodes there are."""

    names: Sequence[str] = ("eszsl", "aezsl")
    ceiling: bool = False


#: Filled from the parameters as soon as Kedro has read them (``hooks.checks``), before it asks for a pipeline.
TABLE = ChosenTable()


def _chosen_table() -> Pipeline:
    runs = [MethodRun.parse(name) for name in TABLE.names]
    methods = (whole_pipeline(run.method, run.setting) for run in runs)
    return union(*methods, reporting.create_table(TABLE.names, TABLE.ceiling))


_TABLE = {"table1_text": "table", "table1_latex": "for a paper", "table1": "all columns"}
_NEW = {"new_gallery": "picture", "new_predictions_table": "all names", "sorted_images": "sorted by name"}

#: Every pipeline that is not one method's, in the order of ``kedro pipelines``.
ENTRIES = (
    Entry("ingestion", "raw files -> images, classes, split", ingestion.create_pipeline, "data"),
    Entry(
        "feature_extraction",
        "images -> features; what is stored already is not computed again",
        feature_extraction.create_pipeline,
        "data",
    ),
    Entry("semantic_embedding", "descriptions of classes -> vectors", semantic_embedding.create_pipeline, "data"),
    *(
        Entry(
            f"sensitivity_{parameter}",
            f"accuracy of aezsl_lr against {parameter}, the paper's figure of robustness",
            partial(_sensitivity, parameter),
        )
        for parameter in ("k", "lambda3")
    ),
    Entry(
        "ablation_weighting",
        "AEZSL with other weights or none, beside ESZSL: what its weights contribute",
        _weightings,
        shows={"weighting_text": "table"},
    ),
    Entry(
        "description_controls",
        "ESZSL on own descriptions, names, scrambled and swapped ones, random vectors: whether text carries meaning",
        _controls,
        shows={"control_text": "table", "control_figure": "picture"},
    ),
    Entry(
        "large_scale",
        "methods for thousands of classes: candidate lists, hit@K, hierarchical precision",
        _large_scale,
        shows={"large_scale_table": "table"},
    ),
    Entry(
        END_TO_END,
        "DAEZSL from images, its network learning with it",
        partial(_from_images, create_end_to_end_pipeline),
    ),
    Entry("qualitative", "where AEZSL is right and ESZSL wrong, and why", _qualitative),
    Entry(
        "table1",
        "every method on one problem, in one table beside the published figures",
        partial(_table, UNPAIRED),
        shows=_TABLE,
    ),
    Entry(
        "table1_pair",
        "the same with the methods that need a pair of image and text encoders",
        partial(_table, list(METHODS)),
        shows=_TABLE,
    ),
    Entry(
        "realistic",
        "methods with a pool where few classes are present, batches are small, or images come as a stream",
        _realistic,
        shows={"realistic_text": "table", "realistic_figure": "picture"},
    ),
    Entry(
        "table",
        "chosen methods in one table for a paper (--params=table.methods=eszsl+aezsl+gzsl_aezsl)",
        _chosen_table,
        shows={"table_text": "table", "table_latex": "for a paper", "table": "all figures"},
    ),
    Entry(
        "photos",
        "names for any photos by any words, without training (--params=photos.images=<folder>,photos.labels=<file>)",
        photos.create_pipeline,
        "prediction",
        {"photo_gallery": "picture", "photo_names": "all names", "photo_table": "what weights gain"},
    ),
    *(
        Entry(
            in_setting(OWN, setting),
            f"own images, the classes of a network being seen classes too: {what}",
            partial(_from_images, partial(create_own_pipeline, setting)),
        )
        for setting, what in zip(
            SETTINGS, ("any number of own ones will do", "known and new ones together"), strict=True
        )
    ),
    Entry("report", "one page of whatever has been run", reporting.create_pipeline, "report", {"report_page": "page"}),
    Entry(
        "predict",
        "names for new images, by a trained model (--params=method=...,predict.images=<folder>)",
        predict.create_pipeline,
        "prediction",
        _NEW,
    ),
    Entry(
        "export",
        "a trained model as an MLflow model (--params=method=...)",
        export.create_pipeline,
        "export",
        {"mlflow_model": "model", "model_card": "its card"},
    ),
)


class Pipelines(MutableMapping[str, Pipeline]):
    """Name -> pipeline, each made when somebody asks for it: making all takes a second."""

    def __init__(self) -> None:
        self._makers: dict[str, Callable[[], Pipeline]] = {
            **{
                in_setting(name, setting): partial(whole_pipeline, name, setting)
                for setting in SETTINGS
                for name in METHODS
            },
            **{entry.name: entry.make if entry.name == "table" else cache(entry.make) for entry in ENTRIES},
            "__default__": partial(whole_pipeline, DEFAULT_METHOD),
        }

    def __getitem__(self, name: str) -> Pipeline:
        return self._makers[name]()

    def __setitem__(self, name: str, made: Pipeline) -> None:
        self._makers[name] = lambda: made

    def __delitem__(self, name: str) -> None:
        del self._makers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def register_pipelines() -> Pipelines:
    """All pipelines, for Kedro. Every method's is whole, from raw files to metrics."""
    return Pipelines()
