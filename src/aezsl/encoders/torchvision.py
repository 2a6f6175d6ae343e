"""torchvision, imported so that it also works beside a CPU build of torch.

Where torch is a CPU build and torchvision the one from the package index, the compiled operators are not
registered and ``import torchvision`` fails on ``torchvision::nms``. The models and transforms need none of
them, so declaring the two schemas is enough. Everything that needs torchvision, directly or through another
library, imports this module first.
"""

import sys

import torch

__all__ = ["torchvision"]

try:
    import torchvision
except RuntimeError as error:
    if "torchvision::nms does not exist" not in str(error):
        raise
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    _schemas = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]  # must live on
    for operator in ("nms", "qnms"):
        schema = f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        _schemas.define(schema)  # type: ignore[no-untyped-call]
    import torchvision
