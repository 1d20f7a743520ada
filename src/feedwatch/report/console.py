"""The report for a terminal. The last line says what to do next."""

import shlex
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from feedwatch.diagnose.thresholds import THRESHOLDS
from feedwatch.model.report import RanksSection, Report, Status
from feedwatch.model.verdict import Bound, Finding
from feedwatch.report.parts import parts_of
from feedwatch.report.silence import model_note, words_without_findings
from feedwatch.report.trial import print_trial
from feedwatch.words import NOT_MEASURED, count, gain_text, ms, number, percent, times, times_between

ALTERS: Final = "Besides the speed it changes "
ALTERED: Final = {
    "order": "the order of the data",
    "randomness": "which random numbers are drawn",
    "precision": "how numbers are rounded",
    "updates": "the updates of the weights",
    "code": "your own code: fit the sketch to it",
}
# A rank that waits this much longer than the median is named; a smaller difference is chance.
LONGER: Final = 1.1
MEANS: Final = "Means of the whole run per batch add up; medians and p95 are those of its usual steps."
# A longer line is hard to read, however wide the terminal is.
MOST_COLUMNS: Final = 100
_STYLES: Final = {
    Bound.INPUT: "red",
    Bound.TRANSFER: "yellow",
    Bound.LAUNCH: "yellow",
    Bound.HOST: "yellow",
    Bound.COMPUTE: "green",
    Bound.UNKNOWN: "none",
}


def print_report(report: Report, console: Console, where: str = "") -> None:
    """Verdict, where a step goes, what to change, what was not measured, what to do next."""
    print_head(report, console)
    if report.trial is not None:
        print_trial(report.trial, console)
    for place, finding in enumerate(report.findings, start=1):
        print_finding(place, finding, console)
    for line in words_without_findings(report) or model_note(report):
        _print(Text(line), console)
    if report.self_cost.notes:
        _print(Text("Not measured, or measured with a limit:"), console)
    for note in report.self_cost.notes:
        _print(Text(f"- {note}"), console)
    console.print(Text(f"Next: {_what_to_do(report, where)}"), soft_wrap=True)


def print_head(report: Report, console: Console) -> None:
    _print(_verdict(report), console)
    _print(_where_it_goes(report), console)
    if report.account is not None and _enough(report):
        _print(Text(MEANS, style="dim"), console)


def print_summary(report: Report, console: Console, where: str) -> None:
    """What a training script prints at its end: the verdict, the first finding, where the rest is."""
    _print(_verdict(report), console)
    if report.trial is not None:
        print_trial(report.trial, console)
    elif report.findings:
        print_finding(1, report.findings[0], console)
    for line in words_without_findings(report) or model_note(report):
        _print(Text(line), console)
    if report.run.world_size > 1:
        _print(Text(_whose(report)), console)
    if where:
        console.print(
            Text(f"Next: feedwatch report {shlex.quote(where)}  # {_what_else(report)}"),
            soft_wrap=True,
            highlight=False,
        )


def print_finding(place: int, finding: Finding, console: Console) -> None:
    """Code stands outside of any box and is not wrapped: it is there to be copied."""
    body: list[RenderableType] = [Text(finding.title, style="bold"), Text(), Text(finding.why)]
    if finding.gain is not None:
        because = finding.gain.because
        body += [
            Text(),
            Text(gain_text(finding.gain), style="bold green"),
            Text(f"{because[:1].upper()}{because[1:]}."),
        ]
    if finding.alters:
        body += [Text(ALTERS + ", ".join(ALTERED[what] for what in finding.alters if what in ALTERED) + ".")]
    title = f"{place}. {finding.code} {escape(finding.name)}"
    _print(Panel(Group(*body), title=title, title_align="left"), console)
    if finding.fix.after.strip():
        # No colours: there is none that is legible on light and on dark for every token.
        console.print(Text(finding.fix.after.strip()), soft_wrap=True, highlight=False)
        console.print()


def _print(shown: RenderableType, console: Console) -> None:
    console.print(shown, width=min(console.width, MOST_COLUMNS), highlight=False)


def _verdict(report: Report) -> Panel:
    verdict, style = report.verdict, _STYLES[report.verdict.bound]
    status = "" if report.status is Status.FINISHED else f" [{report.status.value}]"
    body = Group(Text(verdict.detail), Text(), _numbers(report))
    return Panel(body, title=escape(f"{verdict.title}{status}"), border_style=style, title_align="left")


def _numbers(report: Report) -> Table:
    """The four numbers of the tab, in its words. Before there is a verdict only those that are known."""
    verdict = report.verdict
    who = "device" if report.clock == "device" else "loop"
    figures = [
        (percent(verdict.stall_ratio), f"{who} waits for input"),
        (ms(verdict.step_ms), "per step, on average"),
        (number(verdict.samples_per_s), "samples per second"),
        _ceiling(report),
    ]
    if report.ranks is not None and report.ranks.slowest is not None:
        figures.append((count(report.ranks.count, "rank"), _who_waits(report.ranks, report.ranks.slowest.rank)))
    grid = Table.grid(padding=(0, 2))
    for value, label in figures:
        if verdict.bound is not Bound.UNKNOWN or value != NOT_MEASURED:
            grid.add_row(Text(value, style="bold"), Text(label))
    return grid


def _who_waits(ranks: RanksSection, slowest: int) -> str:
    longest, median = ranks.max_input_wait_ms, ranks.median_input_wait_ms
    alike = longest is not None and median is not None and longest <= LONGER * median
    return "wait equally long" if alike else f"rank {slowest} waits longest"


def _ceiling(report: Report) -> tuple[str, str]:
    """An estimate, unless a trial measured it."""
    measured = None if report.trial is None else report.trial.ceiling
    if measured is not None:
        return times_between(measured.low, measured.high), "at most, with one batch in memory, measured"
    return times(report.verdict.ceiling_speedup), "best possible with every batch in memory, estimated"


def _enough(report: Report) -> bool:
    """Two steps have no spread."""
    return report.steps.measured >= THRESHOLDS.min_steady_steps


def _where_it_goes(report: Report) -> Table:
    title = f"Where a step goes ({count(report.steps.measured, 'step')} measured)"
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, header_style="dim")
    table.add_column("")
    for heading in ("mean", "share", *(("median", "p95") if _enough(report) else ("", ""))):
        table.add_column(heading, justify="right")
    for line in parts_of(report):
        usual = report.phases.get(line.key) if _enough(report) else None
        spread = ("", "") if usual is None else (ms(usual.ms), ms(usual.p95_ms))
        table.add_row(line.name, ms(line.mean_ms), "" if line.share is None else percent(line.share), *spread)
    if report.account is not None:
        table.add_row("together", ms(report.account.batch_ms), percent(1.0), "", "", style="bold")
    return table


def _whose(report: Report) -> str:
    if report.ranks is None:
        return f"This is rank {report.run.rank} of {report.run.world_size}. The others had not written yet."
    said = f"This is rank {report.run.rank}, of {report.ranks.count} ranks that were read."
    return f"{said} {report.ranks.missing} had not written yet." if report.ranks.missing else said


def _what_else(report: Report) -> str:
    more = len(report.findings) - 1
    parts = ["where a step goes", *([f"{more} more to change"] if more > 0 else [])]
    return ", ".join([*parts, "all ranks"] if report.run.world_size > 1 else parts)


def _what_to_do(report: Report, where: str) -> str:
    run = shlex.quote(where or "RUN")
    first = next((finding for finding in report.findings if finding.gain is not None), None)
    if first is not None:
        return f"make the change of {first.code}, train again, then: feedwatch compare {run} NEW_RUN"
    if report.verdict.bound is Bound.UNKNOWN:
        few = report.steps.measured < THRESHOLDS.min_steady_steps
        return "train longer" if few else "read the notes above: they say what could not be measured"
    if report.findings:
        return f"feedwatch explain {report.findings[0].code}"
    if report.verdict.bound is Bound.COMPUTE:
        return "nothing here. To make the model itself faster, ask a profiler of operators"
    return f"see which part of the input is slow: feedwatch report {run} --html report.html"
