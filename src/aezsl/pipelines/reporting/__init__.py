from aezsl.pipelines.reporting.pipeline import (
    create_ablation,
    create_comparison,
    create_pipeline,
    create_qualitative,
    create_table,
)

__all__ = ["create_ablation", "create_comparison", "create_pipeline", "create_qualitative", "create_table"]
