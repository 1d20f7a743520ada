"""TraceML next to feedwatch: the same Lightning model, both in TraceML's own environment and under its own launcher.

TraceML joins a run when it is started by `traceml run`, so a variant is a process here; two processes take turns, a few
steps each.
"""

import json
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.paired import Pair, Row, compared
from benchmarks.part import Effort, run_part
from benchmarks.peers.environments import Environment, Unavailable, prepared, same
from benchmarks.scenes import Scene, extras
from benchmarks.turns import PipeBaton

SCRIPT = Path(__file__).with_name("traceml_inside.py")
BARE, OURS, THEIRS = "no callback", "feedwatch", "TraceML"
Start = tuple[str, bool]  # what the script does, and whether TraceML watches it
SCENES = [Scene(2.0, 5.0), Scene(10.0, 5.0), Scene(30.0, 5.0), Scene(10.0, 20.0), Scene(30.0, 5.0, 2)]


class Launcher:
    def __init__(self, environment: Environment, directory: Path) -> None:
        self._environment, self._directory = environment, directory
        self._runs = count()

    def run(self, *arguments: str, watched: bool) -> tuple[Any, dict[str, Any] | None]:
        """The script's answer, and TraceML's summary where it watched."""
        number = next(self._runs)
        name, answer = f"run{number}", self._directory / f"{number}.json"
        switches = [] if watched else ["--disable-traceml"]
        command = [self._environment.script("traceml"), "run", *switches, "--run-name", name]
        # A directory per run: two runs may not share a log directory.
        self._environment.run([*command, SCRIPT, "--args", answer, *arguments], 300, cwd=self._directory)
        summary = self._directory / "logs" / name / "final_summary.json"
        return json.loads(answer.read_text()), json.loads(summary.read_text()) if watched else None

    def two_in_turns(self, first: Start, second: Start, *arguments: str) -> tuple[list[Row], list[Row]]:
        """Two processes at once; one of them waits while the other one trains."""
        pipes = [self._directory / f"pipe{next(self._runs)}" for _ in range(2)]
        for pipe in pipes:
            os.mkfifo(pipe)
        first_pipe = os.open(pipes[0], os.O_RDWR)
        with ThreadPoolExecutor(2) as threads:
            running = [
                threads.submit(self.run, what, *arguments, "--pipes", *map(str, ends), watched=watched)
                for (what, watched), ends in ((first, pipes), (second, pipes[::-1]))
            ]
            os.write(first_pipe, PipeBaton.TURN)
        os.close(first_pipe)
        rows = [each.result()[0] for each in running]
        return rows[0], rows[1]


def overhead(launcher: Launcher, size: str, processes: int, steps: int, fits: int) -> dict[str, Any]:
    starts, base = {OURS: ("ours", False), THEIRS: ("bare", True)}, ("bare", False)
    words = ("--size", size, "--steps", str(steps), "--fits", str(fits))
    taken: dict[str, list[Pair]] = {name: [] for name in starts}
    for number in range(processes):
        for name, start in starts.items():
            if number % 2:
                plain, watched = launcher.two_in_turns(base, start, *words)
            else:
                watched, plain = launcher.two_in_turns(start, base, *words)
            taken[name] += zip(watched, plain, strict=True)
    variants = {name: compared(pairs, BARE) for name, pairs in taken.items()}
    return {size: {"per_call": 1, "steps": steps, "variants": variants}}


def observe(launcher: Launcher, scene: Scene, seconds: float) -> dict[str, Any]:
    told = json.dumps(astuple(scene))
    truth, summary = launcher.run("scene", "--scene", told, "--seconds", str(seconds), watched=True)
    assert summary is not None
    average = summary["step_time"]["global"]["average"]
    said = {"input": average["input_wait_ms"], "compute": average["compute_ms"], "copy": average["h2d_ms"]}
    rounded = {phase: None if ms is None else round(ms, 4) for phase, ms in said.items()}
    return {"scene": scene.name, "truth": truth, "said": {THEIRS: rounded}}


def in_its_environment(measure: Callable[[Launcher], dict[str, Any]]) -> dict[str, Any]:
    try:
        environment = prepared(
            "traceml", [same("torch")], [same("lightning")], ["traceml-ai", same("tensorboard"), same("psutil")]
        )
        with tempfile.TemporaryDirectory() as directory:
            figures = measure(Launcher(environment, Path(directory)))
            return {"version": environment.version("traceml-ai"), **figures}
    except Unavailable as reason:
        return {"unavailable": str(reason)}


def tiny(effort: Effort) -> dict[str, Any]:
    rounds, steps = effort.rounds(3), effort.steps(1200)
    return in_its_environment(lambda launcher: {"overhead": overhead(launcher, "tiny", rounds, steps, 4)})


def longer(effort: Effort) -> dict[str, Any]:
    rounds, steps = effort.rounds(4), effort.steps(240)
    return in_its_environment(lambda launcher: {"overhead": overhead(launcher, "5 ms", rounds, steps, 3)})


def scenes(effort: Effort) -> dict[str, Any]:
    wanted = [*SCENES[:1], *extras("slow copy")[:1]] if effort.quick else [*SCENES, *extras("slow copy")]
    seconds = 0.5 if effort.quick else 2.0
    return in_its_environment(lambda launcher: {"scenes": [observe(launcher, scene, seconds) for scene in wanted]})


PORTIONS = {"tiny": tiny, "5 ms": longer, "scenes": scenes}

if __name__ == "__main__":
    run_part(PORTIONS)
