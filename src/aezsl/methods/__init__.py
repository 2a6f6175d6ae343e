"""Zero-shot learning methods: the mathematics, free of Kedro, MLflow and file access.

A new method is its file here, ``conf/base/parameters/<name>.yml``, ``tests/methods/test_<name>.py``
and one line in ``METHODS``.
"""

from importlib import import_module

from aezsl.methods.base import LinearZeroShotClassifier, ZeroShotClassifier

__all__ = [
    "EPOCHS",
    "METHODS",
    "REFINES",
    "LinearZeroShotClassifier",
    "ZeroShotClassifier",
    "make_method",
    "method_class",
]

# name -> "module:Class", imported only when asked for, so that no run pays for libraries it does not use.
METHODS: dict[str, str] = {
    "aezsl": "aezsl.methods.aezsl.aezsl:AEZSL",
    "aezsl_lr": "aezsl.methods.refinement.aezsl_lr:AEZSLLR",
    "aezsl_lr_balanced": "aezsl.methods.refinement.aezsl_lr_balanced:AEZSLLRBalanced",
    "aezsl_lr_one_step": "aezsl.methods.refinement.aezsl_lr_one_step:AEZSLLROneStep",
    "aezsl_sim": "aezsl.methods.aezsl.aezsl_sim:AEZSLSim",
    "amp": "aezsl.methods.amp:AMP",
    "conse": "aezsl.methods.conse:ConSE",
    "costa": "aezsl.methods.costa:COSTA",
    "daezsl": "aezsl.methods.daezsl.daezsl:DAEZSL",
    "dap": "aezsl.methods.dap:DAP",
    "devise": "aezsl.methods.devise:DeViSE",
    "eszsl": "aezsl.methods.eszsl:ESZSL",
    "eszsl_lr": "aezsl.methods.refinement.eszsl_lr:ESZSLLR",
    "eszsl_net": "aezsl.methods.daezsl.eszsl_net:ESZSLNet",
    "exem": "aezsl.methods.exem:EXEM",
    "iap": "aezsl.methods.iap:IAP",
    "jlse": "aezsl.methods.jlse:JLSE",
    "latem": "aezsl.methods.latem:LatEm",
    "rkt": "aezsl.methods.rkt:RKT",
    "secml": "aezsl.methods.secml:SECML",
    "sje": "aezsl.methods.sje:SJE",
    "sse": "aezsl.methods.sse:SSE",
    "sync": "aezsl.methods.sync:SynC",
}

# Methods that refine the labels of another, linear one on the test images themselves: name -> that method.
REFINES: dict[str, str] = {
    "aezsl_lr": "aezsl",
    "aezsl_lr_balanced": "aezsl",
    "aezsl_lr_one_step": "aezsl",
    "eszsl_lr": "eszsl",
}

# Methods trained epoch by epoch: they can go on from a checkpoint, and have a history.
EPOCHS = ("daezsl", "eszsl_net")


def method_class(name: str) -> type[ZeroShotClassifier]:
    """The class registered under ``name``."""
    if name not in METHODS:
        raise ValueError(f"unknown method {name!r}; expected one of: {', '.join(sorted(METHODS))}")
    module, _, attribute = METHODS[name].partition(":")
    cls: type[ZeroShotClassifier] = getattr(import_module(module), attribute)
    return cls


def make_method(name: str, **params: object) -> ZeroShotClassifier:
    """An unfitted estimator of the method registered under ``name``."""
    cls = method_class(name)
    known = cls().get_params()
    if unknown := sorted(set(params) - set(known)):
        raise ValueError(
            f"{name} has no parameter {', '.join(unknown)}; it takes: {', '.join(sorted(known)) or 'none'}"
        )
    return cls(**params)
