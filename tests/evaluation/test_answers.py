"""One form of answers: what tables, replies, labels and the page say of the same ranking agrees."""

import numpy as np
import pandas as pd
import pytest

from aezsl.evaluation.answers import TOP, Answers
from aezsl.evaluation.confidence import NOTHING, probabilities
from aezsl.evaluation.groups import Groups
from aezsl.evaluation.ranking import Ranking, top_k

NAMES = [f"class {c}" for c in range(7)]


@pytest.fixture
def ranking():
    return top_k(np.random.default_rng(0).normal(size=(9, len(NAMES))), len(NAMES))


def test_every_form_says_the_same(ranking):
    shares = probabilities(ranking, 0.5)
    answers = Answers.make(ranking, NAMES, 0.5, float(np.median(shares[:, 0])))
    np.testing.assert_array_equal(answers.probabilities, shares)
    table, reply, page, labels = pd.DataFrame(answers.table()), answers.reply(), answers.page(), answers.labels()
    assert 0 < answers.none_of_these.sum() < len(shares)
    for i, best in enumerate(ranking.classes[:, 0]):
        assert table["predicted"][i] == table["top_1"][i] == reply["predicted"][i] == reply["top"][i][0] == NAMES[best]
        assert page[i]["names"] == reply["top"][i] == [NAMES[c] for c in ranking.classes[i]]
        assert page[i]["probabilities"] == reply["top_probabilities"][i] == shares[i].tolist()
        assert reply["top_scores"][i] == ranking.scores[i].tolist()
        assert page[i]["none_of_these"] == reply["none_of_these"][i] == table["none_of_these"][i]
        assert (labels[i][0]["label"] == "none of these") == table["none_of_these"][i]
        assert [line["score"] for line in labels[i][-len(NAMES) :]] == shares[i].tolist()
    assert [line[0]["label"] for line in answers.labels(none=False)] == table["predicted"].tolist()
    assert f"top_{TOP}_score" in table
    assert f"top_{TOP + 1}" not in table


def test_the_best_few_keep_their_probabilities(ranking):
    answers = Answers.make(ranking, NAMES, 0.5, 0.4)
    few = answers.best(2)
    np.testing.assert_array_equal(few.probabilities, answers.probabilities[:, :2])
    assert list(few.table())[4:] == [f"top_{place}{of}" for of in ("", "_score", "_probability") for place in (1, 2)]
    np.testing.assert_array_equal(answers.best(None).names, answers.names)


def test_lengths_follow_the_order_of_names_where_a_refined_label_stands_first():
    refined = Ranking(np.array([[1, 0, 2]]), np.array([[2.0, 4.0, 0.0]]))
    (line,) = Answers.make(refined, ["a", "b", "c"], 1.0, 0.0).page()
    assert (line["names"], line["lengths"]) == (["b", "a", "c"], [1.0, 0.5, 0.0])


def test_no_image_has_a_table_with_all_columns():
    assert "top_3_probability" in Answers.make(Ranking.empty(3), NAMES, 1.0, 0.5).table()


def test_every_form_tells_the_group_that_names_an_image():
    ranking = Ranking(
        np.array([[0, 1, 2], [2, 0, 1], [1, 2, 0]]), np.log([[0.4, 0.35, 0.25], [0.8, 0.1, 0.1], [0.4, 0.3, 0.3]])
    )
    names = ["herring gull", "black gull", "car"]
    answers = Answers.make(ranking, names, 1.0, 0.45, Groups.of([["gull"], ["gull"], []]))
    assert answers.said() == [["gull"], ["car"], []]
    assert answers.texts() == ["gull (herring gull 40%)", "car", "none of these"]
    table, reply, page = pd.DataFrame(answers.table()), answers.reply(), answers.page()
    assert table["group"].tolist() == reply["group"] == ["gull", "", ""]
    assert table["group_probability"].tolist() == reply["group_probability"] == pytest.approx([0.75, 0, 0])
    assert answers.none_of_these.tolist() == [False, False, True]
    assert [line["said"] for line in page] == reply["labels"] == answers.said()
    assert answers.sureness.tolist() == [line["sureness"] for line in page] == pytest.approx([0.75, 0.8, 0.4])
    first = [line[0] for line in answers.best(1).labels()]
    assert first[0] == {"label": "gull", "score": pytest.approx(0.75), "group": True}
    assert [line["label"] for line in first] == ["gull", "car", "none of these"]


def test_several_labels_have_probabilities_of_their_own():
    shares = np.array([[0.2, 0.9, 0.6], [0.4, 0.1, 0.3]])
    answers = Answers.each(np.log(shares), ["dog", "collie", "grass"], shares)
    assert answers.said() == answers.reply()["labels"] == [["collie", "grass"], []]
    assert answers.said(none=False) == [["collie", "grass"], ["dog"]]
    assert answers.none_of_these.tolist() == [False, True]
    assert answers.probabilities.tolist() == [[0.9, 0.6, 0.2], [0.4, 0.3, 0.1]]
    np.testing.assert_allclose(answers.scores, np.log(answers.probabilities))
    assert answers.page()[0]["lengths"] == [0.9, 0.6, 0.2]
    assert [line[0]["label"] for line in answers.labels()] == ["collie", "none of these"]


def test_a_corrected_image_has_its_class_and_may_show_none_of_them():
    ranking = Ranking(np.array([[0, 1], [1, 2], [2, 0], [0, 2]]), np.array([[3.0, 1], [2, 1], [0.2, 0.1], [4, 0]]))
    answers = Answers.make(ranking, ["ape", "bee", "cow"], 1.0, 0.6)
    found = answers.corrected({0: 2, 1: NOTHING, 2: 0}, ["ape", "bee", "cow"], np.array([0, 1, 0, 0.9]))
    assert found.said() == [["cow"], [], ["ape"], []]  # the last is none of them by its neighbours
    assert found.predicted[0] == "cow"
    np.testing.assert_allclose(found.probabilities[[0, 1, 2]], [[1, 0], [0, 0], [1, 0]])
    np.testing.assert_allclose(found.probabilities[3], answers.probabilities[3] * 0.1)
    assert answers.said()[0] == ["ape"]
    assert found.corrected({}, []).said() == found.said()
