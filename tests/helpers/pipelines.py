"""All pipelines, put together once: it takes a second."""

from functools import cache

from aezsl.pipeline_registry import create_pipelines

registered = cache(create_pipelines)
