"""Fetches and results that overlap the steps: which call a fetch belongs to, and who waited for what.

Pure arithmetic over monotonic nanoseconds. Three things become known later than the marks of the training thread: when
a graph fetched its batches, when a result was there, and how long the device took.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from feedwatch.measure.marks import Fetch


class Attributed(NamedTuple):
    wait_ns: int
    compute_ns: int


def take_fetches(rows: deque[Fetch], begin_ns: int, end_ns: int, most: int) -> list[Fetch]:
    """The fetches of one call, taken off `rows` in order and moved into the call.

    The graph stamps the wall clock and the hook a monotonic one, so a stamp may lie a little outside its call. A call
    takes no more fetches than it asked for: earlier ones are left over from a call that never ended.
    """
    mine: list[Fetch] = []
    while rows and rows[0][0] < end_ns:
        mine.append(rows.popleft())
    if len(mine) > most:
        mine = mine[-most:]
    if mine and (mine[0][0] < begin_ns or mine[-1][1] > end_ns):
        mine = [
            Fetch(min(max(asked, begin_ns), end_ns), min(max(got, begin_ns), end_ns), samples)
            for asked, got, samples in mine
        ]
    return mine


def attribute(start_ns: int, fetches: Sequence[Fetch], end_ns: int) -> Attributed:
    """Who waited for what inside one call of n fetches.

    With several steps per execution fetch i+1 overlaps compute i, so adding up the fetches overstates the wait. A
    step starts when its batch is there and the step before is done; with equal compute c per step the last one
    ends at max over j of (got_j + (n-j) c), which is the end we saw: that gives c, and c gives every wait.
    `start_ns` is when the device was last known to be free.
    """
    count = len(fetches)
    if not count:
        return Attributed(0, max(0, end_ns - start_ns))
    if count == 1:
        asked_ns, got_ns, _ = fetches[0]
        return Attributed(max(0, got_ns - max(start_ns, asked_ns)), max(0, end_ns - got_ns))
    each_ns = _each_ns(fetches, end_ns)
    wait_ns, free_ns = 0.0, float(start_ns)
    for asked_ns, got_ns, _ in fetches:
        if got_ns > free_ns:
            wait_ns += max(0.0, got_ns - max(free_ns, asked_ns))
            free_ns = got_ns
        free_ns += each_ns
    return Attributed(int(wait_ns), int(each_ns * count))


def wait_spans(start_ns: int, fetches: Sequence[Fetch], end_ns: int) -> list[tuple[int, int]]:
    """From when to when one call waited: the moments behind what `attribute` adds up."""
    each_ns, free_ns = _each_ns(fetches, end_ns), float(start_ns)
    waits: list[tuple[int, int]] = []
    for asked_ns, got_ns, _ in fetches:
        if got_ns > free_ns:
            waits.append((round(max(free_ns, asked_ns)), got_ns))
            free_ns = got_ns
        free_ns += each_ns
    return waits


def _each_ns(fetches: Sequence[Fetch], end_ns: int) -> float:
    """The compute per batch that explains the end of the call."""
    count = len(fetches)
    return max(0.0, min([(end_ns - got_ns) / (count - j) for j, (_, got_ns, _) in enumerate(fetches)]))


class DeviceSpan(NamedTuple):
    """One call with asynchronous dispatch, from when the device was free to when the result was there."""

    wall_ns: int
    starved_ns: int
    compute_ns: int


def device_span(begin_ns: int, fetches: Sequence[Fetch], free_ns: int, done_ns: int) -> DeviceSpan:
    """The host may wait for a batch while the device still works on the last one: only the part of a fetch after
    `free_ns` starves the device.
    """
    wall_ns = max(1, done_ns - free_ns)
    found = attribute(free_ns, fetches, max(done_ns, fetches[-1].got_ns))
    starved_ns = min(found.wait_ns, wall_ns)
    # With one batch the step runs from its dispatch; with several only the chain of fetches can tell.
    ran_ns = found.compute_ns
    if len(fetches) == 1:
        ran_ns = done_ns - max(begin_ns, free_ns, fetches[0].got_ns)
    return DeviceSpan(wall_ns, starved_ns, max(0, min(ran_ns, wall_ns - starved_ns)))


def total_samples(fetches: Sequence[Fetch], per_batch: int | None) -> int | None:
    """`per_batch`: for fetches that do not tell. None: one of them is not known."""
    total = 0
    for _, _, counted in fetches:
        samples = per_batch if counted is None else counted
        if samples is None:
            return None
        total += samples
    return total
