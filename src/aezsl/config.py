"""Kedro's configuration loader, with four more resolvers, and with what is checked before anything runs."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

import yaml
from kedro.config import OmegaConfigLoader
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from aezsl.errors import AezslError, ParameterError


class ConfigLoader(OmegaConfigLoader):
    """As Kedro's, but ``globals.yml`` may use ``${given:name,default}``: a value of ``--params``, or the default.

    Kedro does not allow its own ``runtime_params`` in globals, yet the place of all results, which is a global, must
    follow from which data set the command line names: results of different data never mix. ``${below:name}`` is such a
    value as the end of a folder's name: a slash and the value, or nothing; ``${environment:}`` is what ``--env`` named.
    ``${registered:name,default}`` is the address of a model of MLflow's registry as the name of a folder. A features
    file that the command line names needs no word about the backbone; sources of semantics can be given there as one
    word (see ``read_sources``). An environment that there is not is refused at once.
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
        if env and env != self.default_run_env and env not in self.environments():
            near = get_close_matches(env.lower(), self.environments(), n=1)
            hint = f": did you mean {near[0]}?" if near else "."
            raise ParameterError(f"no environment {env!r}{hint} There are: {', '.join(self.environments())}")

    def __getitem__(self, key: str) -> Any:
        """As Kedro's; a file that cannot be read, or a value that cannot be resolved, is told in a sentence."""
        try:
            return super().__getitem__(key)
        except (OmegaConfBaseException, yaml.YAMLError, ValueError) as error:
            if isinstance(own := _first_cause(error), AezslError):
                raise own from error
            reason = " ".join(str(error).split())
            what = self._unreadable() or f"{key} of conf and --params"
            raise ParameterError(f"{what} cannot be read ({reason}): mend the file, or the value") from error

    def _unreadable(self) -> str:
        """The first file of the configuration that is not YAML; empty where all are."""
        for env in dict.fromkeys([self.base_env, self.env or self.default_run_env]):
            root = PurePath(self._get_conf_env_path(env)).as_posix()
            for path in sorted(self._fs.find(root)):
                if PurePath(path).suffix in (".yml", ".yaml", ".json"):
                    try:
                        yaml.compose(self._fs.cat_file(path).decode("utf-8"))
                    except (yaml.YAMLError, UnicodeDecodeError):
                        return f"{PurePath(self.conf_source).name}/{env}/{path.rpartition(f'/{env}/')[2]}"
        return ""

    def environments(self) -> list[str]:
        """The folders of the configuration."""
        root = PurePath(self._get_conf_env_path("")).as_posix()
        folders = (PurePath(path).name for path in self._fs.ls(root, detail=False) if self._fs.isdir(path))
        return sorted(name for name in folders if not name.startswith((".", "_")))

    def check(self) -> None:
        """Refuse parameters that are unknown or cannot be meant."""
        from aezsl.runs.parameters import check_configuration

        env = self.env or self.default_run_env
        counting = [self.base_env, env]
        texts = {path: text for name in dict.fromkeys(counting) for path, text in self._texts(name).items()}
        elsewhere = {name: self._texts(name) for name in self.environments() if name not in counting}
        self["parameters"] = self["parameters"]  # read once: whoever asks next gets what was checked
        check_configuration(self["parameters"], self["globals"], self.runtime_params or {}, texts, elsewhere)

    def _texts(self, env: str) -> dict[str, str]:
        """Path -> text of every file of an environment."""
        found = {}
        for path in sorted(self._fs.find(PurePath(self._get_conf_env_path(env)).as_posix())):
            if PurePath(path).suffix in (".yml", ".yaml", ".json"):
                shown = f"{PurePath(self.conf_source).name}/{env}/{path.rpartition(f'/{env}/')[2]}"
                found[shown] = self._fs.cat_file(path).decode("utf-8")
        return found


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
