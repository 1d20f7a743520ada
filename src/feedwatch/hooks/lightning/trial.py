"""A trial inside of Lightning's fit: the switchboard stands where the fetcher asks for a batch.

Checkpoints, loggers and progress bars are told nothing: from the beginning of the run they are not among its callbacks.
Validation, learning-rate schedules and the limits of steps and epochs rest while the trial runs.
"""

import math
import sys
from typing import Any, Final

from feedwatch.hooks.lightning.facts import FLAVOURS
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.trial import plan_of
from feedwatch.hooks.trial import Plan, TrialRun
from feedwatch.model.report import Report
from feedwatch.settings import TrialWish

# What writes for the user, or draws over our table.
WRITERS: Final = ("Checkpoint", "ProgressBar", "OnExceptionCheckpoint", "ModelSummary")
# Hooks at which a callback of the user's own would write what it has collected.
ENDS: Final = (
    "on_train_epoch_end",
    "on_train_end",
    "on_fit_end",
    "on_validation_end",
    "on_exception",
    "on_save_checkpoint",
)


class LightningTrial:
    """Made in `setup`; asked after every batch."""

    def __init__(self, run: WatchedRun, trainer: Any, wish: TrialWish) -> None:
        self._run, self._trainer, self._wish = run, trainer, wish
        self.trial = TrialRun(run, wish)

    def step_ends(self) -> None:
        """Raises TrialOver where no trial can be made."""
        if self.trial.board is None and self.trial.due(data_ends=self._epoch_ends_soon()):
            self.trial.begin(self._plan)
            self._take_over()

    def __iter__(self) -> "LightningTrial":
        return self

    def __next__(self) -> Any:
        """As the fetcher's own iterator: (batch, number, number of the loader)."""
        return self.trial.next()

    def _epoch_ends_soon(self) -> bool:
        """The last batch but one, so that nothing that belongs to the end of an epoch has begun."""
        batches, number = self._trainer.num_training_batches, self._trainer.fit_loop.epoch_loop.batch_progress.current
        return bool(number.ready >= batches - 1)

    def _plan(self, report: Report | None) -> Plan:
        trainer, fetcher = self._trainer, self._trainer.fit_loop._data_fetcher
        return plan_of(
            fetcher.combined_loader,
            fetcher.iterator,
            self._run.session.facts,
            report,
            self._wish,
            settle_on=trainer.strategy.root_device.type,
            limit=None if math.isinf(trainer.num_training_batches) else int(trainer.num_training_batches),
        )

    def _take_over(self) -> None:
        trainer = self._trainer
        fit, fetcher, set_ = trainer.fit_loop, trainer.fit_loop._data_fetcher, self._run.undo.set
        set_(fetcher, "iterator", self)
        set_(fetcher, "length", None)
        fetcher.done = False
        set_(fit, "max_batches", float("inf"))
        set_(fit.epoch_loop, "max_steps", -1)
        set_(trainer, "limit_val_batches", 0)
        set_(trainer, "val_check_batch", float("inf"))
        fit.epoch_loop.batch_progress.is_last_batch = False
        # A schedule may know how many steps there are, and raise at the next one.
        if hasattr(trainer.strategy, "lr_scheduler_configs"):
            set_(trainer.strategy, "lr_scheduler_configs", [])


def mute(trainer: Any, own: Any) -> None:
    """In `setup`, before anybody writes. It is not taken back: how Lightning ends a run that was ended from outside is
    told to callbacks and loggers, too. The user's own objects stay as they are; the Trainer is one of a trial.
    """
    trainer.callbacks = [each if each is own else StepsOnly(each) for each in trainer.callbacks if not _writes(each)]
    trainer.loggers = [_dummy_logger() for _ in trainer.loggers]


class StepsOnly:
    """A callback of the user's that works in every step, as it does, and hears of no end at which it could write."""

    def __init__(self, callback: Any) -> None:
        self._callback = callback

    def __getattr__(self, name: str) -> Any:
        return _say_nothing if name in ENDS else getattr(self._callback, name)


def _writes(callback: Any) -> bool:
    return any(kind.__name__ in WRITERS for kind in type(callback).__mro__)


def _say_nothing(*_: Any, **__: Any) -> None:
    return


def _dummy_logger() -> Any:
    """Lightning's own, for this purpose: the user's code may go on calling `self.logger`."""
    for name in FLAVOURS:
        module = sys.modules.get(f"{name}.loggers.logger")
        if module is not None:
            return module.DummyLogger()
    raise RuntimeError("no Lightning is loaded")
