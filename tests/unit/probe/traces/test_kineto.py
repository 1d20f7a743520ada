import json
import time

import pytest

from feedwatch.errors import TraceError
from feedwatch.probe.traces import read_trace, source
from feedwatch.probe.traces.analysis import analyse
from feedwatch.probe.traces.kineto import KinetoEvent, from_events
from tests.unit.probe.traces.builders import kineto_event, write_kineto

COPY = "Memcpy HtoD (Pinned -> Device)"
NEXT = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def events(step_cat="user_annotation", copy_cat="gpu_memcpy", kernel_cat="kernel", wait_cat="user_annotation", t0=0):
    return [
        kineto_event(step_cat, "ProfilerStep#7", t0, 100),
        kineto_event(wait_cat, NEXT, t0 + 5, 25),
        kineto_event(copy_cat, COPY, t0 + 40, 10, device=0, bytes=1_000_000, stream=7),
        kineto_event(kernel_cat, "gemm", t0 + 45, 40, device=0),
        kineto_event("cpu_op", "aten::to", t0 + 39, 4),
    ]


def check(sample):
    gpu = sample.devices["GPU:0"]
    assert (sample.steps, gpu.copies.count, gpu.copies.size_bytes) == (1, 1, 1_000_000)
    assert gpu.hidden_share == pytest.approx(0.5)
    assert gpu.busy_ns == pytest.approx(45_000)
    assert gpu.idle_share == pytest.approx(0.55)
    assert sample.input_wait_share == pytest.approx(0.25)
    assert set(gpu.by_kind) == {"pinned"}


def test_the_schema_of_today(tmp_path):
    check(read_trace(write_kineto(tmp_path / "t.json", events(t0=1_697_409_243_161_000.5))))


def test_the_schema_of_2021_with_capitalised_categories(tmp_path):
    old = events("Operator", "Memcpy", "Kernel", "Operator", t0=1_697_409_243_161_000)
    check(read_trace(write_kineto(tmp_path / "t.json", old)))


def test_a_bare_list_of_events_is_a_trace_too(tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(events(), indent=2))
    check(read_trace(tmp_path / "t.json"))


def test_keys_before_and_after_the_events_are_skipped(tmp_path):
    text = json.dumps(
        {"deviceProperties": [{"name": "V100"}], "a": 1.5, "traceEvents": events(), "traceName": "x", "b": 12}
    )
    (tmp_path / "t.json").write_text(text)
    check(read_trace(tmp_path / "t.json"))


def test_the_gpu_twin_of_a_step_is_not_a_second_step(tmp_path):
    twin = kineto_event("gpu_user_annotation", "ProfilerStep#7", 2, 97)
    check(read_trace(write_kineto(tmp_path / "t.json", [*events(), twin])))


def test_step_numbers_need_not_be_unique(tmp_path):
    again = kineto_event("user_annotation", "ProfilerStep#7", 100, 100)
    sample = read_trace(write_kineto(tmp_path / "t.json", [*events(), again]))
    assert sample.steps == 2
    assert sample.step_ns == pytest.approx(100_000)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "pageable"),
        ("Memcpy HtoD (Host -> Device)", "unknown"),
        ("Memcpy HtoD (Managed -> Device)", "other"),
        ("Memcpy HtoD", "unknown"),
    ],
)
def test_the_kind_is_what_the_name_says(tmp_path, name, kind):
    copy = kineto_event("gpu_memcpy", name, 0, 1, device=2, bytes=8)
    sample = read_trace(write_kineto(tmp_path / "t.json", [copy]))
    assert set(sample.devices["GPU:2"].by_kind) == {kind}


def test_copies_in_other_directions_are_busy_time_only(tmp_path):
    copies = [
        kineto_event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 10, device=0, bytes=8),
        kineto_event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 20, 10, device=0, bytes=8),
        kineto_event("gpu_memset", "Memset (Device)", 40, 10, device=0),
    ]
    gpu = read_trace(write_kineto(tmp_path / "t.json", copies)).devices["GPU:0"]
    assert gpu.copies.count == 0
    assert gpu.busy_ns == pytest.approx(30_000)


def test_bandwidth_is_weighted_by_bytes_and_large_copies_stand_apart(tmp_path):
    copies = [kineto_event("gpu_memcpy", COPY, 10 * i, 2, device=0, bytes=4) for i in range(50)]
    copies.append(kineto_event("gpu_memcpy", COPY, 1000, 100, device=0, bytes=1_000_000))
    gpu = read_trace(write_kineto(tmp_path / "t.json", copies)).devices["GPU:0"]
    assert gpu.copies.gb_per_s == pytest.approx(1_000_200 / 200_000)
    assert (gpu.large.count, gpu.large.size_bytes) == (1, 1_000_000)
    assert gpu.large.gb_per_s == pytest.approx(10.0)


def test_in_process_events_give_the_same_answer_as_the_file(tmp_path):
    plain = [
        KinetoEvent(
            e["cat"], e["name"], e["ts"] * 1e3, e["dur"] * 1e3, e["args"].get("device"), e["args"].get("bytes", 0)
        )
        for e in events()
    ]
    assert analyse(from_events(plain)) == read_trace(write_kineto(tmp_path / "t.json", events()))


def test_events_that_straddle_two_pieces_of_text_are_read_whole(tmp_path, monkeypatch):
    path = write_kineto(tmp_path / "t.json", events() + [kineto_event("cpu_op", "ä" * 300, 0, 1)] * 20)
    expected = read_trace(path)
    for size in (1, 2, 7, 64, 1000):
        monkeypatch.setattr(source, "CHUNK_BYTES", size)
        assert read_trace(path) == expected


@pytest.mark.parametrize("raw", [rb"C:\Users\me\x", rb"C:\runs\q" + b"\\", b"tab\there", b"\xff\xfe", rb"\u12"])
def test_names_that_are_not_valid_json_text_do_not_cost_the_file(tmp_path, raw, monkeypatch):
    text = json.dumps({"traceEvents": [kineto_event("cpu_op", "HERE", 0, 1), *events()]}).encode().replace(b"HERE", raw)
    (tmp_path / "t.json").write_bytes(text)
    check(read_trace(tmp_path / "t.json"))
    monkeypatch.setattr(source, "CHUNK_BYTES", 3)
    check(read_trace(tmp_path / "t.json"))


@pytest.mark.parametrize(
    "damage",
    [
        {"ts": None}, {"ts": "yesterday"}, {"ts": 1e300}, {"ts": [1]}, {"ts": True}, {"ts": 10**400}, {"cat": 5}, {"name": {}},
        {"dur": {}}, {"dur": 1e300}, {"ph": []},
    ],
)  # fmt: skip
def test_an_event_of_wrong_types_is_left_out_and_the_rest_is_read(tmp_path, damage):
    bad = {**kineto_event("kernel", "gemm", 1, 2, device=0), **damage}
    check(read_trace(write_kineto(tmp_path / "t.json", [bad, *events()])))


def test_wrong_arguments_of_a_copy_count_as_no_bytes(tmp_path):
    for value in (-5, "many", None, 10**30, [], float("nan")):
        copy = kineto_event("gpu_memcpy", COPY, 0, -3, device=[1], bytes=value)
        sample = read_trace(write_kineto(tmp_path / "t.json", [copy, {**copy, "args": "none"}]))
        assert sum(gpu.copies.size_bytes for gpu in sample.devices.values()) == 0
        assert sum(gpu.copies.count for gpu in sample.devices.values()) == 2


def test_a_cpu_only_trace_has_no_device_data(tmp_path):
    sample = read_trace(write_kineto(tmp_path / "t.json", events()[:2]))
    assert sample.devices == {}
    assert sample.input_wait_share == pytest.approx(0.25)
    assert sample.input_wait_idle_ns is None
    assert sample.problems[0].startswith("no device data")


HOSTILE = {
    "cut off": json.dumps({"traceEvents": events()})[:-20],
    "cut off in the header": '{"schemaVersion": 1, "traceEv',
    "nested": '{"traceEvents": [' + "[" * 200_000,
    "nested value": '{"a": ' + '{"a":' * 200_000 + "1" + "}" * 200_001,
    "no events": '{"hello": 1}',
    "events are a number": '{"traceEvents": 5}',
    "not json": '{"traceEvents": [nonsense]}',
    "long number": '{"traceEvents": [{"ph": "X", "ts": ' + "9" * 10_000 + "}]}",
    "a brace": "{",
    "a list that does not end": "[",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_f16_a_hostile_file_is_one_line(tmp_path, text):
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(TraceError) as raised:
        read_trace(tmp_path / "t.json")
    assert "\n" not in str(raised.value)


def test_thousands_of_devices_are_damage(tmp_path):
    kernels = [kineto_event("kernel", "k", i, 1, device=i) for i in range(2000)]
    with pytest.raises(TraceError, match="devices"):
        read_trace(write_kineto(tmp_path / "t.json", kernels))


def test_copies_back_to_the_host_are_counted_apart_and_still_keep_the_device_busy(tmp_path):
    back = kineto_event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 90, 5, device=0, bytes=4000, stream=7)
    gpu = read_trace(write_kineto(tmp_path / "t.json", [*events(), back])).devices["GPU:0"]
    assert (gpu.to_host.count, gpu.to_host.size_bytes) == (1, 4000)
    assert gpu.copies.size_bytes == 1_000_000
    assert gpu.busy_ns == pytest.approx(50_000)


def test_f89_an_event_with_its_keys_in_another_order_is_read_behind_one_that_is_skipped(tmp_path):
    kernel = {"name": "gemm", "cat": "kernel", "ph": "X", "ts": 5, "dur": 5, "args": {"device": 0}}
    skipped = {"ph": "M", "name": "a brace } , in a name"}
    for between in ([skipped, kernel], [skipped, [], kernel], [skipped, 5, kernel], [{**skipped, "args": {}}, kernel]):
        path = write_kineto(tmp_path / "t.json", [*between, skipped, kineto_event("kernel", "k2", 20, 1, device=0)])
        assert read_trace(path).devices["GPU:0"].busy_ns == 6000


def test_what_stands_behind_the_list_of_events_is_no_event(tmp_path):
    kernel = kineto_event("kernel", "gemm", 0, 5, device=0)
    trace = {"traceEvents": [kernel, {"ph": "M"}], "other": [{"a": 1}, {**kernel, "ts": 50}]}
    (tmp_path / "t.json").write_text(json.dumps(trace))
    assert read_trace(tmp_path / "t.json").devices["GPU:0"].kernels == 1


def test_f77_items_that_are_no_events_cost_no_more_than_others(tmp_path):
    """A search for the next event from each of them to the end of the file takes a minute here."""
    (tmp_path / "t.json").write_text('{"traceEvents": [' + '{"ph": "M", "a": 1} ,[],' * 40_000 + "]}")
    began = time.process_time()
    assert read_trace(tmp_path / "t.json").devices == {}
    assert time.process_time() - began < 10


def test_steps_of_a_device_that_is_far_behind_its_host_are_its_own():
    """The host launches a step in 6 ms, the device needs 50 for it: by the host's steps most copies belonged to none."""
    ms, events = 1e6, []
    for number in range(5):
        begins = number * 50 * ms
        events += [
            KinetoEvent("user_annotation", f"ProfilerStep#{number}", number * 6 * ms, 6 * ms),
            KinetoEvent("gpu_user_annotation", f"ProfilerStep#{number}", begins, 50 * ms, 0),
            KinetoEvent("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", begins, 10 * ms, 0, 60_000_000),
            KinetoEvent("kernel", "work", begins + 10 * ms, 40 * ms, 0),
        ]
    device = analyse(from_events(events)).devices["GPU:0"]
    assert device.bytes_per_step == 60_000_000
    assert device.exposed_per_step_ns == 10 * ms
    assert device.idle_share == 0
    assert (device.steps, device.step_ns) == (4, 50 * ms)
