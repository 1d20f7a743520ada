"""P4, the part that is ours alone: marks and put, without any framework around them.

Machines are shared: the limit is a multiple of reading the clock, measured in the same moment. A reading takes about
50 ns on a quiet machine, so a hundred of them are the 5 µs that the marks of a step may cost.
"""

import timeit
from time import perf_counter_ns

import pytest

from feedwatch.guard import Guard
from feedwatch.measure.marks import COMPUTE, ENTER, GOT, H2D, INPUT, LEAVE, TRAINED, Marks
from feedwatch.model.report import Status
from feedwatch.sink import Sink

pytestmark = pytest.mark.alone


def hundred_clock_readings():
    for _ in range(100):
        perf_counter_ns()


def best_ratio(function, number=500, rounds=30):
    """Interleaved, best of many short rounds each: some round was left alone by the neighbours."""
    own, reference = [], []
    for _ in range(rounds):
        own.append(timeit.timeit(function, number=number))
        reference.append(timeit.timeit(hundred_clock_readings, number=number))
    return min(own) / min(reference)


def test_the_marks_of_a_step_cost_less_than_a_hundred_clock_readings():
    marks = Marks(10**9)
    append, now_ns = marks.append, perf_counter_ns

    def step():
        append((now_ns(), ENTER, INPUT))
        append((now_ns(), GOT, None))
        append((now_ns(), ENTER, H2D))
        append((now_ns(), LEAVE, H2D))
        append((now_ns(), ENTER, COMPUTE))
        append((now_ns(), LEAVE, COMPUTE))
        append((now_ns(), TRAINED, 8))
        if len(marks.rows) >= marks.most:
            marks.take()

    assert best_ratio(step) < 0.5


def test_lightnings_names_cost_less_through_the_tap_than_without_it():
    """A step has 24 names. Those that say nothing to us cost so little that they pay for those that do."""
    pytest.importorskip("lightning")
    from lightning.pytorch.profilers import PassThroughProfiler

    from tests.unit.hooks.lightning.test_tap import COPY, FETCH, Rig

    names = [FETCH, COPY, "run_training_batch", *(f"[LightningModule]Model.hook_{number}" for number in range(21))]

    def entering(profiler):
        def step():
            for name in names:
                with profiler.profile(name):
                    pass

        return step

    rig = Rig()
    tapped, bare = entering(rig.profiler), entering(PassThroughProfiler())
    pairs = [(timeit.timeit(tapped, number=100), timeit.timeit(bare, number=100)) for _ in range(30)]
    rig.run.close(Status.FINISHED)
    assert min(ours for ours, _ in pairs) < 0.6 * min(theirs for _, theirs in pairs)


def test_a_put_costs_less_than_four_hundred_clock_readings():
    sink = Sink(lambda _: None, Guard("the sink"))
    try:
        assert best_ratio(lambda: sink.put(None), number=100) < 4
    finally:
        sink.close()
