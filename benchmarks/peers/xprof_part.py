"""xprof's analyser on Keras runs whose times are known: a window recorded by Keras' own TensorBoard callback."""

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.part import Effort, run_part
from benchmarks.peers.environments import Environment, Unavailable, prepared
from benchmarks.scenes import Scene
from benchmarks.workload_keras import dispatch_ms, keras, train

SCRIPT = Path(__file__).with_name("xprof_inside.py")
SCENES = [Scene(10.0, 5.0), Scene(30.0, 5.0), Scene(10.0, 20.0), Scene(30.0, 5.0, 2)]


def recorded(directory: Path, seconds: float) -> dict[str, dict[str, Any]]:
    """Trace file → the scene and its truth."""
    dispatched_ms, made = dispatch_ms(), {}
    for number, scene in enumerate(SCENES):
        here = directory / str(number)
        tensorboard = keras.callbacks.TensorBoard(here, profile_batch=(10, 20))
        truth = train(scene, seconds, [tensorboard], dispatched_ms)
        traces = sorted(here.rglob("*.xplane.pb"))
        if not traces:
            raise Unavailable("Keras' TensorBoard callback wrote no trace")
        made[str(traces[0])] = {"scene": scene.name, "truth": truth}
    return made


def analysed(environment: Environment, runs: dict[str, dict[str, Any]], directory: Path) -> list[dict[str, Any]]:
    answer = directory / "answer.json"
    environment.run([environment.python, SCRIPT, answer, *runs], 180)
    said = json.loads(answer.read_text())
    return [{**run, "xprof": said[trace]} for trace, run in runs.items()]


def main(effort: Effort) -> dict[str, Any]:
    try:
        environment = prepared("xprof", ["xprof"])
        with tempfile.TemporaryDirectory() as directory:
            runs = recorded(Path(directory), 0.5 if effort.quick else 1.0)
            scenes = analysed(environment, runs, Path(directory))
        return {"version": environment.version("xprof"), "scenes": scenes}
    except Unavailable as reason:
        return {"unavailable": str(reason)}


if __name__ == "__main__":
    run_part(main)
