import subprocess
import sys

import psutil
import pytest

from feedwatch.probe import host
from feedwatch.probe.host import HostProbe


def test_the_first_sample_knows_no_use_but_knows_the_budget():
    facts = HostProbe().sample()
    assert facts.cpu_used is None
    assert facts.machine_cpu_share is None
    assert facts.cpu_budget is not None
    assert facts.ram_available_gb > 0


def test_cpu_use_is_cpu_seconds_over_wall_seconds(monkeypatch):
    now = [0.0]
    probe = HostProbe(clock_s=lambda: now[0])
    seconds = iter([15.0, 18.0])
    monkeypatch.setattr(probe, "_family_cpu_s", lambda: next(seconds))
    probe.sample()
    now[0] = 2.0
    assert probe.sample().cpu_used == pytest.approx(1.5)


def test_a_worker_that_began_and_ended_between_two_samples_is_counted():
    now = [0.0]
    probe = HostProbe(clock_s=lambda: now[0])
    probe.sample()
    burns = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burns], check=True)
    now[0] = 1.0
    assert probe.sample().cpu_used >= 0.28


def test_cpu_time_that_went_away_with_its_process_is_unknown(monkeypatch):
    now = [0.0]
    probe = HostProbe(clock_s=lambda: now[0])
    seconds = iter([500.0, 70.0])
    monkeypatch.setattr(probe, "_family_cpu_s", lambda: next(seconds))
    probe.sample()
    now[0] = 1.0
    assert probe.sample().cpu_used is None


def test_machine_share_and_iowait_come_from_the_difference(monkeypatch):
    machine = iter([(100.0, 50.0, 1.0), (110.0, 56.0, 2.0)])
    monkeypatch.setattr(host, "_machine_times", lambda: next(machine))
    probe = HostProbe()
    probe.sample()
    facts = probe.sample()
    assert facts.machine_cpu_share == pytest.approx(0.6)
    assert facts.iowait_share == pytest.approx(0.1)


def test_a_system_without_an_iowait_count_says_unknown(monkeypatch):
    nan = float("nan")
    machine = iter([(100.0, 50.0, nan), (110.0, 56.0, nan)])
    monkeypatch.setattr(host, "_machine_times", lambda: next(machine))
    probe = HostProbe()
    probe.sample()
    assert probe.sample().iowait_share is None


def test_a_clock_that_stands_still_gives_unknown():
    probe = HostProbe(clock_s=lambda: 1.0)
    probe.sample()
    assert probe.sample().cpu_used is None


def test_a_vanished_process_gives_unknown_parts_not_an_error(monkeypatch):
    probe = HostProbe()

    def gone(*_args, **_kwargs):
        raise psutil.NoSuchProcess(1)

    monkeypatch.setattr(probe._process, "children", gone)
    monkeypatch.setattr(probe._process, "cpu_times", gone)
    probe.sample()
    assert probe.sample().cpu_used is None
