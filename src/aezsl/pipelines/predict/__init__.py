from aezsl.pipelines.predict.pipeline import create_pipeline

__all__ = ["create_pipeline"]
