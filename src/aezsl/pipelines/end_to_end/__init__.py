from aezsl.pipelines.end_to_end.pipeline import create_pipeline

__all__ = ["create_pipeline"]
