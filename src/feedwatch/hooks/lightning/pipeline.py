"""The training DataLoader of a Trainer: found when Lightning prepares it, read once per window."""

from typing import Any

from torch.utils.data import DataLoader

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.loops import LoopWraps
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.lightning.undo import Undo
from feedwatch.hooks.torch.batch_size import samples_in
from feedwatch.hooks.torch.fetch_watch import FetchWatch
from feedwatch.hooks.torch.loader_facts import LoaderWatch, pipeline_facts
from feedwatch.session import FactPatch, Session


class TrainPipeline:
    def __init__(self, session: Session, marks: StepMarks) -> None:
        self._session = session
        self._guard = Guard("reading the DataLoader", session.note)
        self._fetches = marks.fetch_side = FetchWatch()
        self._watches: list[LoaderWatch] = []
        self._batch_size: int | None = None

    def install(self, trainer: Any, loops: LoopWraps, undo: Undo) -> None:
        strategy = trainer.strategy
        original = getattr(strategy, "process_dataloader", None)
        if original is None:
            self._session.warn("this Lightning has no strategy.process_dataloader: the DataLoader is not read")
            return

        def process_dataloader(dataloader: Any) -> Any:
            processed = original(dataloader)
            if loops.in_train_setup:
                self._guard.run(self._watch, processed, undo)
            return processed

        undo.set(strategy, "process_dataloader", process_dataloader)

    def samples_in(self, batch: Any) -> int | None:
        return samples_in(batch, self._batch_size)

    def read(self) -> FactPatch | None:
        """On the sink's thread."""
        if not self._watches:
            return None
        return {"pipeline": pipeline_facts(self._watches, self._fetches)}

    def _watch(self, loader: Any, undo: Undo) -> None:
        if not isinstance(loader, DataLoader):
            return
        watch = LoaderWatch(loader)
        undo.later(watch.end)
        self._watches = [each for each in self._watches if each.loader is not loader and not each.ended]
        self._watches.append(watch)
        self._batch_size = watch.settings.batch_size
        recorder, facts = self._session.recorder, watch.settings
        # Workers deliver in rounds: a window holds at least two of them.
        recorder.min_steps = max(recorder.min_steps, 2 * facts.num_workers * (facts.prefetch_factor or 1))
