"""The report on a terminal."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from feedwatch.model.report import Status
from feedwatch.model.verdict import Basis, Bound, Finding, Fix, Gain
from feedwatch.report.console import NO_RULE, NOTHING, print_report, print_summary
from feedwatch.report.json import from_json
from tests.fakes.reports import report
from tests.tab import reports


def shown(print_it, value, *more, width=120):
    stream = io.StringIO()
    print_it(value, Console(file=stream, width=width), *more)
    return stream.getvalue()


def words(text):
    return " ".join(text.replace("│", " ").split())


def test_verdict_phases_findings_and_gaps_stand_in_this_order():
    text = shown(print_report, from_json(reports.workers2()))
    places = [text.index(part) for part in ("The GPU waits for data 54 %", "Where a step goes", "1. FW102", "2. FW104")]
    assert places == sorted(places)
    assert "waiting for input 54 % · step 63.8 ms · 1,003 samples/s · at most 2.17× faster" in words(text)
    assert "1.75–2.1× faster, predicted: 6 workers supply a batch every 19 ms" in words(text)


def test_every_phase_has_a_row_and_unknown_is_not_zero():
    text = shown(print_report, report(wall_ms=10, wait_ms=4, h2d_ms=None, compute_ms=3))
    rows = {
        line.split("│")[1].strip(): line for line in text.splitlines() if line.startswith("│") and line.count("│") > 4
    }
    assert set(rows) == {"input wait", "copy to device", "compute", "other"}
    assert "not measured" in rows["copy to device"]
    assert "4 ms" in rows["input wait"]
    assert "40 %" in rows["input wait"]


@pytest.mark.parametrize(("bound", "said"), [(Bound.COMPUTE, NOTHING), (Bound.HOST, NO_RULE), (Bound.UNKNOWN, None)])
def test_a_run_without_findings_is_told_so_once_there_is_a_verdict(bound, said):
    bare = report()
    text = shown(print_report, replace(bare, findings=(), verdict=replace(bare.verdict, bound=bound)))
    assert [line for line in (NOTHING, NO_RULE) if line in text] == ([] if said is None else [said])


def test_notes_say_what_was_not_measured():
    bare = report()
    noted = replace(bare, self_cost=replace(bare.self_cost, notes=("Device figures: [bold]NVML[/bold] is missing",)))
    assert "not measured: Device figures: [bold]NVML[/bold] is missing" in words(shown(print_report, noted))


def test_the_summary_holds_the_first_finding_and_the_way_to_the_rest():
    text = shown(print_summary, from_json(reports.workers2()), "runs/[a]")
    assert "FW102" in text
    assert "FW104" not in text
    assert text.rstrip().endswith("feedwatch report runs/[a]")


def test_a_run_that_did_not_finish_says_so_beside_its_verdict():
    assert "[failed]" in shown(print_report, report(status=Status.FAILED))
    assert "[finished]" not in shown(print_report, report())


def test_names_from_other_peoples_code_are_text_and_never_markup():
    finding = Finding(
        "FW101",
        "[red]n[/red]",
        "[bold]t[/bold]",
        "[/oops]",
        {},
        Fix("", "f('[x]')"),
        Gain(1, 2, Basis.PREDICTED, "[y]"),
    )
    text = shown(print_report, replace(report(), findings=(finding,)))
    for part in ("[red]n[/red]", "[bold]t[/bold]", "[/oops]", "f('[x]')", "[y]"):
        assert part in text


def test_several_ranks_name_the_one_that_waits_longest():
    from feedwatch.report.ranks import merge

    merged = merge([report(rank=number, world_size=2, wall_ms=20, wait_ms=1 + 7 * number) for number in range(2)])
    assert "2 ranks, rank 1 waits longest" in words(shown(print_report, merged))
