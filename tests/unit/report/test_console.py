"""The report on a terminal."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from feedwatch.model.report import PartSection, Status
from feedwatch.model.verdict import Basis, Bound, Finding, Fix, Gain
from feedwatch.report.console import MEANS, MOST_COLUMNS, print_report, print_summary
from feedwatch.report.json import from_json
from feedwatch.report.silence import NO_RULE, NO_VERDICT, NOTHING
from feedwatch.words import PHASE_NAMES
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
    assert "54 % device waits for input 63.8 ms per step, on average 1,003 samples per second" in words(text)
    assert "at most" not in text  # an estimate is called one
    assert "1.75–2.1× faster, predicted 6 workers supply a batch every 19 ms" in words(text)


def test_every_phase_has_a_row_and_unknown_is_not_zero():
    text = shown(print_report, report(wall_ms=10, wait_ms=4, h2d_ms=None, compute_ms=3))
    below = text.partition("Where a step goes")[2].splitlines()
    rows = {name: line for line in below for name in PHASE_NAMES.values() if line.startswith(name)}
    assert len(rows) == 4
    assert "not measured" in rows["copy to device"]
    assert "4 ms" in rows["input wait"]
    assert "40 %" in rows["input wait"]


@pytest.mark.parametrize(
    ("bound", "said"), [(Bound.COMPUTE, NOTHING), (Bound.HOST, NO_RULE), (Bound.UNKNOWN, NO_VERDICT)]
)
@pytest.mark.parametrize("printed", [lambda *a: print_summary(*a, "runs/a"), print_report])
def test_a_run_without_findings_is_told_so_in_the_words_of_its_verdict(bound, said, printed):
    bare = report()
    text = words(shown(printed, replace(bare, findings=(), verdict=replace(bare.verdict, bound=bound))))
    assert [line for line in (NOTHING, NO_RULE, NO_VERDICT) if line in text] == [said]


@pytest.mark.parametrize(
    ("bound", "steps", "findings", "last"),
    [
        (Bound.INPUT, 100, True, "make the change of FW102, train again, then: feedwatch compare 'my runs' NEW_RUN"),
        (Bound.INPUT, 100, False, "see which part of the input is slow: feedwatch report 'my runs' --html report.html"),
        (Bound.COMPUTE, 100, False, "nothing here. To make the model itself faster, ask a profiler of operators"),
        (Bound.UNKNOWN, 2, False, "train longer"),
        (Bound.UNKNOWN, 100, False, "read the notes above: they say what could not be measured"),
    ],
)
def test_the_last_line_says_what_to_do_next(bound, steps, findings, last):
    full = from_json(reports.workers2())
    made = replace(
        full,
        findings=full.findings if findings else (),
        verdict=replace(full.verdict, bound=bound),
        steps=replace(full.steps, measured=steps),
    )
    assert shown(print_report, made, "my runs").splitlines()[-1] == f"Next: {last}"


def test_a_finding_without_a_gain_leads_to_its_page():
    full = from_json(reports.workers2())
    notice = replace(full.findings[0], gain=None)
    assert shown(print_report, replace(full, findings=(notice,))).splitlines()[-1] == "Next: feedwatch explain FW102"


def test_a_short_run_shows_no_spread_and_no_number_that_it_does_not_have():
    short = report()
    short = replace(
        short,
        steps=replace(short.steps, measured=2),
        verdict=replace(short.verdict, bound=Bound.UNKNOWN, stall_ratio=None, ceiling_speedup=None),
    )
    text = shown(print_report, short)
    assert "2 steps measured" in text
    assert "median" not in text
    assert "waits for input" not in text
    assert "best possible" not in text


@pytest.mark.parametrize("width", [80, 200])
def test_text_is_never_wider_than_people_read_and_code_is_never_wrapped(width):
    code = "loader = DataLoader(..., " + "x" * 150 + ")"
    full = from_json(reports.workers2())
    finding = replace(full.findings[0], fix=Fix("", code))
    lines = shown(print_report, replace(full, findings=(finding,)), "runs/a", width=width).splitlines()
    assert code in lines
    text = [line.rstrip() for line in lines if line != code and not line.startswith("Next: ")]
    assert max(len(line) for line in text) <= min(width, MOST_COLUMNS)


def test_what_the_whole_run_spends_beside_its_steps_is_part_of_the_table_and_means_add_up():
    bare = report()
    assert bare.account is not None
    parts = {**bare.account.parts, "epoch_start": PartSection(1.0, 0.12), "gap": PartSection(0.0, 0.0)}
    made = replace(bare, account=replace(bare.account, batch_ms=8.5, parts=parts))
    text = words(shown(print_report, made))
    assert "epoch starts 1 ms 12 % together 8.5 ms 100 %" in text
    assert "between epochs" not in text
    assert MEANS in text


def test_notes_say_what_was_not_measured():
    bare = report()
    noted = replace(bare, self_cost=replace(bare.self_cost, notes=("Device figures: [bold]NVML[/bold] is missing",)))
    assert "Not measured, or measured with a limit: - Device figures: [bold]NVML[/bold] is missing" in words(
        shown(print_report, noted)
    )


def test_the_summary_holds_the_first_finding_and_the_way_to_the_rest():
    text = shown(print_summary, from_json(reports.workers2()), "runs/[a]")
    assert "FW102" in text
    assert "FW104" not in text
    assert text.splitlines()[-1] == "Next: feedwatch report 'runs/[a]'  # where a step goes, 1 more to change"


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
    assert "2 ranks rank 1 waits longest" in words(shown(print_report, merged))
    alike = merge([report(rank=number, world_size=2, wall_ms=20, wait_ms=8 + number / 2) for number in range(2)])
    assert "2 ranks wait equally long" in words(shown(print_report, alike))
    assert "This is rank 1, of 2 ranks that were read." in words(shown(print_summary, merged, "runs/a"))
    alone = words(shown(print_summary, report(rank=0, world_size=2), "runs/a"))
    assert "This is rank 0 of 2. The others had not written yet." in alone
    assert alone.endswith("all ranks")
