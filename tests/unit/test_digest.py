"""The sink thread's half, called directly: marks in, windows and reports out."""

import itertools
import warnings
from dataclasses import replace

import pytest

from feedwatch.diagnose.judge import judge
from feedwatch.digest import (
    EARLY_REPORTS,
    JUDGING_SHARE,
    POINT_SECONDS,
    POINTS_AT_ONCE,
    REPORT_SECONDS,
    STEADY_SECONDS,
    Allowance,
    Digest,
    seconds_between,
)
from feedwatch.measure.marks import Log
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import Piece, WindowCutter
from feedwatch.model.report import Status
from feedwatch.model.steps import StepKind
from feedwatch.model.verdict import Bound
from feedwatch.report.tensorboard import SummaryOutput
from tests.fakes.clock import FakeClock
from tests.fakes.marks import Marker
from tests.fakes.values import facts, record


class Written:
    """An output that remembers what it was given."""

    def __init__(self):
        self.points, self.reports, self.advices, self.closed = [], [], [], False

    def scalars(self, step, values, wall_s):
        self.points.append((step, values))

    def advice(self, step, markdown, wall_s):
        self.advices.append(markdown)

    def report(self, step, report, wall_s):
        self.reports.append(report)

    def flush(self):
        pass

    def close(self):
        self.closed = True


@pytest.fixture
def written():
    return Written()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def marks(clock):
    return Marker(clock)


@pytest.fixture
def digest(written, clock):
    return digest_of(written, clock)


def digest_of(output, clock):
    return Digest([output], None, StepReader(), WindowCutter(1.0, warmup_steps=0), clock)


def read(digest, log):
    for piece in digest.pieces(log, ()):
        digest.take(piece)
    digest.write(facts(), 0)


def second(marks, wait=6.0):
    """A second of steps of 10 ms."""
    for _ in range(100):
        marks.lightning_step(wait=wait, copy=None, compute=9.0 - wait, after=1.0)
    return marks.take_log()


def test_marks_become_a_window_a_verdict_and_a_point_on_the_curve(digest, written, marks):
    for _ in range(2):
        read(digest, second(marks))
    assert len(written.points) == 2
    assert digest.latest.verdict.bound is Bound.INPUT
    assert digest.latest.verdict.stall_ratio == pytest.approx(0.6)


def test_one_log_of_many_seconds_is_cut_into_several_windows(digest, marks):
    for _ in range(300):
        marks.lightning_step(wait=6.0, copy=None, compute=3.0, after=1.0)
    marks.epoch_end()
    assert [len(piece.records) for piece in digest.pieces(marks.take_log(), ())] == [100, 100, 100]


def test_a_report_is_written_when_the_verdict_changes_and_otherwise_every_half_minute(digest, written, marks):
    for _ in range(int(REPORT_SECONDS) + 5):
        read(digest, second(marks))
    assert 2 <= len(written.reports) <= 3
    assert len(written.points) >= REPORT_SECONDS


def test_the_rest_of_a_run_and_its_status_are_in_the_last_report(digest, written, marks):
    for _ in range(10):
        marks.lightning_step()
    marks.epoch_end()
    log = marks.take_log()
    assert list(digest.pieces(log, ())) == []
    digest.status = Status.FINISHED
    digest.take(digest.last_piece(log))
    digest.write(facts(), 0)
    assert written.reports[-1].status is Status.FINISHED
    assert written.reports[-1].steps.batches == 10
    assert written.closed


def test_a_run_without_a_step_has_a_last_report_too(digest, written, marks):
    digest.status = Status.FAILED
    digest.take(digest.last_piece(marks.take_log()))
    digest.write(facts(), 0)
    assert written.reports[-1].verdict.bound is Bound.UNKNOWN


# -- what a process that is killed leaves behind ----------------------------------------------------


@pytest.mark.parametrize("steps", [100, 113, 130, 149, 151, 160])
def test_no_step_of_a_hand_over_waits_for_the_next_one(digest, written, marks, steps):
    """A step is known when the next one begins: after kill -9 that one is lost, and the marks not yet handed over."""
    done = 0
    for _ in range(7):
        for _ in range(steps):
            marks.lightning_step(wait=6.0, copy=None, compute=3.0, after=1.0)
        done += steps
        read(digest, marks.take_log())
        assert written.points[-1][0] >= done - 1


# -- when something is due --------------------------------------------------------------------------


class SetBack(FakeClock):
    back_s = 0.0

    def wall_s(self):
        return super().wall_s() - self.back_s


def test_a_wall_clock_that_is_set_back_an_hour_delays_no_report(written):
    clock = SetBack()
    digest, marks = digest_of(written, clock), Marker(clock)
    for number in range(200):
        if number == 50:
            clock.back_s = 3600.0
        read(digest, second(marks))
    assert len(written.reports) >= 200 // REPORT_SECONDS


def test_a_process_that_is_alive_reports_although_no_step_ends(digest, written, clock):
    """A long validation is no reason to look dead."""
    for _ in range(10):
        clock.advance_ms(REPORT_SECONDS * 1e3)
        digest.write(facts(), 0)
    assert len(written.reports) == 10
    assert written.reports[-1].run.updated == clock.wall_s()
    assert written.points == []


# -- how much is written ----------------------------------------------------------------------------


def hours(digest, clock, number, **phases):
    """Epochs of one second."""
    for step in range(round(3600 * number)):
        clock.advance_ms(1000)
        wait_ms = phases["wait_ms"](step) if phases else 40.0
        records = [record(step * 10 + place, wall_ms=100, wait_ms=wait_ms, compute_ms=50) for place in range(1, 11)]
        digest.take(Piece(records, [], clock.wall_s(), clock.now_ns(), 0, ((step * 10, f"epoch {step}"),)))
        digest.write(facts(), 0)


class Bytes(SummaryOutput):
    """The real records of the event file, counted and thrown away. Each has sixteen bytes of frame."""

    def __init__(self):
        self.total = 0
        super().__init__(self._count)

    def _count(self, step, summary, wall_s):
        self.total += summary.ByteSize() + 40


def flapping(step):
    """A verdict that is another one every few seconds: the run so far waits now for 4 %, now for 6 % of the time."""
    return 100.0 if step & (step - 1) == 0 else 0.0


@pytest.mark.parametrize("phases", [{}, {"wait_ms": flapping}], ids=["steady", "flapping"])
def test_an_hour_of_short_epochs_writes_less_than_3_mb(clock, phases):
    """A quarter of it: the first one, in which more is written than later."""
    output = Bytes()
    hours(digest_of(output, clock), clock, 0.25, **phases)
    assert 0.2e6 < output.total < 3e6 / 4


def test_a_hundred_days_write_less_than_50_mb():
    """By the number of points and reports, with the sizes of the largest that a long run has."""
    lasts_s, written_bytes = 100 * 86400.0, 0.0
    for every_s, size_bytes in ((REPORT_SECONDS, 9_000), (POINT_SECONDS, 300)):
        age_s = 0.0
        while age_s < lasts_s:
            age_s += seconds_between(every_s, age_s)
            written_bytes += size_bytes
    assert 30e6 < written_bytes < 50e6


def test_windows_of_milliseconds_do_not_fill_the_disk():
    allowance = Allowance(POINT_SECONDS, POINTS_AT_ONCE)
    taken = sum(allowance.take(number / 250) for number in range(250 * 600))
    assert POINTS_AT_ONCE + 590 <= taken <= POINTS_AT_ONCE + 601


def test_an_allowance_is_kept_for_later_up_to_its_size():
    allowance = Allowance(10.0, 3)
    assert [allowance.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert not allowance.take(9.0)
    assert allowance.take(10.5)
    assert [allowance.take(1000.0) for _ in range(4)] == [True, True, True, False]


def test_a_long_run_is_written_ever_more_rarely():
    assert seconds_between(30.0, 60.0) == seconds_between(30.0, STEADY_SECONDS) == 30.0
    assert seconds_between(30.0, 4 * STEADY_SECONDS) == 120.0


def test_a_verdict_that_changes_is_written_early_and_not_for_ever(digest, written, clock):
    hours(digest, clock, 0.02, wait_ms=lambda step: 90.0 if step % 2 else 0.0)
    assert len(written.reports) <= EARLY_REPORTS + 4


def test_a_verdict_that_is_another_one_every_second_is_written_so_often_and_no_more(
    digest, written, clock, monkeypatch
):
    bounds = itertools.cycle((Bound.INPUT, Bound.COMPUTE))
    monkeypatch.setattr("feedwatch.digest.judge", lambda *known: replace(judge(*known), bound=next(bounds)))
    hours(digest, clock, 100 / 3600)
    assert EARLY_REPORTS <= len(written.reports) <= EARLY_REPORTS + 4


def dear(digest, clock, monkeypatch, *costs_ms):
    """Each judgement works so long; the last figure holds for all that follow."""
    costs, judged = iter(costs_ms), []

    def work(*known):
        judged.append(next(costs, costs_ms[-1]))
        clock.work_ms(judged[-1])
        return judge(*known)

    monkeypatch.setattr("feedwatch.digest.judge", work)
    return judged


def test_a_run_is_judged_as_often_as_a_thousandth_of_its_time_allows(digest, written, marks, clock, monkeypatch):
    judged = dear(digest, clock, monkeypatch, 5)
    for _ in range(25):
        read(digest, second(marks))
    assert len(judged) == pytest.approx(25 * JUDGING_SHARE / 0.005, abs=2)
    assert len(written.points) == 25


def test_the_first_judgement_loads_the_rules_and_delays_no_other(digest, marks, clock, monkeypatch):
    judged = dear(digest, clock, monkeypatch, 500, 1)
    for _ in range(2):
        read(digest, second(marks))
    assert judged == [500, 1]


def test_a_judgement_that_is_dear_delays_no_report_that_is_due(digest, written, marks, clock, monkeypatch):
    dear(digest, clock, monkeypatch, 1, 1000)
    for _ in range(3 * int(REPORT_SECONDS)):
        read(digest, second(marks))
    assert 3 <= len(written.reports) <= 4
    before = digest.latest
    digest.status = Status.FINISHED
    digest.write(facts(), 0)
    assert digest.latest.steps.batches > before.steps.batches


def test_who_waits_for_the_latest_steps_gets_them(digest, marks, clock, monkeypatch):
    dear(digest, clock, monkeypatch, 5)
    for _ in range(3):
        read(digest, second(marks))
    digest.judges_everything = True
    before = digest.latest
    read(digest, second(marks))
    assert digest.latest.steps.batches > before.steps.batches


def test_points_of_windows_of_milliseconds_are_bounded(digest, written, clock):
    for step in range(POINTS_AT_ONCE + 200):
        clock.advance_ms(4)
        digest.take(
            Piece([record(step + 1, wall_ms=4, wait_ms=1, compute_ms=2)], [], clock.wall_s(), clock.now_ns(), 0)
        )
        digest.write(facts(), 0)
    assert POINTS_AT_ONCE - 5 <= len(written.points) <= POINTS_AT_ONCE + 5


# -- an output that fails ---------------------------------------------------------------------------


class FullDisk(Written):
    full = False

    def scalars(self, *args):
        self._room()
        super().scalars(*args)

    def report(self, *args):
        self._room()
        super().report(*args)

    def _room(self):
        if self.full:
            raise OSError(28, "No space left on device", "/home/alice/runs/7/events.out.tfevents.1")


@pytest.mark.lenient
def test_a_disk_that_is_full_for_three_seconds_costs_three_seconds_and_is_said(clock):
    output = FullDisk()
    digest, marks = digest_of(output, clock), Marker(clock)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for number in range(60):
            output.full = 10 <= number < 13
            read(digest, second(marks))
    assert len(said) == 1
    assert len(output.points) >= 60 - 5
    assert output.reports[-1].run.updated > clock.wall_s() - REPORT_SECONDS
    (note,) = digest.latest.self_cost.notes
    assert (
        note
        == "writing to FullDisk failed for 3 points (OSError: [Errno 28] No space left on device: 'events.out.tfevents.1')"
    )


@pytest.mark.lenient
@pytest.mark.filterwarnings("ignore")
def test_the_last_report_is_tried_although_the_output_rests(clock):
    output = FullDisk()
    digest, marks = digest_of(output, clock), Marker(clock)
    output.full = True
    for _ in range(20):
        read(digest, second(marks))
    output.full = False
    digest.status = Status.FINISHED
    digest.take(digest.last_piece(marks.take_log()))
    digest.write(facts(), 0)
    assert output.reports[-1].status is Status.FINISHED
    assert "report" in output.reports[-1].self_cost.notes[0]
    assert output.closed


@pytest.mark.lenient
@pytest.mark.filterwarnings("ignore")
def test_an_output_that_stays_broken_is_asked_rarely(clock):
    class Counting(FullDisk):
        asked = 0

        def _room(self):
            self.asked += 1
            super()._room()

    output = Counting()
    output.full = True
    digest, marks = digest_of(output, clock), Marker(clock)
    for _ in range(300):
        read(digest, second(marks))
    assert output.asked < 20


def test_an_output_that_is_too_slow_loses_points_and_not_the_report(clock):
    class Slow(Written):
        def scalars(self, *args):
            clock.advance_ms(400)
            super().scalars(*args)

    output = Slow()
    digest = digest_of(output, clock)
    marks = Marker(clock)
    log = Log([mark for _ in range(60) for mark in second(marks).marks], clock.wall_s(), clock.now_ns())
    read(digest, log)
    assert len(output.points) == 3
    assert len(output.reports) == 1
    read(digest, second(marks))
    assert "writing to Slow failed for 57 points (the disk is slow)" in digest.latest.self_cost.notes


# -- what makes figures doubtful --------------------------------------------------------------------


def test_steps_during_which_the_wall_clock_jumped_are_left_out_and_said(written):
    clock = SetBack()
    digest, marks = digest_of(written, clock), Marker(clock)
    for number in range(10):
        clock.back_s = 3600.0 if number >= 5 else 0.0
        read(digest, second(marks))
    assert any("left out: the machine slept" in note for note in digest.latest.self_cost.notes)


def test_a_step_that_took_most_of_the_time_is_said(digest, clock):
    for step in range(1, 30):
        wall_ms = 3_600_000 if step == 15 else 100
        clock.advance_ms(wall_ms)
        steady = [record(step, wall_ms=wall_ms, wait_ms=10, compute_ms=50, kind=StepKind.STEADY)]
        digest.take(Piece(steady, [], clock.wall_s(), clock.now_ns(), 0))
    digest.write(facts(), 0)
    (note,) = digest.latest.self_cost.notes
    assert note.startswith("one step took 1 h of the 1 h measured")


def test_usual_steps_need_no_note(digest, marks):
    for _ in range(5):
        read(digest, second(marks))
    assert digest.latest.self_cost.notes == ()


def test_reports_that_are_written_show_single_steps_and_the_others_do_not_pay_for_them(digest, written, marks):
    for _ in range(3):
        log = second(marks)
        pieces = list(digest.pieces(log, ()))
        digest.see(log, (), pieces)
        for piece in pieces:
            digest.take(piece)
        digest.write(facts(), 0)
    (report,) = written.reports  # the verdict did not change
    last = next(each for each in report.timeline.excerpts if each.why == "last")
    assert last.lanes[0].took_us[:3] == (6_000, 3_000, 1_000)
    assert digest.latest.timeline is None


@pytest.mark.lenient
def test_a_timeline_that_fails_costs_no_report(digest, written, marks, monkeypatch):
    monkeypatch.setattr(digest.timeline, "section", lambda: 1 / 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        read(digest, second(marks))
    assert written.reports[0].timeline is None
