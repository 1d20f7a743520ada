import copy
import pickle

import pytest

from feedwatch.probe.nvml import Link, NvmlProbe, visible_tokens


@pytest.mark.parametrize(
    ("generation", "width", "expected"),
    [(3, 16, 15.76), (4, 16, 31.5), (5, 8, 31.5), (1, 16, 4.0), (2, 1, 0.5)],
)
def test_the_link_carries_what_its_generation_and_width_say(generation, width, expected):
    assert Link(generation, width).gb_per_s == pytest.approx(expected, rel=0.001)


@pytest.mark.parametrize(("generation", "width"), [(None, 16), (4, None), (99, 16), (4, 0), (4, -1)])
def test_a_link_that_cannot_be_told_is_unknown(generation, width):
    assert Link(generation, width).gb_per_s is None


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        (None, None),
        ("", []),
        ("0, 2", ["0", "2"]),
        ("1,-1,0", ["1"]),
        ("GPU-a,MIG-b", ["GPU-a", "MIG-b"]),
        ("NoDevFiles", []),
    ],
)
def test_visible_devices_are_read_as_cuda_reads_them(value, tokens):
    assert visible_tokens({} if value is None else {"CUDA_VISIBLE_DEVICES": value}) == tokens


def test_a_probe_that_was_not_started_knows_nothing_and_can_be_copied():
    probe = NvmlProbe(environ={})
    assert probe.facts() is None
    probe.stop()
    assert copy.deepcopy(probe).facts() is None
    assert pickle.loads(pickle.dumps(probe)).facts() is None
