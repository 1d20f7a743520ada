"""Several ranks' reports as one."""

from dataclasses import replace

import pytest

from feedwatch.errors import ReportError
from feedwatch.model.report import Status
from feedwatch.report.json import write_report_file
from feedwatch.report.load import load_run
from feedwatch.report.ranks import MAX_LINES, beside, merge
from tests.fakes.reports import report


def rank(number, world_size=4, wait_ms=0.2, **more):
    return report(rank=number, world_size=world_size, wall_ms=20, wait_ms=wait_ms, compute_ms=10, **more)


def test_one_report_of_one_rank_stays_as_it_is():
    alone = report()
    assert merge([alone]) is alone


def test_no_report_is_an_error():
    with pytest.raises(ReportError, match="no report to read"):
        merge([])


def test_the_worst_status_speaks_for_the_run():
    assert merge([rank(0), rank(1, status=Status.RUNNING)]).status is Status.RUNNING
    assert merge([rank(0, status=Status.INTERRUPTED), rank(1, status=Status.RUNNING)]).status is Status.INTERRUPTED
    assert merge([rank(0, status=Status.FAILED), rank(1)]).status is Status.FAILED


def test_with_two_ranks_the_median_does_not_hide_the_slow_one():
    ranks = merge([rank(0, 2), rank(1, 2, wait_ms=8.0)]).ranks
    assert ranks.median_input_wait_ms == pytest.approx(0.2, rel=0.02)
    assert ranks.max_input_wait_ms == pytest.approx(8.0, rel=0.02)


def test_a_rank_whose_wait_is_unknown_is_in_no_figure_of_waits():
    ranks = merge([rank(0, 2, wait_ms=None), rank(1, 2, wait_ms=None)]).ranks
    assert ranks.slowest is None
    assert ranks.median_input_wait_ms is None


def test_many_ranks_are_shown_by_those_that_wait_longest():
    ranks = merge([rank(number, 40, wait_ms=0.1 * number) for number in range(40)]).ranks
    assert [line.rank for line in ranks.lines] == list(range(39, 39 - MAX_LINES, -1))


def test_the_rank_that_holds_up_the_others_comes_first_among_the_findings():
    merged = merge([rank(0), rank(1, wait_ms=8.0), rank(2), rank(3)])
    assert merged.findings[0].code == "FW501"


def test_ranks_are_merged_and_the_waiting_one_speaks(tmp_path):
    for rank, wait_ms in enumerate((0.2, 8.0, 0.3)):
        write_report_file(tmp_path, report(rank=rank, world_size=4, wall_ms=20, wait_ms=wait_ms, compute_ms=10))
    merged = load_run(tmp_path)
    assert merged.run.rank == 1
    assert merged.verdict.bound.value == "input"
    assert (merged.ranks.count, merged.ranks.world_size, merged.ranks.missing) == (3, 4, 1)
    assert merged.ranks.slowest.rank == 1
    assert merged.ranks.max_input_wait_ms == pytest.approx(8.0, rel=0.02)


def test_files_of_an_earlier_larger_world_are_left_out(tmp_path):
    write_report_file(tmp_path, report(rank=3, world_size=4, started_s=10.0))
    for rank in range(2):
        write_report_file(tmp_path, report(rank=rank, world_size=2, started_s=5000.0))
    assert load_run(tmp_path).ranks.count == 2


def test_beside_a_rank_that_has_just_ended_the_others_count_by_what_they_wrote_last():
    own, slow = rank(0, 2), rank(1, 2, wait_ms=8.0, status=Status.RUNNING)
    seen = beside(own, [slow])
    assert seen.status is Status.FINISHED
    assert seen.ranks.slowest.rank == 1


def test_a_report_of_far_fewer_steps_is_in_the_table_and_does_not_speak_for_the_run():
    own, slow = rank(0, 2), rank(1, 2, wait_ms=8.0, status=Status.RUNNING)
    old = replace(slow, steps=replace(slow.steps, measured=own.steps.measured // 3))
    seen = beside(own, [old])
    assert (seen.run.rank, seen.status, seen.verdict) == (0, Status.FINISHED, own.verdict)
    assert seen.ranks.slowest.rank == 1
    assert beside(own, []) is own
