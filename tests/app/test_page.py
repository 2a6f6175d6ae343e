"""What the page asks and is answered, without a browser: photos of colours, named by their descriptions."""

import csv
import errno
import io
import os
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import numpy as np
import pytest
import uvicorn
from PIL import Image
from starlette.testclient import TestClient

from aezsl.app import opened, visitors
from aezsl.app.library import Library
from aezsl.app.server import HEADERS, PAGE, make_app
from aezsl.errors import DataError
from aezsl.serving import connections
from aezsl.serving.connections import reserve
from aezsl.serving.trained import TrainedModel
from tests.helpers.colours import ADDRESS, COLOURS, encode, make_place, picture, visit

MODEL = "colours/eszsl"
NEW = [[name, text] for name, (role, text, _) in COLOURS.items() if role == "unseen"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return make_place(tmp_path_factory.mktemp("colours"), ("eszsl", "aezsl", "eszsl_t"))


@pytest.fixture
def looks(monkeypatch):
    """Every time the network was asked, how many images it saw."""
    seen = []
    monkeypatch.setattr(
        TrainedModel, "encode", lambda self: lambda images: (seen.append(len(images)), encode(images))[1]
    )
    return seen


@pytest.fixture
def page(place, looks):
    with visit(make_app(Library(place))) as client:
        yield client


def ask(page, question, status=200, **about):
    answer = page.post(f"/api/{question}", json={"model": MODEL, **about})
    assert answer.status_code == status, answer.text
    return answer.json()


def send(page, content, model=MODEL, status=200):
    answer = page.post(f"/api/photo?model={model}", content=content)
    assert answer.status_code == status, answer.text
    return answer.json()


def refused(page, question, **about):
    return ask(page, question, status=400, **about)["error"]


def best(page, photo, classes, **about):
    return [answer["names"][0] for answer in ask(page, "scores", photos=[photo], classes=classes, **about)["answers"]]


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
    classes = [*NEW, ["=1+1", "red green pale"]]
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


def test_what_is_wrong_is_said_in_a_sentence(page, monkeypatch):
    photo = send(page, picture("plum"))["photo"]
    assert "cannot be read as an image" in send(page, b"nonsense", status=400)["error"]
    assert "1 to 300 classes" in refused(page, "scores", photos=[photo], classes=[])
    assert "two classes called 'plum'" in refused(page, "scores", photos=[photo], classes=[*NEW, NEW[0]])
    assert "needs a name" in refused(page, "scores", photos=[photo], classes=[["", "red"]])
    assert "more than 5000 characters" in refused(page, "scores", photos=[photo], classes=[["fig", "red " * 2000]])
    assert "list of pairs" in refused(page, "scores", photos=[photo], classes="plum")
    assert "list of those" in refused(page, "scores", photos=photo, classes=NEW)
    assert "no trained model" in refused(page, "model", model="../secret")
    assert "no question" in refused(page, "everything")
    assert "JSON" in page.post("/api/scores", content=b"{").json()["error"]
    monkeypatch.setattr(opened.OpenModel, "encode", lambda *_: 1 / 0)
    assert "log of the command" in send(page, b"x", status=500)["error"]


BAD_JSON = {
    "deep": b"[" * 400_000,
    "deep object": b'{"a":' * 400_000,
    "half a surrogate": b'{"classes": [["\\ud800", "red"]], "photos": []}',
    "not a number": b'{"number": NaN}',
    "a long number": b"9" * 10_000,
    "no text": b"\xff\xfe\xff",
}


@pytest.mark.parametrize("body", BAD_JSON.values(), ids=BAD_JSON)
def test_json_that_nobody_can_use_is_refused(page, body):
    for question in ("models", "scores", "begin", "table"):
        assert page.post(f"/api/{question}", content=body).status_code == 400


def test_a_full_disk_is_told(page, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/somewhere")

    monkeypatch.setattr(opened.OpenModel, "encode", full)
    assert os.strerror(errno.ENOSPC) in send(page, b"x", status=500)["error"]


@pytest.fixture
def impatient(place, monkeypatch):
    """The port of a page that waits half a second for requests."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.5)
    config = uvicorn.Config(make_app(Library(place)), http=connections.ImpatientProtocol, log_level="critical")
    with reserve(0) as listening:
        running = uvicorn.Server(config)
        thread = Thread(target=running.run, args=([listening],))
        thread.start()
        yield listening.getsockname()[1]
        running.should_exit = True
        thread.join()


WHOLE = b"POST /api/models HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize("before", [b"", WHOLE], ids=["first", "second"])
@pytest.mark.parametrize("half", [b"", WHOLE[:20], WHOLE[:-1]], ids=["nothing", "half a head", "half a body"])
def test_a_request_that_never_ends_is_given_up(impatient, before, half):
    with socket.create_connection(("127.0.0.1", impatient), timeout=10) as connection:
        if before:
            connection.sendall(before)
            assert connection.recv(2**16).startswith(b"HTTP/1.1 200")
        connection.sendall(half)
        started = time.monotonic()
        while connection.recv(2**16):
            pass
        assert time.monotonic() - started < 8  # uvicorn itself closes one that is idle after an answer in 5 seconds


def test_photos_are_bounded_in_number_and_size(page, monkeypatch):
    monkeypatch.setattr(visitors, "MAX_PHOTOS", 1)
    plum, teal = (send(page, picture(name))["photo"] for name in ("plum", "teal"))
    assert best(page, teal, NEW) == ["teal"]
    assert "unknown_photo" in ask(page, "scores", photos=[plum], classes=NEW)  # the oldest went
    assert "1 to 1 photos" in refused(page, "scores", photos=[plum, teal], classes=NEW)
    monkeypatch.setattr("aezsl.app.server.MAX_IMAGE", 2**20)
    assert "at most 1 MB" in send(page, bytes(2**20 + 1), status=400)["error"]


def test_a_photo_that_no_browser_shows_is_drawn(page):
    content = io.BytesIO()
    Image.new("RGB", (1000, 500), "red").save(content, "TIFF")
    answer = page.post("/api/preview", content=content.getvalue()).json()
    assert answer["picture"].startswith("data:image/webp")
    assert page.post("/api/preview", content=b"nonsense").json() == {"picture": ""}


def test_a_port_that_is_taken_is_refused_with_a_free_one():
    with reserve(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(DataError, match=f"port {port} cannot be used .*: try --port=(.*), which is free") as caught:
            reserve(port)
    free = int(re.search(r"--port=(\d+)", str(caught.value))[1])
    reserve(free).close()
    reserve(port).close()  # nothing is left of the first


FOREIGN = (
    {"Origin": "http://elsewhere.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:8888"},  # another page of this machine
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Host": "elsewhere.example"},
    {"Host": "testserver"},
)


@pytest.mark.parametrize("foreign", FOREIGN, ids=str)
def test_other_sites_cannot_ask_and_nobody_is_registered(page, foreign, monkeypatch):
    monkeypatch.setattr(visitors, "MAX_VISITORS", 2)
    photo = send(page, picture("plum"))["photo"]
    for question in ("models", "photo", "forget", "lesson", "begin", "train", "nothing") * 2:
        answer = page.post(f"/api/{question}", json={}, headers=foreign)
        assert answer.status_code in (400, 403)
        assert "visitor" not in answer.text
        assert "set-cookie" not in answer.headers
    assert best(page, photo, NEW) == ["plum"]  # the visitor is still here, and so is the photo


def test_a_call_without_the_key_of_a_visitor_does_nothing(page, monkeypatch):
    monkeypatch.setattr(visitors, "MAX_VISITORS", 2)
    photo = send(page, picture("plum"))["photo"]
    with TestClient(page.app, base_url=ADDRESS) as other:
        for key in ({}, {"X-Visitor": ""}, {"X-Visitor": "guessed"}):
            for question in ("scores", "photo", "forget", "lesson", "begin", "train", "nothing"):
                assert other.post(f"/api/{question}", json={}, headers=key).status_code == 403
    assert best(page, photo, NEW) == ["plum"]


def test_a_page_that_is_opened_again_is_the_same_visitor(page):
    photo = send(page, picture("plum"))["photo"]
    assert page.post("/api/models", json={}).json()["visitor"] == page.headers["X-Visitor"]
    assert best(page, photo, NEW) == ["plum"]
    assert page.get("/").headers.get("set-cookie") is None


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
