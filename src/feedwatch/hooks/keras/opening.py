"""The begin of a fit: decide what can be measured and how, open the session, put the timed iterator in place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import keras

from feedwatch.guard import warn_once
from feedwatch.hooks.keras.ending import observe_epochs, unobserve, when_released
from feedwatch.hooks.keras.facts import first_step, run_facts
from feedwatch.hooks.keras.fetch_sources import FetchSource, Unmeasured
from feedwatch.hooks.keras.install import Fit, fits_above, shadow, unshadow
from feedwatch.hooks.keras.output import choose
from feedwatch.hooks.keras.timeline import Timeline
from feedwatch.hooks.keras.watch import Watch
from feedwatch.model.report import Status
from feedwatch.probe.host import HostProbe
from feedwatch.session import Session
from feedwatch.settings import Settings

# Half of the graph's ring: a drain comes before anything is lost.
DRAIN_FETCHES: Final = 1024


def open_watch(
    callback: Any, current: Watch | None, given: Path | None, settings: Settings, steps_before: int
) -> Watch | None:
    """The watch of this fit: a new one, or `current` when this is the same fit or one nested in it."""
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
    return _open(callback.model, fit, given, settings, steps_before)


def _open(model: Any, fit: Fit | None, given: Path | None, settings: Settings, steps_before: int) -> Watch:
    per_call = max(1, int(getattr(model, "steps_per_execution", 1) or 1))
    others: Sequence[Any] = [] if fit is None else fit.callback_list.callbacks
    place = choose(given, others)
    session = Session.open(run_facts(model, per_call), settings, place.outputs, place.directory)
    timeline = _timeline(per_call)
    source = _source(fit, timeline, session)
    timeline.measured = source.measures
    watch = Watch(
        session,
        timeline,
        source,
        place.log_dir,
        drain_calls=max(1, DRAIN_FETCHES // per_call),
        drain_ns=int(settings.window_seconds * 1e9),
    )
    host = HostProbe()
    session.each_window("the host probe", lambda: {"host": host.sample()})
    if fit is not None:
        _attach(watch, fit)

    def take_step_axis() -> None:
        # Not earlier: BackupAndRestore behind us restores the optimizer in its own train begin.
        timeline.steps = first_step(model, steps_before)

    watch.on_first_epoch.append(take_step_axis)
    return watch


def _timeline(per_call: int) -> Timeline:
    backend = keras.backend.backend()
    if backend == "tensorflow":
        return Timeline(per_call, header_fetch=False)
    if backend == "jax":
        return Timeline(per_call, ends_here=False, completions=True)
    return Timeline(per_call, ends_here=False, header_fetch=True)


def _source(fit: Fit | None, timeline: Timeline, session: Session) -> FetchSource:
    if fit is None or fit.epoch_iterator is None:
        session.note("input wait: this fit has no epoch iterator that feedwatch knows")
        return Unmeasured()
    if keras.backend.backend() != "tensorflow":
        from feedwatch.hooks.keras.python_source import PythonSource

        return PythonSource(timeline.asked)
    from feedwatch.hooks.keras.graph_source import GraphSource

    return GraphSource()


def _attach(watch: Watch, fit: Fit) -> None:
    """Everything here dies with fit's own objects; the end hook takes it away a little earlier."""
    tell = watch.guarded_close
    watch.released = when_released(fit.callback_list, tell)
    if fit.epoch_iterator is None:
        return
    epoch_iterator = fit.epoch_iterator
    shadow(epoch_iterator, watch.start_iterator)
    if keras.backend.backend() != "torch":
        observe_epochs(epoch_iterator, tell)
    if keras.backend.backend() == "tensorflow":
        from feedwatch.hooks.keras.graph_iterator import traces

        watch.trace_count = traces
    watch.on_close.append(lambda: (unshadow(epoch_iterator), unobserve(epoch_iterator)) and None)


def _first_of_us(callback: Any, fit: Fit) -> Any:
    for member in fit.callback_list.callbacks:
        if type(member) is type(callback) or isinstance(member, type(callback)):
            return member
    return callback
