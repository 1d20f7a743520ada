"""The script really changed and retrained: every training is a process of its own, forked before any training began.

As it is and changed take turns, so that a machine that drifts does so for both. The clock is read by the workload
itself, before every step; feedwatch is not loaded.
"""

import importlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from benchmarks.trials.workloads import IMPORTS, TRAIN, Case, Enough

SECONDS = 2.5
WARM_SECONDS = 1.0
WARM_STEPS = 30


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
    """Milliseconds per step of what follows the warm-up."""

    def __init__(self, seconds: float, batches: int = 1) -> None:
        self._seconds, self._batches = seconds, batches
        self.began = time.perf_counter()
        self.stamps: list[float] = []
        self.seen = 0

    def __call__(self) -> bool:
        now = time.perf_counter()
        self.seen += 1
        if self.seen > WARM_STEPS and now - self.began > WARM_SECONDS:
            self.stamps.append(now)
        return len(self.stamps) > 10 and now - self.stamps[0] > self._seconds

    @property
    def step_ms(self) -> float:
        return (self.stamps[-1] - self.stamps[0]) / (len(self.stamps) - 1) * 1e3 / self._batches


def retrained(case: Case, settings: dict[str, Any]) -> float | None:
    watch = Stopwatch(SECONDS, settings.get("steps_per_execution", 1))
    if "cache" in settings:
        watch.began += case.items * (case.wait_ms + case.cpu_ms) / 1e3 + 1.0  # filling it is not what is asked

    def train() -> float:
        with suppress(Enough):
            TRAIN[case.framework](case, settings, watch)
        return watch.step_ms

    return in_a_child(train)


def gains(case: Case, variants: Sequence[dict[str, Any]], rounds: int) -> list[float | None]:
    """As it is / changed, for every variant: the median over rounds of neighbours."""
    found: list[list[float]] = [[] for _ in variants]
    for _ in range(rounds):
        before = retrained(case, {})
        for at, settings in enumerate(variants):
            own = retrained(case, settings)
            behind = retrained(case, {}) if at % 3 == 2 or at == len(variants) - 1 else before
            if own and before and behind:
                found[at].append(math.sqrt(before * behind) / own)
            before = behind
    return [statistics.median(each) if each else None for each in found]


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
