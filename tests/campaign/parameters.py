"""Parameters in files and on the command line, misspelt or of another kind: refused before anything runs."""

import copy
from functools import cache

from aezsl.runs.asked import CHOICES, check_choice
from aezsl.runs.parameters import Section, all_sections, check_configuration

from aezsl import settings
from aezsl.config.loader import ConfigLoader
from aezsl.kinds import accepts
from aezsl.pipeline_registry import create_pipelines, pipeline_names
from tests.campaign.damage import misspelt, pick, plain_value
from tests.helpers import ROOT

ENVIRONMENTS = ("base", "cub", "sun", "dogs", "awa2", "xlsa17", "imagenet", "tiny_imagenet", "webdataset", "own")


@cache
def _sections():
    return all_sections()


@cache
def _configuration(env):
    """Parameters and globals of an environment, the texts of its files, and those of all others."""
    loader = _loader(env, {})
    counting = dict.fromkeys(["base", env])
    texts = {path: text for name in counting for path, text in loader._texts(name).items()}
    elsewhere = {name: loader._texts(name) for name in loader.environments() if name not in counting}
    return loader["parameters"], loader["globals"], texts, elsewhere


def _check(env, parameters, given):
    _, values, texts, elsewhere = _configuration(env)
    check_configuration(parameters, values, given, texts, elsewhere)


def _loader(env, given):
    return ConfigLoader(str(ROOT / "conf"), env, given, **settings.CONFIG_LOADER_ARGS)


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


def _kind(path):
    """What may stand there; nothing where no name of the sections leads there, or where it is a list of sections."""
    behind = _sections()
    for name in path:
        if not isinstance(behind, Section) or name not in behind.names:
            return None
        behind = behind.names[name]
    return behind


def _place(tree, path):
    for name in path:
        tree = tree[name]
    return tree


def parameter_in_a_file(rng):
    """One name or one value of any environment changed."""
    env = pick(rng, ENVIRONMENTS)
    tree = copy.deepcopy(_configuration(env)[0])
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
            before, value, kind = place[path[-1]], plain_value(rng), _kind(path)
            place[path[-1]] = value
            known = value == before or (kind is not None and not isinstance(kind, Section) and accepts(kind, value))
    before = copy.deepcopy(tree)
    _check(env, tree, {})
    return known and (tree == before or tree != tree)


def parameter_on_the_command_line(rng):
    """One value given with any environment, by a right name or a misspelt one."""
    env = pick(rng, ENVIRONMENTS)
    tree = _configuration(env)[0]
    path = pick(rng, sorted(_leaves(tree)))
    value = plain_value(rng) if rng.random() < 0.5 else _place(tree, path)
    names, right = list(path), True
    if rng.random() < 0.5:
        at = int(rng.integers(len(names)))
        names[at] = misspelt(names[at], rng)
        right = tuple(names) == path
    given = value
    for name in reversed(names):
        given = {name: given}
    _check(env, _merged(tree, given), given)
    kind = _kind(names)
    return (
        right
        and kind is not None
        and (isinstance(kind, Section) or not hasattr(kind, "__metadata__") or accepts(kind, value))
    )


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
    _loader(env, given).check()
    if name == "own.name":
        return env == "own" and value in ("ok", "aezls", "aezsl", 1)
    if name == "method":
        return value == "aezsl"
    if name == "predict.method" or (name.partition(".")[0] in ("own", "cub") and name.partition(".")[0] != env):
        return False
    may_be_nothing = name in ("predict.classes", "predict.backbone")
    return (value is None and may_be_nothing) or (isinstance(value, str) and bool(value))


@cache
def _names(pipeline):
    """What of a pipeline can be asked for, by kind."""
    made = create_pipelines([pipeline])[pipeline]
    return made, {
        "node": sorted(node.name for node in made.nodes),
        "tag": sorted({tag for node in made.nodes for tag in node.tags}),
        "namespace": sorted({node.namespace for node in made.nodes if node.namespace}),
        "dataset": sorted(made.datasets()),
    }


def part_of_a_pipeline(rng):
    """Nodes, tags, namespaces and datasets of a run, by right names and misspelt ones: some nodes, or a sentence."""
    pipeline, names = _names(pick(rng, sorted(pipeline_names())))
    chosen, known = {}, True
    for _ in range(int(rng.integers(1, 4))):
        argument = pick(rng, CHOICES)
        there = names[CHOICES[argument][1]]
        name = pick(rng, there) if there else "x"
        if rng.random() < 0.5:
            name = misspelt(name, rng) if rng.random() < 0.7 else str(plain_value(rng))
        known &= name in there
        chosen.setdefault(argument, []).append(name)
    check_choice(pipeline, chosen)
    if "namespaces" in chosen:
        chosen["node_namespaces"] = chosen.pop("namespaces")
    return known and bool(pipeline.filter(**chosen).nodes)
