"""What the demo does: train, diagnose, apply the first finding, train again, compare with the prediction."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from feedwatch.model.report import Report
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Finding
from feedwatch.report.compare import speedup
from feedwatch.report.console import finding_panel, print_head
from feedwatch.words import gain_text, ms, number, percent, times

Tick = Callable[[], None]


class Chapter(Protocol):
    """One framework's demo."""

    title: str
    steps: int

    def train(self, log_dir: Path, applied: Finding | None, tick: Tick) -> Report | None:
        """Train with the fix of this finding, in its own numbers. None: the script as it was written first."""
        ...


@dataclass(frozen=True)
class Outcome:
    before: Report
    after: Report
    predicted: str
    reached: float | None


def tell(chapter: Chapter, log_dir: Path, console: Console) -> Outcome | None:
    console.rule(chapter.title)
    before = _train(chapter, log_dir / "before", None, "training as written", console)
    if before is None or not before.findings:
        console.print("No finding: this machine feeds the demo fast enough as it is.")
        return None
    finding = before.findings[0]
    print_head(before, console)
    console.print(finding_panel(1, finding))
    after = _train(chapter, log_dir / "after", finding, f"the same with {finding.code} applied", console)
    if after is None:
        return None
    outcome = Outcome(before, after, gain_text(finding.gain), speedup(before, after))
    console.print(comparison(outcome))
    if finding.gain is not None and outcome.reached is not None:
        console.print(f"{outcome.predicted} · [bold]reached {times(outcome.reached)} faster[/bold]")
    return outcome


def comparison(outcome: Outcome) -> Table:
    table = Table(title="Before and after", title_justify="left")
    for heading in ("", "step", "input wait", "waiting", "samples/s"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, report in (("before", outcome.before), ("after", outcome.after)):
        wait = report.phases.get(INPUT_WAIT)
        verdict = report.verdict
        table.add_row(
            name,
            ms(verdict.step_ms),
            ms(None if wait is None else wait.ms),
            percent(verdict.stall_ratio),
            number(verdict.samples_per_s),
        )
    table.add_row("speed-up", times(outcome.reached))
    return table


def _train(chapter: Chapter, log_dir: Path, applied: Finding | None, what: str, console: Console) -> Report | None:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(escape(what), total=chapter.steps)
        return chapter.train(log_dir, applied, lambda: progress.advance(task))
