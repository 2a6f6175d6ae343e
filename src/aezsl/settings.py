"""Kedro settings."""

import gc

from omegaconf.resolvers import oc

# Importing Kedro, MLflow and scikit-learn makes a million objects that stay: to look for garbage among them after every
# 700 new ones, as Python does, took a sixth of the time until the first node starts.
gc.set_threshold(10_000, 10, 10)

from aezsl.hooks import crash
from aezsl.machine import screen

# Kedro reads these settings after it has set up logging, and with it the hook for uncaught errors that this one wraps.
# It comes before the imports that take seconds, in which somebody may press Ctrl+C.
crash.install()
screen.install()

from aezsl.config.loader import ConfigLoader
from aezsl.hooks import ProjectHooks

HOOKS = ProjectHooks()
# kedro-mlflow's own hook gives way to ours, which logs every setting under its name.
DISABLE_HOOKS_FOR_PLUGINS = ("kedro-mlflow", "kedro_mlflow")  # as its metadata writes the name, by version
CONFIG_LOADER_CLASS = ConfigLoader
CONFIG_LOADER_ARGS = {
    "base_env": "base",
    "default_run_env": "local",
    # A parameter given in an environment or on the command line replaces that value, not its whole section.
    "merge_strategy": {"parameters": "soft"},
    # mlflow.yml takes the tracking server from the standard environment variable.
    "custom_resolvers": {"oc.env": oc.env},
}
