"""What weights contribute: variants of one method, tabulated and drawn."""

import json

import pytest

from aezsl.pipelines import reporting
from aezsl.reporting.weightings import VARIANTS, Variant
from aezsl.whole_pipelines import create_variant_pipeline
from tests.helpers.problems import make_problem, run

METHODS = ["eszsl", "adaptive_eszsl", "aezsl_sim", "aezsl"]


@pytest.fixture(scope="module")
def catalog():
    pipeline = sum(map(create_variant_pipeline, VARIANTS), reporting.create_ablation(VARIANTS))
    return run(pipeline, make_problem("zsl"), METHODS, n_values=2)


def test_a_variant_is_the_method_but_for_its_weighting(catalog):
    assert [variant.name for variant in VARIANTS if variant.name == variant.method] == METHODS
    for variant in VARIANTS[1:]:
        assert catalog.load(f"{variant.name}.chosen")["weighting"] == variant.weighting
        assert catalog.load(f"{variant.name}.grid") == catalog.load(f"{variant.method}.grid")


def test_every_variant_is_a_line_with_what_it_reached_on_validation_classes(catalog):
    table = catalog.load("weighting_table")
    assert table["method"].tolist() == [variant.method for variant in VARIANTS]
    assert table["weighting"].tolist() == [variant.weighting or "" for variant in VARIANTS]
    for row, variant in zip(table.to_dict("records"), VARIANTS, strict=True):
        assert row["per_class_accuracy"] == 100 * catalog.load(f"{variant.name}.metrics")["per_class_accuracy"]
        assert row["validation_accuracy"] == 100 * catalog.load(f"{variant.name}.selection").best_score()
        assert json.loads(row["chosen"]) == catalog.load(f"{variant.name}.chosen")
    assert table["validation_accuracy"].notna().all()


def test_differences_are_to_one_shared_mapping(catalog):
    table = catalog.load("weighting_table").set_index(["method", "weighting"])
    shared = table.loc[("aezsl_sim", "none")]
    others = table.drop(index=("aezsl_sim", "none"))
    assert shared[["difference", "difference_low"]].isna().all()
    expected = others["per_class_accuracy"] - shared["per_class_accuracy"]
    assert others["difference"].tolist() == pytest.approx(expected.tolist())
    assert "one mapping that all targets share" in catalog.load("weighting_text")


def test_the_figure_has_every_weighting(catalog):
    (axes,) = catalog.load("weighting_figure").axes
    assert len(axes.get_xticks()) == 6
    assert {"AEZSL", "AEZSL_sim", "ESZSL, adaptive", "ESZSL"} <= {text.get_text() for text in axes.get_legend().texts}


def test_a_variant_under_the_default_weighting_has_no_name_of_its_own():
    assert Variant("aezsl", "cosine_squared").name == "aezsl"
    assert Variant("aezsl", "cosine").name == "aezsl_cosine"
