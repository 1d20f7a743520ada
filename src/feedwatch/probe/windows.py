"""When to record a profiler window. Pure: it is told steps and times, and reads no clock."""

from dataclasses import dataclass
from typing import Final

from feedwatch.settings import ProfileChoice

# Of the run's wall time, all windows together; the first one comes early and is paid off before the second.
BUDGET_SHARE: Final = 0.005
MAX_WINDOWS: Final = 50
# A few: enough for a mean, little enough for a small trace.
WINDOW_STEPS: Final = 5
# Steps between warm-up and the first window; they also tell what a step costs without a profiler.
STEPS_BEFORE_FIRST: Final = 4
# Cheap windows are spread out as the run grows, so that 50 of them last for hours and not for its first minutes.
SPREAD: Final = 1.2
# A profiler that saw no device twice will not see it the third time.
MAX_BLIND_WINDOWS: Final = 2


def wanted(choice: ProfileChoice, has_gpu: bool, rank: int) -> bool:
    """`auto`: on when there is a GPU; never on other ranks than 0, which would only say the same again."""
    return rank == 0 and (has_gpu if choice == "auto" else bool(choice))


@dataclass(slots=True)
class _Mark:
    step: int
    now_ns: int


class WindowPolicy:
    """`next_step` is the only thing the hot path looks at: below it there is nothing to do."""

    def __init__(self, warmup_steps: int) -> None:
        self.next_step = 0
        self.windows = 0
        self.cost_ns = 0
        self._warmup_steps = warmup_steps
        self._began: _Mark | None = None
        self._steady: _Mark | None = None  # where steps without a profiler began to be counted
        self._due_ns = 0

    @property
    def exhausted(self) -> bool:
        return self.windows >= MAX_WINDOWS

    def due(self, step: int, now_ns: int) -> bool:
        """Ask at `next_step`; sets the next one when it is too early."""
        if self._began is None:
            self._began = _Mark(step, now_ns)
            self.next_step = step + self._warmup_steps
            return False
        if self._steady is None:
            self._steady = _Mark(step, now_ns)
            self.next_step = step + STEPS_BEFORE_FIRST
            return False
        if now_ns < self._due_ns:
            self.next_step = step + self._steps_in(self._due_ns - now_ns, step, now_ns)
            return False
        return True

    def typical_step_ns(self, step: int, now_ns: int) -> float | None:
        """Of the steps since the last window."""
        if self._steady is None or step <= self._steady.step:
            return None
        return (now_ns - self._steady.now_ns) / (step - self._steady.step)

    def closed(self, step: int, now_ns: int, cost_ns: int) -> None:
        """A window ended. The next one is due when it, too, will have been paid off by the run's length."""
        self.windows += 1
        self.cost_ns += cost_ns
        began_ns = self._began.now_ns if self._began is not None else now_ns
        paid_off_ns = began_ns + int((self.cost_ns + cost_ns) / BUDGET_SHARE)
        spread_ns = began_ns + int((now_ns - began_ns) * SPREAD)
        self._due_ns = max(paid_off_ns, spread_ns)
        self._steady = _Mark(step, now_ns)
        self.next_step = step + STEPS_BEFORE_FIRST

    def cost_share(self, now_ns: int) -> float | None:
        if self._began is None or now_ns <= self._began.now_ns:
            return None
        return self.cost_ns / (now_ns - self._began.now_ns)

    def _steps_in(self, duration_ns: int, step: int, now_ns: int) -> int:
        step_ns = self.typical_step_ns(step, now_ns)
        return max(1, int(duration_ns / step_ns)) if step_ns else 1
