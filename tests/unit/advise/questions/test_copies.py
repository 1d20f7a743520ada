"""What rules ask about the device: copies to it, and idle time although its batch is there."""

import pytest

from feedwatch.advise.questions.copies import exposed_copies, idle_look, kind_share
from tests.rules.build import case, cuda, transfers, window


def test_a_profiler_window_counts_before_the_device_clock():
    seen = case(window(50, 1, h2d_ms=20, starved_ms=0), of=cuda(), transfers=transfers(copy_ms=10, hidden_ms=4))
    assert exposed_copies(seen).exposed_ms == pytest.approx(6.0)
    clock = exposed_copies(case(window(50, 1, h2d_ms=20, starved_ms=0), of=cuda()))
    assert clock.exposed_ms == pytest.approx(20.0)
    assert clock.device is None


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


def test_an_idle_device_is_looked_at_only_when_launching_bounds_the_run():
    small = transfers(copy_ms=0.01, steps=10, kernels=4000, kernel_us=10.0, idle=0.8)
    look = idle_look(case(window(50, 0.1), of=cuda(), transfers=small))
    assert look.idle_share == pytest.approx(0.8 - 0.0, abs=0.01)
    assert (look.kernels_per_step, look.kernel_ms) == (400.0, pytest.approx(0.01))
    assert idle_look(case(window(50, 30), of=cuda(), transfers=small)) is None
