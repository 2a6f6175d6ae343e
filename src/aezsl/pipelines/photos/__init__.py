from aezsl.pipelines.photos.pipeline import create_pipeline

__all__ = ["create_pipeline"]
