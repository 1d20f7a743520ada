"""The callback a user sees, and the fit it watches. Nothing of a watched fit outlives the fit."""

import importlib
import importlib.util
import multiprocessing
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from feedwatch.guard import Guard
from feedwatch.hooks.destination import Destination, checked_log_dir, own_destination
from feedwatch.hooks.lightning.facts import (
    FLAVOURS,
    name_of_sync,
    other_profiler,
    read_run_facts,
    validations_per_epoch,
)
from feedwatch.hooks.lightning.loggers import attach_html, choose_destination, outboxes_of, time_loggers
from feedwatch.hooks.lightning.loops import Loops
from feedwatch.hooks.lightning.tap import CALLBACK, FETCH, NOTHING, PREPARE, STEP, Names, Tap
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.batch import overridden, samples_in
from feedwatch.hooks.torch.device import DeviceClock, device_clock, memory_of
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.hooks.torch.meter import DeviceMeter
from feedwatch.hooks.torch.profiler import TorchProfiler
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.measure.marks import TRAINED
from feedwatch.measure.usual_steps import ColumnReader
from feedwatch.model.report import Report, Status
from feedwatch.session import FactPatch
from feedwatch.settings import ProfileChoice, Settings, TrialWish, switched_off, wished_trial

if TYPE_CHECKING:
    from feedwatch.hooks.lightning.trial import LightningTrial

# On the Trainer while somebody watches it: a second callback stays passive.
WATCHED: Final = "_feedwatch"
# One step in so many is looked at more closely: the loader's queue, CPU time of the fetch, our own hook. A prime, so
# that the sampled steps do not meet the same worker again and again.
SAMPLE_EVERY: Final = 7
# Hooks that Lightning calls of every callback in a step: batch start and end, zero_grad, before and after the backward
# pass, before the optimizer.
HOOKS_PER_STEP: Final = 6
# After so many trained batches an action that was never named is missing, not late.
ENOUGH_STEPS: Final = 3


@dataclass(frozen=True, slots=True)
class Instruments:
    """The clocks. Tests bring their own."""

    clock: Clock = SYSTEM_CLOCK
    device_clock: DeviceClock | None = None


class WatchedFit:
    """Made in `setup`, ended by `teardown` or `on_exception`."""

    def __init__(
        self, callback: Any, trainer: Any, settings: Settings, log_dir: Path | None, instruments: Instruments
    ) -> None:
        wish = settings.trial
        destination = choose_destination(trainer, log_dir) if wish is None else _trial_destination(wish, log_dir)
        clock, on_device = instruments.clock, instruments.device_clock
        reader = ColumnReader(device=on_device is not None)
        run = self.run = WatchedRun(read_run_facts(trainer), settings, destination, reader, clock)
        self.meter = None if on_device is None else DeviceMeter(on_device, run.append, run.now_ns)
        self.loaders = TrainLoaders(run.session)
        self.names = Names()
        prepares = overridden(PREPARE, [trainer.datamodule, trainer.lightning_module]) is not None
        self.tap = Tap(
            run,
            self.names,
            trainer.callbacks,
            callback,
            fetches=self.loaders.fetches,
            meter=self.meter,
            prepares=prepares,
        )
        self._trainer = trainer
        self._trial: LightningTrial | None = None
        if wish is not None:
            from feedwatch.hooks.lightning import trial

            self._trial = trial.LightningTrial(run, trainer, wish)
            trial.mute(trainer, callback)
        self._outboxes = outboxes_of(destination)
        self._logger_guard = Guard("writing to the user's logger", run.session.note)
        self._append, self._now_ns, self._marks = run.append, run.now_ns, run.marks
        self._step = 0  # batches trained so far, resumed ones included
        self._next_sample, self._next_look = 1, 0
        self._called_ns = HOOKS_PER_STEP * (run.guard.run(being_called_ns, callback, run.now_ns) or 0.0)

    def install(self) -> None:
        """Sets everything, or raises: then the caller takes back what was set."""
        run, trainer, tap = self.run, self._trainer, self.tap
        run.undo.set(trainer, WATCHED, True)
        loops = Loops(run, self.loaders, self.meter, self._missing)
        loops.on_epoch = self._epoch_begins
        loops.before_validation, loops.after_validation = tap.quiet, tap.listen
        loops.install(trainer)
        tap.install(trainer.profiler, run.undo)
        run.guard.run(time_loggers, trainer, run, self.names)
        other = other_profiler(trainer)
        # Never automatically: the device's clock sees the copy, and torch's profiler slows every launch after it.
        run.profile_with(TorchProfiler(lambda: other), has_gpu=False)
        run.on_hand_over.append(self._between_steps)
        run.counts_memory(memory_of(trainer.strategy.root_device))
        meter = self.meter
        if meter is not None:
            # The hook's own guard: a device that is lost has been spoken of.
            run.on_close.append(lambda: run.guard.run(meter.close))
        run.on_closed.append(self._tell_loggers)
        run.session.each_window("the loader's figures", self.loaders.read)
        run.session.each_window("the callbacks' times", self._read_run)

    # -- the training thread ---------------------------------------------------------------------

    def batch_end(self, batch: Any) -> None:
        """The last thing in a step that Lightning tells us."""
        now_ns = self._now_ns()
        self._append((now_ns, TRAINED, samples_in(batch, self.loaders.batch_size)))
        if self.meter is not None:
            self.meter.trained()
        self._step += 1
        if self._step >= self._next_look:
            self._look(self._step)
        marks = self._marks
        if now_ns >= marks.due_ns or len(marks.rows) >= marks.most:
            self.run.hand_over()
        if self._trial is not None:
            self._trial.step_ends()

    def backward_begins(self, meter: DeviceMeter) -> None:
        meter.again(self._now_ns())

    def give_up(self) -> None:
        """The hook is switched off: nobody hands marks over any more, so none may be taken."""
        Guard("taking back what was set").run(self.run.undo.all)
        self.run.marks.take()

    def close(self, status: Status) -> None:
        try:
            self.run.close(status)
        finally:
            self._trainer = None  # nothing of ours keeps a model or its loader alive
            self.tap.forget()

    def _look(self, step: int) -> None:
        """The rarer things between two steps: profiler windows, and the beginning and the end of a sampled step."""
        windows = self.run.windows
        assert windows is not None
        windows.step_end(step)
        if step == self._next_sample:
            self.tap.sample()
            self._next_look = step + 1
        else:
            if step > self._next_sample:
                self.tap.unsample()
                self._next_sample = step + SAMPLE_EVERY - 1
            self._next_look = self._next_sample
        self._next_look = min(self._next_look, windows.next_step)

    def _epoch_begins(self, steps_done: int) -> None:
        self._step, self._next_look = steps_done, 0

    def _between_steps(self) -> None:
        for outbox in self._outboxes:
            self._logger_guard.run(outbox.drain)
        self.run.cost.ns_per_step = self._called_ns + (self.tap.own_hook_ns or 0.0)
        if self.meter is not None:
            self.run.cost.add(self.meter.take_cost_ns())

    def _tell_loggers(self, report: Report, seconds: float) -> None:
        for outbox in self._outboxes:
            self._logger_guard.run(outbox.drain)
        assert self.run.directory is not None
        attach_html(self._trainer.loggers, report, self.run.directory, self._logger_guard, seconds)

    # -- the sink's thread -----------------------------------------------------------------------

    def _read_run(self) -> FactPatch:
        steps, run, trainer = self.run.session.steps, self.run.session.facts.run, self._trainer
        run = replace(run, validations_per_epoch=validations_per_epoch(trainer))
        if steps.calls >= ENOUGH_STEPS:
            for action in (FETCH, STEP):
                if action not in self.tap.seen:
                    self._missing(f"profiler action {action}")
        if self.meter is not None and trainer is not None:
            run = replace(run, synchronises=name_of_sync(trainer, self.meter.read_syncs()))
        return {"callbacks": self.names.times(steps.habits()), "run": run}

    def _missing(self, name: str) -> None:
        """A Lightning that no longer has what we listen for: that source is off, and said by name."""
        version = self.run.session.facts.run.version
        self.run.session.warn(f"Lightning {version} has no {name}: what it would tell is not measured")


def being_called_ns(callback: Any, now_ns: Callable[[], int], calls: int = 50) -> float:
    """What Lightning takes to call a hook of ours that does nothing, as it does it: by name, through the profiler."""
    hook = "on_before_zero_grad"
    contexts = {f"{CALLBACK}{callback.state_key}.{hook}": NOTHING}
    began_ns = now_ns()
    for _ in range(calls):
        called = getattr(callback, hook)
        with contexts[f"{CALLBACK}{callback.state_key}.{hook}"]:
            called(None, None, None)
    return (now_ns() - began_ns) / calls


def _trial_destination(wish: TrialWish, log_dir: Path | None) -> Destination:
    from feedwatch.hooks.trial import trial_home

    return own_destination(trial_home(wish, log_dir))


class FeedWatchHooks:
    """Thin: opens a watched fit in `setup` and closes it at the end. Nothing is alive (lock, thread, file) before
    `setup`: callbacks are deep-copied, pickled and spawned.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        *,
        profile: ProfileChoice = "auto",
        console: bool = True,
        progress: bool = False,
        trial: bool | float = False,
    ) -> None:
        """`trial`: measure what other settings of the loader gain, and end the run (docs/trials.md)."""
        super().__init__()
        self._settings = Settings(profile=profile, console=console, progress=progress, trial=wished_trial(trial))
        self._off = switched_off()
        self._explicit_dir = checked_log_dir(log_dir)
        self._directory: Path | None = None
        self._report: Report | None = None  # of a copy: a run stays in its process
        self._clear()

    def _clear(self) -> None:
        self._fit: WatchedFit | None = None
        self._batch_end: Callable[[Any], None] | None = None  # of the fit, while it measures
        self._run: WatchedRun | None = None
        self._finalizer: Finalize | None = None

    @property
    def report(self) -> Report | None:
        """The latest report; complete after fit."""
        return self._report if self._run is None else self._run.report

    def _repr_html_(self) -> str:
        """What a notebook shows of it."""
        from feedwatch.report.card import render_card

        return render_card(self.report)

    @property
    def log_dir(self) -> Path | None:
        """Where report.json is, known once fit has begun."""
        return self._directory

    def instruments(self, trainer: Any) -> Instruments:
        """The clocks to measure with."""
        return Instruments(device_clock=device_clock(trainer.strategy.root_device))

    # -- hooks -----------------------------------------------------------------------------------

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self._off or str(getattr(stage, "value", stage)) != "fit":
            return
        if self._fit is not None:  # a fit that ended without telling us
            self._close(Status.INTERRUPTED)
        if WATCHED not in vars(trainer):
            Guard("feedwatch").run(self._open, trainer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        batch_end = self._batch_end
        if batch_end is not None:
            try:
                batch_end(batch)
            except Exception as error:
                self._failed(error)

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        fit = self._fit
        if fit is not None and fit.meter is not None:
            fit.run.guard.run(fit.backward_begins, fit.meter)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._close(status_of(exception))

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._close(Status.FINISHED)

    # -- a watched fit ---------------------------------------------------------------------------

    def _open(self, trainer: Any) -> None:
        fit = WatchedFit(self, trainer, self._settings, self._explicit_dir, self.instruments(trainer))
        try:
            fit.install()
        except Exception:
            fit.give_up()
            fit.run.session.close(Status.FAILED)
            raise
        self._fit, self._batch_end, self._run = fit, fit.batch_end, fit.run
        self._directory = fit.run.directory
        self._finalizer = at_end_of_child(self._close)

    def _failed(self, error: Exception) -> None:
        fit = self._fit
        if fit is not None:
            fit.run.guard.failed(error)
            if fit.run.guard.off:
                self._batch_end = None
                fit.give_up()

    def _close(self, status: Status) -> None:
        fit, self._fit, self._batch_end = self._fit, None, None
        if fit is None:
            return
        if self._finalizer is not None:
            self._finalizer.cancel()
            self._finalizer = None
        closing = Guard("closing the report")
        closing.run(fit.close, status)
        closing.run(fit.run.close, status)  # does nothing, unless the line above failed on its way

    def __getstate__(self) -> dict[str, Any]:
        """What lives belongs to this process and this fit. `log` is the module's: Lightning lends it for a fit."""
        gone = ("log", "log_dict", "_fit", "_batch_end", "_run", "_finalizer")
        return {**{name: value for name, value in vars(self).items() if name not in gone}, "_report": self.report}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clear()


def at_end_of_child(close: Callable[[Status], None]) -> Finalize | None:
    """A rank of ddp_spawn or ddp_fork that raises gets no `on_exception`, and a forked one no atexit either."""
    if multiprocessing.parent_process() is None:
        return None
    return Finalize(None, close, args=(Status.INTERRUPTED,), exitpriority=10)


def status_of(exception: BaseException) -> Status:
    """Ctrl-C and SIGTERM interrupt a run; everything else fails it."""
    interrupted = isinstance(exception, (KeyboardInterrupt, SystemExit))
    return Status.INTERRUPTED if interrupted or type(exception).__name__ == "SIGTERMException" else Status.FAILED


def callback_bases() -> tuple[type, ...]:
    """Both import names: the callback inherits from every `Callback` that is imported already, because the user's
    Trainer asks for its own. Without any the first installed one is imported; a second is never imported for nothing.
    """
    found = [sys.modules[name] for name in FLAVOURS if hasattr(sys.modules.get(name), "Callback")]
    if not found:
        found = [_first_installed()]
    return tuple(dict.fromkeys(module.Callback for module in found))


def _first_installed() -> Any:
    for name in FLAVOURS:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            return importlib.import_module(name)
    raise ModuleNotFoundError("neither lightning nor pytorch_lightning is installed", name="lightning")


if TYPE_CHECKING:
    import lightning.pytorch
    import pytorch_lightning

    # For a type checker it is a callback of both packages. One that is not installed counts as Any, which fits too.
    class FeedWatch(FeedWatchHooks, lightning.pytorch.Callback, pytorch_lightning.Callback):  # type: ignore[misc]
        pass

else:
    # Module and name as the user imports it: a pickled callback is found again in a spawned rank.
    FeedWatch = type(
        "FeedWatch",
        (FeedWatchHooks, *callback_bases()),
        {"__module__": "feedwatch.lightning", "__doc__": "Why does training wait for data, and what to change."},
    )
