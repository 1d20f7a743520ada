"""What a callback or profiler adds to one training step of a Lightning Trainer.

Two Trainers take turns in one process (contest.py). The clocks are read at the start of each `training_step`, by the
model itself, so that the bare fit is timed without any callback.
"""

import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
# One thread in each of the two fits: torch's own setting holds only for the thread that sets it.
os.environ["OMP_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import Callback, DeviceStatsMonitor, ThroughputMonitor
from lightning.pytorch.loggers import CSVLogger
from lightning.pytorch.profilers import PyTorchProfiler, SimpleProfiler
from torch.utils.data import DataLoader, Dataset, TensorDataset

from benchmarks.contest import Contest
from benchmarks.part import Effort, run_part
from benchmarks.stopwatch import WARM_STEPS, figures
from benchmarks.turns import Side, take_turns

BARE, LOGGED, OURS, EMPTY = "no callback", "no callback, CSVLogger", "feedwatch", "empty callback"
NO_SINK, NO_ITEMS = "feedwatch, its thread idle", "feedwatch, items not timed"


@dataclass(frozen=True, slots=True)
class Size:
    width: int
    layers: int
    batch: int
    steps: int
    steps_per_turn: int  # about 50 ms: longer than feedwatch's thread works at once, shorter than the machine's drift
    items: bool = False  # a data set of Python items instead of rows of a tensor


TINY = Size(32, 1, 4, 1200, 60)
LONGER = Size(512, 3, 32, 240, 8)
MANY_ITEMS = replace(LONGER, batch=64, items=True)


class Items(Dataset):
    """Cheap ones: a view of a row, and a number."""

    def __init__(self, rows: torch.Tensor) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        return self._rows[index], torch.zeros(1)


class Model(pl.LightningModule):
    def __init__(self, size: Size) -> None:
        super().__init__()
        torch.manual_seed(0)
        body = [torch.nn.Linear(size.width, size.width) for _ in range(size.layers)]
        self.layers = torch.nn.Sequential(*body, torch.nn.Linear(size.width, 1))
        self.side: Side | None = None

    def training_step(self, batch, index):
        if self.side is not None:
            self.side.step()
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layers(inputs), targets)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.001)


class Empty(Callback):
    pass


@dataclass(frozen=True, slots=True)
class Variant:
    """`against`: what it is compared with; a monitor that needs a logger is not charged for the logger."""

    callbacks: Callable[[str], list[Any]] = lambda _: []
    profiler: Callable[[str], Any] | None = None
    against: str = BARE
    logger: bool = False
    without: Callable[[], AbstractContextManager[None]] = nullcontext


def _samples(batch: Any) -> int:
    return len(batch[0])


def _feedwatch(directory: str) -> list[Any]:
    from feedwatch.lightning import FeedWatch

    made = FeedWatch(directory, console=False)
    # Half of the time it stands still: a second of its own is two.
    made._settings = replace(made._settings, window_seconds=2 * made._settings.window_seconds)
    return [made]


@contextmanager
def _replaced(owner: Any, name: str) -> Iterator[None]:
    """A method that does nothing, for as long as this fit runs. The fit beside it has no feedwatch to notice."""
    original = getattr(owner, name)
    setattr(owner, name, lambda *_: None)
    try:
        yield
    finally:
        setattr(owner, name, original)


def _no_sink() -> AbstractContextManager[None]:
    from feedwatch.session import Session

    return _replaced(Session, "_take")


def _no_items() -> AbstractContextManager[None]:
    from feedwatch.hooks.torch.loader import WatchedLoader

    return _replaced(WatchedLoader, "install")


VARIANTS: dict[str, Variant] = {
    BARE: Variant(),
    EMPTY: Variant(lambda _: [Empty()]),
    OURS: Variant(_feedwatch),
    "SimpleProfiler": Variant(profiler=lambda directory: SimpleProfiler(directory, "simple")),
    "PyTorchProfiler": Variant(profiler=lambda directory: PyTorchProfiler(directory, "torch")),
    LOGGED: Variant(logger=True),
    "DeviceStatsMonitor": Variant(lambda _: [DeviceStatsMonitor(cpu_stats=True)], against=LOGGED, logger=True),
    "ThroughputMonitor": Variant(
        lambda _: [ThroughputMonitor(lambda batch: len(batch[0]))], against=LOGGED, logger=True
    ),
    NO_SINK: Variant(_feedwatch, without=_no_sink),
    NO_ITEMS: Variant(_feedwatch, without=_no_items),
}
AGAINST = {name: variant.against for name, variant in VARIANTS.items()}
OTHERS = ("SimpleProfiler", "PyTorchProfiler", "DeviceStatsMonitor", "ThroughputMonitor")


class Player:
    def __init__(self, size: Size) -> None:
        self._model, self._batch = Model(size), size.batch
        rows = torch.randn(size.batch * (size.steps + WARM_STEPS), size.width)
        self._data = Items(rows) if size.items else TensorDataset(rows, torch.zeros(len(rows), 1))

    def fit(self, name: str, side: Side | None, steps: int) -> Any:
        variant, self._model.side = VARIANTS[name], side
        with tempfile.TemporaryDirectory() as directory, variant.without():
            callbacks = variant.callbacks(directory)
            trainer = pl.Trainer(
                max_epochs=1,
                limit_train_batches=steps,
                accelerator="cpu",
                callbacks=callbacks,
                profiler=variant.profiler(directory) if variant.profiler else None,
                logger=CSVLogger(directory) if variant.logger else False,
                log_every_n_steps=1 if variant.logger else None,
                enable_checkpointing=False,
                enable_progress_bar=False,
                enable_model_summary=False,
                default_root_dir=directory,
            )
            trainer.fit(self._model, DataLoader(self._data, batch_size=self._batch))
            return callbacks[0].report if name == OURS else None


def measure(size: Size, pairs: Mapping[str, int]) -> dict[str, Any]:
    settle()
    contest = Contest((Player(size), Player(size)), size.steps, size.steps_per_turn)
    variants = contest.measure(pairs, AGAINST)
    said = contest.says_of_itself()
    return {"per_call": 1, "steps": size.steps, "variants": variants, **({"says_of_itself": said} if said else {})}


def lasting(size: Size, step_us: float) -> Size:
    """With as many layers as make a step of about that length on this machine."""
    settle()
    player = Player(replace(size, steps=100))
    side, _ = take_turns(lambda side: player.fit(BARE, side, 100 + WARM_STEPS), lambda _: None, 100)
    took_us = figures(side.turns, side.seconds)["median_wall_us"]
    return replace(size, layers=max(1, round(size.layers * step_us / took_us)))


def settle() -> None:
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)


def shortened(size: Size, effort: Effort) -> Size:
    return replace(size, steps=effort.steps(size.steps))


def tiny(effort: Effort) -> dict[str, Any]:
    return {"tiny": measure(shortened(TINY, effort), dict.fromkeys((EMPTY, OURS), effort.rounds(20)))}


def others(effort: Effort) -> dict[str, Any]:
    """Those that cost hundreds of microseconds need a few pairs only."""
    counts = {**dict.fromkeys(OTHERS, effort.rounds(4)), "SimpleProfiler": effort.rounds(12)}
    return {"tiny": measure(shortened(TINY, effort), counts)}


def longer(effort: Effort) -> dict[str, Any]:
    size = lasting(LONGER, 6500)
    return {"5 ms": measure(shortened(size, effort), {EMPTY: effort.rounds(8), OURS: effort.rounds(14)})}


def many_items(effort: Effort) -> dict[str, Any]:
    """Where the cost of a long step with many items would come from: each suspect switched off, and nobody there."""
    size = replace(lasting(MANY_ITEMS, 9000), steps=effort.steps(MANY_ITEMS.steps))
    return {"9 ms, 64 cheap items": measure(size, dict.fromkeys((OURS, NO_SINK, NO_ITEMS, BARE), effort.rounds(7)))}


PORTIONS = {"tiny": tiny, "others": others, "5 ms": longer, "9 ms": many_items}

if __name__ == "__main__":
    run_part(PORTIONS)
