"""What methods are called on every page, table and figure: the label of the registry."""

from aezsl.methods import METHODS


def method_label(name: str) -> str:
    """The label of a method, of either setting (``gzsl_`` before it); a name that is not registered stays."""
    plain = name.removeprefix("gzsl_")
    return METHODS[plain].label if plain in METHODS else plain


def full_label(name: str) -> str:
    """The label with the setting, for tables that hold both."""
    return f"{method_label(name)}, generalized" if name.startswith("gzsl_") else method_label(name)
