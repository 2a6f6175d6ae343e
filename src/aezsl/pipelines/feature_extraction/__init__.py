from aezsl.pipelines.feature_extraction.pipeline import create_pipeline

__all__ = ["create_pipeline"]
