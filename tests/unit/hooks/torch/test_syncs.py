"""Marks of made steps: the host's clock and the device's clock at each of them, in milliseconds."""

import pytest

from feedwatch.hooks.torch.syncs import LEAST_STEPS, Syncs

OTHER, WAIT, COMPUTE = range(3)
CATEGORIES = [WAIT, OTHER, COMPUTE, COMPUTE, OTHER]


def played(host_ms, device_ms, steps=3 * LEAST_STEPS):
    """`host_ms`, `device_ms`: the five spans of a step on either clock."""
    syncs = Syncs(OTHER, COMPUTE, WAIT)
    for _ in range(steps):
        syncs.add(CATEGORIES, [round(at * 1e6) for at in ends(host_ms)], [at * 1e6 for at in ends(device_ms)])
    return syncs


def ends(spans):
    at = [0.0]
    for span in spans:
        at.append(at[-1] + span)
    return at


@pytest.mark.parametrize(
    ("host_ms", "device_ms", "place"),
    [
        # the host launches work and reads the loss before backward: it waits inside compute
        ((0, 0, 0.5, 8.5, 1), (0, 0, 8.5, 1.5, 0), COMPUTE),
        # the host waits after the step, where a progress bar reads a metric
        ((0, 0, 0.5, 0.5, 9), (0, 0, 5, 5, 0), OTHER),
        # the host waits for data, and the device runs dry
        ((8, 0, 0.5, 0.5, 0), (7, 0, 1, 1, 0), None),
    ],
)
def test_the_place_where_the_host_waits_for_the_device_is_found(host_ms, device_ms, place):
    assert played(host_ms, device_ms).place == place


def test_a_few_steps_prove_nothing():
    assert played((0, 0, 0.5, 8.5, 1), (0, 0, 8.5, 1.5, 0), steps=LEAST_STEPS).place is None


def test_a_dropped_step_cuts_the_chain():
    syncs = played((0, 0, 0.5, 8.5, 1), (0, 0, 8.5, 1.5, 0), steps=2 * LEAST_STEPS)
    counted = syncs.steps
    syncs.interrupted()
    syncs.add(CATEGORIES, [0] * 6, [0.0] * 6)
    assert syncs.steps == counted
