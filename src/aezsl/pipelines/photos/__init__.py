from aezsl.pipelines.photos.pipeline import create_own, create_pipeline

__all__ = ["create_own", "create_pipeline"]
