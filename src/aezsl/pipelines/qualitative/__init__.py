from aezsl.pipelines.qualitative.pipeline import create_pipeline

__all__ = ["create_pipeline"]
