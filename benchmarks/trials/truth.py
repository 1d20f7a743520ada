"""The script really changed and retrained: every training is a process of its own, forked before any training began.

As it is and changed take turns, so that a machine that drifts does so for both. The clock is read by the workload
itself, before every step; feedwatch is not loaded. What counts begins when the input is in its steady state, and no
epoch ends in it: a trial leaves out what is paid once, and so does this.
"""

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from benchmarks.trials.workloads import IMPORTS, READ_EVERY, TRAIN, Case, Enough

SECONDS = 1.5
WARM_SECONDS = 0.8
# tf.data finds out while it runs how many calls are worth it.
WARM_SECONDS_OF_KERAS = 2.0
WARM_STEPS = 40
# So many changed trainings at most stand between two of the script as it is.
BETWEEN = 2
MOST_WORKERS = 8


@dataclass(frozen=True)
class Truth:
    """As it is / changed, of every turn."""

    turns: tuple[float, ...]


def in_a_child(action: Callable[[], Any]) -> Any:
    """What it returns, or None where it failed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        result = None
        home = tempfile.mkdtemp()
        os.chdir(home)
        try:
            result = action()
        except BaseException as error:
            print("child:", repr(error)[:300], file=sys.stderr)
        with os.fdopen(write, "w") as pipe:
            json.dump(result, pipe)
            pipe.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else None


class Stopwatch:
    """Milliseconds per batch of what follows the warm-up."""

    def __init__(self, warm_steps: int, warm_seconds: float, batches: int = 1) -> None:
        self._warm_steps, self._warm_seconds, self._batches = warm_steps, warm_seconds, batches
        self._began: float | None = None  # the first step: what a process needs until then is no step's
        self.stamps: list[float] = []
        self._seen = 0

    def __call__(self) -> bool:
        now = time.perf_counter()
        self._began = now if self._began is None else self._began
        self._seen += 1
        if self._seen > self._warm_steps and now - self._began > self._warm_seconds:
            self.stamps.append(now)
        return len(self.stamps) > 10 and now - self.stamps[0] > SECONDS

    @property
    def step_ms(self) -> float:
        return (self.stamps[-1] - self.stamps[0]) / (len(self.stamps) - 1) * 1e3 / self._batches


def stopwatch(case: Case, settings: dict[str, Any]) -> Stopwatch:
    if case.framework == "device":
        return Stopwatch(WARM_STEPS // READ_EVERY, WARM_SECONDS, READ_EVERY)
    filling = case.items // case.batch if "cache" in settings else 0
    warm_seconds = WARM_SECONDS_OF_KERAS if case.framework == "keras" else WARM_SECONDS
    return Stopwatch(WARM_STEPS + filling, warm_seconds, settings.get("steps_per_execution", 1))


def retrained(case: Case, settings: dict[str, Any]) -> float | None:
    watch = stopwatch(case, settings)

    def train() -> float:
        with suppress(Enough):
            TRAIN[case.framework](case, settings, watch)
        return watch.step_ms

    return in_a_child(train)


def truths(case: Case, variants: Sequence[dict[str, Any]], turns: int) -> list[Truth | None]:
    """For every variant; None where its training failed."""
    found: list[list[float]] = [[] for _ in variants]
    for _ in range(turns):
        for at, gain in _one_turn(case, variants):
            found[at].append(gain)
    return [Truth(tuple(each)) if each else None for each in found]


def _one_turn(case: Case, variants: Sequence[dict[str, Any]]) -> list[tuple[int, float]]:
    """Each against what the script as it is would have taken at its place between the two before and behind it."""
    gains, before = [], retrained(case, {})
    for first in range(0, len(variants), BETWEEN):
        group = [(at, retrained(case, variants[at])) for at in range(first, min(first + BETWEEN, len(variants)))]
        behind = retrained(case, {})
        for place, (at, own) in enumerate(group, start=1):
            if own and before and behind:
                share = place / (len(group) + 1)
                gains.append((at, before ** (1 - share) * behind**share / own))
        before = behind
    return gains


def grid(case: Case) -> dict[str, Any]:
    """Every number of workers, once: what somebody does who has the time."""
    began, now = time.monotonic(), int(case.settings.get("num_workers", 0))
    others = [workers for workers in range(MOST_WORKERS + 1) if workers != now]
    gains = dict(_one_turn(case, [{"num_workers": workers} for workers in others]))
    found = {others[at]: gain for at, gain in gains.items()}
    return {"now": now, "gains": {now: 1.0, **found}, "seconds": time.monotonic() - began}


def tried(case: Case, seconds: float) -> dict[str, Any] | None:
    """The trial of the same script."""

    def train() -> Any:
        from pathlib import Path

        began = time.perf_counter()
        with suppress(SystemExit, Enough):
            TRAIN[case.framework](case, {}, lambda: False, seconds)
        report = next(Path.cwd().rglob("report.json"))
        return {**json.loads(report.read_text())["trial"], "took_s": time.perf_counter() - began}

    return in_a_child(train)


def prepare(cases: Sequence[Case]) -> None:
    """Imports before the first fork: a child that imports for seconds would measure less."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in dict.fromkeys(name for case in cases for name in IMPORTS[case.framework]):
        importlib.import_module(name)
