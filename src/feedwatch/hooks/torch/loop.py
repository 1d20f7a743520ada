"""A training loop of your own.

watch = FeedWatch("runs/a")
for epoch in range(epochs):
for batch in watch(loader):
...                        # everything until the next batch is asked for is the step
watch.close()                      # or use it as a context manager
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import torch

from feedwatch.errors import SettingError
from feedwatch.hooks.destination import checked_log_dir, own_destination
from feedwatch.hooks.fetching import WatchedIterable
from feedwatch.hooks.run import WatchedRun, ranks_of_launcher
from feedwatch.hooks.torch.batch import samples_in
from feedwatch.hooks.torch.device import describe_device
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.measure.marks import BEGIN, ENTER, EPOCH, EPOCH_END, GOT, INPUT, LEAVE, LOADER_START
from feedwatch.measure.steps import Ends, StepReader
from feedwatch.model.facts import RunFacts
from feedwatch.model.report import Report, Status
from feedwatch.settings import Settings, switched_off

Batch = TypeVar("Batch")


class FeedWatch:
    """Nothing is alive before the first batch is asked for."""

    def __init__(
        self, log_dir: str | os.PathLike[str], *, console: bool = True, device: "torch.device | str" = "cpu"
    ) -> None:
        """`device`: the one you train on."""
        self._settings = Settings(console=console)
        self._device = torch.device(device)
        self.log_dir: Path | None = checked_log_dir(log_dir)
        self._run: WatchedRun | None = None
        self._epoch = 0
        self._in_epoch = False
        self._left_ns: int | None = None  # a loop was left before its data ended
        self._loaders: TrainLoaders | None = None

    def __call__(self, loader: "Iterable[Batch]") -> "Iterable[Batch]":
        """The loader's batches, each fetch timed. One walk through it is one epoch."""
        if not isinstance(loader, Iterable):
            raise SettingError(f"watch(...) takes something to iterate over, not {type(loader).__name__}")
        if self._run is not None and self._run.closed:
            raise SettingError("this FeedWatch is closed: make a new one for another run")
        return loader if switched_off() else WatchedIterable(loader, self._batches)

    @property
    def report(self) -> Report | None:
        """The latest report; complete after close."""
        return None if self._run is None else self._run.report

    def close(self, status: Status = Status.FINISHED) -> Report | None:
        if self._run is not None:
            if status is Status.FINISHED:
                self._end_left_epoch()
            self._run.close(status)
        return None if self._run is None else self._run.session.latest

    def __enter__(self) -> "FeedWatch":  # noqa: PYI034 -- typing.Self came with Python 3.11
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        failed = Status.FAILED if isinstance(error, Exception) else Status.INTERRUPTED
        self.close(Status.FINISHED if error is None else failed)

    def _batches(self, loader: "Iterable[Batch]") -> "Iterator[Batch]":
        run = self._run = self._run or self._open()
        self._end_left_epoch()
        append, now_ns, marks = run.append, run.now_ns, run.marks
        run.mark(EPOCH, (self._epoch, None))
        self._epoch, self._in_epoch, number = self._epoch + 1, True, 0
        loaders = self._loaders
        assert loaders is not None
        run.guard.run(loaders.see, loader)
        run.mark(ENTER, LOADER_START)
        batches = iter(loader)
        run.mark(LEAVE, LOADER_START)
        try:
            while True:
                append((now_ns(), ENTER, INPUT))
                try:
                    batch = next(batches)
                except StopIteration:
                    break
                got_ns = now_ns()
                append((got_ns, GOT, samples_in(batch, loaders.batch_size)))
                append((got_ns, BEGIN, number))
                number += 1
                if number == 1:
                    run.guard.run(loaders.look_at, batch)
                if got_ns >= marks.due_ns or len(marks.rows) >= marks.most:
                    run.hand_over()
                yield batch
            run.mark(EPOCH_END)
        except GeneratorExit:
            self._left_ns = now_ns()
            raise
        finally:
            self._in_epoch = False

    def _end_left_epoch(self) -> None:
        """A loop that was left by `break` and one that was left by an error look the same from here. Whether the last
        step counts is known when the next loop begins, or by how the run is closed.
        """
        if self._run is not None and self._left_ns is not None:
            self._run.append((self._left_ns, EPOCH_END, None))
            self._left_ns = None

    def _open(self) -> WatchedRun:
        device, ranks = describe_device(self._device), ranks_of_launcher()
        assert self.log_dir is not None
        facts = RunFacts(
            framework="torch",
            version=torch.__version__.partition("+")[0],
            backend="torch",
            device=device.shown,
            device_kind=device.kind,
            device_name=device.name,
            device_id=device.id,
            tensor_cores=device.tensor_cores,
            rank=ranks.rank,
            world_size=ranks.world_size,
            local_ranks=ranks.local_ranks,
        )
        run = WatchedRun(facts, self._settings, own_destination(self.log_dir), StepReader(ends=Ends.NEXT))
        self._loaders = TrainLoaders(run.session)
        run.session.ends = self._script_ends
        run.session.each_window("the loader's figures", self._loaders.read)
        run.undo.later(self._loaders.end)
        return run

    def _script_ends(self, status: Status) -> None:
        """A script that ends between two epochs has trained to its end, although nobody closed the watch."""
        finished = status is Status.INTERRUPTED and not self._in_epoch
        self.close(Status.FINISHED if finished else status)
