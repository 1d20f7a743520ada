"""Marks of the loop become step records and epoch gaps. Everything here runs on the training thread.

A step reaches from its first fetch to the next step's first fetch, and counts only when `on_train_batch_end` was
reached: a step that raised, or that the user skipped with `return -1`, is partial and counted as such.
"""

from collections.abc import Callable
from operator import add
from typing import Final, Protocol

from feedwatch.hooks.lightning.categories import COMPUTE, H2D, INPUT, LOADER_START, NAMES, OTHER, VALIDATION
from feedwatch.measure.ledger import Ledger
from feedwatch.measure.recorder import StepRecorder
from feedwatch.model.steps import EpochGap, StepRecord

# Looked at more closely: the loader's queue, CPU time of the fetch. A prime, so that the sampled steps do not
# meet the same worker again and again.
SAMPLE_EVERY: Final = 7


class DeviceSide(Protocol):
    """What the device clock needs to hear; see hooks/torch/device_meter.py."""

    def step_begin(self) -> None: ...
    def mark(self, category: int) -> None: ...
    def step_end(self, row: StepRecord) -> None: ...
    def epoch_end(self) -> None: ...


class FetchSide(Protocol):
    """Looks at the fetch of a sampled step."""

    def before_fetch(self) -> None: ...
    def after_fetch(self, wait_ns: int) -> None: ...


class StepMarks:
    def __init__(self, recorder: StepRecorder, now_ns: Callable[[], int]) -> None:
        self.recorder = recorder
        self.ledger = Ledger(NAMES, now_ns)
        self.device: DeviceSide | None = None
        self.fetch_side: FetchSide | None = None
        self.step = 0  # batches trained so far, resumed ones included
        self.steps = 0  # of this fit
        self.partial = 0
        self.ended = 0  # calls of on_train_batch_end
        self.samples: int | None = None
        self.seen: set[int] = set()  # categories that this Lightning really marks
        self.totals_ns = [0] * len(NAMES)
        self.largest_ns = [0] * len(NAMES)  # in one step: what a first use costs once must not look like a habit
        self._now_ns = now_ns
        self._opaque = 0
        self._open = self._trained = False
        self._fetches = 0
        self._started = self._in_compute = False
        self.sampling = False
        self._fetch_began_ns = 0

    # -- the loop's marks ------------------------------------------------------------------------

    def fetch_begin(self) -> None:
        if self._opaque:
            return
        if self._trained or not self._open:
            self._begin_step()
        self._fetches += 1
        if self.sampling and self.fetch_side is not None:
            self.fetch_side.before_fetch()
            self._fetch_began_ns = self._now_ns()
        if self.device is not None:
            self.device.mark(INPUT)
        self.ledger.push(INPUT)

    def fetch_end(self) -> None:
        if self._opaque:
            return
        self.ledger.pop(INPUT)
        if self.device is not None:
            self.device.mark(COMPUTE if self._in_compute else OTHER)
        if self.sampling and self.fetch_side is not None:
            self.fetch_side.after_fetch(self._now_ns() - self._fetch_began_ns)

    def compute_begin(self) -> None:
        if self._opaque:
            return
        if self._trained or not self._open:  # dataloader_iter: no fetch has opened the step
            self._begin_step()
        self._in_compute = True
        self.ledger.push(COMPUTE)
        if self.device is not None:
            self.device.mark(COMPUTE)

    def compute_end(self) -> None:
        if self._opaque:
            return
        if self.device is not None:
            self.device.mark(OTHER)
        self.ledger.pop(COMPUTE)
        self._in_compute = False

    def backward_begin(self) -> None:
        """A mark in mid-step: only with it can a read of the loss be told from a long step."""
        if self.device is not None and self._in_compute and not self._opaque:
            self.device.mark(COMPUTE)

    def copy_begin(self) -> None:
        if self._opaque:
            return
        if self.device is not None:
            self.device.mark(H2D)
        self.ledger.push(H2D)

    def copy_end(self) -> None:
        if self._opaque:
            return
        self.ledger.pop(H2D)
        if self.device is not None:
            self.device.mark(COMPUTE if self._in_compute else OTHER)

    def span_begin(self, category: int) -> None:
        if not self._opaque:
            self.ledger.push(category)

    def span_end(self, category: int) -> None:
        if not self._opaque:
            self.ledger.pop(category)

    def trained(self, samples: int | None) -> None:
        """From `on_train_batch_end`."""
        self._trained = True
        self.ended += 1
        self.samples = samples

    @property
    def opaque(self) -> bool:
        return self._opaque > 0

    @property
    def in_steps(self) -> bool:
        """The first step has begun."""
        return self._started

    # -- what surrounds the steps ----------------------------------------------------------------

    def opaque_begin(self, category: int) -> None:
        """Validation, or the start of the loader: one lump, whatever happens inside."""
        if not self._opaque and category == VALIDATION and self._open and self.device is not None:
            self.device.mark(VALIDATION)
        self.ledger.push(category)
        self._opaque += 1

    def opaque_end(self, category: int) -> None:
        self._opaque -= 1
        self.ledger.pop(category)
        if not self._opaque and category == VALIDATION and self._open and self.device is not None:
            self.device.mark(OTHER)

    def epoch_begin(self, epoch: int, step: int) -> None:
        self.step = step
        self.recorder.epoch_begin(epoch, step)

    def epoch_end(self) -> None:
        if not self._open:
            return
        if self._trained:
            self._end_step()
        else:
            self.partial += 1
            self.ledger.cut()
        if self.device is not None:
            self.device.epoch_end()
        self._open = self._trained = False
        self._fetches = 0

    # -- records ---------------------------------------------------------------------------------

    def _begin_step(self) -> None:
        if self._open:
            self._end_step()
        elif self._started:
            self._gap(self.ledger.cut())
        else:
            self.ledger.cut()  # from setup to the first fetch: start-up
            self._started = True
        self._open, self._trained, self._fetches = True, False, 0
        self.sampling = self.steps % SAMPLE_EVERY == 0
        if self.device is not None:
            self.device.step_begin()

    def _end_step(self) -> None:
        spent = self.ledger.cut()
        self.step += 1
        self.steps += 1
        if len(spent) > len(self.totals_ns):
            self.totals_ns += [0] * (len(spent) - len(self.totals_ns))
            self.largest_ns += [0] * (len(spent) - len(self.largest_ns))
        self.totals_ns = list(map(add, self.totals_ns, spent))
        self.largest_ns = list(map(max, self.largest_ns, spent))
        seen = self.seen
        batches = max(1, self._fetches)  # more than one: a `dataloader_iter` step that fetches as it likes
        row = StepRecord(
            self.step,
            sum(spent) - spent[VALIDATION],
            spent[INPUT] if INPUT in seen else None,
            spent[H2D] if H2D in seen else None,
            spent[COMPUTE] if COMPUTE in seen else None,
            batches,
            None if self.samples is None else self.samples * batches,
        )
        if self.device is not None:
            self.device.step_end(row)
        else:
            self.recorder.add(row)

    def _gap(self, spent: list[int]) -> None:
        validation_ns = spent[VALIDATION]
        self.recorder.gap(EpochGap(self.step, sum(spent) - validation_ns, spent[LOADER_START], validation_ns))
