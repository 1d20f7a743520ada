"""The training thread's side: step records are collected and handed over once per window, without waiting."""

from collections.abc import Callable
from typing import Final

from feedwatch.measure.clock import Clock
from feedwatch.measure.window import Piece
from feedwatch.model.steps import EpochGap, StepKind, StepRecord

# Memory stays bounded even at a microsecond per step: a slice never holds more records than this.
MAX_SLICE_STEPS: Final = 4096
# Fewer steps than this have no median worth showing.
MIN_SLICE_STEPS: Final = 4


class StepRecorder:
    """Call `add` once per finished step. Everything else happens on another thread."""

    __slots__ = (
        "_clock",
        "_epoch_first",
        "_gaps",
        "_marks",
        "_put",
        "_records",
        "_warmup_left",
        "_window_ns",
        "_window_wall_ns",
        "dropped",
        "min_steps",
    )

    def __init__(self, clock: Clock, put: Callable[[Piece], None], window_seconds: float, warmup_steps: int) -> None:
        self._clock = clock
        self._put = put
        self._window_ns = int(window_seconds * 1e9)
        self._warmup_left = warmup_steps
        self._epoch_first = True
        self._records: list[StepRecord] = []
        self._gaps: list[EpochGap] = []
        self._marks: list[tuple[int, str]] = []
        self._window_wall_ns = 0
        self.dropped = 0
        # Workers deliver in rounds (one slow batch, then N-1 fast ones): the hook raises this to two whole rounds.
        self.min_steps = MIN_SLICE_STEPS

    def add(self, record: StepRecord) -> None:
        if self._warmup_left > 0 or self._epoch_first:
            record = self._apart(record)
        records = self._records
        records.append(record)
        self._window_wall_ns += record.wall_ns
        if (self._window_wall_ns >= self._window_ns and len(records) >= self.min_steps) or (
            len(records) >= MAX_SLICE_STEPS
        ):
            self.hand_over()

    def epoch_begin(self, epoch: int, step: int) -> None:
        """The next step carries iter(), worker start and the first fill of buffers. `step`: steps done so far."""
        self._epoch_first = True
        if len(self._marks) < MAX_SLICE_STEPS:
            self._marks.append((step, f"epoch {epoch + 1}"))

    def gap(self, gap: EpochGap) -> None:
        if len(self._gaps) < MAX_SLICE_STEPS:
            self._gaps.append(gap)

    def hand_over(self) -> None:
        if not self._records and not self._gaps:
            return
        records, self._records = self._records, []
        gaps, self._gaps = self._gaps, []
        marks, self._marks = tuple(self._marks), []
        self._window_wall_ns = 0
        self._put(Piece(records, gaps, self._clock.wall_s(), self._clock.now_ns(), self.dropped, marks))

    def _apart(self, record: StepRecord) -> StepRecord:
        if self._warmup_left > 0:
            self._warmup_left -= 1
            kind = StepKind.WARMUP
        else:
            kind = StepKind.EPOCH_FIRST
        self._epoch_first = False
        return record if record.kind is StepKind.WARMUP else record._replace(kind=kind)
