"""A loop of one's own with Keras models under observation: which run it gets, and how a backend's run is opened."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import keras

from feedwatch.errors import SettingError
from feedwatch.hooks.destination import new_home, own_destination
from feedwatch.hooks.keras.facts import run_facts
from feedwatch.hooks.keras.loop_data import LoopData
from feedwatch.hooks.loop import LoopWatch
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.walks import Looks
from feedwatch.measure.steps import Ends
from feedwatch.measure.usual_steps import ColumnReader
from feedwatch.settings import Settings

Batch = TypeVar("Batch")
IN_A_GRAPH: Final = (
    "feedwatch.keras.watch(...) times a loop in Python, and this one is inside a tf.function: iterate outside of it,"
    " and call the tf.function once per batch"
)
# The run that a loop without a `with` left open, by the directory that was asked for: the next walk goes on in it.
_open_loops: "dict[str | None, Watch[Any]]" = {}


class Watch(LoopWatch, Generic[Batch]):
    """What `watch` gives: the data's batches, its length and attributes, and everything that a watch has."""

    def __init__(
        self, data: "Iterable[Batch]", log_dir: str | os.PathLike[str] | None, settings: Settings, **starts: int
    ) -> None:
        super().__init__(log_dir, settings, **starts)
        self._asked_for = None if self.log_dir is None else str(self.log_dir.absolute())
        self._batches_of = self._watched(data, "feedwatch.keras.watch(...)", self._batches)

    def __iter__(self) -> "Iterator[Batch]":
        self._refuse_closed()
        return iter(self._batches_of)

    def __len__(self) -> int:
        return len(self._batches_of)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._batches_of, name)

    def _batches(self, loader: "Iterable[Any]") -> "Iterator[Any]":
        tensorflow = sys.modules.get("tensorflow")
        if tensorflow is not None and tensorflow.inside_function():
            raise SettingError(IN_A_GRAPH)
        earlier = _open_loops.get(self._asked_for)
        if self._run is None and earlier is not None and earlier._alive:
            self._run, self._walks, self.log_dir = earlier._run, earlier._walks, earlier.log_dir
        _open_loops[self._asked_for] = self
        return super()._batches(loader)

    def _open(self) -> tuple[WatchedRun, Looks]:
        home = self.log_dir = self.log_dir or new_home(Path("runs") / time.strftime("keras-%Y%m%d-%H%M%S"))
        backend = keras.backend.backend()
        policy = getattr(keras.config.dtype_policy(), "name", None)
        version = getattr(sys.modules.get(backend), "__version__", "unknown").partition("+")[0]
        # Not "keras": fit and compile, which much advice for Keras is about, are not used here.
        facts = replace(run_facts(None, 1, ()), framework=backend, version=version, precision=policy)
        if backend == "torch":
            import torch
            from keras.src.backend.torch.core import get_device

            from feedwatch.hooks.torch.run import open_run

            opened = open_run(facts, self._settings, own_destination(home), torch.device(get_device()), Ends.NEXT)
            return opened.run, LoopData(opened.run, opened.loaders, opened.device)
        run = WatchedRun(facts, self._settings, own_destination(home), ColumnReader(ends=Ends.NEXT))
        return run, LoopData(run)
