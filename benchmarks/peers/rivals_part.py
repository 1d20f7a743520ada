"""Scripts of the zoo under each tool: what it says, what it costs, and what following it gains by the script's clock.

Only Lightning's scripts: TraceML does not watch Keras, and xprof has no step time on a CPU (xprof_part.py). Advice to
use more workers is followed with the number that the tool names, else with one per CPU more.
"""

import json
import re
import statistics
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.part import Effort, run_part
from benchmarks.peers.environments import Environment, Unavailable, prepared, same

SCRIPT = Path(__file__).with_name("rivals_inside.py")
CPUS = 2
SCRIPTS = (
    ("lightning-healthy-workers", "step"),
    ("lightning-healthy-compute-bound", "step"),
    ("lightning-no-workers", "step"),
    ("lightning-one-worker", "step"),
    ("lightning-workers-restart", "run"),
    ("lightning-shallow-prefetch", "step"),
    ("lightning-in-memory-items", "step"),
    ("lightning-slow-collate", "step"),
    ("lightning-straggling-items", "step"),
    ("lightning-cpu-saturated", "step"),
    ("lightning-storage-bound", "step"),
    ("lightning-unsharded-stream", "run"),
    ("lightning-slow-callback", "step"),
)
INPUT_ADVICE = "Increase workers"


class Bench:
    def __init__(self, environment: Environment, directory: Path, turns: int) -> None:
        self._environment, self._directory, self._turns, self._runs = environment, directory, turns, count()

    def run(self, name: str, *words: str, traceml: bool = False) -> dict[str, Any]:
        number = next(self._runs)
        answer, started = self._directory / f"{number}.json", [self._environment.python]
        inside = [SCRIPT, "--args"] if traceml else [SCRIPT]
        if traceml:
            started = [self._environment.script("traceml"), "run", "--run-name", f"run{number}"]
        self._environment.run([*started, *inside, answer, name, *words], 240, cwd=self._directory)
        told: dict[str, Any] = json.loads(answer.read_text())
        if traceml:
            summary = self._directory / "logs" / f"run{number}" / "final_summary.json"
            told["diagnosis"] = json.loads(summary.read_text()).get("primary_diagnosis") or {}
        return told

    def script(self, name: str, gain_of: str) -> dict[str, Any]:
        """In turns, so that a busy minute hits all of them; figures are medians."""
        clock = "run_s" if gain_of == "run" else "step_ms"
        bare = [self.run(name)]
        simple, theirs, ours = self.run(name, "--tool", "simple"), self.run(name, traceml=True), None
        ours = self.run(name, "--tool", "feedwatch")
        followed = {
            "Lightning": self._workers(bare[0], simple["hints"]),
            "TraceML": self._workers_of_traceml(bare[0], theirs["diagnosis"]),
        }
        words: dict[str, list[str]] = {
            tool: ["--workers", str(workers)] for tool, workers in followed.items() if workers is not None
        }
        if ours["finding"]:
            words["feedwatch"] = ["--fix", json.dumps(ours["numbers"])]
        after: dict[str, list[float]] = {tool: [] for tool in words}
        for _ in range(self._turns):
            bare.append(self.run(name))
            for tool, options in words.items():
                after[tool].append(self.run(name, *options)[clock])
        before = statistics.median(run[clock] for run in bare)
        return {
            "script": name,
            "step_ms": round(statistics.median(run["step_ms"] for run in bare), 2),
            "costs_ms": {
                "Lightning": round(simple["step_ms"] - bare[0]["step_ms"], 2),
                "TraceML": round(theirs["step_ms"] - bare[0]["step_ms"], 2),
                "feedwatch": round(ours["step_ms"] - bare[0]["step_ms"], 2),
            },
            "says": {
                "Lightning": self._lightning_says(simple),
                "TraceML": f"{theirs['diagnosis'].get('status')}: {theirs['diagnosis'].get('action')}",
                "feedwatch": "nothing"
                if not ours["finding"]
                else f"{ours['finding']['code']} {ours['finding']['name']}",
            },
            "workers": {"now": bare[0]["workers"], **followed},
            "gains": {tool: round(before / statistics.median(times), 2) for tool, times in after.items()},
        }

    def _workers(self, bare: dict[str, Any], hints: list[str]) -> int | None:
        named = re.search(r"num_workers=(\d+)", " ".join(hints))
        return None if named is None or bare["workers"] is None else int(named[1])

    def _workers_of_traceml(self, bare: dict[str, Any], diagnosis: dict[str, Any]) -> int | None:
        advised = str(diagnosis.get("action", "")).startswith(INPUT_ADVICE) and bare["workers"] is not None
        return bare["workers"] + CPUS if advised else None

    def _lightning_says(self, simple: dict[str, Any]) -> str:
        share = simple.get("fetch_share")
        fetched = "" if share is None else f"{100 * share:.0f} % of its time in the loader"
        named = re.search(r"num_workers=\d+", " ".join(simple["hints"]))
        return fetched + (f"; hint: {named[0]}" if named else "")


def measured(scripts: tuple[tuple[str, str], ...], effort: Effort) -> dict[str, Any]:
    try:
        environment = prepared(
            "traceml", [same("torch")], [same("lightning")], ["traceml-ai", same("tensorboard"), same("psutil")]
        )
        with tempfile.TemporaryDirectory() as directory:
            bench = Bench(environment, Path(directory), effort.rounds(3))
            rows = {name: bench.script(name, gain_of) for name, gain_of in (scripts[:1] if effort.quick else scripts)}
            return {"version": environment.version("traceml-ai"), "scripts": rows}
    except Unavailable as reason:
        return {"unavailable": str(reason)}


PORTIONS = {
    "first": lambda effort: measured(SCRIPTS[:4], effort),
    "second": lambda effort: measured(SCRIPTS[4:8], effort),
    "third": lambda effort: measured(SCRIPTS[8:], effort),
}

if __name__ == "__main__":
    run_part(PORTIONS)
