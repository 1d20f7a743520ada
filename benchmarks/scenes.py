"""Trainings whose times are known: the data set and the step do what the scene says, and time themselves."""

import time
from dataclasses import dataclass
from itertools import product

BATCH = 4
# Left out of every mean, as feedwatch does: tracing, allocator growth, the first prefetched batches.
WARM = 3

INPUT_MS, COMPUTE_MS, WORKERS = (2.0, 10.0, 30.0), (0.0, 5.0, 20.0), (0, 2)
EXTRAS = ("validation", "checkpoints", "slow callback")


@dataclass(frozen=True, slots=True)
class Scene:
    input_ms: float
    compute_ms: float
    workers: int = 0
    extra: str | None = None

    @property
    def name(self) -> str:
        made = f"input {self.input_ms:g} ms, compute {self.compute_ms:g} ms, workers {self.workers}"
        return made if self.extra is None else f"{made}, {self.extra}"

    def steps(self, seconds: float) -> int:
        """As many as fit, so that short steps are not measured by a handful of them; even, for two workers."""
        about = int(seconds * 1000 / (self.input_ms + self.compute_ms + 1.0))
        return WARM + 1 + 2 * max(12, min(100, about // 2))


def grid() -> list[Scene]:
    return [Scene(*point) for point in product(INPUT_MS, COMPUTE_MS, WORKERS)]


def extras(*more: str) -> list[Scene]:
    return [Scene(10.0, 5.0, 0, extra) for extra in (*EXTRAS, *more)]


def sleep(ms: float) -> float:
    """Milliseconds it really took."""
    began = time.perf_counter()
    if ms > 0:
        time.sleep(ms / 1000)
    return (time.perf_counter() - began) * 1000


def spin(ms: float) -> None:
    until = time.perf_counter() + ms / 1000
    while time.perf_counter() < until:
        pass


def mean(values: list[float], warm: int = WARM) -> float | None:
    steady = values[warm:]
    return round(sum(steady) / len(steady), 4) if steady else None
