"""Figures from timelines that are made here, each with an answer that can be seen."""

import pytest

from feedwatch.probe.traces.analysis import analyse
from feedwatch.probe.traces.timeline import PINNED, DeviceTimeline, Spans, Step, Timeline

BIG = 1_000_000


def device(kernels=(), copies=(), other=(), steps=()):
    made = DeviceTimeline(steps=[Step(*step) for step in steps])
    for start, end in kernels:
        made.kernels.add(start, end)
    for start, end in other:
        made.other.add(start, end)
    for start, end, size in copies:
        made.h2d.add(start, end, size, PINNED)
    return made


def timeline(devices=None, host_steps=(), waits=()):
    made = Timeline("kineto", devices=devices or {}, host_steps=[Step(*step) for step in host_steps])
    for start, end in waits:
        made.waits.add(start, end)
    return made


def test_the_parts_of_one_device_over_two_steps():
    gpu = device(kernels=[(10, 60), (120, 160)], copies=[(0, 20, BIG), (100, 130, BIG)], other=[(60, 70)])
    sample = analyse(timeline({"GPU:0": gpu}, host_steps=[(0, 100), (100, 200)]))
    seen = sample.devices["GPU:0"]
    assert (seen.copies.count, seen.copies.size_bytes, seen.copies.time_ns) == (2, 2 * BIG, 50)
    assert (seen.union_ns, seen.hidden_ns, seen.kernel_ns, seen.busy_ns) == (50, 20, 90, 130)
    assert seen.idle_share == pytest.approx(1 - 130 / 200)
    assert (seen.steps, seen.step_ns, seen.busy_per_step_ns) == (2, 100, 65)
    assert seen.exposed_per_step_ns == pytest.approx(15)
    assert seen.bytes_per_step == BIG


def test_a_copy_belongs_to_the_step_in_which_it_began():
    gpu = device(copies=[(90, 110, BIG), (300, 310, BIG)])
    seen = analyse(timeline({"GPU:0": gpu}, host_steps=[(0, 100), (100, 200)])).devices["GPU:0"]
    assert seen.bytes_per_step == BIG / 2
    assert seen.exposed_per_step_ns == pytest.approx(10)


def test_steps_that_overlap_count_a_copy_once():
    gpu = device(copies=[(50, 60, BIG), (150, 160, BIG), (250, 260, BIG)])
    seen = analyse(timeline({"GPU:0": gpu}, host_steps=[(0, 100), (40, 200)])).devices["GPU:0"]
    assert seen.bytes_per_step == BIG


def test_many_steps_and_many_copies_take_no_time_together():
    """Comparing every step with every copy, or every step's group with all waits, would take an hour."""
    gpu = device(copies=[(at, at + 0.5, 1) for at in range(100_000)])
    made = timeline({"GPU:0": gpu}, host_steps=[(at, at + 1, 7) for at in range(100_000)])
    made.waits_by_group[7] = Spans()
    for at in range(100_000):
        made.waits_by_group[7].add(at, at + 0.25)
        made.waits.add(at, at + 0.25)
    sample = analyse(made)
    assert sample.devices["GPU:0"].bytes_per_step == 1
    assert sample.step_wait_ns == pytest.approx(100_000 * 25_000)


def test_the_devices_own_steps_come_before_the_hosts():
    gpu = device(kernels=[(0, 50)], steps=[(0, 50)])
    seen = analyse(timeline({"GPU:0": gpu}, host_steps=[(0, 100)])).devices["GPU:0"]
    assert (seen.steps, seen.idle_share) == (1, 0.0)


def test_without_host_steps_the_wait_of_a_step_that_several_devices_saw_counts_once():
    devices = {name: device(kernels=[(0, 10)], steps=[(0, 100), (100, 200)]) for name in ("GPU:0", "GPU:1")}
    sample = analyse(timeline(devices, waits=[(20, 60)]))
    assert (sample.steps, sample.step_ns) == (2, 100)
    assert sample.step_wait_ns == pytest.approx(40)
    assert sample.input_wait_share == pytest.approx(0.2)


def test_a_wait_counts_while_every_device_idles_only_where_none_works():
    devices = {"GPU:0": device(kernels=[(0, 30)]), "GPU:1": device(kernels=[(50, 60)])}
    sample = analyse(timeline(devices, waits=[(20, 100)]))
    assert sample.input_wait_ns == 80
    assert sample.input_wait_idle_ns == 60


def test_a_wait_of_a_steps_group_counts_for_it_wherever_it_lies():
    made = timeline(host_steps=[(100, 200, 7)], waits=[(0, 50)])
    made.waits_by_group[7] = Spans()
    made.waits_by_group[7].add(0, 50)
    assert analyse(made).step_wait_ns == 50
    made.waits_by_group.clear()
    assert analyse(made).step_wait_ns == 0


@pytest.mark.parametrize(
    ("made", "begins"),
    [
        (timeline(), {"no device data", "no steps", "input wait unknown"}),
        (timeline({"GPU:0": device()}, [(0, 1), (1, 2)], [(0, 1)]), {"no device data"}),
        (timeline({"GPU:0": device(kernels=[(0, 1)])}, [(0, 1), (1, 2)], [(0, 1)]), {"no copies"}),
        (timeline({"GPU:0": device(copies=[(0, 1, 8)])}, [(0, 2)], [(0, 1)]), {"one step only"}),
        (timeline({"GPU:0": device(copies=[(0, 1, 8)])}, [(0, 2), (2, 4)], [(0, 1)]), set()),
    ],
)
def test_each_kind_of_nothing_has_its_own_words(made, begins):
    assert {problem.split(":")[0] for problem in analyse(made).problems} == begins


def test_a_device_without_any_event_is_left_out_and_named():
    sample = analyse(timeline({"GPU:0": device(kernels=[(0, 1)]), "GPU:1": device()}))
    assert set(sample.devices) == {"GPU:0"}
    assert "no device data for GPU:1" in sample.problems
