"""Input, copy and compute in a Lightning Trainer: what each way of measuring says, next to the workload's own clock."""

import tempfile
from typing import Any

from benchmarks.bystander_clocks import BatchTimes
from benchmarks.part import Effort, run_part
from benchmarks.reading import phases_of
from benchmarks.scenes import Scene, extras, grid
from benchmarks.workload_lightning import pl, train
from feedwatch.lightning import FeedWatch


class Clocks(pl.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.times = BatchTimes(lambda: self.module.compute_ms)
        self.module: Any = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self.module = pl_module

    def on_train_batch_start(self, *_: Any) -> None:
        self.times.begin()

    def on_train_batch_end(self, *_: Any) -> None:
        self.times.end()


def observe(scene: Scene, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory:
        watch, clocks = FeedWatch(directory, console=False), Clocks()
        truth = train(scene, seconds, [watch, clocks])
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
    scenes, seconds = [*grid(), *extras("slow copy")], 0.4 if effort.quick else 2.0
    return {"scenes": [observe(scene, seconds) for scene in scenes]}


if __name__ == "__main__":
    run_part(main)
