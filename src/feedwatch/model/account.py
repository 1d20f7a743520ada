"""Where the wall time of a run went, from its first steady step on. The parts add up to the whole."""

from dataclasses import dataclass, replace
from typing import Final

from feedwatch.model.steps import COMPUTE, H2D, INPUT_WAIT, OTHER

EPOCH_START: Final = "epoch_start"  # starting the loader, and the first batch of an epoch
VALIDATION: Final = "validation"
GAP: Final = "gap"  # between two epochs: checkpoints, callbacks, the framework's own work

PARTS: Final = (INPUT_WAIT, H2D, COMPUTE, OTHER, EPOCH_START, VALIDATION, GAP)


@dataclass(frozen=True, slots=True)
class Account:
    """All figures are totals. What is divided by `batches` is a mean, and means add up."""

    batches: int
    epochs: int  # epoch starts in it
    wall_ns: int
    parts_ns: dict[str, int | None]  # None: not measured; its time is then in `other`
    starved_ns: int | None = None  # device clock: how long the device had no work during the steps' waits
    epoch_batches: float | None = None  # of a whole epoch, where one was seen

    @property
    def batch_ms(self) -> float:
        """Wall time per batch, epoch starts, validation and gaps included."""
        return self.wall_ns / max(1, self.batches) / 1e6

    def ms(self, part: str) -> float | None:
        """Per batch."""
        total_ns = self.parts_ns.get(part)
        return None if total_ns is None else total_ns / max(1, self.batches) / 1e6

    def share(self, part: str) -> float | None:
        total_ns = self.parts_ns.get(part)
        return None if total_ns is None or self.wall_ns <= 0 else total_ns / self.wall_ns

    @property
    def stalled_ns(self) -> int | None:
        """Time in which the device, or where only the host can be seen the loop, waited for input: in the steps and at
        epoch starts.
        """
        waited_ns = self.parts_ns.get(INPUT_WAIT) if self.starved_ns is None else self.starved_ns
        return None if waited_ns is None else waited_ns + (self.parts_ns.get(EPOCH_START) or 0)

    @property
    def stall_ratio(self) -> float | None:
        stalled_ns = self.stalled_ns
        return None if stalled_ns is None or self.wall_ns <= 0 else min(1.0, stalled_ns / self.wall_ns)

    @property
    def stalled_ms(self) -> float | None:
        """Per batch."""
        return None if self.stalled_ns is None else self.stalled_ns / max(1, self.batches) / 1e6

    @property
    def typical(self) -> "Account":
        """As it would be over whole epochs: a run of three epochs has seen two epoch starts, because its own start is
        not in it.
        """
        if not self.epochs or not self.epoch_batches:
            return self
        often = max(1.0, self.batches / self.epoch_batches / self.epochs)
        aside: dict[str, int | None] = {
            part: round(often * (self.parts_ns.get(part) or 0)) for part in (EPOCH_START, VALIDATION, GAP)
        }
        before_ns = sum(self.parts_ns.get(part) or 0 for part in aside)
        wall_ns = self.wall_ns - before_ns + sum(value or 0 for value in aside.values())
        return replace(self, wall_ns=wall_ns, parts_ns=self.parts_ns | aside)

    def with_copies(self, copy_ms_per_step: float, steps_per_batch: float) -> "Account":
        """Copies that a profiler sampled are taken out of compute: the parts still add up."""
        compute_ns = self.parts_ns.get(COMPUTE)
        if compute_ns is None or self.parts_ns.get(H2D) is not None:
            return self
        copies_ns = min(compute_ns, round(copy_ms_per_step * 1e6 * steps_per_batch * self.batches))
        return replace(self, parts_ns=self.parts_ns | {H2D: copies_ns, COMPUTE: compute_ns - copies_ns})
