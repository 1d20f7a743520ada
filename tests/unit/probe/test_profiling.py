import re
import threading

import pytest

from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.probe import profiling
from feedwatch.probe.profiling import (
    BUDGET_SHARE,
    FIRST_COST_NS,
    MAX_WINDOWS,
    NEVER,
    WINDOW_STEPS,
    ProfilerBusyError,
    ProfilerWindows,
    fold_windows,
    wanted,
)
from tests.fakes.clock import FakeClock

MS = 1_000_000


def device(name="GPU:0", size=1000, steps=5):
    totals = CopyTotals(2, size, 100.0)
    return DeviceTransfers(
        name,
        totals,
        {"pinned": totals},
        totals,
        100.0,
        50.0,
        400.0,
        0.5,
        3,
        300.0,
        steps,
        1000.0,
        500.0,
        10.0,
        size / steps,
    )


def seen(*devices, steps=5):
    devices = devices or (device(),)
    return TransferSample(
        "kineto", {each.name: each for each in devices}, steps, 1000.0, 200.0, 100.0, step_wait_ns=200.0
    )


BLIND = TransferSample("kineto", {}, 5, 1000.0, None, None, problems=("no device data: no GPU in the trace",))


class Recorded:
    def __init__(self, sample):
        self.sample = sample

    def read(self):
        if isinstance(self.sample, Exception):
            raise self.sample
        return self.sample


class Backend:
    """A profiler that does what the test says and takes as long as the test says."""

    source = "kineto"

    def __init__(self, clock, start_ms=1.0, stop_ms=1.0, sample=None):
        self.clock, self.start_ms, self.stop_ms = clock, start_ms, stop_ms
        self.sample = sample or seen()
        self.other = self.start_error = self.stop_error = self.step_error = None
        self.log, self.taken_over = [], False
        self.rehearsals, self.hangs = 0, None

    def other_active(self):
        return self.other

    def rehearsal(self):
        self.rehearsals += 1
        return (lambda: None) if self.hangs is None else self.hangs.wait

    def start(self):
        self.log.append("start")
        self.clock.advance_ms(self.start_ms)
        if self.start_error:
            raise self.start_error

    def step(self, number):
        self.log.append(number)
        if self.step_error:
            raise self.step_error

    def stop(self):
        self.log.append("stop")
        self.clock.advance_ms(self.stop_ms)
        if self.stop_error:
            raise self.stop_error
        return None if self.taken_over else Recorded(self.sample)

    def abandon(self):
        self.log.append("abandon")


class Run:
    def __init__(self, choice=True, has_gpu=True, rank=0, step_ms=10.0, **backend):
        self.clock = FakeClock(start_ns=0)
        self.backend = Backend(self.clock, **backend)
        self.notes = []
        self.step_ms = step_ms
        self.step = 0
        self.touched = []
        self.in_question = True
        self.windows = ProfilerWindows(
            self.backend,
            choice=choice,
            has_gpu=has_gpu,
            rank=rank,
            warmup_steps=3,
            note=self.notes.append,
            clock=self.clock,
            touched=lambda: self.touched.append(self.step),
            in_question=lambda: self.in_question,
        )

    def steps(self, count, collect=True):
        for _ in range(count):
            self.clock.advance_ms(self.step_ms)
            self.step += 1
            self.windows.step_end(self.step)
            if collect:
                self.windows.collect()
        return self

    @property
    def starts(self):
        return self.backend.log.count("start")


@pytest.mark.parametrize(
    ("choice", "gpu", "rank", "expected"),
    [
        ("auto", True, 0, True),
        ("auto", False, 0, False),
        (True, False, 0, True),
        (False, True, 0, False),
        (True, True, 1, False),
    ],
)
def test_windows_are_wanted_on_rank_0_and_automatically_with_a_gpu(choice, gpu, rank, expected):
    assert wanted(choice, gpu, rank) is expected
    assert (Run(choice, gpu, rank, step_ms=10_000.0).steps(100).starts > 0) is expected


def test_an_automatic_window_opens_only_when_the_run_has_paid_for_it():
    run = Run("auto", start_ms=800, stop_ms=700)
    while not run.starts:
        run.steps(1)
    assert run.clock.now_ns() * BUDGET_SHARE >= FIRST_COST_NS
    run.steps(WINDOW_STEPS)
    assert run.windows.cost_ns <= run.clock.now_ns() * BUDGET_SHARE * 1.02


def test_a_second_automatic_window_needs_a_question():
    run = Run("auto", step_ms=1000.0).steps(5000)
    assert run.starts > 1
    run = Run("auto", step_ms=1000.0)
    run.in_question = False
    assert run.steps(5000).starts == 1
    run.in_question = True
    assert run.steps(500).starts == 2


def test_every_step_that_a_window_touches_is_told():
    run = Run().steps(30)
    opened, *_, last = [step for step in run.backend.log if isinstance(step, int)]
    assert sorted(set(run.touched)) == list(range(opened - 1, last + 1))


def test_reading_a_window_is_part_of_its_cost(monkeypatch):
    monkeypatch.setattr("feedwatch.probe.profiling.thread_time_ns", iter(range(0, 10**12, 5 * MS)).__next__)
    assert Run(start_ms=0, stop_ms=0).steps(30).windows.cost_ns == 5 * MS


def test_the_first_window_comes_early_and_is_a_few_whole_steps():
    run = Run().steps(30)
    log = run.backend.log[: WINDOW_STEPS + 2]
    first = log[1]
    assert log == ["start", *range(first, first + WINDOW_STEPS), "stop"]
    assert 5 <= first <= 12


def test_a_resumed_run_counts_from_its_own_first_step():
    run = Run()
    run.step = 70_000
    run.steps(30)
    assert run.starts == 1


def test_windows_stay_within_the_budget():
    run = Run(start_ms=20, stop_ms=30).steps(20_000)
    assert run.starts > 2
    assert run.windows.cost_ns / run.clock.now_ns() <= BUDGET_SHARE * 1.01


def test_steps_that_are_slower_while_recorded_are_part_of_the_cost():
    run = Run(start_ms=0, stop_ms=0)
    while not run.backend.log:
        run.steps(1)
    run.step_ms = 30.0
    run.steps(WINDOW_STEPS)
    assert run.windows.cost_ns == pytest.approx(WINDOW_STEPS * 20 * MS, rel=0.01)


def test_f13_a_stop_that_takes_seconds_is_counted_and_sampling_backs_off():
    run = Run(stop_ms=4000).steps(30)
    assert run.windows.cost_ns > 4000 * MS
    run.steps(100_000)  # 1000 s: the next is due after 2 x 4 s / 0.5 %
    assert run.starts == 1
    run.steps(80_000)
    assert run.starts == 2


def test_cheap_windows_are_spread_over_the_run_and_at_most_fifty():
    run = Run(start_ms=0.001, stop_ms=0.001, step_ms=1000.0).steps(300)
    assert 5 < run.starts < 25
    run.steps(500_000)
    assert run.starts == MAX_WINDOWS
    assert run.windows._next_step == NEVER


def test_f07_another_profiler_means_no_window_at_all_and_says_whose():
    run = Run()
    run.backend.other = "PyTorchProfiler"
    run.steps(500)
    assert run.starts == 0
    assert run.windows.refused_because == "PyTorchProfiler"
    assert len(run.notes) == 1
    assert "PyTorchProfiler" in run.notes[0]


def test_f09_a_profiler_that_is_found_busy_at_the_start_is_a_refusal_not_a_failure():
    run = Run()
    run.backend.start_error = ProfilerBusyError("a profiler server's session")
    run.steps(500)
    assert run.starts == 1
    assert run.windows.refused_because == "a profiler server's session"
    assert run.windows.failed_because is None


def test_f08_a_profiler_started_during_ours_ends_ours_for_good():
    run = Run()
    run.backend.taken_over = True
    run.steps(5000)
    assert run.starts == 1
    assert run.windows.refused_because
    assert run.windows.transfers is None


def test_f10_a_start_that_fails_is_tried_once_and_reported():
    run = Run()
    run.backend.start_error = RuntimeError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
    run.steps(5000)
    assert run.starts == 1
    assert "INSUFFICIENT_PRIVILEGES" in run.windows.failed_because
    assert run.windows.transfers.sample.devices == {}
    assert "no device data" in run.windows.transfers.sample.problems[0]
    assert len(run.notes) == 1


def test_f11_no_device_events_are_unknown_and_not_tried_for_ever():
    run = Run(sample=BLIND).steps(50_000)
    assert run.starts == 2
    assert run.windows.transfers.sample.devices == {}
    assert run.windows.transfers.device == ""
    assert set(run.notes) == {"no device data: no GPU in the trace"}


def test_f12_a_stop_that_raises_switches_windows_off():
    run = Run()
    run.backend.stop_error = RuntimeError("boom")
    run.steps(5000)
    assert run.starts == 1
    assert "boom" in run.windows.failed_because


def test_a_mark_that_raises_leaves_no_window_open():
    run = Run()
    run.backend.step_error = RuntimeError("boom")
    run.steps(500)
    assert run.backend.log.count("abandon") == 1
    assert run.starts == 1


def test_f15_a_window_that_cannot_be_read_is_noted_and_training_goes_on(monkeypatch):
    monkeypatch.setenv("FEEDWATCH_STRICT", "0")
    run = Run(sample=ValueError("cut off")).steps(50_000)
    assert run.starts == 2
    assert run.windows.transfers is None
    assert "cut off" in run.notes[0]


def test_a_window_never_reaches_across_the_end_of_an_epoch():
    run = Run()
    while not run.backend.log:
        run.steps(1)
    run.steps(2)
    run.windows.epoch_end()
    assert run.backend.log[-1] == "stop"
    run.windows.collect()
    assert run.windows.transfers.windows == 1


def test_a_window_without_one_whole_step_is_given_up_and_opened_again_later():
    run = Run()
    while not run.backend.log:
        run.steps(1)
    run.windows.epoch_end()
    assert run.backend.log[-1] == "abandon"
    run.steps(50)
    assert run.backend.log.count("start") == 2


def test_close_gives_up_an_open_window_and_says_what_windows_cost():
    run = Run().steps(200)
    while run.backend.log[-1] == "stop":
        run.steps(1)
    run.windows.close()
    assert run.backend.log[-1] == "abandon"
    assert re.match(r"\d+ profiler windows? cost [\d.]+ (µs|ms|s), ", run.notes[-1])
    before = len(run.backend.log)
    run.steps(1000)
    assert len(run.backend.log) == before


def test_no_window_is_opened_while_earlier_ones_wait_to_be_read():
    run = Run(start_ms=0.0001, stop_ms=0.0001, step_ms=1000.0).steps(5000, collect=False)
    assert run.starts == 2
    run.steps(1000)
    assert run.starts > 2


def test_between_windows_a_step_is_one_comparison():
    run = Run().steps(100)
    asked = []
    run.clock.now_ns = lambda: asked.append(1) or 0
    run.windows._next_step = 10**9
    for step in range(1000):
        run.windows.step_end(step)
    assert asked == []


def test_collect_answers_only_when_there_is_news():
    run = Run().steps(30)
    assert run.windows.collect() is None
    assert run.windows.transfers.windows == 1


def test_the_fold_adds_copies_and_weighs_shares_by_steps():
    folded = fold_windows([seen(device(size=1000, steps=5)), seen(device(size=3000, steps=15), steps=15)])
    gpu = folded.sample.devices["GPU:0"]
    assert folded.windows == 2
    assert (gpu.copies.count, gpu.copies.size_bytes) == (4, 4000)
    assert gpu.by_kind["pinned"].size_bytes == 4000
    assert gpu.steps == 20
    assert gpu.idle_share == pytest.approx(0.5)
    assert gpu.bytes_per_step == pytest.approx(200.0)
    assert folded.sample.steps == 20
    assert folded.sample.step_wait_ns == pytest.approx(400.0)


def test_the_device_shown_is_the_one_that_got_the_most_bytes():
    assert fold_windows([seen(device("GPU:0", 10), device("GPU:1", 9000))]).device == "GPU:1"


def test_no_windows_fold_to_nothing():
    assert fold_windows([]) is None


def test_a_start_is_rehearsed_once_and_one_that_hangs_is_never_made(monkeypatch):
    assert Run().steps(2000).backend.rehearsals == 1
    monkeypatch.setattr(profiling, "REHEARSAL_SECONDS", 0.01)
    run = Run()
    run.backend.hangs = threading.Event()
    run.steps(2000)
    run.backend.hangs.set()
    assert run.backend.log == []
    assert run.backend.rehearsals == 1
    assert "has not started within" in run.windows.failed_because
    assert len(run.notes) == 1


def test_what_a_rehearsal_raises_is_what_the_start_would_have_raised():
    def fails():
        raise OSError("no CUPTI")

    with pytest.raises(OSError, match="no CUPTI"):
        profiling.in_time(fails, 5.0)
