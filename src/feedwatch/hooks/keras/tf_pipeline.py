"""A tf.data pipeline into facts: the walk once, tf.data's model once per window."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import tensorflow as tf

from feedwatch.hooks.keras.batch_facts import batch_facts
from feedwatch.hooks.keras.graph_walk import graph_walk, safe_to_walk
from feedwatch.hooks.keras.pipeline_size import epoch_bytes
from feedwatch.hooks.keras.pipeline_walk import Walk, batch_size, file_count, from_memory, walk
from feedwatch.hooks.keras.stage_model import Joined, Model, join, read_model, works_ahead
from feedwatch.hooks.keras.stage_table import load, table
from feedwatch.model.facts import BatchFacts
from feedwatch.model.pipeline import PipelineFacts, TfDataFacts

# The drains of the first seconds: after these the windows' own looks are enough.
EARLY_LOOKS: Final = 3
# From here on the newest look is the best one; with shorter epochs it is the latest in its epoch.
SETTLED_BATCHES: Final = 50

NO_MODEL = "stage times: tf.data's autotuning is switched off for this pipeline, so it keeps no model of it"

SEVERAL_DEVICES = "stage times: tf.data keeps its model per device, and this run feeds several"


class TfPipeline:
    """Read on the sink's thread. Holds the user's dataset and iterator weakly: fit decides how long they live."""

    def __init__(self, kind: str, dataset: Any, *, keras_prefetch: bool, say: Callable[[str], None]) -> None:
        self._kind = kind
        self._dataset: weakref.ref[Any] = weakref.ref(dataset)
        self._keras_prefetch = keras_prefetch
        self._say = say
        self._walk: Walk | None = None
        self._facts: TfDataFacts | None = None
        self._live: weakref.ref[Any] | None = None
        self._joined: tuple[Joined, ...] | None = None  # from the last look at tf.data's model
        self._early_models: list[Model] = []
        self._early_looks = self._seen_batches = 0

    def iterator(self, iterator: Any) -> None:
        """The iterator that Keras reads from now (a new one every epoch)."""
        if self._joined is None and self._live is not None:
            self._look()  # a run shorter than a window: the old iterator is about to go
        self._live = weakref.ref(iterator)

    def early_look(self) -> None:
        """A run of a second or two has no window before its iterator is at its end and has let go of its readers: the
        first drains keep tf.data's figures (0.4 ms each, on the training thread) for the sink's thread to join.
        """
        if self._early_looks >= EARLY_LOOKS:
            return
        self._early_looks += 1
        model = self._model()
        if model is not None:
            self._early_models.append(model)

    def batch_size(self) -> int | None:
        dataset = self._dataset()
        return None if dataset is None else batch_size(dataset)

    def batch(self) -> BatchFacts | None:
        """From the element's spec; on the training thread, in microseconds."""
        dataset = self._dataset()
        return None if dataset is None else batch_facts(dataset.element_spec, batch_size(dataset))

    def read(self) -> PipelineFacts | None:
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
            settings=self._settings(),
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
        """Than the look that is kept. An iterator at its end has let go of its inner ones; one at its beginning has
        times of a few elements, and AUTOTUNE has not settled.
        """
        assert self._joined is not None
        settled = model.batches >= min(self._seen_batches, SETTLED_BATCHES)
        return settled and _timed(joined) >= _timed(self._joined)

    def _begin(self) -> None:
        dataset = self._dataset()
        found = None if dataset is None else walk(dataset)
        if dataset is not None and found is None:
            found = graph_walk(dataset) if safe_to_walk(self._model()) else None
        if dataset is None or found is None or not found.stages:
            return
        self._walk = found
        options = dataset.options()
        batches = [stage.batch_size for stage in found.stages if stage.batch_size]
        keras_map = len(found.functions) > 1 and found.functions[-2]
        by_keras = bool(keras_map and keras_map.framework)  # class_weight: Keras appends a map and a prefetch
        self._facts = TfDataFacts(
            stages=found.stages,
            autotune=options.autotune.enabled is not False,
            deterministic=options.deterministic,
            elements_per_batch=batches[-1] if batches else None,
            cardinality=_cardinality(dataset),
            epoch_bytes=epoch_bytes(found) if found.datasets else None,
            from_memory=from_memory(found) if found.datasets else False,
            file_count=file_count(found) if found.datasets else None,
            keras_prefetch=self._keras_prefetch or by_keras,
        )
        # The dataset objects have been read; keeping them would keep the user's tensors alive.
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

    def _settings(self) -> dict[str, str | int | float | bool | None]:
        facts = self._facts
        if facts is None:
            return {}
        return {
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
