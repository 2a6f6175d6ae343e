"""Parameters in files and on the command line, misspelt or of another kind: refused before anything runs."""

import copy
from functools import cache
from typing import Annotated

from aezsl import settings
from aezsl.config import schema
from aezsl.config.loader import ConfigLoader
from aezsl.kinds import Settings, check_value
from tests.campaign.damage import misspelt, pick, plain_value
from tests.helpers import ROOT

ENVIRONMENTS = ("base", "cub", "sun", "dogs", "awa2", "xlsa17", "imagenet", "tiny_imagenet", "webdataset", "own")


def _loader(env, given):
    return ConfigLoader(str(ROOT / "conf"), env, given, **settings.CONFIG_LOADER_ARGS)


@cache
def _parameters(env):
    """Of an environment, complete."""
    return _loader(env, {})["parameters"]


def _merged(tree, given):
    """As Kedro merges what the command line gives."""
    return {
        name: _merged(tree[name], given[name])
        if isinstance(tree.get(name), dict) and isinstance(given.get(name), dict)
        else given.get(name, tree.get(name))
        for name in {**tree, **given}
    }


def _leaves(tree, path=()):
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name)


def _place(tree, path):
    for name in path:
        tree = tree[name]
    return tree


def _fits(path, value):
    """Whether a value may stand there, by the annotations of the classes."""
    try:
        kind = schema.section_class(path[0])
    except KeyError:
        return False
    for name in path[1:]:
        if not (isinstance(kind, type) and issubclass(kind, Settings)) or name not in kind.model_fields:
            return False
        field = kind.model_fields[name]
        kind = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    if isinstance(kind, type) and issubclass(kind, Settings):
        return value == {} or (value is None and len(path) == 1)
    return not check_value(kind, value)


def parameter_in_a_file(rng):
    """One name or one value of any environment changed."""
    tree = copy.deepcopy(_parameters(pick(rng, ENVIRONMENTS)))
    path = pick(rng, sorted(_leaves(tree)))  # the order of files may differ from run to run
    place = _place(tree, path[:-1])
    known = True
    match rng.integers(4):
        case 0:
            name = misspelt(path[-1], rng)
            known = name in place
            place[name] = place.pop(path[-1])
        case 1:
            above = path[int(rng.integers(len(path)))]
            place = _place(tree, path[: path.index(above)])
            wrong = misspelt(above, rng)
            known = wrong in place
            place[wrong] = place[above]
        case 2:
            place[f"{path[-1]}_{int(rng.integers(9))}"] = plain_value(rng)
            known = False
        case _:
            before, value = place[path[-1]], plain_value(rng)
            place[path[-1]] = value
            known = value == before or _fits(path, value)
    before = copy.deepcopy(tree)
    schema.complete(tree, {}, {}, {})
    return known and (tree == before or tree != tree)


def parameter_on_the_command_line(rng):
    """One value given with any environment, by a right name or a misspelt one."""
    tree = _parameters(pick(rng, ENVIRONMENTS))
    path = pick(rng, sorted(_leaves(tree)))
    value = plain_value(rng) if rng.random() < 0.5 else _place(tree, path)
    names = list(path)
    if rng.random() < 0.5:
        at = int(rng.integers(len(names)))
        names[at] = misspelt(names[at], rng)
    given = value
    for name in reversed(names):
        given = {name: given}
    schema.complete(_merged(tree, given), given, {}, {})
    return _fits(names, value)


READ = (
    "method",
    "predict.images",
    "predict.classes",
    "predict.backbone",
    "own.root",
    "own.name",
    "cub.root",
    "cub.attributes",
)


def name_read_by_files(rng):
    """What the files themselves take from the command line: places of data, names of results, the method."""
    env = pick(rng, ("base", "own", "cub"))
    name = pick(rng, READ)
    value = pick(
        rng,
        (
            "",
            ".",
            "..",
            "../x",
            "/tmp/x",
            "a/b",
            "a\\b",
            "CON ",
            "x" * 300,
            "aezls",
            "aezsl",
            1,
            None,
            True,
            [],
            {"a": 1},
            "ok",
            "emoji",
            "CON",
            "*",
            "${oc.env:HOME}",
        ),
    )
    *above, last = name.split(".")
    given = {last: value}
    for part in reversed(above):
        given = {part: given}
    _loader(env, given)["parameters"]
    if name == "own.name":
        return env == "own" and value in ("ok", "aezls", "aezsl", 1)
    if name == "method":
        return value == "aezsl"
    if name == "predict.method" or (name.partition(".")[0] in ("own", "cub") and name.partition(".")[0] != env):
        return False
    if name == "predict.backbone":  # a parameter of its section
        return value is None or (isinstance(value, str) and bool(value))
    return value != "" and not isinstance(value, dict | list)
