"""How many CPUs this process may use: the smaller of its affinity and of every cgroup quota above it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
PROC_SELF_CGROUP: Final = Path("/proc/self/cgroup")


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
            yield from _quotas_of_mount(root, path, _v2_quota)
            # Hybrid systems mount the unified hierarchy one level deeper.
            yield from _quotas_of_mount(root / "unified", path, _v2_quota)
        elif "cpu" in controllers.split(","):
            yield from _quotas_of_mount(root / controllers, path, _v1_quota)
            yield from _quotas_of_mount(root / "cpu", path, _v1_quota)


def _quotas_of_mount(mount: Path, path: str, quota_of: Callable[[Path], float | None]) -> Iterator[float]:
    """From this process's group up to the root: a parent's quota holds for all its children.

    Inside a container the path names the host's tree, while the mount already shows the group itself:
    the mount's own root is therefore always read, whether or not the path exists below it.
    """
    relative = PurePosixPath(path.lstrip("/"))
    for group in (relative, *relative.parents):
        if ".." in group.parts:
            continue
        quota = quota_of(mount / group)
        if quota is not None:
            yield quota


def _v2_quota(group: Path) -> float | None:
    quota, _, period = _read(group / "cpu.max").strip().partition(" ")
    return _cpus(quota, period)  # "max 100000" means no quota


def _v1_quota(group: Path) -> float | None:
    return _cpus(_read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us"))


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
