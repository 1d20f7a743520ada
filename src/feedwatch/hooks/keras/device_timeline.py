"""torch on a device with a clock of its own: the same marks as events in its stream.

The host runs ahead of the device, so its own marks say when work was handed over, not when it was done. The order of
things (epochs, gaps, step numbers) stays the host's; the times of a step are the device's.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.entries import Item
from feedwatch.hooks.keras.timeline import MAX_PENDING, Timeline
from feedwatch.hooks.torch.device import DeviceClock
from feedwatch.hooks.torch.syncs import Syncs
from feedwatch.model.steps import StepRecord

# A host can be ahead by about a thousand launches, far fewer steps than this.
MOST_PENDING: Final = 256
# Reading a step costs a few microseconds: a backlog is worked off over several steps.
READ_PER_STEP: Final = 4


class Categories(NamedTuple):
    """The numbers that the hook's ledger uses."""

    other: int
    wait: int
    copy: int
    compute: int
    apart: int  # validation: not part of the step


class _Pending(NamedTuple):
    row: StepRecord
    events: list[Any]  # the last one is the first of the next step
    categories: list[int]
    host_ns: list[int]
    owns_last: bool  # the step ends an epoch


class DeviceMeter:
    """The marks of a step as timing events, read when the device has passed them.

    Nothing is enqueued between the mark before a fetch and the one after it: what lies between them on the device is
    exactly the part of the wait in which it had run dry. Everything here runs on the training thread; nothing waits.
    """

    def __init__(
        self,
        clock: DeviceClock,
        categories: Categories,
        emit: Callable[[StepRecord], None],
        now_ns: Callable[[], int],
    ) -> None:
        self._clock, self._of, self._emit, self._now_ns = clock, categories, emit, now_ns
        self.syncs = Syncs(categories.other, categories.compute, categories.wait)
        self.dropped = 0
        self._pool: list[Any] = []
        self._pending: deque[_Pending] = deque()
        self._row: StepRecord | None = None
        self._whole = True
        self._events: list[Any] = []
        self._categories: list[int] = []
        self._host_ns: list[int] = []

    # -- marks ------------------------------------------------------------------------------------------

    def mark(self, category: int) -> None:
        """From here on, `category`."""
        if self._clock.capturing():
            self._whole = False
            return
        event = self._pool.pop() if self._pool else self._clock.new()
        self._clock.record(event)
        now_ns = self._now_ns()
        if self._row is not None:
            self._finish(event, now_ns, owns_last=False)
        self._events.append(event)
        self._categories.append(category)
        self._host_ns.append(now_ns)

    def step_begin(self) -> None:
        """Between two steps: the one place where finished events are read."""
        self._read(READ_PER_STEP)

    def step_end(self, row: StepRecord) -> None:
        """The next mark ends this step on the device."""
        self._row = row

    def epoch_end(self) -> None:
        """The last step of an epoch has no next one; a step that was not trained is forgotten."""
        if self._row is not None and not self._clock.capturing():
            event = self._pool.pop() if self._pool else self._clock.new()
            self._clock.record(event)
            self._finish(event, self._now_ns(), owns_last=True)
        self._row = None
        self._pool += self._events
        self._events, self._categories, self._host_ns = [], [], []

    def close(self) -> None:
        """No waiting at the end either: what the device has not passed by now is dropped and counted."""
        self._read(MOST_PENDING)
        self.dropped += len(self._pending)
        self._pending.clear()

    # -- reading ----------------------------------------------------------------------------------------

    def _finish(self, last: Any, last_ns: int, *, owns_last: bool) -> None:
        row, self._row = self._row, None
        assert row is not None
        step = _Pending(row, [*self._events, last], self._categories, [*self._host_ns, last_ns], owns_last)
        self._events, self._categories, self._host_ns = [], [], []
        whole, self._whole = self._whole, True
        if whole and len(self._pending) < MOST_PENDING:
            self._pending.append(step)
        else:
            self.dropped += 1
            self.syncs.interrupted()
            self._release(step)

    def _read(self, limit: int) -> None:
        while self._pending and limit and self._clock.done(self._pending[0].events[-1]):
            step = self._pending.popleft()
            self._emit(self._measured(step))
            self._release(step)
            limit -= 1

    def _measured(self, step: _Pending) -> StepRecord:
        spent: dict[int, float] = {}
        passed_ns: list[float] = [0.0]
        for at, category in enumerate(step.categories):
            elapsed_ns = max(0.0, self._clock.elapsed_ns(step.events[at], step.events[at + 1]))
            spent[category] = spent.get(category, 0.0) + elapsed_ns
            passed_ns.append(passed_ns[-1] + elapsed_ns)
        self.syncs.add(step.categories, step.host_ns, passed_ns)
        if step.owns_last:
            self.syncs.interrupted()
        of, row = self._of, step.row
        starved_ns = round(spent.get(of.wait, 0.0))
        return row._replace(
            wall_ns=round(passed_ns[-1] - spent.get(of.apart, 0.0)),
            input_wait_ns=None if row.input_wait_ns is None else starved_ns,
            h2d_ns=None if row.h2d_ns is None else round(spent.get(of.copy, 0.0)),
            compute_ns=None if row.compute_ns is None else round(spent.get(of.compute, 0.0)),
            starved_ns=None if row.input_wait_ns is None else starved_ns,
            host_wait_ns=row.input_wait_ns,
        )

    def _release(self, step: _Pending) -> None:
        self._pool += step.events if step.owns_last else step.events[:-1]


_OF: Final = Categories(other=0, wait=1, copy=2, compute=3, apart=4)


class DeviceTimeline(Timeline):
    def __init__(self, clock: DeviceClock, now_ns: Callable[[], int]) -> None:
        super().__init__(1, ends_here=False, header_fetch=True)
        self._rows: dict[int, StepRecord] = {}  # by ordinal, as the device passes them
        self._meter = DeviceMeter(clock, _OF, self._passed, now_ns)
        self._items: deque[Item] = deque(maxlen=MAX_PENDING)
        self._marked = 0  # steps handed to the device's ledger
        self._told = 0  # steps taken out again
        self._waited_ns = 0
        self._running = False

    def asked(self, now_ns: int) -> None:
        super().asked(now_ns)
        self._end_step()
        self._meter.step_begin()
        self._meter.mark(_OF.wait)

    def got(self, fetch: Fetch) -> None:
        self._waited_ns = fetch.got_ns - fetch.asked_ns
        self._meter.mark(_OF.other)

    def begin(self, batch: int, now_ns: int) -> None:
        super().begin(batch, now_ns)
        self._meter.mark(_OF.compute)
        self._running = True

    def pause(self, now_ns: int) -> None:
        super().pause(now_ns)
        self._end_step()
        self._meter.epoch_end()

    def drain(self, fetches: Sequence[Fetch]) -> Iterator[Item]:
        """In the host's order; a step waits here until the device has passed it."""
        self._items.extend(super().drain(fetches))
        self._meter.step_begin()
        while self._items:
            item = self._items[0]
            if isinstance(item, StepRecord):
                row = self._rows.pop(self._told, None)
                later = any(ordinal > self._told for ordinal in self._rows)
                if row is None and not later:
                    return
                self._told += 1
                if row is None:
                    self.dropped += 1  # the device's ledger gave this one up
                else:
                    yield row._replace(step=item.step, batches=item.batches, samples=item.samples, kind=item.kind)
            else:
                yield item
            self._items.popleft()

    def finish(self) -> None:
        """No waiting at the end either: what the device has not passed by now is dropped and counted."""
        self._meter.close()
        self.dropped += self._meter.dropped

    def _end_step(self) -> None:
        if self._running:
            self._running = False
            self._meter.step_end(StepRecord(self._marked, 0, self._waited_ns, None, 0))
            self._marked += 1

    def _passed(self, row: StepRecord) -> None:
        self._rows[row.step] = row
