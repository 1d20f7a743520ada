"""`feedwatch compare BEFORE AFTER [--json]`"""

import argparse
import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from feedwatch import words

# Wider than any of its lines.
TABLE_COLUMNS: Final = 120

if TYPE_CHECKING:
    from rich.table import Table

    from feedwatch.report.compare import Comparison, Row


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("compare", help="compare two runs, and tell noise from change")
    parser.add_argument("before", metavar="BEFORE", type=Path, help="the run before the change")
    parser.add_argument("after", metavar="AFTER", type=Path, help="the run after it")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")


def run(args: argparse.Namespace) -> int:
    from feedwatch.report.compare import compare
    from feedwatch.report.load import load_run

    first, second = load_run(args.before), load_run(args.after)
    comparison = compare(first, second)
    if args.json:
        print(json.dumps({"before": str(args.before), "after": str(args.after), **asdict(comparison)}))
        return 0
    from rich.console import Console
    from rich.text import Text

    from feedwatch.report.trial import answer

    console = Console()
    # Text, not a string: square brackets in a directory's name are no markup.
    console.print(Text(headline(str(args.before), str(args.after), comparison), style="bold"))
    # A narrow terminal breaks the lines; a number that is cut in the middle would be another number.
    Console(width=max(TABLE_COLUMNS, console.width)).print(table(comparison))
    for name, report in ((args.before, first), (args.after, second)):
        if report.trial is not None:
            console.print(Text(f"{name} is a trial: {answer(report.trial)}"), highlight=False)
    console.print(Text(f"Next: {what_to_do(str(args.before), str(args.after), comparison)}"), soft_wrap=True)
    return 0


def what_to_do(before: str, after: str, comparison: "Comparison") -> str:
    from feedwatch.report.compare import Call

    step = comparison.rows[0]
    if comparison.speedup is None or step.call is Call.TOO_FEW:
        return f"train longer: a decision takes {step.windows_needed} windows of about a second of each run"
    better = after if comparison.speedup >= 1 or step.call is Call.WITHIN_NOISE else before
    return f"feedwatch report {shlex.quote(better)}  # what bounds it now"


def headline(before: str, after: str, comparison: "Comparison") -> str:
    from feedwatch.report.compare import Call

    if comparison.speedup is None:
        return f"{after} and {before} cannot be compared yet: no step time in both."
    step = comparison.rows[0]
    if step.call is Call.WITHIN_NOISE:
        return f"{after} is as fast as {before}: the difference is within noise."
    factor = words.times(comparison.speedup)
    slower = comparison.speedup < 1
    speed = (
        f"{after} is slower than {before}: {factor} its speed" if slower else f"{after} is {factor} as fast as {before}"
    )
    if step.call is Call.SIGNIFICANT:
        return f"{speed}."
    return f"{speed}, by too few windows to be sure ({step.windows} of {step.windows_needed})."


def table(comparison: "Comparison") -> "Table":
    from rich.table import Table

    from feedwatch.report.compare import Call

    grid = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("", "before", "after", "change", ""):
        grid.add_column(title, justify="left" if not title else "right", no_wrap=True)
    for row in comparison.rows:
        style = None if row.call is Call.SIGNIFICANT else "dim"
        cells = (row.name, value(row, row.before), value(row, row.after), change(row), call(row))
        grid.add_row(*cells, style=style)
    return grid


def call(row: "Row") -> str:
    from feedwatch.report.compare import Call

    return f"too few windows: {row.windows} of {row.windows_needed}" if row.call is Call.TOO_FEW else row.call.value


def value(row: "Row", number: float | None) -> str:
    from feedwatch.report.compare import Unit

    if row.unit is Unit.SHARE:
        return words.percent(number)
    return words.number(number) if row.unit is Unit.PER_SECOND else words.ms(number)


def change(row: "Row") -> str:
    from feedwatch.report.compare import Unit

    if row.change is None:
        return ""
    return words.points(row.change) if row.unit is Unit.SHARE else words.change(row.change)
