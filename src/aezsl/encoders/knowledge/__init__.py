"""What networks know: the named classifiers in their last layer, as seen classes without an image.

``load_knowledge("efficientnet_lite0")`` gives what the methods of ``methods.heads`` are fitted to, and
``label_vectors`` what they adapt to. Everything that takes long is kept in the cache folder, so that torch is needed
the first time only.
"""

from aezsl.encoders.knowledge.named import NamedClassifiers
from aezsl.encoders.knowledge.vectors import ENCODERS, label_vectors, seen_classifiers
from aezsl.methods.heads.union import SeenClassifiers

__all__ = ["ENCODERS", "NamedClassifiers", "SeenClassifiers", "label_vectors", "load_knowledge", "seen_classifiers"]


def load_knowledge(
    network: str = "efficientnet_lite0", weights: str = "default", encoders: tuple[str, ...] = ENCODERS
) -> SeenClassifiers:
    """The classifiers of a network with vectors of their descriptions and names; arguments as in ``make_backbone``."""
    from aezsl.encoders.knowledge.heads import named_classifiers

    return seen_classifiers(named_classifiers(network, weights), encoders)
