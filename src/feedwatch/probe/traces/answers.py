"""What a trace cannot answer, in words. No copies, no steps and no device data are three different answers."""

from feedwatch.probe.traces.timeline import Timeline


def problems_of(timeline: Timeline, steps: int) -> tuple[str, ...]:
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
