"""TraceML next to feedwatch: the same Lightning model, both in TraceML's own environment and under its own launcher.

TraceML joins a run when it is started by `traceml run`, so a variant is a process here, and processes take turns.
"""

import json
import tempfile
from collections import defaultdict
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.paired import Pair, compared, take_pair
from benchmarks.part import Effort, run_part
from benchmarks.peers.environments import Environment, Unavailable, prepared, same
from benchmarks.scenes import Scene, extras

SCRIPT = Path(__file__).with_name("traceml_inside.py")
BARE, OURS, THEIRS = "no callback", "feedwatch", "TraceML"
SCENES = [Scene(2.0, 5.0), Scene(10.0, 5.0), Scene(30.0, 5.0), Scene(10.0, 20.0), Scene(30.0, 5.0, 2)]


class Launcher:
    def __init__(self, environment: Environment, directory: Path) -> None:
        self._environment, self._directory = environment, directory
        self._runs = 0

    def run(self, *arguments: str, watched: bool) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """The script's answer, and TraceML's summary where it watched."""
        self._runs += 1
        name, answer = f"run{self._runs}", self._directory / f"{self._runs}.json"
        switches = [] if watched else ["--disable-traceml"]
        command = [self._environment.script("traceml"), "run", *switches, "--run-name", name]
        # A directory per run: two runs may not share a log directory.
        self._environment.run([*command, SCRIPT, "--args", answer, *arguments], 180, cwd=self._directory)
        summary = self._directory / "logs" / name / "final_summary.json"
        return json.loads(answer.read_text()), json.loads(summary.read_text()) if watched else None


def overhead(launcher: Launcher, rounds: int, steps: int) -> dict[str, Any]:
    arguments = {OURS: ("ours", False), THEIRS: ("bare", True)}
    rows: dict[str, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))

    def once(what: str, watched: bool) -> dict[str, Any]:
        return launcher.run(what, "--steps", str(steps), watched=watched)[0]

    for turn in range(rounds):
        for name, (what, watched) in arguments.items():
            ours, base = take_pair(partial(once, what, watched), partial(once, "bare", watched=False), turn)
            for size in ours:
                rows[size][name].append((ours[size], base[size]))
    return {
        size: {
            "per_call": 1,
            "steps": steps,
            "variants": {name: compared(pairs, BARE) for name, pairs in taken.items()},
            "says_of_itself_us": None,
        }
        for size, taken in rows.items()
    }


def observe(launcher: Launcher, scene: Scene, seconds: float) -> dict[str, Any]:
    told = json.dumps(astuple(scene))
    truth, summary = launcher.run("scene", "--scene", told, "--seconds", str(seconds), watched=True)
    assert summary is not None
    average = summary["step_time"]["global"]["average"]
    said = {"input": average["input_wait_ms"], "compute": average["compute_ms"], "copy": average["h2d_ms"]}
    rounded = {phase: None if ms is None else round(ms, 4) for phase, ms in said.items()}
    return {"scene": scene.name, "truth": truth, "said": {THEIRS: rounded}}


def main(effort: Effort) -> dict[str, Any]:
    try:
        environment = prepared(
            "traceml", [same("torch")], [same("lightning")], ["traceml-ai", same("tensorboard"), same("psutil")]
        )
        with tempfile.TemporaryDirectory() as directory:
            launcher = Launcher(environment, Path(directory))
            scenes = [*SCENES[:1], *extras("slow copy")[:1]] if effort.quick else [*SCENES, *extras("slow copy")]
            return {
                "version": environment.version("traceml-ai"),
                "overhead": overhead(launcher, effort.rounds(4), effort.steps(150)),
                "scenes": [observe(launcher, scene, 0.5 if effort.quick else 2.0) for scene in scenes],
            }
    except Unavailable as reason:
        return {"unavailable": str(reason)}


if __name__ == "__main__":
    run_part(main)
