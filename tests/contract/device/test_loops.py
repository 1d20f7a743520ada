"""Starvation by timing events, inside a real Trainer: the right verdict, and the device's own log as truth."""

from statistics import median

import pytest

from tests.contract.device.loops import LOOPS, STEPS, watched
from tests.emulated.truth import busy_ns

# Of a step: the host's own time between its stopwatch and our event.
TOLERANCE_MS = 1.0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", LOOPS)
def test_the_verdict_is_right_and_starved_time_is_what_the_device_idled(emulated, tmp_path, name):
    loop = LOOPS[name]
    watch, waits = watched(loop, tmp_path)
    assert len(watch.records) == STEPS
    work = [it for it in emulated.operations(device=0) if it.kind in ("kernel", "copy")]
    off_ms = []
    for record, (asked_ns, got_ns) in zip(watch.records, waits, strict=True):
        idle_ns = got_ns - asked_ns - busy_ns(work, asked_ns, got_ns)
        off_ms.append(abs(record.starved_ns - idle_ns) / 1e6)
    assert median(off_ms) < TOLERANCE_MS
    assert watch.report.clock == "device"
    assert watch.report.verdict.bound is loop.verdict
    assert (watch.session.facts.run.synchronises is not None) == loop.synchronises
    assert "FW304" not in {finding.code for finding in watch.report.findings} or loop.callback_host


def test_events_are_used_again(emulated, tmp_path):
    watch, _ = watched(LOOPS["read_every_step"], tmp_path)
    assert watch.report.steps.dropped == 0
    assert watch.meter_events < 60
