"""The log: cheap to write, handed over in one piece, early at first and then once per window."""

import threading

from feedwatch.measure.marks import BEGIN, COLD, FIRST_HAND_OVER_NS, LATER_BY, Marks, mark_cost_ns
from tests.fakes.clock import FakeClock

SECOND_NS = 1_000_000_000


def test_marks_are_handed_over_whole_and_in_order_and_the_list_stays_the_same_object():
    clock = FakeClock()
    marks = Marks(SECOND_NS, clock)
    append, rows = marks.append, marks.rows
    append((1, BEGIN, 0))
    append((2, BEGIN, 1))
    clock.advance_ms(7)
    log = marks.take()
    assert log.marks == [(1, BEGIN, 0), (2, BEGIN, 1)]
    assert (log.ended_ns, log.ended_s) == (clock.now_ns(), clock.wall_s())
    append((3, BEGIN, 2))
    assert marks.rows is rows
    assert marks.take().marks == [(3, BEGIN, 2)]


def test_the_first_hand_overs_come_early_and_later_ones_once_per_window():
    clock = FakeClock()
    marks = Marks(SECOND_NS, clock)
    waits = []
    for _ in range(5):
        waits.append(marks.due_ns - clock.now_ns())
        clock.advance_ms(waits[-1] / 1e6)
        marks.take()
    assert waits == [FIRST_HAND_OVER_NS, FIRST_HAND_OVER_NS, LATER_BY * FIRST_HAND_OVER_NS, 800_000_000, SECOND_NS]


def test_a_short_window_is_never_waited_for_longer_than_it_lasts():
    clock = FakeClock()
    marks = Marks(10_000_000, clock)
    assert marks.due_ns - clock.now_ns() == 10_000_000


def test_no_mark_of_another_thread_is_lost_while_marks_are_taken():
    marks, taken, count = Marks(SECOND_NS), [], 20_000
    writer = threading.Thread(target=lambda: [marks.append((number, BEGIN, number)) for number in range(count)])
    writer.start()
    while writer.is_alive():
        taken += marks.take().marks
    taken += marks.take().marks
    assert [number for number, _, _ in taken] == list(range(count))


def test_the_cost_of_a_mark_is_a_small_positive_figure():
    assert 10 * COLD < mark_cost_ns() < 1_000_000
