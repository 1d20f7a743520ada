"""Profiler windows during training. `WindowPolicy` says when, `ProfilerWindows` opens and closes them on the training
thread and reads them on the sink's, `fold_windows` makes one sample of all.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import thread_time_ns
from typing import Any, Final, Protocol, TypeVar

from feedwatch.guard import strict
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.model.facts import Transfers
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.settings import ProfileChoice
from feedwatch.words import count, ms, percent

T = TypeVar("T")

# What all windows together may cost, as a share of the run's wall time. A window is paid before it opens: the run must
# be long enough for what all earlier ones took and this one will take.
BUDGET_SHARE: Final = 0.005
# What the first window of a process is taken to cost: the first start of a GPU's profiler loads and initialises CUPTI,
# which takes one to two seconds. Only the first window that was asked for by name (profile=True) comes early.
FIRST_COST_NS: Final = 1_500_000_000
# One window says where copies come from. Automatically there is another one only when copies or launches are what
# bounds the run, and that is looked at this often.
LOOK_AGAIN_NS: Final = 10_000_000_000
MAX_WINDOWS: Final = 50
# Enough steps for a mean, few enough for a small trace.
WINDOW_STEPS: Final = 5
# Steps between warm-up and the first window. They show how long a step takes without a profiler.
STEPS_BEFORE_FIRST: Final = 4
# Cheap windows are spread out as the run grows, so that 50 of them last for hours and not for its first minutes.
SPREAD: Final = 1.2
# A profiler that saw no device twice will not see it the third time.
MAX_BLIND_WINDOWS: Final = 2
# No window is opened while this many recordings wait to be read, so that memory stays bounded.
MAX_PENDING: Final = 2
# The first start of a profiler loads CUPTI, which takes one to two seconds, or for ever. So it is rehearsed on a thread
# of its own, while training waits this long at most; the start itself has to be on the training thread.
REHEARSAL_SECONDS: Final = 5.0
NEVER: Final = 1 << 62


class ProfilerBusyError(Exception):
    """Ours could not start because another profiler runs; the text names it."""


class Recording(Protocol):
    """What a stopped window left behind."""

    def read(self) -> TransferSample:
        """Off the training thread. Removes whatever was written."""
        ...


class ProfilerBackend(Protocol):
    """One framework's profiler. Everything here runs on the training thread and may raise."""

    source: str  # xspace | kineto

    def other_active(self) -> str | None:
        """The name of another profiler that runs or will run: then ours must not start."""
        ...

    def rehearsal(self) -> Callable[[], None]:
        """What starts and stops at once and keeps nothing. It is called on another thread: it may hang."""
        ...

    def start(self) -> None: ...

    def step(self, number: int) -> None:
        """Mark in the trace that a step begins and that the step before it, if any, has ended."""
        ...

    def stop(self) -> Recording | None:
        """None if somebody else started a profiler during the window: then ours leaves the recording to that one."""
        ...

    def abandon(self) -> None:
        """Stop as fast as possible and keep nothing."""
        ...


class ProfilerWindows:
    """What a hook needs of profiler windows. Make it at train begin (nothing is alive before that), then call

    - `step_end(step)` after each training step, with the framework's own step number: below the next interesting
      step it costs one comparison;
    - `epoch_end()` before validation and at the end of an epoch: it closes an open window;
    - `close()` at the end of training, also after an error: it gives up an open window;
    - `collect()` from `session.each_window("profiler windows", windows.collect)`, on the sink's thread: reads what
      was recorded and answers with the facts to replace (`transfers`), or None.

    `transfers` is the fold of all windows so far; `sample.devices` empty and a text in `sample.problems` means that
    the profiler saw no device. `refused_because` names another profiler (for FW401), `failed_because` says why ours
    does not work (for FW402); either way it is not tried again. `cost_ns` is what the windows cost the training
    thread. `note` is called with each line for the report.
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
        touched: Callable[[], None] = lambda: None,
        in_question: Callable[[], bool] = lambda: True,
    ) -> None:
        """`touched` is told of every step that a window touches. `in_question`: are copies or launches the limit?"""
        self.refused_because: str | None = None
        self.failed_because: str | None = None
        self.transfers: Transfers | None = None
        self._backend = backend
        self._policy = WindowPolicy(warmup_steps, first_cost_ns=FIRST_COST_NS if choice == "auto" else 0)
        self._touched = touched
        self._enough: Callable[[], bool] = (lambda: not in_question()) if choice == "auto" else (lambda: False)
        self._note = note
        self._clock = clock
        self._next_step = 0 if wanted(choice, has_gpu, rank) else NEVER
        self._first_step: int | None = None  # the last step before the open window; None: no window is open
        self._last_step = 0
        self._news = False
        self._opened_ns = 0
        self._open_cost_ns = 0
        self._typical_ns: float | None = None
        self._pending: deque[Recording] = deque()
        self._samples: list[TransferSample] = []
        self._blind = 0
        self._rehearsed = False

    @property
    def cost_ns(self) -> int:
        """Start, stop, slower steps and reading."""
        return self._policy.spent_ns

    @property
    def windows(self) -> int:
        return self._policy.windows

    @property
    def next_step(self) -> int:
        """For steps below this number `step_end` does nothing."""
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
            of_run = "" if share is None else f", {percent(share)} of the run"
            self._note(f"{count(self._policy.windows, 'profiler window')} cost {ms(self.cost_ns / 1e6)}{of_run}")
        self._next_step = NEVER

    def collect(self) -> dict[str, Any] | None:
        """On the sink's thread. One recording that cannot be read does not stop the reading of the next."""
        while self._pending:
            began_ns = thread_time_ns()
            self._read(self._pending.popleft())
            self._policy.reading_ns += thread_time_ns() - began_ns
        if not self._news:
            return None
        self._news = False
        self.transfers = fold_windows(self._samples)
        return {"transfers": self.transfers}

    # -- the training thread ---------------------------------------------------------------------

    def _at(self, step: int) -> None:
        self._last_step = step
        if self._first_step is not None:
            self._touched()
            if step - self._first_step >= WINDOW_STEPS:
                self._close_window(step)
            else:
                self._mark_step(step + 1)
        elif self._policy.exhausted or len(self._pending) >= MAX_PENDING:
            self._next_step = NEVER if self._policy.exhausted else step + WINDOW_STEPS
        elif self._policy.windows and self._enough():
            self._next_step = step + self._policy.steps_in(LOOK_AGAIN_NS, step, self._clock.now_ns())
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
        self._touched()
        try:
            self._backend.abandon()
        except Exception as error:
            self._failed("the profiler cannot be stopped", error)

    def _open_window(self, step: int) -> None:
        self._touched()
        began_ns = self._clock.now_ns()
        other = self._backend.other_active()
        if other is not None:
            self._refused(other)
            return
        self._typical_ns = self._policy.typical_step_ns(step, began_ns)
        try:
            if not self._rehearsed:
                in_time(self._backend.rehearsal(), REHEARSAL_SECONDS)
                self._rehearsed = True
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
        self._touched()
        steps = step - self._first_step
        stopping_ns = self._clock.now_ns()
        recording = self._stopped()
        self._first_step = None
        if recording is not None:
            self._pending.append(recording)
        now_ns = self._clock.now_ns()
        # Steps are slower while they are recorded. The time above a usual step is a cost of ours too.
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


def in_time(action: Callable[[], None], seconds: float) -> None:
    """On a thread of its own, which is left behind when it takes longer. Raises what `action` raises."""
    raised: list[Exception] = []

    def run() -> None:
        try:
            action()
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="feedwatch-profiler", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError(f"it has not started within {count(int(seconds), 'second')}")
    if raised:
        raise raised[0]


def wanted(choice: ProfileChoice, has_gpu: bool, rank: int) -> bool:
    """`auto` means: with a GPU. Only rank 0 records, because the other ranks would show the same."""
    return rank == 0 and (has_gpu if choice == "auto" else bool(choice))


@dataclass(slots=True)
class _Point:
    step: int
    now_ns: int


class WindowPolicy:
    """When to record. It is given steps and times and reads no clock.

    `next_step` is the only thing the hot path looks at: below it there is nothing to do.
    """

    def __init__(self, warmup_steps: int, first_cost_ns: int = 0) -> None:
        self.next_step = 0
        self.windows = 0
        self.reading_ns = 0  # on the sink's thread, which holds the interpreter's lock meanwhile
        self._cost_ns = 0
        self._warmup_steps = warmup_steps
        self._began: _Point | None = None
        self._steady: _Point | None = None  # since then no profiler of ours has slowed a step
        self._next_cost_ns = first_cost_ns
        self._spread_ns = 0

    @property
    def spent_ns(self) -> int:
        return self._cost_ns + self.reading_ns

    @property
    def exhausted(self) -> bool:
        return self.windows >= MAX_WINDOWS

    def due(self, step: int, now_ns: int) -> bool:
        """Call it at `next_step`. If it is too early for a window, it moves `next_step`."""
        if self._began is None:
            self._began = _Point(step, now_ns)
            self.next_step = step + self._warmup_steps
            return False
        if self._steady is None:
            self._steady = _Point(step, now_ns)
            self.next_step = step + STEPS_BEFORE_FIRST
            return False
        paid_off_ns = self._began.now_ns + int((self.spent_ns + self._next_cost_ns) / BUDGET_SHARE)
        due_ns = max(paid_off_ns, self._spread_ns)
        if now_ns < due_ns:
            self.next_step = step + self.steps_in(due_ns - now_ns, step, now_ns)
            return False
        return True

    def typical_step_ns(self, step: int, now_ns: int) -> float | None:
        """The mean of the steps since the last window."""
        if self._steady is None or step <= self._steady.step:
            return None
        return (now_ns - self._steady.now_ns) / (step - self._steady.step)

    def closed(self, step: int, now_ns: int, cost_ns: int) -> None:
        """A window ended. The next one is taken to cost as much."""
        self.windows += 1
        self._cost_ns += cost_ns
        self._next_cost_ns = cost_ns
        began_ns = self._began.now_ns if self._began is not None else now_ns
        self._spread_ns = began_ns + int((now_ns - began_ns) * SPREAD)
        self._steady = _Point(step, now_ns)
        self.next_step = step + STEPS_BEFORE_FIRST

    def cost_share(self, now_ns: int) -> float | None:
        if self._began is None or now_ns <= self._began.now_ns:
            return None
        return self.spent_ns / (now_ns - self._began.now_ns)

    def steps_in(self, duration_ns: int, step: int, now_ns: int) -> int:
        step_ns = self.typical_step_ns(step, now_ns)
        return max(1, int(duration_ns / step_ns)) if step_ns else 1


def fold_windows(samples: Sequence[TransferSample]) -> Transfers | None:
    """`device` is the one that got the most bytes: with DataParallel one GPU is fed for all the others."""
    if not samples:
        return None
    sample = fold(samples)
    fed = max(sample.devices.values(), key=lambda each: (each.copies.size_bytes, each.busy_ns), default=None)
    return Transfers(sample.source, len(samples), sample, "" if fed is None else fed.name)


def fold(samples: Sequence[TransferSample]) -> TransferSample:
    steps = sum(sample.steps for sample in samples)
    names = dict.fromkeys(name for sample in samples for name in sample.devices)
    latest = samples[-1]
    return TransferSample(
        source=latest.source,
        devices={name: _device([s.devices[name] for s in samples if name in s.devices]) for name in names},
        steps=steps,
        step_ns=_mean(samples, lambda sample: sample.step_ns, lambda sample: sample.steps),
        input_wait_ns=_sum(sample.input_wait_ns for sample in samples),
        input_wait_idle_ns=_sum(sample.input_wait_idle_ns for sample in samples),
        kind_inferred=any(sample.kind_inferred for sample in samples),
        problems=latest.problems,  # the first window may see no device although later ones do
        step_wait_ns=_sum(sample.step_wait_ns for sample in samples),
    )


def _device(parts: Sequence[DeviceTransfers]) -> DeviceTransfers:
    steps = sum(part.steps for part in parts)
    return DeviceTransfers(
        name=parts[0].name,
        copies=_totals(part.copies for part in parts),
        by_kind=_by_kind(parts),
        large=_totals(part.large for part in parts),
        union_ns=sum(part.union_ns for part in parts),
        hidden_ns=sum(part.hidden_ns for part in parts),
        busy_ns=sum(part.busy_ns for part in parts),
        idle_share=_mean(parts, lambda part: part.idle_share, lambda part: part.steps * (part.step_ns or 0.0)),
        kernels=sum(part.kernels for part in parts),
        kernel_ns=sum(part.kernel_ns for part in parts),
        steps=steps,
        step_ns=_mean(parts, lambda part: part.step_ns, _steps),
        busy_per_step_ns=_mean(parts, lambda part: part.busy_per_step_ns, _steps),
        exposed_per_step_ns=_mean(parts, lambda part: part.exposed_per_step_ns, _steps),
        bytes_per_step=_mean(parts, lambda part: part.bytes_per_step, _steps),
        to_host=_totals(part.to_host for part in parts if part.to_host is not None),
    )


def _steps(part: DeviceTransfers) -> float:
    return part.steps


def _by_kind(parts: Sequence[DeviceTransfers]) -> dict[str, CopyTotals]:
    kinds = sorted({kind for part in parts for kind in part.by_kind})
    return {kind: _totals(part.by_kind[kind] for part in parts if kind in part.by_kind) for kind in kinds}


def _totals(parts: Iterable[CopyTotals]) -> CopyTotals:
    known = list(parts)
    return CopyTotals(
        sum(part.count for part in known),
        sum(part.size_bytes for part in known),
        sum(part.time_ns for part in known),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(parts: Sequence[T], value: Callable[[T], float | None], weight: Callable[[T], float]) -> float | None:
    known = [(weight(part), found) for part in parts if (found := value(part)) is not None]
    total = sum(weight for weight, _ in known)
    return sum(weight * found for weight, found in known) / total if total > 0 else None
