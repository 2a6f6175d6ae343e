"""Parameters: each explained where it stands, environments that say only what is theirs, and a map of the files."""

import inspect
import re
from itertools import pairwise

import pytest
import yaml
from aezsl.runs.parameters.sections import GIVEN

from aezsl.encoders.texts.semantics import KINDS
from aezsl.methods import method_class
from tests.helpers import ROOT

CONF = ROOT / "conf"
FILES = sorted([*CONF.glob("base/parameters*.yml"), *CONF.glob("base/parameters/*.yml")])
ENVIRONMENTS = sorted(path.parent.name for path in CONF.glob("*/parameters.yml") if path.parent.name != "local")


def leaves(tree, path=()):
    """Every value with the path of names that leads to it; a list is one value."""
    if not isinstance(tree, dict) or not tree:
        return {path: tree}
    return {where: value for name, part in tree.items() for where, value in leaves(part, (*path, name)).items()}


def base():
    return {where: value for file in FILES for where, value in leaves(yaml.safe_load(file.read_text())).items()}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_parameter_is_explained_where_it_stands(file):
    lines = file.read_text().splitlines()
    parameters = [(above, line) for above, line in pairwise(lines) if re.match(r" {2,4}(?!init:$)\w+:", line)]
    assert parameters
    assert [line for above, line in parameters if "#" not in line and not above.lstrip().startswith("#")] == []


@pytest.mark.parametrize("env", ENVIRONMENTS)
def test_an_environment_says_only_what_is_its_own(env):
    known = base()
    own = leaves(yaml.safe_load((CONF / env / "parameters.yml").read_text()))
    grids = {where for where in own if where[1:2] == ("grid",)}  # values in place of those of the method's class
    assert [(name, key) for name, _, key in grids if own[name, "grid", key] == method_class(name).grid[key]] == []
    assert set(own) - grids <= set(known), "base has, and explains, every parameter"
    assert [where for where in set(own) - grids if own[where] == known[where]] == []


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
def test_every_kind_of_semantics_is_listed_with_its_settings(kind):
    text = (CONF / "base" / "parameters_semantic_embedding.yml").read_text()
    (listed,) = re.findall(rf"^  #   {kind}( \{{[\w, ]+\}})?  ", text, re.MULTILINE)
    arguments = inspect.signature(KINDS[kind]).parameters if kind in KINDS else ["encoder"]
    assert re.findall(r"\w+", listed) == [name for name in arguments if name not in GIVEN]


def test_the_map_names_every_file_and_environment():
    page = (CONF / "README.md").read_text()
    files = [path.name for path in CONF.glob("base/*.yml")]
    folders = [f"{path.name}/" for path in CONF.iterdir() if path.is_dir()]
    assert [name for name in files + folders if f"`{name}`" not in page] == []
