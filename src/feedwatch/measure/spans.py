"""A second reading of a few marks: not how long each part of a step took, but from when to when.

The engine adds times up and forgets the moments, because that is all a thousand steps a second can pay for. The few
steps that a report shows are read again, by the same engine, which keeps the moments here.
"""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from feedwatch.measure.marks import COMPUTE, H2D, INPUT, LOADER_START, VALIDATION, Fetch, Mark
from feedwatch.measure.overlap import wait_spans
from feedwatch.measure.steps import Item, StepReader, Way
from feedwatch.model.steps import StepRecord
from feedwatch.model.timeline import SPAN_PHASES

_PHASE: Final = {
    INPUT: SPAN_PHASES.index("input_wait"),
    H2D: SPAN_PHASES.index("h2d"),
    COMPUTE: SPAN_PHASES.index("compute"),
    VALIDATION: SPAN_PHASES.index("validation"),
    LOADER_START: SPAN_PHASES.index("epoch_start"),
}
_OTHER: Final = SPAN_PHASES.index("other")
_WAIT: Final = _PHASE[INPUT]
_COPY: Final = _PHASE[H2D]
_COMPUTE: Final = _PHASE[COMPUTE]


class Span(NamedTuple):
    phase: int  # a place in SPAN_PHASES
    from_ns: int
    to_ns: int


class Moments(NamedTuple):
    """What happened when, on the host and on the device."""

    host: list[Span]
    device: list[Span]
    fetches: list[Fetch]


class SpanReader(StepReader):
    """The engine, with a note of every span that it settles."""

    def __init__(self, way: Way, *, measured: bool) -> None:
        super().__init__(way.batches_per_call, ends=way.ends, stamped=way.stamped, device=way.device)
        self.measured = measured
        self.host: list[Span] = []
        self.device: list[Span] = []
        self.fetches: list[Fetch] = []
        self._noted_ns = 0
        self._waits: list[tuple[int, int]] = []  # of fetches inside a graph

    def moments(self, marks: Iterable[Mark], rows: Iterable[Fetch]) -> Moments:
        for _ in self.read(marks, rows):
            pass
        for _ in self.finish():
            pass
        if self.way.stamped:
            self.host = [part for span in self.host for part in _without_waits(span, self._waits)]
        return Moments(_joined(self.host), _joined(self.device), self.fetches)

    # -- the host: whatever settles a span is noted ------------------------------------------------

    def _enter(self, ns: int, category: int) -> None:
        current = self._current
        super()._enter(ns, category)
        self._note(current)

    def _leave(self, ns: int, category: int) -> None:
        current = self._current
        super()._leave(ns, category)
        self._note(current)

    def _settle(self, ns: int, category: int) -> None:
        super()._settle(ns, category)
        self._note(category)

    def _note(self, category: int) -> None:
        from_ns, to_ns = self._noted_ns, self._last_ns
        self._noted_ns = to_ns
        if from_ns and to_ns > from_ns:  # the first mark ends nothing that was seen to begin
            self.host.append(Span(_PHASE.get(category, _OTHER), from_ns, to_ns))

    def _is_plain(self) -> bool:
        """No step is: what is drawn needs the moments of its fetches."""
        return False

    # -- late parts: the graph's own fetches, and the device ---------------------------------------

    def _record(self, step: Any, fetches: list[Fetch], wait_ns: int, compute_ns: int) -> StepRecord:
        self.fetches += fetches
        if self.way.stamped and fetches:
            self._waits += wait_spans(fetches[0].asked_ns, fetches, step.end_ns)
        return super()._record(step, fetches, wait_ns, compute_ns)

    def _on_device(self, step: Any) -> tuple[Item, ...] | None:
        times = self._device_times.get(step.first_ns)
        made = super()._on_device(step)
        if made and times is not None:
            # The device's clock tells how long, not when: a step follows the one before it without a gap.
            at_ns = self.device[-1].to_ns if self.device else step.first_ns
            rest_ns = max(0, times.wall_ns - times.wait_ns - times.copy_ns - times.compute_ns)
            parts = ((_WAIT, times.wait_ns), (_COPY, times.copy_ns), (_COMPUTE, times.compute_ns), (_OTHER, rest_ns))
            self._place(at_ns, parts)
        return made

    def _completed(self, step: Any) -> tuple[Item, ...] | None:
        made = super()._completed(step)
        record = made[0] if made else None
        if isinstance(record, StepRecord) and record.starved_ns is not None and self._free_ns is not None:
            free_ns = self._free_ns - record.wall_ns
            idle_ns = record.wall_ns - record.starved_ns - (record.compute_ns or 0)
            parts = ((_WAIT, record.starved_ns), (_OTHER, idle_ns), (_COMPUTE, record.compute_ns or 0))
            self._place(free_ns, parts)
        return made

    def _place(self, at_ns: int, parts: Iterable[tuple[int, int]]) -> None:
        for phase, took_ns in parts:
            if took_ns > 0:
                self.device.append(Span(phase, at_ns, at_ns + took_ns))
                at_ns += took_ns


def _without_waits(span: Span, waits: list[tuple[int, int]]) -> list[Span]:
    """A call of a graph that fetches by itself is compute with waits in it."""
    if span.phase != _COMPUTE:
        return [span]
    parts, at_ns = [], span.from_ns
    for from_ns, to_ns in waits:
        begin_ns, end_ns = max(from_ns, at_ns), min(to_ns, span.to_ns)
        if end_ns > begin_ns:
            parts += [Span(_COMPUTE, at_ns, begin_ns)] * (begin_ns > at_ns) + [Span(_WAIT, begin_ns, end_ns)]
            at_ns = end_ns
    return [*parts, Span(_COMPUTE, at_ns, span.to_ns)] if span.to_ns > at_ns else parts


def _joined(spans: list[Span]) -> list[Span]:
    """Neighbours of one kind are one span: twelve callbacks are one stretch of other work."""
    joined: list[Span] = []
    for span in spans:
        last = joined[-1] if joined else None
        if last is not None and last.phase == span.phase and last.to_ns == span.from_ns and span.phase != _WAIT:
            joined[-1] = last._replace(to_ns=span.to_ns)
        else:
            joined.append(span)
    return joined
