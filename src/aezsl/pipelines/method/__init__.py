from aezsl.pipelines.method.pipeline import create_pipeline

__all__ = ["create_pipeline"]
