"""The user's other callbacks and loggers, by name: how long each takes per step."""

from functools import partial
from typing import Any, Final

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.undo import Undo, wrap
from feedwatch.model.facts import CallbackTime

CALLBACK: Final = "callback "
LOGGER: Final = "logger "


def watch_loggers(trainer: Any, marks: StepMarks, guard: Guard, undo: Undo) -> None:
    """Loggers have no name in the profiler, so their two working methods are wrapped on the instance."""
    for logger in trainer.loggers:
        category = marks.ledger.category(LOGGER + type(logger).__name__)
        enter = partial(guard.run, marks.span_begin, category)
        leave = partial(guard.run, marks.span_end, category)
        for name in ("log_metrics", "save"):
            if callable(getattr(logger, name, None)) and hasattr(logger, "__dict__"):
                wrap(undo, logger, name, enter, leave)


def times(marks: StepMarks) -> tuple[CallbackTime, ...]:
    """Mean milliseconds per step, without the dearest step. Validation and epoch ends are not in here."""
    if marks.steps < 2:
        return ()
    rows = zip(marks.ledger.names, marks.totals_ns, marks.largest_ns, strict=False)
    return tuple(
        CallbackTime(name.removeprefix(CALLBACK).removeprefix(LOGGER), (total - largest) / (marks.steps - 1) / 1e6)
        for name, total, largest in rows
        if name.startswith((CALLBACK, LOGGER)) and total > largest
    )
