"""Every method through its generalized pipeline, and what is special about some conventional ones (all of them run in
test_comparison), on the small problem with a projection shift."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.errors import DataError
from aezsl.evaluation.metrics import METRICS, ConfidenceOutcome
from aezsl.methods import METHODS, UNPAIRED, make_method
from aezsl.pipelines.sensitivity import create_pipeline as create_sensitivity_pipeline
from aezsl.reporting.explanations import QualitativeSettings, explain_cases, explain_mapping
from aezsl.selection import SelectionSettings, SelectionStore, search, select_parameters
from aezsl.whole_pipelines import create_method_pipeline
from tests.helpers.problems import make_problem, run
from tests.helpers.quick import slow_unless_quick
from tests.synthetic import make_synthetic


@pytest.mark.parametrize("name", slow_unless_quick(UNPAIRED))
def test_generalized_pipeline(name):
    problem = make_problem("gzsl")
    pipeline = create_method_pipeline(name, "gzsl")
    catalog = run(pipeline, problem, [name, METHODS[name].refines or name], "gzsl_")
    metrics, predictions = catalog.load(f"gzsl_{name}.metrics"), catalog.load(f"gzsl_{name}.predictions")
    assert {"ausuc", "gzsl_accuracy", "gzsl_seen", "gzsl_unseen", "gzsl_harmonic_calibrated"} <= set(metrics)
    right = predictions["true"] == predictions["predicted"]
    assert right.mean() == pytest.approx(metrics["gzsl_accuracy_calibrated"])
    assert set(predictions["label_space"]) == {"seen + unseen"}
    curve = catalog.load(f"gzsl_{name}.seen_unseen_table")
    assert (curve["unseen"].diff().dropna() >= 0).all()
    assert (curve["seen"].diff().dropna() <= 0).all()


@pytest.mark.parametrize("name", ["eszsl", "eszsl_lr"])
def test_a_model_keeps_the_temperature_of_its_own_scores(name):
    """A temperature that was found in spreads on folds; scores of a pool have a scale of their own."""
    problem = make_problem("zsl")
    catalog = run(create_method_pipeline(name, "zsl"), problem, [name, METHODS[name].refines or name])
    trained, found = catalog.load(f"{name}.model"), catalog.load(f"{name}.confidence")
    scores = trained.model.adapt(problem.S_seen).scores(problem.X_train)
    spread = scores[np.arange(len(problem.S_seen)) != problem.y_train[:, None]].std() if name == "eszsl" else 1.0
    assert trained.confidence.temperature == pytest.approx(found["temperature"] * spread)
    assert trained.confidence.threshold == found["threshold"]


@pytest.mark.parametrize(("setting", "name"), [("zsl", "aezsl_lr"), ("gzsl", "eszsl_lr"), ("zsl", "eszsl_t")])
def test_alternatives_are_chosen_by_every_method_and_kept_to_the_end(setting, name):
    """What is chosen leads to the same results as where it is the only way."""
    data = make_synthetic(n_seen=16, n_unseen=5, per_class=10, noise=1.5)
    raw = replace(make_problem(setting, data), ways={"features": [["standardise"], ["l2"]], "semantics": [["l2"], []]})
    prefix, base = "" if setting == "zsl" else "gzsl_", METHODS[name].refines
    pipeline = create_method_pipeline(name, setting)
    if name == "aezsl_lr":
        pipeline += create_sensitivity_pipeline(name, "k")
    found = run(pipeline, raw, [name, base], prefix)
    way, base_way = (found.load(f"{prefix}{method}.normalisation") for method in (name, base))
    assert (way != base_way) == (name == "eszsl_t")  # both cases are seen here
    by_way = {str(one["normalisation"]): one["parameters"] for one in found.load(f"{prefix}{base}.alternatives")}
    assert by_way.keys() == {str(one) for one in raw.normalisations}
    chosen = found.load(f"{prefix}{name}.chosen")
    assert by_way[str(way)].items() <= chosen.items()
    alone = run(pipeline, raw.normalised(way), [name, base], prefix)
    for dataset in ("chosen", "normalisation", *(["sensitivity_k"] if name == "aezsl_lr" else [])):
        values = [catalog.load(f"{prefix}{name}.{dataset}") for catalog in (found, alone)]
        assert_same(*values)
    if setting == "zsl":  # the constant of the generalized setting is of folds, whose means and scales differ
        # What a choice among more points gains is subtracted from what a probability promises.
        fixed = [metric.key for metric in METRICS if metric.of is not ConfidenceOutcome]
        metrics = [catalog.load(f"{name}.metrics") for catalog in (found, alone)]
        assert_same(*({key: one[key] for key in fixed if key in one} for one in metrics))
        histories = [catalog.load(f"{name}.refinement_history") for catalog in (found, alone)]
        pd.testing.assert_frame_equal(*histories)
    for method, steps in ((name, way), (base, base_way)):
        recipe = found.load(f"{prefix}{method}.model").recipe
        assert [list(recipe.features.steps), list(recipe.semantics.steps)] == list(steps.values())
    record = found.load(f"{prefix}{name}.record")
    assert record["problem_fingerprint"] == raw.fingerprint


def assert_same(one, other):
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    else:
        assert one == other


def test_what_is_explained_may_differ_in_how_it_was_normalised():
    raw = replace(make_problem("zsl"), ways={"features": [["l2"], ["standardise"]], "semantics": [["l2"], ["centre"]]})
    ways = raw.normalisations[0], raw.normalisations[3]
    problems = [raw.normalised(way) for way in ways]
    parts = [(one.X_train, one.y_train, one.S_seen) for one in problems]
    eszsl = make_method("eszsl").fit(*parts[0]).adapt(problems[0].S_target)
    aezsl = make_method("aezsl").fit(*parts[1]).adapt(problems[1].S_target)
    split = pd.DataFrame({"image_id": raw.seen_names, "class_name": raw.seen_names, "zsl": "train"})
    images = pd.DataFrame({"image_id": raw.test_ids, "path": "nowhere.png"})
    settings = QualitativeSettings(cases=2, images=2, neighbours=3, mappings=4, weights=4)
    models = (raw, eszsl, ways[0], aezsl, ways[1])
    cases = explain_cases(*models, split, images, [], EmbeddingSettings(sources=[{"kind": "text"}]), settings)
    right = [c.predict(one.X_test) == raw.y_test for c, one in zip((eszsl, aezsl), problems, strict=True)]
    assert (cases["rescued"], cases["lost"]) == ((right[1] & ~right[0]).sum(), (right[0] & ~right[1]).sum())
    assert explain_mapping(*models, cases, settings)["classifier_cosine"] is None


def test_a_conventional_problem_is_not_evaluated_as_generalized():
    pipeline = create_method_pipeline("eszsl", "gzsl")
    with pytest.raises(DataError, match="zsl"):
        run(pipeline, make_problem("zsl"), ["eszsl"], "gzsl_")


@pytest.mark.parametrize("parameter", ["k", "lambda3"])
def test_sensitivity_pipeline(parameter):
    problem = make_problem("zsl")
    pipeline = create_method_pipeline("aezsl_lr") + create_sensitivity_pipeline("aezsl_lr", parameter)
    catalog = run(pipeline, problem, ["aezsl_lr", "aezsl"])
    table = catalog.load(f"aezsl_lr.sensitivity_{parameter}")
    assert len(table) == 3
    own = table.loc[table["chosen"], "accuracy"]  # the method itself had one of the values
    assert own.tolist() == [catalog.load("aezsl_lr.metrics")["accuracy"]]


def test_unlabelled_test_images_are_predicted_without_accuracy():
    problem = make_problem("zsl")
    problem = replace(problem, y_test=np.full(len(problem.X_test), -1))
    catalog = run(create_method_pipeline("eszsl_lr"), problem, ["eszsl_lr", "eszsl"])
    assert catalog.load("eszsl_lr.metrics") == {}
    assert catalog.load("eszsl_lr.predictions")["true"].isna().all()
    assert len(catalog.load("eszsl_lr.predictions")) == len(problem.X_test)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_images_without_a_label_are_named_but_not_counted(setting):
    whole = make_problem(setting)
    known = np.arange(len(whole.X_test)) % 3 > 0
    part = replace(whole, y_test=np.where(known, whole.y_test, -1))
    prefix = "" if setting == "zsl" else "gzsl_"
    pipeline = create_method_pipeline("eszsl_lr", setting)
    if setting == "zsl":
        pipeline += create_sensitivity_pipeline("eszsl_lr", "k")
    expected, found = (run(pipeline, problem, ["eszsl_lr", "eszsl"], prefix) for problem in (whole, part))
    predictions = found.load(f"{prefix}eszsl_lr.predictions")
    assert predictions["true"].notna().tolist() == known.tolist()
    assert predictions["predicted"].equals(expected.load(f"{prefix}eszsl_lr.predictions")["predicted"])
    right = (predictions["true"] == predictions["predicted"])[known].mean()
    metric = "accuracy" if setting == "zsl" else "gzsl_accuracy_calibrated"
    assert found.load(f"{prefix}eszsl_lr.metrics")[metric] == pytest.approx(right)
    assert found.load(f"{prefix}eszsl_lr.per_class")["images"].sum() == known.sum()
    if setting == "zsl":
        history = found.load("eszsl_lr.refinement_history")
        assert history["accuracy"].iloc[-1] == pytest.approx(right)
        assert found.load("eszsl_lr.sensitivity_k")["accuracy"].max() >= right


def test_selection_is_taken_over_while_nothing_changed(tmp_path, monkeypatch):
    scored, score = [], search.cross_validate
    monkeypatch.setattr(search, "cross_validate", lambda *given, **named: scored.append(1) or score(*given, **named))
    problem = make_problem("zsl")
    settings = ({}, {"gamma": [0.1, 1.0], "lam": [1.0]}, SelectionSettings(rule="first"))
    store = SelectionStore(tmp_path / "selection.csv")
    chosen = select_parameters("eszsl", problem, *settings, store)
    assert select_parameters("eszsl", problem, *settings, store) == chosen
    assert len(scored) == 1
    select_parameters("eszsl", replace(problem, X_train=problem.X_train * 2), *settings, store)
    assert len(scored) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: b"\xff\xfe\x00" + text,
        lambda text: text.replace(b"point", b"pint"),
        lambda text: text.replace(b"\n0,", b"\n999,"),
        lambda text: text.replace(b"\n0,", b"\n1.9,"),
    ],
)
def test_a_damaged_selection_is_made_again(tmp_path, damage):
    problem = make_problem("zsl")
    settings = ({}, {"gamma": [0.1, 1.0], "lam": [1.0]}, SelectionSettings(rule="first"))
    store = SelectionStore(tmp_path / "selection.csv")
    chosen = select_parameters("eszsl", problem, *settings, store)
    whole = store.path.read_bytes()
    store.path.write_bytes(damage(whole))
    assert select_parameters("eszsl", problem, *settings, store) == chosen
    assert store.path.read_bytes() == whole
