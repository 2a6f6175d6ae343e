"""Several labels that are true, and groups that name images: the same from Python, the service and the page."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import aezsl
from aezsl.app.opened import OpenModel
from aezsl.errors import DataError
from aezsl.evaluation.confidence import Confidence
from aezsl.evaluation.yes_no import YesNo
from aezsl.methods import make_method
from aezsl.reporting.names import list_names
from aezsl.serving.model_file import load_trained, save_trained
from aezsl.serving.service import ServedModel
from aezsl.serving.trained import TrainedModel
from tests.helpers.recipes import make_recipe

RULE = YesNo(intercept=-1.0, score=60.0, rival=15.0)


@pytest.fixture(scope="module", params=["eszsl", "eszsl_t"])
def trained(request):
    recipe, data = make_recipe()
    model = make_method(request.param).fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    return TrainedModel(model, recipe, Confidence(temperature=0.025, threshold=0.5, yes_no=RULE)), data


def grouped(trained, groups):
    """The same model, whose training says which group its classes are in."""
    classes = trained.recipe.classes.assign(group=[groups[i % len(groups)] for i in range(len(trained.recipe.classes))])
    return replace(trained, recipe=replace(trained.recipe, classes=classes))


def test_a_label_has_the_same_probability_whatever_the_others_are(trained, monkeypatch):
    model, data = trained
    monkeypatch.setattr(TrainedModel, "encode", lambda *_, **__: lambda pictures: data.X_new[: len(pictures)])
    names = model.recipe.targets().names
    alone = aezsl.classify(["a", "b"], names[:1], model, multi=True, none=False)
    among = aezsl.classify(["a", "b"], names, model, multi=True, none=False)
    for one, all_of_them in zip(alone, among, strict=True):
        (same,) = [line for line in all_of_them if line["label"] == names[0]]
        assert one[0]["score"] == pytest.approx(same["score"])
        assert [line["score"] for line in all_of_them] == sorted((x["score"] for x in all_of_them), reverse=True)


def test_python_service_and_page_say_the_same_of_every_label(trained):
    model, data = trained
    names = model.recipe.targets().names
    answers = model.answer_each(data.X_new[:30], model.recipe.targets())
    reply = ServedModel(model).answer({"features": data.X_new[:30].tolist()}, {"multi": True, "top": len(names)})
    page = OpenModel(model).name(data.X_new[:30], tuple((name, "") for name in names), multi=True)
    assert reply["top"] == answers.names.tolist() == [line["names"] for line in page]
    np.testing.assert_allclose(reply["top_probabilities"], answers.probabilities)
    np.testing.assert_allclose([line["probabilities"] for line in page], answers.probabilities)
    assert reply["labels"] == answers.said() == [line["said"] for line in page]
    assert reply["none_of_these"] == [not said for said in reply["labels"]]
    scores = model.model.adapt(model.recipe.targets().vectors).scores(model.recipe.features(data.X_new[:30]))
    best = np.take_along_axis(scores, answers.classes, axis=1)
    np.testing.assert_allclose(answers.scores, best)


def test_a_model_without_a_rule_for_yes_and_no_refuses(trained):
    model = replace(trained[0], confidence=Confidence())
    with pytest.raises(DataError, match="yes or no"):
        model.answer_each(trained[1].X_new, model.recipe.targets())
    assert not OpenModel(model).says_several


def test_the_groups_of_training_name_images_everywhere(trained, tmp_path):
    model, data = trained
    save_trained(tmp_path / "model.npz", grouped(model, ["even", "odd"]))
    model = load_trained(tmp_path / "model.npz")
    names = model.recipe.targets().names
    answers = model.answer(data.X_new, model.recipe.targets())
    by_group = answers.groups.group >= 0
    assert 0 < by_group.sum() < len(by_group)
    assert (answers.probabilities[by_group, 0] < 0.5).all()
    assert (answers.groups.probabilities[by_group] >= 0.75).all()
    reply = ServedModel(model).answer({"features": data.X_new.tolist()}, {})
    page = OpenModel(model).name(data.X_new, tuple((name, "") for name in names), refine=model.model.transductive)
    assert reply["group"] == answers.groups.called
    assert [line["said"] for line in page] == reply["labels"] == answers.said()
    table = pd.DataFrame({"image_id": "", "true": None, **answers.table()})
    assert list_names(table)["name"].tolist() == [said[0] if said else "none of these" for said in answers.said()]


def test_groups_of_a_request_come_before_those_of_training(trained):
    model, data = grouped(trained[0], ["even", "odd"]), trained[1]
    names = model.recipe.targets().names
    rows = [{"class_name": name, "group": "first" if i < 2 else ""} for i, name in enumerate(names)]
    reply = ServedModel(model).answer({"features": data.X_new.tolist()}, {"classes": rows})
    assert set(reply["group"]) <= {"", "first"}
    plain = ServedModel(trained[0]).answer({"features": data.X_new.tolist()}, {"classes": names})
    assert plain["predicted"] == reply["predicted"]
    assert set(plain["group"]) == {""}
