"""One fit in time: begin and end marks, epochs and pauses, put together with the fetches when these are drained.

Nothing is decided on the hot path: a mark is a number appended. `drain` pairs them later, in order.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from feedwatch.hooks.keras.attribution import Execution, Fetch, device_record, host_record, total_samples, unmeasured
from feedwatch.hooks.keras.entries import Call, Entry, Epoch, EpochMark, Item, Pause
from feedwatch.hooks.keras.fetch_columns import FetchColumns, no_fetches
from feedwatch.hooks.keras.usual_calls import LEAST_CALLS, usual_records
from feedwatch.model.steps import EpochGap, StepKind, StepRecord

# Far above what is pending between two drains; beyond it the oldest marks go, counted.
MAX_PENDING: Final = 8192


class Timeline:
    def __init__(
        self,
        batches_per_call: int,
        *,
        ends_here: bool = True,
        completions: bool = False,
        header_fetch: bool | None = None,
        measured: bool = True,
    ) -> None:
        """`ends_here`: end marks come on the training thread (else maybe on another one, maybe later).
        `completions`: a step ends when its result was there. `header_fetch`: batches are fetched before the begin
        mark; None: the first fetch tells.
        """
        self.steps = 0  # batches seen, on Keras' own step axis
        self.calls = 0
        self.dropped = 0
        self.samples_per_batch: int | None = None  # where no fetch can tell
        self.measured = measured
        self.tracing_ns: int | None = None
        self.asked_ns = 0  # the last fetch began, maybe in vain
        self.hold = False  # a call waits for its fetch, which is known only after the next one
        self._per_call = batches_per_call
        self._ends_here = ends_here
        self._completions = completions
        self._header_fetch = header_fetch
        # Batches are fetched inside calls that are over when they return: nothing needs to be known at once.
        self.at_once = header_fetch is False and ends_here and not completions
        self._done_ns: dict[tuple[int, int], int] = {}
        self._pending: deque[Entry] = deque()
        self._fetches: deque[Fetch] = deque()
        self._columns = no_fetches()  # instead, where they come as columns
        self._by_hand = 1
        self._begin_ns: int | None = None
        self._called_ns = 0
        self._end_ns: int | None = None
        self._key = (0, 0)
        self._traced = False
        self._ordinal = 0
        self._flushed = 0  # up to this epoch every end mark has come
        self._abandoned = False
        self._last_end_ns: int | None = None
        self._validation_ns = 0
        self._loader_start_ns: int | None = None
        self._test_ns: int | None = None
        self._free_ns: int | None = None  # the device finished the call before

    # -- marks: the hot path ---------------------------------------------------------------------

    def begin(self, batch: int, now_ns: int) -> None:
        key = self._key_of(batch)
        if self._begin_ns is not None:
            if key == self._key and self._end_ns is None:
                return  # the same callback given twice
            # On TensorFlow a begin without an end is the vain attempt at the end of unknown-length data.
            if self._end_ns is not None or not self._ends_here:
                self._close(now_ns)
        elif self._last_end_ns is not None:
            self._end_pause(now_ns)
        self._begin_ns = self._called_ns = now_ns
        self._end_ns = None
        self._key = key

    def called(self, now_ns: int) -> None:
        """All begin hooks are done, the train function comes next."""
        self._called_ns = now_ns

    def end(self, batch: int, now_ns: int, traced: bool = False) -> None:
        """On the training thread. A second end for the same begin (a callback given twice) changes nothing."""
        if self._begin_ns is not None and self._end_ns is None:
            self._end_ns, self._traced = now_ns, traced
            self.done(batch, now_ns)

    def done(self, batch: int, now_ns: int) -> None:
        """From any thread: the step's result is there."""
        if self._completions:
            self._done_ns[self._key_of(batch)] = now_ns

    def _key_of(self, batch: int) -> tuple[int, int]:
        # The end of a call is told by its last batch; Keras 3.7 told it by the first.
        return self._ordinal, batch // self._per_call

    def asked(self, now_ns: int) -> None:
        self.asked_ns = now_ns

    def got(self, fetch: Fetch) -> None:
        """Only a clock on the device needs to hear it; the fetch itself comes with the drain."""

    def finish(self) -> None:
        """Before the last drain."""

    def pause(self, now_ns: int) -> None:
        """Something that is no training step begins: a new iterator, validation, the end of the epoch."""
        begin_ns, self._begin_ns = self._begin_ns, None
        if begin_ns is None or (self._end_ns is None and self._ends_here):
            return
        until_ns = self._end_ns or now_ns
        if self._header_fetch and begin_ns < self.asked_ns < until_ns:
            until_ns = self.asked_ns
        self._begin_ns = begin_ns
        self._close(until_ns)
        self._begin_ns = None
        self._last_end_ns = until_ns

    def abandon(self) -> None:
        """The fit failed: the call under way, if any, was not trained to its end."""
        self._abandoned = True
        fetching = self._header_fetch and self._begin_ns is not None and self.asked_ns > self._begin_ns
        if self._end_ns is None and not fetching:  # the next batch was being fetched: the call had ended
            self._begin_ns = None

    def epoch_end(self, now_ns: int) -> None:
        """Keras has waited for all asynchronous hooks of this epoch."""
        self.pause(now_ns)
        self._flushed = self._ordinal

    def epoch_begin(self, epoch: int) -> None:
        self._ordinal += 1
        self._pending.append(Epoch(epoch))

    def test_begin(self, now_ns: int) -> None:
        self.pause(now_ns)
        self._test_ns = now_ns

    def test_end(self, now_ns: int) -> None:
        if self._test_ns is not None:
            self._validation_ns += max(0, now_ns - self._test_ns)
            self._test_ns = None

    def loader_started(self, took_ns: int) -> None:
        self._loader_start_ns = (self._loader_start_ns or 0) + took_ns

    @property
    def pending(self) -> int:
        return len(self._pending)

    def begins_ns(self) -> list[int]:
        return [entry.begin_ns for entry in self._pending if isinstance(entry, Call)]

    def _close(self, until_ns: int) -> None:
        assert self._begin_ns is not None
        self._pending.append(Call(self._begin_ns, self._called_ns, self._end_ns, until_ns, self._key, self._traced))
        self.calls += 1
        self._end_ns, self._traced = None, False
        if len(self._pending) > MAX_PENDING:
            self._pending.popleft()
            self.dropped += 1

    def _end_pause(self, now_ns: int) -> None:
        assert self._last_end_ns is not None
        self._pending.append(Pause(self._last_end_ns, now_ns, self._validation_ns, self._loader_start_ns))
        self._last_end_ns, self._validation_ns, self._loader_start_ns = None, 0, None

    # -- pairing: once per window ----------------------------------------------------------------

    def drain(self, fetches: Sequence[Fetch]) -> Iterator[Item]:
        """What is complete so far, in order."""
        self._hold(fetches)
        while self._pending:
            entry = self._pending[0]
            if isinstance(entry, Epoch):
                yield EpochMark(entry.epoch, self.steps)
            elif isinstance(entry, Pause):
                yield self._gap(entry)
            elif self._columns:
                yield from self._many()
                continue
            elif self._completions and entry.key not in self._done_ns:
                if entry.key[0] > self._flushed:
                    return
                if self._abandoned:
                    yield from self._unfinished(entry)
            elif self.hold and not self._fetches:
                return
            else:
                yield self._record(entry)
            self._pending.popleft()

    def _hold(self, fetches: Sequence[Fetch]) -> None:
        if self.at_once and isinstance(fetches, FetchColumns) and not self._fetches:
            self._columns = self._columns.followed_by(fetches)
            self._by_hand = 1
            return
        self._fetches.extend(self._columns)
        self._fetches.extend(fetches)
        self._columns = no_fetches()

    def _many(self) -> Iterator[StepRecord]:
        """The usual calls at once, and the one that stopped them by hand; more by hand where hardly any is usual."""
        run = _leading_calls(self._pending)
        usual = usual_records(run, self._columns, self._per_call, self.steps, self.samples_per_batch)
        for _ in usual:
            self._pending.popleft()
        if usual:
            self._columns = self._columns[len(usual) * self._per_call :]
            self.steps = usual[-1].step
            self._free_ns = run[len(usual) - 1].end_ns
            yield from usual
        self._by_hand = 1 if len(usual) >= LEAST_CALLS else 2 * self._by_hand
        for call in run[len(usual) :][: self._by_hand]:
            taken = self._columns.asked_before(call.until_ns if call.end_ns is None else call.end_ns)
            self._fetches.extend(self._columns[:taken])
            self._columns = self._columns[taken:]
            self._pending.popleft()
            yield self._record(call)

    def _gap(self, pause: Pause) -> EpochGap:
        to_ns = pause.to_ns
        if self._header_fetch and self._fetches:
            to_ns = min(to_ns, max(pause.from_ns, self._fetches[0].asked_ns))
        from_ns = pause.from_ns
        if self._completions and self._free_ns is not None:
            # The device went on after the host had left the epoch.
            from_ns, self._free_ns = max(from_ns, self._free_ns), to_ns
        wall_ns = max(0, to_ns - from_ns - pause.validation_ns)
        return EpochGap(self.steps, wall_ns, pause.loader_start_ns, pause.validation_ns or None)

    def _record(self, call: Call) -> StepRecord:
        mine = self._take(call)
        self.steps += len(mine) or self._per_call
        until_ns = call.until_ns
        if self._header_fetch and self._fetches:
            until_ns = max(call.begin_ns, min(until_ns, self._fetches[0].asked_ns))
        done_ns = self._done_ns.pop(call.key, None)
        end_ns = call.end_ns or until_ns
        if self._completions and done_ns is not None:
            end_ns = done_ns
        execution = Execution(
            call.begin_ns,
            call.called_ns,
            end_ns,
            until_ns,
            self.steps,
            self._per_call,
            call.traced,
            self.samples_per_batch,
        )
        if call.traced and self.tracing_ns is None and mine:
            self.tracing_ns = max(0, mine[0].asked_ns - call.called_ns)  # the graph runs when it has been made
        free_ns, self._free_ns = self._free_ns, end_ns
        if not mine:
            # In a measured run a step without its fetch is a lost mark: it must not speak for the others.
            self.dropped += self.measured
            return unmeasured(execution, StepKind.WARMUP if self.measured else StepKind.STEADY)
        if self._completions:
            start_ns = min(call.begin_ns, mine[0].asked_ns)
            return device_record(execution, mine, start_ns if free_ns is None else free_ns)
        return host_record(execution, mine)

    def _unfinished(self, call: Call) -> Iterator[StepRecord]:
        """Dispatched before the fit failed; when its result was there is not known any more."""
        mine = self._take(call)
        if mine:
            self.steps += len(mine)
            wall = (call.begin_ns, call.called_ns, call.until_ns, call.until_ns)
            lost = unmeasured(Execution(*wall, self.steps, len(mine)), StepKind.WARMUP)
            yield lost._replace(samples=total_samples(mine, self.samples_per_batch))

    def _take(self, call: Call) -> list[Fetch]:
        if self._header_fetch is None and self._fetches:
            self._header_fetch = self._fetches[0].got_ns <= call.begin_ns
        mine: list[Fetch] = []
        fetches, header = self._fetches, self._header_fetch
        before_ns = call.until_ns if call.end_ns is None else call.end_ns
        while fetches and (fetches[0][1] <= call.begin_ns if header else fetches[0][0] < before_ns):
            mine.append(fetches.popleft())
        # The last one may be left over from a call that never ended; a call takes no more than it asked for.
        return mine[-self._per_call :]


def _leading_calls(entries: Iterable[Entry]) -> list[Call]:
    calls = []
    for entry in entries:
        if not isinstance(entry, Call):
            break
        calls.append(entry)
    return calls
