"""classes -> semantics."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.semantic_embedding.nodes import embed


def create_pipeline() -> Pipeline:
    """Embed what describes the classes."""
    return Pipeline(
        [
            node(
                embed,
                {"classes": "described_classes", "store": "semantics_store", "settings": "params:semantic_embedding"},
                "semantics",
                name="embed_classes",
            )
        ],
        tags="semantic_embedding",
    )
