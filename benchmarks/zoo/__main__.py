"""`python -m benchmarks.zoo [--only NAME] [--repeat N]`: trains every case and prints the confusion table."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.zoo.nursery import Nursery
from benchmarks.zoo.table import render
from benchmarks.zoo.verdicts import MORE_TURNS, Answer, Outcome, Told, disagree, finding_of, outcome

RESULTS = Path(__file__).with_name("RESULTS.md")
# Two CPUs are what the cases are cut for: one busy neighbour takes half of what a fix could use.
QUIET_LOAD = 1.0


def main() -> None:
    asked = _arguments()
    began_s, load_before = time.perf_counter(), os.getloadavg()[0]
    if load_before > QUIET_LOAD:
        print(f"The machine is busy (load average {load_before:.1f}): gains will not hold.", file=sys.stderr)
    outcomes: list[Outcome] = []
    for framework in ("lightning", "keras"):
        nursery = Nursery(framework)
        chosen = [case for case in nursery.cases if asked.only in case["name"]]
        outcomes += [_visit(nursery, case, asked.repeat, asked.facts) for case in chosen]
        nursery.close()
    text = render(outcomes, asked.repeat, time.perf_counter() - began_s, load_before)
    print(text)
    if not asked.only:
        RESULTS.write_text(text + "\n")


def _visit(nursery: Nursery, case: Told, repeats: int, facts: Path | None) -> Outcome:
    """As it is and with the fix in turns, so that a busy minute hits both. Where the turns disagree, two more."""
    bad: list[Answer] = []
    good: list[Answer] = []
    while len(bad) < repeats or (len(bad) < repeats + MORE_TURNS and disagree(case, bad, good)):
        bad.append(nursery.train(case["name"], None))
        if case["expects"]:
            finding = finding_of(bad[-1], case["expects"])
            good.append(nursery.train(case["name"], finding["evidence"] if finding else {}))
    if facts:
        _keep(facts, case["name"], bad, good)
    seen = outcome(case, bad, good)
    print(f"{case['name']}: {seen.first or 'none'} {'as expected' if seen.correct else 'NOT expected'}", flush=True)
    return seen


def _keep(directory: Path, name: str, bad: Sequence[Answer], good: Sequence[Answer]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / f"{name}.json").write_text(json.dumps({"bad": bad, "good": good}, indent=1))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("--only", default="", metavar="NAME", help="cases whose name contains this")
    parser.add_argument("--repeat", type=int, default=2, metavar="N", help="trainings per case and variant")
    parser.add_argument("--facts", type=Path, metavar="DIR", help="keep all that the rules knew, one file per case")
    return parser.parse_args()


if __name__ == "__main__":
    main()
