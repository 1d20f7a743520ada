"""A training loop of one's own, whatever the framework: what a user calls.

`LoopWatch` is what the doors share. A framework opens the run and says what it sees of it (`_open`).
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from feedwatch.errors import SettingError
from feedwatch.guard import Guard
from feedwatch.hooks.destination import checked_log_dir
from feedwatch.hooks.fetching import WatchedIterable, WatchedIterator
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.walks import Looks, Walks
from feedwatch.measure.marks import ENTER, H2D, LEAVE
from feedwatch.measure.recent import Recent
from feedwatch.model.report import Report, Status
from feedwatch.settings import Settings, switched_off
from feedwatch.words import ms

if TYPE_CHECKING:
    from feedwatch.hooks.trial import Plan, TrialRun

Batch = TypeVar("Batch")
Watch = TypeVar("Watch", bound="LoopWatch")


class LoopWatch:
    """Nothing is alive before the first batch is asked for."""

    def __init__(
        self, log_dir: str | os.PathLike[str] | None, settings: Settings, *, start_step: int = 0, start_epoch: int = 0
    ) -> None:
        """`log_dir`: None where a framework chooses one when the run begins."""
        for name, value in (("start_step", start_step), ("start_epoch", start_epoch)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise SettingError(f"{name} must be a whole number of 0 or more, not {value!r}")
        self._settings = settings
        self.log_dir: Path | None = checked_log_dir(log_dir)
        self._start = (start_step, start_epoch)
        self._closed = False
        self._opening = Guard("the beginning of the run")
        self._run: WatchedRun | None = None
        self._walks: Walks | None = None
        self._trial: TrialRun | None = None
        self._tried: Any = None  # the loader that the trial is about
        self._running: Any = None  # its iterator, while the run trains normally
        self.notes: list[str] = []  # what the report says about this run besides

    def _open(self) -> tuple[WatchedRun, Looks]:
        """What a framework adds."""
        raise NotImplementedError

    def _trial_plan(self, run: WatchedRun, loader: Any, batches: Any, report: Report | None) -> "Plan":
        """What a trial may change in this loader. `batches`: its iterator that is under way."""
        raise NotImplementedError

    # -- around a loader -------------------------------------------------------------------------

    def __call__(self, loader: "Iterable[Batch]") -> "Iterable[Batch]":
        """The loader's batches, each fetch timed. One walk through it is one epoch."""
        return self._watched(loader, "watch(...)", self._batches)

    def validation(self, loader: "Iterable[Batch]") -> "Iterable[Batch]":
        """The loader's batches. The whole walk, fetches and all, is counted as validation."""
        return self._watched(loader, "watch.validation(...)", self._validation_batches)

    def _watched(self, loader: "Iterable[Batch]", call: str, start: Any) -> "Iterable[Batch]":
        if not _can_be_iterated(loader):
            raise SettingError(f"{call} takes something to iterate over, not {type(loader).__name__}")
        self._refuse_closed()
        if switched_off():
            return loader
        return (WatchedIterator if isinstance(loader, Iterator) else WatchedIterable)(loader, start)

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise SettingError("this watch is closed: make a new one for another run")

    def _batches(self, loader: "Iterable[Batch]") -> "Iterator[Batch]":
        if self._is_closed:
            return iter(loader)
        if self._walks is None:
            self._opening.run(self._begin)
        if self._walks is None:
            return iter(loader)  # the loop goes on without us
        if self._trial is not None and self._alive and self._is_tried(loader):
            return self._trial_walk(self._trial, self._walks, loader)
        return self._walks.begin(loader)

    def _begin(self) -> None:
        run, looks = self._open()
        self._run, self._walks = run, Walks(run, looks, *self._start)
        run.session.ends = self._script_ends
        for note in self.notes:
            run.session.note(note)
        if self._settings.trial is not None:
            self._make_trial(run, looks)

    # -- a trial ---------------------------------------------------------------------------------

    def _make_trial(self, run: WatchedRun, looks: Looks) -> None:
        from feedwatch.hooks.trial import TrialRun

        assert self._settings.trial is not None
        self._trial = TrialRun(run, self._settings.trial)
        at_iterator = looks.at_iterator

        def seen(batches: Any) -> None:
            self._running = batches
            at_iterator(batches)

        looks.at_iterator = seen  # type: ignore[method-assign]

    def _is_tried(self, loader: Any) -> bool:
        """A trial is about the loader that was asked first."""
        while isinstance(loader, WatchedIterable):
            loader = loader._iterable
        self._tried = loader if self._tried is None else self._tried
        return self._tried is loader

    def _trial_walk(self, trial: "TrialRun", walks: Walks, loader: "Iterable[Batch]") -> "Iterator[Batch]":
        """Normal training until enough is known of it, then the trial, which has no end of its own for the loop."""
        run = self._run
        assert run is not None
        if trial.board is None:
            for batch in walks.begin(loader):
                yield batch
                if trial.due():
                    break
            batches, self._running = self._running, None
            trial.begin(lambda report: self._trial_plan(run, loader, batches, report))
        try:
            while True:
                yield trial.next()
        finally:
            trial.pause()

    def _validation_batches(self, loader: "Iterable[Batch]") -> "Iterator[Batch]":
        walks = self._walks if self._alive else None
        if walks is None:  # before the first step all is start-up
            return iter(loader)
        batches = walks.validation(loader)
        return batches if self._trial is None else self._beside_the_trial(self._trial, batches)

    def _beside_the_trial(self, trial: "TrialRun", batches: "Iterator[Batch]") -> "Iterator[Batch]":
        yield from batches
        trial.pause()

    # -- inside a loop ---------------------------------------------------------------------------

    @contextmanager
    def copying(self) -> Iterator[None]:
        """Around your copy of the batch to the device: it is then told apart from computing."""
        walks = self._walks if self._alive else None
        if walks is None:
            yield
            return
        walks.mark_span(ENTER, H2D)
        try:
            yield
        finally:
            walks.mark_span(LEAVE, H2D)

    @property
    def last(self) -> Recent | None:
        """Means of the last few steps, in milliseconds on the host's clock. Worked out when asked for."""
        return None if self._run is None or self._walks is None else self._run.guard.run(self._walks.recent)

    def summary(self) -> str:
        """`last` as part of a log line."""
        now = self.last
        if now is None:
            return "no step yet"
        return f"wait {ms(now.input_wait_ms)}, copy {ms(now.copy_ms)}, compute {ms(now.compute_ms)}"

    # -- the end ---------------------------------------------------------------------------------

    @property
    def report(self) -> Report | None:
        """The latest report; complete after close."""
        return None if self._run is None else self._run.report

    def _repr_html_(self) -> str:
        """What a notebook shows of it."""
        from feedwatch.report.card import render_card

        return render_card(self.report)

    def close(self, status: Status = Status.FINISHED) -> Report | None:
        self._closed = True
        run, walks = self._run, self._walks
        if run is None or walks is None:
            return None
        if status is Status.FINISHED:
            walks.end_left_epoch()
        run.close(status)
        walks.forget()
        return run.session.latest

    def __enter__(self: Watch) -> Watch:  # noqa: PYI019 -- typing.Self came with Python 3.11
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        failed = Status.FAILED if isinstance(error, Exception) else Status.INTERRUPTED
        self.close(Status.FINISHED if error is None else failed)

    @property
    def _alive(self) -> bool:
        return self._run is not None and not self._run.closed

    @property
    def _is_closed(self) -> bool:
        """By its user, or with the run: another walk of the same run may have ended it."""
        return self._closed or (self._run is not None and self._run.closed)

    def _script_ends(self, status: Status) -> None:
        """A script that ends without an error has trained to its end, although nobody closed the watch."""
        finished = status is Status.INTERRUPTED and getattr(sys, "last_value", None) is None
        self.close(Status.FINISHED if finished else status)


def _can_be_iterated(thing: object) -> bool:
    """`for` also takes what has numbers instead of __iter__: a data set of torch's, for instance."""
    return isinstance(thing, Iterable) or hasattr(type(thing), "__getitem__")
