"""tf.data's own performance model of a live iterator: every stage with its time, parallelism and buffer.

The model shows the optimised pipeline, with fused and injected stages. `join` finds the user's stage for each of its
stages by position.
"""

from dataclasses import dataclass, replace
from typing import Any

from feedwatch.hooks.tf_data.names import DECOUPLING, FUSED, NESTING, PASSING, plain_name, same_kind
from feedwatch.model.pipeline import TfStage


@dataclass(frozen=True, slots=True)
class ModelStage:
    op: str
    elements: int
    ms_per_element: float | None
    ms_per_batch: float | None
    parallelism: int | None = None
    tunable: bool | None = None
    buffer_size: int | None = None
    buffered: float | None = None
    inputs_per_element: float = 1.0  # a fused map and batch takes a whole batch to make one


@dataclass(frozen=True, slots=True)
class Model:
    stages: tuple[ModelStage, ...]  # output first
    cpu_budget: int | None
    gaps_us: tuple[int, ...]
    batches: int  # handed out so far


def read_model(proto: Any) -> Model | None:
    """From a ModelProto; None while nothing has been produced."""
    root = proto.nodes.get(proto.output) if proto.output in proto.nodes else None
    if root is None or root.num_elements <= 0:
        return None
    stages: list[ModelStage] = []
    node, per_batch = root, 1.0
    while True:
        node_op = plain_name(node.name)
        following = [proto.nodes[key] for key in node.inputs if key in proto.nodes]
        nested = following[1:] if node_op in NESTING else []
        if node_op not in ("Root", "Model"):
            stages.append(_stage(proto, node, node_op, per_batch, nested))
        if not following:
            break
        produced = following[0].num_elements
        if node.ratio > 0:
            per_batch *= node.ratio
        elif node.num_elements > 0:
            per_batch *= produced / node.num_elements
        node = following[0]
    budget = int(proto.optimization_params.cpu_budget) or None
    return Model(tuple(_merge_caches(stages)), budget, tuple(proto.gap_times), root.num_elements)


def _stage(proto: Any, node: Any, op: str, per_batch: float, nested: list[Any]) -> ModelStage:
    if any(plain_name(child.name) == "FromGenerator" for child in nested):
        op = "FromGenerator"
    each_ms = _ms_per_element(proto, node, op, nested)
    values = {parameter.name: parameter for parameter in node.parameters}
    parallelism, size = values.get("parallelism"), values.get("buffer_size")
    tuned = parallelism or size
    return ModelStage(
        op=op,
        elements=int(node.num_elements),
        ms_per_element=each_ms,
        ms_per_batch=None if each_ms is None else each_ms * per_batch,
        parallelism=None if parallelism is None else max(1, round(parallelism.value)),
        tunable=None if tuned is None else bool(tuned.tunable),
        buffer_size=None if size is None else round(size.value),
        buffered=float(node.buffered_elements),
        inputs_per_element=node.ratio if op in FUSED and node.ratio > 0 else 1.0,
    )


def _ms_per_element(proto: Any, node: Any, op: str, nested: list[Any]) -> float | None:
    """Time of the stage itself and of the datasets that it opens. Inner iterators that were read to their end have left
    the model, with their time and their elements, so the mean is taken over those that are still open.
    """
    if node.num_elements <= 0 or (op in NESTING and not nested):
        return None
    own_ms: float = float(node.processing_time) / node.num_elements / 1e6
    if not nested:
        return own_ms
    elements = sum(int(child.num_elements) for child in nested)
    inner_ns = sum(_tree_ns(proto, child) for child in nested)
    return own_ms + inner_ns / elements / 1e6 if elements > 0 else None


def _tree_ns(proto: Any, node: Any) -> float:
    """A nested iterator and everything below it."""
    below = sum(_tree_ns(proto, proto.nodes[key]) for key in node.inputs if key in proto.nodes)
    return float(node.processing_time) + below


def _merge_caches(stages: list[ModelStage]) -> list[ModelStage]:
    """The model has two nodes for a cache: the dataset's and its implementation's."""
    merged: list[ModelStage] = []
    for stage in stages:
        if merged and stage.op == "Cache" == merged[-1].op:
            merged[-1] = replace(merged[-1], ms_per_batch=(merged[-1].ms_per_batch or 0) + (stage.ms_per_batch or 0))
        else:
            merged.append(stage)
    return merged


Joined = tuple[TfStage, ModelStage | None]


def join(user: tuple[TfStage, ...], model: Model) -> tuple[Joined, ...]:
    """The user's stages in the order data flows, each with the model's stage that carries its time."""
    joined: list[Joined] = [(stage, None) for stage in user]
    place = len(user) - 1
    for stage in model.stages:
        parts = FUSED.get(stage.op)
        # The model lists the output first, so of a fused stage the later call is looked for first. The earlier call
        # does the work and gets the time.
        for op in reversed(parts) if parts else (stage.op,):
            found = _find(user, place, op)
            if found is None:
                break  # injected by the optimiser
            if parts is None or op == parts[0]:
                joined[found] = (_with_figures(user[found], stage), stage)
            place = found - 1
    return tuple(joined)


def works_ahead(model: Model) -> bool:
    """The stage that hands out batches runs on a thread of its own, as written, injected or fused."""
    for stage in model.stages:
        if stage.op in DECOUPLING:
            return True
        if stage.op not in PASSING:
            return False
    return False


def _find(user: tuple[TfStage, ...], place: int, op: str) -> int | None:
    """The nearest stage of that kind. Only stages that the optimiser may have dropped are skipped."""
    while place >= 0:
        if same_kind(user[place].op, op):
            return place
        if user[place].op not in PASSING:
            return None
        place -= 1
    return None


def _with_figures(stage: TfStage, model: ModelStage) -> TfStage:
    return replace(
        stage,
        parallelism_now=model.parallelism,
        tunable=model.tunable,
        buffered=model.buffered,
        elements=round(model.elements * model.inputs_per_element),
        ms_per_element=None if model.ms_per_element is None else model.ms_per_element / model.inputs_per_element,
        ms_per_batch=model.ms_per_batch,
    )
