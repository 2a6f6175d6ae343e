from aezsl.pipelines.comparison.pipeline import create_pipeline

__all__ = ["create_pipeline"]
