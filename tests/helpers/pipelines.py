"""All pipelines: each is put together once."""

from functools import cache

from aezsl.pipeline_registry import register_pipelines

registered = cache(register_pipelines)
