"""All there is to say about every method, one entry per method; no other file lists methods by name."""

from dataclasses import dataclass
from importlib import import_module
from typing import Literal, get_args

from aezsl.errors import ParameterError
from aezsl.methods.core.contract import Needs, ZeroShotClassifier


@dataclass(frozen=True)
class Entry:
    """One method. The class is imported only when asked for, so that no run pays for libraries it does not use."""

    name: str  # of its pipelines, parameters and results
    label: str  # as tables call it
    place: str  # module:Class below aezsl.methods
    needs: Needs = "samples"
    refines: str | None = None  # the linear method whose labels it improves
    or_refines: str | None = None  # another one, whose labels it may improve instead
    pool: bool = False  # learns from the unlabelled test images
    large_scale: bool = False  # stands in the paper's table of many classes, or beside it
    paired: bool = False  # for features and semantics that a pair of encoders has put into one space

    @property
    def epochs(self) -> bool:
        """Trained epoch by epoch: it can resume from a checkpoint, and has a training history."""
        return self.needs == "epochs"

    def load(self) -> type[ZeroShotClassifier]:
        """The class."""
        module, _, attribute = self.place.partition(":")
        cls: type[ZeroShotClassifier] = getattr(import_module(f"aezsl.methods.{module}"), attribute)
        return cls


_ENTRIES = (
    Entry("adaptive_devise", "DeViSE, adaptive", "adaptive:AdaptiveDeViSE"),
    Entry("adaptive_eszsl", "ESZSL, adaptive", "adaptive:AdaptiveESZSL", "statistics"),
    Entry("adaptive_ridge", "Shigeto et al., adaptive", "adaptive:AdaptiveRidge", "statistics"),
    Entry("adaptive_sje", "SJE, adaptive", "adaptive:AdaptiveSJE"),
    Entry("aezsl", "AEZSL", "aezsl.aezsl:AEZSL", "statistics", large_scale=True),
    Entry("aezsl_lr", "AEZSL_LR", "refinement.aezsl_lr:AEZSLLR", "statistics", refines="aezsl", pool=True),
    Entry(
        "aezsl_lr_balanced",
        "AEZSL_LR (balanced)",
        "refinement.aezsl_lr:AEZSLLRBalanced",
        "statistics",
        refines="aezsl",
        pool=True,
    ),
    Entry(
        "aezsl_lr_one_step",
        "AEZSL_LR (one-step)",
        "refinement.aezsl_lr:AEZSLLROneStep",
        "statistics",
        refines="aezsl",
        pool=True,
    ),
    Entry("aezsl_sim", "AEZSL_sim", "aezsl.aezsl:AEZSLSim", "statistics", large_scale=True),
    Entry("aezsl_t", "AEZSL_T", "propagation.aezsl_t:AEZSLT", "statistics", "aezsl", or_refines="eszsl", pool=True),
    Entry("amp", "AMP", "amp:AMP"),
    Entry("conse", "ConSE", "conse:ConSE"),
    Entry("cosine", "cosine of a pair", "paired:Cosine", "statistics", paired=True),
    Entry("costa", "COSTA", "costa:COSTA"),
    Entry("daezsl", "DAEZSL", "daezsl.daezsl:DAEZSL", "epochs", large_scale=True),
    Entry("dap", "DAP", "dap:DAP"),
    Entry("devise", "DeViSE", "devise:DeViSE"),
    Entry("eszsl", "ESZSL", "eszsl:ESZSL", "statistics", large_scale=True),
    Entry("eszsl_lr", "ESZSL_LR", "refinement.aezsl_lr:ESZSLLR", "statistics", refines="eszsl", pool=True),
    Entry("eszsl_net", "ESZSL (network)", "daezsl.eszsl_net:ESZSLNet", "epochs", large_scale=True),
    Entry("eszsl_t", "ESZSL_T", "propagation.aezsl_t:ESZSLT", "statistics", refines="eszsl", pool=True),
    Entry("exem", "EXEM", "exem:EXEM", "blocks"),
    Entry("iap", "IAP", "iap:IAP"),
    Entry("jeac", "Shojaee and Baghshah", "jeac:JEaC", "statistics", pool=True),
    Entry("jlse", "JLSE", "jlse:JLSE"),
    Entry("latem", "LatEm", "latem:LatEm"),
    Entry("lrl", "Li et al. 2015", "lrl:LRL", pool=True),
    Entry("max_margin", "Li and Guo", "max_margin:MaxMargin", pool=True),
    Entry("ridge", "Shigeto et al.", "ridge:Ridge", "statistics"),
    Entry("rkt", "RKT", "rkt:RKT", "statistics"),
    Entry("secml", "SECML", "secml:SECML"),
    Entry("sje", "SJE", "sje:SJE"),
    Entry("sms", "SMS", "sms:SMS", "statistics", pool=True),
    Entry("sse", "SSE", "sse:SSE"),
    Entry("stata", "StatA", "stata:StatA", "statistics", refines="aezsl", pool=True),
    Entry(
        "structured_prediction",
        "Zhang and Saligrama 2016, transductive",
        "structured_prediction:StructuredPrediction",
        "statistics",
        pool=True,
    ),
    Entry("sync", "SynC", "sync:SynC"),
    Entry("transclip", "TransCLIP", "transclip:TransCLIP", "statistics", pool=True, paired=True),
    Entry("tzsar", "Xu et al.", "tzsar:TZSAR", "statistics", pool=True),
    Entry("uda", "Kodirov et al.", "uda:UDA", pool=True),
    Entry("zlap", "ZLaP", "zlap:ZLaP", "statistics", pool=True, paired=True),
)

#: Methods that learn from the classifiers of a network instead of images, and have no pipelines of their own.
_HEADS = (
    Entry("aezsl_heads", "AEZSL on heads", "heads.methods:AEZSLHeads"),
    Entry("aezsl_heads_t", "AEZSL_T on heads", "heads.folder:AEZSLHeadsT", pool=True),
    Entry("head_mapping", "mapping to heads", "heads.methods:HeadMapping"),
)

#: name -> entry.
HEADS: dict[str, Entry] = {entry.name: entry for entry in _HEADS}
METHODS: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}

#: Those that take features and semantics of any two spaces.
UNPAIRED: list[str] = [name for name, entry in METHODS.items() if not entry.paired]


#: ``zsl``: test images are of unseen classes, told apart among those. ``gzsl``: of seen and unseen ones, among both.
Setting = Literal["zsl", "gzsl"]
SETTINGS: tuple[Setting, ...] = get_args(Setting)

_GENERALIZED = "gzsl_"


def in_setting(name: str, setting: Setting) -> str:
    """What something is called in a setting: ``problem`` is ``gzsl_problem`` in the generalized one."""
    return f"{_GENERALIZED}{name}" if setting == "gzsl" else name


@dataclass(frozen=True)
class MethodRun:
    """A method in a setting. Its name is that of its pipeline, of its namespace and of the folders of its results."""

    method: str  # registered, or a variant of a registered one
    setting: Setting = "zsl"

    @classmethod
    def parse(cls, name: str) -> "MethodRun":
        """What a name such as ``gzsl_aezsl`` means."""
        plain = name.removeprefix(_GENERALIZED)
        return cls(plain, "zsl" if plain == name else "gzsl")

    @property
    def name(self) -> str:
        """Such as ``gzsl_aezsl``."""
        return in_setting(self.method, self.setting)

    @property
    def entry(self) -> Entry | None:
        """The method; None where it is not registered."""
        return METHODS.get(self.method)

    @property
    def base(self) -> "MethodRun | None":
        """The method that this one refines, in the same setting."""
        return MethodRun(self.entry.refines, self.setting) if self.entry and self.entry.refines else None


def method_class(name: str) -> type[ZeroShotClassifier]:
    """The class registered under ``name``."""
    known = METHODS | HEADS
    if name not in known:
        raise ParameterError(f"unknown method {name!r}; expected one of: {', '.join(sorted(known))}")
    return known[name].load()


def method_name(model: ZeroShotClassifier) -> str:
    """The name under which the class of a model is registered."""
    place = f"{type(model).__module__}:{type(model).__name__}".removeprefix("aezsl.methods.")
    name = next((entry.name for entry in (*_ENTRIES, *_HEADS) if entry.place == place), None)
    if name is None:
        raise ParameterError(f"{place} is not a registered method; add it to aezsl.methods.registry")
    return name


def spoken_name(model: ZeroShotClassifier) -> str:
    """The same for bars and warnings, which a class that is not registered has under its own name."""
    try:
        return method_name(model)
    except ParameterError:
        return type(model).__name__


def make_method(name: str, **params: object) -> ZeroShotClassifier:
    """An unfitted estimator of the method registered under ``name``."""
    cls = method_class(name)
    known = cls().get_params()
    if unknown := sorted(set(params) - set(known)):
        raise ParameterError(
            f"{name} has no parameter {', '.join(unknown)}; it takes: {', '.join(sorted(known)) or 'none'}"
        )
    return cls(**params)
