"""What a command asks for of a pipeline: every name is known before anything runs, or the nearest one is told."""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.io import CatalogConfigResolver
from kedro.pipeline import Pipeline

from aezsl.errors import ParameterError

#: Argument of ``KedroSession.run`` that chooses nodes -> the option of ``kedro run``, and what it names.
CHOICES = {
    "node_names": ("--nodes", "node"),
    "from_nodes": ("--from-nodes", "node"),
    "to_nodes": ("--to-nodes", "node"),
    "tags": ("--tags", "tag"),
    "namespaces": ("--namespaces", "namespace"),
    "from_inputs": ("--from-inputs", "dataset"),
    "to_outputs": ("--to-outputs", "dataset"),
}


class Session(KedroSession):
    """As Kedro's, but names of nodes, tags, namespaces, datasets and versions are checked before anything is done."""

    def run(  # type: ignore[override]
        self, pipeline_name: str | None = None, pipeline_names: list[str] | None = None, **options: Any
    ) -> dict[str, Any]:
        """Refuse what there is not, then run."""
        names = [pipeline_name] if pipeline_name else pipeline_names
        pipelines.set_requested(names or None)
        check_pipelines()
        chosen = {argument: list(options.get(argument) or ()) for argument in CHOICES}
        if any(chosen.values()):
            asked = sum((pipelines[name] for name in names or ["__default__"]), Pipeline([]))
            check_choice(asked, chosen)
        self._versions = options.get("load_versions") or {}
        return super().run(pipeline_names=names, **options)

    def load_context(self) -> KedroContext:
        """As Kedro's; of versions of a dataset only its catalog knows whether there are any."""
        context = super().load_context()
        check_versions(getattr(self, "_versions", {}), context.config_loader["catalog"])
        return context


def check_pipelines() -> None:
    """Kedro would name an unknown pipeline, too, but only after MLflow has been set up."""
    from aezsl.pipeline_registry import pipeline_names

    names = {*pipeline_names(), *pipelines}  # a command of the project may have added one for itself
    for name in pipelines._requested_pipelines or []:
        if name not in names:
            nearest = _nearest(name, names, "kedro pipelines shows all there are")
            several = names.issuperset(name.split(","))
            raise ParameterError(f"no pipeline {name!r}: {f'several are --pipelines={name}' if several else nearest}")


def check_choice(pipeline: Pipeline, chosen: Mapping[str, Iterable[str]]) -> None:
    """Refuse names that are not of the pipeline, and choices that leave nothing of it."""
    known = {
        "node": {node.name for node in pipeline.nodes},
        "tag": {tag for node in pipeline.nodes for tag in node.tags},
        "namespace": {prefix for node in pipeline.nodes for prefix in node.namespace_prefixes},
        "dataset": pipeline.datasets(),
    }
    for argument, names in chosen.items():
        option, what = CHOICES[argument]
        for name in names:
            if name not in known[what]:
                raise ParameterError(f"{option}: no {what} {name!r} in what is run: {_nearest(name, known[what])}")
    given = {"node_namespaces" if argument == "namespaces" else argument: names for argument, names in chosen.items()}
    try:
        pipeline.filter(**given)  # type: ignore[arg-type]
    except ValueError as error:
        options = ", ".join(f"{CHOICES[name][0]}={','.join(values)}" for name, values in chosen.items() if values)
        raise ParameterError(
            f"nothing is left to run: no node is in all of {options}; leave one of them out"
        ) from error


def check_versions(versions: Mapping[str, str], catalog: dict[str, Any]) -> None:
    """Refuse versions of datasets that keep none: they would be asked for in vain."""
    kept = [entry for entry, config in catalog.items() if isinstance(config, dict) and config.get("versioned")]
    entries = CatalogConfigResolver({entry: catalog[entry] for entry in kept}, default_runtime_patterns={"{any}": {}})
    for name in versions:
        if name not in kept and entries.match_dataset_pattern(name) not in kept:
            hint = _nearest(name, kept, "no dataset of the catalog does; leave the option out")
            raise ParameterError(f"--load-versions: {name!r} is not a dataset that keeps versions: {hint}")


def _nearest(name: str, names: Collection[str], otherwise: str = "") -> str:
    """The nearest name, also of those that have a namespace before it; where none is near, what else helps, or some."""
    known = sorted(names)
    near = [other for other in known if other.rpartition(".")[2] == name]
    near = near or get_close_matches(name, known, n=1) or get_close_matches(name.lower(), known, n=1)
    near = near or [other for other in known if len(name) > 2 and name.lower() in other]
    if near:
        return f"did you mean {' or '.join(near[:3])}?"
    if otherwise or not known:
        return otherwise or "there are none"
    more = f" and {len(known) - 20} more" if len(known) > 20 else ""
    return f"there are {', '.join(known[:20])}{more}"
