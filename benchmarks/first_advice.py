"""How long after the start of fit the first advice is there, for a training that is stalled from its first step."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmarks.part import Effort, run_part
from benchmarks.scenes import Scene

STALLED = Scene(30.0, 5.0)
SECONDS = 4.0


class Lookout:
    """Asks after every step whether the report has findings yet; the file is written in the same moment."""

    def __init__(self, watch: Any) -> None:
        self._watch = watch
        self._steps = 0
        self.seen: dict[str, Any] | None = None
        self.began = self.first_step = time.perf_counter()

    def step(self) -> None:
        if not self._steps:
            self.first_step = time.perf_counter()
        self._steps += 1
        report = self._watch.report
        if self.seen is None and report is not None and report.findings:
            now = time.perf_counter()
            self.seen = {
                "steps": self._steps,
                "seconds": round(now - self.began, 3),
                "seconds_from_the_first_step": round(now - self.first_step, 3),
                "finding": report.findings[0].code,
            }


def keras_run(directory: str) -> dict[str, Any] | None:
    from benchmarks.workload_keras import fit, keras
    from feedwatch.keras import FeedWatch

    class Look(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            lookout.step()

    watch = FeedWatch(directory, console=False)
    lookout = Lookout(watch)
    fit(STALLED, SECONDS, [watch, Look()])
    return lookout.seen


def lightning_run(directory: str) -> dict[str, Any] | None:
    from benchmarks.workload_lightning import pl, train
    from feedwatch.lightning import FeedWatch

    class Look(pl.Callback):
        def on_train_batch_end(self, *_: Any) -> None:
            lookout.step()

    watch = FeedWatch(directory, console=False)
    lookout = Lookout(watch)
    train(STALLED, SECONDS, [watch, Look()])
    return lookout.seen


RUNS = {"keras": keras_run, "lightning": lightning_run}


def in_a_fresh_process(framework: str) -> dict[str, Any] | None:
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_advice", "--one", framework],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    seen: dict[str, Any] | None = json.loads(ended.stdout.splitlines()[-1])
    return seen


def main(effort: Effort) -> dict[str, Any]:
    return {framework: _middle([in_a_fresh_process(framework) for _ in range(effort.rounds(3))]) for framework in RUNS}


def _middle(runs: list[dict[str, Any] | None]) -> dict[str, Any] | None:
    seen = [run for run in runs if run is not None]
    if not seen:
        return None
    figures = ("steps", "seconds", "seconds_from_the_first_step")
    middle = {name: statistics.median(run[name] for run in seen) for name in figures}
    return {**middle, "finding": seen[0]["finding"], "runs": len(runs), "with_advice": len(seen)}


if __name__ == "__main__":
    if "--one" in sys.argv:
        parser = argparse.ArgumentParser()
        parser.add_argument("--one", choices=RUNS, required=True)
        with tempfile.TemporaryDirectory() as place:
            print(json.dumps(RUNS[parser.parse_args().one](place)))
    else:
        run_part(main)
