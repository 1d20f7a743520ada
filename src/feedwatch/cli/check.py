"""`feedwatch check RUN --max-stall 0.10`: exit code 0 when the run waits no longer than allowed, 1 when it does."""

import argparse
from pathlib import Path
from typing import Any

from feedwatch.errors import ReportError
from feedwatch.model.verdict import Basis
from feedwatch.words import gain_text, number, percent


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("check", help="exit code for CI: does the run wait for data?")
    parser.add_argument("run", metavar="RUN", type=Path)
    parser.add_argument("--max-stall", metavar="SHARE", type=share, default=0.10, help="0 to 1 (default 0.10)")


def share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


def run(args: argparse.Namespace) -> int:
    from feedwatch.report.load import load_run

    report = load_run(args.run)
    stall_ratio = report.verdict.stall_ratio
    if stall_ratio is None:
        raise ReportError(f"no stall ratio in {args.run}: {report.verdict.title}")
    if not 0 <= stall_ratio <= 1:
        raise ReportError(
            f"the stall ratio in {args.run} is {number(stall_ratio)}, which is no share: the report is damaged"
        )
    passed = stall_ratio <= args.max_stall
    word = "ok" if passed else "too long"
    print(f"{word}: waited for input {percent(stall_ratio)} of the time, allowed {percent(args.max_stall)}")
    if not passed and report.findings:
        first = report.findings[0]
        measured = "" if first.gain is None or first.gain.basis is not Basis.MEASURED else f" ({gain_text(first.gain)})"
        print(f"{first.code}: {first.title}{measured}")
    return 0 if passed else 1
