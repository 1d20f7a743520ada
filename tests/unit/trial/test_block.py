import pytest

from feedwatch.trial.block import BlockMeter
from feedwatch.trial.variant import Variant

MS = 1_000_000


def walk(meter, times_ms, start_ns=0):
    now_ns = start_ns
    meter.boundary(now_ns)
    for took_ms in times_ms:
        now_ns += round(took_ms * MS)
        meter.boundary(now_ns)
    return now_ns


def test_batches_that_were_made_meanwhile_are_dropped_and_one_round_more():
    variant = Variant("v", lanes=2, ahead=3)
    assert variant.warm_up == 8
    meter = BlockMeter(variant, seconds=0.1)
    # Eight fast ones from the full queue, two stretches until it is steady, then what counts.
    end = walk(meter, [1] * 8 + [10] * 8 + [10] * 20)
    block = meter.block(end)
    assert block.steps == 20
    assert block.step_ns == 10 * MS


def test_it_waits_until_steps_are_steady():
    meter = BlockMeter(Variant("v"), seconds=0.05)
    end = walk(meter, [1] + [5] * 4 + [50] * 4 + [10] * 4 + [10] * 4 + [10] * 8)
    assert meter.block(end).step_ns == 10 * MS


def test_only_whole_rounds_of_workers_count():
    meter = BlockMeter(Variant("v", lanes=4), seconds=0.01)
    end = walk(meter, [10] * 4 + [10] * 8 + [10] * 14)
    assert meter.block(end).steps == 12
    assert not meter.enough(end)  # in the middle of a round
    walk_on = end
    for _ in range(2):
        walk_on += 10 * MS
        meter.boundary(walk_on)
    assert meter.enough(walk_on)


def test_a_restart_in_a_block_begins_a_new_warm_up_and_keeps_what_was_counted():
    meter = BlockMeter(Variant("v"), seconds=0.01)
    end = walk(meter, [10] * 1 + [10] * 8 + [10] * 10)
    meter.restart(end)
    end = walk(meter, [500] + [10] * 9 + [10] * 5, end)
    assert meter.block(end).steps == 16
    assert meter.block(end).step_ns == 10 * MS


def test_waits_are_those_of_the_steps_that_count():
    meter = BlockMeter(Variant("v"), seconds=0.01)
    now_ns = 0
    for _ in range(30):
        meter.boundary(now_ns)
        meter.waited(4 * MS)
        now_ns += 10 * MS
    meter.boundary(now_ns)
    block = meter.block(now_ns)
    assert block.wait_ns / block.counted_ns == pytest.approx(0.4)


def test_nothing_counted_is_no_block():
    meter = BlockMeter(Variant("v"), seconds=1)
    assert meter.block(walk(meter, [10] * 3)) is None


def test_its_error_comes_from_the_spread_of_its_parts():
    even, uneven = BlockMeter(Variant("v"), 0.01), BlockMeter(Variant("v"), 0.01)
    steady = walk(even, [10] * 9 + [10] * 40)
    shaky = walk(uneven, [10] * 9 + [5, 15, 10, 30, 2, 40, 7] * 6)
    assert even.block(steady).error == 0
    assert uneven.block(shaky).error > 0


def test_several_batches_per_call_are_counted_as_batches():
    meter = BlockMeter(Variant("v", batches=5), seconds=0.01)
    assert meter.block(walk(meter, [10] * 30)).step_ns == 2 * MS


def test_long_steps_are_not_waited_for_longer_than_a_block():
    meter = BlockMeter(Variant("v"), seconds=1.0)
    end = walk(meter, [200] + [200, 900, 200, 900, 200, 900] + [200] * 4)
    assert meter.block(end) is not None


def test_a_cache_is_filled_once():
    variant = Variant("v", fill=20)
    first, second = BlockMeter(variant, 0.01, first=True), BlockMeter(variant, 0.01, first=False)
    times_ms = [1] + [10] * 28
    assert first.block(walk(first, times_ms)) is None
    assert second.block(walk(second, times_ms)).steps == 20
