"""The training loaders of a Trainer: found when Lightning prepares them, read once per window."""

from dataclasses import replace
from typing import Any

from torch.utils.data import DataLoader

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.loops import LoopWraps
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.torch.batch import BatchPeek, custom_transfer, peek, samples_in
from feedwatch.hooks.torch.loader import WatchedLoader, pipeline_facts
from feedwatch.hooks.torch.queue import SampledFetches
from feedwatch.hooks.undo import Undo
from feedwatch.model.facts import BatchFacts
from feedwatch.session import FactPatch, Session


class TrainPipeline:
    def __init__(self, session: Session, marks: StepMarks) -> None:
        self._session = session
        self._marks = marks
        self._guard = Guard("reading the DataLoader", session.note)
        self._fetches = marks.fetch_side = SampledFetches(Guard("the loader's queue gauge", session.note))
        self._watches: list[WatchedLoader] = []
        self._setup = 0
        self._batch_size: int | None = None
        self._peek: BatchPeek | None = None
        self._batch: BatchFacts | None = None
        self._transfer: tuple[str | None, bool | None] = (None, None)

    def install(self, trainer: Any, loops: LoopWraps, undo: Undo) -> None:
        strategy = trainer.strategy
        original = getattr(strategy, "process_dataloader", None)
        if original is None:
            self._session.warn("this Lightning has no strategy.process_dataloader: the DataLoader is not read")
            return

        def process_dataloader(dataloader: Any) -> Any:
            processed = original(dataloader)
            if loops.in_train_setup:
                self._guard.run(self._watch, processed, loops.setups)
            return processed

        undo.set(strategy, "process_dataloader", process_dataloader)
        undo.later(self._end_watches)
        loops.on_loader_started = lambda: self._guard.run(self._epoch_begin, trainer)
        self._guard.run(self._watch_first_batch, trainer, undo)

    def samples_in(self, batch: Any) -> int | None:
        return samples_in(batch, self._batch_size)

    def read(self) -> FactPatch | None:
        """On the sink's thread."""
        if self._peek is not None and self._batch is None:
            name, non_blocking = self._transfer
            self._batch = replace(self._peek.judged(), custom_transfer=name, non_blocking=non_blocking)
            self._peek = None
        if not self._watches:
            return {"batch": self._batch}
        return {"batch": self._batch, "pipeline": pipeline_facts(self._watches, self._fetches, self._batch)}

    def _watch(self, loader: Any, setup: int) -> None:
        if setup != self._setup:  # reloaded: the loaders of the epochs before are given back now, not at the end
            self._end_watches()
            self._watches, self._setup = [], setup
        if not isinstance(loader, DataLoader):
            return
        watch = WatchedLoader(loader)
        self._watches = [*self._watches, watch]
        watch.install()
        self._batch_size = watch.settings.batch_size
        recorder, facts = self._session.recorder, watch.settings
        # Workers deliver in rounds: a window holds at least two of them.
        recorder.min_steps = max(recorder.min_steps, 2 * facts.num_workers * (facts.prefetch_factor or 1))

    def _end_watches(self) -> None:
        for watch in self._watches:
            self._guard.run(watch.end)

    def _epoch_begin(self, trainer: Any) -> None:
        """Private names of Lightning, so each may be missing; then the queue is not gauged."""
        fetcher = getattr(trainer.fit_loop, "_data_fetcher", None)
        combined = getattr(fetcher, "iterator", None)
        self._fetches.epoch_begin(list(getattr(getattr(combined, "_iterator", None), "iterators", None) or []))

    def _watch_first_batch(self, trainer: Any, undo: Undo) -> None:
        """One look at one batch as it leaves the loader; the attribute is gone before the next step."""
        strategy, kind = trainer.strategy, self._session.facts.run.device_kind
        self._transfer = custom_transfer([trainer.datamodule, trainer.lightning_module])
        original = strategy.batch_to_device

        def batch_to_device(batch: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._marks.opaque:
                undo.back(strategy, "batch_to_device")
                self._peek = self._guard.run(peek, batch, kind)
            return original(batch, *args, **kwargs)

        undo.set(strategy, "batch_to_device", batch_to_device)
