import copy
import pickle
from types import SimpleNamespace

import pytest

from feedwatch.probe.nvml import Gpu, Link, NoDeviceError, NvmlProbe, find_gpu, visible_tokens


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


class FakeLibrary:
    """NVML as far as finding a GPU goes: two GPUs of different models. A handle is the GPU's position."""

    uuids = ("GPU-aaaa1111", "GPU-bbbb2222")
    nvmlDeviceGetCount = staticmethod(lambda: 2)
    nvmlDeviceGetHandleByIndex = staticmethod(int)
    nvmlDeviceGetName = staticmethod(lambda handle: f"model {handle}")
    nvmlDeviceGetUUID = staticmethod(lambda handle: FakeLibrary.uuids[handle].encode())
    nvmlDeviceGetHandleByPciBusId = staticmethod(lambda bus: int(b"02:00" in bus))
    nvmlDeviceGetHandleByUUID = staticmethod(lambda uuid: f"slice {uuid.decode()}")
    nvmlDeviceGetDeviceHandleFromMigDeviceHandle = staticmethod(lambda part: 1)
    nvmlDeviceGetMigMode = staticmethod(lambda handle: (0, 0))
    nvmlDeviceGetMaxMigDeviceCount = staticmethod(lambda handle: 7)

    class NVMLError(Exception):
        value = 6


def found(number=0, gpu_id=None, **environ):
    gpu = find_gpu(FakeLibrary, number, environ, gpu_id, lambda *_: None)
    return gpu._device, gpu._board


@pytest.mark.parametrize("gpu_id", ["GPU-bbbb2222", "GPU-bbbb", "0000:02:00.0"])
@pytest.mark.parametrize("visible", [{}, {"CUDA_VISIBLE_DEVICES": "0,1"}, {"CUDA_VISIBLE_DEVICES": ""}])
def test_what_the_framework_says_about_its_gpu_comes_before_its_number(gpu_id, visible):
    assert found(0, gpu_id, **visible) == (1, 1)


def test_a_slice_is_named_by_the_environment_only_whatever_the_framework_says():
    assert found(0, "GPU-aaaa1111", CUDA_VISIBLE_DEVICES="MIG-77") == ("slice MIG-77", 1)
    assert found(0, "GPU-aaaa1111", CUDA_VISIBLE_DEVICES="MIG-GPU-bbbb2222/1/0") == (None, 1)


def test_a_number_is_enough_only_where_the_order_is_known():
    with pytest.raises(NoDeviceError, match="different models"):
        found(1)
    assert found(1, CUDA_DEVICE_ORDER="PCI_BUS_ID") == (1, 1)
    assert found(0, CUDA_VISIBLE_DEVICES="GPU-bbbb") == (1, 1)


@pytest.mark.parametrize("gpu_id", ["GPU-", "GPU-cccc"])
def test_an_id_that_fits_several_or_none_is_unknown(gpu_id):
    with pytest.raises(NoDeviceError, match="UUID"):
        found(0, gpu_id)


def sliced(*places):
    """The second GPU is in MIG mode and has slices at these places."""

    def slice_at(board, place):
        if place not in places:
            raise FakeLibrary.NVMLError
        return f"slice {place} of {board}"

    class Sliced(FakeLibrary):
        nvmlDeviceGetMigMode = staticmethod(lambda handle: (handle, handle))
        nvmlDeviceGetMigDeviceHandleByIndex = staticmethod(slice_at)

    gpu = find_gpu(Sliced, 1, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, None, lambda *_: None)
    return gpu._device, gpu._board


def test_a_board_in_mig_mode_that_is_known_by_its_number_is_not_shown_as_a_whole():
    """Its memory and its use are those of all who share it."""
    assert sliced(3) == ("slice 3 of 1", 1)
    assert sliced(0, 3) == (None, 1)
    assert sliced() == (None, 1)


def test_a_board_that_knows_no_mig_is_whole():
    class Old(FakeLibrary):
        @staticmethod
        def nvmlDeviceGetMigMode(handle):
            raise FakeLibrary.NVMLError

    assert find_gpu(Old, 0, {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, None, lambda *_: None)._device == 0


@pytest.mark.parametrize(("pid", "held"), [(7, 900), (8, None), (9, None)])
def test_what_this_process_holds_is_asked_by_its_number(pid, held):
    class Running(FakeLibrary):
        nvmlDeviceGetComputeRunningProcesses = staticmethod(
            lambda handle: [SimpleNamespace(pid=9, usedGpuMemory=None), SimpleNamespace(pid=7, usedGpuMemory=900)]
        )

    assert Gpu(Running, 0, 0, lambda *_: None).held_memory(pid) == held
