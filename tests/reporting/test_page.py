"""The report from results on disk: self-contained, honest about what is missing, alive in a browser."""

import json
import re
import shutil
import subprocess
from base64 import b64decode
from dataclasses import replace
from io import BytesIO, StringIO

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from aezsl.config.schema import section_class
from aezsl.datasets.inputs import ResultsDataset
from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.methods import make_method
from aezsl.pipelines.ingestion.nodes import SplitSettings
from aezsl.reporting.cases import draw_cases, draw_mapping
from aezsl.reporting.explanations import QualitativeSettings, explain_cases, explain_mapping
from aezsl.reporting.figures import draw_refinement_curve, draw_reliability, draw_seen_unseen_curve, draw_sensitivity
from aezsl.reporting.formatting import ReportSettings, write_tables
from aezsl.reporting.page import SHOWN, make_page
from aezsl.reporting.pools import draw_gains
from aezsl.reporting.tables import make_tables
from tests.helpers.problems import make_problem

REPORT = ReportSettings(benchmark="made up", gallery_width=100)
SETTINGS = QualitativeSettings(cases=2, images=2, neighbours=3, mappings=4, weights=4)


def rendered(results, report=REPORT):
    shown = [SplitSettings(seed=3) if name == "split" else section_class(name)() for name in SHOWN]
    return make_page(results, make_tables(results, report), report, *shown)


@pytest.fixture(scope="module")
def explained():
    problem = make_problem("zsl")
    noise = 2 * np.random.default_rng(0).normal(size=problem.X_test.shape)  # hard enough for both to err
    problem = replace(problem, X_test=problem.X_test + noise)
    data = problem.X_train, problem.y_train, problem.S_seen
    eszsl = make_method("eszsl", gamma=100.0, lam=100.0).fit(*data).adapt(problem.S_target)
    aezsl = make_method("aezsl", lambda1=0.01, lambda2=0.01, lambda3=0.01).fit(*data).adapt(problem.S_target)
    split = pd.DataFrame({"image_id": problem.seen_names, "class_name": problem.seen_names, "zsl": "train"})
    images = pd.DataFrame({"image_id": problem.test_ids, "path": "nowhere.png"})
    names = [f"attribute {i}" for i in range(problem.S_seen.shape[1])]

    own = problem.normalisations[0]

    def explain(kind):
        sources = EmbeddingSettings(sources=[{"kind": kind}])
        return explain_cases(problem, eszsl, own, aezsl, own, split, images, names, sources, SETTINGS)

    cases = explain("attributes")
    mapping = explain_mapping(problem, eszsl, own, aezsl, own, cases, SETTINGS)
    return problem, eszsl, aezsl, cases, explain("text"), mapping


def test_cases_are_images_that_only_aezsl_gets_right(explained):
    problem, eszsl, aezsl, cases, *_ = explained
    before, after = (classifier.predict(problem.X_test) for classifier in (eszsl, aezsl))
    assert cases["rescued"] == ((after == problem.y_test) & (before != problem.y_test)).sum() > 0
    for case in cases["cases"]:
        assert case["margin_eszsl"] < 0 < case["margin_aezsl"]
        c, confused = (problem.target_names.index(case[key]) for key in ("class_name", "confused_with"))
        for attribute in case["attributes"]:
            a = int(attribute["name"].split()[1])
            assert problem.S_target[c, a] > problem.S_target[confused, a]
            assert a in np.argsort(-problem.S_target[c])[:5]


def test_text_semantics_have_margins_instead_of_attributes(explained):
    *_, text, _ = explained
    assert text["attributes"] is False
    assert all(case["attributes"] == [] and case["neighbours"] for case in text["cases"])


def test_the_mapping_says_what_pulled_it(explained):
    problem, *_, mapping = explained
    assert sum(mapping["histogram"]["counts"]) == mapping["n_seen"] == len(problem.S_seen)
    weights = [entry["weight"] for entry in mapping["weights"]]
    assert weights == sorted(weights, reverse=True)
    assert mapping["moved"] > 0
    assert 0 < mapping["weight_share"] <= 1


NAMED = pd.DataFrame({"true": ["cat", "dog", None], "predicted": ["cat", "cat", "dog"], "probability": [0.9, 0.4, 0.7]})


POOLS = """method,classes,size,stream,state,base,accuracy,gain,low,high,worst_draw
aezsl_t,1-4,64,False,run,50,60,10,5,15,2
aezsl_t,all,1000,False,left out: there are 928 images,,,,,,
"""


def figures(explained):
    history = pd.DataFrame({"round": [1, 2], "accuracy": [0.5, 0.75]})
    table = pd.DataFrame({"k": [5, 10], "accuracy": [0.7, 0.75], "per_class_accuracy": [0.7, 0.75]})
    curve = pd.DataFrame({"constant": [0, 1], "seen": [0.7, 0], "unseen": [0.1, 0.4]})
    points = curve.assign(point=["uncalibrated", "calibrated"])
    return {
        "aezsl_lr/refinement_curve.png": draw_refinement_curve(history, "aezsl_lr"),
        "exem/refinement_curve.png": draw_refinement_curve(history, "exem"),  # of another problem
        "aezsl_lr/sensitivity_k.png": draw_sensitivity(table, {"k": 10}, "aezsl_lr", "k"),
        "gzsl_aezsl/seen_unseen_curve.png": draw_seen_unseen_curve(curve, points, {"ausuc": 0.2}, "aezsl"),
        "aezsl/reliability_curve.png": draw_reliability(NAMED, "aezsl"),
        "realistic/figure.png": draw_gains(pd.read_csv(StringIO(POOLS))),
        "qualitative/cases.png": draw_cases(explained[3]),
        "qualitative/mapping.png": draw_mapping(explained[5]),
    }


@pytest.fixture(scope="module")
def page(tmp_path_factory, explained):
    root = tmp_path_factory.mktemp("results")

    def put(path, value):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(value if isinstance(value, str) else json.dumps(value))

    put("summary.json", {"n_seen": 8, "n_unseen": 2, "n_train": 80, "n_test": 20, "n_features": 5, "n_semantics": 4,
                         "n_classes_without_vector": 0, "problem_fingerprint": "now"})  # fmt: skip
    for name, accuracy in (("eszsl", 0.25), ("aezsl", 0.5), ("aezsl_lr", 0.75), ("exem", 0.9)):
        then = "then" if name == "exem" else "now"
        metrics = {"accuracy": accuracy, "per_class_accuracy": accuracy, "hit_at_5": 1.0}
        ends = {"per_class_accuracy_low": accuracy - 0.1, "per_class_accuracy_high": accuracy + 0.1}
        put(f"{name}/metrics.json", metrics | ends)
        put(f"{name}/record.json", {"fit_seconds": 1.0, "rank_seconds": 0.5, "problem_fingerprint": then})
        put(f"{name}/per_class.csv", f"class_name,images,accuracy\n<cat>,10,{accuracy}\ndog,10,{accuracy}\n")
    put("aezsl_lr/chosen.json", {"k": 10})
    put("aezsl_lr/selection.csv", "k,mean\n10,0.6\n5,0.7\n20,0.1\n")  # the chosen row first, though not the best
    put("aezsl_lr/sensitivity_k.csv", "k,accuracy,per_class_accuracy\n5,0.7,0.7\n10,0.75,0.75\n")
    put("gzsl_aezsl/metrics.json", {"ausuc": 0.2, "gzsl_accuracy": 0.3, "ece": 0.04})
    put("realistic/table.csv", POOLS)
    put("realistic/record.json", {"problem_fingerprint": "now"})
    put("qualitative/cases.json", explained[3])
    put("qualitative/mapping.json", explained[5])
    for path, figure in figures(explained).items():
        figure.savefig(root / path)
    results = ResultsDataset(folders=[str(root)], files={"summary": str(root / "summary.json")}).load()
    path = root / "index.html"
    path.write_text(rendered(results))
    return path, make_tables(results, REPORT)


@pytest.mark.slow
def test_page_needs_no_other_file(page):
    html = page[0].read_text()
    assert not re.search(r"https?://", html)
    links = re.findall(r"""(?:src|href)=["']([^"']*)""", html)
    assert links
    assert all(link.startswith(("data:", "#")) for link in links)
    assert "<cat>" not in html  # names from data are escaped


def pictures(html):
    """Alternative text -> pixels of every picture on the page."""
    found = re.findall(r'<img src="data:image/webp;base64,([^"]*)" alt="([^"]*)"', html)
    return {alt: np.asarray(Image.open(BytesIO(b64decode(data))).convert("RGB")) for data, alt in found}


@pytest.mark.slow
def test_page_shows_the_figures_of_the_runs_and_no_others(page):
    path, _ = page
    shown = pictures(path.read_text())
    files = {
        "Refinement by AEZSL_LR, round by round": "aezsl_lr/refinement_curve.png",
        "Accuracy of AEZSL_LR against k": "aezsl_lr/sensitivity_k.png",
        "Seen against unseen accuracy of AEZSL, generalized": "gzsl_aezsl/seen_unseen_curve.png",
        "Probabilities of AEZSL beside the share of right names": "aezsl/reliability_curve.png",
        "Gains of a pool over no pool, by classes present and batch": "realistic/figure.png",
        "Seen classes by their weight in the mapping": "qualitative/mapping.png",
    }
    for alt, file in files.items():
        np.testing.assert_array_equal(shown.pop(alt), np.asarray(Image.open(path.parent / file).convert("RGB")))
    (cases,) = shown
    assert cases.startswith("Images that AEZSL gets right")


@pytest.mark.slow
def test_probabilities_have_a_table_of_both_settings(page):
    (row,) = page[1]["confidence"].frame.to_dict("records")
    assert (row["method"], row["ece"]) == ("AEZSL, generalized", pytest.approx(4))
    assert ">ECE %<" in page[0].read_text()


@pytest.mark.slow
def test_pools_have_a_table_and_say_what_was_left_out(page):
    table = page[1]["pools"]
    assert table.ran[["name", "pool", "gain"]].values.tolist() == [["AEZSL_T", "1-4 classes", 10]]
    assert table.others[["pool", "why"]].values.tolist() == [["all classes", "there are 928 images"]]
    assert "there are 928 images" in page[0].read_text()


@pytest.mark.slow
def test_validation_shown_is_that_of_the_chosen_point(page):
    (row,) = page[1]["selection"].frame.to_dict("records")
    assert (row["method"], row["chosen"], row["validation"]) == ("AEZSL_LR", "k 10", pytest.approx(60))


@pytest.mark.slow
def test_page_says_what_was_not_run_and_leaves_out_other_problems(page):
    path, tables = page
    html = path.read_text()
    assert "kedro run --pipeline=conse" in html
    assert "kedro run --pipeline=sensitivity_lambda3" in html
    assert "kedro run --pipeline=sensitivity_k<" not in html
    assert re.search(r"Left out:</strong> EXEM", html)
    state = tables["table1"].frame.set_index("method")["state"]
    assert state[["aezsl", "exem", "conse"]].tolist() == ["run", "not run", "not run"]


@pytest.mark.slow
def test_what_was_run_is_on_top_with_intervals_and_the_rest_is_folded(page):
    html = page[0].read_text()
    top, folded = html.split('<table class="sortable" id="table1">')[1].split("</table>", 1)
    assert re.findall(r"<td[^>]*>(AEZSL_LR|AEZSL|ESZSL|EXEM)</td>", top) == ["AEZSL_LR", "AEZSL", "ESZSL"]
    assert "65.0 to 85.0" in top
    assert "Published" not in html  # nobody has published anything on these data
    assert re.search(r"<details><summary>\d+ methods that were not run", folded)


@pytest.mark.slow
def test_tables_are_files_too(page):
    files = write_tables(page[1])
    assert {"table1.csv", "table1.md", "generalized.csv", "per_class_gains.md"} <= set(files)
    assert "gain" in files["per_class_gains.csv"].splitlines()[0]


def test_a_report_of_nothing_says_so(tmp_path):
    results = ResultsDataset(folders=[str(tmp_path / "none")]).load()
    html = rendered(results)
    assert "kedro run --pipelines=eszsl,aezsl_lr,aezsl_t<" in html
    assert "kedro run --pipelines=eszsl,aezsl<" in html  # not all methods, where two are enough
    elsewhere = ReportSettings(benchmark="made up", env="cub")  # as whoever reads it would type them
    commands = re.findall(r"kedro r[^<]*", rendered(results, elsewhere))
    assert len(commands) > 10
    assert all(re.match(r"kedro (run|repeat) --env=cub --pipelines?=", command) for command in commands)


def test_images_without_labels_are_shown_and_not_measured(tmp_path):
    (tmp_path / "aezsl").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "aezsl/gallery.png")
    for kind, value in (("metrics", {}), ("record", {"fit_seconds": 1.0})):
        (tmp_path / f"aezsl/{kind}.json").write_text(json.dumps(value))
    results = ResultsDataset(folders=[str(tmp_path)]).load()
    html = rendered(results)
    assert "Images with the names that AEZSL gives them.<" in html  # no word about ticks: there is none
    assert html.count("Nothing to measure: no test image has a label.") == 1  # in place of a table of names alone


@pytest.mark.slow
def test_page_works_in_a_browser(page, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here to open the page in")
    clicks = """<script>
    const column = [...document.querySelectorAll("#table1 th")].findIndex(h => h.textContent.startsWith("Accuracy"));
    const button = document.querySelectorAll("#table1 th button")[column];
    const first = () => document.querySelector("#table1 tbody tr td").textContent;
    button.click(); const most = first(); button.click();
    document.title = "sorted " + most + " / " + first();
    console.log("page is alive");
    </script>"""
    copy = tmp_path / "page.html"
    copy.write_text(page[0].read_text().replace("</body>", f"{clicks}</body>"))
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    command = [browser, *flags.split(), "--disable-component-update", "--disable-sync", "--enable-logging=stderr"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", copy.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert len(said) == 1
    assert "page is alive" in said[0]
    assert "<title>sorted AEZSL_LR / ESZSL</title>" in done.stdout
