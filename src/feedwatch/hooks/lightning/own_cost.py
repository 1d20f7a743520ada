"""What we cost per step, measured on this machine in this run.

Now and then, between two steps, the names of one step are played once through a second tap and once through the
profiler as it would be without us; the difference is what our marks cost. What our own hooks do is timed in sampled
steps. Played once, not in a loop: code that has just run is faster than it is in a real step.
"""

from collections.abc import Callable
from statistics import median
from time import perf_counter_ns
from typing import Any, Final

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.lightning.tap import OWN_NAME, ActionTap
from feedwatch.measure.clock import SYSTEM_CLOCK
from feedwatch.measure.recorder import StepRecorder

FIRST_STEP: Final = 24
EVERY_STEPS: Final = 256
MOST: Final = 15  # a median over so many does not change any more
_IN_STEP: Final = (
    "train_dataloader_next",
    "run_training_batch",
    "batch_to_device",
    "batch_transfer",
    "on_train_batch_start",
    "on_train_batch_end",
    "zero_grad",
    "backward",
    "optimizer_step",
    "training_step",
    "gradient_clipping",
)


class OwnCost:
    def __init__(self, callback: Any, profiler: Any, spans: dict[str, Any]) -> None:
        self._callback, self._spans = callback, spans
        self._plain = type(profiler)() if type(profiler).__name__ == "PassThroughProfiler" else None
        self._marks_ns: list[int] = []
        self._hooks_ns = self._hooks = 0
        self._next_step = FIRST_STEP

    def hook(self, took_ns: int) -> None:
        self._hooks_ns += took_ns
        self._hooks += 1

    def step_end(self, step: int) -> None:
        """One comparison, until a measurement is due."""
        if step >= self._next_step:
            self._next_step = step + EVERY_STEPS if len(self._marks_ns) < MOST else 1 << 62
            self._marks_ns.append(self._play())

    @property
    def ns_per_step(self) -> float | None:
        if not self._marks_ns or not self._hooks:
            return None
        return max(0.0, median(self._marks_ns) + self._hooks_ns / self._hooks)

    def _play(self) -> int:
        names = [name for name in self._spans if name.endswith(_IN_STEP)]
        own = [name.rpartition(".")[2] for name in names if name.startswith(f"[Callback]{OWN_NAME}.")]
        others = [name for name in names if not name.startswith(f"[Callback]{OWN_NAME}.")]
        profile = self._second_tap()
        # Without our fast `profile` every action would go through the profiler's own generator.
        plain_ns = 0 if self._plain is None else _timed(self._plain.profile, others)
        return _timed(profile, others) - plain_ns + self._calls(profile, own)

    def _second_tap(self) -> Callable[[str], Any]:
        recorder = StepRecorder(SYSTEM_CLOCK, lambda _: None, 3600.0, 0)
        marks = StepMarks(recorder, SYSTEM_CLOCK.now_ns)
        tap = ActionTap(marks, Guard("measuring our own cost"))
        for name in self._spans:
            tap.span_of(name)
        marks.fetch_begin()
        marks.fetch_end()
        marks.trained(None)
        return tap.profile(start=_ignore, stop=_ignore, passive=self._plain is not None)

    def _calls(self, profile: Callable[[str], Any], hooks: list[str]) -> int:
        """Lightning's own work for each hook of a callback, as in its trainer/call.py; the hooks are ours."""
        callback = self._callback
        began_ns = perf_counter_ns()
        for hook in hooks:
            function = getattr(callback, hook)
            if callable(function):
                with profile(f"[Callback]{callback.state_key}.{hook}"):
                    _ignore()
        return perf_counter_ns() - began_ns


def _timed(profile: Callable[[str], Any], names: list[str]) -> int:
    began_ns = perf_counter_ns()
    for name in names:
        with profile(name):
            pass
    return perf_counter_ns() - began_ns


def _ignore(*_: object) -> None: ...
