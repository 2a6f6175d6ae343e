"""problem -> how methods with a pool fare on pools as they come, beside what they answer without one."""

from kedro.pipeline import Pipeline, node

from aezsl.methods import METHODS
from aezsl.pipelines.realistic.nodes import WITH_POOL, measure_pools
from aezsl.reporting.pools import draw_gains, tabulate_pools


def create_pipeline() -> Pipeline:
    """Needs the problem before it; methods are those that ``realistic.methods`` names."""
    needed = dict.fromkeys([*WITH_POOL, *(base for name in WITH_POOL if (base := METHODS[name].refines))])
    inputs = {
        "problem": "problem",
        "settings": "params:realistic",
        "selection": "params:selection",
        "chosen": "selections",
        "found": "realistic_cells",
        **{name: f"params:{name}" for name in needed},
    }
    return Pipeline(
        [
            node(measure_pools, inputs, ["realistic_draws", "realistic_record"], name="measure_pools"),
            node(
                tabulate_pools,
                "realistic_draws",
                ["realistic_table", "realistic_text", "realistic_gains"],
                name="tabulate_pools",
            ),
            node(draw_gains, "realistic_table", "realistic_figure", name="draw_gains"),
        ],
        tags="realistic",
    )
