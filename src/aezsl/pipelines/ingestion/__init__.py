from aezsl.pipelines.ingestion.pipeline import create_pipeline

__all__ = ["create_pipeline"]
