"""The callback a user writes: nothing is alive before the first fit, and a hook appends one mark."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from feedwatch.guard import Guard, warn_once
from feedwatch.settings import ProfileChoice, Settings, switched_off, wished_trial

if TYPE_CHECKING:
    from feedwatch.hooks.keras.watched_fit import WatchedFit
    from feedwatch.measure.marks import Marks
    from feedwatch.model.report import Report

_now_ns = time.perf_counter_ns


class FeedWatch(keras.callbacks.Callback):  # type: ignore[misc]
    """Tells at the end of `fit`, and live in TensorBoard, how long training waited for data and what to change.

        model.fit(data, callbacks=[FeedWatch("runs/a")])

    log_dir: where to write. Without it: into the run of your `TensorBoard` callback if there is one, else into a new
        directory under `runs/`.
    profile: short profiler windows that measure copies to the GPU. "auto": only where there is one.
    console: print the verdict when `fit` ends.
    progress: one line on stderr that is renewed about once a second.
    trial: True, or so many seconds: measure what changes of the input gain, and end the run. Its weights are thrown
        away (docs/trials.md).

    After (and during) `fit`, `report` holds the latest report and `log_dir` where it was written.
    """

    # Keras 2 asks its callbacks for these. It cannot be watched, and training goes on without us.
    _supports_tf_logs = True

    def _implements_train_batch_hooks(self) -> bool:
        return False

    _implements_test_batch_hooks = _implements_predict_batch_hooks = _implements_train_batch_hooks

    # Keras gives up asynchronous dispatch for all callbacks when one overrides on_train_batch_end without this.
    async_safe = True

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        *,
        profile: ProfileChoice = "auto",
        console: bool = True,
        progress: bool = False,
        trial: bool | float = False,
    ) -> None:
        super().__init__()
        self._settings = Settings(profile=profile, console=console, progress=progress, trial=wished_trial(trial))
        self._given_dir = _checked(log_dir)
        self._off = switched_off()
        self._said: set[str] = set()
        self._steps_before = 0  # batches of earlier fits, where the optimizer does not count
        self._clear()

    def _clear(self) -> None:
        self._fit: WatchedFit | None = None
        self._last: WatchedFit | None = None
        self._marks: Marks | None = None  # of the run, while its fit is the one that trains
        # Of the run too: importing them here would load what the kill switch promises not to load.
        self._begin_mark = 0
        self._end_mark: int | None = None

    @property
    def report(self) -> "Report | None":
        """The latest report, or None before the first window."""
        return None if self._last is None else self._last.report

    def _repr_html_(self) -> str:
        """What a notebook shows of it."""
        from feedwatch.report.card import render_card

        return render_card(self.report)

    @property
    def log_dir(self) -> Path | None:
        """Where the figures go; without an argument it is known when `fit` begins."""
        return self._given_dir if self._last is None else self._last.log_dir

    # Copies carry the settings only: threads, files and graph resources belong to one process and one fit.
    def __getstate__(self) -> dict[str, Any]:
        gone = ("_fit", "_last", "_marks", "_begin_mark", "_end_mark", "_model")
        return {name: value for name, value in vars(self).items() if name not in gone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._model = None
        self._clear()

    # -- hooks -----------------------------------------------------------------------------------

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        if self._settings.trial is not None and not self._off:
            Guard("the Keras hook").run(self._mute)

    def _mute(self) -> None:
        """In a trial nobody writes. Later would be too late: a CSVLogger empties its file when training begins."""
        from feedwatch.hooks.keras.trial import without_writers

        frame: Any = sys._getframe(1)
        while frame is not None:
            found = frame.f_locals.get("self")
            if isinstance(found, keras.callbacks.CallbackList) and any(each is self for each in found.callbacks):
                found.callbacks = without_writers(found.callbacks, self)
                return
            frame = frame.f_back

    def on_train_begin(self, logs: Any = None) -> None:
        if not self._off and self._can_watch():
            Guard("the Keras hook").run(self._begin)

    def on_train_end(self, logs: Any = None) -> None:
        if self._fit is not None:
            Guard("the end of the run").run(self._end)  # also where the hook was switched off

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self._fit is not None:
            self._fit.run.guard.run(self._epoch_begin, epoch)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if self._fit is not None:
            self._fit.run.guard.run(self._fit.epoch_end)

    # The hooks of a step are written out and not guarded: between two steps every cache is cold, and a function called
    # there costs ten times what it costs in a loop. A tuple appended cannot fail.

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        marks = self._marks
        if marks is not None:
            now_ns = _now_ns()
            marks.append((now_ns, self._begin_mark, batch))
            if now_ns >= marks.due_ns or len(marks.rows) >= marks.most:
                self._look(batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        marks, what = self._marks, self._end_mark
        if marks is not None and what is not None:
            marks.append((_now_ns(), what, batch))

    def on_test_begin(self, logs: Any = None) -> None:
        if self._fit is not None:
            self._fit.run.guard.run(self._fit.test_begin)
        elif self._last is None or self._last.run.closed:
            self._says_not_measured()

    def on_test_end(self, logs: Any = None) -> None:
        if self._fit is not None:
            self._fit.run.guard.run(self._fit.test_end)

    def on_predict_begin(self, logs: Any = None) -> None:
        if self._fit is None:
            self._says_not_measured()

    def _says_not_measured(self) -> None:
        if not self._off and self._can_watch():
            warn_once(self._said, "only fit is measured: evaluate and predict run as they do without FeedWatch")

    def _can_watch(self) -> bool:
        """Keras 2, as tf_keras or under its own name, has another loop."""
        kinds = type(self._model).__mro__
        if not any(kind.__module__.startswith("tf_keras.") for kind in kinds) and keras.__version__[0] != "2":
            return True
        warn_once(self._said, "Keras 2 (tf_keras) is not measured: feedwatch.keras needs Keras 3; training goes on")
        return False

    # -- one fit ---------------------------------------------------------------------------------

    def _begin(self) -> None:
        from feedwatch.hooks.keras.fit import watch_fit

        self._fit = watch_fit(self, self._fit, self._given_dir, self._settings, self._steps_before)
        self._last = self._fit or self._last
        self._choose_marks()

    def _choose_marks(self) -> None:
        fit = self._fit
        self._marks = None if fit is None or fit.nested else fit.run.marks
        if fit is not None:
            self._begin_mark, self._end_mark = fit.begin_mark, fit.end_mark

    def _look(self, batch: int) -> None:
        fit = self._fit
        assert fit is not None
        if fit.run.guard.off:
            fit.discard()
        else:
            fit.run.guard.run(fit.look, batch)

    def _epoch_begin(self, epoch: int) -> None:
        fit = self._fit
        assert fit is not None
        self._recount(fit)
        self._choose_marks()
        fit.epoch_begin(epoch)

    def _recount(self, fit: "WatchedFit") -> None:
        """A nested fit of the same callback that raised has left no end mark: the stack tells where we are."""
        if fit.nested:
            from feedwatch.hooks.keras.fit import fits_above

            fit.nested = max(0, len(fits_above(self)) - 1)

    def _end(self) -> None:
        fit = self._fit
        assert fit is not None
        self._recount(fit)
        if fit.finish():
            self._fit = None
            self._steps_before = fit.steps
        self._choose_marks()


def _checked(log_dir: str | os.PathLike[str] | None) -> Path | None:
    """Raises here, before the first step, when nothing can be written there."""
    if log_dir is None or switched_off():
        return None if log_dir is None else Path(log_dir)
    from feedwatch.hooks.destination import checked_log_dir

    return checked_log_dir(log_dir)
