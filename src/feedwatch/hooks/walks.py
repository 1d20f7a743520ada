"""Walks through loaders, on the training thread: asking for a batch is the wait, what follows is the step.

One walk is one epoch. Where several loaders are walked at the same time, one of them leads: its batches are the steps.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Protocol, TypeVar

from feedwatch.hooks.run import WatchedRun
from feedwatch.measure.marks import (
    ABANDON,
    BEGIN,
    COMPUTE,
    ENTER,
    EPOCH,
    EPOCH_END,
    GOT,
    INPUT,
    LEAVE,
    LOADER_START,
    VALIDATION,
    WAS,
    Mark,
)
from feedwatch.measure.recent import TAIL, Recent, recent

Batch = TypeVar("Batch")
NEVER: Final = 1 << 62
# A generator that goes on, a function, and the taps in the loader: with the three marks 7 µs per step were measured
# (benchmarks/overhead_loop.py) where a mark counts as 0.37 µs.
AROUND_THE_MARKS: Final = 16
_END: Final[Any] = object()


class DeviceSide(Protocol):
    """A device with a clock of its own is told the same as the log."""

    def asked(self, ns: int) -> None: ...
    def got_and_begun(self, ns: int) -> None: ...
    def pause(self, ns: int) -> None: ...
    def enter(self, category: int, ns: int) -> None: ...
    def leave(self, category: int, ns: int) -> None: ...


class CloserLook(Protocol):
    """One fetch in a few is looked at more closely."""

    def before_fetch(self) -> None: ...
    def after_fetch(self, wait_ns: int) -> None: ...


class Looks:
    """What a framework sees of a loop besides the clock. All of it may stay as it is here."""

    device: DeviceSide | None = None
    next_look: int = NEVER  # `closer` is asked before the first fetch after so many steps

    def at_loader(self, loader: Any) -> None:
        """Before it is iterated."""

    def at_iterator(self, batches: Any) -> None:
        """It was made just now."""

    def sure_samples(self, loader: Any) -> tuple[int, int | None]:
        """The first so many batches of a walk hold so many samples each: nobody has to look at them."""
        return 0, None

    def samples(self, batch: Any) -> int | None:
        """In one batch; asked for each of the others."""
        return None

    def at_first(self, batch: Any) -> None:
        """The first batch of an epoch, as it leaves the loader."""

    def closer(self, steps: int) -> CloserLook | None:
        self.next_look = NEVER
        return None


class _Walk:
    """One walk through one loader."""

    __slots__ = ("encloses", "number")

    def __init__(self) -> None:
        self.number = 0  # batches so far
        self.encloses = False  # another walk began and went on inside one of its steps


class Walks:
    """All walks of one run."""

    def __init__(self, run: WatchedRun, looks: Looks, start_step: int, start_epoch: int) -> None:
        self.leader: _Walk | None = None  # whose batches are the steps
        self._run, self._looks = run, looks
        run.cost.as_marks_per_step = AROUND_THE_MARKS
        self._epoch = start_epoch
        self._steps_before: int | None = start_step  # told with the first epoch, then counted by the engine
        self._steps = 0
        self._asker: _Walk | None = None  # who fetched last
        self._left_ns: int | None = None  # a loop was left before its data ended
        self._dry_at: int | None = None  # steps so far when a loader that is asked along had no batch left
        self._tail: list[Mark] = []

    def begin(self, loader: "Iterable[Batch]") -> "Iterator[Batch]":
        """The loader's own iterator is made at once: it draws a random number, and draws have an order."""
        run = self._run
        if self.leader is None:
            self.end_left_epoch()
        if run.closed or run.guard.off:
            return iter(loader)
        run.guard.run(self._looks.at_loader, loader)
        # Inside another walk's step starting a loader is part of that step's wait for input.
        apart = self.leader is None
        run.mark(ENTER if apart else WAS, LOADER_START if apart else COMPUTE)
        batches = iter(loader)
        run.mark(LEAVE if apart else WAS, LOADER_START if apart else INPUT)
        run.guard.run(self._looks.at_iterator, batches)
        return self._walk(batches, run.guard.run(self._looks.sure_samples, loader) or (0, None))

    def validation(self, loader: "Iterable[Batch]") -> "Iterator[Batch]":
        self.mark_span(ENTER, VALIDATION)
        try:
            batches = iter(loader)
        finally:
            self.mark_span(LEAVE, VALIDATION)
        return self._validation_walk(batches)

    def mark_span(self, what: int, category: int) -> None:
        """`what`: ENTER or LEAVE."""
        ns, device = self._run.now_ns(), self._looks.device
        self._run.append((ns, what, category))
        if device is not None:
            self._run.guard.run(device.enter if what == ENTER else device.leave, category, ns)

    def recent(self) -> Recent | None:
        return recent([*self._tail, *self._run.marks.rows[-TAIL:]])

    def end_left_epoch(self) -> None:
        """A loop that was left by `break` and one that was left by an error look the same from here. Whether the last
        step counts is known when the next loop begins, or by how the run is closed.
        """
        if self._left_ns is not None:
            self._run.append((self._left_ns, EPOCH_END, None))
            self._left_ns = None

    def forget(self) -> None:
        self.leader = self._asker = None

    # -- one walk --------------------------------------------------------------------------------

    def _walk(self, batches: "Iterator[Batch]", sure_samples: tuple[int, int | None]) -> "Iterator[Batch]":
        walk = _Walk()
        fetch = self._fetching(walk, batches, *sure_samples)
        try:
            while True:
                leads = self.leader is walk or self._takes_lead(walk)
                batch = fetch() if leads else self._fetch_along(walk, batches)
                if batch is _END:
                    break
                yield batch
        except GeneratorExit:
            self._ends(walk, left=True)
            raise
        except BaseException:
            self.leader = None if self.leader is walk else self.leader
            raise
        self._ends(walk, left=False)

    def _fetching(  # noqa: C901 -- written out
        self, walk: _Walk, batches: "Iterator[Any]", sure_batches: int, size: int | None
    ) -> "Callable[[], Any]":
        """Asks for one batch of the walk that leads. Everything is looked up once per walk: between two steps nothing
        is in the processor's caches, and what is called or looked up there costs more than its work. Only `next` is
        the user's: its error is theirs, and whatever else fails here is ours.
        """
        run, looks = self._run, self._looks
        append, now_ns, marks, device, samples = run.append, run.now_ns, run.marks, looks.device, looks.samples
        guard, rows, most = run.guard, marks.rows, marks.most

        def fetch() -> Any:
            if guard.off:
                return next(batches, _END)
            closer, asked_ns, number = None, 0, walk.number
            try:
                if self._steps >= looks.next_look:
                    closer = self._look_closer()
                asked_ns = now_ns()
                append((asked_ns, ENTER, INPUT))
                if device is not None:
                    device.asked(asked_ns)
            except Exception as error:
                guard.failed(error)
            batch = next(batches, _END)
            if batch is _END:
                return _END
            try:
                got_ns = now_ns()
                append((got_ns, GOT, size if number < sure_batches else samples(batch)))
                append((got_ns, BEGIN, number))
                if device is not None:
                    device.got_and_begun(got_ns)
                if closer is not None or number == 0:
                    self._looked(closer, batch, got_ns - asked_ns)
                walk.number = number + 1
                self._steps += 1
                self._asker = walk
                if got_ns >= marks.due_ns or len(rows) >= most:
                    self._tail = [*self._tail, *rows][-TAIL:]
                    run.hand_over()
            except Exception as error:
                guard.failed(error)
            return batch

        return fetch

    def _fetch_along(self, walk: _Walk, batches: "Iterator[Any]") -> Any:
        """Inside a step of the walk that leads: the wait is that step's."""
        self._run.mark(WAS, COMPUTE)
        batch = next(batches, _END)
        self._run.mark(WAS, INPUT)
        self._asker = walk
        self._dry_at = self._steps if batch is _END else None
        return batch

    def _takes_lead(self, walk: _Walk) -> bool:
        """Two loaders that are asked in turn feed one step together, and the first of them leads. One that is asked
        twice in a row has a loop of its own: inside the other's step, or because the other one was left.
        """
        again = self._asker is walk
        if (self.leader is not None or walk.encloses) and not again:
            return False
        self.end_left_epoch()
        if self.leader is not None:
            self.leader.encloses = True
            self._run.mark(EPOCH_END)
            self._pause_device()
        self.leader, walk.encloses = walk, False
        self._run.mark(EPOCH, (self._epoch, self._steps_before))
        self._epoch, self._steps_before = self._epoch + 1, None
        return True

    def _look_closer(self) -> CloserLook | None:
        closer = self._looks.closer(self._steps)
        if closer is not None:
            closer.before_fetch()
        return closer

    def _looked(self, closer: CloserLook | None, batch: Any, wait_ns: int) -> None:
        if closer is not None:
            closer.after_fetch(wait_ns)
        else:
            self._run.guard.run(self._looks.at_first, batch)

    def _ends(self, walk: _Walk, *, left: bool) -> None:
        if self.leader is not walk:
            return
        self.leader = None
        if left and self._dry_at == self._steps:  # zip: the other loader had ended, so this batch was not trained
            self._run.mark(ABANDON)
            self._run.mark(EPOCH_END)
        elif left:
            self._left_ns = self._run.now_ns()
        else:
            self._run.mark(EPOCH_END)
        self._pause_device()

    def _pause_device(self) -> None:
        if self._looks.device is not None:
            self._run.guard.run(self._looks.device.pause, self._run.now_ns())

    def _validation_walk(self, batches: "Iterator[Batch]") -> "Iterator[Batch]":
        self.mark_span(ENTER, VALIDATION)
        try:
            yield from batches
        finally:
            self.mark_span(LEAVE, VALIDATION)
