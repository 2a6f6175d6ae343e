"""results on disk -> tables and one page."""

from kedro.pipeline import Pipeline, node

from aezsl.reporting.page import make_report


def create_pipeline() -> Pipeline:
    """The report of whatever has been run; it runs nothing itself."""
    return Pipeline(
        [
            node(
                make_report,
                ["results", "params:report", "parameters"],
                ["report_files", "report_page"],
                name="make_report",
            )
        ],
        tags="reporting",
    )
