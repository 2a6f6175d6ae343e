"""results of all methods -> one table."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from aezsl.pipelines import with_fixed
from aezsl.reporting.comparison import PARTS, collect


def create_pipeline(names: Sequence[str]) -> Pipeline:
    """The comparison of these methods; needs the pipelines of all of them before it."""
    inputs = {f"{name}_{part}": f"{name}.{part}" for name in names for part in PARTS}
    outputs = ["table1", "table1_text", "table1_latex"]
    collecting = node(with_fixed(collect, names=names), ["params:report", *inputs], outputs, name="collect_table1")
    return pipeline(Pipeline([collecting], tags="reporting"), inputs=inputs)
