"""The Trainer itself. Its methods are wrapped on the instance while it trains: `get_batch_samples` fetches all batches
of one optimizer step, `_prepare_inputs` copies one of them, `evaluate` is kept apart.
"""

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.batch import samples_in
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.hooks.torch.meter import DeviceSteps
from feedwatch.hooks.torch.queue import SampledFetches
from feedwatch.hooks.undo import wrap
from feedwatch.measure.marks import BEGIN, ENTER, GOT, H2D, INPUT, LEAVE, VALIDATION
from feedwatch.model.report import Status

# One fetch in so many is looked at more closely: a prime, so that it is not always the same worker's.
SAMPLE_EVERY: Final = 7
# On the Trainer while somebody watches it: a second callback stays passive.
WATCHED: Final = "_feedwatch"
# Where an error of the user's may leave the loop. None of them is told to a callback.
MAY_FAIL: Final = ("get_batch_samples", "training_step", "_maybe_log_save_evaluate")


class WatchedTrainer:
    def __init__(self, run: WatchedRun, loaders: TrainLoaders, device: DeviceSteps | None) -> None:
        self.run = run
        self.batch = 0  # batches of this epoch so far
        self._loaders, self._device = loaders, device

    def install(self, trainer: Any, loader: Any) -> None:
        undo = self.run.undo
        undo.set(trainer, WATCHED, True)
        self.run.guard.run(self._loaders.see, loader)
        undo.set(trainer, "get_batch_samples", self._timed(trainer.get_batch_samples))
        for name, category in (("_prepare_inputs", H2D), ("evaluate", VALIDATION)):
            wrap(undo, trainer, name, partial(self._span, ENTER, category), partial(self._span, LEAVE, category))
        for name in MAY_FAIL:
            if hasattr(trainer, name):
                undo.set(trainer, name, self._told(getattr(trainer, name)))

    def pause_device(self) -> None:
        if self._device is not None:
            self.run.guard.run(self._device.pause, self.run.now_ns())

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def get_batch_samples(epoch_iterator: Any, *rest: Any, **named: Any) -> Any:
            before, device = self.batch, self._device
            result = original(self._fetched(epoch_iterator), *rest, **named)
            if self.batch != before:  # else the data had ended
                ns = self.run.now_ns()
                self.run.append((ns, BEGIN, self.batch))
                if device is not None:
                    device.got_and_begun(ns)
            return result

        return get_batch_samples

    def _fetched(self, batches: Iterator[Any]) -> Iterator[Any]:
        run, device = self.run, self._device
        while True:
            closer = self._look_closer()
            ns = run.now_ns()
            run.append((ns, ENTER, INPUT))
            if device is not None:
                device.asked(ns)
                device = None  # the first batch of a step opens it
            try:
                batch = next(batches)
            except StopIteration:
                return
            got_ns = run.now_ns()
            run.append((got_ns, GOT, samples_in(batch, self._loaders.batch_size)))
            self.batch += 1
            if closer is not None:
                run.guard.run(closer.after_fetch, got_ns - ns)
            elif self.batch == 1:
                run.guard.run(self._loaders.look_at, batch)
            yield batch

    def _look_closer(self) -> SampledFetches | None:
        """At one fetch in a few, and not at the first of an epoch, which also starts the loader."""
        if self.batch % SAMPLE_EVERY != 1:
            return None
        self.run.guard.run(self._loaders.fetches.before_fetch)
        return self._loaders.fetches

    def _span(self, what: int, category: int) -> None:
        ns, device = self.run.now_ns(), self._device
        self.run.append((ns, what, category))
        if device is not None:
            (device.enter if what == ENTER else device.leave)(category, ns)

    def _told(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def told(*args: Any, **named: Any) -> Any:
            try:
                return original(*args, **named)
            except Exception:
                self.run.close(Status.FAILED)
                raise
            except BaseException:
                self.run.close(Status.INTERRUPTED)
                raise

        return told


def trainer_above(callback: Any) -> Any | None:
    """The Trainer stands in the frame that calls its callback."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("self")
        if callback in getattr(getattr(found, "callback_handler", None), "callbacks", ()):
            return found
        frame = frame.f_back
    return None
