"""A trial inside of Hugging Face's Trainer: the switchboard stands where `get_batch_samples` asks for a batch.

The Trainer logs, saves and evaluates in one place: there it does nothing. Trackers and progress bars are not told.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from feedwatch.hooks.huggingface.loggers import TRACKERS
from feedwatch.hooks.huggingface.trainer import WatchedTrainer
from feedwatch.hooks.torch.trial import plan_of
from feedwatch.hooks.trial import TrialRun
from feedwatch.settings import TrialWish

WRITERS: Final = (
    *TRACKERS,
    "TensorBoardCallback",
    "CodeCarbonCallback",
    "DVCLiveCallback",
    "DagsHubCallback",
    "FlyteCallback",
    "ProgressCallback",
    "PrinterCallback",
    "NotebookProgressCallback",
)
_NEVER: Final = object()  # no batch is this one: a trial ends by itself
# Steps of a training that a trial ends before its own end.
ENDLESS: Final = 10**9
LIMIT: Final = "max_steps"


def mute(trainer: Any) -> None:
    """It is not taken back: a Trainer that made a trial has no trained weights to go on with."""
    handler = trainer.callback_handler
    handler.callbacks = [each for each in handler.callbacks if not _writes(each)]


def lift_limit(args: Any) -> Callable[[], None]:
    """The Trainer reads how long to train when it begins: a trial ends by itself, and not with the user's epochs.
    Returns what puts the user's own limit back, once it has begun.
    """
    before = getattr(args, LIMIT)
    setattr(args, LIMIT, ENDLESS)
    return lambda: setattr(args, LIMIT, before)


def _writes(callback: Any) -> bool:
    return any(kind.__name__ in WRITERS for kind in type(callback).__mro__)


class TrainerTrial:
    def __init__(self, watched: WatchedTrainer, trainer: Any, wish: TrialWish) -> None:
        self._watched, self._trainer, self._wish = watched, trainer, wish
        self.trial = TrialRun(watched.run, wish)
        mute(trainer)
        trainer._maybe_log_save_evaluate = _does_nothing
        self._normally: Callable[..., Any] = trainer.get_batch_samples  # ours, which times
        watched.run.undo.set(trainer, "get_batch_samples", self._get_batch_samples)

    def _get_batch_samples(self, epoch_iterator: Any, *rest: Any, **named: Any) -> Any:
        trial = self.trial
        if trial.board is None:
            if not self._watched.batch or not trial.due():
                return self._normally(epoch_iterator, *rest, **named)
            self._begin(epoch_iterator)
        return type(self._trainer).get_batch_samples(self._trainer, iter(trial.next, _NEVER), *rest, **named)

    def _begin(self, batches: Iterator[Any]) -> None:
        trainer, facts = self._trainer, self._watched.run.session.facts
        loader, device = trainer.callback_handler.train_dataloader, trainer.args.device.type
        self.trial.begin(lambda report: plan_of(loader, batches, facts, report, self._wish, settle_on=device))


def _does_nothing(*_: Any, **__: Any) -> None:
    return
