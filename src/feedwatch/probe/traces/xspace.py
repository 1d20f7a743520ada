"""Reads an XSpace file (tf.profiler, JAX) into a timeline.

Copies are taken from device planes only: host threads carry a twin of each with the same name and correlation id
(the driver's call), and everything would count twice.
"""

import re
from typing import Any, Final

from google.protobuf.message import DecodeError

from feedwatch.errors import TraceError
from feedwatch.probe.traces.kinds import infer_kinds
from feedwatch.probe.traces.timeline import Step, Timeline, one_line
from feedwatch.probe.traces.xspace_device import read_device_plane
from feedwatch.probe.traces.xspace_host import HostReader
from feedwatch.probe.traces.xspace_messages import xspace_class
from feedwatch.probe.traces.xspace_plane import text

GPU_PLANE: Final = re.compile(r"/device:GPU:\d+")
MAX_ERROR_TEXTS: Final = 8


def read_xspace(data: bytes) -> Timeline:
    space = _parse(data)
    timeline = Timeline("xspace", errors=[one_line(text(error)) for error in space.errors[:MAX_ERROR_TEXTS]])
    origin_ns = min((line.timestamp_ns for plane in space.planes for line in plane.lines), default=0)
    host = HostReader(timeline)
    for plane in space.planes:
        name = text(plane.name)
        if GPU_PLANE.fullmatch(name):
            read_device_plane(plane, timeline, name, origin_ns)
        elif name.startswith("/host:"):
            host.read(plane, name, origin_ns)
    host.finish()
    for device in timeline.devices.values():
        timeline.kind_inferred |= infer_kinds(device.h2d, host.call_ns)
        device.steps = whole_steps(device.steps, timeline.host_steps)
    return timeline


def whole_steps(device_steps: list[Step], host_steps: list[Step]) -> list[Step]:
    """Without a cut-off first and last one.

    The profiler starts and stops in mid-step: such a step keeps its kernels, while the host's event, which is
    written only when it is whole, is missing. A first or last step without its host half is therefore a piece.
    """
    steps = sorted(device_steps, key=lambda step: step.start_ns)
    groups = {step.group for step in host_steps if step.group is not None}
    if not groups or not any(step.group in groups for step in steps):
        return steps
    first = next(index for index, step in enumerate(steps) if step.group in groups)
    last = max(index for index, step in enumerate(steps) if step.group in groups)
    return steps[first : last + 1]


def _parse(data: bytes) -> Any:
    space = xspace_class()()
    try:
        space.ParseFromString(data)
    except (DecodeError, ValueError, RecursionError) as error:
        raise TraceError("not a whole XSpace file: it is cut off or of another format") from error
    if not space.planes or not any(plane.name for plane in space.planes):
        raise TraceError("not an XSpace file: it has no planes")
    return space
