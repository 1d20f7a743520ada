"""One fit under observation: made in `setup`, ended by `teardown` or `on_exception`. Nothing of it outlives the fit."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.bystanders import times, watch_loggers
from feedwatch.hooks.lightning.categories import COMPUTE, H2D, INPUT, OTHER, VALIDATION
from feedwatch.hooks.lightning.destination import Destination, choose_destination
from feedwatch.hooks.lightning.loops import LoopWraps
from feedwatch.hooks.lightning.pipeline import TrainPipeline
from feedwatch.hooks.lightning.run_facts import read_run_facts
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.lightning.synchronises import name_of_sync
from feedwatch.hooks.lightning.tap import ActionTap
from feedwatch.hooks.lightning.undo import Undo
from feedwatch.hooks.torch.device_clock import DeviceClock
from feedwatch.hooks.torch.device_meter import Categories, DeviceMeter
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.model.report import Report, Status
from feedwatch.probe.host import HostProbe
from feedwatch.report.console import print_summary
from feedwatch.session import FactPatch, Session
from feedwatch.settings import Settings

# After so many trained batches an action that was never named is missing, not late.
ENOUGH_STEPS: Final = 3
LISTENED: Final = {INPUT: "train_dataloader_next", COMPUTE: "run_training_batch"}


@dataclass(frozen=True, slots=True)
class Instruments:
    """The clocks. Tests bring their own."""

    clock: Clock = SYSTEM_CLOCK
    device_clock: DeviceClock | None = None


class Observer:
    def __init__(self, trainer: Any, settings: Settings, log_dir: Path | None, instruments: Instruments) -> None:
        self.destination: Destination = choose_destination(trainer, log_dir)
        self.session = Session.open(
            read_run_facts(trainer),
            settings,
            self.destination.outputs,
            self.destination.directory,
            instruments.clock,
        )
        self._settings = settings
        self._undo = Undo()
        self._guard = Guard("measuring the steps", self.session.note)
        self.marks = StepMarks(self.session.recorder, instruments.clock.now_ns)
        self.pipeline = TrainPipeline(self.session, self.marks)
        self._host = HostProbe()
        self._device = self._device_meter(instruments)
        self._trainer = trainer

    def install(self) -> None:
        """Set everything, or nothing: a half-installed tap is taken back by the caller."""
        trainer, session = self._trainer, self.session
        loops = LoopWraps(self.marks, self._guard, self._missing)
        loops.install(trainer, self._undo)
        self.pipeline.install(trainer, loops, self._undo)
        ActionTap(self.marks, self._guard).install(trainer.profiler, self._undo)
        self._guard.run(watch_loggers, trainer, self.marks, self._guard, self._undo)
        session.each_window("the host's figures", self._read_host)
        session.each_window("the loader's figures", self.pipeline.read)
        session.each_window("the callbacks' times", self._read_run)

    def backward_begin(self) -> None:
        if self._device is not None:
            self._guard.run(self.marks.backward_begin)

    def batch_end(self, batch: Any) -> None:
        """The last thing in a step that Lightning tells us."""
        self._guard.run(self._trained, batch)
        for outbox in self.destination.outboxes:
            if outbox.rows:
                outbox.drain()

    def close(self, status: Status) -> Report | None:
        self.remove()
        self._guard.run(self._last_records)
        self.session.close(status)
        report = self.session.report
        if report is not None and self._settings.console and report.run.rank == 0:
            # stderr, where Lightning itself speaks: a script's own output stays clean
            print_summary(report, Console(stderr=True), str(self.destination.directory))
        for outbox in self.destination.outboxes:
            outbox.drain()
        self._trainer = None  # nothing of ours keeps a model or its loader alive
        return report

    def _trained(self, batch: Any) -> None:
        self.marks.trained(self.pipeline.samples_in(batch))

    def _last_records(self) -> None:
        self.marks.epoch_end()
        if self._device is not None:
            self._device.close()
            self.session.recorder.dropped += self._device.dropped

    def _device_meter(self, instruments: Instruments) -> DeviceMeter | None:
        if instruments.device_clock is None:
            return None
        of = Categories(OTHER, INPUT, H2D, COMPUTE, VALIDATION)
        recorder, now_ns = self.session.recorder, instruments.clock.now_ns
        meter = self.marks.device = DeviceMeter(instruments.device_clock, of, recorder.add, now_ns)
        return meter

    def remove(self) -> None:
        self._undo.all()

    def _read_host(self) -> FactPatch:
        return {"host": self._host.sample()}

    def _read_run(self) -> FactPatch:
        self._say_unseen()
        patch: dict[str, Any] = {"callbacks": times(self.marks)}
        if self._device is not None:
            name = name_of_sync(self._trainer, self._device.syncs.place)
            patch["run"] = replace(self.session.facts.run, synchronises=name)
        return patch

    def _say_unseen(self) -> None:
        """A Lightning that no longer names what we listen for: that phase is off, and said by name."""
        if self.marks.ended >= ENOUGH_STEPS:
            for category, action in LISTENED.items():
                if category not in self.marks.seen:
                    self._missing(f"profiler action {action}")

    def _missing(self, name: str) -> None:
        version = self.session.facts.run.version
        self.session.warn(f"Lightning {version} has no {name}: what it would tell is not measured")
