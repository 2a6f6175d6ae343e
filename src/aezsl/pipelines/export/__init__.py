from aezsl.pipelines.export.pipeline import create_pipeline

__all__ = ["create_pipeline"]
