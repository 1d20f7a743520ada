"""The sink thread's half, called directly: marks in, windows and reports out."""

import pytest

from feedwatch.digest import REPORT_SECONDS, Digest
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import WindowCutter
from feedwatch.model.report import Status
from feedwatch.model.verdict import Bound
from tests.fakes.marks import Marker
from tests.fakes.values import facts


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
def digest(written):
    return Digest([written], None, StepReader(), WindowCutter(1.0, warmup_steps=0))


def second(marks, wait=6.0):
    """A second of steps of 10 ms."""
    for _ in range(100):
        marks.lightning_step(wait=wait, copy=None, compute=9.0 - wait, after=1.0)
    return marks.take_log()


def test_marks_become_a_window_a_verdict_and_a_point_on_the_curve(digest, written):
    marks = Marker()
    for _ in range(2):
        for piece in digest.pieces(second(marks), ()):
            digest.take(piece, facts(), 0)
    assert len(written.points) == 2
    assert digest.latest.verdict.bound is Bound.INPUT
    assert digest.latest.verdict.stall_ratio == pytest.approx(0.6)


def test_one_log_of_many_seconds_is_cut_into_several_windows(digest):
    marks = Marker()
    for _ in range(300):
        marks.lightning_step(wait=6.0, copy=None, compute=3.0, after=1.0)
    marks.epoch_end()
    assert [len(piece.records) for piece in digest.pieces(marks.take_log(), ())] == [100, 100, 100]


def test_a_report_is_written_when_the_verdict_changes_and_otherwise_every_half_minute(digest, written):
    marks = Marker()
    for _ in range(int(REPORT_SECONDS) + 5):
        for piece in digest.pieces(second(marks), ()):
            digest.take(piece, facts(), 0)
    assert 2 <= len(written.reports) <= 3
    assert len(written.points) >= REPORT_SECONDS


def test_the_rest_of_a_run_and_its_status_are_in_the_last_report(digest, written):
    marks = Marker()
    for _ in range(10):
        marks.lightning_step()
    marks.epoch_end()
    log = marks.take_log()
    assert list(digest.pieces(log, ())) == []
    digest.status = Status.FINISHED
    digest.take(digest.last_piece(log), facts(), 0)
    digest.close()
    assert written.reports[-1].status is Status.FINISHED
    assert written.reports[-1].steps.batches == 10
    assert written.closed


def test_a_run_without_a_step_has_a_last_report_too(digest, written):
    digest.status = Status.FAILED
    digest.take(digest.last_piece(Marker().take_log()), facts(), 0)
    assert written.reports[-1].verdict.bound is Bound.UNKNOWN
