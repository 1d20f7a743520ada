"""P4, the part that is ours alone: marks, guard and put, without any framework around them."""

import timeit

from feedwatch.guard import Guard
from feedwatch.measure.ledger import Ledger
from feedwatch.report.sink import Sink


def best_us(function, number=2000, repeats=15):
    """The best of many short rounds: whatever else runs here, some round was left alone."""
    return 1e6 * min(timeit.repeat(function, number=number, repeat=repeats)) / number


def test_six_marks_and_the_guard_cost_less_than_5_us_per_step():
    ledger, guard = Ledger(("other", "fetch", "copy", "step")), Guard("the recorder")

    def step():
        for phase in (1, 2, 3):
            guard.run(ledger.push, phase)
            guard.run(ledger.pop, phase)

    assert best_us(step) < 5


def test_a_put_costs_less_than_20_us():
    sink = Sink(lambda _: None, Guard("the sink"))
    try:
        assert best_us(lambda: sink.put(None), number=200) < 20
    finally:
        sink.close()
