"""A real torch.profiler returns what the log holds: kinds, bytes, durations, annotations, and at the price that was set."""

import json
import time

import pytest
import torch
from torch.autograd import profiler as autograd_profiler
from torch.profiler import ProfilerActivity, profile, record_function

MS = 1_000_000


def profiling():
    config = torch._C._profiler._ExperimentalConfig(expose_kineto_event_metadata=True)
    return autograd_profiler.profile(use_kineto=True, use_device="emulated", experimental_config=config)


def device_events(profiler, category):
    events = profiler.kineto_results.events()
    found = [it for it in events if it.activity_type() == category and not str(it.device_type()).endswith("CPU")]
    return sorted(found, key=lambda it: it.start_ns())


def bytes_of(event):
    return json.loads("{" + event.metadata_json() + "}")["bytes"]


def test_copies_and_kernels_come_with_kind_bytes_and_duration(emulated):
    emulated.settings.pinned_gb_per_s = emulated.settings.pageable_gb_per_s = 1.0
    batch = torch.zeros(1_000_000, dtype=torch.uint8)
    pinned = batch.pin_memory()
    with profiling() as profiler:
        batch.to("emulated")
        pinned.to("emulated", non_blocking=True).cpu()
        torch.emulated.kernel(3, "gemm")
    copies = device_events(profiler, "gpu_memcpy")
    assert [it.name() for it in copies] == [
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy HtoD (Pinned -> Device)",
        "Memcpy DtoH (Device -> Pageable)",
    ]
    assert [bytes_of(it) for it in copies] == [1_000_000] * 3
    assert [it.duration_ns() for it in copies] == [MS] * 3
    (kernel,) = device_events(profiler, "kernel")
    assert (kernel.name(), kernel.duration_ns(), kernel.device_index()) == ("gemm", 3 * MS, 0)


def test_events_lie_where_the_log_has_them(emulated):
    ahead_ns = time.time_ns() - time.perf_counter_ns()
    with profiling() as profiler:
        for index in (0, 1):
            torch.emulated.kernel(5, device=index)
            torch.accelerator.synchronize(index)
    for event, truth in zip(device_events(profiler, "kernel"), emulated.operations("kernel"), strict=True):
        assert event.device_index() == truth.device
        assert event.start_ns() - ahead_ns == pytest.approx(truth.start_ns, abs=MS)


def test_what_was_launched_before_the_start_is_not_recorded(emulated):
    torch.emulated.kernel(30, "before")
    with profiling() as profiler:
        torch.emulated.kernel(5, "within")
    torch.emulated.kernel(5, "after")
    torch.accelerator.synchronize()
    assert [it.name() for it in device_events(profiler, "kernel")] == ["within"]


def test_an_annotation_has_a_twin_where_its_work_ran(emulated):
    torch.emulated.kernel(20, "the device is behind")
    with profiling() as profiler:
        for number in range(2):
            with record_function(f"ProfilerStep#{number}"):
                torch.emulated.kernel(4)
                torch.emulated.kernel(6)
    twins = device_events(profiler, "gpu_user_annotation")
    assert [it.name() for it in twins] == ["ProfilerStep#0", "ProfilerStep#1"]
    kernels = [it for it in emulated.operations("kernel") if it.duration_ns < 10 * MS]
    assert [it.duration_ns() for it in twins] == [10 * MS, 10 * MS]
    assert twins[1].start_ns() - twins[0].start_ns() == pytest.approx(kernels[2].start_ns - kernels[0].start_ns, abs=10)


def test_a_copy_is_linked_to_the_operator_that_made_it(emulated):
    with profiling() as profiler:
        torch.zeros(10).to("emulated")
    (copy,) = device_events(profiler, "gpu_memcpy")
    operators = {it.correlation_id(): it.name() for it in profiler.kineto_results.events()}
    assert operators[copy.linked_correlation_id()] == "aten::_copy_from"


def test_the_public_profiler_writes_a_chrome_trace_with_it(emulated, tmp_path):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiler:
        torch.zeros(1000).to("emulated")
        torch.emulated.kernel(2, "gemm")
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (copy,) = [it for it in events if it.get("cat") == "gpu_memcpy"]
    assert copy["args"]["bytes"] == 4000
    (kernel,) = [it for it in events if it.get("cat") == "kernel"]
    assert kernel["dur"] == 2000
    calls = {it["name"] for it in events if it.get("cat") == "privateuse1_runtime"}
    assert {"emulatedMemcpyAsync", "emulatedLaunchKernel", "emulatedDeviceSynchronize"} <= calls


def test_a_profiler_of_the_cpu_alone_records_nothing_here(emulated):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.emulated.kernel(2)
        torch.accelerator.synchronize()
    kinds = {it.activity_type() for it in profiler.profiler.kineto_results.events()}
    assert not kinds & {"kernel", "gpu_memcpy", "privateuse1_runtime"}


def test_start_and_stop_cost_what_was_set(emulated):
    emulated.settings.profiler_start_ms, emulated.settings.profiler_stop_ms = 80, 60
    profiler = profiling()
    begin = time.perf_counter_ns()
    profiler.__enter__()
    started = time.perf_counter_ns()
    profiler.__exit__(None, None, None)
    assert started - begin >= 80 * MS
    assert time.perf_counter_ns() - started >= 60 * MS


def test_launches_cost_more_while_it_records_and_afterwards(emulated):
    def host_ns():
        begin = time.thread_time_ns()
        for _ in range(20):
            torch.emulated.kernel(0)
        return time.thread_time_ns() - begin

    emulated.settings.profiled_launch_us, emulated.settings.attached_launch_us = 1000, 500
    before = host_ns()
    with profiling():
        within = host_ns()
    after = host_ns()
    # A busy machine takes the processor away in between, so only the order is certain.
    assert before < after
    assert before < within
    assert within + after > 5 * MS
