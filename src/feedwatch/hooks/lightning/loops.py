"""The loop's joints that have no name of their own: validation, `iter(loader)`, the epoch."""

from collections.abc import Callable
from typing import Any

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.categories import LOADER_START, VALIDATION
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.undo import Undo, wrap

Around = tuple[Callable[[], None], Callable[[], None]]  # enter, leave


class LoopWraps:
    def __init__(self, marks: StepMarks, guard: Guard, missing: Callable[[str], None]) -> None:
        self._marks = marks
        self._guard = guard
        self._missing = missing
        self.setups = 0
        self.in_train_setup = False  # a loader that passes now is the training one
        self.before_break: Callable[[], object] = lambda: None  # validation, or the end of an epoch
        self.on_loader_started: Callable[[], object] = lambda: None

    def install(self, trainer: Any, undo: Undo) -> None:
        fit = trainer.fit_loop
        epoch = getattr(fit, "epoch_loop", None)
        if epoch is None:
            self._missing("fit_loop.epoch_loop")
            return
        self._wrap(undo, getattr(epoch, "val_loop", None), "val_loop.run", self._validation())
        # iter(fetcher): in `setup_data` for the first epoch and on reload, in `on_run_start` for later ones
        self._wrap(undo, epoch, "epoch_loop.on_run_start", self._start())
        self._wrap(undo, fit, "fit_loop.setup_data", self._setup())
        self._wrap(undo, epoch, "epoch_loop.run", self._epoch(trainer))

    def _wrap(self, undo: Undo, owner: Any, shown: str, around: Around) -> None:
        name = shown.rpartition(".")[2]
        if not callable(getattr(owner, name, None)):
            self._missing(shown)
            return
        run, (enter, leave) = self._guard.run, around
        wrap(undo, owner, name, lambda: run(enter), lambda: run(leave))

    def _validation(self) -> Around:
        def enter() -> None:
            self.before_break()
            self._marks.opaque_begin(VALIDATION)

        return enter, lambda: self._marks.opaque_end(VALIDATION)

    def _epoch(self, trainer: Any) -> Around:
        def enter() -> None:
            done = trainer.fit_loop.epoch_loop.batch_progress.total.ready
            self._marks.epoch_begin(trainer.current_epoch, done)

        def leave() -> None:
            self.before_break()
            self._marks.epoch_end()

        return enter, leave

    def _start(self) -> Around:
        def leave() -> None:
            self._marks.opaque_end(LOADER_START)
            self.on_loader_started()

        return lambda: self._marks.opaque_begin(LOADER_START), leave

    def _setup(self) -> Around:
        def enter() -> None:
            self.in_train_setup = True
            self.setups += 1
            self._marks.opaque_begin(LOADER_START)

        def leave() -> None:
            self.in_train_setup = False
            self._marks.opaque_end(LOADER_START)

        return enter, leave
