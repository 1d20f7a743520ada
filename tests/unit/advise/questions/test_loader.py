"""What rules ask about a torch DataLoader."""

import pytest

from feedwatch.advise.plan import UNEVEN
from feedwatch.advise.questions.loader import (
    advised_workers,
    best_workers,
    indexes_memory,
    loader_look,
    may_have_workers,
    most_workers,
    room_for_workers,
    supplied,
    threads_in_the_way,
    with_workers,
    workers_keep_up,
)
from tests.rules.build import batch, case, host, loader, window


def look(run=None, *, host_facts=None, batch_facts=None, **changes):
    settings = {"num_workers": 0, "prefetch_factor": None, "load_ms": None, **changes}
    run = run or window(100, 60)
    return loader_look(case(run, loader=loader(**settings), host_facts=host_facts, batch=batch_facts))


def test_without_workers_the_wait_is_the_load():
    assert look().load_ms == pytest.approx(60.0)
    assert look(load_ms=58.0).load_ms == pytest.approx(60.0)
    assert look(num_workers=2) is None


def test_a_run_without_a_loader_or_a_known_budget_is_not_looked_at():
    assert loader_look(case(window(100, 60))) is None
    assert look(host_facts=host(cpu_budget=None)) is None


def test_a_run_that_the_model_misses_is_not_looked_at():
    # Eight workers that need 5 ms each cannot be why a step waits 90 ms.
    assert look(window(100, 90), num_workers=8, load_ms=5.0) is None


def test_time_that_a_worker_waited_for_a_cpu_is_not_work():
    items = look(num_workers=2, load_ms=190.0, cpu_share=0.5, core_wait_share=0.3, blocked_share=0.2).items
    assert (items.cpu_ms, items.wait_ms) == (pytest.approx(95.0), pytest.approx(38.0))


def test_slices_of_memory_are_items_or_whole_batches():
    assert indexes_memory(loader(in_memory=True, item_ms=0.01))
    assert not indexes_memory(loader(in_memory=True, item_ms=1.0))
    assert indexes_memory(loader(batch_size=None, dataset_bytes=100))
    assert indexes_memory(loader(batch_size=None, in_memory=True))
    assert not indexes_memory(loader(dataset_bytes=100))


def test_items_that_compute_get_no_more_workers_than_cpus():
    assert most_workers(look(cpu_share=1.0, host_facts=host(cpu_budget=4.0))) == 4


def test_items_that_wait_may_have_more_workers_than_cpus():
    assert most_workers(look(cpu_share=0.4, host_facts=host(cpu_budget=4.0))) == 9
    # Each is a process with memory of its own: there is an end to it, and an earlier one where nobody has seen any.
    one = host(cpu_budget=1.0, cpu_used=0.5)
    assert most_workers(look(cpu_share=0.1, host_facts=one)) == 4
    assert most_workers(look(cpu_share=0.1, worker_rss_mb=200.0, host_facts=one)) == 9


def test_an_iterable_data_set_keeps_no_more_workers_busy_than_it_has_shards():
    assert most_workers(look(iterable=True, shards_itself=True, dataset_shards=3)) == 3


def test_the_smallest_number_that_is_as_good_as_the_best_is_advised():
    seen = look(cpu_share=1.0)
    workers = best_workers(seen, 1, 8)
    times = {number: with_workers(seen, number).batch_ms(evenness=UNEVEN) for number in range(1, 9)}
    assert times[workers] <= 1.03 * min(times.values())
    assert all(times[fewer] > 1.03 * min(times.values()) for fewer in range(1, workers))
    assert best_workers(seen, 3, 2) is None


def test_no_workers_load_between_the_steps():
    seen = look(cpu_share=1.0)
    assert with_workers(seen, 0).batch_ms() > with_workers(seen, 4).batch_ms()
    assert not with_workers(seen, 0).ahead


def test_shared_memory_and_ram_hold_only_so_many_workers():
    small = case(window(), loader=loader(), host_facts=host(shm_free_gb=0.2), batch=batch(size_bytes=10_000_000))
    assert room_for_workers(small, small.facts.pipeline.loader) == (3, "/dev/shm")
    heavy = case(window(), loader=loader(worker_rss_mb=1000.0), host_facts=host(ram_available_gb=4.0))
    assert room_for_workers(heavy, heavy.facts.pipeline.loader) == (2 + 2, "memory")
    copied = case(window(), loader=loader(dataset_bytes=4 * 10**9, start_method="spawn"), host_facts=host())
    assert room_for_workers(copied, copied.facts.pipeline.loader) == (2, "memory")
    assert room_for_workers(case(window(), loader=loader()), loader()) == (None, None)


def test_workers_of_an_unsharded_iterable_would_repeat_its_items():
    assert may_have_workers(look())
    assert not may_have_workers(look(iterable=True))
    assert may_have_workers(look(iterable=True, shards_itself=True))
    assert may_have_workers(look(iterable=True, workers_repeat_items=False))
    assert not may_have_workers(look(device_tensors=True))


def test_advice_on_workers_keeps_to_the_memory_and_the_data_set():
    assert advised_workers(look(cpu_share=1.0), 1) > 1
    assert advised_workers(look(cpu_share=1.0, iterable=True), 1) == 1
    short = look(cpu_share=1.0, host_facts=host(shm_free_gb=0.02), batch_facts=batch(size_bytes=10_000_000))
    assert advised_workers(short, 1) is None


def test_workers_make_and_one_worker_makes():
    seen = look(cpu_share=1.0)
    assert supplied(1, with_workers(seen, 1)).startswith("1 worker makes a batch every")
    assert supplied(3, with_workers(seen, 3)).startswith("3 workers make a batch every")


def test_workers_that_are_always_busy_do_not_keep_up_although_most_batches_are_there():
    # Four of them begin and end together: three batches are there when the first one is.
    assert not workers_keep_up(look(num_workers=4, load_ms=370.0, ready_share=0.75))
    assert workers_keep_up(look(window(45, 18), num_workers=4, load_ms=100.0, ready_share=0.75))


def test_workers_would_meet_the_steps_own_math_threads():
    few = host(cpu_budget=2.0, cpu_used=1.8, process_cpus=1.8)
    seen = look(num_workers=0, math_threads=2, host_facts=few)
    assert threads_in_the_way(seen, 2)
    assert not threads_in_the_way(look(num_workers=0, math_threads=1, host_facts=few), 2)
    assert not threads_in_the_way(look(num_workers=0, math_threads=2, host_facts=host(cpu_budget=8.0)), 2)
