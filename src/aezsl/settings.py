"""Kedro settings."""

import gc
import os

from omegaconf.resolvers import oc

# Before anything below, and any plugin of Kedro, imports MLflow: as .telemetry has it for Kedro, nothing is sent.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

# Importing Kedro, MLflow and scikit-learn makes a million objects that stay: to look for garbage among them after every
# 700 new ones, as Python does, took a sixth of the time until the first node starts.
gc.set_threshold(10_000, 10, 10)

from aezsl.hooks import crash
from aezsl.machine import console

# Kedro reads these settings after it has set up logging, and with it the hook for uncaught errors that this one wraps.
# It comes before the imports that take seconds, in which somebody may press Ctrl+C.
crash.install()
console.install()

from aezsl.config.loader import ConfigLoader
from aezsl.hooks.checks import Checks, OneThreadPerTask
from aezsl.hooks.closing import Closing
from aezsl.hooks.repeat import split_hooks
from aezsl.hooks.tracking import ParameterLogging, RunRecorder
from aezsl.hooks.turns import TakeTurns

# Kedro calls the last of this list first, and of those that want to be first the last: what is refused need not wait
# for its turn. kedro-mlflow's own hook gives way to ours, which logs every setting under its name.
HOOKS = (TakeTurns(), Checks(), split_hooks, RunRecorder(), OneThreadPerTask(), Closing(), ParameterLogging())
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
