from feedwatch.measure.marks import BEGIN, DEVICE, ENTER, GOT, INPUT
from feedwatch.measure.recent import TAIL, recent

MS = 1_000_000


def steps(count, wait_ms, compute_ms):
    marks, now = [], 0
    for number in range(count):
        marks.append((now, ENTER, INPUT))
        now += wait_ms * MS
        marks += [(now, GOT, 4), (now, BEGIN, number)]
        now += compute_ms * MS
    return marks


def test_without_a_complete_step_there_is_no_mean():
    assert recent([]) is None
    assert recent(steps(1, 2, 3)) is None


def test_only_the_last_steps_count():
    found = recent([*steps(500, 90, 90), *[(ns + 10**12, what, detail) for ns, what, detail in steps(TAIL, 2, 3)]])
    assert (found.input_wait_ms, found.copy_ms, found.compute_ms) == (2, None, 3)
    assert found.steps <= TAIL / 3


def test_a_tail_that_begins_inside_a_step_is_read_from_the_next_one_on():
    found = recent(steps(5, 2, 3)[1:])
    assert (found.input_wait_ms, found.compute_ms) == (2, 3)


def test_the_devices_own_marks_are_left_out():
    marks = steps(5, 2, 3)
    marks.insert(4, (3 * MS, DEVICE, None))
    assert recent(marks).steps == 4
