"""Zero-shot image classification by category-specific visual-semantic mappings."""

__version__ = "0.1.0"
