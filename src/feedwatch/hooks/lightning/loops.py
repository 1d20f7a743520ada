"""The loop's joints that have no name of their own: validation, `iter(loader)`, the epoch."""

from collections.abc import Callable
from typing import Any

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.categories import LOADER_START, VALIDATION
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.lightning.undo import Undo, wrap


class LoopWraps:
    def __init__(self, marks: StepMarks, guard: Guard, missing: Callable[[str], None]) -> None:
        self._marks = marks
        self._guard = guard
        self._missing = missing
        self.in_train_setup = False  # a loader that passes now is the training one

    def install(self, trainer: Any, undo: Undo) -> None:
        fit = trainer.fit_loop
        epoch = getattr(fit, "epoch_loop", None)
        if epoch is None:
            self._missing("fit_loop.epoch_loop")
            return
        self._wrap(undo, getattr(epoch, "val_loop", None), "run", "val_loop.run", *self._opaque(VALIDATION))
        # iter(fetcher): in `setup_data` for the first epoch and on reload, in `on_run_start` for later ones
        self._wrap(undo, epoch, "on_run_start", "epoch_loop.on_run_start", *self._opaque(LOADER_START))
        self._wrap(undo, fit, "setup_data", "fit_loop.setup_data", *self._setup())
        self._wrap(undo, epoch, "run", "epoch_loop.run", lambda: self._epoch_begin(trainer), self._marks.epoch_end)

    def _wrap(
        self,
        undo: Undo,
        owner: Any,
        name: str,
        shown: str,
        enter: Callable[[], None],
        leave: Callable[[], None],
    ) -> None:
        if not callable(getattr(owner, name, None)):
            self._missing(shown)
            return
        run = self._guard.run
        wrap(undo, owner, name, lambda: run(enter), lambda: run(leave))

    def _opaque(self, category: int) -> tuple[Callable[[], None], Callable[[], None]]:
        marks = self._marks
        return lambda: marks.opaque_begin(category), lambda: marks.opaque_end(category)

    def _setup(self) -> tuple[Callable[[], None], Callable[[], None]]:
        def enter() -> None:
            self.in_train_setup = True
            self._marks.opaque_begin(LOADER_START)

        def leave() -> None:
            self.in_train_setup = False
            self._marks.opaque_end(LOADER_START)

        return enter, leave

    def _epoch_begin(self, trainer: Any) -> None:
        done = trainer.fit_loop.epoch_loop.batch_progress.total.ready
        self._marks.epoch_begin(trainer.current_epoch, done)
