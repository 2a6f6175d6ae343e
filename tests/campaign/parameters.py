"""Parameters that are misspelt or of another kind: each must be refused before anything runs."""

import copy
from functools import cache

from aezsl import settings
from aezsl.config import ConfigLoader
from aezsl.runs.parameters import check_configuration
from tests.helpers import ROOT


@cache
def _configuration():
    loader = ConfigLoader(str(ROOT / "conf"), "base", {}, **settings.CONFIG_LOADER_ARGS)
    return loader["parameters"], loader["globals"], loader._texts("base")


def _leaves(tree, path=()):
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name)


def _misspelt(name, rng):
    """Two letters changed places, or one is gone, or doubled."""
    at = int(rng.integers(max(1, len(name) - 1)))
    change = rng.integers(3)
    if change == 0:
        return name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    return name[:at] + (name[at + 1 :] if change == 1 else name[at : at + 1] + name[at:])


def parameter(rng):
    """A parameter of base with one letter or its kind changed; only an unchanged name may be accepted."""
    parameters, values, texts = _configuration()
    tree = copy.deepcopy(parameters)
    paths = list(_leaves(tree))
    path = paths[rng.integers(len(paths))]
    place = tree
    for name in path[:-1]:
        place = place[name]
    misspelt = rng.random() < 0.6
    if misspelt:
        name = _misspelt(path[-1], rng)
        misspelt = name not in place
        place.setdefault(name, place[path[-1]])
    else:
        place[path[-1]] = {"a": {"mapping": ["where", "none", "belongs"]}}
    check_configuration(tree, values, {}, texts, {})
    return not misspelt and path[-1] in place and not isinstance(place[path[-1]], dict)
