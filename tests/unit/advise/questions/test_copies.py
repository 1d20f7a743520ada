"""What rules ask about the device: copies to it, and idle time although its batch is there."""

import pytest

from feedwatch.advise.questions.copies import (
    copies_block,
    exposed_copies,
    hidden_gaps_ms,
    idle_look,
    idle_share,
    kind_share,
    pinned,
    shorter_step,
)
from tests.rules.build import (
    DeviceFacts,
    EpochBoundaries,
    batch,
    case,
    cuda,
    host,
    keras_run,
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


# -- a device that needs less for a step ------------------------------------------------------------

ALONE = loader(load_ms=30.0, num_workers=0)
WORKERS = loader(load_ms=20.0, num_workers=4)
FULL_SPEED = 1.02  # two runs of one script differ by so much


def dry(loading, **run):
    """The device waits 20 of 50 ms for its batch, and copies for 10."""
    return case(window(50, 20, h2d_ms=10, starved_ms=20), loader=loading, of=cuda(**run), boundaries=NO_EPOCHS)


def shorter(it, most_ms=8.0, least_ms=5.0, **freed):
    return shorter_step(it, it.account, most_ms, least_ms, "because", **freed)


def busy(loading, **more):
    return case(window(50, 0.1, h2d_ms=10, starved_ms=0.1), loader=loading, of=cuda(), boundaries=NO_EPOCHS, **more)


def test_a_device_that_never_runs_dry_gains_all_of_it():
    found = shorter(busy(WORKERS))
    assert found.low == pytest.approx(50 / 45 / FULL_SPEED)
    assert found.high == pytest.approx(50 / 42 * FULL_SPEED)


def test_a_training_thread_that_loads_is_held_up_by_a_copy_that_blocks_and_by_no_other():
    assert shorter(dry(ALONE)) is None
    found = shorter(dry(ALONE), most_ms=30.0, host_freed_ms=10.0)
    assert found.high == pytest.approx(50 / 40 * FULL_SPEED)


def test_a_training_thread_that_waits_for_the_device_at_every_step_loads_in_a_row_with_it():
    found = shorter(dry(ALONE, synchronises="the loss"))
    assert found.high == pytest.approx(50 / 42 * FULL_SPEED)


def test_a_training_thread_that_loads_beside_the_step_makes_no_batch_sooner_than_it_takes():
    slow = busy(loader(load_ms=46.0, num_workers=0))
    found = shorter(slow)
    assert found.high == pytest.approx(50 / 46 * FULL_SPEED)


def test_workers_for_which_the_device_waits_are_no_faster_than_they_were():
    assert shorter(dry(WORKERS)) is None
    assert shorter(dry(loader(load_ms=900.0, num_workers=4))) is None  # nor where the model is far off


def test_workers_that_the_model_does_not_explain_are_no_ground_for_a_promise():
    found = shorter(busy(loader(load_ms=900.0, num_workers=4)))
    assert found.low == pytest.approx(1 / FULL_SPEED)
    assert found.high == pytest.approx(50 / 42 * FULL_SPEED)


def test_the_cpu_time_of_all_processes_says_how_soon_batches_could_come():
    """Two workers take 25 ms of the CPUs for a batch, the model counts its handover besides."""
    crowded = loader(load_ms=45.0, num_workers=2, cpu_share=1.0, blocked_share=0.0)
    large = batch(size_bytes=40_000_000)
    guessed = shorter(busy(crowded, batch=large, host_facts=host(cpu_budget=2.0, cpu_used=None)), most_ms=30.0)
    measured = shorter(busy(crowded, batch=large, host_facts=host(cpu_budget=2.0, cpu_used=1.0)), most_ms=30.0)
    assert measured.high > 1.2 * guessed.high
    assert measured.low == pytest.approx(guessed.low, rel=0.05)  # a promise is the model's


def test_gaps_in_which_the_host_comes_late_are_those_before_the_batch_and_after_the_step():
    late = case(window(50, 4, h2d_ms=10, other_ms=3, starved_ms=4), loader=ALONE, of=cuda(), boundaries=NO_EPOCHS)
    assert hidden_gaps_ms(late, late.account) == pytest.approx(7.0)
    reads = dry(ALONE, synchronises="the loss")
    assert hidden_gaps_ms(reads, reads.account) == 0.0
    unclocked = case(window(50, 4), of=cuda())
    assert hidden_gaps_ms(unclocked, unclocked.account) == 0.0


def test_keras_and_a_hook_of_ones_own_may_block_whatever_the_memory():
    assert copies_block(case(window(50, 1), of=keras_run(backend="torch", device_kind="cuda")))
    assert copies_block(case(window(50, 1), of=cuda(), batch=batch(pinned=True, non_blocking=False)))
    assert not copies_block(case(window(50, 1), of=cuda(), batch=batch(pinned=True)))
    assert not copies_block(case(window(50, 1), of=cuda()))
