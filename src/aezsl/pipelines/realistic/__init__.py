from aezsl.pipelines.realistic.pipeline import create_pipeline

__all__ = ["create_pipeline"]
