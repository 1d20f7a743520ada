"""The same marks on the device's clock: a ledger of timing events, read when the device has passed them.

Between the mark before a fetch and the one after it nothing is enqueued: what lies between them on the device is
exactly the part of the wait in which it had run dry. Everything here runs on the training thread; nothing waits.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from feedwatch.hooks.torch.device_clock import DeviceClock
from feedwatch.hooks.torch.sync_watch import SyncWatch
from feedwatch.model.steps import StepRecord

# A host can be ahead by about a thousand launches, far fewer steps than this.
MAX_PENDING: Final = 256
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
    def __init__(
        self,
        clock: DeviceClock,
        categories: Categories,
        emit: Callable[[StepRecord], None],
        now_ns: Callable[[], int],
    ) -> None:
        self._clock, self._of, self._emit, self._now_ns = clock, categories, emit, now_ns
        self.syncs = SyncWatch(categories.other, categories.compute, categories.wait)
        self.dropped = 0
        self._pool: list[Any] = []
        self._pending: deque[_Pending] = deque()
        self._row: StepRecord | None = None
        self._whole = True
        self._events: list[Any] = []
        self._categories: list[int] = []
        self._host_ns: list[int] = []

    # -- marks -----------------------------------------------------------------------------------

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
        self._read(MAX_PENDING)
        self.dropped += len(self._pending)
        self._pending.clear()

    # -- reading ---------------------------------------------------------------------------------

    def _finish(self, last: Any, last_ns: int, *, owns_last: bool) -> None:
        row, self._row = self._row, None
        assert row is not None
        step = _Pending(row, [*self._events, last], self._categories, [*self._host_ns, last_ns], owns_last)
        self._events, self._categories, self._host_ns = [], [], []
        whole, self._whole = self._whole, True
        if whole and len(self._pending) < MAX_PENDING:
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
