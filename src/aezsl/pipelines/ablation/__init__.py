from aezsl.pipelines.ablation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
