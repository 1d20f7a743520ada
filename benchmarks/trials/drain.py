"""The tuner that everybody writes: drain the loader alone, as fast as it can, and take the fastest setting."""

import itertools
import time
from typing import Any

from benchmarks.trials.truth import in_a_child
from benchmarks.trials.workloads import Case, keras_data, torch_loader

BATCHES = 40


def drained(case: Case, settings: dict[str, Any]) -> float | None:
    """Milliseconds per batch."""

    def drain() -> float:
        make = keras_data if case.framework == "keras" else torch_loader
        batches = iter(make(case, settings))
        for _ in itertools.islice(batches, 10):
            pass
        began = time.perf_counter()
        count = sum(1 for _ in itertools.islice(batches, BATCHES))
        return (time.perf_counter() - began) / count * 1e3

    return in_a_child(drain)
