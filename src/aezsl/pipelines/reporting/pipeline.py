"""results on disk -> tables and one page."""

from kedro.pipeline import Pipeline, node

from aezsl.reporting.formatting import write_tables
from aezsl.reporting.page import make_page
from aezsl.reporting.tables import make_tables


def create_pipeline() -> Pipeline:
    """The report of whatever has been run; it runs nothing itself."""
    return Pipeline(
        [
            node(make_tables, ["results", "params:report"], "report_tables", name="make_tables"),
            node(write_tables, "report_tables", "report_files", name="write_tables"),
            node(make_page, ["results", "report_tables", "parameters"], "report_page", name="make_page"),
        ],
        tags="reporting",
    )
