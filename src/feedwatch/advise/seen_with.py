"""With which frameworks a rule can be seen: everywhere, except where a fact that it needs cannot be known.

A rule names what it needs in `Rule.needs`. The table below says what cannot be known where, and why. Tests hold both
to the code: what a rule needs is found by taking facts out of the cases in which it fires, and what is known where is
found by looking for the code that writes each fact.
"""

from enum import Enum
from typing import Final, NamedTuple

from feedwatch.advise.rule import Rule


class Framework(str, Enum):
    LIGHTNING = "Lightning"
    TORCH_LOOP = "torch loop"
    KERAS_TENSORFLOW = "Keras on TensorFlow"
    KERAS_TORCH = "Keras on torch"
    KERAS_JAX = "Keras on JAX"


KERAS: Final = (Framework.KERAS_TENSORFLOW, Framework.KERAS_TORCH, Framework.KERAS_JAX)
TORCH_LOOP: Final = (Framework.TORCH_LOOP,)
TORCH: Final = (Framework.LIGHTNING, Framework.TORCH_LOOP)


class Absent(NamedTuple):
    what: tuple[str, ...]  # facts (`Class.field`), or codes of rules whose needs say less than this
    where: tuple[Framework, ...]
    why: str  # stands behind "Not with …:" on the rule's page


ABSENT: Final[tuple[Absent, ...]] = (
    Absent(
        ("PipelineFacts.tf_data", "PipelineFacts.pydataset", "FW126", "FW131"),
        TORCH,
        "torch reads from DataLoaders, not from tf.data, PyDatasets or generators",
    ),
    Absent(
        ("RunFacts.run_eagerly", "RunFacts.retraces", "RunFacts.steps_per_execution"),
        TORCH,
        "a torch model is not traced, and torch.compile does not tell when it compiles again",
    ),
    Absent(
        ("Facts.transfers", "RunFacts.other_profiler"),
        TORCH_LOOP,
        "no profiler window runs in a loop of your own, so its kernels and the kinds of its copies are not seen",
    ),
    Absent(("Facts.callbacks",), TORCH_LOOP, "a loop of your own has no callbacks that could be timed one by one"),
    Absent(("RunFacts.precision",), TORCH_LOOP, "the precision is not known before the model runs"),
    Absent(
        ("RunFacts.validations_per_epoch",),
        (*KERAS, *TORCH_LOOP),
        "there is no setting for several validations in an epoch",
    ),
    Absent(("RunFacts.synchronises",), TORCH_LOOP, "reads of device values are not watched in a loop of your own"),
    Absent(("FW311",), TORCH_LOOP, "where validation begins in a loop of your own is not known"),
    Absent(("FW202",), TORCH_LOOP, "the copy is a line of your own, and its arguments are not seen"),
    Absent(
        (
            "LoaderFacts.delivery_ms",
            "LoaderFacts.device_tensors",
            "LoaderFacts.in_memory",
            "LoaderFacts.ready_share",
            "BatchFacts.integral_floats",
            "BatchFacts.pinned",
        ),
        (Framework.KERAS_TENSORFLOW, Framework.KERAS_JAX),
        "Keras turns a DataLoader's batch into arrays of the backend before it can be looked at",
    ),
    Absent(("FW202",), KERAS, "Keras copies the batch itself, and there is no setting to change"),
    Absent(("FW201", "FW203"), (Framework.KERAS_JAX,), "JAX has no setting for how a batch is copied"),
    Absent(("FW207",), (Framework.KERAS_JAX,), "Keras makes arrays of the host's of every batch before it trains"),
    Absent(("FW209",), (Framework.KERAS_JAX,), "JAX compiles the whole step for the device"),
    Absent(("FW302",), (Framework.KERAS_TORCH,), "torch runs eagerly unless it is told to compile"),
    Absent(("FW309",), (Framework.KERAS_TORCH,), "Keras on torch trains one batch per call and knows no other way"),
    Absent(("RunFacts.local_ranks",), KERAS, "Keras does not tell how many processes share a machine"),
    Absent(
        ("RunFacts.retraces",),
        (Framework.KERAS_TORCH, Framework.KERAS_JAX),
        "only TensorFlow tells when it traces the train function again",
    ),
    Absent(
        ("RunFacts.synchronises",),
        (Framework.KERAS_TENSORFLOW,),
        "Keras itself reads the logs from the device at every step there, and no callback can avoid it",
    ),
    Absent(
        ("TfStage.ms_per_batch", "TfStage.ms_per_element", "TfStage.parallelism_now", "TfStage.elements"),
        (Framework.KERAS_TORCH, Framework.KERAS_JAX),
        "the iterator whose figures tf.data keeps is out of reach there: stages are known, their times are not",
    ),
    Absent(("FW501",), (Framework.KERAS_TORCH,), "Keras on torch does not tell its rank"),
)

# A fact of the class on the left is known only where the fact on the right is.
PART_OF: Final = {
    "HostFacts": "Facts.host",
    "BatchFacts": "Facts.batch",
    "DeviceFacts": "Facts.device",
    "Transfers": "Facts.transfers",
    "CallbackTime": "Facts.callbacks",
    "RunFacts": "Facts.run",
    "PipelineFacts": "Facts.pipeline",
    "LoaderFacts": "PipelineFacts.loader",
    "WorkerTime": "LoaderFacts.workers",
    "TfDataFacts": "PipelineFacts.tf_data",
    "TfStage": "TfDataFacts.stages",
    "PyDatasetFacts": "PipelineFacts.pydataset",
}


def seen_with(rule: Rule) -> tuple[Framework, ...]:
    return tuple(one for one in Framework if why_not(rule, one) is None)


def why_not(rule: Rule, framework: Framework) -> str | None:
    """A reason that names the rule itself comes before those of its facts."""
    needed = {part for fact in rule.needs for part in with_parts(fact)}
    for wanted in ({rule.code}, needed):
        for row in ABSENT:
            if framework in row.where and not wanted.isdisjoint(row.what):
                return row.why
    return None


def with_parts(fact: str) -> tuple[str, ...]:
    """The fact and all that it is a part of: a worker's time is unknown where there is no loader."""
    larger = PART_OF.get(fact.partition(".")[0])
    return (fact,) if larger is None else (fact, *with_parts(larger))


def seen_with_text(rule: Rule) -> str:
    """The lines on a rule's page."""
    reasons: dict[str, list[Framework]] = {}
    for one in Framework:
        why = why_not(rule, one)
        if why is not None:
            reasons.setdefault(why, []).append(one)
    lines = [f"Seen with: {_listed(seen_with(rule))}."]
    lines += [f"Not with {_listed(where)}: {why}." for why, where in reasons.items()]
    return "\n".join(lines)


def _listed(frameworks: tuple[Framework, ...] | list[Framework]) -> str:
    return ", ".join(one.value for one in frameworks)
