"""What hooks and probes hand over: frozen, and unknown until somebody writes it."""

import dataclasses

from feedwatch.model.facts import BatchFacts, CallbackTime, DeviceFacts, Facts, HostFacts, RunFacts, Transfers
from tests.unit.model.frozen import assert_frozen


def test_values_are_frozen():
    assert_frozen(BatchFacts, CallbackTime, DeviceFacts, Facts, HostFacts, RunFacts, Transfers)


def test_of_the_machine_nothing_is_known_that_nobody_measured():
    for bare in (HostFacts(), DeviceFacts()):
        assert {getattr(bare, field.name) for field in dataclasses.fields(bare)} == {None}


def test_a_run_begins_with_an_unknown_pipeline_and_without_a_batch():
    facts = Facts(RunFacts("keras", "3.15.1", "tensorflow", "cpu"))
    assert facts.pipeline.kind == "unknown"
    assert (facts.batch, facts.transfers, facts.device, facts.callbacks, facts.notes) == (None, None, None, (), ())
