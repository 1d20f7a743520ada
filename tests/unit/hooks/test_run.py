"""What every hook is given."""

import threading
from dataclasses import replace

import pytest

from feedwatch.hooks.destination import Destination, own_destination
from feedwatch.hooks.run import OwnCost, Ranks, WatchedRun, ranks_of_launcher
from feedwatch.measure.marks import BEGIN, COMPUTE, ENTER, EPOCH_END, GOT, INPUT, LEAVE
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.model.report import Status
from feedwatch.report.json import write_report_file
from feedwatch.report.load import load_run
from feedwatch.settings import Settings
from feedwatch.sink import CLOSE_SECONDS
from tests.fakes.clock import FakeClock
from tests.fakes.reports import report
from tests.fakes.values import run_facts


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def run(clock):
    made = WatchedRun(
        run_facts(framework="torch"), Settings(console=False), Destination(None, ()), StepReader(ends=Ends.NEXT), clock
    )
    yield made
    made.close(Status.FINISHED)


def steps(run, clock, count, wait_ms=4.0, compute_ms=6.0):
    for number in range(count):
        run.mark(ENTER, INPUT)
        clock.advance_ms(wait_ms)
        run.mark(GOT, 8)
        run.mark(BEGIN, number)
        clock.advance_ms(compute_ms)
        if run.due():
            run.hand_over()


def test_marks_become_a_report(run, clock):
    steps(run, clock, 300)
    run.close(Status.FINISHED)
    report = run.report
    assert report.steps.batches == 300
    assert report.phases["input_wait"].share == pytest.approx(0.4)
    assert report.status is Status.FINISHED


def test_most_steps_only_append(run, clock):
    handed_over = []
    hand_over = run.session.hand_over
    run.session.hand_over = lambda log: (handed_over.append(len(log.marks)), hand_over(log))
    steps(run, clock, 300)  # three seconds
    assert 3 <= len(handed_over) <= 6
    assert len(run.marks.rows) < 310


def test_marks_of_microsecond_steps_are_bounded(run, clock):
    most = 0
    for number in range(30_000):
        run.mark(BEGIN, number)
        if run.due():
            run.hand_over()
        most = max(most, len(run.marks.rows))
    assert most <= run.marks.most


def test_a_hook_that_is_switched_off_throws_its_marks_away(run, clock):
    steps(run, clock, 10)
    run.guard.off = True
    steps(run, clock, 500)
    assert len(run.marks.rows) < 400


def test_closing_takes_back_what_was_set_also_where_the_hook_is_switched_off(run):
    class Owner:
        pass

    owner, closed = Owner(), []
    run.undo.set(owner, "value", 1)
    run.on_close.append(lambda: closed.append(True))
    run.guard.off = True
    run.close(Status.FINISHED)
    assert vars(owner) == {}
    assert closed == [True]


def test_our_cost_is_told_per_step_of_the_whole_run(run, clock):
    """Not per step that had been read when the marks were handed over: the sink's thread is behind by then."""
    run.cost.ns_per_step = 100.0
    steps(run, clock, 300)
    run.cost.add(300 * 1_000)
    run.close(Status.FINISHED)
    marks_ns = 300 * 3 * run.cost._mark_ns / 300
    assert run.report.self_cost.us_per_step == pytest.approx((100 + 1_000 + marks_ns) / 1e3, rel=0.05)


def test_closing_undoes_everything_and_is_idempotent(run, clock):
    class Owner:
        def method(self):
            return "theirs"

    owner, closed = Owner(), []
    run.time(owner, "method", COMPUTE)
    run.on_close.append(lambda: closed.append(1))
    assert owner.method() == "theirs"
    assert [mark[1:] for mark in run.marks.rows] == [(ENTER, COMPUTE), (LEAVE, COMPUTE)]
    run.close(Status.FAILED)
    run.close(Status.FINISHED)
    assert vars(owner) == {}
    assert closed == [1]
    assert run.report.status is Status.FAILED


def test_the_users_error_passes_through_a_timed_method_as_it_is(run):
    class Owner:
        def method(self):
            raise KeyError("theirs")

    owner = Owner()
    run.time(owner, "method", COMPUTE)
    with pytest.raises(KeyError, match="theirs"):
        owner.method()
    assert run.marks.rows[-1][1:] == (LEAVE, COMPUTE)


@pytest.mark.lenient
@pytest.mark.filterwarnings("ignore::feedwatch.guard.FeedwatchWarning")
def test_whatever_fails_at_the_end_the_report_is_written(run, clock):
    steps(run, clock, 50)

    def broken(*_):
        raise ZeroDivisionError

    run.undo.later(broken)
    run.on_close.append(broken)
    run.on_hand_over.append(broken)
    run.on_closed.append(broken)
    run.close(Status.FINISHED)
    assert run.report.steps.batches == 50


def test_a_logger_gets_what_is_left_of_the_time_to_end(run, clock):
    steps(run, clock, 50)
    left = []
    run.on_closed.append(lambda _, seconds: left.append(seconds))
    run.close(Status.FINISHED)
    assert 0 <= left[0] <= CLOSE_SECONDS


def test_a_signal_handler_that_raises_while_the_run_is_closed_costs_no_report(run, clock, monkeypatch):
    """torch tells of a dead worker so, wherever the main thread is."""
    steps(run, clock, 5)
    put, raised = run.session._sink.put, []

    def put_with_a_signal(log):
        if not log.marks and not raised:
            raised.append(1)
            raise RuntimeError("DataLoader worker is killed")
        put(log)

    monkeypatch.setattr(run.session._sink, "put", put_with_a_signal)
    with pytest.raises(RuntimeError, match="killed"):
        run.close(Status.FAILED)
    assert raised
    assert run.report.status is Status.FAILED
    assert not any(thread.name == "feedwatch-sink" for thread in threading.enumerate())


def test_the_step_that_failed_is_not_counted(run, clock):
    steps(run, clock, 5)
    run.close(Status.FAILED)
    assert run.report.steps.batches == 4


def test_our_own_cost_counts_marks_and_what_was_timed():
    cost, clock = OwnCost(), FakeClock()
    assert cost.of(10) is None
    cost.add_marks(100, clock)
    cost._mark_ns = 500.0
    cost.add(20_000)
    cost.ns_per_step = 1000.0
    assert cost.of(10) == 1000 + 2000 + 5000
    cost.as_marks_per_step = 3
    assert cost.of(10) == 1000 + 3 * 500 + 2000 + 5000


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, Ranks(0, 1, 1)),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}, Ranks(3, 8, 4)),
        ({"RANK": "x", "WORLD_SIZE": "-1"}, Ranks(0, 1, 1)),
    ],
)
def test_ranks_come_from_the_launcher(monkeypatch, variables, expected):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ranks_of_launcher() == expected


def test_the_end_of_the_run_is_marked(run, clock):
    steps(run, clock, 1)
    run.on_close.append(run.marks.take)
    run.on_hand_over.append(lambda: None)
    seen = []
    hand_over = run.session.hand_over
    run.session.hand_over = lambda log: (seen.extend(log.marks), hand_over(log))
    run.close(Status.FINISHED)
    assert [what for _, what, _ in seen] == [EPOCH_END]


def test_f82_a_second_run_in_the_same_directory_keeps_the_report_of_the_first(tmp_path, clock):
    for count in (100, 200):
        run = WatchedRun(
            run_facts(), Settings(console=False), Destination(tmp_path, ()), StepReader(ends=Ends.NEXT), clock
        )
        steps(run, clock, count)
        run.close(Status.FINISHED)
    seen = {file.name.partition("-")[0]: load_run(file).steps.batches for file in tmp_path.iterdir()}
    assert seen == {"before": 100, "report.json": 200}


def test_the_first_ranks_console_says_what_another_rank_has_written(tmp_path, clock, capsys):
    facts = run_facts(framework="torch", rank=0, world_size=2, started_s=0.0)
    directory = tmp_path / "feedwatch"
    slow = report(rank=1, world_size=2, wall_ms=20, wait_ms=15)
    write_report_file(directory, replace(slow, run=replace(slow.run, started=0.0)))
    made = WatchedRun(facts, Settings(), Destination(directory, ()), StepReader(ends=Ends.NEXT), clock)
    steps(made, clock, 300)
    made.close(Status.FINISHED)
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert "2 ranks rank 1 waits longest" in told
    assert f"Next: feedwatch report {tmp_path}  #".replace("  ", " ") in told


@pytest.mark.parametrize(("rank", "files"), [(0, 1), (1, 0)])
def test_only_the_first_rank_writes_an_event_file(tmp_path, clock, rank, files):
    facts = run_facts(framework="torch", rank=rank, world_size=2)
    reader = StepReader(ends=Ends.NEXT)
    run = WatchedRun(facts, Settings(console=False), own_destination(tmp_path), reader, clock)
    steps(run, clock, 20)
    run.close(Status.FINISHED)
    assert run.report.steps.batches == 20
    assert len(list(tmp_path.rglob("events.out*"))) == files
    assert len(list(tmp_path.rglob("report*.json"))) == 1
