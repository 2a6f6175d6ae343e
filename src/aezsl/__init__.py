"""Zero-shot image classification by category-specific visual-semantic mappings."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aezsl.serving.zero_shot import classify

__all__ = ["classify"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``aezsl.classify``, imported when somebody asks for it: the package itself stays light."""
    if name == "classify":
        from aezsl.serving.zero_shot import classify

        return classify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
