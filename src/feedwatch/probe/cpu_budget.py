"""What this process may use: CPUs by its affinity and every cgroup quota above it, memory by every cgroup limit."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
PROC_SELF_CGROUP: Final = Path("/proc/self/cgroup")
NO_LIMIT: Final = 1 << 60  # version 1 writes a number near 2^63 where there is none


def cpu_budget(
    cgroup_root: Path = CGROUP_ROOT,
    proc_self_cgroup: Path = PROC_SELF_CGROUP,
    affinity: int | None = None,
) -> float | None:
    """A number of CPUs, with fractions; None if the system does not even tell the affinity."""
    cpus = affinity if affinity is not None else _affinity_cpus()
    limits = list(_quotas(cgroup_root, proc_self_cgroup))
    if cpus is not None:
        limits.append(float(cpus))
    return min(limits) if limits else None


def memory_left(cgroup_root: Path = CGROUP_ROOT, proc_self_cgroup: Path = PROC_SELF_CGROUP) -> list[float]:
    """Bytes up to the limit of each group above this process that sets one."""
    found: list[float] = []
    for line in _read(proc_self_cgroup).splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        _, controllers, path = parts
        if not controllers:
            found += _of_mount(cgroup_root, path, _v2_memory)
            found += _of_mount(cgroup_root / "unified", path, _v2_memory)
        elif "memory" in controllers.split(","):
            found += _of_mount(cgroup_root / "memory", path, _v1_memory)
    return found


def _affinity_cpus() -> int | None:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # macOS and Windows have no affinity call
        return os.cpu_count()


def _quotas(root: Path, proc_self_cgroup: Path) -> Iterator[float]:
    """One value per group that sets a quota. A group that cannot be read gives no value; then the affinity decides."""
    for line in _read(proc_self_cgroup).splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        _, controllers, path = parts
        if not controllers:
            yield from _of_mount(root, path, _v2_quota)
            # Hybrid systems mount the unified hierarchy one level deeper.
            yield from _of_mount(root / "unified", path, _v2_quota)
        elif "cpu" in controllers.split(","):
            yield from _of_mount(root / controllers, path, _v1_quota)
            yield from _of_mount(root / "cpu", path, _v1_quota)


def _of_mount(mount: Path, path: str, value_of: Callable[[Path], float | None]) -> Iterator[float]:
    """From this process's group up to the root: a parent's quota holds for all its children.

    Inside a container the path names the host's tree, while the mount already shows the group itself:
    the mount's own root is therefore always read, whether or not the path exists below it.
    """
    relative = PurePosixPath(path.lstrip("/"))
    for group in (relative, *relative.parents):
        if ".." in group.parts:
            continue
        value = value_of(mount / group)
        if value is not None:
            yield value


def _v2_quota(group: Path) -> float | None:
    quota, _, period = _read(group / "cpu.max").strip().partition(" ")
    return _cpus(quota, period)  # "max 100000" means no quota


def _v1_quota(group: Path) -> float | None:
    return _cpus(_read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us"))


def _v2_memory(group: Path) -> float | None:
    return _left(group / "memory.max", group / "memory.current", group / "memory.stat")


def _v1_memory(group: Path) -> float | None:
    return _left(group / "memory.limit_in_bytes", group / "memory.usage_in_bytes", group / "memory.stat")


def _left(limit_file: Path, used_file: Path, stat_file: Path) -> float | None:
    """The page cache counts as used, but the kernel gives it up when memory is asked for."""
    try:
        limit, used = int(_read(limit_file)), int(_read(used_file))
    except ValueError:  # "max": no limit
        return None
    if limit >= NO_LIMIT:
        return None
    cached = sum(int(line.split()[1]) for line in _read(stat_file).splitlines() if line.startswith("inactive_file "))
    return float(max(0, limit - used + cached))


def _cpus(quota_text: str, period_text: str) -> float | None:
    try:
        quota_us, period_us = int(quota_text), int(period_text)
    except ValueError:
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
