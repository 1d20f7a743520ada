"""The description of an XSpace file that we hand to the protobuf runtime."""

from feedwatch.probe.traces.xspace_schema import xspace_class
from tests.unit.probe.traces.builders import gpu_space


def test_the_class_is_built_once():
    assert xspace_class() is xspace_class()


def test_a_field_that_is_not_described_is_skipped():
    data = gpu_space("size:8").bytes()
    unknown = bytes([99 << 3 & 0x7F | 0x80 | 2, 99 << 3 >> 7, 3]) + b"abc"  # field 99, three bytes
    assert len(xspace_class().FromString(data + unknown).planes) == len(xspace_class().FromString(data).planes) == 2


def test_a_text_that_is_no_utf_8_is_kept_as_it_is():
    space = xspace_class()()
    space.planes.add(name=b"\xff\xfe")
    assert xspace_class().FromString(space.SerializeToString()).planes[0].name == b"\xff\xfe"


def test_times_of_our_century_in_picoseconds_fit():
    space = xspace_class()()
    line = space.planes.add(name=b"p").lines.add(timestamp_ns=1_800_000_000_000_000_000)
    line.events.add(metadata_id=1, offset_ps=10**15, duration_ps=10**15)
    again = xspace_class().FromString(space.SerializeToString()).planes[0].lines[0]
    assert (again.timestamp_ns, again.events[0].offset_ps) == (1_800_000_000_000_000_000, 10**15)
