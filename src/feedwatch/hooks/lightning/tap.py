"""The tap: instance attributes on the user's own profiler, whose identity, type and `describe()` stay.

Lightning names everything it does to its profiler, also when the user has none. We listen there, and hand every name
on to the profiler it was meant for.
"""

from collections.abc import Callable
from typing import Any

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.bystanders import CALLBACK
from feedwatch.hooks.lightning.categories import CHECKPOINT, COMPUTE, H2D, INPUT
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.undo import Undo

OWN_NAME = "FeedWatch"

Action = Callable[[str], Any]  # start or stop of a profiler


class Span:
    """Stateless, so one object per action is shared and may nest."""

    __slots__ = ("_begin", "_end", "_guard")

    def __init__(self, guard: Guard, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._guard, self._begin, self._end = guard, begin, end

    def __enter__(self) -> None:
        if not self._guard.off:
            try:
                self._begin()
            except Exception as error:
                self._guard.failed(error)

    def __exit__(self, *_: object) -> None:
        if not self._guard.off:
            try:
                self._end()
            except Exception as error:
                self._guard.failed(error)


class _Nothing:
    __slots__ = ()

    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


class _Both:
    """The user's profiler inside, our span around it."""

    __slots__ = ("_name", "_span", "_start", "_stop")

    def __init__(self, span: Any, start: Action, stop: Action, name: str) -> None:
        self._span, self._start, self._stop, self._name = span, start, stop, name

    def __enter__(self) -> str:
        self._span.__enter__()
        self._start(self._name)
        return self._name

    def __exit__(self, *_: object) -> None:
        try:
            self._stop(self._name)
        finally:
            self._span.__exit__()


_NOTHING = _Nothing()


class ActionTap:
    def __init__(self, marks: StepMarks, guard: Guard) -> None:
        self._marks = marks
        self._guard = guard
        self.spans: dict[str, Any] = {}

    def install(self, profiler: Any, undo: Undo) -> None:
        start, stop = profiler.start, profiler.stop
        passive = type(profiler).__name__ == "PassThroughProfiler"
        spans, make = self.spans, self.span_of

        def tapped_start(name: str) -> None:
            (spans.get(name) or make(name)).__enter__()
            if not passive:
                start(name)

        def tapped_stop(name: str) -> None:
            try:
                if not passive:
                    stop(name)
            finally:
                (spans.get(name) or make(name)).__exit__()

        undo.set(profiler, "start", tapped_start)
        undo.set(profiler, "stop", tapped_stop)
        if _has_plain_profile(profiler):
            undo.set(profiler, "profile", self.profile(start, stop, passive=passive))

    def profile(self, start: Action, stop: Action, *, passive: bool) -> Callable[[str], Any]:
        """The inherited `profile` is a generator that calls start and stop; this does the same for less."""
        spans, make = self.spans, self.span_of
        if passive:
            return lambda name: spans.get(name) or make(name)
        return lambda name: _Both(spans.get(name) or make(name), start, stop, name)

    def span_of(self, name: str) -> Any:
        """Only on the first sight of an action: later ones are a dictionary lookup."""
        span = self._guard.run(self._make_span, name) or _NOTHING
        self.spans[name] = span
        return span

    def _make_span(self, name: str) -> Span | None:
        marks, seen = self._marks, self._marks.seen
        if name.endswith(".train_dataloader_next"):
            seen.add(INPUT)
            return Span(self._guard, marks.fetch_begin, marks.fetch_end)
        if name == "run_training_batch":
            seen.add(COMPUTE)
            return Span(self._guard, marks.compute_begin, marks.compute_end)
        if name.endswith(".transfer_batch_to_device"):
            # The copy proper: `batch_to_device` around it also runs the user's transfer hooks.
            seen.add(H2D)
            return Span(self._guard, marks.copy_begin, marks.copy_end)
        if name == "save_checkpoint":
            return self._span_in(CHECKPOINT)
        if name.startswith("[Callback]"):
            short = callback_name(name)
            return None if short == OWN_NAME else self._span_in(marks.ledger.category(CALLBACK + short))
        return None

    def _span_in(self, category: int) -> Span:
        marks = self._marks
        return Span(self._guard, lambda: marks.span_begin(category), lambda: marks.span_end(category))


def callback_name(action: str) -> str:
    """`[Callback]ModelCheckpoint{'monitor': None}.on_train_batch_end` → `ModelCheckpoint`."""
    key = action.removeprefix("[Callback]").partition("{")[0]
    return key.rpartition(".")[0].rpartition(".")[2] if "{" not in action else key.rpartition(".")[2]


def _has_plain_profile(profiler: Any) -> bool:
    base = next((kind for kind in type(profiler).__mro__ if kind.__name__ == "Profiler"), None)
    return base is not None and getattr(type(profiler), "profile", None) is getattr(base, "profile", None)
