"""What rules ask about the device: copies to it, and idle time although its batch is there."""

import pytest

from feedwatch.advise.questions.copies import exposed_copies, idle_look, idle_share, kind_share, pinned
from tests.rules.build import (
    DeviceFacts,
    EpochBoundaries,
    batch,
    case,
    cuda,
    loader,
    transfers,
    window,
)

NO_EPOCHS = EpochBoundaries()


def test_the_device_clock_saw_all_copies_and_counts_before_a_profiler_window():
    both = case(window(50, 1, h2d_ms=20, starved_ms=0), of=cuda(), transfers=transfers(copy_ms=10, hidden_ms=4))
    assert exposed_copies(both).exposed_ms == pytest.approx(20.0)
    clock = exposed_copies(case(window(50, 1, h2d_ms=20, starved_ms=0), of=cuda()))
    assert clock.exposed_ms == pytest.approx(20.0)
    assert clock.device is None
    sampled = case(window(50, 1, h2d_ms=20), of=cuda(), transfers=transfers(copy_ms=10, hidden_ms=4))
    assert exposed_copies(sampled).exposed_ms == pytest.approx(6.0)


def test_with_several_batches_per_step_each_has_its_part_of_the_copies():
    four = case(
        window(50, 1, batches=800), of=cuda(), transfers=transfers(copy_ms=10, hidden_ms=2), boundaries=NO_EPOCHS
    )
    look = exposed_copies(four)
    assert look.exposed_ms == pytest.approx(2.0)
    assert look.share == pytest.approx(8 / 50)


def test_copies_on_the_hosts_clock_on_a_cpu_or_too_short_to_matter_are_not_looked_at():
    assert exposed_copies(case(window(50, 1, h2d_ms=20), of=cuda())) is None
    assert exposed_copies(case(window(50, 1, h2d_ms=20, starved_ms=0))) is None
    assert exposed_copies(case(window(50, 1, h2d_ms=1, starved_ms=0), of=cuda())) is None
    assert exposed_copies(case(None, of=cuda())) is None


def test_a_kind_of_memory_has_its_share_of_the_bytes():
    look = exposed_copies(case(window(50, 1), of=cuda(), transfers=transfers(copy_ms=10, kind="pageable")))
    assert kind_share(look, "pageable") == 1.0
    assert kind_share(look, "pinned") == 0.0
    assert kind_share(look._replace(device=None), "pinned") is None


def test_where_most_kinds_are_unknown_no_share_is_known():
    look = exposed_copies(case(window(50, 1), of=cuda(), transfers=transfers(copy_ms=10, kind="unknown")))
    assert kind_share(look, "pageable") is None


def test_the_batch_itself_knows_best_whether_it_is_pinned():
    pinning = loader(pin_memory=True)
    assert pinned(case(window(50, 1), loader=pinning, batch=batch(pinned=False))) is False
    assert pinned(case(window(50, 1), loader=pinning, batch=batch(pinned=None))) is True
    assert pinned(case(window(50, 1), loader=loader())) is False
    assert pinned(case(window(50, 1))) is None


def test_an_idle_device_is_looked_at_only_when_launching_bounds_the_run():
    small = transfers(copy_ms=0.01, steps=10, kernels=4000, kernel_us=10.0, idle=0.8)
    look = idle_look(case(window(50, 0.1), of=cuda(), transfers=small, boundaries=EpochBoundaries()))
    assert look.idle_share == pytest.approx(0.8, abs=0.01)
    assert look.idle_ms == pytest.approx(40.0, rel=0.02)
    assert (look.kernels_per_step, look.kernel_ms) == (400.0, pytest.approx(0.01))
    assert idle_look(case(window(50, 30), of=cuda(), transfers=small)) is None


def test_without_a_window_nvml_is_asked():
    idle = case(window(50, 0.1), of=cuda(), device=DeviceFacts(utilisation=0.3), boundaries=EpochBoundaries())
    assert idle_share(idle, idle.run) == pytest.approx(0.7, abs=0.02)
    look = idle_look(idle)
    assert (look.kernels_per_step, look.kernel_ms) == (None, None)
    busy = case(window(50, 0.1), of=cuda(), device=DeviceFacts(utilisation=0.8))
    assert idle_look(busy) is None
    on_cpu = case(window(50, 0.1), device=DeviceFacts(utilisation=0.0))
    assert idle_share(on_cpu, on_cpu.run) is None
