"""The switchboard: it stands where the training asks for a batch, and gives one of the variant whose turn it is."""

from collections.abc import Callable
from typing import Any, Protocol

from feedwatch.model.trial import Ended, Outcome, Role
from feedwatch.trial.schedule import Trial
from feedwatch.trial.variant import Refused, Variant


class Source(Protocol):
    """A variant that is open. `enter` and `leave` are called where its turn begins and ends."""

    def enter(self) -> None: ...

    def leave(self) -> None: ...

    def next(self) -> Any:
        """A batch. Raises StopIteration at the end of an epoch, and whatever the user's code raises."""
        ...

    def restart(self) -> None: ...

    def skip(self, most: int) -> None:
        """Throw away what was made while others had their turn, and not more than so many batches. Raises as `next`."""
        ...

    def close(self) -> None: ...


class TrialOver(SystemExit):
    """Ends the script, with success: its weights are of no use, and nothing behind the training may save them."""


class Board:
    def __init__(
        self,
        trial: Trial,
        open_source: Callable[[Variant], Source],
        now_ns: Callable[[], int],
        settle: Callable[[], None] = lambda: None,
        *,
        rest: Callable[[], None] = lambda: None,
        later: bool = False,
    ) -> None:
        """`open_source` may raise Refused. `settle`: wait until the device has done its work; called where counting
        begins and ends, so that what is counted is what it did. `rest`: wait until workers of the variant before have
        filled their queue. `later`: sources hand out iterators, and the step fetches.
        """
        self._trial, self._open, self._now_ns, self._settle = trial, open_source, now_ns, settle
        self._rest, self._later = rest, later
        self._sources: dict[str, Source] = {}
        self._turn: Variant | None = None
        self._entered: Source | None = None
        self._ends_in_a_row = 0

    def next(self) -> Any:
        """The next batch. Raises TrialOver."""
        while True:
            variant = self._in_turn()
            try:
                batch = self._fetch(variant)
            except StopIteration:
                self._epoch_ends(variant)
                continue
            except Refused as why:
                self._leave_out(variant, str(why), Outcome.REFUSED)
                continue
            except Exception as error:
                if variant.role is Role.AS_IS:  # the user's own training failed, as it would have without a trial
                    raise
                self._leave_out(variant, _said(error), Outcome.FAILED)
                continue
            if not self._later:
                self._ends_in_a_row = 0
            return batch

    def stepped(self) -> None:
        """Where a source hands out an iterator and the step itself fetches: it found a batch."""
        self._ends_in_a_row = 0

    def ended(self) -> None:
        """The same: it found the end of the data."""
        assert self._turn is not None
        self._epoch_ends(self._turn)

    def failed(self, error: Exception) -> None:
        """The same: it raised, in the variant's own code or the user's."""
        assert self._turn is not None
        if self._turn.role is Role.AS_IS:
            raise error
        self._leave_out(self._turn, _said(error), Outcome.FAILED)

    def pause(self) -> None:
        """The loop does something else than training."""
        self._trial.pause()

    def close(self) -> None:
        """Ends every worker that a variant started."""
        self._leave()
        for source in self._sources.values():
            _quietly(source.close)
        self._sources.clear()

    def _in_turn(self) -> Variant:
        if self._trial.ends_soon(self._now_ns()):
            self._settle()
        variant = self._trial.turn(self._now_ns())
        if variant is not self._turn:
            self._leave()
            if variant is not None:
                self._close_all_but(variant)
                self._settle()
                self._rest()
                # What was waited for was the last block's. This one begins now.
                self._trial.pause()
                variant = self._trial.turn(self._now_ns())
        elif self._trial.counts_from_here:
            self._settle()
            self._trial.counts_from(self._now_ns())
        if variant is None:
            self.close()
            raise TrialOver(0)
        self._turn = variant
        return variant

    def _leave(self) -> None:
        if self._entered is not None:
            entered, self._entered = self._entered, None
            _quietly(entered.leave)

    def _fetch(self, variant: Variant) -> Any:
        source = self._sources.get(variant.name)
        if source is None:
            source = self._sources[variant.name] = self._open(variant)
        begins = source is not self._entered
        if begins:
            self._leave()
            source.enter()
            self._entered = source
        if self._trial.fresh:
            self._trial.restart(self._now_ns())
            source.restart()
        elif begins:
            # A full queue would feed a slow variant for many steps before its own pace shows: it begins with none, as
            # a training does.
            source.skip(variant.made_ahead)
        asked_ns = self._now_ns()
        batch = source.next()
        if not self._later:
            self._trial.waited(self._now_ns() - asked_ns)
        return batch

    def _epoch_ends(self, variant: Variant) -> None:
        self._ends_in_a_row += 1
        if self._ends_in_a_row > 1:
            if variant.role is Role.AS_IS:
                self._trial.finish(Ended.TRAINING_ENDED)
            else:
                self._leave_out(variant, "it gave no batch", Outcome.FAILED)
            self._ends_in_a_row = 0
            return
        try:
            self._trial.restart(self._now_ns())
            self._sources[variant.name].restart()
        except Refused as why:
            if variant.role is Role.AS_IS:
                self._trial.notes.append(f"the data ended, and cannot be read again: {why}")
                self._trial.finish(Ended.TRAINING_ENDED)
            else:
                self._leave_out(variant, str(why), Outcome.REFUSED)

    def _leave_out(self, variant: Variant, why: str, outcome: Outcome) -> None:
        self._trial.leave_out(variant, why, outcome)
        source = self._sources.pop(variant.name, None)
        if source is not None:
            _quietly(source.close)

    def _close_all_but(self, variant: Variant) -> None:
        """Where a turn begins, not in every step: it takes a third of a millisecond. Workers of variants that are not
        in turn hold memory; only the run as it is keeps what it has.
        """
        for name, source in list(self._sources.items()):
            if name != variant.name and self._trial.done_with(name):
                _quietly(source.close)
                del self._sources[name]


def _quietly(action: Callable[[], None]) -> None:
    """A loader that is being closed may raise what it likes: nobody waits for its batches any more."""
    try:
        action()
    except Exception:
        return


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
