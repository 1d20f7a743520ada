"""Profiler windows during training: opened and closed on the training thread, read on another one."""

from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from feedwatch.guard import strict
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.model.facts import Transfers
from feedwatch.model.transfers import TransferSample
from feedwatch.probe.fold import fold_windows
from feedwatch.probe.windows import MAX_BLIND_WINDOWS, WINDOW_STEPS, WindowPolicy, wanted
from feedwatch.settings import ProfileChoice

# No window is opened while this many wait to be read: reading must never fall behind.
MAX_PENDING: Final = 2
NEVER: Final = 1 << 62


class ProfilerBusyError(Exception):
    """Another profiler was in the way when ours started; the text names it."""


class Recording(Protocol):
    """What a stopped window left behind."""

    def read(self) -> TransferSample:
        """Off the training thread. Removes whatever was written."""
        ...


class ProfilerBackend(Protocol):
    """One framework's profiler. Everything here runs on the training thread and may raise."""

    source: str  # xspace | kineto

    def other_active(self) -> str | None:
        """Another profiler that is active or on its way, by name: then ours must not start."""
        ...

    def start(self) -> None: ...

    def step(self, number: int) -> None:
        """A step begins; the one before, if any, has ended. Marks it in the trace."""
        ...

    def stop(self) -> Recording | None:
        """None: the window was given up, because somebody else's profiler has taken over."""
        ...

    def abandon(self) -> None:
        """Stop without keeping anything, as fast as can be."""
        ...


class ProfilerWindows:
    """What a hook needs of profiler windows. Make it at train begin (nothing is alive before that), then call

    - `step_end(step)` after each training step, with the framework's own step number: below the next interesting
      step it costs one comparison;
    - `epoch_end()` before validation and at the end of an epoch: a window never reaches across;
    - `close()` at the end, however it came: an open window is given up;
    - `collect()` from `session.each_window("profiler windows", windows.collect)`, on the sink's thread: reads what
      was recorded and answers with the facts to replace (`transfers`), or None.

    `transfers` is the fold of all windows so far; `sample.devices` empty and a text in `sample.problems` means that
    the profiler saw no device. `refused_because` names another profiler (for FW401), `failed_because` says why ours
    does not work (for FW402); either way it is not tried again. `cost_ns` is what the windows cost the training
    thread. `note` hears each line that is worth showing, once.
    """

    def __init__(
        self,
        backend: ProfilerBackend,
        *,
        choice: ProfileChoice,
        has_gpu: bool,
        rank: int,
        warmup_steps: int,
        note: Callable[[str], None],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.refused_because: str | None = None
        self.failed_because: str | None = None
        self.transfers: Transfers | None = None
        self._backend = backend
        self._policy = WindowPolicy(warmup_steps)
        self._note = note
        self._clock = clock
        self._next_step = 0 if wanted(choice, has_gpu, rank) else NEVER
        self._first_step: int | None = None  # of the open window: the last step before it
        self._last_step = 0
        self._news = False
        self._opened_ns = 0
        self._open_cost_ns = 0
        self._typical_ns: float | None = None
        self._pending: deque[Recording] = deque()
        self._samples: list[TransferSample] = []
        self._blind = 0

    @property
    def cost_ns(self) -> int:
        return self._policy.cost_ns

    @property
    def windows(self) -> int:
        return self._policy.windows

    @property
    def next_step(self) -> int:
        """Before this one `step_end` has nothing to do."""
        return self._next_step

    def step_end(self, step: int) -> None:
        if step >= self._next_step:
            self._at(step)

    def epoch_end(self) -> None:
        if self._first_step is None:
            return
        if self._last_step > self._first_step:
            self._close_window(self._last_step)
        else:
            self._abandon()  # not one whole step was recorded
            self._next_step = min(self._next_step, self._last_step + WINDOW_STEPS)

    def close(self) -> None:
        if self._first_step is not None:
            self._abandon()
        if self._policy.windows:
            share = self._policy.cost_share(self._clock.now_ns())
            of_run = "" if share is None else f", {share:.2%} of the run"
            self._note(f"{self._policy.windows} profiler window(s) cost {self.cost_ns / 1e6:.1f} ms{of_run}")
        self._next_step = NEVER

    def collect(self) -> dict[str, Any] | None:
        """On the sink's thread. Reading a window may fail; the next one may not."""
        while self._pending:
            self._read(self._pending.popleft())
        if not self._news:
            return None
        self._news = False
        self.transfers = fold_windows(self._samples)
        return {"transfers": self.transfers}

    # -- the training thread ---------------------------------------------------------------------

    def _at(self, step: int) -> None:
        self._last_step = step
        if self._first_step is not None:
            if step - self._first_step >= WINDOW_STEPS:
                self._close_window(step)
            else:
                self._mark_step(step + 1)
        elif self._policy.exhausted or len(self._pending) >= MAX_PENDING:
            self._next_step = NEVER if self._policy.exhausted else step + WINDOW_STEPS
        elif self._policy.due(step, self._clock.now_ns()):
            self._open_window(step)
        else:
            self._next_step = self._policy.next_step

    def _mark_step(self, number: int) -> None:
        try:
            self._backend.step(number)
        except Exception as error:
            self._abandon()
            self._failed("a step cannot be marked in the trace", error)
        else:
            self._next_step = number

    def _abandon(self) -> None:
        self._first_step = None
        try:
            self._backend.abandon()
        except Exception as error:
            self._failed("the profiler cannot be stopped", error)

    def _open_window(self, step: int) -> None:
        began_ns = self._clock.now_ns()
        other = self._backend.other_active()
        if other is not None:
            self._refused(other)
            return
        self._typical_ns = self._policy.typical_step_ns(step, began_ns)
        try:
            self._backend.start()
        except ProfilerBusyError as error:
            self._refused(str(error))
            return
        except Exception as error:
            self._failed("the profiler cannot be started", error)
            return
        self._first_step = step
        self._mark_step(step + 1)
        self._opened_ns = self._clock.now_ns()
        self._open_cost_ns = self._opened_ns - began_ns

    def _close_window(self, step: int) -> None:
        assert self._first_step is not None
        steps = step - self._first_step
        stopping_ns = self._clock.now_ns()
        recording = self._stopped()
        self._first_step = None
        if recording is not None:
            self._pending.append(recording)
        now_ns = self._clock.now_ns()
        # Steps are slower while they are recorded; what they took above the usual is a cost of ours as well.
        slower_ns = 0 if self._typical_ns is None else stopping_ns - self._opened_ns - int(steps * self._typical_ns)
        self._policy.closed(step, now_ns, self._open_cost_ns + (now_ns - stopping_ns) + max(0, slower_ns))
        if self._next_step != NEVER:
            self._next_step = self._policy.next_step

    def _stopped(self) -> Recording | None:
        try:
            recording = self._backend.stop()
        except Exception as error:
            self._failed("the profiler cannot be stopped", error)
            return None
        if recording is None:
            self.refused_because = "a profiler that was started during ours"
            self._switch_off("copies are no longer measured: another profiler was started during a window")
        return recording

    def _refused(self, other: str) -> None:
        self.refused_because = other
        self._switch_off(f"copies are not measured: {other} is active or about to be")

    def _failed(self, what: str, error: Exception) -> None:
        self.failed_because = f"{what}: {type(error).__name__}: {error}"
        problem = f"no device data: {self.failed_because}"
        self._samples.append(TransferSample(self._backend.source, {}, 0, None, None, None, problems=(problem,)))
        self._news = True
        self._switch_off(f"copies are not measured: {self.failed_because}")

    def _switch_off(self, text: str) -> None:
        self._next_step = NEVER
        self._note(text)

    # -- the sink's thread -----------------------------------------------------------------------

    def _read(self, recording: Recording) -> None:
        try:
            sample = recording.read()
        except Exception as error:
            if strict():
                raise
            self._note(f"a profiler window could not be read: {error}")
            self._went_blind()
            return
        if sample.devices:
            self._blind = 0
            self._samples = [each for each in self._samples if each.devices]
        else:
            self._note(next(iter(sample.problems), "no device data"))
            self._went_blind()
        self._samples.append(sample)
        self._news = True

    def _went_blind(self) -> None:
        self._blind += 1
        if self._blind >= MAX_BLIND_WINDOWS:
            self._next_step = NEVER
