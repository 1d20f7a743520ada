"""Traces that we recorded with each profiler on a CPU (tools/record_traces.py), against an independent reading of them."""

import gzip
import json
from pathlib import Path

import pytest

from feedwatch.probe.traces import read_trace
from feedwatch.probe.traces.xspace_schema import xspace_class

DATA = Path(__file__).parents[3] / "data" / "traces"
WAITS = {"tensorflow.xplane.pb.gz": True, "jax.xplane.pb.gz": False, "torch.json.gz": True}  # whether it shows waits
STEPS, INPUT_NS, COMPUTE_NS = 5, 4e6, 6e6  # what was recorded


def expected_of(name):
    return json.loads((DATA / f"{name}.expected.json").read_text())


def test_no_recording_is_missing_and_none_is_unread():
    assert {path.name for path in DATA.glob("*.gz")} == set(WAITS)


@pytest.mark.parametrize("name", WAITS)
def test_recordings_are_small(name):
    assert (DATA / name).stat().st_size < 200_000


@pytest.mark.parametrize("name", WAITS)
def test_steps_agree_with_the_independent_reading_and_with_what_was_run(name):
    expected, sample = expected_of(name), read_trace(DATA / name)
    assert sample.source == ("kineto" if "json" in name else "xspace")
    assert sample.steps == expected["steps"] == STEPS
    assert sample.step_ns == pytest.approx(expected["step_ns"], abs=1)
    assert sample.step_ns >= INPUT_NS + COMPUTE_NS


@pytest.mark.parametrize("name", [name for name, waits in WAITS.items() if waits])
def test_waits_agree_with_the_independent_reading_and_with_what_was_run(name):
    expected, sample = expected_of(name), read_trace(DATA / name)
    assert expected["wait_events"] == STEPS
    assert sample.input_wait_ns == pytest.approx(expected["wait_ns"], abs=STEPS)
    assert sample.step_wait_ns == pytest.approx(expected["wait_in_steps_ns"], abs=STEPS)
    assert sample.input_wait_ns >= STEPS * INPUT_NS
    assert sample.input_wait_share == pytest.approx(
        expected["wait_in_steps_ns"] / (STEPS * expected["step_ns"]), rel=1e-4
    )


@pytest.mark.parametrize("name", [name for name, waits in WAITS.items() if not waits])
def test_a_wait_that_the_profiler_does_not_see_is_unknown(name):
    sample = read_trace(DATA / name)
    assert expected_of(name)["wait_events"] == 0
    assert (sample.input_wait_ns, sample.input_wait_share) == (None, None)
    assert any(problem.startswith("input wait unknown") for problem in sample.problems)


@pytest.mark.parametrize("name", WAITS)
def test_a_trace_of_a_cpu_has_no_device_data_and_says_so(name):
    sample = read_trace(DATA / name)
    assert sample.devices == {}
    assert sample.input_wait_idle_ns is None
    assert sample.problems[0] == "no device data: no GPU in the trace"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WAITS if "xplane" in name])
def test_our_message_description_reads_what_tensorflows_own_classes_read(name):
    pytest.importorskip("tensorflow")
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    data = gzip.decompress((DATA / name).read_bytes())
    assert plain(xplane_pb2.XSpace.FromString(data)) == plain(xspace_class().FromString(data))


def plain(space):
    """Everything our description describes, in one form for both kinds of classes."""
    return [
        (
            as_bytes(plane.name),
            names_of(plane.event_metadata),
            names_of(plane.stat_metadata),
            [
                (as_bytes(line.name), line.timestamp_ns, [plain_event(event) for event in line.events])
                for line in plane.lines
            ],
        )
        for plane in space.planes
    ]


def plain_event(event):
    stats = [
        (
            stat.metadata_id,
            stat.uint64_value,
            stat.int64_value,
            stat.ref_value,
            as_bytes(stat.str_value),
            stat.bytes_value,
        )
        for stat in event.stats
    ]
    return event.metadata_id, event.offset_ps, event.duration_ps, event.num_occurrences, stats


def names_of(metadata):
    """A map in TensorFlow's classes, a list of pairs in ours."""
    pairs = metadata.items() if hasattr(metadata, "items") else [(entry.key, entry.value) for entry in metadata]
    return {key: as_bytes(value.name) for key, value in pairs}


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()
