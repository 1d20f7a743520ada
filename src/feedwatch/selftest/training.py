"""The trainings: a loop of one's own and a Lightning Trainer, with given milliseconds of loading and computing."""

import logging
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import DataLoader, Dataset

from feedwatch.model.facts import Facts
from feedwatch.model.report import PhaseSection, Report
from feedwatch.selftest.bench import Bench
from feedwatch.torch import FeedWatch

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Scene:
    load_ms: float = 1.0
    kernel_ms: float = 10.0
    mb: float = 0.01
    pin: bool = False
    workers: int = 1
    steps: int = 40
    kernels: int = 1
    prepare_ms: float = 0.0  # a kernel in on_after_batch_transfer
    reads: bool = False  # a callback reads the loss at every step
    compiled: bool = False  # with CUDA graphs where there are some

    @property
    def floats(self) -> int:
        return max(4, int(self.mb * 1e6 / 4))


@dataclass(frozen=True, slots=True)
class Watched:
    report: Report
    facts: Facts

    @property
    def codes(self) -> set[str]:
        return {finding.code for finding in self.report.findings}

    def mean_ms(self, phase: str) -> float | None:
        """Of the measured steps. None: not measured."""
        found: PhaseSection | None = self.report.phases.get(phase)
        steps, step_ms = self.report.steps.measured, self.report.verdict.step_ms
        return None if found is None or not steps or step_ms is None else found.share * step_ms


class Items(Dataset):  # type: ignore[misc]
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def __len__(self) -> int:
        return self._scene.steps

    def __getitem__(self, index: int) -> Any:
        time.sleep(self._scene.load_ms / 1e3)
        return torch.full((self._scene.floats,), float(index % 7))


def loader(scene: Scene) -> Any:
    return DataLoader(Items(scene), batch_size=1, num_workers=scene.workers, pin_memory=scene.pin)


def train(bench: Bench, scene: Scene, folder: Path, *, data: Any = None) -> Watched:
    """A loop of one's own."""
    watch = FeedWatch(folder, device=bench.device, console=False)
    step = loop_step(bench, scene)
    for batch in watch(loader(scene) if data is None else data):
        with watch.copying():
            here = batch.to(bench.device, non_blocking=True)
        step(here)
    bench.synchronise()
    report = watch.close()
    assert report is not None
    assert watch._run is not None
    return Watched(report, watch._run.session.facts)


def loop_step(bench: Bench, scene: Scene) -> Callable[[Any], None]:
    model = torch.nn.Linear(4, 1).to(bench.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(batch: Any) -> None:
        for _ in range(scene.kernels):
            bench.kernel(scene.kernel_ms / scene.kernels)
        optimizer.zero_grad()
        model(batch[:, :4]).sum().backward()
        optimizer.step()

    return step


def fit(bench: Bench, scene: Scene, folder: Path, *, profile: bool = False) -> Watched:
    """A Lightning Trainer."""
    import lightning.pytorch as pl

    from feedwatch.lightning import FeedWatch as Callback

    class Model(pl.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
            self.work = _compiled(self.layer, bench) if scene.compiled else self.layer

        def on_after_batch_transfer(self, batch: Any, _: int) -> Any:
            if scene.prepare_ms:
                bench.kernel(scene.prepare_ms)
            return batch

        def training_step(self, batch: Any, _: int) -> Any:
            for _ in range(scene.kernels):
                bench.kernel(scene.kernel_ms / scene.kernels)
            return self.work(batch[:, :4]).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.layer.parameters(), lr=1e-3)

    class Bystander(pl.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, _: Any, __: Any, outputs: Any, *___: Any) -> None:
            if scene.reads:
                outputs["loss"].item()

        def on_train_epoch_end(self, *_: Any) -> None:
            bench.synchronise()

    watch = Callback(folder, profile=profile, console=False)
    with _quiet():
        _trainer(pl, bench, [Bystander(), watch]).fit(Model(), loader(scene))
    assert watch.report is not None
    assert watch._run is not None
    return Watched(watch.report, watch._run.session.facts)


def _compiled(layer: Any, bench: Bench) -> Any:
    """Inductor knows few devices. Elsewhere the graph is traced, and runs as it was traced."""
    if bench.device.type == "cuda":
        return torch.compile(layer, mode="reduce-overhead")
    return torch.compile(layer, backend="eager")


def _trainer(pl: Any, bench: Bench, callbacks: list[Any]) -> Any:
    options: dict[str, Any] = {
        "max_epochs": 1,
        "callbacks": callbacks,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    if bench.device.type == "cuda":
        return pl.Trainer(accelerator="cuda", devices=[bench.index], **options)
    if bench.on_cpu:
        return pl.Trainer(accelerator="cpu", **options)
    # Lightning puts accelerators that it does not know on the CPU, unless the strategy names the device.
    strategy = pl.strategies.SingleDeviceStrategy(device=bench.device, accelerator=_accelerator(pl, bench))
    return pl.Trainer(strategy=strategy, devices=1, **options)


def _accelerator(pl: Any, bench: Bench) -> Any:
    class Plain(pl.accelerators.Accelerator):  # type: ignore[misc]
        def setup_device(self, device: Any) -> None:
            torch.accelerator.set_device_index(device)

        def teardown(self) -> None:
            return

        def get_device_stats(self, device: Any) -> dict[str, Any]:  # noqa: ARG002 -- Lightning's signature
            return {}

        parse_devices = staticmethod(int)
        get_parallel_devices = staticmethod(lambda devices: [bench.device] * devices)
        auto_device_count = staticmethod(lambda: 1)
        is_available = staticmethod(lambda: True)
        name = staticmethod(lambda: "selftest")

    return Plain()


@contextmanager
def _quiet() -> "Iterator[None]":
    loud = logging.getLogger("lightning.pytorch")
    level = loud.level
    loud.setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    loud.setLevel(level)
