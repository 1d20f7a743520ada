"""What the demo does: train, diagnose, apply the first finding, train again, compare with the prediction."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from feedwatch.model.report import Report
from feedwatch.model.steps import INPUT_WAIT
from feedwatch.model.verdict import Finding
from feedwatch.report.compare import speedup
from feedwatch.report.console import print_finding, print_head
from feedwatch.report.silence import words_without_findings
from feedwatch.report.trial import print_trial
from feedwatch.words import gain_text, ms, number, percent, seconds, times

Tick = Callable[[], None]
# The demo of one framework takes less than a minute, trial included.
TRIAL_SECONDS: Final = 12


class Chapter(Protocol):
    """One framework's demo."""

    title: str
    steps: int

    def train(
        self, log_dir: Path, applied: Finding | None, tick: Tick, *, trial: bool | float = False
    ) -> Report | None:
        """Train with the fix of this finding, in its own numbers. None: the script as it was written first. `trial`: at
        most so many seconds of the script as it was written, with its input changed in turns.
        """
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
    if before is None:
        return None
    print_head(before, console)
    if not before.findings:
        console.print(" ".join(words_without_findings(before)))
        console.print("So there is nothing to apply here. On a machine that does nothing else there usually is.")
        return None
    finding = before.findings[0]
    print_finding(1, finding, console)
    after = _train(chapter, log_dir / "after", finding, f"the same with {finding.code} applied", console)
    if after is None:
        return None
    outcome = Outcome(before, after, gain_text(finding.gain), speedup(before, after))
    console.print(comparison(outcome))
    if finding.gain is not None and outcome.reached is not None:
        console.print(f"{outcome.predicted} · [bold]reached {times(outcome.reached)} faster[/bold]")
    _try(chapter, log_dir / "before", console)
    return outcome


def _try(chapter: Chapter, log_dir: Path, console: Console) -> None:
    """What `feedwatch try` would have said of the script as it was written."""
    what = f"the same question to a trial: as written and changed in turns, at most {seconds(TRIAL_SECONDS)}"
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console) as progress:
        progress.add_task(escape(what))
        report = chapter.train(log_dir, None, lambda: None, trial=TRIAL_SECONDS)
    if report is not None and report.trial is not None:
        print_trial(report.trial, console)


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
            ms(None if wait is None else wait.mean_ms),
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
