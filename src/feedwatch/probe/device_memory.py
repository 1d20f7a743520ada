"""How full a device is for the framework that trains on it.

NVML sees what a process has taken. TensorFlow and JAX take most of a GPU at the start, and torch keeps what it has
freed: a device that NVML calls full may have most of its memory free for the next tensor.
"""

from dataclasses import dataclass, replace

from feedwatch.model.facts import DeviceFacts


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """As the framework's own allocator counts it: what it has taken from the device is not what it uses."""

    used_bytes: int  # in tensors that are alive
    held_bytes: int | None = None  # a cache, or a pool that was taken at the start; None: only NVML may know
    limit_bytes: int | None = None  # what it may hold at most
    free_bytes: int | None = None  # of the device, beside what is held; None: only NVML may know


def with_own_memory(seen: DeviceFacts | None, own: DeviceMemory | None) -> DeviceFacts | None:
    """`seen`: by NVML, None where there is none. `own`: None where the framework does not tell; then how full it is, is
    unknown.
    """
    total = _total(seen, own)
    free = None if own is None else _free(seen, own)
    if own is not None and free is not None and own.limit_bytes is not None:
        free = min(free, max(0, own.limit_bytes - own.used_bytes))
    if seen is None and free is None:
        return None
    return replace(
        seen or DeviceFacts(),
        memory_total_bytes=total,
        memory_free_bytes=free,
        memory_used_share=None if free is None or not total else max(0.0, 1 - free / total),
    )


def _total(seen: DeviceFacts | None, own: DeviceMemory | None) -> int | None:
    if own is not None and own.limit_bytes is not None:
        return own.limit_bytes
    return None if seen is None else seen.memory_total_bytes


def _free(seen: DeviceFacts | None, own: DeviceMemory) -> int | None:
    """What is held and not used can be had, and what nobody holds."""
    held = own.held_bytes
    if held is None:
        held = None if seen is None else seen.memory_held_bytes
    beside = own.free_bytes
    if beside is None:
        beside = None if seen is None else seen.memory_free_bytes
    return None if held is None or beside is None else max(0, held - own.used_bytes) + beside
