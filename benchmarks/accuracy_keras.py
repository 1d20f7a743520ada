"""Input and compute in Keras' fit on TensorFlow: what each way of measuring says, next to the workload's own clock."""

import tempfile
from typing import Any

from benchmarks.bystander_clocks import BatchTimes
from benchmarks.part import Effort, run_part
from benchmarks.reading import phases_of
from benchmarks.scenes import Scene, extras, grid
from benchmarks.workload_keras import dispatch_ms, keras, train
from feedwatch.keras import FeedWatch


class Clocks(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.times = BatchTimes()

    def on_train_batch_begin(self, batch, logs=None):
        self.times.begin()

    def on_train_batch_end(self, batch, logs=None):
        self.times.end()


def observe(scene: Scene, seconds: float, dispatched_ms: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        watch, clocks = FeedWatch(directory, console=False), Clocks()
        truth = train(scene, seconds, [watch, clocks], dispatched_ms)
    return {
        "scene": scene.name,
        "truth": truth,
        "said": {
            "feedwatch": phases_of(watch.report),
            "callback gap": clocks.times.gap(),
            "residual": clocks.times.residual(),
        },
    }


def main(effort: Effort) -> dict[str, Any]:
    seconds = 0.4 if effort.quick else 2.0
    dispatched_ms = dispatch_ms()
    scenes = [observe(scene, seconds, dispatched_ms) for scene in [*grid(), *extras()]]
    return {"dispatch_ms": round(dispatched_ms, 3), "scenes": scenes}


if __name__ == "__main__":
    run_part(main)
