"""Training steps on the device's own clock."""

from collections import deque
from collections.abc import Callable
from itertools import accumulate
from time import thread_time_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from feedwatch.hooks.torch.device import DeviceClock
from feedwatch.hooks.torch.syncs import Syncs
from feedwatch.measure.marks import (
    BEGIN,
    COMPUTE,
    DEVICE,
    INPUT,
    OTHER,
    DeviceSpans,
    Mark,
)
from feedwatch.measure.sketch import Sketch

if TYPE_CHECKING:
    from feedwatch.hooks.run import WatchedRun

# A host can be ahead by about a thousand launches, far fewer steps than this.
MAX_PENDING: Final = 256
# Reading a step costs a few microseconds: a backlog is worked off over several steps.
READ_PER_STEP: Final = 4
# One step in so many is timed, for the figure about ourselves. A prime: no rhythm of the loop is met again and again.
TIMED_STEPS: Final = 7
# The first steps make the events that all later ones record again.
FIRST_TIMED_STEP: Final = 3
# What begins so soon after the end of something else begins with it: one event is enough for both.
SAME_MOMENT_NS: Final = 100_000
_OPENING: Final = (INPUT, COMPUTE)  # the engine opens a step with these, see measure/steps.py


DeviceMark = tuple[Any, int, int]  # event, category from it on, the host's time


class _Pending(NamedTuple):
    """A step whose events the device has not passed yet."""

    first_ns: int
    marks: list[DeviceMark]
    last: Any  # the event that ended it; the next step's first one, unless the step ends an epoch
    last_ns: int
    owns_last: bool

    @property
    def events(self) -> list[Any]:
        return [event for event, _, _ in self.marks]


class DeviceMeter:
    """The marks of a step as timing events, read when the device has passed them, and handed over as a DEVICE mark.

    Nothing is enqueued between the mark before a fetch and the one after it: what lies between them on the device is
    exactly the part of the wait in which it had run dry. Everything but `read_syncs` runs on the training thread, and
    nothing waits. A hook calls `enter` and `leave` with the times of its own marks.

    A call to the device may fail: it is lost, or out of memory. Then the error is the caller's to count, the step is
    given up, and the next one is tried.
    """

    def __init__(self, clock: DeviceClock, append: Callable[[Mark], None], now_ns: Callable[[], int]) -> None:
        self._clock, self._append, self._now_ns = clock, append, now_ns
        self._capturing, self._record = clock.capturing, clock.record
        self._syncs = Syncs(OTHER, COMPUTE, INPUT)
        self._for_syncs: deque[DeviceSpans | None] = deque(maxlen=16 * MAX_PENDING)
        self._pool: list[Any] = []
        self._pending: deque[_Pending] = deque()
        self._stack: list[int] = []
        self._open = self._trained = self._closing = False
        self._whole = self._closing_whole = True
        self._first_ns = self._closing_ns = 0
        self._ended = False  # the last mark ended something, and nothing has begun since
        self._marks: list[DeviceMark] = []
        self._steps = self._told_steps = 0
        self._timed = False  # this step is
        self._step_cost_ns = 0
        self._cost_ns = Sketch()  # of the timed steps

    @property
    def cost_per_step_ns(self) -> float | None:
        """What the events of a step cost the training thread. The median: a step in which somebody else had the CPU, or
        in which the device was set up, says nothing about the others.
        """
        return self._cost_ns.quantile(0.5)

    def take_cost_ns(self) -> int:
        """What events cost the training thread since the last time."""
        each_ns = self.cost_per_step_ns
        if each_ns is None:
            return 0  # counted as soon as a step was timed
        steps, self._told_steps = self._steps - self._told_steps, self._steps
        return round(steps * each_ns)

    # -- marks -----------------------------------------------------------------------------------

    def enter(self, category: int, ns: int) -> None:
        """`ns`: the time of the ENTER mark."""
        if category in _OPENING and (self._trained or not self._open):
            self._begin(ns)
        if self._open:
            self._stack.append(category)
            if self._ended and not self._closing and self._marks and ns - self._marks[-1][2] < SAME_MOMENT_NS:
                event, _, at_ns = self._marks[-1]
                self._marks[-1] = event, category, at_ns
            else:
                self._mark(category, ns)
        self._ended = False

    def leave(self, category: int, ns: int) -> None:
        stack = self._stack
        if self._open and stack and stack[-1] == category:
            stack.pop()
            self._mark(stack[-1] if stack else OTHER, ns)
            self._ended = True

    def turn(self, category: int, ns: int) -> None:
        """One thing ends and the next begins in the same moment: one event for both."""
        if self._open and self._stack:
            self._stack[-1] = category
            self._mark(category, ns)
            self._ended = True
        else:
            self.enter(category, ns)

    def again(self, ns: int) -> None:
        """A mark in the middle of what the thread is doing, for instance before backward: only with it can a read of
        the loss be told from a long step.
        """
        if self._open and self._stack:
            self._mark(self._stack[-1], ns)
            self._ended = False

    def trained(self) -> None:
        self._trained = self._open

    def epoch_end(self, ns: int) -> None:
        """The last step of an epoch has no next one. A step that was not trained is forgotten."""
        try:
            if self._open and self._trained and not self._clock.capturing():
                self._closing_ns, self._closing_whole = self._first_ns, self._whole
                self._finish(self._recorded(), ns, owns_last=True)
        finally:
            self._drop_marks()
            self._stack.clear()
            self._open = self._trained = self._closing = False
            self._whole = True

    def close(self) -> None:
        """No waiting at the end either. The engine counts the steps that the device has not passed by now."""
        if not self._clock.capturing():
            self._read(MAX_PENDING)
        self._pending.clear()

    # -- steps -----------------------------------------------------------------------------------

    def _begin(self, ns: int) -> None:
        """Between two steps: the one place where finished events are read. The next mark ends the step before."""
        self._closing, self._closing_ns, self._closing_whole = self._open, self._first_ns, self._whole
        self._open, self._trained, self._whole, self._first_ns = True, False, True, ns
        self._stack.clear()
        if self._timed:
            self._cost_ns.add(self._step_cost_ns)
            self._step_cost_ns = 0
        self._steps += 1
        self._timed = self._steps % TIMED_STEPS == FIRST_TIMED_STEP
        if self._timed:
            self._step_cost_ns += own_time_ns(self._read_some)
        else:
            self._read_some()

    def _read_some(self) -> None:
        if self._pending and not self._capturing():  # then even a question is forbidden
            self._read(READ_PER_STEP)

    def _mark(self, category: int, ns: int) -> None:
        """From here on, `category`."""
        if self._timed:
            self._step_cost_ns += own_time_ns(self._marked, category, ns)
        else:
            self._marked(category, ns)

    def _marked(self, category: int, ns: int) -> None:
        whole, self._whole = self._whole, False  # until it is recorded
        if self._capturing():
            self._forget_closing()
            return
        event = self._recorded()
        self._whole = whole
        if self._closing:
            self._finish(event, ns, owns_last=False)
        self._marks.append((event, category, ns))

    def _recorded(self) -> Any:
        try:
            event = self._pool.pop() if self._pool else self._clock.new()
            self._record(event)
        except Exception:
            self._forget_closing()
            raise
        return event

    def _forget_closing(self) -> None:
        """The event that would have ended the step before cannot be recorded."""
        if self._closing:
            self._closing = False
            self._drop_marks()
            self._for_syncs.append(None)

    def _drop_marks(self) -> None:
        self._pool += [event for event, _, _ in self._marks]
        self._marks = []

    def _finish(self, last: Any, last_ns: int, *, owns_last: bool) -> None:
        self._closing = False
        step = _Pending(self._closing_ns, self._marks, last, last_ns, owns_last)
        self._marks = []
        if not self._closing_whole:
            self._give_up(step)
            return
        self._pending.append(step)
        if len(self._pending) > MAX_PENDING:
            # The oldest: an event that never completes must not hold up all later ones.
            self._give_up(self._pending.popleft())

    def _give_up(self, step: _Pending) -> None:
        self._for_syncs.append(None)
        self._release(step)

    def _release(self, step: _Pending) -> None:
        self._pool += step.events
        if step.owns_last:
            self._pool.append(step.last)

    # -- reading ---------------------------------------------------------------------------------

    def _read(self, limit: int) -> None:
        pending, clock = self._pending, self._clock
        while pending and limit and clock.done(pending[0].last):
            step = pending.popleft()
            limit -= 1
            events = step.events
            try:
                spans_ns = list(map(clock.elapsed_ns, events, [*events[1:], step.last]))
            except RuntimeError:  # an event in the middle of it never completed
                self._give_up(step)
                continue
            passed = DeviceSpans(step.first_ns, step.marks, spans_ns, step.last_ns)
            self._append((self._now_ns(), DEVICE, passed))
            self._for_syncs.append(passed)
            if step.owns_last:
                self._for_syncs.append(None)
            self._release(step)

    # -- the sink's thread -----------------------------------------------------------------------

    def read_syncs(self) -> int | None:
        """The category in which the host waits for the device in nearly every step, or None."""
        while self._for_syncs:
            step = self._for_syncs.popleft()
            if step is None:
                self._syncs.interrupted()
            else:
                self._syncs.add(*_for_syncs(step))
        return self._syncs.place


def _for_syncs(step: DeviceSpans) -> tuple[list[int], list[int], list[float]]:
    """Category from each mark on; at each mark and at the end the host's time and the device's."""
    categories = [category for _, category, _ in step.marks]
    host_ns = [*(ns for _, _, ns in step.marks), step.last_ns]
    return categories, host_ns, list(accumulate((max(0.0, span_ns) for span_ns in step.spans_ns), initial=0.0))


def own_time_ns(work: Callable[..., None], *args: Any) -> int:
    """CPU time of this thread, less what asking for it takes: a record that waits for room in the launch queue waits as
    any launch would, and a thread that is not running costs nothing.
    """
    asked_ns = thread_time_ns()
    began_ns = thread_time_ns()
    work(*args)
    return max(0, thread_time_ns() - began_ns - (began_ns - asked_ns))


# -- a loop whose steps nobody names ----------------------------------------------------------------


class DeviceSteps:
    """A meter for loops in which only fetches are seen: a step is all that follows one. Keras on torch, own loops.

    The host runs ahead of the device, so its marks say when work was handed over and not when it was done: the same
    moments are recorded as events in the device's stream.
    """

    def __init__(self, clock: DeviceClock, run: "WatchedRun") -> None:
        self.meter = DeviceMeter(clock, run.append, run.now_ns)
        self._guard, self._cost = run.guard, run.cost
        self._append = run.append
        self._begun = False  # a step has its batch and was handed to the device
        run.on_hand_over.append(self._tell_cost)

    def append(self, mark: Mark) -> None:
        """In place of the log's own: a BEGIN mark is the device's too."""
        self._append(mark)
        if mark[1] == BEGIN:
            self.begun(mark[0])

    def asked(self, ns: int) -> None:
        self._guard.run(self._next, ns)

    def got(self, ns: int) -> None:
        self._guard.run(self.meter.leave, INPUT, ns)

    def begun(self, ns: int) -> None:
        self._begun = True
        self._guard.run(self.meter.enter, COMPUTE, ns)

    def got_and_begun(self, ns: int) -> None:
        """The batch is there and the step begins in the same moment."""
        self._begun = True
        self._guard.run(self.meter.turn, COMPUTE, ns)

    def enter(self, category: int, ns: int) -> None:
        self._guard.run(self.meter.enter, category, ns)

    def leave(self, category: int, ns: int) -> None:
        self._guard.run(self.meter.leave, category, ns)

    def pause(self, ns: int) -> None:
        """Something that is no step comes next: an iterator, validation, the end of the epoch."""
        self._step_is_over()
        self.meter.epoch_end(ns)

    def close(self, ns: int) -> None:
        self.pause(ns)
        self.meter.close()

    def _next(self, ns: int) -> None:
        self._step_is_over()
        self.meter.enter(INPUT, ns)

    def _step_is_over(self) -> None:
        if self._begun:
            self._begun = False
            self.meter.trained()

    def _tell_cost(self) -> None:
        self._cost.add(self.meter.take_cost_ns())
