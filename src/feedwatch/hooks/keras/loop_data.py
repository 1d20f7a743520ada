"""What is read of the data in a loop of one's own: a tf.data pipeline, a DataLoader, or only a name."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from feedwatch.hooks.keras.facts import batch_facts, leading_size
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.streams import read_stream, stream_facts
from feedwatch.hooks.walks import CloserLook, DeviceSide, Looks
from feedwatch.model.facts import BatchFacts
from feedwatch.model.pipeline import PipelineFacts
from feedwatch.session import FactPatch

if TYPE_CHECKING:
    from feedwatch.hooks.tf_data.facts import TfPipeline
    from feedwatch.hooks.torch.loader import TrainLoaders

# Where wrappers keep what they iterate: tf.data's NumpyIterator, tqdm, a watch of ours.
INSIDE: Final = ("_dataset", "iterable", "_iterable", "_batches_of")
MAX_DEPTH: Final = 8


class LoopData(Looks):
    def __init__(
        self, run: WatchedRun, loaders: "TrainLoaders | None" = None, device: DeviceSide | None = None
    ) -> None:
        """`loaders`: of a run on torch, which reads them by itself."""
        self.device = device
        self._run = run
        self._tf: TfPipeline | None = None
        self._dataset_id: int | None = None
        self._loaders = loaders if loaders is not None or "torch" not in sys.modules else _loaders_of(run)
        self._other: PipelineFacts | None = None  # neither tf.data nor something that torch's readers know
        self._batch: BatchFacts | None = None
        run.on_hand_over.append(self._early_look)
        run.session.each_window("the pipeline reader", self._read)

    def at_loader(self, loader: Any) -> None:
        dataset = tf_dataset_in(loader)
        if dataset is not None:
            self._see_tf_data(dataset)
        elif self._loaders is not None:
            self._loaders.see(loader)
        else:
            self._other = _named(loader)

    def at_iterator(self, batches: Any) -> None:
        if self._tf is not None:
            self._tf.iterator(getattr(batches, "_iterator", batches))  # a NumpyIterator keeps tf.data's own
        elif self._loaders is not None:
            self._loaders.fetches.epoch_begin([batches])
            self.next_look = 1  # the first fetch also starts the loader

    def samples(self, batch: Any) -> int | None:
        return leading_size(batch)

    def at_first(self, batch: Any) -> None:
        if self._tf is None and self._loaders is not None:
            self._loaders.look_at(batch)
        self._batch = self._batch or batch_facts(batch)

    def closer(self, steps: int) -> CloserLook | None:
        from feedwatch.hooks.torch.loop import SAMPLE_EVERY

        self.next_look = steps + SAMPLE_EVERY
        return None if self._loaders is None else self._loaders.fetches

    def _see_tf_data(self, dataset: Any) -> None:
        from feedwatch.hooks.tf_data.facts import TfPipeline

        if self._dataset_id != id(dataset):
            self._dataset_id = id(dataset)
            self._tf = TfPipeline("tf.data", dataset, keras_prefetch=False, say=self._run.session.note)

    def _early_look(self) -> None:
        if self._tf is not None:
            self._tf.early_look()

    def _read(self) -> FactPatch:
        """On the sink's thread, after the loaders' own reader."""
        facts = self._run.session.facts
        batch = facts.batch or self._batch
        if self._tf is None:
            return {"batch": batch} if self._other is None else {"batch": batch, "pipeline": self._other}
        size = self._tf.batch_size() or facts.run.batch_size
        return {"batch": batch, "pipeline": self._tf.read(), "run": replace(facts.run, batch_size=size)}


def tf_dataset_in(thing: Any) -> Any | None:
    """The tf.data pipeline that something iterates. Only attributes are read: a property may do anything."""
    tensorflow: Any = sys.modules.get("tensorflow")
    for _ in range(MAX_DEPTH if tensorflow is not None else 0):
        if isinstance(thing, tensorflow.data.Dataset):
            return thing
        attributes = getattr(thing, "__dict__", {})
        thing = next((attributes[name] for name in INSIDE if name in attributes), None)
    return None


def _loaders_of(run: WatchedRun) -> "TrainLoaders":
    """A DataLoader may feed a model on any backend."""
    from feedwatch.hooks.torch.loader import TrainLoaders

    loaders = TrainLoaders(run.session)
    run.undo.later(loaders.end)
    run.session.each_window("the loader's figures", loaders.read)
    return loaders


def _named(loader: Any) -> PipelineFacts:
    stream = read_stream(loader)
    if stream is None:
        return PipelineFacts("iterable", opaque=f"{type(loader).__name__}: what it does is not seen")
    return stream_facts(stream)
