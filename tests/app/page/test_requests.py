"""Requests that the page refuses or gives up, and who may ask."""

import errno
import io
import os
import re
import socket
import time
from threading import Thread

import pytest
import uvicorn
from PIL import Image
from starlette.testclient import TestClient

from aezsl.app import opened, visitors
from aezsl.app.library import Library
from aezsl.app.server import AGAIN, make_app
from aezsl.errors import DataError
from aezsl.machine.files import KEPT, storage_error
from aezsl.serving import server
from aezsl.serving.server import reserve
from tests.helpers.colours import (
    ADDRESS,
    NEW,
    ask,
    best,
    picture,
    refused,
    send,
)


def test_what_is_wrong_is_said_in_a_sentence(page, monkeypatch):
    photo = send(page, picture("plum"))["photo"]
    assert "cannot be read as an image" in send(page, b"nonsense", status=400)["error"]
    assert "1 to 300 classes" in refused(page, "scores", photos=[photo], classes=[])
    assert "two classes called 'plum'" in refused(page, "scores", photos=[photo], classes=[*NEW, NEW[0]])
    assert "needs a name" in refused(page, "scores", photos=[photo], classes=[["", "red"]])
    assert "more than 5000 characters" in refused(page, "scores", photos=[photo], classes=[["fig", "red " * 2000]])
    assert "control character" in refused(page, "scores", photos=[photo], classes=[["fig\x07", "red"]])
    assert "'plum' and 'fig'" in refused(page, "scores", photos=[photo], classes=[["plum", "a red"], ["fig", "A  red"]])
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


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
@pytest.mark.parametrize("told", [OSError, storage_error])
def test_a_full_or_read_only_disk_is_told_with_the_path_and_no_word_of_commands(page, monkeypatch, number, told):
    error = OSError(number, os.strerror(number), "/somewhere")

    def full(*_):
        raise storage_error(error) if told is storage_error else error

    monkeypatch.setattr(opened.OpenModel, "encode", full)
    sentence = send(page, b"x", status=500)["error"]
    assert os.strerror(number) in sentence
    assert "/somewhere" in sentence
    assert AGAIN in sentence
    assert KEPT not in sentence


@pytest.fixture
def impatient(place, monkeypatch):
    """The port of a page that waits half a second for requests."""
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.5)
    config = uvicorn.Config(make_app(Library(place)), http=server.ImpatientProtocol, log_level="critical")
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
