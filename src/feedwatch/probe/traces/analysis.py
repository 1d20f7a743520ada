"""From a timeline to the figures: copies, bandwidth, what kernels hide, busy, idle, and the wait for input."""

from collections.abc import Sequence

import numpy as np

from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.probe.traces.timeline import (
    LARGE_BYTES,
    UNKNOWN,
    Column,
    Copies,
    DeviceTimeline,
    Intervals,
    Step,
    Timeline,
    covered,
    intersection,
    shared,
    union,
    union_of,
)


def analyse(timeline: Timeline) -> TransferSample:
    """A device without any event is left out: the trace does not show whether it idled or was not recorded."""
    recorded = {name: device for name, device in sorted(timeline.devices.items()) if device.recorded}
    waits = union(timeline.waits)
    steps, step_ns, wait_in_steps_ns = _steps(timeline, recorded, waits)
    known_wait = bool(len(timeline.waits))
    return TransferSample(
        source=timeline.source,
        devices={name: _device(name, device, timeline.host_steps) for name, device in recorded.items()},
        steps=steps,
        step_ns=step_ns,
        input_wait_ns=waits.total if known_wait else None,
        input_wait_idle_ns=_wait_while_idle(waits, recorded) if known_wait and recorded else None,
        kind_inferred=timeline.kind_inferred,
        problems=_problems(timeline, steps),
        step_wait_ns=wait_in_steps_ns if known_wait else None,
    )


def _device(name: str, device: DeviceTimeline, host_steps: Sequence[Step]) -> DeviceTransfers:
    kernels = union(device.kernels)
    copies = union(device.h2d.spans)
    busy = union(device.kernels, device.other, device.h2d.spans)
    hidden = intersection(copies, kernels)
    starts, ends = _columns(device.steps or host_steps)
    step_total = float(np.sum(ends - starts))
    steps = len(starts)
    busy_in_steps = float(np.sum(covered(busy, starts, ends)))
    exposed_in_steps = float(np.sum(covered(copies, starts, ends)) - np.sum(covered(hidden, starts, ends)))
    return DeviceTransfers(
        name=name,
        copies=_totals(device.h2d),
        by_kind=_by_kind(device.h2d),
        large=_totals(device.h2d, _sizes(device.h2d) >= LARGE_BYTES),
        union_ns=copies.total,
        hidden_ns=hidden.total,
        busy_ns=busy.total,
        idle_share=max(0.0, 1.0 - busy_in_steps / step_total) if step_total > 0 else None,
        kernels=len(device.kernels),
        kernel_ns=kernels.total,
        steps=steps,
        step_ns=step_total / steps if steps else None,
        busy_per_step_ns=busy_in_steps / steps if steps else None,
        exposed_per_step_ns=max(0.0, exposed_in_steps) / steps if steps else None,
        bytes_per_step=_bytes_within(device.h2d, starts, ends) / steps if steps else None,
        to_host=_totals(device.d2h),
    )


def _steps(
    timeline: Timeline, devices: dict[str, DeviceTimeline], waits: Intervals
) -> tuple[int, float | None, float | None]:
    """How many steps, their mean, and the wait inside them. The host's steps if it has any, else the devices'."""
    if timeline.host_steps:
        starts, ends = _columns(timeline.host_steps)
        waited = _wait_by_host_step(timeline, waits, starts, ends)
        return len(starts), float(np.mean(ends - starts)), waited
    of_devices = [device.steps for device in devices.values() if device.steps]
    if not of_devices:
        return 0, None, None
    starts, ends = _columns([step for steps in of_devices for step in steps])
    count = max(len(steps) for steps in of_devices)
    waited = float(np.sum(covered(waits, starts, ends)))
    # Several devices saw each step, and the wait was counted once for each of them: scale it to one device.
    return count, float(np.mean(ends - starts)), waited * count / len(starts)


def _wait_by_host_step(timeline: Timeline, waits: Intervals, starts: Column, ends: Column) -> float:
    """By group where the file has groups, because the host waits for a prefetched batch outside its step."""
    by_time = covered(waits, starts, ends)
    by_group = {group: union(spans).total for group, spans in timeline.waits_by_group.items()}
    total = 0.0
    for step, waited in zip(timeline.host_steps, by_time, strict=True):
        total += float(waited) if step.group is None else by_group.get(step.group, float(waited))
    return total


def _wait_while_idle(waits: Intervals, devices: dict[str, DeviceTimeline]) -> float:
    spans = [span for device in devices.values() for span in (device.kernels, device.other, device.h2d.spans)]
    return max(0.0, waits.total - shared(union(*spans), waits))


def _by_kind(copies: Copies) -> dict[str, CopyTotals]:
    kinds = np.array([kind or UNKNOWN for kind in copies.kinds], dtype=object)
    return {kind: _totals(copies, kinds == kind) for kind in sorted(set(kinds))}


def _totals(copies: Copies, chosen: "np.ndarray | None" = None) -> CopyTotals:
    starts, ends = copies.spans.columns()
    sizes, durations = _sizes(copies), ends - starts
    if chosen is not None:
        sizes, durations = sizes[chosen], durations[chosen]
    return CopyTotals(len(sizes), int(np.sum(sizes)), float(np.sum(durations)))


def _sizes(copies: Copies) -> "np.ndarray":
    return np.array(copies.sizes, dtype=np.int64)


def _bytes_within(copies: Copies, starts: Column, ends: Column) -> float:
    """A copy belongs to the step in which it began."""
    began, _ = copies.spans.columns()
    steps = union_of(starts, ends)
    if not len(steps.starts):
        return 0.0
    place = np.searchsorted(steps.starts, began, side="right") - 1
    inside = (place >= 0) & (began < steps.ends[place])
    return float(np.sum(_sizes(copies)[inside]))


def _columns(steps: Sequence[Step]) -> tuple[Column, Column]:
    starts = np.array([step.start_ns for step in steps], dtype=np.float64)
    ends = np.array([step.end_ns for step in steps], dtype=np.float64)
    return starts, ends


def _problems(timeline: Timeline, steps: int) -> tuple[str, ...]:
    """What the trace cannot answer. No copies, no steps and no device data are three different answers."""
    found = [*_device_problems(timeline), *timeline.problems]
    if not steps:
        found.append("no steps: nothing in this trace marks the training steps, so there are no figures per step")
    elif steps == 1:
        found.append("one step only: figures per step are those of this step")
    if not len(timeline.waits):
        found.append("input wait unknown: the trace has no event of tf.data or of a DataLoader")
    return tuple(found)


def _device_problems(timeline: Timeline) -> list[str]:
    recorded = [device for device in timeline.devices.values() if device.recorded]
    said = "; ".join(timeline.errors)
    if not recorded:
        seen = f"{len(timeline.devices)} GPU(s) named, no event on any" if timeline.devices else "no GPU in the trace"
        return [f"no device data: {said or seen}"]
    found = [f"the profiler reported: {said}"] if said else []
    empty = sorted(name for name, device in timeline.devices.items() if not device.recorded)
    if empty:
        found.append(f"no device data for {', '.join(empty)}")
    if not any(len(device.h2d) for device in recorded):
        found.append(
            "copies unknown: here they run as kernels (copyBuffer) that do not say their direction"
            if timeline.copies_as_kernels
            else "no copies: the device was recorded, and no host-to-device copy took place"
        )
    return found
