"""Which kind of data `fit` was given, and what can be read of it."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from feedwatch.hooks.keras.facts import batch_facts
from feedwatch.hooks.keras.python_iterator import PythonFetches
from feedwatch.hooks.python_code import changes_between_epochs
from feedwatch.hooks.streams import read_stream, shown_stream
from feedwatch.model.facts import BatchFacts
from feedwatch.model.pipeline import PipelineFacts, PyDatasetFacts
from feedwatch.session import FactPatch, Session

_KINDS: Final = {
    "TFDatasetAdapter": "tf.data",
    "ArrayDataAdapter": "arrays",
    "GeneratorDataAdapter": "generator",
    "PyDatasetAdapter": "pydataset",
    "TorchDataLoaderAdapter": "dataloader",
    "GrainDatasetAdapter": "grain",
}

STARTED_BEFORE: Final = (
    "the DataLoader's workers: Keras started them before fit's first hook and persistent_workers keeps them, so their"
    " own times are not measured"
)


class PipelineReader:
    """`read` runs on the sink's thread, once per window. Everything else runs on the training thread."""

    def __init__(self, epoch_iterator: Any, backend: str, fetches: PythonFetches | None, session: Session) -> None:
        """`fetches`: where Python fetches, on torch and JAX."""
        adapter = epoch_iterator.data_adapter
        self._live: weakref.ref[Any] | None = weakref.ref(adapter)
        self._adapter_name = type(adapter).__name__
        self._kind = _KINDS.get(self._adapter_name, "unknown")
        self._backend = backend
        self._fetches = fetches
        self._batch: BatchFacts | None = None
        self._tf = _tf_pipeline(epoch_iterator, adapter, self._kind, backend, session.note)
        enqueuer = getattr(adapter, "enqueuer", None)
        self._gauge = None if enqueuer is None else QueueGauge(enqueuer)
        self._loaders = _loaders(getattr(adapter, "_dataloader", None), fetches, session)
        self._stream = read_stream(adapter._dataset) if self._kind == "grain" else None
        if fetches is not None:
            fetches.on_first_batch = self._first_batch

    @property
    def _adapter(self) -> Any | None:
        """Held weakly: after an error nobody but the traceback may hold the user's data."""
        return None if self._live is None else self._live()

    def iterator(self, iterator: Any) -> None:
        """Keras has made a new one."""
        if self._loaders is not None and self._backend == "torch":
            self._loaders.fetches.epoch_begin([iterator])
        # On the other backends Keras hides tf.data's iterator in a generator: there is no model to read.
        if self._tf is not None and self._backend == "tensorflow":
            self._tf.iterator(iterator)

    def look(self) -> None:
        """With every hand-over."""
        if self._gauge is not None:
            self._gauge.look()
        if self._tf is not None and self._backend == "tensorflow":
            self._tf.early_look()

    def samples_per_batch(self) -> int | None:
        """Of a full batch, where Python does not see the batches."""
        if self._kind == "arrays":
            size = getattr(self._adapter, "batch_size", None)
            return None if size is None else int(size)
        return None if self._tf is None else self._tf.batch_size()

    def read(self) -> FactPatch | None:
        adapter = self._adapter  # taken once: fit may end, and call `close`, while this reads
        if adapter is None:
            return None
        if self._loaders is not None:
            found = self._loaders.read()
            return {**found, "batch": found["batch"] or self._batch}
        facts = None if self._tf is None else self._tf.read()
        if facts is None:
            because = self._unknown_because()
            facts = PipelineFacts(self._kind, unknown_because=because, opaque=because and self._adapter_name)
        if facts.load_ms is None and self._gauge is None and self._fetches is not None:
            fetch_ms = self._fetches.mean_ms()
            facts = replace(facts, load_ms=fetch_ms, lanes=None if fetch_ms is None else 1.0)
        batch = self._batch or self._batch_spec()
        if self._stream is not None:
            facts = replace(facts, kind=self._kind, stream=self._stream, settings=shown_stream(self._stream))
        if self._kind == "pydataset":
            gauge = self._gauge
            batch = batch or (None if gauge is None else gauge.batch)
            seen = self._pydataset(adapter, facts, batch)
            facts = replace(facts, pydataset=seen, settings=_pydataset_settings(adapter))
        return {"pipeline": facts, "batch": batch}

    def end(self) -> None:
        """Fit is over: nothing of the user's is kept or left changed."""
        self._live = self._gauge = None
        if self._loaders is not None:
            self._loaders.end()

    def _first_batch(self, batch: Any) -> None:
        if self._loaders is not None:
            self._loaders.look_at(batch)
        self._batch = batch_facts(batch)

    def _batch_spec(self) -> BatchFacts | None:
        """From the dataset's element spec, where Python does not see the batches."""
        spec = None if self._tf is None or self._backend != "tensorflow" else self._tf.element_spec()
        return None if spec is None else batch_facts(spec, self._tf.batch_size())

    def _sample_bytes(self) -> int | None:
        """A spec whose first dimension is open describes one sample."""
        spec = None if self._tf is None or self._backend != "tensorflow" else self._tf.element_spec()
        one = None if spec is None else batch_facts(spec, 1)
        return None if one is None else one.size_bytes

    def _unknown_because(self) -> str | None:
        if self._kind == "unknown":
            return f"feedwatch does not know {self._adapter_name}"
        return None

    def _pydataset(self, adapter: Any, facts: PipelineFacts, batch: BatchFacts | None) -> PyDatasetFacts | None:
        dataset = getattr(adapter, "py_dataset", None)
        if dataset is None:
            return None
        gauge = self._gauge
        return PyDatasetFacts(
            class_name=type(dataset).__name__,
            workers=int(dataset.workers),
            use_multiprocessing=bool(dataset.use_multiprocessing),
            max_queue_size=int(dataset.max_queue_size),
            ready_share=None if gauge is None else gauge.ready_share,
            item_ms=None if gauge is not None else facts.load_ms,
            random=_items_change(dataset),
            batch_bytes=None if batch is None else batch.size_bytes,
            sample_bytes=self._sample_bytes(),
        )


def _items_change(dataset: Any) -> bool | None:
    """From epoch to epoch. An on_epoch_end of the user's is there to move or change them."""
    keras_own = next((kind for kind in type(dataset).__mro__ if kind.__name__ == "PyDataset"), None)
    if type(dataset).on_epoch_end is not getattr(keras_own, "on_epoch_end", None):
        return True
    return changes_between_epochs(dataset.__getitem__)


def _pydataset_settings(adapter: Any) -> dict[str, str | int | float | bool | None]:
    dataset = getattr(adapter, "py_dataset", None)
    if dataset is None:
        return {}
    return {
        "workers": int(dataset.workers),
        "use_multiprocessing": bool(dataset.use_multiprocessing),
        "max_queue_size": int(dataset.max_queue_size),
    }


def _tf_pipeline(epoch_iterator: Any, adapter: Any, kind: str, backend: str, say: Callable[[str], None]) -> Any:
    """tf.data facts: of a dataset of the user's on any backend, of what Keras itself builds on TensorFlow only."""
    if kind != "tf.data" and backend != "tensorflow":
        return None
    dataset = adapter._dataset if kind == "tf.data" else epoch_iterator._distributed_dataset
    import tensorflow as tf

    if not isinstance(dataset, tf.data.Dataset):
        return None
    from feedwatch.hooks.tf_data.facts import TfPipeline

    return TfPipeline(kind, dataset, keras_prefetch=kind in ("arrays", "generator", "pydataset"), say=say)


def _loaders(loader: Any, fetches: PythonFetches | None, session: Session) -> Any:
    """A DataLoader's workers and queue are read as every torch hook reads them."""
    if loader is None:
        return None
    from feedwatch.hooks.torch.loader import TrainLoaders

    loaders = TrainLoaders(session)
    loaders.see(loader)
    if getattr(loader, "_iterator", None) is not None:
        session.note(STARTED_BEFORE)
    if fetches is not None:
        fetches.closer = loaders.fetches
    return loaders


class QueueGauge:
    """How often a PyDataset's workers had a batch ready. Counts what is finished, not what is queued."""

    def __init__(self, enqueuer: Any) -> None:
        self._enqueuer: weakref.ref[Any] = weakref.ref(enqueuer)
        self._looks = 0
        self._found_ready = 0
        self.batch: BatchFacts | None = None  # the first that was seen ready

    def look(self) -> None:
        """Keras queues results that may still be in the making: only those that are ready are batches."""
        enqueuer = self._enqueuer()
        if enqueuer is None:
            return
        try:
            waiting = list(enqueuer.future_queue.queue)
        except RuntimeError:  # a worker changed the queue while we looked: the next look will do
            return
        ready = [result for result in waiting if hasattr(result, "ready") and result.ready()]
        self._looks += 1
        self._found_ready += bool(ready) or not enqueuer.ready_queue.empty()
        if self.batch is None and ready and ready[0].successful():
            self.batch = batch_facts(ready[0].get())

    @property
    def ready_share(self) -> float | None:
        return self._found_ready / self._looks if self._looks else None
