"""What the page asks and is answered, without a browser: photos of colours, named by their descriptions."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from aezsl.app.library import Library
from aezsl.app.server import HEADERS, PAGE, make_app
from tests.helpers.colours import (
    COLOURS,
    MODEL,
    NEW,
    ask,
    best,
    make_place,
    picture,
    refused,
    send,
    visit,
)


def test_the_page_loads_nothing_from_elsewhere_and_never_says_how_it_is_made(page):
    for path in sorted(PAGE.iterdir()):
        answer = page.get(f"/{path.name}")
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
        text = answer.text.replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text
        assert "kedro" not in text.lower()
    assert page.get("/").text == (PAGE / "index.html").read_text(encoding="utf-8")


def test_all_models_are_offered_the_chosen_one_first(page):
    answer = ask(page, "models")
    assert [one["id"] for one in answer["models"]] == [MODEL, "colours/aezsl", "colours/eszsl_t", "photos"]
    assert [one["refines"] for one in answer["models"]] == [False, False, True, True]
    about = ask(page, "model")
    assert about["classes"] == NEW
    assert about["known"] == [name for name, (role, _, _) in COLOURS.items() if role == "seen"]
    assert about["describable"]
    assert len(about["examples"]) == 3  # one of each unseen class


def test_a_photo_is_named_and_looked_at_once(page, looks):
    for name in ("plum", "lemon", "teal"):
        photo = send(page, picture(name))["photo"]
        assert best(page, photo, NEW) == [name]
    assert len(looks) == 3
    send(page, picture("plum"))
    assert len(looks) == 3


def test_names_are_those_of_predict(page, place):
    trained = Library(place).open("colours/aezsl").trained
    photo = send(page, picture("teal", 3), "colours/aezsl")["photo"]
    answer = ask(page, "scores", model="colours/aezsl", photos=[photo], classes=NEW)["answers"][0]
    features = np.array([Library(place).open("colours/aezsl").encode(picture("teal", 3))])
    expected = trained.answer(features, trained.recipe.targets(), 3)
    assert answer["names"] == expected.names[0].tolist()
    assert sum(answer["probabilities"]) == pytest.approx(1)
    assert answer["probabilities"] == sorted(answer["probabilities"], reverse=True)
    best, middle, least = expected.scores[0]
    assert answer["lengths"] == pytest.approx([1, (middle - least) / (best - least), 0])


def test_an_edited_description_changes_the_shares(page):
    photo = send(page, picture("plum"))["photo"]
    before = ask(page, "scores", photos=[photo], classes=NEW)["answers"][0]
    edited = [["plum", "green pale"], ["lemon", "red blue dark"], NEW[2]]
    after = ask(page, "scores", photos=[photo], classes=edited)["answers"][0]
    assert before["names"][0] == "plum"
    assert after["names"][0] == "lemon"
    assert best(page, photo, [*edited, ["wine", "red blue"]]) != ["plum"]


def test_a_class_without_a_description_is_the_known_one_or_described_by_its_name(page):
    photo = send(page, picture("plum"))["photo"]
    described = ask(page, "scores", photos=[photo], classes=NEW)["answers"]
    assert ask(page, "scores", photos=[photo], classes=[[name, ""] for name, _ in NEW])["answers"] == described
    assert best(page, photo, [["red blue dark", ""], ["green pale", ""]]) == ["red blue dark"]


def test_photos_are_sorted_into_folders_by_name(page):
    photos = [send(page, picture(name, shade))["photo"] for name, shade in (("plum", 0), ("teal", 0), ("plum", 5))]
    about = {"photos": photos, "classes": NEW}
    answer = ask(page, "places", files=["a.png", "a.png", "a.png"], **about)
    assert answer["places"] == ["plum/a.png", "teal/a.png", "plum/a (2).png"]
    assert "every photo" in refused(page, "places", files=["a.png"], **about)


def test_a_class_that_is_renamed_needs_no_new_solution(place):
    model = Library(place).open(MODEL)
    known = [tuple(one) for one in NEW]
    first = model.adapted(known)
    assert model.adapted([("fig", text) for _, text in known[:1]] + known[1:]) is first
    assert model.adapted([(known[0][0], "green pale"), *known[1:]]) is not first


def test_an_example_is_a_photo_like_any_other(page):
    photo = ask(page, "example", number=1)["photo"]
    assert best(page, photo, NEW) == ["lemon"]
    assert "below 3" in refused(page, "example", number=3)


def test_photos_are_refined_together_by_a_method_that_can(page):
    model = "colours/eszsl_t"
    photos = [send(page, picture(name, shade), model)["photo"] for name in ("plum", "teal") for shade in (0, 5, 10)]
    answer = ask(page, "scores", model=model, photos=photos, classes=NEW, refine=True)
    plain = ask(page, "scores", model=model, photos=photos, classes=NEW)
    changed = [
        {"place": place, "before": old["names"][0], "after": new["names"][0]}
        for place, (old, new) in enumerate(zip(plain["answers"], answer["answers"], strict=True))
        if old["names"][0] != new["names"][0]
    ]
    assert answer["changed"] == changed
    assert "changed" not in plain
    assert "by itself" in refused(page, "scores", photos=photos, classes=NEW, refine=True)


def test_the_table_has_a_line_per_photo_and_no_formula(page):
    photos = [send(page, picture(name))["photo"] for name in ("plum", "teal")]
    classes = [*NEW, ["=1+1", "green"]]
    text = ask(page, "table", photos=photos, classes=classes, files=["=a.png", "b.png"])["csv"]
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["file"] for line in lines] == ["'=a.png", "b.png"]
    assert [line["name_1"] for line in lines] == [line["name"] for line in lines] == ["plum", "teal"]
    assert "'=1+1" in text
    assert ",=1+1" not in text


def test_visitors_have_photos_of_their_own(page, place, looks):
    photo = send(page, picture("plum"))["photo"]
    other = visit(page.app)
    assert ask(other, "scores", photos=[photo], classes=NEW)["unknown_photo"].endswith("send it again")
    assert best(page, photo, NEW) == ["plum"]
    ask(page, "forget")
    assert list(ask(page, "scores", photos=[photo], classes=NEW)) == ["unknown_photo"]


def test_eight_visitors_at_once_never_see_classes_of_each_other(place, looks):
    app = make_app(Library(place))

    def one(number):
        visitor = visit(app)
        photo = send(visitor, picture("plum", number))["photo"]
        for turn in range(5):
            classes = [[f"{number}-{turn}-{name}", text] for name, text in NEW]
            (answer,) = ask(visitor, "scores", photos=[photo], classes=classes)["answers"]
            assert answer["names"][0] == f"{number}-{turn}-plum"
            assert set(answer["names"]) == {name for name, _ in classes}
        return photo

    with ThreadPoolExecutor(8) as visitors:
        assert len(set(visitors.map(one, range(8)))) == 8


def test_why_shows_the_nearest_seen_classes_with_pictures(page):
    photo = send(page, picture("plum"))["photo"]
    for model in (MODEL, "colours/aezsl"):
        send(page, picture("plum"), model)
        about = {"model": model, "photos": [photo], "classes": NEW, "first": "plum", "second": "lemon"}
        why = ask(page, "why", **about)
        nearest = why["near"]["plum"]
        assert {one["name"] for one in nearest[:2]} == {"ruby", "sea"}  # red dark, blue dark
        assert all(one["picture"].startswith("data:image/webp") for one in nearest)
        assert all(one["weight"] == pytest.approx(one["closeness"] ** 2) for one in nearest)
        assert why["weighs"] == (model != MODEL)
        assert why["attributes"] == []
    assert "two different names" in refused(page, "why", photos=[photo], classes=NEW, first="plum", second="plum")


def test_attributes_add_up_to_the_lead(tmp_path, looks):
    place = make_place(tmp_path, ("eszsl", "aezsl"), [{"kind": "attributes"}])
    page = visit(make_app(Library(place)))
    classes = [[name, ""] for name, _ in NEW]
    for method in ("eszsl", "aezsl"):
        photo = send(page, picture("plum"), f"colours/{method}")["photo"]
        about = {"model": f"colours/{method}", "photos": [photo], "classes": classes}
        why = ask(page, "why", first="plum", second="lemon", **about)
        model = Library(place).open(f"colours/{method}")
        scores = model.adapted(tuple((name, "") for name, _ in NEW)).scores(np.array([model.encode(picture("plum"))]))
        assert sum(one["part"] for one in why["attributes"]) == pytest.approx(float(scores[0, 0] - scores[0, 1]))
        assert {one["name"] for one in why["attributes"]} == {"red", "green", "blue"}
    assert not ask(page, "model")["describable"]
    assert "cannot read descriptions" in refused(page, "scores", photos=[photo], classes=[["fig", "red"]])
