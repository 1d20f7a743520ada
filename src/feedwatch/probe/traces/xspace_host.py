"""The host planes of an XSpace file: steps, the wait for input, and the driver's calls that began copies."""

import re
from typing import Any, Final

from feedwatch.probe.traces.intervals import Spans
from feedwatch.probe.traces.timeline import Step, Timeline
from feedwatch.probe.traces.xspace_plane import PlaneReader

CPU_PLANE: Final = "/host:CPU"

_GET_NEXT: Final = re.compile(r"IteratorGetNext\w*Op::DoCompute|MultiDeviceIteratorGetNext")
_ITERATOR_ROOT: Final = re.compile(r"Iterator::(?!.*::)")  # its stages are Iterator::Root::Stage
_COPY_CALL: Final = re.compile(r"MemcpyH2D$|cu(da)?Memcpy")


class HostReader:
    """Collects over all host planes; `finish` decides which of the sources speaks."""

    def __init__(self, timeline: Timeline) -> None:
        self.call_ns: dict[int, float] = {}  # by correlation id: how long the host was in the call
        self._timeline = timeline
        self._iterator_roots = Spans()
        self._group_roots: list[Step] = []

    def read(self, plane: Any, name: str, origin_ns: int) -> None:
        reader = PlaneReader(plane, origin_ns)
        self._read_copy_calls(reader)
        if name == CPU_PLANE:
            self._read_waits(reader)
            self._read_steps(reader)

    def finish(self) -> None:
        timeline = self._timeline
        if not len(timeline.waits):
            timeline.waits = self._iterator_roots
        # Files of one batch have neither step numbers nor a device's Steps line, but name the group's root.
        if not timeline.host_steps and not any(device.steps for device in timeline.devices.values()):
            timeline.host_steps = self._group_roots
        timeline.host_steps = sorted(set(timeline.host_steps), key=lambda step: (step.start_ns, step.end_ns))

    def _read_waits(self, reader: PlaneReader) -> None:
        get_next = _ids_matching(reader, _GET_NEXT.match)
        roots = _ids_matching(reader, _ITERATOR_ROOT.match)
        groups = reader.ids_of("group_id")
        for line in reader.lines:
            for event, start, end in reader.timed_events(line):
                if event.metadata_id in get_next:
                    self._timeline.waits.add(start, end)
                    group = reader.whole_number(event, groups)
                    if group is not None:
                        self._timeline.waits_by_group.setdefault(group, Spans()).add(start, end)
                elif event.metadata_id in roots:
                    self._iterator_roots.add(start, end)

    def _read_steps(self, reader: PlaneReader) -> None:
        groups = reader.ids_of("group_id")
        for stat, found in (("step_num", self._timeline.host_steps), ("step_name", self._group_roots)):
            ids = reader.ids_of(stat)
            if not ids:
                continue
            carriers: dict[int, bool] = {}  # by name: whether events of that name carry the stat
            for line in reader.lines:
                for event, start, end in reader.timed_events(line):
                    carries = carriers.get(event.metadata_id)
                    if carries is None:
                        carries = carriers[event.metadata_id] = reader.stat(event, ids) is not None
                    if carries and end > start and reader.stat(event, ids) is not None:
                        found.append(Step(start, end, reader.whole_number(event, groups)))

    def _read_copy_calls(self, reader: PlaneReader) -> None:
        correlations = reader.ids_of("correlation_id")
        calls = _ids_matching(reader, _COPY_CALL.match) if correlations else frozenset()
        if not calls:
            return
        for line in reader.lines:
            for event, start, end in reader.timed_events(line):
                if event.metadata_id in calls:
                    correlation = reader.whole_number(event, correlations)
                    if correlation is not None:
                        self.call_ns[correlation] = end - start


def _ids_matching(reader: PlaneReader, matches: Any) -> frozenset[int]:
    return frozenset(key for key, name in reader.event_names.items() if matches(name))
