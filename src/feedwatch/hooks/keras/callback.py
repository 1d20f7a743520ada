"""The callback a user writes: thin, nothing alive before the first fit, one guarded mark per hook."""

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from feedwatch.errors import SettingError
from feedwatch.guard import Guard
from feedwatch.hooks.keras.marks import BEGIN, END
from feedwatch.settings import ProfileChoice, Settings, switched_off

if TYPE_CHECKING:
    from feedwatch.hooks.keras.marks import Marks
    from feedwatch.hooks.keras.watch import Watch
    from feedwatch.model.report import Report

_now_ns = time.perf_counter_ns


class FeedWatch(keras.callbacks.Callback):  # type: ignore[misc]
    """Tells at the end of `fit`, and live in TensorBoard, how long training waited for data and what to change.

        model.fit(data, callbacks=[FeedWatch("runs/a")])

    log_dir: where to write. Without it: into the run of your `TensorBoard` callback if there is one, else into a new
        directory under `runs/`.
    profile: short profiler windows that measure copies to the GPU. "auto": only where there is one.
    console: print the verdict when `fit` ends.

    After (and during) `fit`, `report` holds the latest report and `log_dir` where it was written.
    """

    # Keras gives up asynchronous dispatch for all callbacks when one overrides on_train_batch_end without this.
    async_safe = True

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        *,
        profile: ProfileChoice = "auto",
        console: bool = True,
    ) -> None:
        super().__init__()
        self._settings = Settings(profile=profile, console=console)
        self._given_dir = _checked(log_dir)
        self._off = switched_off()
        self._steps_before = 0  # batches of earlier fits, where the optimizer does not count
        self._clear()

    def _clear(self) -> None:
        self._guard = Guard("the Keras hook")
        self._watch: Watch | None = None
        self._marks: Marks | None = None  # of the watch, while its fit is the one that trains
        self._last: Watch | None = None

    @property
    def report(self) -> "Report | None":
        """The latest report, or None before the first window."""
        return None if self._last is None else self._last.report

    @property
    def log_dir(self) -> Path | None:
        """Where the figures go; without an argument it is known when `fit` begins."""
        return self._given_dir if self._last is None else self._last.log_dir

    # Copies carry the settings only: threads, files and graph resources belong to one process and one fit.
    def __getstate__(self) -> dict[str, Any]:
        gone = ("_watch", "_marks", "_last", "_guard", "_model")
        return {name: value for name, value in vars(self).items() if name not in gone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._model = None
        self._clear()

    # -- hooks -----------------------------------------------------------------------------------

    def on_train_begin(self, logs: Any = None) -> None:
        if not self._off:
            self._guard.run(self._begin)

    def on_train_end(self, logs: Any = None) -> None:
        if self._watch is not None:
            self._guard.run(self._end)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self._watch is not None:
            self._guard.run(self._epoch_begin, epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._watch is not None:
            self._guard.run(self._watch.epoch_end)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        marks = self._marks
        if marks is not None:
            # Written out: see `marks`. Nothing here can fail.
            now_ns = _now_ns()
            marks.rows.append((BEGIN, batch, now_ns))
            if now_ns >= marks.due_ns or len(marks.rows) >= marks.most:
                self._settle()
        elif self._watch is not None:
            self._guard.run(self._watch.step_begin, batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        marks = self._marks
        if marks is not None:
            marks.rows.append((END, batch, _now_ns()))
        elif self._watch is not None:
            self._guard.run(self._watch.step_end, batch)

    def on_test_begin(self, logs: Any = None) -> None:
        if self._watch is not None:
            self._guard.run(self._watch.test_begin)

    def on_test_end(self, logs: Any = None) -> None:
        if self._watch is not None:
            self._guard.run(self._watch.test_end)

    def _settle(self) -> None:
        watch = self._watch
        assert watch is not None
        if self._guard.off:
            watch.discard()
        else:
            self._guard.run(watch.settle)

    # -- one fit ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        from feedwatch.hooks.keras.fit import open_watch

        opened = open_watch(self, self._watch, self._given_dir, self._settings, self._steps_before)
        if opened is not None and opened is not self._watch:
            self._guard = Guard("the Keras hook")
            self._last = opened
        self._watch = opened
        self._choose_marks()

    def _choose_marks(self) -> None:
        watch = self._watch
        self._marks = None if watch is None or watch.nested else watch.marks

    def _epoch_begin(self, epoch: int) -> None:
        if self._watch is not None:
            self._recount(self._watch)
            self._choose_marks()
            self._watch.epoch_begin(epoch)

    def _recount(self, watch: "Watch") -> None:
        """A nested fit of the same callback that raised has left no end mark: the stack tells where we are."""
        if watch.nested:
            from feedwatch.hooks.keras.fit import fits_above

            watch.nested = max(0, len(fits_above(self)) - 1)

    def _end(self) -> None:
        watch = self._watch
        assert watch is not None
        self._recount(watch)
        if watch.finish():
            self._watch = None
            self._steps_before = watch.steps
        self._choose_marks()


def _checked(log_dir: str | os.PathLike[str] | None) -> Path | None:
    """Raises here, before the first step, when nothing could be written there."""
    if log_dir is None:
        return None
    if re.match(r"^[a-zA-Z][a-zA-Z0-9+.-]+://", os.fspath(log_dir)):
        raise SettingError(f"log_dir must be a local directory, not {os.fspath(log_dir)!r}")
    path = Path(log_dir)
    if switched_off():
        return path
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"log_dir {str(path)!r} cannot be made: {error.strerror or error}") from error
    if not os.access(path, os.W_OK):
        raise SettingError(f"log_dir {str(path)!r} is not writable")
    return path
