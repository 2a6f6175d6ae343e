"""A page that is closed or killed while it trains: the training ends with it, and its names are free afterwards."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace

import psutil
import pytest

from aezsl.app.library import Library
from aezsl.app.server import make_app
from aezsl.machine.processes import Process
from tests.helpers.colours import COLOURS, make_place, picture, visit

pytestmark = pytest.mark.slow

CLASSES = [[name, text, role] for name, (role, text, _) in COLOURS.items()]

#: Stands in for a training: it and a process of its own note their numbers, and neither minds SIGTERM at once.
TRAINING = """
import os, subprocess, sys, time
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids", "w").write(f"{os.getpid()} {other.pid}\\n")
time.sleep(600)
"""

#: Serves the page of the folder in argv.
SERVE = """
import signal, sys
from pathlib import Path
from aezsl.app.library import Place
from aezsl.app.server import serve
from aezsl.serving.server import reserve
from aezsl.serving.trained import TrainedModel
from tests.helpers.colours import encode
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
TrainedModel.encode = lambda self: encode
root, port, training = Path(sys.argv[1]), int(sys.argv[2]), (sys.executable, "-c", sys.argv[3])
models, tables = root / "06_models/colours", root / "03_primary/colours"
with reserve(port) as listening:
    serve(Place(root, models, tables, "eszsl", training=training), listening)
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = make_place(tmp_path_factory.mktemp("colours"))
    return replace(place, training=(sys.executable, "-c", "pass"))


def listed(place):
    folder = place.root / "data/01_raw"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.fixture
def training(place):
    """The process of a page that is training on the collection "mine", and the numbers of the training's own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (place.root / "pids").unlink(missing_ok=True)
    page = subprocess.Popen([sys.executable, "-c", SERVE, str(place.root), str(port), TRAINING])
    visitor = {}

    def ask(question, content):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/{question}", content, visitor)
        return json.load(urllib.request.urlopen(request, timeout=60))

    while True:
        assert page.poll() is None
        try:
            visitor["X-Visitor"] = ask("models", b"{}")["visitor"]
            break
        except OSError:
            time.sleep(0.1)
    for name in ("left", "mine"):
        lesson = ask("begin", json.dumps({"name": name, "classes": CLASSES}).encode())["lesson"]
        ask(f"lesson?lesson={lesson}&class=0", picture("ruby"))
    ask("train", json.dumps({"lesson": lesson}).encode())
    while not (place.root / "pids").exists() or not (place.root / "pids").read_text().endswith("\n"):
        time.sleep(0.05)
    assert "mine" in listed(place)
    yield page, [int(pid) for pid in (place.root / "pids").read_text().split()]
    if page.poll() is None:
        page.kill()
    page.wait()


def runs(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("end", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_training_ends_with_its_page_and_its_name_is_free(training, place, end):
    page, pids = training
    page.send_signal(end)
    page.wait(60)
    if end is not signal.SIGKILL:
        assert listed(place) == []
    deadline = time.monotonic() + 30
    while any(map(runs, pids)):
        assert time.monotonic() < deadline, "the training runs on"
        time.sleep(0.05)
    with visit(make_app(Library(place))) as again:
        assert listed(place) == []
        for name in ("left", "mine"):
            assert again.post("/api/begin", json={"name": name, "classes": CLASSES}).status_code == 200


@pytest.fixture
def killed(place):
    """What a page that was killed while it trained left: the collection and its hidden folder."""
    own = Process.this()
    raw = place.root / "data/01_raw"
    hidden = raw / f".mine.{own.host}-{2**22 - 1}-{own.started}-{'0' * 32}"
    (raw / "mine/images/ruby").mkdir(parents=True)
    (raw / "mine/images/ruby/0000.png").write_bytes(picture("ruby"))
    hidden.mkdir()
    (hidden / "training").touch()
    yield raw / "mine", hidden
    shutil.rmtree(raw / "mine")


def test_what_somebody_has_changed_since_is_kept(place, killed):
    mine, hidden = killed
    later = time.time() + 5
    os.utime(mine / "images/ruby", (later, later))  # as after another photo
    make_app(Library(place))
    assert (mine / "images/ruby/0000.png").exists()
    assert not hidden.exists()
    make_app(Library(place))
    assert mine.exists()


def test_what_a_model_has_come_of_is_kept(place, killed):
    mine, hidden = killed
    model = place.models.parent / "mine"
    model.mkdir()
    make_app(Library(place))
    assert mine.exists()
    assert not hidden.exists()
    model.rmdir()


def test_a_page_at_work_keeps_its_collections_when_another_one_is_opened(place):
    with visit(make_app(Library(place))) as page:
        lesson = page.post("/api/begin", json={"name": "open", "classes": CLASSES}).json()["lesson"]
        make_app(Library(place))
        sent = page.post(f"/api/lesson?lesson={lesson}&class=0", content=picture("ruby"))
        assert sent.status_code == 200
