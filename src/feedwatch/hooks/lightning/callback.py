"""The callback a user sees. Thin: it opens an observer in `setup`, closes it at the end, and marks nothing itself."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feedwatch.guard import Guard
from feedwatch.hooks.destination import checked_log_dir
from feedwatch.hooks.lightning.bases import callback_bases
from feedwatch.hooks.lightning.observer import Instruments, Observer
from feedwatch.hooks.torch.device import device_clock
from feedwatch.model.report import Report, Status
from feedwatch.session import Session
from feedwatch.settings import ProfileChoice, Settings, switched_off

# On the Trainer while somebody watches it: a second callback stays passive.
_WATCHED = "_feedwatch_observer"


class FeedWatchHooks:
    """Nothing alive (lock, thread, file) before `setup`: callbacks are deep-copied, pickled and spawned."""

    def __init__(
        self, log_dir: str | Path | None = None, *, profile: ProfileChoice = "auto", console: bool = True
    ) -> None:
        super().__init__()
        self._settings = Settings(profile=profile, console=console)
        self._off = switched_off()
        self._explicit_dir = checked_log_dir(log_dir)
        self._observer: Observer | None = None
        self._session: Session | None = None
        self._finalizer: Finalize | None = None
        self._trainer: Any = None
        self._report: Report | None = None  # of a copy: a session stays in its process
        self._directory: Path | None = None

    @property
    def report(self) -> Report | None:
        """The latest report; complete after fit."""
        return self._report if self._session is None else self._session.report

    @property
    def log_dir(self) -> Path | None:
        """Where report.json is, known once fit has begun."""
        return self._directory

    def instruments(self, trainer: Any) -> Instruments:
        """The clocks to measure with."""
        return Instruments(device_clock=device_clock(trainer.strategy.root_device))

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self._off or str(getattr(stage, "value", stage)) != "fit":
            return
        guard = Guard("feedwatch")
        if self._observer is not None:  # a fit that ended without telling us
            guard.run(self._close, Status.INTERRUPTED)
        if _WATCHED in vars(trainer):
            return
        guard.run(self._open, trainer)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        observer = self._observer
        if observer is not None:
            observer.guard.run(observer.batch_end, batch)

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        observer = self._observer
        if observer is not None and observer.has_device_clock:
            observer.guard.run(observer.marks.backward_begin)

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        if self._observer is not None:
            Guard("closing the report").run(self._close, status_of(exception))

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if self._observer is not None:
            Guard("closing the report").run(self._close, Status.FINISHED)

    def _open(self, trainer: Any) -> None:
        observer = Observer(trainer, self._settings, self._explicit_dir, self.instruments(trainer))
        try:
            observer.install(self)
        except Exception:
            observer.remove()
            raise
        setattr(trainer, _WATCHED, True)
        self._trainer = trainer
        self._observer, self._directory = observer, observer.directory
        self._session = observer.session
        self._finalizer = at_end_of_child(self._close)

    def _close(self, status: Status) -> None:
        observer, self._observer = self._observer, None
        if observer is None:
            return
        trainer, self._trainer = self._trainer, None
        if self._finalizer is not None:
            self._finalizer.cancel()
            self._finalizer = None
        vars(trainer).pop(_WATCHED, None)
        try:
            observer.remove()
        finally:
            # torch tells of a dead worker by raising in the main thread wherever it is, and it may be here.
            observer.close(status)

    def __getstate__(self) -> dict[str, Any]:
        """What lives belongs to this process and this fit; `log` is the module's, lent by Lightning for a fit."""
        state = {name: value for name, value in vars(self).items() if name not in ("log", "log_dict")}
        return {
            **state,
            "_observer": None,
            "_trainer": None,
            "_session": None,
            "_finalizer": None,
            "_report": self.report,
        }


def at_end_of_child(close: Callable[[Status], None]) -> Finalize | None:
    """A rank of ddp_spawn or ddp_fork that raises gets no `on_exception`, and a forked one no atexit either."""
    if multiprocessing.parent_process() is None:
        return None
    return Finalize(None, Guard("closing the report").run, args=(close, Status.INTERRUPTED), exitpriority=10)


def status_of(exception: BaseException) -> Status:
    """Ctrl-C and SIGTERM interrupt a run; everything else fails it."""
    interrupted = isinstance(exception, (KeyboardInterrupt, SystemExit))
    return Status.INTERRUPTED if interrupted or type(exception).__name__ == "SIGTERMException" else Status.FAILED


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
