from aezsl.pipelines.sensitivity.pipeline import create_pipeline

__all__ = ["create_pipeline"]
