"""The report for a terminal."""

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from feedwatch.model.report import Report, Status
from feedwatch.model.steps import PHASES
from feedwatch.model.verdict import Bound, Finding
from feedwatch.words import NOT_MEASURED, PHASE_NAMES, count, gain_text, ms, number, percent, times

NOTHING = "Nothing to change."
NO_RULE = "No rule knows a change that would help here."
_STYLES = {
    Bound.INPUT: "red",
    Bound.TRANSFER: "yellow",
    Bound.LAUNCH: "yellow",
    Bound.HOST: "yellow",
    Bound.COMPUTE: "green",
    Bound.UNKNOWN: "white",
}


def print_report(report: Report, console: Console) -> None:
    """Verdict, where a step goes, what to change, what was not measured."""
    print_head(report, console)
    for place, finding in enumerate(report.findings, start=1):
        console.print(finding_panel(place, finding))
    if not report.findings and report.verdict.bound is not Bound.UNKNOWN:
        console.print(NOTHING if report.verdict.bound is Bound.COMPUTE else NO_RULE)
    for note in report.self_cost.notes:
        console.print(f"[dim]not measured: {escape(note)}[/dim]")


def print_head(report: Report, console: Console) -> None:
    console.print(_verdict(report))
    console.print(_phases(report))


def print_summary(report: Report, console: Console, where: str) -> None:
    """What a training script prints at its end: the verdict, the first finding, where the rest is."""
    console.print(_verdict(report))
    if report.findings:
        console.print(finding_panel(1, report.findings[0]))
    if where:
        console.print(f"[dim]feedwatch report {escape(where)}[/dim]", soft_wrap=True)


def finding_panel(place: int, finding: Finding) -> Panel:
    body: list[RenderableType] = [Text(finding.title, style="bold"), Text(), Text(finding.why)]
    if finding.fix.after.strip():
        body += [
            Text(),
            Syntax(finding.fix.after.strip(), "python", background_color="default", word_wrap=True),
        ]
    if finding.gain is not None:
        body += [Text(), Text(f"{gain_text(finding.gain)}: {finding.gain.because}", style="green")]
    return Panel(Group(*body), title=f"{place}. {finding.code} {escape(finding.name)}", title_align="left")


def _verdict(report: Report) -> Panel:
    verdict, style = report.verdict, _STYLES[report.verdict.bound]
    numbers = (
        f"waiting for input {percent(verdict.stall_ratio)} · step {ms(verdict.step_ms)} · "
        f"{number(verdict.samples_per_s)} samples/s · at most {times(verdict.ceiling_speedup)} faster"
    )
    if report.ranks is not None and report.ranks.slowest is not None:
        numbers += f" · {count(report.ranks.count, 'rank')}, rank {report.ranks.slowest.rank} waits longest"
    status = "" if report.status is Status.FINISHED else f" [{report.status.value}]"
    body = Group(Text(verdict.detail), Text(numbers, style="bold"))
    return Panel(body, title=escape(f"{verdict.title}{status}"), border_style=style, title_align="left")


def _phases(report: Report) -> Table:
    table = Table(title="Where a step goes", title_justify="left")
    table.add_column("phase")
    for heading in ("median", "p95", "share"):
        table.add_column(heading, justify="right")
    for name in PHASES:
        phase = report.phases.get(name)
        if phase is None:
            table.add_row(PHASE_NAMES[name], NOT_MEASURED, "", "")
        else:
            table.add_row(PHASE_NAMES[name], ms(phase.ms), ms(phase.p95_ms), percent(phase.share))
    return table
