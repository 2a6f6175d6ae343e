"""Benchmarks and the campaign are imported, and run at their smallest size: none falls behind the code."""

import importlib
import json
import logging
import multiprocessing
import os
import pkgutil
import runpy
import sys

import pytest

import tests.benchmarks
import tests.campaign
from aezsl.datasets.models import ProblemDataset
from aezsl.serving.trained import TrainedModel
from tests.benchmarks import (
    bench_aezsl,
    bench_clip,
    bench_daezsl,
    bench_extraction,
    bench_hierarchy,
    bench_ranking,
    bench_selection,
    bench_start,
)
from tests.helpers.problems import make_raw

SMALL_PROBLEM = ["--n=120", "--d=12", "--a=6"]

#: What is typed for a run that needs no data.
TYPED = {
    "bench_claim": ["smallest", "--draws=1", "--sizes=6"],
    "bench_baselines": ["--only=fits", "--n=120", "--d=12", "--a=6", "--classes=6"],
    "bench_pools": ["", "smallest", "--splits=1", "--draws=1", "--classes=all", "--batches=20+all", "--streams="],
    "bench_propagation": ["--sizes=300", "--d=8", "--classes=5"],
    "bench_refinement": ["--n=60", "--d=12", "--classes=4", "--k=10", "--memory", "80"],
    "bench_growth": ["--sizes=2", "--only", "extraction", "fit", "adapt", "rank", "propagate"],
    "bench_selection": [*SMALL_PROBLEM, "--n_seen=8", "--n_unseen=3", "--only=eszsl"],
    "bench_transductive": [*SMALL_PROBLEM, "--n_seen=8", "--n_unseen=3", "--m=40", "--only", "sms", "jeac"],
    "scale_table": [],
}

#: What is typed for a run on a little of the real data.
ON_REAL_DATA = [
    ("bench_backoff", "choose", "2"),
    ("bench_calibration", "expect", "--sets=animals", "--sizes=6", "--draws=1"),
    ("bench_corrections", "--sets=scenes", "--draws=1", "--photos=60", "--steps", "0", "4"),
    ("bench_corrections", "choose", "--tasks=2", "--photos=60"),
    ("bench_corrections", "describe", "--sets=scenes", "--draws=1", "--photos=60", "--steps", "0", "1"),
    ("bench_known_and_new", "--sets=animals", "--draws=1", "--methods=eszsl"),
    ("bench_precision", "2"),
    ("bench_yes_no", "choose", "2"),
]


@pytest.fixture(autouse=True)
def nothing_of_aezsl_stays_changed():
    """What a benchmark changes would be what later tests of this process meet."""

    def constants():
        loaded = [one for name, one in sys.modules.items() if name.partition(".")[0] == "aezsl"]
        return {
            (one.__name__, name): value
            for one in loaded
            for name, value in vars(one).items()
            if name.isupper() or callable(value)
        }

    before = constants()
    yield
    after = constants()
    assert not [place for place in before if after[place] is not before[place]]


def modules(package):
    return [f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*modules(tests.benchmarks), *modules(tests.campaign)])
def test_it_is_imported(name):
    if not name.rpartition(".")[2].startswith(("test_", "__main__")):
        importlib.import_module(name)


def run(name, arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    monkeypatch.setattr(logging, "disable", lambda level: None)  # what benchmarks change would last
    monkeypatch.delitem(sys.modules, f"tests.benchmarks.{name}", raising=False)
    runpy.run_module(f"tests.benchmarks.{name}", run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.slow
def test_a_few_inputs_of_the_campaign_end_well_and_a_stopped_one_goes_on(monkeypatch, capsys, tmp_path):
    state = tmp_path / "state.json"
    monkeypatch.setattr(sys, "argv", ["campaign", "--n=1", "--seed=1", f"--state={state}", "--seconds=0"])
    monkeypatch.setattr(logging, "disable", lambda level: None)  # what it changes would last
    monkeypatch.setattr(TrainedModel, "encode", TrainedModel.encode)
    monkeypatch.setenv("TQDM_DISABLE", "1")
    campaign = importlib.import_module("tests.campaign.__main__")
    assert campaign.main() == campaign.UNFINISHED
    monkeypatch.setattr(sys, "argv", sys.argv[:-1])
    assert campaign.main() == 0, capsys.readouterr().out
    kinds = sum(map(len, campaign.GROUPS.values()))
    assert [kept["counts"]["tried"] for kept in json.loads(state.read_text()).values()] == [1] * kinds
    assert campaign.main() == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TYPED)
def test_it_runs_as_it_is_typed(name, monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("AEZSL_REFERENCE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    run(name, TYPED[name], monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.skipif("AEZSL_REFERENCE_DATA" not in os.environ, reason="needs real data")
@pytest.mark.parametrize("typed", ON_REAL_DATA, ids=" ".join)
def test_it_runs_on_real_data(typed, monkeypatch, capsys):
    run(typed[0], typed[1:], monkeypatch, capsys)


@pytest.mark.slow
def test_growth_of_labels_and_its_figure(tmp_path, monkeypatch, capsys):
    run("bench_growth", ["--sizes=1", "--only=labels", f"--figure={tmp_path / 'growth.png'}"], monkeypatch, capsys)
    assert (tmp_path / "growth.png").stat().st_size


@pytest.mark.slow
def test_the_race_beside_all_points(tmp_path, capsys):
    path = tmp_path / "small" / "problem.npz"
    ProblemDataset(filepath=str(path)).save(make_raw())
    bench_selection.side_by_side("eszsl", path, 1, 1, tmp_path)
    assert "of the time" in capsys.readouterr().out


@pytest.mark.slow
def test_answers_from_a_cold_shell(capsys):
    bench_start.answers(1)
    assert "kedro classify" in capsys.readouterr().out


@pytest.mark.slow
def test_beside_a_small_clip(capsys):
    bench_clip.main(2, 1)
    assert "images a second" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_extraction_beside_the_engine(precision, capsys):
    bench_extraction.main(16, "efficientnet_lite0", precision)
    assert "of what can be" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("part", ["solvers", "grid"])
def test_aezsl_beside_its_oracle(part, monkeypatch, capsys):
    problem = (*bench_aezsl.synthetic(8, 3, 12, 6, 4), "a small problem")
    monkeypatch.setattr(bench_aezsl, "cub", lambda: problem)
    bench_aezsl.PARTS[part]()
    assert "small problem" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["literal", "fast"])
def test_daezsl_beside_its_oracle(kind):
    receive, send = multiprocessing.Pipe(duplex=False)
    bench_daezsl.step(kind, 3, send, 1)
    assert receive.recv()[0] > 0


def test_ranking_beside_a_product(monkeypatch, capsys):
    monkeypatch.setattr(bench_ranking, "N_CLASSES", 60)
    bench_ranking.main(50)
    assert capsys.readouterr().out.count("of its speed") == 2


def test_hierarchy_beside_its_oracle(monkeypatch, capsys):
    edges = [[f"n{child}", f"n{child // 3}"] for child in range(1, 60)]
    monkeypatch.setattr(bench_hierarchy, "load", lambda: (edges, [f"n{child}" for child in range(30, 60)]))
    monkeypatch.setattr(bench_hierarchy, "SAMPLE", 5)
    bench_hierarchy.main()
    assert "classes on average" in capsys.readouterr().out
