"""CPU use, as the rules see it: of the time in which training steps. Which GPU is asked. One sample of the host."""

import gc
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import psutil
import pytest

from feedwatch.measure.clock import SYSTEM_CLOCK
from feedwatch.model.facts import HostFacts
from feedwatch.probe import machine as room
from feedwatch.probe.handover import Handover
from feedwatch.probe.machine import (
    RECENT_SAMPLES,
    SAMPLE_SECONDS,
    SAMPLING_SHARE,
    HostProbe,
    Machine,
    _CpuSeconds,
    _Spent,
    ram_available_gb,
)
from tests.fakes.clock import FakeClock
from tests.fakes.values import run_facts


class Samples:
    """In place of the probe: one CPU figure after the other."""

    def __init__(self, *used):
        self._left = list(used)

    def sample(self):
        return HostFacts(cpu_budget=4.0, cpu_used=self._left.pop(0), machine_cpu_share=0.5)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(autouse=True)
def collector_is_left_alone():
    """What a machine hangs into the collector is taken out again, also by tests that never stop it."""
    before = list(gc.callbacks)
    yield
    gc.callbacks[:] = before


def machine(clock, *used):
    used = used or (None,)
    made = Machine(run_facts(), lambda _: None, clock)
    made._host = Samples(*used)
    made.start()
    return made


def next_sample(made, clock, *, paused=False):
    clock.advance_ms(1000 * SAMPLE_SECONDS + 100)
    made.paused = paused
    return made.read()["host"]


def test_a_pause_between_epochs_does_not_dilute_the_use(clock):
    made = machine(clock, None, 3.9, 0.2, 3.7)
    assert next_sample(made, clock).cpu_used == pytest.approx(3.9)
    assert next_sample(made, clock, paused=True).cpu_used == pytest.approx(3.9)
    assert next_sample(made, clock).cpu_used == pytest.approx(3.8)


def test_time_in_the_garbage_collector_is_a_share_of_the_time_in_which_training_steps(clock):
    made = machine(clock, None, 2.0, 2.0)
    made._garbage._spent_ns += round(0.2 * (SAMPLE_SECONDS + 0.1) * 1e9)
    assert next_sample(made, clock).gc_share == pytest.approx(0.2, rel=0.01)
    made._garbage._spent_ns += round(0.9 * (SAMPLE_SECONDS + 0.1) * 1e9)
    assert next_sample(made, clock, paused=True).gc_share == pytest.approx(0.2, rel=0.01)
    made.stop()
    assert made._garbage._round not in gc.callbacks


def test_where_every_sample_holds_a_pause_the_mean_of_all_but_the_first_is_what_is_known(clock):
    made = machine(clock, None, 3.0, 1.0, 2.0)
    assert next_sample(made, clock, paused=True).cpu_used == pytest.approx(3.0)
    assert next_sample(made, clock, paused=True).cpu_used == pytest.approx(1.0)
    assert next_sample(made, clock, paused=True).cpu_used == pytest.approx(1.5)


def test_the_first_sample_holds_the_tracing_and_speaks_only_where_there_is_no_other(clock):
    made = machine(clock, None, 1.0, 3.0)
    clock.advance_ms(1000)
    assert made.read()["host"].cpu_used == pytest.approx(1.0)
    assert next_sample(made, clock).cpu_used == pytest.approx(3.0)


def test_a_sample_that_is_dear_is_taken_rarely_and_the_last_one_all_the_same(clock):
    made = machine(clock, None, *[1.0] * 9)
    usual = made._host.sample

    def among_many_processes():
        clock.work_ms(10)
        return usual()

    made._host.sample = among_many_processes
    assert "host" in (clock.advance_ms(1000), made.read())[1]
    clock.advance_ms(1000 * SAMPLE_SECONDS + 100)
    assert "host" not in made.read()
    clock.advance_ms(10 / SAMPLING_SHARE)
    assert "host" in made.read()
    made.ending()
    clock.advance_ms(600)
    assert "host" in made.read()


def test_use_follows_a_run_that_changes(clock):
    made = machine(clock, None, *[1.0] * RECENT_SAMPLES, *[3.0] * RECENT_SAMPLES)
    for _ in range(2 * RECENT_SAMPLES):
        latest = next_sample(made, clock)
    assert latest.cpu_used == pytest.approx(3.0)


def test_unknown_use_stays_unknown(clock):
    made = machine(clock, None, None)
    assert next_sample(made, clock).cpu_used is None


@pytest.mark.parametrize(
    ("shown", "number"), [("cuda:0 (NVIDIA A10G)", 0), ("cuda:3 (NVIDIA A10G)", 3), ("/device:GPU:1", 1), ("cuda", 0)]
)
def test_the_gpu_that_is_asked_is_the_one_the_framework_shows(clock, shown, number):
    made = Machine(run_facts(device=shown, device_kind="cuda", device_id="GPU-1234"), lambda _: None, clock)
    assert (made._nvml._number, made._nvml._gpu_id) == (number, "GPU-1234")


@pytest.mark.parametrize("kind", ["cpu", "rocm", "mps", "xpu", "tpu"])
def test_without_an_nvidia_gpu_nothing_is_asked_of_nvml(clock, kind):
    assert Machine(run_facts(device_kind=kind), lambda _: None, clock)._nvml is None


def test_the_first_sample_knows_no_use_but_knows_the_budget():
    facts = HostProbe(SYSTEM_CLOCK).sample()
    assert facts.cpu_used is None
    assert facts.machine_cpu_share is None
    assert facts.cpu_budget is not None
    assert facts.ram_available_gb > 0


def test_cpu_use_is_cpu_seconds_over_wall_seconds(monkeypatch, clock):
    probe = HostProbe(clock)
    spent = iter([_Spent(10.0, 5.0, 4.0, 1.0, {1: 1.0, 2: 0.5}), _Spent(12.0, 6.0, 5.0, 1.4, {1: 1.4, 2: 0.7, 3: 0.2})])
    monkeypatch.setattr(probe, "_spent", lambda: next(spent))
    probe.sample()
    clock.advance_ms(2000)
    seen = probe.sample()
    assert (seen.cpu_used, seen.process_cpus, seen.children_cpus) == (1.5, 1.0, 0.5)
    assert (seen.training_cpus, seen.training_delay) == (pytest.approx(0.5), pytest.approx(0.2))
    assert seen.process_delay == pytest.approx(0.4)  # a thread that began since then counts whole


def test_the_training_thread_is_told_from_the_others(clock):
    probe = HostProbe(clock)
    probe.sample()
    spin_ms(120)
    other = threading.Thread(target=spin_ms, args=(120,))
    other.start()
    other.join()
    clock.advance_ms(1000)
    seen = probe.sample()
    assert seen.process_cpus >= 0.2
    if seen.training_cpus is not None:  # only Linux tells threads apart
        assert 0.1 <= seen.training_cpus <= seen.process_cpus - 0.1


def spin_ms(milliseconds):
    until = time.thread_time_ns() + milliseconds * 1_000_000
    while time.thread_time_ns() < until:
        pass


def test_rates_are_smoothed_like_the_use(clock):
    made = machine(clock)
    made._host = iter_of(HostFacts(cpu_used=1.0, training_cpus=0.2), HostFacts(cpu_used=1.0, training_cpus=0.4))
    next_sample(made, clock)
    assert next_sample(made, clock).training_cpus == pytest.approx(0.3)


def iter_of(*samples):
    left = list(samples)
    return SimpleNamespace(sample=lambda: left.pop(0))


def test_of_a_few_handovers_the_least_counts(clock, monkeypatch):
    left = [Handover(0.09, 0.8), Handover(0.05, 0.4), Handover(0.07, 0.5)]
    monkeypatch.setattr(room, "measure", lambda: left.pop(0))
    made = machine(clock, None, 1.0, 1.0, 1.0, 1.0)
    assert [next_sample(made, clock).handover_ms for _ in range(4)] == [0.09, 0.05, 0.05, 0.05]
    assert left == []


def test_the_cgroups_limit_counts_where_it_is_less_than_the_machines_memory(monkeypatch):
    monkeypatch.setattr(room, "memory_left", lambda: [1.5e9, 2e15])
    assert ram_available_gb() == pytest.approx(1.5)
    monkeypatch.setattr(room, "memory_left", list)
    assert ram_available_gb() == pytest.approx(psutil.virtual_memory().available / 1e9, rel=0.2)


def test_free_shared_memory_is_known_where_there_is_any(tmp_path):
    assert room._free_gb(str(tmp_path)) > 0
    assert room._free_gb(str(tmp_path / "missing")) is None


def test_a_worker_that_began_and_ended_between_two_samples_is_counted(clock):
    probe = HostProbe(clock)
    probe.sample()
    burns = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burns], check=True)
    clock.advance_ms(1000)
    assert probe.sample().cpu_used >= 0.28


def test_cpu_time_that_went_away_with_its_process_is_unknown(monkeypatch, clock):
    probe = HostProbe(clock)
    spent = iter([_Spent(50.0, 450.0, None, None, {}), _Spent(51.0, 19.0, None, None, {})])
    monkeypatch.setattr(probe, "_spent", lambda: next(spent))
    probe.sample()
    clock.advance_ms(1000)
    seen = probe.sample()
    assert (seen.cpu_used, seen.children_cpus) == (None, None)
    assert seen.process_cpus == pytest.approx(1.0)


def test_machine_share_and_iowait_come_from_the_difference(monkeypatch):
    counts = iter([_CpuSeconds(100.0, 50.0, 1.0), _CpuSeconds(110.0, 56.0, 2.0)])
    monkeypatch.setattr(room, "_machine_cpu_seconds", lambda: next(counts))
    probe = HostProbe(SYSTEM_CLOCK)
    probe.sample()
    facts = probe.sample()
    assert facts.machine_cpu_share == pytest.approx(0.6)
    assert facts.iowait_share == pytest.approx(0.1)


def test_a_system_without_an_iowait_count_says_unknown(monkeypatch):
    counts = iter([_CpuSeconds(100.0, 50.0, None), _CpuSeconds(110.0, 56.0, None)])
    monkeypatch.setattr(room, "_machine_cpu_seconds", lambda: next(counts))
    probe = HostProbe(SYSTEM_CLOCK)
    probe.sample()
    facts = probe.sample()
    assert facts.iowait_share is None
    assert facts.machine_cpu_share == pytest.approx(0.6)


def test_a_clock_that_stands_still_gives_unknown(clock):
    probe = HostProbe(clock)
    probe.sample()
    assert probe.sample().cpu_used is None


def test_a_vanished_process_gives_unknown_parts_not_an_error(monkeypatch):
    probe = HostProbe(SYSTEM_CLOCK)

    def gone(*_args, **_kwargs):
        raise psutil.NoSuchProcess(1)

    monkeypatch.setattr(probe._process, "children", gone)
    monkeypatch.setattr(probe._process, "cpu_times", gone)
    probe.sample()
    assert probe.sample().cpu_used is None
