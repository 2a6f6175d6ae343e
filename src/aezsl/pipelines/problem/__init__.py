from aezsl.pipelines.problem.pipeline import create_pipeline

__all__ = ["create_pipeline"]
