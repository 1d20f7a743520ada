"""Small builders for the frozen values."""

from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.steps import StepKind, StepRecord
from tests.fakes.clock import FakeClock

MS = 1_000_000


def record(step=1, wall_ms=10.0, wait_ms=4.0, h2d_ms=None, compute_ms=5.0, kind=StepKind.STEADY, samples=32, **more):
    def ns(value):
        return None if value is None else round(value * MS)

    return StepRecord(step, ns(wall_ms), ns(wait_ms), ns(h2d_ms), ns(compute_ms), samples=samples, kind=kind, **more)


def run_facts(**more):
    values = {"framework": "keras", "version": "3.15.1", "backend": "tensorflow", "device": "cpu"} | more
    return RunFacts(**values)


def facts(**more):
    run = more.pop("run", None) or run_facts()
    return Facts(run=run, **more)


__all__ = ["MS", "FakeClock", "facts", "record", "run_facts"]
