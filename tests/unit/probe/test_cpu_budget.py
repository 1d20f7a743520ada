from pathlib import Path

import pytest

from feedwatch.probe.cpu_budget import cpu_budget


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "cgroup"


@pytest.fixture
def proc(tmp_path):
    return tmp_path / "self_cgroup"


def test_a_v2_quota_below_the_affinity_is_the_budget(root, proc):
    write(proc, "0::/job\n")
    write(root / "job/cpu.max", "150000 100000\n")
    assert cpu_budget(root, proc, affinity=8) == 1.5


def test_the_affinity_is_the_budget_when_the_quota_is_larger(root, proc):
    write(proc, "0::/job\n")
    write(root / "job/cpu.max", "1600000 100000\n")
    assert cpu_budget(root, proc, affinity=4) == 4.0


def test_max_means_no_quota(root, proc):
    write(proc, "0::/job\n")
    write(root / "job/cpu.max", "max 100000\n")
    assert cpu_budget(root, proc, affinity=4) == 4.0


def test_a_parents_quota_holds_for_a_nested_group(root, proc):
    write(proc, "0::/slice/job/step\n")
    write(root / "slice/cpu.max", "200000 100000\n")
    write(root / "slice/job/cpu.max", "max 100000\n")
    write(root / "slice/job/step/cpu.max", "600000 100000\n")
    assert cpu_budget(root, proc, affinity=16) == 2.0


def test_inside_a_container_the_mount_itself_is_the_group(root, proc):
    write(proc, "0::/docker/0123abcd\n")
    write(root / "cpu.max", "250000 100000\n")
    assert cpu_budget(root, proc, affinity=16) == 2.5


@pytest.mark.parametrize("mount", ["cpu,cpuacct", "cpu"])
def test_a_v1_quota_is_read_from_either_mount_name(root, proc, mount):
    write(proc, "5:memory:/other\n4:cpu,cpuacct:/job\n")
    write(root / mount / "job/cpu.cfs_quota_us", "300000\n")
    write(root / mount / "job/cpu.cfs_period_us", "100000\n")
    assert cpu_budget(root, proc, affinity=16) == 3.0


def test_minus_one_means_no_v1_quota(root, proc):
    write(proc, "4:cpu,cpuacct:/job\n")
    write(root / "cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n")
    write(root / "cpu,cpuacct/job/cpu.cfs_period_us", "100000\n")
    assert cpu_budget(root, proc, affinity=6) == 6.0


@pytest.mark.parametrize("text", ["", "garbage", "100000 0", "1e400 x", "\x00\xff"])
def test_unreadable_or_senseless_files_leave_the_affinity(root, proc, text):
    write(proc, "0::/job\nnonsense\n")
    write(root / "job/cpu.max", text)
    assert cpu_budget(root, proc, affinity=3) == 3.0


def test_f17_absent_cgroup_files_leave_the_affinity(root, proc):
    assert cpu_budget(root, proc, affinity=3) == 3.0


def test_a_path_with_dots_cannot_leave_the_mount(root, proc):
    write(proc, "0::/../../etc\n")
    write(root.parent / "cpu.max", "1 100000")
    assert cpu_budget(root, proc, affinity=3) == 3.0


def test_this_machine_has_a_positive_budget():
    budget = cpu_budget()
    assert budget is not None
    assert budget > 0
