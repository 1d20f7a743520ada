"""Where the time of a run goes: one list for everything that prints it."""

from dataclasses import replace

from feedwatch.model.report import PartSection
from feedwatch.report.parts import mean_and_share, parts_of
from feedwatch.words import PHASE_NAMES
from tests.fakes.reports import report


def test_the_parts_are_those_of_the_account_and_add_up_to_the_batch():
    made = report(wall_ms=10, wait_ms=4, h2d_ms=1, compute_ms=3)
    lines = parts_of(made)
    assert [line.name for line in lines][:4] == list(PHASE_NAMES.values())
    assert round(sum(line.mean_ms or 0.0 for line in lines), 6) == round(made.account.batch_ms, 6)


def test_what_was_not_measured_stays_and_what_did_not_happen_goes():
    bare = report(h2d_ms=None)
    parts = {**bare.account.parts, "validation": PartSection(2.0, 0.2), "gap": PartSection(0.0, 0.0)}
    lines = {line.key: line for line in parts_of(replace(bare, account=replace(bare.account, parts=parts)))}
    assert mean_and_share(lines["h2d"]) == "not measured"
    assert mean_and_share(lines["validation"]) == "2 ms (20 %)"
    assert "gap" not in lines


def test_a_report_without_an_account_has_its_steps():
    bare = report(wall_ms=10, wait_ms=4)
    lines = {line.key: line for line in parts_of(replace(bare, account=None))}
    assert set(lines) == set(PHASE_NAMES)
    assert lines["input_wait"].mean_ms == bare.phases["input_wait"].mean_ms
