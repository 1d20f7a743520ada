"""Which kind of data `fit` was given, and who can tell about it."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from feedwatch.hooks.keras.queue_gauge import QueueGauge
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
    """`read` runs on the sink's thread, once per window; everything else when fit makes an iterator."""

    def __init__(
        self,
        epoch_iterator: Any,
        backend: str,
        fetch_ms: Callable[[], float | None],
        say: Callable[[str], None],
    ) -> None:
        """`fetch_ms`: mean of a fetch that makes its batch itself, nothing running ahead."""
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
        """Weakly held: after an error nobody but the traceback may hold the user's data."""
        return None if self._live is None else self._live()

    def iterator(self, iterator: Any) -> None:
        # Elsewhere Keras hides tf.data's iterator in a generator, and there is no model to read.
        if self._tf is not None and self._backend == "tensorflow":
            self._tf.iterator(iterator)

    def look(self) -> None:
        """On the training thread, with every drain."""
        if self._gauge is not None:
            self._gauge.look()
        if self._tf is not None and self._backend == "tensorflow":
            self._tf.early_look()

    def samples_per_batch(self) -> int | None:
        """Of a full batch, where the batches themselves are not seen by Python."""
        if self._kind == "arrays":
            size = getattr(self._adapter, "batch_size", None)
            return None if size is None else int(size)
        return None if self._tf is None else self._tf.batch_size()

    def batch(self) -> BatchFacts | None:
        return None if self._tf is None else self._tf.batch()

    def read(self) -> dict[str, PipelineFacts] | None:
        adapter = self._adapter  # taken once: fit may end, and `close` with it, while this reads
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
        """Settings, and what a fetch takes: without workers that is the load; with them the figure is theirs."""
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
    """tf.data facts: for a dataset of the user's on any backend; for what Keras itself builds, on TensorFlow only."""
    if kind != "tf.data" and backend != "tensorflow":
        return None
    dataset = adapter._dataset if kind == "tf.data" else epoch_iterator._distributed_dataset
    import tensorflow as tf

    if not isinstance(dataset, tf.data.Dataset):
        return None
    from feedwatch.hooks.keras.tf_pipeline import TfPipeline

    return TfPipeline(kind, dataset, keras_prefetch=kind in ("arrays", "generator", "pydataset"), say=say)
