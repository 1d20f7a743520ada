import pytest

from feedwatch.measure.run_so_far import MAX_POINTS, RunSoFar
from feedwatch.measure.window import Piece
from feedwatch.model.steps import EpochGap, StepKind
from tests.fakes.values import record


def piece(records, second=1.0, gaps=(), dropped=0, mono_second=None, marks=()):
    mono = second if mono_second is None else mono_second
    return Piece(list(records), list(gaps), second, round(mono * 1e9), dropped, marks)


def steady(count=10, first=0, **more):
    return [record(first + index, **more) for index in range(count)]


def test_the_phases_of_a_run_add_up_to_its_wall_time():
    course = RunSoFar()
    course.add(piece(steady(wall_ms=10, wait_ms=4, h2d_ms=1, compute_ms=3)))
    run = course.run()
    assert sum(time.total_ns for time in run.phases.values()) == run.wall_ns == 100_000_000
    assert run.phases["other"].total_ns == 20_000_000


def test_medians_of_the_run_are_within_two_percent():
    course = RunSoFar()
    course.add(piece(steady(100, wall_ms=12.34, wait_ms=5.67)))
    assert course.run().step.median_ns == pytest.approx(12_340_000, rel=0.02)
    assert course.run().phases["input_wait"].median_ns == pytest.approx(5_670_000, rel=0.02)


def test_an_unmeasured_phase_stays_unknown_even_if_one_window_knew_it():
    course = RunSoFar()
    course.add(piece(steady(h2d_ms=1)))
    course.add(piece(steady(first=10, h2d_ms=None), second=2))
    assert course.run().phases["h2d"] is None


def test_warmup_is_left_out_and_counted():
    course = RunSoFar()
    slow = [record(0, wall_ms=900, wait_ms=0, compute_ms=900, kind=StepKind.WARMUP)]
    window = course.add(piece([*slow, *steady(9, first=1)]))
    assert course.counts.warmup == 1
    assert course.counts.measured == window.steps == 9
    assert course.run().step.p95_ns < 11_000_000
    assert course.startup().first_step_ms == 900


def test_a_window_of_nothing_but_warmup_is_not_trusted():
    window = RunSoFar().add(piece([record(0, kind=StepKind.WARMUP)]))
    assert window.distrust == ("warm-up",)


def test_a_suspended_machine_makes_a_window_untrusted():
    course = RunSoFar()
    course.add(piece(steady(), second=1.0))
    window = course.add(piece(steady(first=10), second=3600.0, mono_second=2.0))
    assert not window.trusted
    assert course.counts.distrusted == 10
    assert course.counts.measured == 10


def test_epoch_boundaries_are_the_gap_plus_the_excess_of_the_first_fetch():
    course = RunSoFar()
    first = record(10, wall_ms=300, wait_ms=204, kind=StepKind.EPOCH_FIRST)
    gap = EpochGap(step=10, wall_ns=50_000_000, loader_start_ns=40_000_000)
    course.add(piece([*steady(10, wait_ms=4), first], gaps=[gap]))
    boundaries = course.boundaries()
    assert boundaries.count == 1
    assert boundaries.median_ms == pytest.approx(250, rel=0.02)
    assert boundaries.loader_start_ms == pytest.approx(40, rel=0.02)
    assert boundaries.share == pytest.approx(250 / 450, rel=0.03)


def test_a_run_without_epoch_boundaries_has_none_not_zero():
    course = RunSoFar()
    course.add(piece(steady()))
    assert course.boundaries().median_ms is None
    assert course.boundaries().count == 0


def test_samples_are_unknown_when_one_step_did_not_know_them():
    course = RunSoFar()
    course.add(piece([record(0, samples=8), record(1, samples=None)]))
    assert course.counts.samples is None


def test_stalls_are_counted_and_the_longest_is_kept():
    course = RunSoFar()
    waits = [0.1, 0.1, 8, 8, 8, 0.1, 0.1, 0.1, 0.1, 8]
    course.add(piece([record(i, wall_ms=10, wait_ms=wait, compute_ms=1) for i, wait in enumerate(waits)]))
    clumps = course.run().clumps
    assert (clumps.stalled_steps, clumps.largest_wait_ns) == (4, 8_000_000)


def test_the_series_keeps_at_most_400_points_and_the_last_step():
    course = RunSoFar()
    for index in range(2000):
        course.add(piece([record(index + 1, wait_ms=index % 3)], second=index))
    series = course.history.series()
    assert 200 <= len(series.step) <= MAX_POINTS
    assert series.step[-1] == 2000
    assert sorted(series.step) == list(series.step)
    assert sum(series.input_wait) / len(series.input_wait) == pytest.approx(1.0, rel=0.05)


def test_epoch_marks_stay_few():
    course = RunSoFar()
    for epoch in range(500):
        course.add(piece([], marks=((epoch, f"epoch {epoch}"),)))
    assert len(course.history.series().marks) <= 60


def test_a_short_run_has_a_course_too():
    """Two seconds of training must be enough to tell it from another run."""
    course = RunSoFar()
    course.add(piece(steady(40)))
    course.add(piece(steady(12, first=40), second=2))
    series = course.history.series()
    assert series.step == (9, 19, 29, 39, 51)
    assert set(series.input_wait) == {4.0}


def test_a_long_run_has_one_point_for_each_window():
    course = RunSoFar()
    for second in range(60):
        course.add(piece(steady(40, first=40 * second), second=second + 1.0))
    assert len(course.history.series().step) == 16 + 56
