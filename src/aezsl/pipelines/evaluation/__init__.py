from aezsl.pipelines.evaluation.pipeline import create_large_scale_pipeline, create_pipeline

__all__ = ["create_large_scale_pipeline", "create_pipeline"]
