"""Who waited for what inside one call of the train function."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.measure.marks import Fetch
from feedwatch.measure.overlap import attribute, device_span, take_fetches, total_samples

MS = 1_000_000


def fetches(*pairs_ms):
    return [Fetch(int(asked * MS), int(got * MS), 8) for asked, got in pairs_ms]


def test_with_one_batch_the_fetch_is_the_wait_and_the_rest_is_compute():
    assert attribute(0, fetches((1, 21)), 30 * MS) == (20 * MS, 9 * MS)


def test_a_fetch_that_overlaps_the_step_before_it_is_no_wait():
    # Compute 10 ms per step, fetches of 10 ms: only the first one is waited for.
    assert attribute(0, fetches((0, 10), (10, 20), (20, 30)), 40 * MS) == (10 * MS, 30 * MS)


def test_a_slow_fetch_is_waited_for_less_what_compute_hides():
    # Compute 10 ms, fetches of 40 ms that start when the batch before was handed over.
    assert attribute(0, fetches((0, 40), (40, 80)), 90 * MS).wait_ns == (40 + 30) * MS


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(1, 50))
def test_the_chain_of_fetches_finds_the_compute_it_was_made_from(inputs_ms, compute_ms):
    """A made-up call: fetch i+1 starts when batch i was handed over, steps run one after the other."""
    got, at = [], 0
    for input_ms in inputs_ms:
        got.append((at, at + input_ms))
        at += input_ms
    free, waited = 0, 0
    for _, there in got:
        waited += max(0, there - free)
        free = max(free, there) + compute_ms
    found = attribute(0, fetches(*got), free * MS)
    assert found.compute_ns == pytest.approx(len(got) * compute_ms * MS, rel=1e-6)
    assert found.wait_ns == pytest.approx(waited * MS, rel=1e-6)


def test_a_call_takes_its_fetches_in_order_and_no_more_than_it_asked_for():
    rows = deque(fetches((1, 2), (5, 6), (7, 8), (20, 21)))
    assert take_fetches(rows, 4 * MS, 10 * MS, most=2) == fetches((5, 6), (7, 8))
    assert list(rows) == fetches((20, 21))


def test_a_stamp_outside_its_call_is_moved_into_it():
    rows = deque(fetches((3, 11)))
    assert take_fetches(rows, 4 * MS, 10 * MS, most=1) == fetches((4, 10))


def test_a_device_that_still_works_is_not_starved():
    # The host fetched from 0 to 20 ms, the device was busy with the step before until 25 ms.
    assert device_span(0, fetches((0, 20)), 25 * MS, 40 * MS) == (15 * MS, 0, 15 * MS)


def test_a_device_that_ran_dry_is_starved_from_then_on():
    assert device_span(0, fetches((0, 30)), 12 * MS, 40 * MS) == (28 * MS, 18 * MS, 10 * MS)


def test_samples_are_unknown_when_one_fetch_does_not_tell_and_nobody_else_knows():
    counted = [Fetch(0, 1, 8), Fetch(1, 2, None)]
    assert total_samples(counted, None) is None
    assert total_samples(counted, 32) == 40
