"""The trackers that the Trainer reports to (W&B, MLflow, trackio, Aim and others) get the curves as well.

TensorBoard has a run of our own. The others are callbacks of the same Trainer: what they are told to log goes through
their own `on_log`, as the Trainer's own figures do, and the Trainer's history is left alone.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from feedwatch.guard import Guard
from feedwatch.hooks.run import WatchedRun
from feedwatch.model.report import Report, Status

TRACKERS: Final = (
    "WandbCallback",
    "MLflowCallback",
    "TrackioCallback",
    "AimCallback",
    "CometCallback",
    "NeptuneCallback",
    "ClearMLCallback",
    "SwanLabCallback",
)
# Their clients may wait for the network, which the training thread must not do, and may be called from any thread. Not
# MLflow: the run that is active belongs to a thread, and what another thread logs begins a run of its own.
ANY_THREAD: Final = ("CometCallback", "NeptuneCallback")
# One row per window. More rows can only wait when one step lasts longer than all these windows together.
OUTBOX_ROWS: Final = 64


def trackers_of(trainer: Any, args: Any, state: Any, control: Any) -> "tuple[TrackerOutput, ...]":
    callbacks = getattr(getattr(trainer, "callback_handler", None), "callbacks", ())
    found = [each for each in callbacks if _known(each, TRACKERS) and callable(getattr(each, "on_log", None))]
    return tuple(TrackerOutput(each, (args, state, control)) for each in found)


def tell_trackers(run: WatchedRun, trackers: "tuple[TrackerOutput, ...]") -> None:
    """On the training thread, and for the last time before they end: what is logged to a run that was ended begins
    another one.
    """
    telling = Guard("writing to a tracker", run.session.note)  # its failures are not the hook's
    for tracker in trackers:
        drain = partial(telling.run, tracker.drain)
        run.on_hand_over.append(drain)
        run.on_closed.append(partial(_drained, drain))
        ends = tracker.callback.on_train_end
        run.undo.set(tracker.callback, "on_train_end", partial(_close_first, run, ends))


def _drained(drain: Callable[[], None], *_: Any) -> None:
    drain()


def _close_first(run: WatchedRun, ends: Callable[..., Any], *args: Any, **named: Any) -> Any:
    run.close(Status.FINISHED)
    return ends(*args, **named)


def _known(callback: Any, names: tuple[str, ...]) -> bool:
    return any(kind.__name__ in names for kind in type(callback).__mro__)


class TrackerOutput:
    """Scalars by `on_log`. The report itself stays in report.json."""

    def __init__(self, callback: Any, told: tuple[Any, Any, Any]) -> None:
        self.callback, self._told = callback, told
        self._any_thread = _known(callback, ANY_THREAD)
        self.rows: deque[dict[str, float]] = deque(maxlen=OUTBOX_ROWS)

    def scalars(self, step: int, values: Mapping[str, float], wall_s: float) -> None:
        if self._any_thread:
            self._log(dict(values))
        else:
            self.rows.append(dict(values))

    def drain(self) -> None:
        """On the training thread, between two steps."""
        while self.rows:
            self._log(self.rows.popleft())

    def _log(self, values: dict[str, float]) -> None:
        self.callback.on_log(*self._told, logs=values)

    def advice(self, step: int, markdown: str, wall_s: float) -> None: ...
    def report(self, step: int, report: Report, wall_s: float) -> None: ...
    def flush(self) -> None: ...
    def close(self) -> None: ...
