"""P4, the part that is ours alone: marks, guard and put, without any framework around them.

Machines are shared: the limit is a multiple of reading the clock, measured in the same moment. A reading takes about
50 ns on a quiet machine, so a hundred of them are the 5 µs that six marks and their guard may cost.
"""

import timeit
from time import perf_counter_ns

from feedwatch.guard import Guard
from feedwatch.measure.ledger import Ledger
from feedwatch.sink import Sink


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


def test_six_marks_and_the_guard_cost_less_than_a_hundred_clock_readings():
    ledger, guard = Ledger(("other", "fetch", "copy", "step")), Guard("the recorder")

    def step():
        for phase in (1, 2, 3):
            guard.run(ledger.push, phase)
            guard.run(ledger.pop, phase)

    assert best_ratio(step) < 1


def test_a_put_costs_less_than_four_hundred_clock_readings():
    sink = Sink(lambda _: None, Guard("the sink"))
    try:
        assert best_ratio(lambda: sink.put(None), number=100) < 4
    finally:
        sink.close()
