"""Events of a profiler as plain values, in the shapes that supported versions of torch give them."""

from feedwatch.hooks.torch.profiler import plain_events


class Event:
    """As torch 2.1 gives it: microseconds, no kinds."""

    def __init__(self, name, device="CPU", start_us=10, took_us=5):
        self._name, self._device, self._start_us, self._took_us = name, device, start_us, took_us

    def name(self):
        return self._name

    def device_type(self):
        return f"DeviceType.{self._device}"

    def device_index(self):
        return 0

    def start_us(self):
        return self._start_us

    def duration_us(self):
        return self._took_us


class NewEvent(Event):
    """As a later torch gives it: nanoseconds, a kind, and the bytes of a copy."""

    def __init__(self, name, kind, metadata="", device="CUDA"):
        super().__init__(name, device)
        self._kind, self._metadata = kind, metadata

    def start_ns(self):
        return 10_000

    def duration_ns(self):
        return 5_000

    def activity_type(self):
        return self._kind

    def metadata_json(self):
        return self._metadata


def test_operators_on_the_host_are_left_out_and_steps_kept():
    found = plain_events([Event("aten::add"), Event("ProfilerStep#3"), Event("enumerate(DataLoader)#next")])
    assert [(event.category, event.name, event.device) for event in found] == [
        ("user_annotation", "ProfilerStep#3", None),
        ("user_annotation", "enumerate(DataLoader)#next", None),
    ]


def test_without_kinds_a_device_event_is_known_by_its_name():
    found = plain_events([Event("volta_sgemm", "CUDA"), Event("Memset (Device)", "CUDA")])
    assert [event.category for event in found] == ["kernel", "gpu_memset"]
    assert (found[0].start_ns, found[0].duration_ns) == (10_000, 5_000)


def test_a_copy_that_does_not_say_its_bytes_asks_for_the_file():
    assert plain_events([Event("Memcpy HtoD (Pageable -> Device)", "CUDA")]) is None
    assert plain_events([NewEvent("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", "{}")]) is None


def test_a_copy_with_its_bytes():
    (copy,) = plain_events([NewEvent("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", '{"bytes": 4096}')])
    assert (copy.category, copy.size_bytes, copy.device, copy.start_ns) == ("gpu_memcpy", 4096, 0, 10_000)
