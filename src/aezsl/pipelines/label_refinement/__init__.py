from aezsl.pipelines.label_refinement.pipeline import create_pipeline

__all__ = ["create_pipeline"]
