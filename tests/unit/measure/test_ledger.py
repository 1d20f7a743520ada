import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.measure.ledger import MAX_DEPTH, MAX_SPAN_NS, Ledger
from tests.fakes.clock import FakeClock

OTHER, FETCH, COPY, STEP = range(4)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def ledger(clock):
    return Ledger(("other", "fetch", "copy", "step"), clock.now_ns)


def test_time_between_the_marks_belongs_to_the_category(ledger, clock):
    ledger.push(FETCH)
    clock.advance_ms(50)
    ledger.pop(FETCH)
    assert ledger.cut()[FETCH] == 50_000_000


def test_unclaimed_time_stays_visible_as_other(ledger, clock):
    clock.advance_ms(3)
    ledger.push(STEP)
    clock.advance_ms(10)
    ledger.pop(STEP)
    clock.advance_ms(2)
    assert ledger.cut() == [5_000_000, 0, 0, 10_000_000]


def test_a_copy_inside_a_fetch_is_taken_out_of_the_fetch(ledger, clock):
    ledger.push(FETCH)
    clock.advance_ms(5)
    ledger.push(COPY)
    clock.advance_ms(2)
    ledger.pop(COPY)
    clock.advance_ms(1)
    ledger.pop(FETCH)
    assert ledger.cut() == [0, 6_000_000, 2_000_000, 0]


def test_a_cut_in_mid_phase_splits_it(ledger, clock):
    ledger.push(STEP)
    clock.advance_ms(4)
    first = ledger.cut()
    clock.advance_ms(6)
    ledger.pop(STEP)
    assert (first[STEP], ledger.cut()[STEP]) == (4_000_000, 6_000_000)


def test_a_missing_end_is_closed_by_the_outer_end_and_counted(ledger, clock):
    ledger.push(FETCH)
    clock.advance_ms(1)
    ledger.push(COPY)
    clock.advance_ms(1)
    ledger.pop(FETCH)
    clock.advance_ms(7)
    assert ledger.dropped == 1
    assert ledger.cut() == [7_000_000, 1_000_000, 1_000_000, 0]
    assert ledger.depth == 0


def test_an_end_without_a_begin_changes_nothing_but_the_count(ledger, clock):
    clock.advance_ms(4)
    ledger.pop(STEP)
    assert ledger.dropped == 1
    assert ledger.cut() == [4_000_000, 0, 0, 0]


def test_a_backward_clock_is_dropped_and_counted(ledger, clock):
    ledger.push(STEP)
    clock.advance_ms(-500)
    ledger.pop(STEP)
    assert ledger.dropped == 1
    assert sum(ledger.cut()) == 0


def test_a_jump_of_hours_is_dropped_and_counted(ledger, clock):
    ledger.push(STEP)
    clock.advance_ms(MAX_SPAN_NS / 1e6 + 1)
    ledger.pop(STEP)
    assert ledger.dropped == 1
    assert sum(ledger.cut()) == 0


def test_begins_without_ends_do_not_grow_the_stack(ledger):
    for _ in range(10 * MAX_DEPTH):
        ledger.push(STEP)
    assert ledger.depth == MAX_DEPTH
    assert ledger.dropped == 9 * MAX_DEPTH


def test_a_category_is_made_on_first_use_and_found_again(ledger, clock):
    callback = ledger.category("callback EarlyStopping")
    ledger.push(callback)
    clock.advance_ms(3)
    ledger.pop(callback)
    assert ledger.category("callback EarlyStopping") == callback
    assert ledger.cut()[callback] == 3_000_000


def test_reset_forgets_what_an_exception_left_open(ledger, clock):
    ledger.push(STEP)
    clock.advance_ms(9)
    ledger.reset()
    clock.advance_ms(1)
    assert ledger.cut() == [1_000_000, 0, 0, 0]


@given(st.lists(st.tuples(st.sampled_from(["push", "pop", "cut"]), st.integers(0, 3), st.integers(0, 50)), max_size=60))
def test_the_parts_add_up_to_wall_time_whatever_the_nesting(moves):
    clock = FakeClock()
    ledger = Ledger(("other", "fetch", "copy", "step"), clock.now_ns)
    begin_ns, spent_ns = clock.now_ns(), 0
    for move, category, wait_ms in moves:
        clock.advance_ms(wait_ms)
        if move == "cut":
            spent_ns += sum(ledger.cut())
        else:
            getattr(ledger, move)(category)
    spent_ns += sum(ledger.cut())
    assert spent_ns == clock.now_ns() - begin_ns
