"""Real traces of other people's, each with the figures an independent analyser read out of it."""

import json
import os
import time
from functools import cache
from inspect import signature
from pathlib import Path

import pytest

from feedwatch.probe.traces import read_trace
from feedwatch.probe.traces.xspace_schema import xspace_class
from tests.unit.probe.traces.test_recordings import plain

TRACES = Path(os.environ.get("FEEDWATCH_REAL_TRACES", Path(__file__).resolve().parents[4] / "shared" / "traces"))
NAMES = (
    "k_a100_pinned_mpdl",
    "k_h100_no_h2d",
    "k_h100_owlv2_pageable",
    "k_mi300_timesformer",
    "k_v100_lotus_b128_1gpu",
    "k_v100_resnet50_w0",
    "k_v100_resnet50_w0_old",
    "k_v100_resnet50_w4",
    "x_v100x8_bert_multiworker",
    "xe_mi300_jax",
    "xe_nocupti_inputbound",
)


def test_no_trace_is_missing_and_none_is_unread():
    assert {path.parent.name for path in TRACES.glob("*/reference.json")} == set(NAMES)


def trace_in(name):
    return next(path for path in (TRACES / name).iterdir() if path.name.startswith("trace."))


@cache
def sample_in(name):
    return read_trace(trace_in(name))


def near(value):
    return None if value is None else pytest.approx(value, rel=0.01, abs=1e-3)


@pytest.fixture(params=NAMES)
def case(request):
    reference = json.loads((TRACES / request.param / "reference.json").read_text())
    return reference, sample_in(request.param)


def test_devices_and_copies_agree(case):
    reference, sample = case
    seen = {name: device for name, device in reference["devices"].items() if device["kernels"] or device["memcpys"]}
    assert set(sample.devices) == set(seen)
    for name, expected in seen.items():
        device, h2d = sample.devices[name], expected["h2d"]
        assert (device.copies.count, device.copies.size_bytes) == (h2d["count"], h2d["bytes"])
        assert device.copies.time_ns / 1e3 == near(h2d["sum_us"])
        assert device.copies.gb_per_s == near(h2d["GBps"])
        assert device.union_ns / 1e3 == near(h2d["union_us"])
        assert device.hidden_ns / 1e3 == near(h2d["overlap_us"])
        assert device.exposed_ns / 1e3 == near(h2d["exposed_us"])
        assert (device.large.count, device.large.size_bytes) == (h2d["ge64k"]["count"], h2d["ge64k"]["bytes"])
        assert device.large.gb_per_s == near(h2d["ge64k"].get("GBps"))
        assert device.kernels == expected["kernels"]
        assert device.busy_ns / 1e6 == near(expected["busy_ms"])


def test_kinds_agree(case):
    reference, sample = case
    for name, device in sample.devices.items():
        expected = reference["devices"][name]["h2d"]["by_kind"]
        if "host" in expected:  # AMD: the word names no kind
            expected = {"unknown": expected["host"]}
        assert set(device.by_kind) == set(expected)
        for kind, figures in expected.items():
            totals = device.by_kind[kind]
            assert (totals.count, totals.size_bytes) == (figures["count"], figures["bytes"])
            assert totals.gb_per_s == near(figures["GBps"])


def test_what_lies_inside_steps_agrees(case):
    reference, sample = case
    for name, device in sample.devices.items():
        expected = reference["devices"][name]
        assert device.kernel_ns / 1e6 == near(expected["kernel_union_ms"])
        steps = expected["steps"]
        if not steps:
            assert (device.bytes_per_step, device.exposed_per_step_ns) == (None, None)
            continue
        if expected["step_source"] != "host":
            continue  # there the analyser counts only copies that carry the step's group; ours counts all during the step
        assert device.bytes_per_step == near(sum(step["h2d_bytes"] for step in steps) / len(steps))
        exposed_us = sum(step["h2d_us"] - step["h2d_overlap_us"] for step in steps) / len(steps)
        assert device.exposed_per_step_ns / 1e3 == near(exposed_us)


def test_steps_idle_and_waits_agree(case):
    reference, sample = case
    for name, device in sample.devices.items():
        expected = reference["devices"][name]
        assert device.steps == (len(expected["steps"]))
        if expected["steps"]:
            assert device.idle_share * 100 == near(expected["idle_pct"])
            assert device.step_ns / 1e6 == near(expected["step_mean"]["ms"])
            assert device.busy_per_step_ns / 1e6 == near(expected["step_mean"]["busy_ms"])
    steps = reference.get("host_steps")
    if steps:
        assert sample.steps == steps["n"]
        assert sample.step_ns / 1e6 == near(steps["mean_ms"])
    if reference["input_wait_source"] is None:
        assert sample.input_wait_ns is None
        assert sample.input_wait_share is None
        return
    assert sample.input_wait_ns / 1e6 == near(reference["input_wait_ms_total"])
    if steps:
        assert sample.input_wait_share * 100 == near(steps["input_wait_pct"])


def test_three_kinds_of_nothing_are_three_answers():
    texts = {name: " | ".join(sample_in(name).problems) for name in NAMES}
    assert "no copies" in texts["k_h100_no_h2d"]
    assert "no device data: node-3: Failed to load libcupti" in texts["xe_nocupti_inputbound"]
    assert "no steps" in texts["xe_mi300_jax"]
    assert "no device data for /device:GPU:0" in texts["x_v100x8_bert_multiworker"]


def test_a_3_mb_xplane_takes_less_than_a_second():
    path = trace_in("x_v100x8_bert_multiworker")
    read_trace(path)
    began = time.perf_counter()
    read_trace(path)
    assert time.perf_counter() - began < 1.0


@pytest.mark.slow
def test_our_message_description_reads_what_tensorflows_own_classes_read():
    pytest.importorskip("tensorflow")
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    for name in NAMES:
        if not name.startswith("x"):
            continue
        data = trace_in(name).read_bytes()
        theirs, ours = xplane_pb2.XSpace.FromString(data), xspace_class().FromString(data)
        assert [error.encode() for error in theirs.errors] == list(ours.errors)
        assert plain(theirs) == plain(ours)


# They belong to other people and are not in the repository. One skip for all: one line says how many are left out.
if not TRACES.is_dir():
    checks = [each for name, each in list(globals().items()) if name.startswith("test_")]
    count = sum(len(NAMES) if "case" in signature(each).parameters else 1 for each in checks)
    pytest.skip(f"{count} checks of real GPU traces left out: there are none at {TRACES}", allow_module_level=True)
