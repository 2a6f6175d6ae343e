"""A metric is one entry of ``METRICS``: from there it comes into runs, tables and the report page by itself."""

import json

import numpy as np
import pytest

from aezsl.config.schema import section_class
from aezsl.evaluation import metrics
from aezsl.evaluation.metrics import METRICS, ConventionalOutcome, GeneralizedOutcome, Metric
from aezsl.evaluation.ranking import top_k
from aezsl.pipelines.evaluation.nodes import tabulate_candidates
from aezsl.reporting.comparison import comparison_table
from aezsl.reporting.formatting import ReportSettings
from aezsl.reporting.page import SHOWN, make_page
from aezsl.reporting.published import IMAGENET_COLUMNS
from aezsl.reporting.results import Results
from aezsl.reporting.tables import make_tables

NEW = (
    Metric("toy", "Toy", ConventionalOutcome, ("table1", "large_scale"), lambda o: o.n_classes / 100),
    Metric("quiet", "Quiet", ConventionalOutcome, ("large_scale",), lambda o: 0.5, on_page=False),
    Metric("untold", "Untold", ConventionalOutcome, (), lambda o: 0.5),
    Metric("undefined", "Undefined", ConventionalOutcome, ("table1",), lambda o: np.nan),
    Metric(
        "gzsl_toy", "Toy", GeneralizedOutcome, ("generalized",), lambda o: o.constant / 10, True, True, column="toy"
    ),
)


@pytest.fixture
def extended(monkeypatch):
    monkeypatch.setattr(metrics, "METRICS", (*METRICS, *NEW))


def measure():
    """Metrics of 12 classes, and of 6 seen and 6 unseen ones with a constant of 2."""
    rng = np.random.default_rng(0)
    scores, true = rng.normal(size=(50, 12)), rng.integers(0, 12, 50)
    sides = top_k(scores[:, :6], 1), top_k(scores[:, 6:], 1)
    return metrics.classification_metrics(true, top_k(scores, 20), 12), metrics.gzsl_metrics(true, *sides, 6, 2.0)


@pytest.mark.usefixtures("extended")
def test_runs_compute_it():
    conventional, generalized = measure()
    assert (conventional["toy"], conventional["quiet"], conventional["untold"]) == (0.12, 0.5, 0.5)
    assert "undefined" not in conventional
    assert (generalized["gzsl_toy"], generalized["gzsl_toy_calibrated"]) == (0.0, 0.2)


def test_it_changes_no_other(monkeypatch):
    before = measure()
    monkeypatch.setattr(metrics, "METRICS", (*METRICS, *NEW))
    for old, new in zip(before, measure(), strict=True):
        assert old.items() <= new.items()


@pytest.mark.usefixtures("extended")
def test_tables_of_a_run_have_its_column():
    table1 = comparison_table({"eszsl": {"metrics": {"toy": 0.12}}}).set_index("method")
    assert table1.loc["eszsl", "toy"] == 12.0
    assert np.isnan(table1.loc["eszsl", "undefined"])
    assert not {"quiet", "untold"} & set(table1)
    candidates = tabulate_candidates({"near.toy": 0.12, "near.n_classes": 9, "near.n_images": 3}, methods=["eszsl"])
    assert candidates["toy"].tolist() == [12.0]
    assert "quiet" in candidates


@pytest.mark.usefixtures("extended")
def test_the_report_has_its_column(tmp_path):
    for name, found in zip(("eszsl", "gzsl_eszsl"), measure(), strict=True):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.json").write_text(json.dumps(found))
    settings = ReportSettings(benchmark="made up", data_set="imagenet", gallery_width=100)
    results = Results.scan([tmp_path], {})
    tables = make_tables(results, settings)
    assert tables["generalized"].frame["toy"].tolist()[:2] == [0.0, 20.0]  # as it is and calibrated
    large_scale = tables["large_scale"]
    assert large_scale.frame["toy"].tolist()[0] == 12.0
    assert large_scale.frame["toy"].isna().sum() == len(large_scale.frame) - 1  # nobody has published it
    assert "quiet" in large_scale.frame  # in the file
    page = make_page(results, tables, settings, *(section_class(name)() for name in SHOWN))
    assert page.count(">Toy %<") == 3
    assert "Undefined %" not in page  # nothing would stand in its column
    assert "Quiet" not in page
    assert "Untold" not in page


def test_published_columns_are_metrics_of_the_same_table():
    assert set(IMAGENET_COLUMNS) <= {metric.key for metric in metrics.metrics_in("large_scale")}


def test_keys_differ():
    keys = [metric.key for metric in METRICS]
    assert len(set(keys)) == len(keys)
