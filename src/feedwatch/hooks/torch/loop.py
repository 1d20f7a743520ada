"""A PyTorch loop of your own.

watch = FeedWatch("runs/a")
for epoch in range(epochs):
    for batch in watch(loader):
        ...                        # everything until the next batch is asked for is the step
watch.close()                      # or use it as a context manager
"""

import os
from typing import TYPE_CHECKING, Any, Final

import torch

from feedwatch.errors import SettingError
from feedwatch.hooks.destination import own_destination
from feedwatch.hooks.loop import LoopWatch
from feedwatch.hooks.run import WatchedRun
from feedwatch.hooks.torch.batch import samples_in
from feedwatch.hooks.torch.device import is_there
from feedwatch.hooks.torch.facts import ranks_of_group, read_run_facts
from feedwatch.hooks.torch.loader import TrainLoaders
from feedwatch.hooks.torch.run import open_run
from feedwatch.hooks.walks import CloserLook, DeviceSide, Looks
from feedwatch.measure.steps import Ends
from feedwatch.model.report import Report
from feedwatch.settings import Settings, switched_off, wished_trial

if TYPE_CHECKING:
    from feedwatch.hooks.trial import Plan

# One fetch in so many is looked at more closely, and fewer when much is known: primes, so that it is not always the
# same worker's.
SAMPLE_EVERY: Final = 7
LATER_EVERY: Final = 31
MUCH_IS_KNOWN_AT: Final = 50 * SAMPLE_EVERY


class FeedWatch(LoopWatch):
    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        *,
        device: "torch.device | str" = "cpu",
        console: bool = True,
        progress: bool = False,
        start_step: int = 0,
        start_epoch: int = 0,
        trial: bool | float = False,
    ) -> None:
        """`device`: the one you train on; its own clock is asked where it has one. `start_step`, `start_epoch`: where a
        resumed run goes on. `progress`: one line on stderr that is renewed about once a second. `trial`: measure what
        other settings of the loader gain, and end (docs/trials.md).
        """
        try:
            self._device = torch.device(device)
        except (RuntimeError, TypeError) as error:
            raise SettingError(f"device {device!r} is no device of torch's") from error
        if not switched_off() and not is_there(self._device):
            raise SettingError(f"device {str(device)!r} is not there: torch sees no such device on this machine")
        if log_dir is None:
            raise SettingError("log_dir must be the path of a directory, not None")
        settings = Settings(console=console, progress=progress, trial=wished_trial(trial))
        super().__init__(log_dir, settings, start_step=start_step, start_epoch=start_epoch)

    def _open(self) -> tuple[WatchedRun, Looks]:
        assert self.log_dir is not None  # refused by __init__
        version = torch.__version__.partition("+")[0]
        facts = read_run_facts("torch", version, self._device, ranks_of_group())
        home, wish = self.log_dir, self._settings.trial
        if wish is not None:
            from feedwatch.hooks.trial import trial_home

            home = trial_home(wish, home)
        opened = open_run(facts, self._settings, own_destination(home), self._device, Ends.NEXT)
        return opened.run, TorchLooks(opened.loaders, opened.device)

    def _trial_plan(self, run: WatchedRun, loader: Any, batches: Any, report: Report | None) -> "Plan":
        from feedwatch.hooks.torch.trial import plan_of

        wish = self._settings.trial
        assert wish is not None
        return plan_of(loader, batches, run.session.facts, report, wish, settle_on=self._device.type)


class TorchLooks(Looks):
    """What is read of a DataLoader, and of others that have one inside."""

    def __init__(self, loaders: TrainLoaders, device: DeviceSide | None) -> None:
        self.device = device
        self.next_look = 1  # the first fetch also starts the loader
        self._loaders = loaders
        self.at_loader = loaders.see  # type: ignore[method-assign]
        self.at_first = loaders.look_at  # type: ignore[method-assign]
        self.sure_samples = loaders.sure_samples  # type: ignore[method-assign]

    def at_iterator(self, batches: Any) -> None:
        self._loaders.fetches.epoch_begin([batches])

    def samples(self, batch: Any) -> int | None:
        return samples_in(batch, self._loaders.batch_size)

    def closer(self, steps: int) -> CloserLook | None:
        self.next_look = steps + (SAMPLE_EVERY if steps < MUCH_IS_KNOWN_AT else LATER_EVERY)
        return self._loaders.fetches
