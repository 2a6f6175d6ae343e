"""Which engine runs the default backbone fastest on this machine: ``python -m tests.benchmarks.bench_engines``."""

import time

import numpy as np
import torch

from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.engine import available_cores
from aezsl.encoders.images.networks import efficientnet_lite

BATCHES = (1, 8, 32)


def images_per_second(run, batch, seconds=3.0):
    run(batch)  # the first call pays for compilation and warm-up
    start, done = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        run(batch)
        done += len(batch)
    return done / (time.perf_counter() - start)


def main():
    torch.set_num_threads(available_cores())
    network = efficientnet_lite("efficientnet_lite0", "default", None).eval()
    engines = {"eager torch": network}
    try:
        compiled = torch.compile(network)
        compiled(torch.zeros(1, 3, 224, 224))
        engines["torch.compile"] = compiled
    except Exception as error:  # it needs a C++ compiler at run time, which a user may not have
        print(f"torch.compile does not run here: {type(error).__name__}")
    _, onnx = make_backbone("efficientnet_lite0").load()
    rng = np.random.default_rng(0)
    print(f"EfficientNet-Lite0, images per second on {available_cores()} cores (ratio to eager torch)")
    for size in BATCHES:
        batch = rng.normal(size=(size, 3, 224, 224)).astype(np.float32)
        with torch.inference_mode():
            rates = {
                name: images_per_second(lambda x, e=e: e(torch.from_numpy(x)), batch) for name, e in engines.items()
            }
            difference = np.abs(onnx(batch) - network(torch.from_numpy(batch)).numpy()).max()
        rates["ONNX Runtime"] = images_per_second(onnx, batch)
        shown = ", ".join(f"{name} {rate:.0f} ({rate / rates['eager torch']:.1f}x)" for name, rate in rates.items())
        print(f"batch {size:3d}: {shown}; largest difference {difference:.1e}")


if __name__ == "__main__":
    main()
