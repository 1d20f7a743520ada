"""The loop's joints that Lightning gives no name: validation, `iter(loader)`, the epoch, and the loaders themselves."""

from collections.abc import Callable
from typing import Any

from feedwatch.guard import Guard
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.batch import custom_transfer
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.hooks.torch.meter import DeviceMeter
from feedwatch.hooks.undo import wrap
from feedwatch.measure.marks import ENTER, EPOCH, EPOCH_END, LEAVE, LOADER_START, VALIDATION

Around = tuple[Callable[[], None], Callable[[], None]]  # enter, leave


class Loops:
    def __init__(
        self, run: WatchedRun, loaders: TrainLoaders, meter: DeviceMeter | None, missing: Callable[[str], None]
    ) -> None:
        """`missing` is told what this Lightning does not have."""
        self._run, self._loaders, self._meter, self._missing = run, loaders, meter, missing
        self._guard = Guard("reading the DataLoader", run.session.note)
        self._in_train_setup = False  # a loader that passes now is a training one
        self._reloaded = False
        self._validating = False
        # Set by whoever needs to know.
        self.on_epoch: Callable[[int], None] = lambda _: None
        self.before_validation: Callable[[], None] = lambda: None
        self.after_validation: Callable[[], None] = lambda: None

    def install(self, trainer: Any) -> None:
        fit, epoch = trainer.fit_loop, trainer.fit_loop.epoch_loop
        self._wrap(epoch.val_loop, "val_loop.run", self._validation())
        # iter(fetcher): in `setup_data` for the first epoch and on reload, in `on_run_start` for later ones.
        self._wrap(epoch, "epoch_loop.on_run_start", self._start(trainer))
        self._wrap(fit, "fit_loop.setup_data", self._setup())
        self._wrap(epoch, "epoch_loop.run", self._epoch(trainer))
        self._watch_loaders(trainer.strategy)
        self._guard.run(self._watch_first_batch, trainer)

    def _wrap(self, owner: Any, shown: str, around: Around) -> None:
        name = shown.rpartition(".")[2]
        if not callable(getattr(owner, name, None)):
            self._missing(shown)
            return
        guarded, (enter, leave) = self._run.guard.run, around
        wrap(self._run.undo, owner, name, lambda: guarded(enter), lambda: guarded(leave))

    # -- joints ----------------------------------------------------------------------------------

    def _validation(self) -> Around:
        run, meter = self._run, self._meter

        def enter() -> None:
            self._validating = True
            self.before_validation()
            self._end_profiler_window()
            ns = run.now_ns()
            run.append((ns, ENTER, VALIDATION))
            if meter is not None:
                meter.enter(VALIDATION, ns)

        def leave() -> None:
            self._validating = False
            self.after_validation()
            ns = run.now_ns()
            run.append((ns, LEAVE, VALIDATION))
            if meter is not None:
                meter.leave(VALIDATION, ns)

        return enter, leave

    def _epoch(self, trainer: Any) -> Around:
        run, meter = self._run, self._meter

        def enter() -> None:
            steps_done = int(trainer.fit_loop.epoch_loop.batch_progress.total.ready)
            run.mark(EPOCH, (int(trainer.current_epoch), steps_done))
            self.on_epoch(steps_done)

        def leave() -> None:
            self._end_profiler_window()
            ns = run.now_ns()
            run.append((ns, EPOCH_END, None))
            if meter is not None:
                meter.epoch_end(ns)

        return enter, leave

    def _start(self, trainer: Any) -> Around:
        def leave() -> None:
            self._run.mark(LEAVE, LOADER_START)
            self._loaders.fetches.epoch_begin(_iterators(trainer))

        return lambda: self._run.mark(ENTER, LOADER_START), leave

    def _setup(self) -> Around:
        def enter() -> None:
            self._in_train_setup = self._reloaded = True
            self._run.mark(ENTER, LOADER_START)

        def leave() -> None:
            self._in_train_setup = False
            self._run.mark(LEAVE, LOADER_START)

        return enter, leave

    def _end_profiler_window(self) -> None:
        if self._run.windows is not None:
            self._run.windows.epoch_end()

    # -- loaders ---------------------------------------------------------------------------------

    def _watch_loaders(self, strategy: Any) -> None:
        undo, original = self._run.undo, getattr(strategy, "process_dataloader", None)
        if original is None:
            self._missing("strategy.process_dataloader")
            return

        def process_dataloader(dataloader: Any) -> Any:
            processed = original(dataloader)
            if self._in_train_setup:
                self._guard.run(self._see, processed)
            return processed

        undo.set(strategy, "process_dataloader", process_dataloader)
        undo.later(self._loaders.end)

    def _see(self, loader: Any) -> None:
        if self._reloaded:
            self._reloaded = False
            self._loaders.replaced()
        self._loaders.see(loader)

    def _watch_first_batch(self, trainer: Any) -> None:
        """One look at one batch as it leaves the loader. The attribute is gone before the next step."""
        undo, strategy = self._run.undo, trainer.strategy
        self._loaders.transfer = custom_transfer([trainer.datamodule, trainer.lightning_module])
        original = strategy.batch_to_device

        def batch_to_device(batch: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._validating:
                undo.back(strategy, "batch_to_device")
                self._guard.run(self._loaders.look_at, batch)
            return original(batch, *args, **kwargs)

        undo.set(strategy, "batch_to_device", batch_to_device)


def _iterators(trainer: Any) -> list[Any]:
    """Of this epoch's loaders. Private names of Lightning, so each may be missing; then the queue is not gauged."""
    combined = getattr(getattr(trainer.fit_loop, "_data_fetcher", None), "iterator", None)
    return list(getattr(getattr(combined, "_iterator", None), "iterators", None) or [])
