"""`feedwatch report RUN [--json|--html FILE]`"""

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from feedwatch.errors import FeedwatchError
from feedwatch.files import replace_file

if TYPE_CHECKING:
    from feedwatch.model.report import Report

MISSED_REPORTS: Final = 4


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("report", help="show a run's report")
    parser.add_argument("run", metavar="RUN", type=Path, help="a run's directory, its report.json or its event file")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the whole report as JSON")
    form.add_argument("--html", metavar="FILE", type=Path, help="write one self-contained HTML file")


def run(args: argparse.Namespace) -> int:
    from feedwatch.report.json import to_json
    from feedwatch.report.load import load_run

    report = load_run(args.run)
    if args.json:
        print(json.dumps(to_json(report), ensure_ascii=False, indent=1, allow_nan=False))
    elif args.html is not None:
        from feedwatch.report.html import render_html

        _write(args.html, render_html([(args.run.name or str(args.run), to_json(report))]))
        print(f"written: {args.html}")
    else:
        from rich.console import Console

        from feedwatch.report.console import print_report

        if silent(report, time.time()):
            print("No news for a while: it may have been killed.")
        print_report(report, Console(), str(args.run))
    return 0


def silent(report: "Report", now_s: float) -> bool:
    """A process that was killed cannot say so; one that is alive reports."""
    from feedwatch.digest import REPORT_SECONDS, seconds_between
    from feedwatch.model.report import Status

    run = report.run
    due_s = seconds_between(MISSED_REPORTS * REPORT_SECONDS, run.updated - run.started)
    return report.status is Status.RUNNING and now_s - run.updated > due_s


def _write(path: Path, text: str) -> None:
    # A link may have been planted in a shared directory, and renaming a file over /dev/stdout would be worse.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise FeedwatchError(f"cannot write {path}: it is a link or no file")
    try:
        replace_file(path.parent.resolve() / path.name, text.encode(errors="backslashreplace"))
    except (OSError, ValueError) as error:
        raise FeedwatchError(f"cannot write {path}: {getattr(error, 'strerror', error)}") from None
