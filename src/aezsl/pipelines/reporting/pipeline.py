"""Results of methods -> tables, figures, one page."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from aezsl.methods import MethodRun, in_setting
from aezsl.pipelines import with_fixed
from aezsl.reporting import chosen, comparison, weightings
from aezsl.reporting.cases import draw_cases, draw_mapping
from aezsl.reporting.comparison import collect
from aezsl.reporting.explanations import explain_cases, explain_mapping
from aezsl.reporting.page import SHOWN, make_report
from aezsl.reporting.weightings import Variant, draw_weightings, tabulate_weightings


def create_pipeline() -> Pipeline:
    """The report of whatever has been run; it runs nothing itself."""
    shown = [f"params:{section}" for section in SHOWN]
    return Pipeline(
        [
            node(
                make_report,
                ["results", "params:report", *shown],
                ["report_files", "report_page"],
                name="make_report",
            )
        ],
        tags="reporting",
    )


def create_comparison(names: Sequence[str]) -> Pipeline:
    """The comparison of these methods; needs the pipelines of all of them before it."""
    inputs = {f"{name}_{part}": f"{name}.{part}" for name in names for part in comparison.PARTS}
    outputs = ["table1", "table1_text", "table1_latex"]
    collecting = node(with_fixed(collect, names=names), ["params:report", *inputs], outputs, name="collect_table1")
    return pipeline(Pipeline([collecting], tags="reporting"), inputs=inputs)


def create_table(names: Sequence[str], ceiling: bool) -> Pipeline:
    """The table of these methods, which may be of both settings; needs the pipelines of all of them before it."""
    inputs = {f"{name}_{part}": f"{name}.{part}" for name in names for part in chosen.PARTS}
    known, nodes = ["params:report", "params:table", *inputs], []
    if ceiling:
        problem = next(in_setting("problem", MethodRun.parse(name).setting) for name in sorted(names, key=_zsl_first))
        nodes.append(node(chosen.supervised_ceiling, problem, "supervised_ceiling", name="find_ceiling"))
        known.append("supervised_ceiling")
    tabulate = with_fixed(chosen.tabulate, names=tuple(names), ceiling=ceiling)
    nodes.append(node(tabulate, known, ["table", "table_text", "table_latex"], name="tabulate_chosen"))
    return pipeline(Pipeline(nodes, tags="reporting"), inputs=inputs)


def _zsl_first(name: str) -> bool:
    return MethodRun.parse(name).setting != "zsl"


def create_ablation(variants: Sequence[Variant]) -> Pipeline:
    """The comparison of these variants; needs the pipelines of all of them before it."""
    inputs = {f"{variant.name}_{part}": f"{variant.name}.{part}" for variant in variants for part in weightings.PARTS}
    tabulate = node(
        with_fixed(tabulate_weightings, variants=variants),
        list(inputs),
        ["weighting_table", "weighting_text"],
        name="tabulate_weightings",
    )
    draw = node(draw_weightings, "weighting_table", "weighting_figure", name="draw_weightings")
    return pipeline(Pipeline([tabulate, draw], tags="reporting"), inputs=inputs)


def create_qualitative() -> Pipeline:
    """Qualitative analysis; needs the pipelines of ESZSL and AEZSL before it."""
    models = {
        "problem": "problem",
        "eszsl": "eszsl_classifier",
        "eszsl_normalisation": "eszsl_normalisation",
        "aezsl": "aezsl_classifier",
        "aezsl_normalisation": "aezsl_normalisation",
    }
    nodes = [
        node(
            explain_cases,
            {
                **models,
                "split": "split",
                "images": "images",
                "attribute_names": "attribute_names",
                "semantic_embedding": "params:semantic_embedding",
                "settings": "params:qualitative",
            },
            "explained_cases",
            name="explain_cases",
        ),
        node(
            explain_mapping,
            {
                **models,
                "cases": "explained_cases",
                "settings": "params:qualitative",
            },
            "explained_mapping",
            name="explain_mapping",
        ),
        node(draw_cases, "explained_cases", "explained_cases_figure", name="draw_cases"),
        node(draw_mapping, "explained_mapping", "explained_mapping_figure", name="draw_mapping"),
    ]
    inputs = {
        f"{name}_{part}": f"{name}.{part}" for name in ("eszsl", "aezsl") for part in ("classifier", "normalisation")
    }
    return pipeline(Pipeline(nodes, tags="qualitative"), inputs=inputs)
