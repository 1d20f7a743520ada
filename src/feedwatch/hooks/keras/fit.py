"""The user's `fit`: its own objects in the frames above the begin hook, which run it gets, and what we set on them.

The model is not touched (on torch its train function is looked at, see `ending`). What we set dies with the objects
that `fit` made for itself, so after an exception there is nothing to restore; the end only takes it back earlier.
"""

import sys
import weakref
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import keras

from feedwatch.guard import warn_once
from feedwatch.hooks.destination import own_destination
from feedwatch.hooks.fetching import WatchedIterable
from feedwatch.hooks.keras import ending
from feedwatch.hooks.keras.backends import fetches_of, this_backend, torch_clock
from feedwatch.hooks.keras.callbacks import callback_times, with_marks
from feedwatch.hooks.keras.facts import first_step, memory_of_device, run_facts
from feedwatch.hooks.keras.pipeline import PipelineReader
from feedwatch.hooks.keras.profiler import keras_profiler
from feedwatch.hooks.keras.python_iterator import PythonFetches
from feedwatch.hooks.keras.watched_fit import WatchedFit
from feedwatch.hooks.keras.writer import Place, choose
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.undo import Undo
from feedwatch.measure.usual_steps import ColumnReader
from feedwatch.model.report import Status
from feedwatch.settings import Settings

BETWEEN_EPOCHS: Final = ("on_epoch_begin", "on_epoch_end")
IN_STEPS: Final = ("on_train_batch_begin", "on_train_batch_end")

# -- the fits on the stack -----------------------------------------------------------------------


class Fit(NamedTuple):
    """One `fit` on the stack, with us in its callback list."""

    epoch_iterator: Any | None
    callback_list: Any
    frame: FrameType

    @property
    def list_is_the_users(self) -> bool:
        """The user made the callback list and handed it in: nothing of it is replaced."""
        caller = self.frame.f_back
        handed = {} if caller is None else caller.f_locals
        given = [*handed.get("args", ()), *dict(handed.get("kwargs", {})).values()]
        return any(value is self.callback_list for value in given)

    @property
    def ends_elsewhere(self) -> bool:
        """Keras runs the end hooks of steps on another thread."""
        return bool(getattr(self.callback_list, "_async_train", False))


def fits_above(callback: Any, depth: int = 1) -> list[Fit]:
    """Innermost first. More than one: the callback is used again in a nested fit."""
    frame: FrameType | None = sys._getframe(depth)
    found: list[Fit] = []
    while frame is not None:
        if frame.f_code.co_name == "fit":
            callbacks = frame.f_locals.get("callbacks")
            if any(member is callback for member in getattr(callbacks, "callbacks", ()) or ()):
                iterator = frame.f_locals.get("epoch_iterator")
                usable = iterator if hasattr(iterator, "_get_iterator") else None
                found.append(Fit(usable, callbacks, frame))
        frame = frame.f_back
    return found


# -- which run this fit gets ---------------------------------------------------------------------


def watch_fit(
    callback: Any, current: WatchedFit | None, given: Path | None, settings: Settings, steps_before: int
) -> WatchedFit | None:
    """A new one, or `current` when this is the same fit or one nested in it. None: another FeedWatch measures."""
    fits = fits_above(callback)
    if current is not None and not current.run.closed:
        if len(fits) > 1:
            current.nested = len(fits) - 1
            return current
        if fits and current.watches(fits[0].callback_list):
            return current  # the same callback given twice
        current.run.close(Status.INTERRUPTED)  # that fit ended without an end hook
    fit = fits[0] if fits else None
    if fit is not None and _first_of_us(callback, fit) is not callback:
        warn_once(set(), "two FeedWatch callbacks in one fit: only the first one measures")
        return None
    return _open(callback, fit, given, settings, steps_before)


def _first_of_us(callback: Any, fit: Fit) -> Any:
    for member in fit.callback_list.callbacks:
        if isinstance(member, type(callback)):
            return member
    return callback


def _open(callback: Any, fit: Fit | None, given: Path | None, settings: Settings, steps_before: int) -> WatchedFit:
    model = callback.model
    per_call = max(1, int(getattr(model, "steps_per_execution", 1) or 1))
    others: Sequence[Any] = [] if fit is None else [c for c in fit.callback_list.callbacks if c is not callback]
    place, backend, clock = _place(settings, given, others), this_backend(), torch_clock()
    reader = ColumnReader(per_call, ends=backend.ends, stamped=backend.stamped, device=clock is not None)
    elsewhere = fit is not None and fit.ends_elsewhere
    facts = run_facts(model, per_call, others, asynchronous=elsewhere)
    run = WatchedRun(facts, settings, place.destination, reader)
    run.shown_directory = "" if place.log_dir is None else str(place.log_dir)
    watched = WatchedFit(
        run,
        reader,
        fetches_of(run, reader, per_call),
        log_dir=place.log_dir,
        end_mark=backend.end_mark_elsewhere if elsewhere else backend.end_mark,
        per_call=per_call,
        # Asked for late: a BackupAndRestore behind us restores the optimizer in its own train begin.
        first_step=lambda: first_step(model, steps_before),
    )
    if clock is not None:
        watched.add_device(clock)
    run.counts_memory(memory_of_device())
    _add_profiler(run, others)
    if fit is not None:
        _look_at(watched, fit, callback, model)
        if settings.trial is not None and fit.epoch_iterator is not None:
            from feedwatch.hooks.keras.trial import KerasTrial

            KerasTrial(watched, fit.epoch_iterator, fit.callback_list, model, settings.trial)
    return watched


def _place(settings: Settings, given: Path | None, others: Sequence[Any]) -> Place:
    if settings.trial is None:
        return choose(given, others)
    from feedwatch.hooks.trial import trial_home

    home = trial_home(settings.trial, given)
    return Place(home, own_destination(home))


def _add_profiler(run: WatchedRun, callbacks: Sequence[Any]) -> None:
    # On torch never automatically: the device's clock sees the copy, and the profiler slows every launch after it.
    has_gpu = run.session.facts.run.device_kind in ("cuda", "rocm") and keras.backend.backend() != "torch"
    if not has_gpu and run.settings.profile is not True:
        return
    backend = keras_profiler(keras.backend.backend(), lambda: callbacks)
    if backend is not None:
        run.profile_with(backend, has_gpu=has_gpu)


# -- what we set on fit's own objects ------------------------------------------------------------


def _look_at(watched: WatchedFit, fit: Fit, callback: Any, model: Any) -> None:
    watched.released = ending.when_released(fit.callback_list, watched.run.close)
    _see_errors(watched, fit, model)
    if isinstance(fit.callback_list.callbacks, list) and not fit.ends_elsewhere and not fit.list_is_the_users:
        _time_callbacks(watched.run, fit, callback)
    if fit.epoch_iterator is not None:
        time_iterators(watched.run.undo, fit.epoch_iterator, watched.start_iterator, watched.marking_copies)
        _read_pipeline(watched, fit.epoch_iterator)


def time_iterators(
    undo: Undo,
    epoch_iterator: Any,
    start: Callable[[Any], Any],
    around: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> None:
    """`start(iterable)` makes the iterator, inside `around` the iterable is made. No reference cycle: the user's data
    must be freed when fit ends.
    """
    theirs = vars(epoch_iterator).get("_get_iterator")  # somebody else has replaced it: ours goes around theirs
    plain, reference = type(epoch_iterator)._get_iterator, weakref.ref(epoch_iterator)

    def get_iterator() -> WatchedIterable[Any]:
        with around():
            iterable = plain(reference()) if theirs is None else theirs()
        return WatchedIterable(iterable, start)

    undo.set(epoch_iterator, "_get_iterator", get_iterator, weak=True)


def _see_errors(watched: WatchedFit, fit: Fit, model: Any) -> None:
    """Keras calls no end hook after an error: we look at what passes through, in all places an error can pass."""
    undo, tell, on_torch = watched.run.undo, watched.run.close, keras.backend.backend() == "torch"
    if isinstance(watched.fetches, PythonFetches):
        watched.fetches.on_error = lambda error: tell(ending.status_of(error))
    if fit.epoch_iterator is not None and not on_torch:
        ending.observe_epochs(undo, fit.epoch_iterator, tell)
    if on_torch and getattr(model, "train_function", None) is not None:
        ending.observe_train_function(undo, model, fit.frame, tell)
    if not fit.list_is_the_users:
        ending.observe_callbacks(undo, fit.callback_list, [*BETWEEN_EPOCHS, *(IN_STEPS if on_torch else ())], tell)


def _time_callbacks(run: WatchedRun, fit: Fit, callback: Any) -> None:
    members, names = with_marks(callback, fit.callback_list.callbacks, run)
    # The loop that called us walks the old list to its end. All later ones walk this one.
    run.undo.set(fit.callback_list, "callbacks", members, weak=True)
    steps = run.session.steps
    run.session.each_window("the callbacks' times", lambda: {"callbacks": callback_times(names, steps)})


def _read_pipeline(watched: WatchedFit, epoch_iterator: Any) -> None:
    run, session = watched.run, watched.run.session
    python = watched.fetches if isinstance(watched.fetches, PythonFetches) else None
    reader = PipelineReader(epoch_iterator, keras.backend.backend(), python, session)

    def take_batch_size() -> None:
        session.steps.samples_per_batch = reader.samples_per_batch()
        session.update(run=replace(session.facts.run, batch_size=session.steps.samples_per_batch))

    def read_a_last_time() -> None:
        session.update(**(reader.read() or {}))
        reader.end()

    watched.on_iterator.append(reader.iterator)
    watched.on_first_step.append(take_batch_size)
    run.on_hand_over.append(reader.look)
    run.on_close.append(read_a_last_time)
    session.each_window("the pipeline reader", reader.read)
