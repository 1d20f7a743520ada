"""Which steps a report shows one by one: the last ones, those around the slowest, and a few from all over the run.

A ring of raw marks is kept on the sink's side, and read a second time (spans.py) for those steps only. The training
thread does nothing for it.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import attrgetter
from typing import Final, NamedTuple

from feedwatch.measure.marks import DEVICE, DONE, EPOCH_END, Fetch, Mark
from feedwatch.measure.spans import Moments, Span, SpanReader
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import Piece
from feedwatch.model import timeline
from feedwatch.model.pipeline import Made
from feedwatch.model.steps import StepKind, StepRecord
from feedwatch.model.timeline import Excerpt, Lane, TimelineSection

# Enough for the last steps with a dozen callbacks each.
RING_MARKS: Final = 1024
RING_FETCHES: Final = 256
LAST_STEPS: Final = 12
AROUND: Final = 2  # steps before and behind the slowest one
SAMPLE_AROUND: Final = 2
MOST_SAMPLES: Final = 8
# Of one lane in one excerpt, and of lanes: a report stays small however short the batches and many the workers are.
MOST_SPANS: Final = 96
MOST_WORKER_SPANS: Final = 256  # of all workers of one excerpt
MOST_WORKERS: Final = 16
# In the report's JSON, of the whole section.
MOST_BYTES: Final = 20_000
_WALL_NS: Final = attrgetter("wall_ns")
_BATCHES: Final = attrgetter("batches")


class _Step(NamedTuple):
    record: StepRecord
    first_batch: int  # number of its first batch in its epoch, from 1 on; 0: not known


class Timeline:
    def __init__(self, reader: StepReader) -> None:
        # What the loader's workers made lately; asked for on the sink's thread.
        self.made: Callable[[], Sequence[Made]] = tuple
        self._reader = reader
        self._marks: list[Mark] = []
        self._rows: deque[Fetch] = deque(maxlen=RING_FETCHES)
        self._last: deque[_Step] = deque(maxlen=LAST_STEPS)
        self._slowest: Excerpt | None = None
        self._slowest_ns = 0
        self._samples: list[Excerpt] = []
        self._pieces = 0
        self._every = 1
        self._batches: int | None = 0  # of this epoch so far; None: marks were lost in it
        self._dropped = 0

    def see(self, marks: Sequence[Mark], rows: Iterable[Fetch], pieces: Sequence[Piece]) -> None:
        """Marks as they were handed over, and the windows that they completed. On the sink's thread."""
        self._marks = [*self._marks[-RING_MARKS:], *marks]
        self._rows.extend(rows)
        for piece in pieces:
            self._take(piece)
        self._marks = self._marks[-RING_MARKS:]

    def section(self) -> TimelineSection | None:
        """None before the first step. Of too many samples every other one is left out."""
        last, samples = self._excerpt(timeline.LAST, list(self._last)), self._samples
        while True:
            kept = tuple(each for each in (last, self._slowest, *samples) if each is not None)
            if not samples or sum(map(size_bytes, kept)) <= MOST_BYTES:
                return TimelineSection(kept) if kept else None
            samples = samples[1::2]

    def _take(self, piece: Piece) -> None:
        records = piece.records
        if not records:
            return
        numbers = self._numbers(piece)
        steps = [_Step(*each) for each in zip(records[-LAST_STEPS:], numbers[-LAST_STEPS:], strict=True)]
        self._last.extend(steps)
        if max(map(_WALL_NS, records)) > self._slowest_ns:
            self._see_slowest(piece, numbers)
        if self._pieces % self._every == 0:
            self._sample(piece, numbers)
        self._pieces += 1

    def _see_slowest(self, piece: Piece, numbers: list[int]) -> None:
        walls_ns = [record.wall_ns if record.kind is StepKind.STEADY else 0 for record in piece.records]
        longest_ns = max(walls_ns)
        if longest_ns > self._slowest_ns:
            self._slowest_ns, at = longest_ns, walls_ns.index(longest_ns)
            self._slowest = self._around(timeline.SLOWEST, piece, numbers, at, AROUND) or self._slowest

    def _sample(self, piece: Piece, numbers: list[int]) -> None:
        found = self._around(timeline.SAMPLE, piece, numbers, len(numbers) // 2, SAMPLE_AROUND)
        if found is not None:
            self._samples.append(found)
        if len(self._samples) > MOST_SAMPLES:
            self._samples = self._samples[::2]
            self._every *= 2

    def _around(self, why: str, piece: Piece, numbers: list[int], at: int, reach: int) -> Excerpt | None:
        near = slice(max(0, at - reach), at + reach + 1)
        return self._excerpt(why, [_Step(*each) for each in zip(piece.records[near], numbers[near], strict=True)])

    def _numbers(self, piece: Piece) -> list[int]:
        """The number of each step's first batch in its epoch, from 1 on; 0: not known."""
        if piece.dropped != self._dropped:
            self._dropped, self._batches = piece.dropped, None
        if not piece.epochs:
            return self._counted(piece.records)
        begins = [step for step, _ in piece.epochs]
        numbers: list[int] = []
        for begin, end in zip([None, *begins], [*begins, None], strict=True):
            if begin is not None:
                self._batches = 0
            numbers += self._counted(
                [
                    record
                    for record in piece.records
                    if (begin is None or record.step > begin) and (end is None or record.step <= end)
                ]
            )
        return numbers

    def _counted(self, records: Sequence[StepRecord]) -> list[int]:
        if self._batches is None:
            return [0] * len(records)
        *numbers, behind = accumulate(map(_BATCHES, records), initial=self._batches + 1)
        self._batches = behind - 1
        return numbers

    # -- a few steps, read again -------------------------------------------------------------------

    def _excerpt(self, why: str, steps: Sequence[_Step]) -> Excerpt | None:
        known = [step for step in steps if step.record.began_ns is not None]
        if not known:
            return None
        from_ns = known[0].record.began_ns or 0
        to_ns = (known[-1].record.began_ns or 0) + known[-1].record.wall_ns
        moments = self._moments(from_ns, to_ns)
        loop = _within(moments.host, from_ns, to_ns)
        if not loop or loop[0].from_ns > from_ns:
            return None  # its marks are gone
        lanes = [_loop(loop, from_ns, _batches(known, moments.fetches))]
        on_device = _within(moments.device, from_ns, to_ns)
        if on_device:
            lanes.append(_lane(timeline.DEVICE, "Device", on_device, from_ns))
        lanes += _workers(self.made(), from_ns, to_ns)
        return Excerpt(
            why,
            tuple(step.record.step for step in known),
            tuple(_us((step.record.began_ns or 0) - from_ns) for step in known),
            _us(to_ns - from_ns),
            tuple(lanes),
        )

    def _moments(self, from_ns: int, to_ns: int) -> Moments:
        late = (DEVICE, DONE)
        marks = [mark for mark in self._marks if from_ns <= mark[0] and (mark[0] <= to_ns or mark[1] in late)]
        # The last step is open until something closes it.
        reader = SpanReader(self._reader.way, measured=self._reader.measured)
        rows = [row for row in self._rows if from_ns <= row.got_ns and row.asked_ns <= to_ns]
        return reader.moments([*marks, (to_ns, EPOCH_END, None)], rows)


def _within(spans: Iterable[Span], from_ns: int, to_ns: int) -> list[Span]:
    cut = [Span(span.phase, max(span.from_ns, from_ns), min(span.to_ns, to_ns)) for span in spans]
    return [span for span in cut if span.to_ns > span.from_ns]


def _batches(steps: Sequence[_Step], fetches: Sequence[Fetch]) -> dict[int, int]:
    """The number of each batch, by the moment it was there."""
    numbers = [
        step.first_batch + at if step.first_batch else 0 for step in steps for at in range(max(1, step.record.batches))
    ]
    return {fetch.got_ns: number for fetch, number in zip(fetches, numbers, strict=False)}


def _loop(spans: list[Span], from_ns: int, numbers: dict[int, int]) -> Lane:
    lane = _lane(timeline.LOOP, "Training loop", spans, from_ns)
    return Lane(
        lane.kind,
        lane.name,
        lane.begin_us,
        lane.took_us,
        lane.phase,
        tuple(numbers.get(span.to_ns, 0) for span in spans[:MOST_SPANS]),
    )


def _lane(kind: str, name: str, spans: list[Span], from_ns: int) -> Lane:
    shown = spans[:MOST_SPANS]
    return Lane(
        kind,
        name,
        tuple(_us(span.from_ns - from_ns) for span in shown),
        tuple(_us(span.to_ns - span.from_ns) for span in shown),
        tuple(span.phase for span in shown),
    )


def _workers(made: Sequence[Made], from_ns: int, to_ns: int) -> list[Lane]:
    lanes = []
    workers = sorted({each.worker for each in made})[:MOST_WORKERS]
    for worker in workers:
        mine = [each for each in made if each.worker == worker and each.end_ns > from_ns and each.begin_ns < to_ns]
        shown = mine[-MOST_WORKER_SPANS // len(workers) :]
        lanes.append(
            Lane(
                timeline.WORKER,
                f"Worker {worker}",
                tuple(_us(each.begin_ns - from_ns) for each in shown),
                tuple(_us(each.end_ns - each.begin_ns) for each in shown),
                batch=tuple(each.batch for each in shown),
            )
        )
    return lanes


def size_bytes(excerpt: Excerpt) -> int:
    """About its size in the report."""
    columns = [excerpt.step, excerpt.begin_us]
    for lane in excerpt.lanes:
        columns += [lane.begin_us, lane.took_us, lane.phase, lane.batch]
    return 80 + 120 * len(excerpt.lanes) + sum(len(str(value)) + 2 for column in columns for value in column)


def _us(ns: int) -> int:
    return round(ns / 1000)
