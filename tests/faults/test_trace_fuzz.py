"""Readers against damage: whatever a file holds, the answer is a sample or one TraceError.

`make fuzz SECONDS=600` takes ten minutes for each.
"""

import gzip
import json
import tempfile
from pathlib import Path

from hypothesis import strategies as st

from feedwatch.cli.trace import as_json
from feedwatch.errors import TraceError
from feedwatch.model.transfers import TransferSample
from feedwatch.probe.traces import read_trace
from feedwatch.probe.traces.analysis import analyse
from feedwatch.probe.traces.xspace import read_xspace
from feedwatch.probe.traces.xspace_schema import xspace_class
from tests.faults.fuzzing import fuzzed

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["1e999", "-1", "0x10", "nan"])
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
words = st.sampled_from(
    [
        *(
            "kernel",
            "gpu_memcpy",
            "Memcpy",
            "gpu_memset",
            "user_annotation",
            "gpu_user_annotation",
            "Operator",
            "cpu_op",
        ),
        *("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD ( -> ", "ProfilerStep#1", "ProfilerStep#", "X", "B"),
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    ]
)
times = st.integers(0, 10_000) | st.floats(0, 1e16) | values
events = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.just("X") | values,
        "cat": words | values,
        "name": words | values,
        "ts": times,
        "dur": times,
        "pid": values,
        "args": st.dictionaries(st.sampled_from(["device", "bytes", "Bytes", "stream"]), st.integers(0, 3) | values)
        | values,
    },
)
traces = st.fixed_dictionaries({"traceEvents": st.lists(events | values, max_size=12)}) | values

stats = st.fixed_dictionaries(
    {"metadata_id": st.integers(0, 6)},
    optional={
        "int64_value": st.integers(-(2**63), 2**63 - 1),
        "uint64_value": st.integers(0, 2**64 - 1),
        "str_value": st.binary(max_size=8)
        | st.sampled_from([b"size:99999 kind:pinned", b"size:-1", b"size:9e9 kind_src:", b"size:" + b"9" * 5000]),
        "ref_value": st.integers(0, 9),
    },
)
int64 = st.integers(0, 10**6) | st.integers(-(2**63), 2**63 - 1)
xevents = st.fixed_dictionaries(
    {"metadata_id": st.integers(0, 6), "offset_ps": int64, "duration_ps": int64, "stats": st.lists(stats, max_size=4)},
    optional={"num_occurrences": int64},
)
lines = st.fixed_dictionaries(
    {
        "name": st.sampled_from([b"Stream #1", b"Steps", b"python", b"\xff"]),
        "timestamp_ns": int64,
        "events": st.lists(xevents, max_size=6),
    }
)
planes = st.fixed_dictionaries(
    {
        "name": st.sampled_from([b"/device:GPU:0", b"/device:GPU:1", b"/host:CPU", b"/host:CUPTI", b"\xfe"]),
        "lines": st.lists(lines, max_size=4),
    }
)
EVENT_NAMES = (
    b"MemcpyH2D",
    b"kernel",
    b"Memset",
    b"IteratorGetNextOp::DoCompute",
    b"Iterator::Prefetch",
    b"train",
    b"cuMemcpyHtoD",
)
STAT_NAMES = (
    b"memcpy_details",
    b"group_id",
    b"correlation_id",
    b"step_num",
    b"step_name",
    b"size:70000 dest:0",
    b"group_id",
)


def xspace_bytes(parts):
    space = xspace_class()(planes=parts)
    for plane in space.planes:
        for key, name in enumerate(EVENT_NAMES):
            plane.event_metadata.add(key=key).value.name = name
        for key, name in enumerate(STAT_NAMES):
            plane.stat_metadata.add(key=key).value.name = name
    return space.SerializeToString()


def check_sample(sample):
    """Not only no exception: figures that can be."""
    assert isinstance(sample, TransferSample)
    json.dumps(as_json(sample), allow_nan=False)
    for device in sample.devices.values():
        assert device.copies.count >= 0
        assert device.busy_ns >= 0
        assert device.idle_share is None or -1e-9 <= device.idle_share <= 1 + 1e-9
        assert device.hidden_share is None or -1e-6 <= device.hidden_share <= 1 + 1e-6


def read_bytes(data, suffix):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        path.write_bytes(data)
        try:
            sample = read_trace(path)
        except TraceError as error:
            said = str(error)
        else:
            check_sample(sample)
            return
    assert said
    assert "\n" not in said


@fuzzed(traces, st.booleans())
def test_json_of_any_shape_is_a_sample_or_one_line(trace, compressed):
    data = json.dumps(trace).encode()
    read_bytes(gzip.compress(data) if compressed else data, ".json")


@fuzzed(st.lists(events, min_size=1, max_size=6), st.data())
def test_json_cut_or_changed_anywhere_is_a_sample_or_one_line(made, data):
    raw = bytearray(json.dumps({"traceEvents": made}).encode())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    read_bytes(bytes(raw[: data.draw(st.integers(1, len(raw)))]) if data.draw(st.booleans()) else bytes(raw), ".json")


@fuzzed(st.lists(planes, max_size=4))
def test_an_xspace_of_any_content_is_a_sample(parts):
    data = xspace_bytes(parts)
    try:
        check_sample(analyse(read_xspace(data)))
    except TraceError:
        assert not parts


@fuzzed(st.lists(planes, min_size=1, max_size=2), st.data())
def test_an_xspace_cut_or_changed_anywhere_is_a_sample_or_one_line(parts, data):
    raw = bytearray(xspace_bytes(parts))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place : place + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    read_bytes(
        bytes(raw[: data.draw(st.integers(0, len(raw)))]) if data.draw(st.booleans()) else bytes(raw), ".xplane.pb"
    )


@fuzzed(st.binary(max_size=200))
def test_bytes_of_any_kind_are_a_sample_or_one_line(data):
    read_bytes(data, "")
    read_bytes(b"\x1f\x8b" + data, "")
    read_bytes(b"\xfd7zXZ\x00" + data, "")
