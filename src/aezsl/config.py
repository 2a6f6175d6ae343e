"""Kedro's configuration loader, with one more resolver."""

from typing import Any

from kedro.config import OmegaConfigLoader
from omegaconf import OmegaConf


class ConfigLoader(OmegaConfigLoader):
    """As Kedro's, but ``globals.yml`` may use ``${given:name,default}``: a value of ``--params``, or the default.

    Kedro does not allow its own ``runtime_params`` in globals, yet the place of all results, which is a global, must
    follow from which data set the command line names: results of different data never mix.
    """

    def __init__(
        self, conf_source: str, env: str | None = None, runtime_params: dict[str, Any] | None = None, **options: Any
    ) -> None:
        given = OmegaConf.create(runtime_params or {})

        def resolve(name: str, default: Any) -> Any:
            return OmegaConf.select(given, name, default=default)

        # Not by custom_resolvers: of a second session in the same process, Kedro would keep the first one's.
        OmegaConf.register_new_resolver("given", resolve, replace=True)
        super().__init__(conf_source, env, runtime_params, **options)
