"""The engine: a log of marks becomes step records, gaps between epochs, and epochs. Runs on the sink's thread.

At any moment the training thread is in exactly one category, so the parts of a step add up to its wall time, nesting
included. A step reaches from its first mark to the next step's first mark, and counts only when it was trained. Time
that belongs to no step (a batch asked for when the data had ended, a step that was not trained, everything between two
epochs) belongs to the gap. What cannot be attributed (a clock that went back, an unpaired mark) is dropped and counted.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from operator import add, mul
from typing import Any, Final, NamedTuple

from feedwatch.measure.marks import (
    ABANDON,
    BEGIN,
    COMPUTE,
    DEVICE,
    DONE,
    END,
    ENTER,
    EPOCH,
    EPOCH_END,
    FIRST_NAMED,
    GOT,
    H2D,
    INPUT,
    LEAVE,
    LOADER_START,
    OTHER,
    PROFILED,
    TRACED,
    TRAINED,
    VALIDATION,
    WAS,
    DeviceSpans,
    DeviceTimes,
    Fetch,
    Mark,
)
from feedwatch.measure.overlap import attribute, device_span, take_fetches, total_samples
from feedwatch.model.steps import EpochGap, EpochMark, StepKind, StepRecord

# No single span of a step lasts an hour: such a span is a suspended machine or a broken clock.
MAX_SPAN_NS: Final = 3_600_000_000_000
# Real nesting is about six deep; more means that ends are missing.
MAX_DEPTH: Final = 64
# Steps that wait for their fetches, their result or their device. Far above what waits between two windows.
MAX_PENDING: Final = 8192
_ASIDE: Final = (VALIDATION, LOADER_START)  # one lump, whatever happens inside

Item = StepRecord | EpochGap | EpochMark
# A step of one batch on the host, to which nothing is added later: first mark, wall, wait, copy, compute, samples. In a
# loop of one's own nearly every step is one. A tuple without a name: it is made and read in half of the time.
_Plain = tuple[int, int, int, int, int, int | None]


class Ends(Enum):
    """How the end of a step is known, by framework."""

    MARKED = "marked"  # by an END or TRAINED mark on the training thread: Lightning, Keras on TensorFlow
    NEXT = "next"  # the host computes by itself, a call ends where the next fetch begins: Keras on torch, own loops
    DONE = "done"  # dispatch is asynchronous and DONE marks tell when a result was there: Keras on JAX


class Way(NamedTuple):
    """How the marks of a run are to be read; see StepReader."""

    batches_per_call: int
    ends: Ends
    stamped: bool
    device: bool


class Closed(NamedTuple):
    """A step on the training thread, whose late parts are not known yet."""

    first_ns: int
    called_ns: int | None  # the train function was called; None: the framework does not tell
    end_ns: int
    wall_ns: int
    wait_ns: int
    copy_ns: int
    compute_ns: int
    fetches: list[Fetch]
    samples: int | None
    traced: bool
    profiled: bool
    call: tuple[int, int]  # epoch ordinal, number of the call in it


class _Gap(NamedTuple):
    to_ns: int
    wall_ns: int
    loader_start_ns: int | None
    validation_ns: int | None


class Habit(NamedTuple):
    """What a named part of the loop takes: a callback, a logger."""

    ms_per_step: float  # mean over all steps
    every: float  # it works once in so many steps; 1.0: in each of them


class StepReader:
    """Feed it marks in the order in which they were taken; it yields what they complete."""

    def __init__(
        self, batches_per_call: int = 1, *, ends: Ends = Ends.MARKED, stamped: bool = False, device: bool = False
    ) -> None:
        """`stamped`: a graph stamps its own fetches, they come as rows. `device`: DEVICE marks follow every step."""
        self.steps = 0  # batches trained so far, on the framework's own step axis
        self.calls = 0  # steps of this run
        self.partial = 0  # steps that were begun and not trained
        self.dropped = 0
        self.retraces = 0
        self.validation_ns = 0
        self.tracing_ns: int | None = None
        self.measured = True  # False: nobody can see the fetches of this run
        self.least_ns = 0  # a clock that moves in large steps cannot tell the parts of a step shorter than this
        self.samples_per_batch: int | None = None  # where neither marks nor fetches tell
        self.totals_ns: list[int] = [0] * FIRST_NAMED
        self.largest_ns: list[int] = [0] * FIRST_NAMED  # in one step: a first use must not look like a habit
        self._squares: list[int] = [0] * FIRST_NAMED  # they tell a little at every step from much now and then
        self.way = Way(batches_per_call, ends, stamped, device)
        self._per_call, self._ends, self._stamped, self._device = self.way
        self._host_alone = self.way == Way(1, Ends.NEXT, stamped=False, device=False)
        self._seen: set[int] = set()  # categories this hook marks; the others are unknown, not 0

        # the ledger
        self._spent = [0] * FIRST_NAMED
        self._stack: list[int] = []
        self._current = OTHER
        self._last_ns = 0
        self._aside = 0

        # the open step
        self._open = self._trained = self._started = self._traced = self._profiled = self._from_fetch = False
        self._first_ns = self._end_ns = self._asked_ns = 0
        self._called_ns: int | None = None
        self._wall_at_end_ns: int | None = None  # an END mark was set
        self._fetches: list[Fetch] = []
        self._samples: int | None = None
        self._batch = -1
        self._epoch = 0

        # the open gap
        self._gap_ns = self._gap_loader_ns = self._gap_validation_ns = 0

        # what waits for its late parts, in order
        self._pending: deque[Any] = deque()  # Closed, _Plain, _Gap, EpochMark, and what a reader above adds
        self._rows: deque[Fetch] = deque()
        self._done_ns: dict[tuple[int, int], int] = {}
        self._device_times: dict[int, DeviceTimes] = {}
        self._flushed = 0  # up to this epoch every DONE mark has come
        self._failed = self._finished = False
        self._free_ns: int | None = None  # the device finished the call before

        by_mark: dict[int, Callable[[int, Any], None]] = {
            ENTER: self._enter,
            LEAVE: self._leave,
            GOT: self._got,
            BEGIN: self._begin,
            WAS: self._settle,
            END: self._end,
            TRAINED: self._on_trained,
            TRACED: self._on_traced,
            EPOCH: self._on_epoch,
            EPOCH_END: self._end_epoch,
            DONE: self._on_done,
            DEVICE: self._on_device_times,
            ABANDON: self._abandon,
            PROFILED: self._on_profiled,
        }
        self._handlers = [by_mark[what] for what in range(len(by_mark))]

    # -- marks -----------------------------------------------------------------------------------

    def read(self, marks: Iterable[Mark], rows: Iterable[Fetch] = ()) -> Iterator[Item]:
        """`rows`: fetches that a graph stamped, in order."""
        for stretch in self.stretches(marks, rows):
            yield from stretch

    def stretches(self, marks: Iterable[Mark], rows: Iterable[Fetch] = ()) -> Iterator[Sequence[Item]]:
        """The same, several at once where they are known at once: those are steps and nothing else."""
        self._rows.extend(rows)
        self._take(marks)
        while self._pending and (ready := self._next_item()) is not None:
            yield list(map(self._without_parts, ready)) if self.least_ns else ready

    def _take(self, marks: Iterable[Mark]) -> None:
        handlers = self._handlers
        for ns, what, detail in marks:
            handlers[what](ns, detail)

    def _without_parts(self, item: Item) -> Item:
        if not isinstance(item, StepRecord) or item.wall_ns >= self.least_ns:
            return item
        return item._replace(input_wait_ns=None, h2d_ns=None, compute_ns=None, starved_ns=None, host_wait_ns=None)

    def lost(self) -> None:
        """Marks were dropped before they were read: what is open cannot be closed."""
        self.dropped += self._open
        self._open = self._trained = self._started = False
        self._stack.clear()
        self._current, self._aside = OTHER, 0

    def finish(self) -> Iterator[Item]:
        """After the last mark: what still waits for its late parts gets none any more."""
        self._finished = True
        self._flushed = self._epoch
        yield from self.read(())

    # _enter and _leave settle the open span in place: as a call of its own it would be half of what a mark costs.

    def _enter(self, ns: int, category: int) -> None:
        if category == INPUT:
            if self._aside:
                return
            if not self._open or self._trained or (self._from_fetch and self._called_ns is not None):
                self._next_step(ns, from_fetch=True)
            self._asked_ns = ns
        elif category in _ASIDE:
            self._enter_aside(ns)
        elif self._aside:
            return
        elif category == COMPUTE and (not self._open or self._trained):
            self._next_step(ns)  # a step that fetches by itself
        span_ns = ns - self._last_ns
        self._last_ns = ns
        if 0 <= span_ns <= MAX_SPAN_NS:
            self._spent[self._current] += span_ns
        else:
            self.dropped += self._started
        if len(self._stack) < MAX_DEPTH:
            self._stack.append(self._current)
            self._current = category
            if category >= len(self._spent):
                self._spent += [0] * (category + 1 - len(self._spent))
        else:
            self.dropped += 1

    def _enter_aside(self, ns: int) -> None:
        self._aside += 1
        if self._open and not self._trained and self._has_ended():
            self._call_is_over(ns)  # no mark tells, but the loop is somewhere else

    def _leave(self, ns: int, category: int) -> None:
        if self._aside:
            if category not in _ASIDE:
                return
            self._aside -= 1
        span_ns = ns - self._last_ns
        self._last_ns = ns
        if 0 <= span_ns <= MAX_SPAN_NS:
            self._spent[self._current] += span_ns
        else:
            self.dropped += self._started
        if self._current == category and self._stack:
            self._current = self._stack.pop()
        else:
            self._leave_unpaired(category)

    def _leave_unpaired(self, category: int) -> None:
        """Marks inside it were never ended, and end here; or it was never entered."""
        self.dropped += 1
        if category in self._stack:
            while self._current != category:
                self._current = self._stack.pop()
            self._current = self._stack.pop() if self._stack else OTHER

    def _got(self, ns: int, samples: int | None) -> None:
        if not self._aside:
            self._fetches.append(Fetch(self._asked_ns, ns, samples))
            self._leave(ns, INPUT)

    def _begin(self, ns: int, batch: int) -> None:
        call = batch // self._per_call
        if self._open and self._called_ns is not None and call == self._batch and not self._trained:
            return  # the same callback given twice
        if not self._open or self._called_ns is not None:
            self._next_step(ns)
        else:  # a fetch has opened this step
            self._settle(ns, self._current)
        self._stack.clear()
        self._current, self._called_ns, self._batch = COMPUTE, ns, call

    def _end(self, ns: int, batch: int) -> None:
        if self._called_ns is None or self._trained:
            return  # the same callback given twice
        self._call_is_over(ns)
        if self._ends is Ends.DONE:
            self._on_done(ns, batch)

    def _call_is_over(self, ns: int) -> None:
        self._settle(ns, self._current)
        self._stack.clear()
        self._current, self._trained, self._end_ns = OTHER, True, ns
        self._wall_at_end_ns = sum(self._spent)

    def _on_trained(self, _: int, samples: int | None) -> None:
        self._trained, self._samples = self._open, samples

    def _on_traced(self, _: int, __: None) -> None:
        self._traced = True

    def _on_profiled(self, _: int, __: None) -> None:
        self._profiled = True

    def _on_done(self, ns: int, batch: int) -> None:
        self._done_ns[self._epoch, batch // self._per_call] = ns

    def _on_device_times(self, _: int, spans: DeviceSpans) -> None:
        self._device_times[spans.first_ns] = spans.times()

    def _on_epoch(self, _: int, detail: tuple[int, int | None]) -> None:
        self._epoch += 1
        self._batch = -1
        self._wait(EpochMark(*detail))

    def _end_epoch(self, ns: int, _: None = None) -> None:
        """The last step of an epoch ends with its END mark: what comes behind it belongs to the gap."""
        if self._open:
            if self._has_ended():
                self._close(ns, at_end_mark=self._wall_at_end_ns is not None)
            else:
                self.partial += 1
                self._discard(ns)
        self._flushed = self._epoch

    def _abandon(self, _: int, __: None) -> None:
        self._failed = True
        if self._open and not self._trained:
            self._discard(self._last_ns)

    # -- the ledger ------------------------------------------------------------------------------

    def _settle(self, ns: int, category: int) -> None:
        """The time since the last mark was spent on `category`."""
        span_ns = ns - self._last_ns
        self._last_ns = ns
        if category >= len(self._spent):
            self._spent += [0] * (category + 1 - len(self._spent))
        if 0 <= span_ns <= MAX_SPAN_NS:
            self._spent[category] += span_ns
        else:
            self.dropped += self._started

    def _cut(self, ns: int) -> list[int]:
        """Nanoseconds by category since the last cut. What validation took is kept apart."""
        self._settle(ns, self._current)
        spent, self._spent = self._spent, [0] * len(self._spent)
        if spent[VALIDATION]:
            self.validation_ns += spent[VALIDATION]
            self._gap_validation_ns += spent[VALIDATION]
            spent[VALIDATION] = 0
        return spent

    # -- steps and gaps --------------------------------------------------------------------------

    def _has_ended(self) -> bool:
        return self._trained or (self._ends is not Ends.MARKED and self._called_ns is not None)

    def _next_step(self, ns: int, *, from_fetch: bool = False) -> None:
        if self._open and self._has_ended():
            self._close(ns)
        elif self._open:
            self._discard(ns)  # it was begun when the data had ended
            self._close_gap(ns)
        elif self._started:
            self._close_gap(ns)
        else:
            self._cut(ns)  # from the beginning to the first step: start-up
            self._gap_validation_ns = 0
        self._started = self._open = True
        self._trained = self._traced = self._profiled = False
        self._from_fetch = from_fetch
        self._first_ns, self._called_ns, self._wall_at_end_ns = ns, None, None
        self._fetches, self._samples = [], None

    def _close(self, ns: int, *, at_end_mark: bool = False) -> None:
        spent = self._cut(ns)
        wall_ns = sum(spent)
        if at_end_mark and self._wall_at_end_ns is not None:
            self._gap_ns += wall_ns - self._wall_at_end_ns - spent[LOADER_START]
            self._gap_loader_ns += spent[LOADER_START]
            wall_ns = self._wall_at_end_ns
        self._open = False
        seen = self._seen
        if INPUT not in seen and (spent[INPUT] or self._fetches):
            seen.add(INPUT)
        if COMPUTE not in seen and spent[COMPUTE]:
            seen.add(COMPUTE)
        if H2D not in seen and spent[H2D]:
            seen.add(H2D)
        if len(spent) > FIRST_NAMED:
            self._add_named(spent)
        if self._host_alone and self._is_plain():
            samples = self._fetches[0].samples
            self._wait((self._first_ns, wall_ns, spent[INPUT], spent[H2D], spent[COMPUTE], samples))
            return
        self._wait(
            Closed(
                self._first_ns,
                self._called_ns,
                ns if self._wall_at_end_ns is None else self._end_ns,
                wall_ns,
                spent[INPUT],
                spent[H2D],
                spent[COMPUTE],
                self._fetches,
                self._samples,
                self._traced,
                self._profiled,
                (self._epoch, self._batch),
            )
        )

    def _is_plain(self) -> bool:
        called, ended = self._called_ns is not None, self._wall_at_end_ns is not None
        return called and not ended and len(self._fetches) == 1 and not (self._traced or self._profiled)

    def _discard(self, ns: int) -> None:
        """It was not trained. Its time belongs to the gap."""
        self._gap_ns += sum(self._cut(ns))
        self._open = self._trained = False
        self._stack.clear()
        self._current = OTHER

    def _close_gap(self, ns: int) -> None:
        spent = self._cut(ns)
        loader_ns = self._gap_loader_ns + spent[LOADER_START]
        wall_ns = self._gap_ns + self._gap_loader_ns + sum(spent)
        self._wait(_Gap(ns, wall_ns, loader_ns or None, self._gap_validation_ns or None))
        self._gap_ns = self._gap_loader_ns = self._gap_validation_ns = 0

    def _add_named(self, spent: list[int]) -> None:
        missing = [0] * (len(spent) - len(self.totals_ns))
        self.totals_ns = list(map(add, self.totals_ns + missing, spent))
        self.largest_ns = list(map(max, self.largest_ns + missing, spent))
        self._squares = list(map(add, self._squares + missing, map(mul, spent, spent)))

    def habits(self) -> list["Habit"]:
        """Of the named parts, each without its longest step, which may be a first use."""
        steps = self.calls - 1
        named = zip(self.totals_ns, self.largest_ns, self._squares, strict=True)
        return [_habit(steps, *one) for one in list(named)[FIRST_NAMED:]] if steps > 0 else []

    # -- what becomes known later ----------------------------------------------------------------

    def _wait(self, entry: "Closed | _Plain | _Gap | EpochMark") -> None:
        self._pending.append(entry)
        if len(self._pending) > MAX_PENDING:
            self._pending.popleft()
            self.dropped += 1

    def _next_item(self) -> Sequence[Item] | None:
        """What the first pending entry has become, or None while its late parts are missing."""
        entry = self._pending[0]
        if isinstance(entry, Closed):
            made: Sequence[Item] | None
            if self._ends is Ends.DONE:
                made = self._completed(entry)
            elif self._device:
                made = self._on_device(entry)
            else:
                made = self._on_host(entry)
            if made is None:
                return None
        elif isinstance(entry, EpochMark):
            if entry.step is not None:
                self.steps = entry.step
            made = (entry._replace(step=self.steps),)
        elif isinstance(entry, _Gap):
            made = (self._gap(entry),)
        else:
            made = (self._plain_record(entry),)
        self._pending.popleft()
        return made

    def _on_host(self, step: Closed) -> tuple[Item, ...] | None:
        """The host waits for the device in every step, or computes by itself: its wait is the stall."""
        fetches, wait_ns, compute_ns = step.fetches, step.wait_ns, step.compute_ns
        called_ns = step.called_ns
        if self._stamped and not fetches and called_ns is not None:
            if self.measured and not self._rows and not self._finished:
                return None
            fetches = take_fetches(self._rows, called_ns, step.end_ns, self._per_call)
            wait_ns = sum(got_ns - asked_ns for asked_ns, got_ns, _ in fetches)
            compute_ns -= min(wait_ns, compute_ns)
        if called_ns is not None and not fetches:
            return (self._unmeasured(step),)
        if len(fetches) > 1 and self._per_call > 1:
            in_call_ns = step.wait_ns + step.compute_ns
            wait_ns = attribute(fetches[0].asked_ns, fetches, step.end_ns).wait_ns
            compute_ns = max(0, in_call_ns - wait_ns)
        wait_ns = min(wait_ns, step.wall_ns)
        if step.traced and self.tracing_ns is None and fetches and called_ns is not None:
            # The graph runs when it has been made.
            self.tracing_ns = max(0, fetches[0].asked_ns - called_ns)
        return (self._record(step, fetches, wait_ns, min(compute_ns, step.wall_ns - wait_ns)),)

    def _on_device(self, step: Closed) -> tuple[Item, ...] | None:
        """A device with a clock of its own: the order of things is the host's, the times of a step are the device's."""
        times = self._device_times.pop(step.first_ns, None)
        for first_ns in [each for each in self._device_times if each < step.first_ns]:
            del self._device_times[first_ns]  # of a step that was not trained
        if times is None:
            if not self._finished and not any(first_ns > step.first_ns for first_ns in self._device_times):
                return None
            self.dropped += 1  # the device's clock gave this one up
            return ()
        record = self._record(step, step.fetches, times.wait_ns, times.compute_ns)
        measured = record.input_wait_ns is not None
        return (
            record._replace(
                wall_ns=times.wall_ns,
                h2d_ns=None if record.h2d_ns is None else times.copy_ns,
                starved_ns=times.wait_ns if measured else None,
                host_wait_ns=step.wait_ns if measured else None,
            ),
        )

    def _completed(self, step: Closed) -> tuple[Item, ...] | None:
        """Asynchronous dispatch: a step ends when its result was there."""
        done_ns = self._done_ns.pop(step.call, None)
        if done_ns is None:
            if step.call[0] > self._flushed:
                return None
            return (self._unmeasured(step),) if self._failed and step.fetches else ()
        free_ns, self._free_ns = self._free_ns, done_ns
        if not step.fetches:
            return (self._unmeasured(step),)
        span = device_span(step.called_ns or step.first_ns, step.fetches, free_ns or step.first_ns, done_ns)
        record = self._record(step, step.fetches, span.starved_ns, span.compute_ns)
        waited_ns = sum(max(0, fetch.got_ns - fetch.asked_ns) for fetch in step.fetches)
        return (record._replace(wall_ns=span.wall_ns, starved_ns=span.starved_ns, host_wait_ns=waited_ns),)

    def _gap(self, gap: _Gap) -> EpochGap:
        wall_ns = gap.wall_ns
        if self._ends is Ends.DONE and self._free_ns is not None:
            # The device went on after the host had left the epoch.
            wall_ns, self._free_ns = max(0, min(wall_ns, gap.to_ns - self._free_ns)), gap.to_ns
        return EpochGap(self.steps, wall_ns, gap.loader_start_ns, gap.validation_ns)

    # -- records ---------------------------------------------------------------------------------

    def _plain_record(self, step: _Plain) -> StepRecord:
        first_ns, wall_ns, wait_ns, copy_ns, compute_ns, samples = step
        self.steps += 1
        self.calls += 1
        return StepRecord(
            self.steps,
            wall_ns or 1,
            wait_ns,
            copy_ns if H2D in self._seen else None,
            compute_ns,
            1,
            self.samples_per_batch if samples is None else samples,
            began_ns=first_ns,
        )

    def _record(self, step: Closed, fetches: list[Fetch], wait_ns: int, compute_ns: int) -> StepRecord:
        seen = self._seen
        calls = step.called_ns is not None
        batches = len(fetches) or 1
        self.steps += batches if calls else 1
        self.calls += 1
        self.retraces += step.traced and self.calls > 1
        if calls:
            samples = total_samples(fetches, self.samples_per_batch)
        else:
            samples = None if step.samples is None else step.samples * batches
        return StepRecord(
            self.steps,
            max(1, step.wall_ns),
            wait_ns if calls or INPUT in seen else None,
            step.copy_ns if H2D in seen else None,
            compute_ns if calls or COMPUTE in seen else None,
            batches,
            samples,
            kind=_kind(step),
            began_ns=step.first_ns,
        )

    def _unmeasured(self, step: Closed) -> StepRecord:
        """The wall time is known, its parts are not. Where fetches are measured, a step without its fetch is a lost
        mark: it must not speak for the others.
        """
        batches = len(step.fetches) or self._per_call
        self.steps += batches
        self.calls += 1
        self.dropped += self.measured and not self._failed
        return StepRecord(
            self.steps,
            max(1, step.wall_ns),
            None,
            None,
            None,
            batches,
            total_samples(step.fetches, self.samples_per_batch) if step.fetches else None,
            kind=StepKind.WARMUP if self.measured else _kind(step),
            began_ns=step.first_ns,
        )


def _kind(step: Closed) -> StepKind:
    if step.traced:
        return StepKind.WARMUP
    return StepKind.PROFILED if step.profiled else StepKind.STEADY


def _habit(steps: int, total_ns: int, largest_ns: int, squares: int) -> Habit:
    """A part that takes c once in p steps has a sum of n c / p and a sum of squares of n c² / p: that tells p."""
    rest_ns = total_ns - largest_ns
    every = steps * (squares - largest_ns**2) / rest_ns**2 if rest_ns > 0 else 1.0
    return Habit(rest_ns / steps / 1e6, max(1.0, every))
