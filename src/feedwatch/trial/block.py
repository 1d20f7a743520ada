"""One turn of one variant: what is warm-up, what is counted, and when there is enough of it."""

from dataclasses import dataclass
from statistics import fmean, variance
from typing import Final

from feedwatch.trial.variant import Variant

# A block that holds fewer steps says little, however long they take.
LEAST_STEPS: Final = 8
# Parts of a block, from whose spread its uncertainty is known.
CHUNKS: Final = 8
# Two stretches of steps that are as close as this are the steady state.
STEADY: Final = 1.25
# So many stretches are waited for it. A loader that is never steady is counted as it is.
MOST_STRETCHES: Final = 4
LEAST_STRETCH: Final = 4
LONG_STRETCH_NS: Final = 300_000_000
LEAST_PATIENCE_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Block:
    """What was counted in one turn."""

    variant: Variant
    began_ns: int
    ended_ns: int
    steps: int
    counted_ns: int
    wait_ns: int | None
    chunks: tuple[float, ...]  # mean nanoseconds per step of each part

    @property
    def step_ns(self) -> float:
        """Per batch."""
        return self.counted_ns / self.steps / self.variant.batches

    @property
    def middle_ns(self) -> float:
        return (self.began_ns + self.ended_ns) / 2

    @property
    def error(self) -> float:
        """Standard error of the mean step, as a share of it."""
        if len(self.chunks) < 2:
            return 1.0
        return float((variance(self.chunks) / len(self.chunks)) ** 0.5 / fmean(self.chunks))


class BlockMeter:
    """Told of every boundary between two steps. `whole_epochs`: epochs are so short that their starts belong to what is
    compared; then whole epochs are counted, each with its start.
    """

    def __init__(self, variant: Variant, seconds: float, *, whole_epochs: bool = False, first: bool = True) -> None:
        self.variant = variant
        self._wanted_ns = int(seconds * 1e9)
        self._epochs = whole_epochs
        self._first = first  # the variant's first turn: its first epoch pays for what is only made once
        self._warm_left = 0 if whole_epochs else variant.warm_up + (variant.fill if first else 0)
        self._stretch: list[int] = []
        self._before: float | None = None
        self._unsteady_ns = 0
        self._stretches = 0
        self._counting = False
        self._from_here = False  # counting has just begun
        self._restarts = 0
        self._timed = False
        self._last_ns: int | None = None
        self._began_ns = 0
        self._steps: list[int] = []
        self._pending: list[int] = []
        self._wait_ns = 0
        self._waits_seen = False
        self._pending_wait_ns = 0

    # -- what happens ----------------------------------------------------------------------------

    def boundary(self, now_ns: int) -> None:
        """A step has ended, and the next batch is about to be asked for."""
        last_ns, self._last_ns = self._last_ns, now_ns
        if last_ns is None:
            return
        self._timed = True
        took_ns = now_ns - last_ns
        if self._counting:
            self._pending.append(took_ns)
            if not self._epochs and len(self._pending) == self.variant.lanes:
                self._keep()
        elif not self._epochs:
            self._warm(took_ns, now_ns)

    def waited(self, wait_ns: int) -> None:
        self._waits_seen = True
        if self._counting:
            self._pending_wait_ns += wait_ns

    def pause(self) -> None:
        """The loop did something else: the step under way does not count."""
        self._last_ns = None
        self._drop()

    def restart(self, now_ns: int) -> None:
        """The data has ended, and begins again. `now_ns`: before it was asked to."""
        self._restarts += 1
        if self._epochs:
            if self._counting:
                self._keep()
            elif not self._first or self._restarts > 1:
                self._begin(now_ns)
                self._last_ns = now_ns
            return
        self._drop()
        self._last_ns = None
        self._counting = False
        self._warm_left = self.variant.warm_up
        self._stretch, self._before, self._stretches = [], None, 0

    # -- what came of it -------------------------------------------------------------------------

    @property
    def untouched(self) -> bool:
        """Its turn has just begun."""
        return not self._restarts and not self._timed

    def long_enough(self, now_ns: int) -> bool:
        return self._counting and now_ns - self._began_ns >= self._wanted_ns

    def enough(self, now_ns: int) -> bool:
        whole = self._epochs or not self._pending
        return self.long_enough(now_ns) and len(self._steps) >= LEAST_STEPS and whole

    @property
    def counts_from_here(self) -> bool:
        return self._from_here and not self._epochs

    def counts_from(self, now_ns: int) -> None:
        """The device has caught up with the warm-up, which took until now."""
        self._from_here = False
        self._last_ns = now_ns
        if not self._steps:
            self._began_ns = now_ns

    def block(self, now_ns: int) -> Block | None:
        """None: nothing whole was counted."""
        if not self._steps:
            return None
        return Block(
            self.variant,
            self._began_ns,
            now_ns,
            len(self._steps),
            sum(self._steps),
            self._wait_ns if self._waits_seen else None,
            _chunks(self._steps, self.variant.lanes),
        )

    def _warm(self, took_ns: int, now_ns: int) -> None:
        if self._warm_left > 0:
            self._warm_left -= 1
            return
        self._stretch.append(took_ns)
        self._unsteady_ns += took_ns
        if len(self._stretch) < self._stretch_steps:
            return
        now, before, self._stretch = fmean(self._stretch), self._before, []
        self._before = now
        self._stretches += 1
        steady = before is not None and 1 / STEADY <= now / max(before, 1.0) <= STEADY
        if steady or self._stretches >= MOST_STRETCHES or self._unsteady_ns > max(self._wanted_ns, LEAST_PATIENCE_NS):
            self._begin(now_ns)

    @property
    def _stretch_steps(self) -> int:
        """Long steps are told by fewer of them."""
        long = sum(self._stretch) > LONG_STRETCH_NS
        return max(LEAST_STRETCH // 2 if long else LEAST_STRETCH, self.variant.lanes)

    def _begin(self, now_ns: int) -> None:
        self._counting = self._from_here = True
        if not self._steps:
            self._began_ns = now_ns
        self._drop()

    def _keep(self) -> None:
        self._steps += self._pending
        self._wait_ns += self._pending_wait_ns
        self._drop()

    def _drop(self) -> None:
        self._pending, self._pending_wait_ns = [], 0


def _chunks(steps: list[int], lanes: int) -> tuple[float, ...]:
    """Whole rounds of workers each, at most CHUNKS of them."""
    rounds = max(1, len(steps) // lanes)
    size = lanes * max(1, -(-rounds // CHUNKS))
    parts = [steps[at : at + size] for at in range(0, len(steps), size)]
    if len(parts) > 1 and len(parts[-1]) < size:
        parts[-2:] = [parts[-2] + parts[-1]]
    return tuple(fmean(part) for part in parts)
