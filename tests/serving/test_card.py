"""What others read of a model: its card, and results in the form of CLIP_benchmark."""

from dataclasses import replace

import pytest
import yaml

from aezsl.evaluation.confidence import Confidence
from aezsl.evaluation.expectation import Expectation
from aezsl.methods import make_method
from aezsl.serving.card import clip_benchmark_results, model_card
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe

METRICS = {"accuracy": 0.61, "per_class_accuracy": 0.6, "hit_at_5": 0.9, "2hop.hit_at_1": 0.2}


@pytest.fixture
def trained():
    recipe, data = make_recipe()
    return TrainedModel(make_method("jeac").fit(*data[:3]), recipe)


def test_the_card_has_front_matter_and_says_what_there_is_to_know(trained):
    card = model_card(trained, "birds", METRICS, {"n_train": 360}, "for research: only")
    _, front, text = card.split("---\n", 2)
    matter = yaml.safe_load(front)
    assert matter["pipeline_tag"] == "zero-shot-image-classification"
    assert matter["license_name"] == "for research: only"
    (result,) = matter["model-index"][0]["results"]
    assert {line["type"]: line["value"] for line in result["metrics"]} == pytest.approx(METRICS)
    for said in ("`jeac`", "Shojaee", "resnet18", "360 images", "61.00 %", "as a pool", "standardise, l2"):
        assert said in text
    assert "2hop" not in text
    assert "| metric | |\n|---|---|\n| accuracy | 61.00 % |" in text  # a table needs its head


def test_the_card_says_what_to_expect_where_that_is_known(trained):
    expectation = Expectation(0.6, 0.3, 60, 10)
    known = replace(trained, confidence=Confidence(expectation=expectation))
    card = model_card(known, "birds", METRICS, None, "mine")
    assert "xpect" not in model_card(trained, "birds", METRICS, None, "mine")
    n_unseen = int((trained.recipe.classes["role"] == "unseen").sum())
    for n in (5, 20, n_unseen):
        assert expectation.in_words(n)[1:] in card


def test_without_labels_the_card_says_so(trained):
    card = model_card(trained, "birds", None, None, "mine")
    assert yaml.safe_load(card.split("---\n")[1])["model-index"][0]["results"][0]["metrics"] == []
    assert "No test image has a label." in card


def test_results_have_the_shape_of_clip_benchmark(trained):
    found = clip_benchmark_results(trained, "birds", METRICS)
    assert found["metrics"] == {"acc1": 0.61, "acc5": 0.9, "mean_per_class_recall": 0.6}
    assert (found["dataset"], found["model"], found["task"]) == ("birds", "resnet18", "zeroshot_classification")
