"""The begin of a fit: which fit it is, whether we take part, and the session's opening."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from feedwatch.guard import warn_once
from feedwatch.hooks.keras.attach import attach
from feedwatch.hooks.keras.facts import first_step, run_facts
from feedwatch.hooks.keras.install import Fit, fits_above
from feedwatch.hooks.keras.measuring import choose_source, make_timeline
from feedwatch.hooks.keras.output import choose
from feedwatch.hooks.keras.sources import add_sources
from feedwatch.hooks.keras.watch import Watch
from feedwatch.model.report import Status
from feedwatch.session import Session
from feedwatch.settings import Settings

# What waits in memory between two drains, however short the steps are.
DRAIN_FETCHES: Final = 4096


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
    return _open(callback, fit, given, settings, steps_before)


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
        # Not earlier: BackupAndRestore behind us restores the optimizer in its own train begin.
        timeline.steps = first_step(model, steps_before)

    watch.console = settings.console
    watch.on_first_epoch.append(take_step_axis)
    add_sources(watch, fit, settings)
    attach(watch, fit, callback, model)
    return watch


def _first_of_us(callback: Any, fit: Fit) -> Any:
    for member in fit.callback_list.callbacks:
        if isinstance(member, type(callback)):
            return member
    return callback
