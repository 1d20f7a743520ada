"""A tf.data pipeline as facts: the walk is done once, tf.data's own model is read once per window.

Also what a person reads of it: time per batch of each stage, the bottleneck, and what the pipeline needs per batch.
"""

import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import tensorflow as tf

from feedwatch.hooks.tf_data.first_op import may_run_ops
from feedwatch.hooks.tf_data.model import Joined, Model, join, read_model, works_ahead
from feedwatch.hooks.tf_data.names import DECOUPLING
from feedwatch.hooks.tf_data.walk import Walk, batch_size, endless, epoch_bytes, file_count, from_memory, service, walk
from feedwatch.model.pipeline import PipelineFacts, Stage, TfDataFacts, TfStage

# Early looks happen in the first seconds. Later the look of each window is enough.
EARLY_LOOKS: Final = 3
# After so many batches AUTOTUNE has settled and the newest look is the best one.
SETTLED_BATCHES: Final = 50

NO_MODEL: Final = "stage times: tf.data's autotuning is switched off for this pipeline, so it keeps no model of it"

SEVERAL_DEVICES: Final = "stage times: tf.data keeps its model per device, and this run feeds several"


class TfPipeline:
    """`read` runs on the sink's thread. The user's dataset and iterator are held weakly: fit decides how long they
    live.
    """

    def __init__(self, kind: str, dataset: Any, *, keras_prefetch: bool, say: Callable[[str], None]) -> None:
        """`say`: told once what cannot be known, and why."""
        self._kind = kind
        self._dataset: weakref.ref[Any] = weakref.ref(dataset)
        self._keras_prefetch = keras_prefetch
        self._say = say
        self._walk: Walk | None = None
        self._facts: TfDataFacts | None = None
        self._live: weakref.ref[Any] | None = None
        self._joined: tuple[Joined, ...] | None = None  # from the best look at tf.data's model so far
        self._early_models: list[Model] = []
        self._early_looks = self._seen_batches = 0

    def iterator(self, iterator: Any) -> None:
        """The iterator that Keras reads from now on; Keras makes a new one for every epoch."""
        if self._joined is None and self._live is not None:
            self._look()  # the run is shorter than a window, and the old iterator is about to be freed
        self._live = weakref.ref(iterator)

    def early_look(self) -> None:
        """Keep tf.data's figures for the sink's thread. 0.4 ms each, on the training thread.

        A run of a second or two has no window before its iterator reaches the end of the data, and an iterator at its
        end has freed its inner iterators with their figures.
        """
        if self._early_looks >= EARLY_LOOKS:
            return
        self._early_looks += 1
        model = self._model()
        if model is not None:
            self._early_models.append(model)

    def element_spec(self) -> Any | None:
        dataset = self._dataset()
        return None if dataset is None else dataset.element_spec

    def batch_size(self) -> int | None:
        dataset = self._dataset()
        return None if dataset is None else batch_size(dataset)

    def read(self) -> PipelineFacts:
        if may_run_ops():
            self._look()
        if self._facts is None or self._walk is None:
            return PipelineFacts(self._kind, unknown_because="the pipeline's stages cannot be seen")
        joined = self._joined or tuple((stage, None) for stage in self._walk.stages)
        needed = load(joined)
        return PipelineFacts(
            self._kind,
            tf_data=self._facts,
            load_ms=needed.load_ms,
            lanes=needed.lanes,
            stages=table(joined),
            settings=_settings(self._facts),
        )

    def _look(self) -> None:
        if self._facts is None:
            self._begin()
        early, self._early_models = self._early_models, []
        for model in (*early, self._model()):
            if model is not None:
                self._take(model)

    def _take(self, model: Model) -> None:
        if self._facts is None or self._walk is None:
            return
        joined = join(self._walk.stages, model)
        if self._joined is not None and not self._knows_more(joined, model):
            return
        self._joined, self._seen_batches = joined, model.batches
        self._facts = replace(
            self._facts,
            stages=tuple(stage for stage, _ in self._joined),
            cpu_budget=model.cpu_budget,
            works_ahead=works_ahead(model),
        )

    def _knows_more(self, joined: tuple[Joined, ...], model: Model) -> bool:
        """Whether this look is better than the one that is kept. At its end an iterator has freed its inner iterators;
        at its beginning it has timed only a few elements, and AUTOTUNE has not settled.
        """
        assert self._joined is not None
        settled = model.batches >= min(self._seen_batches, SETTLED_BATCHES)
        return settled and _timed(joined) >= _timed(self._joined)

    def _begin(self) -> None:
        dataset = self._dataset()
        found = None if dataset is None else walk(dataset)
        if dataset is None or found is None or not found.stages:
            return
        options = dataset.options()
        batches = [stage.batch_size for stage in found.stages if stage.batch_size]
        # For class_weight Keras appends a map of its own and a prefetch.
        keras_map = len(found.functions) > 1 and found.functions[-2]
        by_keras = bool(keras_map and keras_map.framework)
        found = found._replace(stages=_without_keras_calls(found.stages, self._keras_prefetch, by_keras))
        self._facts = TfDataFacts(
            stages=found.stages,
            autotune=options.autotune.enabled is not False,
            deterministic=options.deterministic,
            elements_per_batch=batches[-1] if batches else None,
            cardinality=_cardinality(dataset),
            epoch_bytes=epoch_bytes(found),
            from_memory=from_memory(found),
            file_count=file_count(found),
            endless=endless(found),
            service=service(found),
            keras_prefetch=self._keras_prefetch or by_keras,
        )
        # Without the dataset objects: keeping them would keep the user's tensors alive.
        self._walk = found._replace(datasets=(), functions=())

    def _model(self) -> Model | None:
        live = None if self._live is None else self._live()
        reader = getattr(tf.data.experimental, "get_model_proto", None)
        if live is None or reader is None:
            return None
        if not isinstance(live, tf.data.Iterator):
            self._say(SEVERAL_DEVICES)
            return None
        try:
            return read_model(reader(live))
        except tf.errors.NotFoundError:
            self._say(NO_MODEL)
            return None


def _without_keras_calls(stages: tuple[TfStage, ...], all_by_keras: bool, last_by_keras: bool) -> tuple[TfStage, ...]:
    """What Keras built, no line of the user's made."""
    users = 0 if all_by_keras else len(stages) - 2 if last_by_keras else len(stages)
    return (*stages[:users], *(replace(stage, call_site=None) for stage in stages[users:]))


def _settings(facts: TfDataFacts) -> dict[str, str | int | float | bool | None]:
    shown = {} if facts.service is None else {"service": facts.service}
    return {
        **shown,
        "autotune": facts.autotune,
        "deterministic": facts.deterministic,
        "batch_size": facts.elements_per_batch,
        "batches_per_epoch": facts.cardinality,
        "files": facts.file_count,
        "cpu_budget": facts.cpu_budget,
    }


def _timed(joined: tuple[Joined, ...]) -> int:
    return sum(stage.ms_per_batch is not None for stage, _ in joined)


def _cardinality(dataset: Any) -> int | None:
    try:
        count = int(dataset.cardinality())
    except Exception:
        return None
    return count if count >= 0 else None


# -- what a person reads -------------------------------------------------------------------------


class Load(NamedTuple):
    load_ms: float | None  # one batch on one lane: all stages added up
    lanes: float | None  # the pipeline can hand out a batch every load_ms / lanes


def table(joined: Sequence[Joined]) -> tuple[Stage, ...]:
    times_ms = [stage.ms_per_batch for stage, _ in joined]
    total_ms = sum(time_ms for time_ms in times_ms if time_ms is not None)
    slowest = max((lane_ms(stage) for stage, _ in joined), default=0.0)
    return tuple(
        Stage(
            name=stage.op,
            detail=_detail(stage),
            ms_per_batch=stage.ms_per_batch,
            parallelism=stage.parallelism_now,
            tunable=stage.tunable,
            buffer=_filled(stage, None if model is None else model.buffer_size),
            share=None if stage.ms_per_batch is None or total_ms <= 0 else stage.ms_per_batch / total_ms,
            bottleneck=slowest > 0 and lane_ms(stage) == slowest,
        )
        for stage, model in joined
    )


def load(joined: Sequence[Joined]) -> Load:
    """A decoupling stage splits the pipeline: the stages of one segment run one after the other, and the segments
    overlap. The slowest segment sets the pace.
    """
    timed = [stage.ms_per_batch for stage, _ in joined if stage.ms_per_batch is not None]
    if not timed or sum(timed) <= 0:
        return Load(None, None)
    pace_ms = segment_ms = 0.0
    for stage, model in joined:
        op = stage.op if model is None else model.op
        if op in DECOUPLING:
            pace_ms = max(pace_ms, segment_ms, lane_ms(stage))
            segment_ms = 0.0
        else:
            segment_ms += stage.ms_per_batch or 0.0
    pace_ms = max(pace_ms, segment_ms)
    return Load(sum(timed), max(1.0, sum(timed) / pace_ms) if pace_ms > 0 else 1.0)


def lane_ms(stage: TfStage) -> float:
    return (stage.ms_per_batch or 0.0) / max(1, stage.parallelism_now or 1)


def _detail(stage: TfStage) -> str:
    if stage.function is None:
        return stage.source or ""
    return stage.function if stage.source is None else f"{stage.function} ({stage.source})"


def _filled(stage: TfStage, size_now: int | None) -> float | None:
    size = size_now if size_now is not None else stage.buffer_size
    if stage.op not in ("Prefetch", "Shuffle") or stage.buffered is None or size is None or size <= 0:
        return None
    return min(1.0, stage.buffered / size)
