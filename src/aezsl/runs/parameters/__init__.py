"""Everything that can be set is checked before anything runs: names, kinds, ranges and choices.

``sections.py`` says what there is, ``problems.py`` what is wrong. The hooks call ``check_configuration`` for the
files of conf, the environment's and ``--params`` together.
"""

import copy
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from aezsl.errors import ParameterError
from aezsl.kinds import Text, accepts, describe
from aezsl.methods import METHODS, in_setting
from aezsl.runs.parameters.problems import Problem, find_problems, leaves, suggestion
from aezsl.runs.parameters.sections import Section, all_sections

__all__ = ["Section", "all_sections", "check_configuration", "trainable"]

#: A name that is a folder on every system and can be typed: no separators, no dots or spaces at its ends.
FOLDER_NAME = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[\w+-]([\w .+-]{0,98}[\w+-])?", re.IGNORECASE)
#: How names of places end that nothing can be done without.
NEEDED = (".root", ".images")
#: Parameters that follow from others, and what to give instead.
FOLLOW = {
    "predict.method": "the model that is used: give --params=method=...",
    "report.benchmark": "the data: give --env=..., or its name",
    "export.benchmark": "the data: give --env=..., or its name",
}


def check_configuration(
    parameters: Mapping[str, Any],
    global_values: Mapping[str, Any],
    given: Mapping[str, Any],
    texts: Mapping[str, str],
    elsewhere: Mapping[str, Mapping[str, str]],
) -> None:
    """Refuse what nothing reads and what cannot be meant, with one sentence for each.

    parameters, global_values : of the files and ``--params`` together, resolved. given : those of ``--params`` alone.
    texts : path -> text of every file that counts; elsewhere : the same for each environment that does not.
    """
    read = names_read(texts)
    known = all_sections()
    candidates = [*known.paths(), *read]
    values = copy.deepcopy(dict(parameters))
    problems = list(_given_problems(given, read, values))
    problems += find_problems(values, known, candidates)
    problems += _global_problems(global_values, given, texts, elsewhere)
    if problems:
        raise ParameterError("\n".join(_located(problem, given, texts, elsewhere) for problem in problems))


def names_read(texts: Mapping[str, str]) -> dict[str, Any]:
    """Names that the files themselves take from the command line, and their kinds.

    ``${runtime_params:name,default}`` is a text (most are paths) or, by its default, true or false; null too, where
    the work is possible without it, as in ``imagenet.features=null``: images instead of stored features. What
    ``${given:name,default}`` makes of a value is checked where it ends, among the globals.
    """
    found = {}
    for text in texts.values():
        for resolver, name, default in re.findall(r"\$\{(runtime_params|given):\s*([\w.]+)\s*,?([^}]*)", text):
            default = default.strip()
            kind: Any = bool if default in ("true", "false") else Text
            kind = kind if name.endswith(NEEDED) and default not in ("null", "") else kind | None
            found[name] = kind if resolver == "runtime_params" else Text | int | float | None
    return found


def trainable() -> list[str]:
    """What leaves a model that predict and export can use: methods in both settings, and the one from images."""
    return [*METHODS, *(in_setting(name, "gzsl") for name in METHODS), "daezsl_end_to_end"]


def _given_problems(given: Mapping[str, Any], read: Mapping[str, Any], values: dict[str, Any]) -> Iterator[Problem]:
    """Of names that files read from the command line; they are taken out of ``values``, since no section has them."""
    for name in sorted(read):
        found, value = _take(given, name, values)
        if found and isinstance(value, Mapping):
            unknown = leaves(value, name)[0]
            yield Problem(unknown, f"unknown parameter {unknown}{suggestion(unknown, read)}")
        elif found and not accepts(read[name], value):
            yield Problem(name, f"{name} must be {describe(read[name])}, got {value!r}")
    for name, source in FOLLOW.items():
        above, _, last = name.partition(".")
        if isinstance(section := given.get(above), Mapping) and last in section:
            yield Problem(name, f"{name} follows from {source}")


def _take(given: Mapping[str, Any], name: str, values: dict[str, Any]) -> tuple[bool, Any]:
    """Whether ``name`` is given and its value; from ``values`` it goes, with every section that it leaves empty."""
    above, _, rest = name.partition(".")
    if above not in given:
        return False, None
    if not rest:
        values.pop(above, None)
        return True, given[above]
    if not isinstance(given[above], Mapping) or not isinstance(values.get(above), dict):
        return False, None
    found = _take(given[above], rest, values[above])
    if not values[above]:
        del values[above]
    return found


def _global_problems(
    values: Mapping[str, Any],
    given: Mapping[str, Any],
    texts: Mapping[str, str],
    elsewhere: Mapping[str, Mapping[str, str]],
) -> Iterator[Problem]:
    """Of globals.yml: names that nothing refers to, a benchmark that is not a folder's name, a method there is not."""
    joined = "\n".join(texts.values())
    used = set(re.findall(r"\$\{globals:\s*(\w+)", joined)) | set(re.findall(r"\$\{\.(\w+)", joined))
    for name in sorted(set(values) - used):
        yield Problem(name, f"globals.yml: nothing refers to {name}{suggestion(name, used)}")
    for name in (name for name in ("data_set", "benchmark") if name in values):
        value = values[name]
        source = next(iter(re.findall(rf"^{name}:.*\$\{{given:([\w.]+)", joined, re.MULTILINE)), name)
        if value is None or not FOLDER_NAME.fullmatch(str(value)):
            yield Problem(
                source,
                f"{source} must be the name of a folder (at most 100 letters, digits, _, - and +, with dots or spaces "
                f"inside, and none that Windows keeps for itself), got {value!r}: results are kept below data/ under "
                "that name",
            )
            break  # the other follows from it
        if name == "benchmark" != source and str(value).casefold() in (others := _benchmarks(texts, elsewhere, source)):
            yield Problem(
                source,
                f"{source} must be a name of its own, got {value!r}, under which --env={others[str(value).casefold()]} "
                "keeps its results: they would mix",
            )
    method = values.get("method")
    if "method" in values and method not in trainable():
        near = get_close_matches(str(method or "").lower(), trainable(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(METHODS)}"
        yield Problem("method", f"{method!r} is not a method: {hint}")


def _benchmarks(texts: Mapping[str, str], elsewhere: Mapping[str, Mapping[str, str]], source: str) -> dict[str, str]:
    """Names under which results are kept where nobody gives one -> environment, without that which ``source`` names."""
    found = {}
    for env, files in {**elsewhere, "base": texts}.items():
        lines = re.findall(r"^benchmark:[ ]*(.*?)[ ]*(?:#.*)?$", "\n".join(files.values()), re.MULTILINE)
        for line in lines:
            given = re.fullmatch(r"\$\{given:([\w.]+),([\w-]+)\}", line)
            if not (given and given[1] == source):
                found[(given[2] if given else line).casefold()] = env
    return found


def _located(
    problem: Problem, given: Mapping[str, Any], texts: Mapping[str, str], elsewhere: Mapping[str, Mapping[str, str]]
) -> str:
    """The sentence with where the parameter comes from, and what else may have been meant."""
    path = re.sub(r"\[\d+\].*", "", problem.path)
    typed = {leaf for name, value in given.items() for leaf in leaves(value, name)}
    if any(path == leaf or leaf.startswith(f"{path}.") or path.startswith(f"{leaf}.") for leaf in typed):
        envs = [env for env, others in elsewhere.items() if problem.path in names_read(others)]
        if envs and problem.sentence.startswith("unknown"):
            return f"--params: {problem.path} is read with --env={' or --env='.join(envs)} only"
        return f"--params: {problem.sentence}"
    if problem.path in names_read(texts) and problem.sentence.startswith("unknown"):
        return f"{problem.path} is taken from the command line only: give it as --params={problem.path}=..."
    section, last = (re.escape(name) for name in (path.partition(".")[0], path.rpartition(".")[2]))
    files = [
        file
        for file, text in texts.items()
        if re.search(rf"^{section}\s*:", text, re.MULTILINE) and re.search(rf"(^|[\s{{,]){last}\s*:", text)
    ]
    return f"{files[-1]}: {problem.sentence}" if files else problem.sentence
