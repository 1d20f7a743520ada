"""One fit under observation: what its hooks do besides appending a mark.

The hooks of a step (callback.py) append and do nothing else, but for one comparison: `look` is called about once per
window. Everything here runs on the training thread.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feedwatch.guard import Guard
from feedwatch.hooks.keras.backends import NOT_FOUND, Fetches
from feedwatch.hooks.keras.python_iterator import PythonFetches
from feedwatch.hooks.run import WatchedRun
from feedwatch.measure.marks import BEGIN, ENTER, EPOCH, EPOCH_END, H2D, LEAVE, LOADER_START, OTHER, VALIDATION, WAS
from feedwatch.measure.steps import StepReader
from feedwatch.model.report import Report, Status
from feedwatch.session import FactPatch

if TYPE_CHECKING:
    from feedwatch.hooks.torch.device import DeviceClock
    from feedwatch.hooks.torch.meter import DeviceSteps


class WatchedFit:
    def __init__(
        self,
        run: WatchedRun,
        reader: StepReader,
        fetches: Fetches,
        *,
        log_dir: Path | None,
        end_mark: int | None,
        per_call: int,
        first_step: Callable[[], int],
    ) -> None:
        self.run = run
        self.fetches = fetches
        self.log_dir = log_dir
        self.begin_mark = BEGIN  # what the hooks of a step append
        self.end_mark = end_mark
        self.nested = 0  # the same callback is in use by a fit inside this one
        self.released: weakref.ref[Any] | None = None  # of fit's callback list: tells that fit is gone
        self.on_iterator: list[Callable[[Any], None]] = []
        self.on_first_step: list[Callable[[], None]] = [self._check_that_fetches_are_seen, self._calibrate]
        self._reader = reader
        self._per_call = per_call
        self._first_step: Callable[[], int] | None = first_step
        self._most = run.marks.most
        self._device: DeviceSteps | None = None
        self._iterators = 0
        self._epoch: int | None = None
        self._calls_before = 0  # of this epoch
        self._call = -1  # in this epoch, at the last look
        self._discarding = Guard("throwing away fetches", run.session.note)
        # The first step has something to do, but nothing to hand over.
        self._first_due_ns: int | None = run.marks.due_ns
        run.marks.due_ns = 0
        run.on_close.append(self._last_fetches)
        run.on_close.append(self._forget)
        run.session.each_window("the traces of the train function", self._retraces)

    def add_device(self, clock: "DeviceClock") -> None:
        from feedwatch.hooks.torch.meter import DeviceSteps

        run = self.run
        self._device = device = DeviceSteps(clock, run)
        run.marks.append = device.append  # the callback's own marks pass here
        if isinstance(self.fetches, PythonFetches):
            self.fetches.device = device
        run.on_close.insert(0, lambda: run.guard.run(device.close, run.now_ns()))

    @contextmanager
    def marking_copies(self) -> Iterator[None]:
        """Keras on torch makes device tensors of arrays inside `next()`: that part of a fetch is a copy, no wait. Its
        adapters pick the conversion up when they make their loader, so it is exchanged for that moment only.
        """
        device = self._device
        if device is None:
            yield
            return
        from keras.src.backend.torch import core

        plain = core.convert_to_tensor
        core.convert_to_tensor = _marked(plain, self.run, device)
        try:
            yield
        finally:
            core.convert_to_tensor = plain

    # -- hooks -----------------------------------------------------------------------------------

    def look(self, batch: int) -> None:
        """In a begin hook that has more to do than to append its mark."""
        run, marks, call = self.run, self.run.marks, batch // self._per_call
        if self._first_due_ns is not None:
            marks.due_ns, self._first_due_ns = self._first_due_ns, None
            while self.on_first_step:
                run.guard.run(self.on_first_step.pop())
        self._call = call
        if run.windows is not None:
            run.windows.step_end(self._calls_before + call)
        if run.now_ns() >= marks.due_ns or len(marks.rows) >= self._most:
            self.hand_over()
        marks.most = self._most
        if run.windows is not None:  # a BEGIN and at most an END mark come with every call
            calls = max(1, run.windows.next_step - self._calls_before - call)
            marks.most = min(self._most, len(marks.rows) + 2 * calls)
        # What was done here is ours and not the step's.
        run.mark(WAS, OTHER)

    def epoch_begin(self, epoch: int) -> None:
        if self.nested or epoch == self._epoch:  # the same callback given twice
            return
        self._epoch = epoch
        first_step, self._first_step = self._first_step, None
        self.run.mark(EPOCH, (epoch, None if first_step is None else first_step()))

    def epoch_end(self) -> None:
        if not self.nested:
            self._pause()
            self.run.mark(EPOCH_END)
            self._calls_before += self._calls_of_epoch()
            self._call = -1

    def test_begin(self) -> None:
        if not self.nested:
            self._pause()
            self.run.mark(ENTER, VALIDATION)

    def test_end(self) -> None:
        if not self.nested:
            self.run.mark(LEAVE, VALIDATION)

    def finish(self) -> bool:
        """Train end. False: it was the end of a fit nested in ours."""
        if self.nested:
            self.nested -= 1
            return False
        self.run.close(Status.FINISHED)
        return True

    def watches(self, callback_list: Any) -> bool:
        return self.released is not None and self.released() is callback_list

    @property
    def report(self) -> Report | None:
        return self.run.report

    @property
    def steps(self) -> int:
        """On Keras' own step axis."""
        return self._reader.steps

    # -- iterators -------------------------------------------------------------------------------

    def start_iterator(self, iterable: Any) -> Any:
        """Called by Keras in place of iter(): the user's iterator is made, timed, and gets its twin."""
        if self._device is not None:
            self.run.guard.run(self._device.pause, self.run.now_ns())
        self.run.mark(ENTER, LOADER_START)
        iterator = iter(iterable)  # the user's own code, and the user's own errors
        self.run.mark(LEAVE, LOADER_START)
        twin = self.run.guard.run(self.take_iterator, iterator)
        return iterator if twin is None else twin

    def take_iterator(self, iterator: Any) -> Any | None:
        if self.run.closed:
            return None
        for action in self.on_iterator:
            action(iterator)
        twin = self.fetches.wrap(iterator)
        self._iterators += twin is not None
        return twin

    # -- now and then ----------------------------------------------------------------------------

    def hand_over(self) -> None:
        began_ns = self.run.now_ns()
        self.run.guard.run(self.fetches.collect)
        self.run.cost.add(self.run.now_ns() - began_ns)
        self.run.hand_over()

    def discard(self) -> None:
        """Instead, where we are switched off: nothing may pile up."""
        self.run.marks.take()
        self._discarding.run(self.fetches.discard)

    def _check_that_fetches_are_seen(self) -> None:
        """At the first step. Never the gap between two hooks instead: on TensorFlow the fetch is not there."""
        if not self._iterators:
            self._reader.measured = False
            self.run.session.note(NOT_FOUND)

    def _calibrate(self) -> None:
        cost_ns = getattr(self.fetches, "cost_ns", None)
        if cost_ns is not None and self.run.session.facts.run.run_eagerly is not True:
            self.run.cost.ns_per_step = cost_ns(self._per_call)

    def _pause(self) -> None:
        """The loop leaves its steps for a while."""
        if self._device is not None:
            self._device.pause(self.run.now_ns())
        if self.run.windows is not None:
            self.run.windows.epoch_end()
            self.run.marks.due_ns = 0  # the next window may come earlier now

    def _calls_of_epoch(self) -> int:
        for _, what, batch in reversed(self.run.marks.rows):
            if what == BEGIN:
                return int(batch) // self._per_call + 1
        return self._call + 1  # its mark was handed over in its own hook

    def _retraces(self) -> FactPatch | None:
        """On the sink's thread."""
        run = self.run.session.facts.run
        if run.backend != "tensorflow" or run.run_eagerly is True or run.retraces == self._reader.retraces:
            return None
        return {"run": replace(run, retraces=self._reader.retraces)}

    # -- the end ---------------------------------------------------------------------------------

    def _last_fetches(self) -> None:
        self.fetches.collect()
        self.fetches.close()

    def _forget(self) -> None:
        self.on_first_step, self.on_iterator = [], []
        self.released = None


def _marked(convert: Callable[..., Any], run: WatchedRun, device: "DeviceSteps") -> Callable[..., Any]:
    """The adapter's conversion with a mark on each side; without them once the run is closed."""

    def convert_to_tensor(*args: Any, **named: Any) -> Any:
        if run.closed:
            return convert(*args, **named)
        ns = run.now_ns()
        run.append((ns, ENTER, H2D))
        device.enter(H2D, ns)
        try:
            return convert(*args, **named)
        finally:
            ns = run.now_ns()
            run.append((ns, LEAVE, H2D))
            device.leave(H2D, ns)

    return convert_to_tensor
