"""All pipelines, put together once: it takes a second."""

from functools import cache

from aezsl.pipeline_registry import register_pipelines

registered = cache(register_pipelines)
