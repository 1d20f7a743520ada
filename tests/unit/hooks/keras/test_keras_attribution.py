"""Who waited for what inside one call of the train function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.hooks.keras.attribution import Execution, Fetch, attribute, device_record, host_record
from feedwatch.model.steps import StepKind

MS = 1_000_000


def fetches(*pairs_ms):
    return [Fetch(int(asked * MS), int(got * MS), 8) for asked, got in pairs_ms]


def execution(begin_ms, end_ms, until_ms, traced=False):
    return Execution(begin_ms * MS, begin_ms * MS, end_ms * MS, until_ms * MS, step=1, batches=1, traced=traced)


def test_with_one_batch_the_fetch_is_the_wait_and_the_rest_of_the_call_is_compute():
    record = host_record(execution(0, 30, 32), fetches((1, 21)))
    assert record.input_wait_ns == 20 * MS
    assert record.compute_ns == 10 * MS
    assert record.other_ns == 2 * MS
    assert record.samples == 8
    assert record.h2d_ns is None


def test_a_fetch_before_the_call_belongs_to_the_step_and_not_to_compute():
    record = host_record(execution(20, 30, 31), fetches((0, 20)))
    assert record.wall_ns == 31 * MS
    assert record.input_wait_ns == 20 * MS
    assert record.compute_ns == 10 * MS


def test_a_fetch_that_overlaps_the_step_before_it_is_no_wait():
    # Compute 10 ms per step, fetches of 10 ms: only the first one is waited for.
    found = attribute(0, fetches((0, 10), (10, 20), (20, 30)), 40 * MS)
    assert found.wait_ns == 10 * MS
    assert found.compute_ns == 30 * MS


def test_a_slow_fetch_is_waited_for_less_what_compute_hides():
    # Compute 10 ms, fetches of 40 ms that start when the batch before was handed over.
    found = attribute(0, fetches((0, 40), (40, 80)), 90 * MS)
    assert found.wait_ns == (40 + 30) * MS


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=12),
    st.integers(1, 50),
)
def test_the_chain_rule_finds_the_compute_it_was_made_from(inputs_ms, compute_ms):
    """A made-up execution: fetch i+1 starts when batch i was handed over, steps run one after the other."""
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


def test_a_backward_clock_gives_no_negative_time():
    record = host_record(execution(10, 5, 6), fetches((9, 8)))
    assert record.wall_ns > 0
    assert record.input_wait_ns >= 0
    assert record.compute_ns >= 0


def test_a_device_that_still_works_is_not_starved():
    # The host fetched from 0 to 20 ms, the device was busy with the step before until 25 ms.
    record = device_record(execution(0, 40, 21), fetches((0, 20)), 25 * MS)
    assert record.starved_ns == 0
    assert record.host_wait_ns == 20 * MS
    assert record.compute_ns == 15 * MS
    assert record.wall_ns == 15 * MS


def test_a_device_that_ran_dry_is_starved_from_then_on():
    record = device_record(execution(0, 40, 31), fetches((0, 30)), 12 * MS)
    assert record.starved_ns == record.input_wait_ns == 18 * MS
    assert record.compute_ns == 10 * MS


def test_a_call_that_traced_is_warm_up():
    assert host_record(execution(0, 300, 301, traced=True), fetches((290, 295))).kind is StepKind.WARMUP


def test_unknown_samples_stay_unknown():
    assert host_record(execution(0, 30, 32), [Fetch(0, 1, None)]).samples is None
