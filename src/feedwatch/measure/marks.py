"""The log that a hook writes: marks of the form (ns, what, detail), in the order in which they were taken.

Between two steps every cache is cold, and a function called there costs ten times what it costs in a loop. So a hook
decides nothing: it appends a tuple, and the sink's thread finds out later what the marks mean (`measure/steps.py`).
"""

from typing import Any, Final, NamedTuple

from feedwatch.measure.clock import SYSTEM_CLOCK, Clock

# -- what the training thread can be busy with: the detail of ENTER, LEAVE and WAS ---------------------

OTHER: Final = 0  # everything that nobody claims
INPUT: Final = 1
H2D: Final = 2
COMPUTE: Final = 3
VALIDATION: Final = 4
LOADER_START: Final = 5  # iter(loader): starting workers
FIRST_NAMED: Final = 6  # from here on: the user's callbacks and loggers, numbered by the hook

# -- what a mark says -----------------------------------------------------------------------------------

ENTER: Final = 0  # the thread begins to do `detail`, a category
LEAVE: Final = 1  # it ends doing `detail`
GOT: Final = 2  # it leaves INPUT with a batch of `detail` samples (None: not known)
BEGIN: Final = 3  # the train function is called next; `detail`: the number of its first batch in this epoch
WAS: Final = 4  # everything since the mark before this one was `detail`, a category
END: Final = 5  # the train function has returned, on the training thread
TRAINED: Final = 6  # the step has done its work; `detail`: samples per batch, or None
TRACED: Final = 7  # the train function was compiled since BEGIN
EPOCH: Final = 8  # an epoch begins; `detail`: (its number, steps done so far or None)
EPOCH_END: Final = 9
DONE: Final = 10  # the result of a call is there, told by any thread; `detail`: the number of one of its batches
DEVICE: Final = 11  # `detail`: DeviceSpans of a step that the device has passed
ABANDON: Final = 12  # the fit failed: a call that has not ended was not trained
PROFILED: Final = 13  # a profiler window of ours touches this step

Mark = tuple[int, int, Any]


class DeviceTimes(NamedTuple):
    """One step on the device's own clock. `first_ns` is the host's time of the mark that opened the step."""

    first_ns: int
    wall_ns: int
    wait_ns: int
    copy_ns: int
    compute_ns: int


class DeviceSpans(NamedTuple):
    """What the device's clock was asked on the training thread; adding it up is for the sink's thread."""

    first_ns: int
    marks: list[tuple[Any, int, int]]  # event, category from it on, the host's time
    spans_ns: list[float]  # on the device, from each mark to the next
    last_ns: int  # the host's time of the mark that ended the step

    def times(self) -> DeviceTimes:
        spent = [0.0] * FIRST_NAMED
        for (_, category, _), span_ns in zip(self.marks, self.spans_ns, strict=True):
            spent[category] += max(0.0, span_ns)
        wall_ns = sum(spent) - spent[VALIDATION]
        return DeviceTimes(self.first_ns, round(wall_ns), round(spent[INPUT]), round(spent[H2D]), round(spent[COMPUTE]))


class Fetch(NamedTuple):
    """One batch asked for and handed over."""

    asked_ns: int
    got_ns: int
    samples: int | None = None


class Log(NamedTuple):
    """What the training thread hands over: the marks since the last time, and two clocks at the end of them."""

    marks: list[Mark]
    ended_s: float
    ended_ns: int


# Soon after the first steps, then less and less often up to once per window: the first marks are wanted early.
FIRST_HAND_OVER_NS: Final = 50_000_000
LATER_BY: Final = 4
# A window of microsecond steps must not fill the memory: about four marks per step, 4,096 steps.
MOST_MARKS: Final = 16_384


class Marks:
    """A hook may keep `append`: the list stays the same object for the whole run.

    `due_ns`, `most`: when, or with how many marks waiting, the hook has to hand them over.
    """

    __slots__ = ("_clock", "_every_ns", "_most_every_ns", "append", "due_ns", "most", "rows")

    def __init__(self, window_ns: int, clock: Clock = SYSTEM_CLOCK, most: int = MOST_MARKS) -> None:
        self.rows: list[Mark] = []
        self.append = self.rows.append
        self.most = most
        self._clock = clock
        self._most_every_ns = window_ns
        self._every_ns = min(FIRST_HAND_OVER_NS, window_ns)
        self.due_ns = clock.now_ns() + self._every_ns

    def take(self) -> Log:
        """All marks so far. Another thread may append meanwhile: its mark stays for the next time."""
        taken = self.rows[:]
        del self.rows[: len(taken)]
        now_ns = self._clock.now_ns()
        self.due_ns = now_ns + self._every_ns
        self._every_ns = min(LATER_BY * self._every_ns, self._most_every_ns)
        return Log(taken, self._clock.wall_s(), now_ns)


# A mark between two steps takes about four times as long as one in a loop (measured: 0.75 µs against 0.2).
COLD: Final = 4
CALIBRATING_MARKS: Final = 32
CALIBRATING_ROUNDS: Final = 4


def mark_cost_ns(clock: Clock = SYSTEM_CLOCK) -> float:
    """What one mark costs between two steps, from how long it takes here in a loop."""
    return COLD * min(_loop_ns(clock) for _ in range(CALIBRATING_ROUNDS))


def _loop_ns(clock: Clock) -> float:
    now_ns, append = clock.now_ns, list[Mark]().append
    began_ns = now_ns()
    for number in range(CALIBRATING_MARKS):
        append((now_ns(), BEGIN, number))
    return (now_ns() - began_ns) / CALIBRATING_MARKS
