"""python -m benchmarks.trials [--only NUMBERS] [--seconds 30] [--turns 3] [--grid] [--render]

Every case that was measured is kept in results.json; the page is made of it. A case at a time may be measured: what is
known of the others stays. Wants a quiet machine.
"""

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.trials.drain import drained
from benchmarks.trials.score import Row, page
from benchmarks.trials.truth import grid, prepare, tried, truths
from benchmarks.trials.workloads import CASES, Case

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE / "RESULTS.md"
# Comparisons of one case: the ceiling, what was picked, and what was measured longest.
MOST_VARIANTS = 4


def measure(case: Case, seconds: float, turns: int) -> dict[str, Any] | None:
    load, trial = machine.load_average(), tried(case, seconds)
    if trial is None:
        return None
    rows = [row for row in trial["rows"] if row["speedup"] is not None and row["role"] != "as is"]
    rows = sorted(rows, key=lambda row: (row["role"] != "ceiling", row["name"] != trial["picked"], -row["blocks"]))
    rows = rows[:MOST_VARIANTS]
    wanted = [{"resident": True} if row["role"] == "ceiling" else _named(row["settings"]) for row in rows]
    found = truths(case, wanted, turns)
    as_is = None if case.framework == "device" else drained(case, {})
    made = []
    for row, settings, truth in zip(rows, wanted, found, strict=True):
        if truth is None:
            continue
        alone = drained(case, settings) if as_is and row["role"] != "ceiling" else None
        made.append(
            Row(
                case.name, case.framework, row["name"], truth.turns, row["speedup"]["low"], row["speedup"]["high"],
                as_is / alone if alone and as_is else None, row["outcome"],
                ceiling=row["role"] == "ceiling", picked=row["name"] == trial["picked"],
            )
        )  # fmt: skip
    measured = {"date": machine.today(), "machine": f"{machine.cpu_model()}, {machine.describe()['cpus']:g} CPUs"}
    return {**measured, "load": load, "trial": trial, "rows": [asdict(row) for row in made]}


def _named(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def kept() -> dict[str, Any]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def keep(case: Case, **found: Any) -> None:
    every = kept()
    key = f"{case.framework}: {case.name}"
    every[key] = {**every.get(key, {}), **found}
    RESULTS.write_text(json.dumps(every, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="numbers of cases, with commas")
    parser.add_argument("--seconds", type=float, default=30, help="of a trial, at most")
    parser.add_argument("--turns", type=int, default=3, help="of trainings")
    parser.add_argument("--grid", action="store_true", help="retrain with every number of workers instead of a trial")
    parser.add_argument("--render", action="store_true", help="only make the page of what was measured")
    args = parser.parse_args()
    chosen = [CASES[int(number)] for number in args.only.split(",")] if args.only else CASES
    if not args.render:
        prepare(chosen)
        for case in chosen:
            began = time.monotonic()
            if args.grid:
                keep(case, grid=grid(case))
            elif (found := measure(case, args.seconds, args.turns)) is not None:
                keep(case, grid=None, **found)
            else:
                print(f"{case.framework}: {case.name}: failed", flush=True)
            print(f"{case.framework}: {case.name}: {time.monotonic() - began:.0f} s", flush=True)
    PAGE.write_text(page(kept()))
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
