"""Which method a run is about: its results are logged under their plain names."""

import pytest

from aezsl.hooks import main_method


@pytest.mark.parametrize(
    ("named", "subject"),
    [
        ({"pipeline_name": "eszsl"}, "eszsl"),
        ({"pipeline_names": ["gzsl_aezsl"]}, "gzsl_aezsl"),
        ({"pipeline_names": ["ingestion", "eszsl"]}, "eszsl"),
        ({"pipeline_names": ["ingestion", "feature_extraction"]}, "ingestion"),
        ({"pipeline_name": "sensitivity_k"}, "aezsl_lr"),
        ({"pipeline_name": None, "pipeline_names": None}, "aezsl_lr"),
        ({}, "aezsl_lr"),
    ],
)
def test_the_first_method_named_is_what_a_run_is_about(named, subject):
    assert main_method(named) == subject
