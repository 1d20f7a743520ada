"""Hugging Face's Trainer: `Trainer(..., callbacks=[FeedWatch("runs/a")])`.

A callback is told when steps begin and end, but not when batches are fetched and copied: see trainer.py.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback, __version__

from feedwatch.guard import Guard
from feedwatch.hooks.destination import checked_log_dir, own_destination
from feedwatch.hooks.huggingface.facts import ARGUMENT_NAMES, run_facts
from feedwatch.hooks.huggingface.loggers import TrackerOutput, tell_trackers, trackers_of
from feedwatch.hooks.huggingface.trainer import WATCHED, WatchedTrainer, trainer_above
from feedwatch.hooks.torch.run import open_run
from feedwatch.measure.marks import END, EPOCH, EPOCH_END
from feedwatch.measure.steps import Ends
from feedwatch.model.report import Report, Status
from feedwatch.settings import Settings, switched_off, wished_trial

if TYPE_CHECKING:
    from feedwatch.hooks.huggingface.trial import TrainerTrial


class FeedWatch(TrainerCallback):  # type: ignore[misc]
    """Nothing is alive before training begins."""

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        *,
        console: bool = True,
        progress: bool = False,
        trial: bool | float = False,
    ) -> None:
        """`log_dir`: by default the directory to which the Trainer itself writes. `trial`: measure what other settings
        of the loader gain, and end the run (docs/trials.md).
        """
        self._settings = Settings(console=console, progress=progress, trial=wished_trial(trial))
        self.log_dir: Path | None = checked_log_dir(log_dir)
        self._watched: WatchedTrainer | None = None
        self._trial: TrainerTrial | None = None
        self._limit_again: Callable[[], None] | None = None  # in a trial: gives the user's arguments back

    @property
    def report(self) -> Report | None:
        """The latest report; complete after training."""
        return None if self._watched is None else self._watched.run.report

    def _repr_html_(self) -> str:
        """What a notebook shows of it."""
        from feedwatch.report.card import render_card

        return render_card(self.report)

    # -- hooks -----------------------------------------------------------------------------------

    def on_init_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """In a trial trackers are not told, not even of its beginning."""
        if self._settings.trial is not None and not switched_off():
            from feedwatch.hooks.huggingface.trial import lift_limit, mute

            trainer = trainer_above(self)
            if trainer is not None:
                Guard("feedwatch").run(mute, trainer)
                self._limit_again = Guard("feedwatch").run(lift_limit, args)

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._close(Status.INTERRUPTED)  # a training that ended without telling us
        if self._limit_again is not None:
            self._limit_again()
            self._limit_again = None  # from now on the limit is the user's own
        trainer = trainer_above(self)
        if not switched_off() and (trainer is None or WATCHED not in vars(trainer)):
            trackers = Guard("feedwatch").run(trackers_of, trainer, args, state, control) or ()
            Guard("feedwatch").run(self._open, args, trainer, more.get("train_dataloader"), trackers)
            if self._settings.trial is not None and self._watched is not None and trainer is not None:
                from feedwatch.hooks.huggingface.trial import TrainerTrial

                self._trial = TrainerTrial(self._watched, trainer, self._settings.trial)

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        watched = self._watched
        if watched is not None:
            watched.batch = 0
            watched.run.mark(EPOCH, (int(state.epoch or 0), state.global_step * args.gradient_accumulation_steps))

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        watched = self._watched
        if watched is not None:
            run = watched.run
            run.append((run.now_ns(), END, watched.batch))
            if run.due():
                run.hand_over()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self._watched is not None:
            self._watched.run.mark(EPOCH_END)
            self._watched.pause_device()
        if self._trial is not None:
            self._trial.trial.pause()

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self._trial is not None:
            self._trial.trial.over()  # what comes behind the training would save its weights
        self._close(Status.FINISHED)

    def beside(self, kind: type) -> bool:
        """Whether the same Trainer has a callback of exactly this class."""
        handler = getattr(trainer_above(self), "callback_handler", None)
        return any(type(each) is kind for each in getattr(handler, "callbacks", ()))

    # -- a watched training ----------------------------------------------------------------------

    def _open(self, args: Any, trainer: Any, loader: Any, trackers: tuple[TrackerOutput, ...]) -> None:
        home = self.log_dir or Path(getattr(args, "logging_dir", None) or args.output_dir)
        if self._settings.trial is not None:
            from feedwatch.hooks.trial import trial_home

            home, trackers = trial_home(self._settings.trial, home), ()
        own = own_destination(home)
        destination = replace(own, outputs=(*own.outputs, *trackers))
        opened = open_run(run_facts(args), self._settings, destination, args.device, Ends.MARKED)
        tell_trackers(opened.run, trackers)
        opened.loaders.argument_names = {"": type(args).__name__, **ARGUMENT_NAMES}
        watched = self._watched = WatchedTrainer(*opened)
        if hasattr(trainer, "get_batch_samples"):
            watched.install(trainer, loader)
            return
        opened.run.session.steps.measured = False
        opened.run.session.warn(f"transformers {__version__} has no get_batch_samples: fetches are not measured")

    def _close(self, status: Status) -> None:
        if self._watched is not None:
            self._watched.run.close(status)

    def __getstate__(self) -> dict[str, Any]:
        # Threads, files and the user's arguments belong to one process.
        return {**vars(self), "_watched": None, "_trial": None, "_limit_again": None}
