"""A selection is taken over only while everything it depends on is the same."""

from aezsl.pipelines.training.nodes import code_of


def test_the_code_of_a_refined_method_includes_its_base_and_what_both_import():
    names = {f"{path.parent.name}/{path.name}" for path in code_of("aezsl_lr")}
    assert {"refinement/aezsl_lr.py", "aezsl/aezsl.py", "aezsl/solver.py", "refinement/rounds.py"} <= names
    assert {"selection/search.py", "evaluation/metrics.py"} <= names


def test_another_method_may_change():
    assert "daezsl.py" not in {path.name for path in code_of("eszsl")}
