"""A few steps as they really were: what the training loop, the device and the loading did when."""

from dataclasses import dataclass
from typing import Final

# Who has a lane of its own.
LOOP: Final = "loop"
DEVICE: Final = "device"
LOADING: Final = "loading"  # in the training process, between the steps
WORKER: Final = "worker"
STAGE: Final = "stage"  # of tf.data: an estimate, see report/lanes.py

# Why these steps were kept.
LAST: Final = "last"
SLOWEST: Final = "slowest"
SAMPLE: Final = "sample"

# What a span of the loop or the device was: a place in this list.
SPAN_PHASES: Final = ("input_wait", "h2d", "compute", "other", "validation", "epoch_start")


@dataclass(frozen=True, slots=True)
class Lane:
    """Spans in the order of their begins. Columns instead of objects: a report has to stay small."""

    kind: str  # loop | device | loading | worker | stage
    name: str
    begin_us: tuple[int, ...] = ()  # from the excerpt's begin; below 0 where it began before
    took_us: tuple[int, ...] = ()
    phase: tuple[int, ...] = ()  # loop and device: a place in SPAN_PHASES
    batch: tuple[int, ...] = ()  # its number in its epoch, from 1 on; 0: not known
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive steps."""

    why: str  # last | slowest | sample
    step: tuple[int, ...]
    begin_us: tuple[int, ...]  # of each step, from the first one's begin
    wall_us: int
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class TimelineSection:
    excerpts: tuple[Excerpt, ...] = ()
