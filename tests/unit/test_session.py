import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from feedwatch.guard import FeedwatchWarning
from feedwatch.measure.steps import StepReader
from feedwatch.model.pipeline import PipelineFacts, Stage
from feedwatch.model.report import Status
from feedwatch.model.verdict import Bound
from feedwatch.report.load import load_run
from feedwatch.report.tensorboard import own_run
from feedwatch.session import MAX_NOTE, MAX_NOTES, Session
from feedwatch.settings import Settings
from tests.fakes.clock import FakeClock
from tests.fakes.marks import Marker
from tests.fakes.values import run_facts


@pytest.fixture
def clock():
    return FakeClock()


def opened(directory, clock, **settings):
    return Session.open(run_facts(), Settings(**settings), [own_run(directory)], directory, clock, reader=StepReader())


def feed(session, clock, steps=40, wall_ms=10.0, wait_ms=4.0, h2d_ms=None, compute_ms=5.0, epoch=0, gap_ms=0.0):
    """Marks as a hook takes them, handed over about once per second of the clock."""
    marks = Marker(clock)
    clock.advance_ms(gap_ms)
    marks.epoch(epoch)
    handed_over_ns = clock.now_ns()
    for _ in range(steps):
        rest = wall_ms - wait_ms - (h2d_ms or 0) - compute_ms
        marks.lightning_step(wait=wait_ms, copy=h2d_ms, compute=compute_ms, after=rest)
        if clock.now_ns() - handed_over_ns >= 1e9:
            session.hand_over(marks.take_log())
            handed_over_ns = clock.now_ns()
    marks.epoch_end()
    session.hand_over(marks.take_log())


def test_a_run_is_written_diagnosed_and_read_back(tmp_path, clock):
    session = opened(tmp_path, clock)
    feed(session, clock, steps=400, wall_ms=10, wait_ms=6, compute_ms=4)
    session.close(Status.FINISHED)
    read = load_run(tmp_path)
    assert read.status is Status.FINISHED
    assert read.verdict.bound is Bound.INPUT
    assert read.steps.measured + read.steps.warmup == 400
    assert read == session.report
    assert {file.name.split(".")[0] for file in tmp_path.iterdir()} == {"events", "report"}


def test_phases_are_exact_under_the_fake_clock(tmp_path, clock):
    session = opened(tmp_path, clock)
    feed(session, clock, steps=300, wall_ms=10, wait_ms=3, h2d_ms=1, compute_ms=5)
    session.close(Status.FINISHED)
    phases = session.report.phases
    assert {name: phase.share for name, phase in phases.items()} == pytest.approx(
        {"input_wait": 0.3, "h2d": 0.1, "compute": 0.5, "other": 0.1}
    )
    assert phases["input_wait"].ms == pytest.approx(3, rel=0.02)
    assert sum(phase.share for phase in phases.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("status", [Status.FAILED, Status.INTERRUPTED])
def test_the_status_of_the_end_is_in_the_report(tmp_path, clock, status):
    session = opened(tmp_path, clock)
    feed(session, clock)
    session.close(status)
    assert load_run(tmp_path).status is status


def test_close_is_idempotent_and_the_first_reason_stands(tmp_path, clock):
    session = opened(tmp_path, clock)
    feed(session, clock)
    session.close(Status.FAILED)
    session.close(Status.FINISHED)
    assert load_run(tmp_path).status is Status.FAILED


def test_what_the_end_of_training_waits_for_is_a_cost_of_ours(tmp_path, clock):
    session = opened(tmp_path, clock)
    session.each_window("slow", lambda: clock.advance_ms(30))
    session.close(Status.FINISHED)
    assert session.report.startup.own_ms == pytest.approx(30)


def test_no_thread_is_left_behind(tmp_path, clock):
    before = set(threading.enumerate())
    session = opened(tmp_path, clock)
    feed(session, clock)
    session.close(Status.FINISHED)
    assert set(threading.enumerate()) == before


def test_a_run_without_a_step_has_a_report_that_says_unknown(tmp_path, clock):
    session = opened(tmp_path, clock)
    session.close(Status.FAILED)
    read = load_run(tmp_path)
    assert read.verdict.bound is Bound.UNKNOWN
    assert read.findings == ()
    assert read.phases["input_wait"] is None


def test_window_readers_run_on_the_sinks_thread_and_their_facts_reach_the_report(tmp_path, clock):
    threads = []

    def read():
        threads.append(threading.current_thread().name)
        stages = (Stage("Map", "decode (train.py:3)", 9.0, bottleneck=True),)
        return {"pipeline": PipelineFacts("tf.data", stages=stages)}

    session = opened(tmp_path, clock)
    session.each_window("stages", read)
    feed(session, clock, wall_ms=10, wait_ms=6)
    session.close(Status.FINISHED)
    assert set(threads) == {"feedwatch-sink"}
    assert session.report.pipeline.stages[0].name == "Map"
    assert "decode (train.py:3)" in session.report.verdict.detail


@pytest.mark.lenient
def test_a_failing_reader_is_switched_off_and_noted_and_the_run_goes_on(tmp_path, clock):
    calls = []

    def read():
        calls.append(1)
        raise RuntimeError("no such op")

    session = opened(tmp_path, clock)
    session.each_window("the stage table", read)
    with pytest.warns(FeedwatchWarning, match="the stage table failed"):
        feed(session, clock, steps=2000, wall_ms=10)
        session.close(Status.FINISHED)
    assert len(calls) == 3
    assert session.report.verdict.bound is Bound.INPUT
    assert any("the stage table failed" in note for note in session.report.self_cost.notes)


@pytest.mark.lenient
def test_an_output_that_fails_does_not_keep_the_report_from_the_others(tmp_path, clock):
    class Broken:
        def fail(self, *_):
            raise OSError("gone")

        scalars = advice = report = flush = close = fail

    session = Session.open(run_facts(), Settings(), [Broken(), own_run(tmp_path)], tmp_path, clock, reader=StepReader())
    with pytest.warns(FeedwatchWarning, match="gone"):
        feed(session, clock)
        session.close(Status.FINISHED)
    assert load_run(tmp_path).status is Status.FINISHED


def test_epoch_gaps_reach_the_report(tmp_path, clock):
    session = opened(tmp_path, clock)
    feed(session, clock)
    feed(session, clock, epoch=1, gap_ms=250)
    session.close(Status.FINISHED)
    boundary = session.report.epoch_boundary
    assert boundary.count >= 1
    assert boundary.median_ms == pytest.approx(250, rel=0.05)


def test_notes_appear_once(tmp_path, clock):
    session = opened(tmp_path, clock)
    for _ in range(3):
        session.note("copies: no GPU here")
    feed(session, clock)
    session.close(Status.FINISHED)
    assert session.report.self_cost.notes.count("copies: no GPU here") == 1


def test_notes_hold_no_path_and_are_bounded_in_length_and_number(tmp_path, clock):
    session = opened(tmp_path, clock)
    session.note("cannot read /home/alice/project/x.py: " + "a" * 10_000_000)
    for number in range(1000):
        session.note(f"note {number}")
    session.close(Status.FINISHED)
    notes = session.report.self_cost.notes
    assert notes[0].startswith("cannot read x.py: aaa")
    assert len(notes[0]) <= MAX_NOTE
    assert len(notes) <= MAX_NOTES + 8


class Stalled:
    """An output whose disk does not answer for a while."""

    def __init__(self):
        self.answers = threading.Event()

    def wait(self, *_):
        self.answers.wait(30)

    scalars = advice = report = flush = close = wait


def test_a_disk_that_stalls_holds_up_neither_close_nor_the_latest_report(tmp_path, clock):
    output = Stalled()
    session = Session.open(run_facts(), Settings(), [output], tmp_path, clock, reader=StepReader())
    feed(session, clock, steps=400)
    began = time.perf_counter()
    with pytest.warns(FeedwatchWarning, match="was not written in time"):
        session.close(Status.FINISHED, 0.3)
    assert session.latest is not None
    assert time.perf_counter() - began < 1.5
    output.answers.set()
    assert session.report.status is Status.FINISHED  # whoever asks by name waits


def test_report_json_is_written_before_an_output_that_stalls(tmp_path, clock):
    output = Stalled()
    session = Session.open(run_facts(), Settings(), [output], tmp_path, clock, reader=StepReader())
    session.hand_over(Marker(clock).take_log())
    with pytest.warns(FeedwatchWarning, match="was not written in time"):
        session.close(Status.FINISHED, 0.5)
    assert load_run(tmp_path).status is Status.FINISHED
    output.answers.set()


def test_the_first_ranks_snapshot_shows_the_other_ranks_files(tmp_path, clock):
    from feedwatch.report.json import write_report_file
    from feedwatch.report.load import Budget, _from_event_files
    from tests.fakes.reports import report

    write_report_file(
        tmp_path, report(rank=1, world_size=2, started_s=clock.wall_s(), wall_ms=20, wait_ms=12, compute_ms=8)
    )
    session = Session.open(
        run_facts(world_size=2), Settings(), [own_run(tmp_path)], tmp_path, clock, reader=StepReader()
    )
    feed(session, clock, wall_ms=20, wait_ms=0.2, compute_ms=19)
    session.close(Status.FINISHED)
    snapshot = _from_event_files(tmp_path, Budget())
    assert snapshot.ranks.count == 2
    assert snapshot.ranks.slowest.rank == 1
    assert snapshot.findings[0].code == "FW501"
    assert session.report.ranks is None  # its own file stays its own: whoever reads merges


SCRIPT = """
import sys
from pathlib import Path
from feedwatch.session import MAX_NOTE, MAX_NOTES, Session
from feedwatch.settings import Settings
from feedwatch.measure.steps import StepReader
from tests.fakes.marks import Marker
from tests.fakes.values import run_facts
session = Session.open(run_facts(), Settings(), [], Path(sys.argv[1]), reader=StepReader())
def ends(status):
    marks = Marker()
    marks.lightning_step()
    marks.epoch_end()
    session.hand_over(marks.take_log())
    session.close(status)
if sys.argv[2] == "hook":
    session.ends = ends
{act}
"""


@pytest.mark.parametrize("by", ["session", "hook"])
@pytest.mark.parametrize(
    ("act", "status"),
    [
        ("raise ValueError('nobody catches it')", Status.FAILED),
        ("sys.exit(3)", Status.INTERRUPTED),
        ("raise KeyboardInterrupt", Status.INTERRUPTED),
    ],
    ids=["error", "exit", "ctrl-c"],
)
def test_a_script_that_ends_in_mid_run_leaves_a_report_of_how_it_ended(tmp_path, act, status, by):
    command = [sys.executable, "-c", SCRIPT.format(act=act), str(tmp_path), by]
    ended = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, timeout=60, check=False)
    assert ended.returncode != 0
    report = load_run(tmp_path)
    assert report.status is status
    assert report.steps.batches == (by == "hook")


class Coarse(FakeClock):
    """Moves every 16 ms."""

    def now_ns(self):
        return super().now_ns() // self.tick_ns() * self.tick_ns()

    def tick_ns(self):
        return 16_000_000


@pytest.mark.parametrize(("wall_ms", "bound"), [(1.0, Bound.UNKNOWN), (1000.0, Bound.INPUT)])
def test_f87_a_coarse_clock_tells_the_parts_of_long_steps_only(tmp_path, wall_ms, bound):
    clock = Coarse()
    session = opened(tmp_path, clock)
    feed(
        session,
        clock,
        steps=2000 if wall_ms < 10 else 100,
        wall_ms=wall_ms,
        wait_ms=wall_ms / 2,
        compute_ms=wall_ms / 2,
    )
    session.close(Status.FINISHED)
    report = session.report
    assert report.verdict.bound is bound
    assert (report.phases["input_wait"] is None) is (bound is Bound.UNKNOWN)
    assert any("clock moves in steps of 16 ms" in note for note in report.self_cost.notes)
