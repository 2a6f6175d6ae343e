"""Networks as ONNX graphs: exported once, kept, and run by ONNX Runtime on the device that is asked for."""

import hashlib
import io
import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from aezsl.arrays import Float32
from aezsl.errors import ParameterError
from aezsl.machine.files import written_whole
from aezsl.machine.workers import workers_are_given

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)

#: (batch, 3, height, width) -> (batch, d).
Run = Callable[[Float32], Float32]

#: What ONNX Runtime calls them. Each needs a build of onnxruntime that has it (onnxruntime-gpu for cuda).
PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
    "rocm": "ROCMExecutionProvider",
    "migraphx": "MIGraphXExecutionProvider",
    "directml": "DmlExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
}
#: What ``auto`` tries, in this order; those that compute in lower precision unasked are left to be named.
AUTOMATIC = ("cuda", "rocm", "directml", "cpu")

#: Raised whenever the same network would be exported to another graph.
EXPORT = 1


def graph_folder() -> Path:
    """Where exported graphs are kept: below the environment variable AEZSL_CACHE, or the user's cache folder."""
    cache = os.environ.get("AEZSL_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "aezsl"
    return Path(cache).expanduser() / "graphs"


def kept_graph(config: Mapping[str, Any], export: Callable[[], bytes]) -> bytes:
    """The graph of a network with this config, exported the first time and read from a file afterwards.

    The file's name has a digest of its content: what has been damaged since is exported again.
    """
    from importlib.metadata import version

    versions = {package: version(package) for package in ("torch", "torchvision", "onnx", "transformers")}
    key = hashlib.sha256(json.dumps([dict(config), versions, EXPORT], sort_keys=True).encode()).hexdigest()[:32]
    for path in sorted(graph_folder().glob(f"{key}.*.onnx")):
        with suppress(OSError):
            if path.name == _graph_name(key, graph := path.read_bytes()):
                return graph
    graph = export()
    path = graph_folder() / _graph_name(key, graph)
    try:
        with written_whole(path) as temporary:
            temporary.write_bytes(graph)
    except OSError as error:  # a full disk or a home that cannot be written to: slower, but not wrong
        log.warning("the exported network could not be kept at %s (%s)", path, error)
    return graph


def _graph_name(key: str, graph: bytes) -> str:
    return f"{key}.{hashlib.blake2b(graph, digest_size=8).hexdigest()}.onnx"


def export_graph(network: "torch.nn.Module", shape: tuple[int, ...]) -> bytes:
    """The network as an ONNX graph for batches of images of this shape (3, height, width)."""
    import torch

    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecation notices of the exporter; torch is pinned
        torch.onnx.export(
            network.eval(),
            (torch.zeros(1, *shape),),
            buffer,  # type: ignore[arg-type]  # the exporter used here takes a buffer
            dynamo=False,
            input_names=["images"],
            output_names=["features"],
            dynamic_axes={"images": {0: "batch"}, "features": {0: "batch"}},
        )
    return buffer.getvalue()


def quantised_graph(graph: bytes, examples: Sequence[Float32]) -> bytes:
    """The graph in whole numbers of eight bits, weights by channel, whose ranges are those on examples (3, h, w)."""
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Examples(CalibrationDataReader):
        def __init__(self) -> None:
            self._left = iter(examples)

        def get_next(self) -> dict[str, Float32] | None:
            return next(({"images": example[None]} for example in self._left), None)

    with TemporaryDirectory() as folder:
        fused, quantised = (Path(folder) / name for name in ("fused.onnx", "quantised.onnx"))
        quant_pre_process(onnx.load_from_string(graph), fused, skip_symbolic_shape=True)
        kinds = {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
        quantize_static(fused, quantised, Examples(), quant_format=QuantFormat.QDQ, per_channel=True, **kinds)
        return quantised.read_bytes()


def run_graph(graph: bytes, device: str = "auto", one_by_one: bool = False) -> Run:
    """The graph on a device: ``auto``, or one of ``PROVIDERS``; says which one, and warns where it is another.

    one_by_one : whether processors take the images of a batch one after the other, whose maps stay in their cache.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = available_cores()
    options.log_severity_level = 3
    provider = choose_provider(device, onnxruntime.get_available_providers())
    wanted = list(dict.fromkeys([provider, PROVIDERS["cpu"]]))
    session = onnxruntime.InferenceSession(graph, options, providers=wanted)
    used = session.get_providers()[0]
    if used != provider:
        log.warning("%s could not be started and %s is used: are its libraries installed?", provider, used)
    log.info("features are computed by %s", used)
    # Processors take several batches at once; other devices one, and some of them break on a second.
    turn: AbstractContextManager[Any] = nullcontext() if used == PROVIDERS["cpu"] else Lock()

    def run(batch: Float32) -> Float32:
        with turn:
            features: Float32 = session.run(None, {"images": batch})[0]
        return features

    def run_each(batch: Float32) -> Float32:
        return np.concatenate([run(batch[i : i + 1]) for i in range(len(batch))])

    return run_each if one_by_one and used == PROVIDERS["cpu"] else run


def choose_provider(device: str, available: list[str]) -> str:
    """ONNX Runtime's name of the device; the CPU, with a warning, where this build does not have it."""
    if device == "auto":
        return next(PROVIDERS[name] for name in AUTOMATIC if PROVIDERS[name] in available)
    if device not in PROVIDERS:
        raise ParameterError(f"unknown device {device!r}; expected auto or one of: {', '.join(PROVIDERS)}")
    if PROVIDERS[device] in available:
        return PROVIDERS[device]
    log.warning(
        "this build of ONNX Runtime has no %s (it has %s): the CPU is used. Install the build that has it, for cuda "
        "onnxruntime-gpu in place of onnxruntime",
        *(PROVIDERS[device], ", ".join(available)),
    )
    return PROVIDERS["cpu"]


def available_cores() -> int:
    """Cores this process may use: one where workers are given, since the others have tasks of their own."""
    if workers_are_given():
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
