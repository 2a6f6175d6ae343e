from aezsl.pipelines.semantic_embedding.pipeline import create_pipeline

__all__ = ["create_pipeline"]
