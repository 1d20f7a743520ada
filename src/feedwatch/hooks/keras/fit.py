"""One `fit`: its own objects in the frames above the begin hook, what we set on them, and the opening of its watch.

The model is not touched (on torch its train function is looked at, see `ending`). What we set dies with the objects
that `fit` made for itself, so after an exception there is nothing to restore; the end only takes it back earlier.
"""

import sys
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import keras

from feedwatch.guard import warn_once
from feedwatch.hooks.keras import ending
from feedwatch.hooks.keras.callbacks import CallbackTimes
from feedwatch.hooks.keras.facts import first_step, run_facts
from feedwatch.hooks.keras.measuring import choose_source, make_timeline
from feedwatch.hooks.keras.pipeline import PipelineReader
from feedwatch.hooks.keras.python_source import PythonSource
from feedwatch.hooks.keras.sources import add_sources
from feedwatch.hooks.keras.watch import Watch
from feedwatch.hooks.keras.writer import choose
from feedwatch.hooks.undo import Undo
from feedwatch.model.report import Status
from feedwatch.session import Session
from feedwatch.settings import Settings

# What waits in memory between two drains, however short the steps are.
DRAIN_FETCHES: Final = 4096

BETWEEN_EPOCHS: Final = ("on_epoch_begin", "on_epoch_end")
IN_STEPS: Final = ("on_train_batch_begin", "on_train_batch_end")

NOT_FOUND: Final = "input wait: no iterator of this fit could be timed"

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


# -- which watch this fit gets -------------------------------------------------------------------


def open_watch(
    callback: Any, current: Watch | None, given: Path | None, settings: Settings, steps_before: int
) -> Watch | None:
    """A new watch, or `current` when this is the same fit or one nested in it. None: another FeedWatch measures."""
    fits = fits_above(callback)
    if current is not None and not current.session.closed:
        if len(fits) > 1:
            current.nested = len(fits) - 1
            return current
        if fits and current.watches(fits[0].callback_list):
            return current  # the same callback given twice
        current.close(Status.INTERRUPTED)  # that fit ended without an end hook
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


def _open(callback: Any, fit: Fit | None, given: Path | None, settings: Settings, steps_before: int) -> Watch:
    model = callback.model
    per_call = max(1, int(getattr(model, "steps_per_execution", 1) or 1))
    others: Sequence[Any] = [] if fit is None else [c for c in fit.callback_list.callbacks if c is not callback]
    place = choose(given, others)
    facts = run_facts(model, per_call, others)
    session = Session.open(facts, settings, place.outputs, place.directory)
    timeline = make_timeline(per_call)
    source = choose_source(timeline, session)
    watch = Watch(
        session,
        timeline,
        source,
        place.log_dir,
        drain_calls=source.drain_calls or max(1, DRAIN_FETCHES // per_call),
        drain_ns=int(settings.window_seconds * 1e9),
    )

    def take_step_axis() -> None:
        # Not earlier: a BackupAndRestore behind us restores the optimizer in its own train begin.
        timeline.steps = first_step(model, steps_before)

    watch.console = settings.console
    watch.on_first_epoch.append(take_step_axis)
    add_sources(watch, others, settings)
    if fit is not None:
        _look_at(watch, fit, callback, model)
    if keras.backend.backend() == "tensorflow":
        _count_traces(watch)
    watch.on_first_step.append(lambda: _check_that_fetches_are_seen(watch))
    return watch


# -- what we set on fit's own objects ------------------------------------------------------------


def _look_at(watch: Watch, fit: Fit, callback: Any, model: Any) -> None:
    watch.released = ending.when_released(fit.callback_list, watch.guarded_close)
    _see_errors(watch, fit, model)
    if _replaceable(fit):
        _time_callbacks(watch, fit, callback)
    if fit.epoch_iterator is not None:
        time_iterators(watch.undo, fit.epoch_iterator, watch.start_iterator)
        _read_pipeline(watch, fit.epoch_iterator)


def _check_that_fetches_are_seen(watch: Watch) -> None:
    """At the first step. Never the gap between two callbacks instead: on TensorFlow the fetch is not there."""
    if not watch.iterators:
        watch.timeline.measured = False
        watch.session.note(NOT_FOUND)


class TimedIterable:
    """What `_get_iterator` returns instead: the user's iterable, whose iterators get a timed twin."""

    def __init__(self, iterable: Any, start: Callable[[Any], Any]) -> None:
        self._iterable = iterable
        self._start = start

    def __iter__(self) -> Any:
        return self._start(self._iterable)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterable, name)


def time_iterators(undo: Undo, epoch_iterator: Any, start: Callable[[Any], Any]) -> None:
    """`start(iterable)` makes the iterator. No reference cycle: the user's data must be freed when fit ends."""
    theirs = vars(epoch_iterator).get("_get_iterator")  # somebody else has replaced it: ours goes around theirs
    plain, reference = type(epoch_iterator)._get_iterator, weakref.ref(epoch_iterator)

    def get_iterator() -> TimedIterable:
        return TimedIterable(plain(reference()) if theirs is None else theirs(), start)

    undo.set(epoch_iterator, "_get_iterator", get_iterator, weak=True)


def _see_errors(watch: Watch, fit: Fit, model: Any) -> None:
    """Keras calls no end hook after an error: we look at what passes through, in all places an error can pass."""
    undo, tell, on_torch = watch.undo, watch.guarded_close, keras.backend.backend() == "torch"
    if isinstance(watch.source, PythonSource):
        watch.source.failed = tell
    if fit.epoch_iterator is not None and not on_torch:
        ending.observe_epochs(undo, fit.epoch_iterator, tell)
    if on_torch and getattr(model, "train_function", None) is not None:
        ending.observe_train_function(undo, model, fit.frame, tell)
    if not fit.list_is_the_users:
        ending.observe_callbacks(undo, fit.callback_list, [*BETWEEN_EPOCHS, *(IN_STEPS if on_torch else ())], tell)


def _replaceable(fit: Fit) -> bool:
    """Callbacks can be timed: the list was made by this fit and is walked on the training thread."""
    if getattr(fit.callback_list, "_async_train", False) or not isinstance(fit.callback_list.callbacks, list):
        return False
    return not fit.list_is_the_users


def _time_callbacks(watch: Watch, fit: Fit, callback: Any) -> None:
    times = CallbackTimes(callback, fit.callback_list.callbacks, watch.about_to_call)
    # The loop that called us walks the old list to its end. All later ones walk this one.
    watch.undo.set(fit.callback_list, "callbacks", times.members, weak=True)
    watch.on_drain.append(lambda: watch.session.update(callbacks=times.read(watch.timeline.calls)))


def _read_pipeline(watch: Watch, epoch_iterator: Any) -> None:
    session, timeline = watch.session, watch.timeline
    fetch_ms = getattr(watch.source, "fetch_ms", _unknown)
    reader = PipelineReader(epoch_iterator, keras.backend.backend(), fetch_ms, session.note)

    def take_batch_size() -> None:
        timeline.samples_per_batch = reader.samples_per_batch()
        session.update(
            run=replace(session.facts.run, batch_size=timeline.samples_per_batch),
            batch=getattr(watch.source, "batch", reader.batch)(),
        )

    def read_a_last_time() -> None:
        session.update(**(reader.read() or {}))
        reader.close()

    watch.on_iterator.append(reader.iterator)
    watch.on_first_step.append(take_batch_size)
    watch.on_drain.append(reader.look)
    watch.on_close.append(read_a_last_time)
    session.each_window("the pipeline reader", reader.read)


def _count_traces(watch: Watch) -> None:
    from feedwatch.hooks.keras.graph_source import GraphSource
    from feedwatch.hooks.keras.tf_iterator import traces_ns

    watch.retraces.traces_ns = traces_ns
    session, timeline = watch.session, watch.timeline

    def tell() -> None:
        if session.facts.run.run_eagerly is not True and session.facts.run.retraces != watch.retraces.count:
            session.update(run=replace(session.facts.run, retraces=watch.retraces.count))
        if timeline.tracing_ns is not None:
            session.tracing(timeline.tracing_ns / 1e6)
        if isinstance(watch.source, GraphSource) and session.facts.run.run_eagerly is not True:
            watch.cost.graph_ns_per_call = watch.source.graph_cost_ns(session.facts.run.steps_per_execution) or 0.0

    watch.on_drain.append(tell)


def _unknown() -> None:
    return None
