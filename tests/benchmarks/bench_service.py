"""How fast ``aezsl serve`` answers: its first request against the others, stored features, images against the engine.

Where the cores that run the network decode as well, nobody is faster than both together: see ``bench_extraction``.

python -m tests.benchmarks.bench_service [n_requests] [method]
python -m tests.benchmarks.bench_service capacity [n_requests]    # requests, images and memory of several models

Beside other work on the machine look at the processor time, on one core: taskset -c 0 python -m ...
"""

import base64
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

from aezsl.data.normalise import fit_normaliser
from aezsl.encoders.images.encoder import make_encoder
from aezsl.encoders.images.settings import ExtractionSettings, OneBackbone
from aezsl.encoders.recipe import Recipe
from aezsl.methods import make_method
from aezsl.serving.model_file import save_trained
from aezsl.serving.trained import TrainedModel
from tests.benchmarks.bench_extraction import bare_pillow, bare_speeds, make_photo, measured
from tests.benchmarks.measuring import make_problem

HOST, BATCH, CLIENTS, MOST_SECONDS = "127.0.0.1", 8, 8, 120
BACKBONE = {"backbone": "efficientnet_lite0", "weights": "default", "layer": None}

SERVE = (sys.executable, "-c", "from aezsl.console import main; main()", "serve")

#: Models of the table of capacity: linear, solved for the classes of a request, with a pool, without training.
MODELS = ("eszsl", "aezsl", "aezsl_t", "photos")


def make_trained(method):
    """A model of 118 seen and 29 unseen classes, whose images the default backbone sees."""
    (X, y, S), S_new, _, _ = make_problem(3776, 29, 1280, 384, 118, 29)
    vectors = np.vstack([S, S_new])
    features, semantics = fit_normaliser(["l2"], X)[0], fit_normaliser(["l2"], S)[0]
    classes = pd.DataFrame({"class_name": [f"class {c}" for c in range(len(vectors))]})
    classes["role"] = ["seen"] * len(S) + ["unseen"] * len(S_new)
    encoder = make_encoder(ExtractionSettings(backbone=[OneBackbone(**BACKBONE)]))
    backbone = {"parts": [BACKBONE], "fingerprint": encoder.vectors.fingerprint}
    recipe = Recipe(backbone, features, semantics, [{"kind": "attributes"}], [], classes, vectors, X[:2])
    return TrainedModel(make_method(method).fit(features(X), y, semantics(S)), recipe), X


@contextmanager
def served(trained):
    """The port of a server around a model, or around the photo model, and its one worker."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        model = "photos"
        if trained is not None:
            model = f"{folder}/model.npz"
            save_trained(Path(model), trained)
        probe.bind((HOST, 0))
        port = probe.getsockname()[1]
        probe.close()
        with subprocess.Popen([*SERVE, model, f"--port={port}"], stdout=subprocess.DEVNULL) as process:
            try:
                wait_for(port, process)
                workers = psutil.Process(process.pid).children()
                yield port, max(workers, key=lambda worker: worker.memory_info().rss)
            finally:
                process.terminate()


def wait_for(port, process):
    """As everybody does who waits for a service: until /ping is answered."""
    stop = time.monotonic() + MOST_SECONDS
    while process.poll() is None and time.monotonic() < stop:
        try:
            connection = HTTPConnection(HOST, port, timeout=MOST_SECONDS)
            connection.request("GET", "/ping")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server does not answer after {MOST_SECONDS} seconds")


def ask(port, bodies):
    """Seconds that every request took, one after the other over one connection."""
    connection, seconds = HTTPConnection(HOST, port, timeout=MOST_SECONDS), []
    for body in bodies:
        start = time.perf_counter()
        connection.request("POST", "/invocations", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        seconds.append(time.perf_counter() - start)
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {content[:300]!r}")
    connection.close()
    return seconds


def requests_per_second(port, bodies, clients):
    start = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda i: ask(port, bodies[i::clients]), range(clients)))
    return len(bodies) / (time.perf_counter() - start)


def processor_seconds(process, work):
    """Of the server, during some work."""
    before = process.cpu_times()
    work()
    after = process.cpu_times()
    return after.user + after.system - before.user - before.system


def body(column, values, params=None):
    return json.dumps({"dataframe_records": [{column: value} for value in values], "params": params or {}})


def capacity(n_requests=160):
    """A table of what one worker answers, and its memory afterwards."""
    rng = np.random.default_rng(0)
    photo = base64.b64encode(make_photo(rng, noise=0)).decode()
    classes = {"classes": [f"thing {number}" for number in range(29)]}
    print("| model | requests/s, a row of features | images/s, one a request | images/s, 8 a request | memory |")
    print("|---|---|---|---|---|")
    for method in MODELS:
        trained, X = (None, None) if method == "photos" else make_trained(method)
        params = classes if trained is None else {}
        width = [0.1] * 1280 if X is None else X[0].tolist()
        with served(trained) as (port, worker):
            speeds = []
            for column, values, n in (
                ("features", [width], n_requests),
                *(("image", [photo] * b, 8) for b in (1, BATCH)),
            ):
                asked = [body(column, values, params)] * max(n, n_requests // (4 * len(values)))
                ask(port, asked[:2])
                speeds.append(requests_per_second(port, asked, 4) * len(values))
            memory = worker.memory_info().rss / 2**20
        print(f"| `{method}` | {speeds[0]:.0f} | {speeds[1]:.0f} | {speeds[2]:.0f} | {memory:.0f} MB |", flush=True)


def main(n_requests=480, method="aezsl"):
    trained, X = make_trained(method)
    rng = np.random.default_rng(0)
    contents = [make_photo(rng, noise=0) for _ in range(BATCH)]
    photos = [base64.b64encode(content).decode() for content in contents]
    n_batches = max(4, n_requests // (2 * BATCH))
    rows = [body("features", [X[i].tolist()]) for i in range(n_requests)]
    with served(trained) as (port, process):
        for column, bodies in (("features", rows[:11]), ("image", [body("image", photos[:1])] * 11)):
            first, *others = ask(port, bodies)
            usual = statistics.median(others)
            print(
                f"{column}: first request {1000 * first:.0f} ms, median of ten others {1000 * usual:.0f} ms", end="; "
            )
            print(f"{first / usual:.2f} times")
        one, many = (requests_per_second(port, rows, clients) for clients in (1, CLIENTS))
        print(f"stored features, one row a request: {one:.0f} requests/s of one client, {many:.0f} of {CLIENTS}")
        whole = requests_per_second(port, [body("image", photos)] * n_batches, 2) * BATCH
        single = requests_per_second(port, [body("image", photos[:1])] * (2 * n_batches), CLIENTS)
        batches = [body("image", photos)] * n_batches
        cost = processor_seconds(process, lambda: ask(port, batches)) / (n_batches * BATCH)
        row = processor_seconds(process, lambda: ask(port, rows)) / n_requests
    encoder = make_encoder(ExtractionSettings(backbone=[OneBackbone(**BACKBONE)]))
    encode = encoder.load(side_by_side=True)
    encode(contents)
    direct, _ = measured(n_batches * BATCH, lambda: [encode(contents) for _ in range(n_batches)])
    bare = bare_speeds(encoder.backbones[0], n_batches * BATCH)
    _, pillow = measured(20 * BATCH, lambda: [bare_pillow(content) for content in contents * 20])
    ways = [bare[how] for how in ("on all cores", "one on each core")]
    fastest, engine = max(speed for speed, _ in ways), min(processor for _, processor in ways)
    floor = engine / (engine + pillow)
    print(f"images: engine alone {fastest:.1f}/s; service {whole:.1f}/s, {100 * whole / fastest:.0f} % of it", end="; ")
    print(f"with one image a request and {CLIENTS} clients {single:.1f}/s, {100 * single / fastest:.0f} %")
    print(f"the same images, decoded and seen by the engine without a service: {direct:.1f}/s", end="; ")
    print(f"the service {100 * whole / direct:.0f} % of it, with one image a request {100 * single / direct:.0f} %")
    print(f"processor time: {1000 * row:.1f} ms a row of stored features; an image {1000 * cost:.2f} ms", end=", ")
    print(f"of which the engine alone takes {engine:.2f} ms, {engine / cost / 10:.0f} %, and Pillow {pillow:.2f} ms to")
    print(
        f"decode and scale it: on cores that do both {100 * floor:.0f} % of the engine's speed can be had at best,",
        end=" ",
    )
    print(f"of which the service has {100 * whole / fastest / floor:.0f} %")


if __name__ == "__main__":
    arguments = [int(argument) if argument.isdecimal() else argument for argument in sys.argv[1:]]
    if arguments[:1] == ["capacity"]:
        capacity(*arguments[1:])
    else:
        main(*arguments)
