"""raw files -> images, classes, split."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.ingestion.nodes import select_data, split_classes, split_images


def create_pipeline() -> Pipeline:
    """Read the benchmark of this environment and say what every class and image is for."""
    return Pipeline(
        [
            node(
                select_data,
                ["raw_benchmark", "params:ingestion"],
                ["images", "described_classes", "attribute_names"],
                name="select_data",
            ),
            node(split_classes, ["images", "described_classes", "params:split"], "classes", name="split_classes"),
            node(split_images, ["images", "classes", "params:split"], "split", name="split_images"),
        ],
        tags="ingestion",
    )
