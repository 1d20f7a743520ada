"""python -m benchmarks.trials [--only NUMBERS] [--seconds 40] [--rounds 2] [--render]

Every case that was measured is kept in results.json; the page is made of it. Wants a quiet machine.
"""

import argparse
import json
import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.trials.drain import drained
from benchmarks.trials.score import Row, summary, table
from benchmarks.trials.truth import gains, prepare, tried
from benchmarks.trials.workloads import CASES, Case

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
PAGE = HERE / "RESULTS.md"
MOST_VARIANTS = 5


def measure(case: Case, seconds: float, rounds: int) -> dict[str, Any] | None:
    trial = tried(case, seconds)
    if trial is None:
        return None
    rows = [row for row in trial["rows"] if row["speedup"] is not None and row["role"] != "as is"]
    rows = sorted(rows, key=lambda row: (row["role"] != "ceiling", row["name"] != trial["picked"], -row["blocks"]))
    rows = rows[:MOST_VARIANTS]
    wanted = [{"resident": True} if row["role"] == "ceiling" else _named(row["settings"]) for row in rows]
    truths = gains(case, wanted, rounds)
    as_is = drained(case, {})
    made = []
    for row, settings, truth in zip(rows, wanted, truths, strict=True):
        if truth is None:
            continue
        alone = None if row["role"] == "ceiling" else drained(case, settings)
        made.append(
            Row(
                case.name, case.framework, row["name"], truth, row["speedup"]["low"], row["speedup"]["high"],
                as_is / alone if alone and as_is else None, row["outcome"],
                ceiling=row["role"] == "ceiling", picked=row["name"] == trial["picked"],
            )
        )  # fmt: skip
    return {"trial": trial, "rows": [asdict(row) for row in made]}


def _named(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def render() -> None:
    kept = json.loads(RESULTS.read_text())
    rows = [Row(**row) for entry in kept.values() for row in entry["rows"]]
    trials = [
        {**entry["trial"], "case": key.partition(": ")[2], "framework": key.partition(": ")[0]}
        for key, entry in kept.items()
    ]
    loud = [note for trial in trials for note in trial["notes"] if "other processes" in note]
    PAGE.write_text(
        "\n".join(
            [
                "# Trials against retraining",
                "",
                "Made by `make trials`; do not edit. Truth: the script really changed and retrained, in a process",
                "of its own without feedwatch, in turns with the script as it is. *Drained*: the loader alone.",
                f"{len(rows)} comparisons in {len(trials)} scripts, on {os.cpu_count()} CPUs"
                + (f"; in {len(loud)} of the trials other processes used the CPUs, too." if loud else "."),
                "In bold what the trial picked.",
                "",
                *summary(rows, trials),
                "",
                *table(rows),
                "",
            ]
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="numbers of cases, with commas")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--render", action="store_true", help="only make the page of what was measured")
    args = parser.parse_args()
    if not args.render:
        chosen = [CASES[int(number)] for number in args.only.split(",")] if args.only else CASES
        prepare(chosen)
        for case in chosen:
            began, found = time.monotonic(), measure(case, args.seconds, args.rounds)
            print(
                f"{case.framework}: {case.name}: {time.monotonic() - began:.0f} s",
                "" if found else "failed",
                flush=True,
            )
            if found is not None:
                kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
                kept[f"{case.framework}: {case.name}"] = found
                RESULTS.write_text(json.dumps(kept, indent=1))
    render()
    print(PAGE.read_text())


if __name__ == "__main__":
    main()
