"""Kedro's configuration loader, with four more resolvers, and parameters that are held to the schema."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Any

import yaml
from kedro.config import OmegaConfigLoader
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aezsl.errors import AezslError, ParameterError

#: A name that is a folder on every system and can be typed: no separators, no dots or spaces at its ends.
FOLDER_NAME = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))[\w+-]([\w .+-]{0,98}[\w+-])?", re.IGNORECASE)


class ConfigLoader(OmegaConfigLoader):
    """As Kedro's, but parameters are complete and checked, and ``globals.yml`` may depend on the command line.

    ``${given:name,default}`` in ``globals.yml`` is a value of ``--params``, or the default: the place of all results
    follows from it, so that results of different data never mix (Kedro does not allow ``runtime_params`` there).
    ``${below:name}`` is such a value as the end of a folder's name: a slash and the value, or nothing.
    ``${environment:}`` is what ``--env`` named. ``${registered:name,default}`` is the address of a model of MLflow's
    registry as the name of a folder. An unknown environment is refused at once.
    """

    def __init__(
        self, conf_source: str, env: str | None = None, runtime_params: dict[str, Any] | None = None, **options: Any
    ) -> None:
        runtime_params = _with_implied(runtime_params or {})

        def resolve(name: str, default: Any) -> Any:
            value: Any = runtime_params
            for part in name.split("."):
                if not isinstance(value, Mapping) or part not in value:
                    return default
                value = value[part]
            return value

        def below(name: str) -> str:
            folder = PurePath(str(resolve(name, "") or ""))
            if folder.is_absolute() or ".." in folder.parts:
                raise ParameterError(f"{name} must be a folder below that of the benchmark, got {str(folder)!r}")
            return f"/{folder.as_posix()}" if folder.parts else ""

        def registered(name: str, otherwise: str) -> str:
            place = str(resolve(name, "") or "").removeprefix("models:").strip("/")
            return re.sub(r"[^\w.@+-]+", "-", place).strip(".") or otherwise

        # Not by custom_resolvers: of a second session in the same process, Kedro would keep the first one's.
        OmegaConf.register_new_resolver("given", resolve, replace=True)
        OmegaConf.register_new_resolver("below", below, replace=True)
        OmegaConf.register_new_resolver("environment", lambda: env or "", replace=True)
        OmegaConf.register_new_resolver("registered", registered, replace=True)
        super().__init__(conf_source, env, runtime_params, **options)
        environments = self.environments()
        if env and environments and env not in (*environments, self.default_run_env):
            near = get_close_matches(env.lower(), environments, n=1)
            hint = f": did you mean {near[0]}?" if near else "."
            raise ParameterError(f"no environment {env!r}{hint} There are: {', '.join(environments)}")

    def __getitem__(self, key: str) -> Any:
        """As Kedro's; parameters are complete, and what cannot be read or resolved is told in a sentence."""
        try:
            value = super().__getitem__(key)
        except (OmegaConfBaseException, yaml.YAMLError, ValueError, RecursionError) as error:
            if isinstance(own := _first_cause(error), AezslError):
                raise own from error
            reason = " ".join(str(error).split())
            if isinstance(error, RecursionError) or "maximum recursion" in reason:
                reason = "a value holds itself, by an anchor & and *"
            raise ParameterError(f"{key} of conf and --params cannot be read ({reason})") from error
        if key == "parameters" and key not in self:
            from aezsl.config import schema

            env = self.env or self.default_run_env
            texts = {path: text for name in dict.fromkeys([self.base_env, env]) for path, text in self._texts(name)}
            elsewhere = {name: dict(self._texts(name)) for name in self.environments() if name not in ("base", env)}
            self._check_globals(texts, elsewhere)
            value = self[key] = schema.complete(value, self.runtime_params or {}, texts, elsewhere)
        return value

    def environments(self) -> list[str]:
        """The folders of the configuration; none where it is an archive."""
        folder = Path(self.conf_source)
        folders = folder.iterdir() if folder.is_dir() else ()
        return sorted(path.name for path in folders if path.is_dir() and not path.name.startswith((".", "_")))

    def _texts(self, env: str) -> list[tuple[str, str]]:
        """Path and text of every file of an environment."""
        folder = Path(self.conf_source) / env
        files = sorted(path for path in folder.rglob("*") if path.suffix in (".yml", ".yaml", ".json"))
        shown = Path(self.conf_source).name
        return [
            (f"{shown}/{env}/{path.relative_to(folder).as_posix()}", path.read_text(encoding="utf-8")) for path in files
        ]

    def _check_globals(self, texts: Mapping[str, str], elsewhere: Mapping[str, Mapping[str, str]]) -> None:
        """Refuse a benchmark that is not a folder's name or another environment's own, and an unknown method."""
        values = self["globals"]
        benchmark, method = "" if values["benchmark"] is None else str(values["benchmark"]), values["method"]
        if not FOLDER_NAME.fullmatch(benchmark):
            raise ParameterError(
                f"the benchmark must be the name of a folder (at most 100 letters, digits, _, - and +, with dots or "
                f"spaces inside, and none that Windows keeps for itself), got {benchmark!r}: results are kept below "
                "data/ under that name"
            )
        line = _benchmark_line(texts.values())
        if line.startswith("${given:") and not line.endswith(f",{benchmark}}}"):
            taken = {_default(_benchmark_line(files.values())): env for env, files in elsewhere.items()}
            taken[_default(_benchmark_line(text for path, text in texts.items() if "/base/" in path))] = "base"
            if env := taken.get(benchmark.casefold()):
                raise ParameterError(
                    f"the name of the data must be its own, got {benchmark!r}, under which --env={env} keeps its "
                    "results: they would mix"
                )
        from aezsl.methods import METHODS, SETTINGS, in_setting

        names = [in_setting(name, setting) for setting in SETTINGS for name in (*METHODS, "photos_own")]
        trainable = [*names, "daezsl_end_to_end", "photos"]
        if method not in trainable:
            near = get_close_matches(str(method or "").lower(), trainable, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(METHODS)}"
            raise ParameterError(f"method: {method!r} is not a method: {hint}")


def _benchmark_line(texts: Any) -> str:
    """What the last of some files says that ``benchmark`` is."""
    lines = re.findall(r"^benchmark:[ ]*(.*?)[ ]*(?:#.*)?$", "\n".join(texts), re.MULTILINE)
    return lines[-1] if lines else ""


def _default(line: str) -> str:
    given = re.fullmatch(r"\$\{given:[\w.]+,([\w-]+)\}", line)
    return (given[1] if given else line).casefold()


def _first_cause(error: BaseException) -> BaseException:
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return error


def _with_implied(params: dict[str, Any]) -> dict[str, Any]:
    """What the command line gives, and what follows from it: features of a file are made by no backbone."""
    extraction, embedding = params.get("feature_extraction"), params.get("semantic_embedding")
    if isinstance(extraction, dict) and extraction.get("path") and "backbone" not in extraction:
        params = {**params, "feature_extraction": {**extraction, "backbone": "file"}}
    if isinstance(embedding, dict) and isinstance(sources := embedding.get("sources"), str):
        params = {**params, "semantic_embedding": {**embedding, "sources": read_sources(sources)}}
    return params


def read_sources(text: str) -> list[dict[str, Any]]:
    """Sources of semantics as the command line can give them, where commas separate parameters.

    A kind, its settings behind colons, several joined by plus signs: ``text:encoder=minilm+wordnet:measure=lin``.
    """
    sources = []
    for one in text.split("+"):
        kind, *settings = one.split(":")
        if wrong := [setting for setting in settings if "=" not in setting]:
            raise ParameterError(
                f"semantic_embedding.sources: expected name=value behind a colon, got {wrong[0]!r}. Paths that have a "
                "colon or a plus sign can be named in a file of parameters"
            )
        pairs = (setting.partition("=") for setting in settings)
        given = OmegaConf.from_dotlist([f"{name}={value}" for name, _, value in pairs])  # numbers become numbers
        sources.append({"kind": kind, **{str(name): value for name, value in given.items()}})
    return sources
