"""Which kind of data `fit` was given, and what can be read of it."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from feedwatch.hooks.keras.facts import batch_facts
from feedwatch.model.facts import BatchFacts
from feedwatch.model.pipeline import PipelineFacts, PyDatasetFacts

_KINDS = {
    "TFDatasetAdapter": "tf.data",
    "ArrayDataAdapter": "arrays",
    "GeneratorDataAdapter": "generator",
    "PyDatasetAdapter": "pydataset",
    "TorchDataLoaderAdapter": "dataloader",
}


class PipelineReader:
    """`read` runs on the sink's thread, once per window. Everything else runs on the training thread."""

    def __init__(
        self,
        epoch_iterator: Any,
        backend: str,
        fetch_ms: Callable[[], float | None],
        say: Callable[[str], None],
    ) -> None:
        """`fetch_ms`: mean time of a fetch so far, where Python makes the batch during the fetch."""
        adapter = epoch_iterator.data_adapter
        self._live: weakref.ref[Any] | None = weakref.ref(adapter)
        self._adapter_name = type(adapter).__name__
        self._kind = _KINDS.get(self._adapter_name, "unknown")
        self._backend = backend
        self._fetch_ms = fetch_ms
        self._tf = _tf_pipeline(epoch_iterator, adapter, self._kind, backend, say)
        enqueuer = getattr(adapter, "enqueuer", None)
        self._gauge = None if enqueuer is None else QueueGauge(enqueuer)

    @property
    def _adapter(self) -> Any | None:
        """Held weakly: after an error nobody but the traceback may hold the user's data."""
        return None if self._live is None else self._live()

    def iterator(self, iterator: Any) -> None:
        # On the other backends Keras hides tf.data's iterator in a generator: there is no model to read.
        if self._tf is not None and self._backend == "tensorflow":
            self._tf.iterator(iterator)

    def look(self) -> None:
        """On the training thread, with every drain."""
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

    def batch(self) -> BatchFacts | None:
        """From the dataset's element spec, where Python does not see the batches."""
        spec = None if self._tf is None else self._tf.element_spec()
        return None if spec is None else batch_facts(spec, self._tf.batch_size())

    def read(self) -> dict[str, PipelineFacts] | None:
        adapter = self._adapter  # taken once: fit may end, and call `close`, while this reads
        if adapter is None:
            return None
        if self._kind == "dataloader":
            return {"pipeline": self._dataloader(adapter)}
        facts = None if self._tf is None else self._tf.read()
        if facts is None:
            facts = PipelineFacts(self._kind, unknown_because=self._unknown_because())
        if facts.load_ms is None and self._gauge is None:
            fetch_ms = self._fetch_ms()
            facts = replace(facts, load_ms=fetch_ms, lanes=None if fetch_ms is None else 1.0)
        if self._kind == "pydataset":
            facts = replace(facts, pydataset=self._pydataset(adapter, facts), settings=_pydataset_settings(adapter))
        return {"pipeline": facts}

    def close(self) -> None:
        """Fit is over: nothing of the user's is kept."""
        self._live = self._gauge = None

    def _dataloader(self, adapter: Any) -> PipelineFacts:
        """Settings, and without workers what a fetch takes: then the fetch makes the batch."""
        loader = getattr(adapter, "_dataloader", None)
        if loader is None:
            return PipelineFacts("dataloader", unknown_because="Keras hides the DataLoader")
        from feedwatch.hooks.torch.loader import read_settings

        facts = read_settings(loader)
        load_ms = None if facts.num_workers else self._fetch_ms()
        return PipelineFacts(
            "dataloader",
            loader=replace(facts, load_ms=load_ms),
            load_ms=load_ms,
            lanes=float(max(1, facts.num_workers)),
            settings={
                "num_workers": facts.num_workers,
                "prefetch_factor": facts.prefetch_factor,
                "persistent_workers": facts.persistent_workers,
                "pin_memory": facts.pin_memory,
                "batch_size": facts.batch_size,
            },
        )

    def _unknown_because(self) -> str | None:
        if self._kind == "unknown":
            return f"feedwatch does not know {self._adapter_name}"
        return None

    def _pydataset(self, adapter: Any, facts: PipelineFacts) -> PyDatasetFacts | None:
        dataset = getattr(adapter, "py_dataset", None)
        if dataset is None:
            return None
        self.look()
        return PyDatasetFacts(
            class_name=type(dataset).__name__,
            workers=int(dataset.workers),
            use_multiprocessing=bool(dataset.use_multiprocessing),
            max_queue_size=int(dataset.max_queue_size),
            ready_share=None if self._gauge is None else self._gauge.ready_share,
            item_ms=None if self._gauge is not None else facts.load_ms,
        )


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


class QueueGauge:
    """How often a PyDataset's workers had a batch ready. Counts what is finished, not what is queued."""

    def __init__(self, enqueuer: Any) -> None:
        self._enqueuer: weakref.ref[Any] = weakref.ref(enqueuer)
        self._looks = 0
        self._found_ready = 0

    def look(self) -> None:
        """Keras queues results that may still be in the making: only those that are ready are batches."""
        enqueuer = self._enqueuer()
        if enqueuer is None:
            return
        try:
            waiting = list(enqueuer.future_queue.queue)
        except RuntimeError:  # a worker changed the queue while we looked: the next look will do
            return
        ready = sum(1 for result in waiting if hasattr(result, "ready") and result.ready())
        self._looks += 1
        self._found_ready += ready > 0 or not enqueuer.ready_queue.empty()

    @property
    def ready_share(self) -> float | None:
        return self._found_ready / self._looks if self._looks else None
