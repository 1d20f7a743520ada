"""`feedwatch selftest [--device D] [--json FILE]`: trainings of known truth. The exit code counts what disagrees."""

import argparse
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from feedwatch.errors import FeedwatchError


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser("selftest", help="does feedwatch tell the truth on this device? About two minutes")
    parser.add_argument("--device", metavar="D", help="cuda:0, xpu, cpu, …; default: torch's accelerator, else the CPU")
    parser.add_argument("--json", metavar="FILE", type=Path, help="the result, to attach to a report; names no machine")
    parser.add_argument("--only", metavar="TEXT", default="", help="only scenarios whose name contains this")


def run(args: argparse.Namespace) -> int:
    if find_spec("torch") is None:
        raise FeedwatchError('the self-test trains with torch: pip install "feedwatch[torch]"')
    from rich.console import Console

    from feedwatch.selftest.runner import as_json, failures, run_all, table
    from feedwatch.selftest.scenarios import SCENARIOS

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow writes past the progress bar
    bench = _bench(args.device)
    chosen = [scenario for scenario in SCENARIOS if args.only.lower() in scenario.name.lower()]
    if not chosen:
        raise FeedwatchError(f"no scenario has {args.only!r} in its name")
    console = Console()
    with _progress(Console(stderr=True), len(chosen)) as tell:
        results = run_all(bench, chosen, tell)
    console.print(table(bench, results))
    if bench.clock is None:
        console.print("No device with a clock of its own: what needs one was not run.")
    if args.json is not None:
        args.json.write_text(json.dumps(as_json(bench, results), indent=2) + "\n", encoding="utf-8")
    return failures(results)


def _bench(device: str | None) -> Any:
    from feedwatch.selftest.bench import Bench

    try:
        return Bench(device)
    except (RuntimeError, AttributeError, AssertionError) as error:
        raise FeedwatchError(f"no device {device or 'found'}: {error}") from error


def _progress(console: Any, total: int) -> Any:
    from contextlib import contextmanager

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    @contextmanager
    def shown() -> Any:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("starting", total=total + 1)

            def tell(name: str) -> None:
                progress.update(task, description=name, advance=1)

            yield tell

    return shown()
