"""torch on a device with a clock of its own: the same marks as events in its stream.

The host runs ahead of the device, so its own marks say when work was handed over, not when it was done. The order of
things (epochs, gaps, step numbers) stays the host's; the times of a step are the device's.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from feedwatch.hooks.keras.attribution import Fetch
from feedwatch.hooks.keras.entries import Item
from feedwatch.hooks.keras.timeline import MAX_PENDING, Timeline
from feedwatch.hooks.torch.device import Categories, DeviceClock, DeviceMeter
from feedwatch.model.steps import StepRecord

_OF: Final = Categories(other=0, wait=1, copy=2, compute=3, apart=4)


class DeviceTimeline(Timeline):
    def __init__(self, clock: DeviceClock, now_ns: Callable[[], int]) -> None:
        super().__init__(1, ends_here=False, header_fetch=True)
        self._rows: dict[int, StepRecord] = {}  # by ordinal, as the device passes them
        self._meter = DeviceMeter(clock, _OF, self._passed, now_ns)
        self._items: deque[Item] = deque(maxlen=MAX_PENDING)
        self._marked = 0  # steps handed to the device's ledger
        self._told = 0  # steps taken out again
        self._waited_ns = 0
        self._running = False

    def asked(self, now_ns: int) -> None:
        super().asked(now_ns)
        self._end_step()
        self._meter.step_begin()
        self._meter.mark(_OF.wait)

    def got(self, fetch: Fetch) -> None:
        self._waited_ns = fetch.got_ns - fetch.asked_ns
        self._meter.mark(_OF.other)

    def begin(self, batch: int, now_ns: int) -> None:
        super().begin(batch, now_ns)
        self._meter.mark(_OF.compute)
        self._running = True

    def pause(self, now_ns: int) -> None:
        super().pause(now_ns)
        self._end_step()
        self._meter.epoch_end()

    def drain(self, fetches: Sequence[Fetch]) -> Iterator[Item]:
        """In the host's order; a step waits here until the device has passed it."""
        self._items.extend(super().drain(fetches))
        self._meter.step_begin()
        while self._items:
            item = self._items[0]
            if isinstance(item, StepRecord):
                row = self._rows.pop(self._told, None)
                later = any(ordinal > self._told for ordinal in self._rows)
                if row is None and not later:
                    return
                self._told += 1
                if row is None:
                    self.dropped += 1  # the device's ledger gave this one up
                else:
                    yield row._replace(step=item.step, batches=item.batches, samples=item.samples, kind=item.kind)
            else:
                yield item
            self._items.popleft()

    def finish(self) -> None:
        """No waiting at the end either: what the device has not passed by now is dropped and counted."""
        self._meter.close()
        self.dropped += self._meter.dropped

    def _end_step(self) -> None:
        if self._running:
            self._running = False
            self._meter.step_end(StepRecord(self._marked, 0, self._waited_ns, None, 0))
            self._marked += 1

    def _passed(self, row: StepRecord) -> None:
        self._rows[row.step] = row
