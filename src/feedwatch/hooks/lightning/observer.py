"""One fit under observation: made in `setup`, ended by `teardown` or `on_exception`. Nothing of it outlives the fit."""

from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final

from rich.console import Console

from feedwatch.guard import Guard
from feedwatch.hooks.lightning.bystanders import times, watch_loggers
from feedwatch.hooks.lightning.categories import COMPUTE, H2D, INPUT, OTHER, VALIDATION
from feedwatch.hooks.lightning.loggers import attach_html, choose_destination, outboxes_of
from feedwatch.hooks.lightning.loops import LoopWraps
from feedwatch.hooks.lightning.own_cost import OwnCost
from feedwatch.hooks.lightning.pipeline import TrainPipeline
from feedwatch.hooks.lightning.run_facts import other_profiler, read_run_facts
from feedwatch.hooks.lightning.steps import StepMarks
from feedwatch.hooks.lightning.synchronises import name_of_sync
from feedwatch.hooks.lightning.tap import ActionTap
from feedwatch.hooks.torch.device import Categories, DeviceClock, DeviceMeter
from feedwatch.hooks.torch.profiler import TorchProfiler
from feedwatch.hooks.undo import Undo
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.model.report import Report, Status
from feedwatch.probe.profiling import ProfilerWindows
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
        destination = choose_destination(trainer, log_dir)
        assert destination.directory is not None
        self.directory = destination.directory
        self._outboxes = outboxes_of(destination)
        self.session = Session.open(
            read_run_facts(trainer), settings, destination.outputs, destination.directory, instruments.clock
        )
        self._settings = settings
        self._undo = Undo()
        self.guard = Guard("measuring the steps", self.session.note)
        self._logger_guard = Guard("writing to the user's logger", self.session.note)
        self.marks = StepMarks(self.session.recorder, instruments.clock.now_ns)
        self.pipeline = TrainPipeline(self.session, self.marks)
        self._device = self._device_meter(instruments)
        self._windows = self._profiler_windows(trainer)
        self._own: OwnCost | None = None
        self._trainer = trainer

    def install(self, callback: Any) -> None:
        """Set everything, or nothing: a half-installed tap is taken back by the caller."""
        trainer, session = self._trainer, self.session
        loops = LoopWraps(self.marks, self.guard, self._missing)
        loops.before_break = self._windows.epoch_end
        loops.install(trainer, self._undo)
        self.pipeline.install(trainer, loops, self._undo)
        tap = ActionTap(self.marks, self.guard)
        tap.install(trainer.profiler, self._undo)
        self._own = OwnCost(callback, trainer.profiler, tap.spans)
        self.guard.run(watch_loggers, trainer, self.marks, self.guard, self._undo)
        session.each_window("the loader's figures", self.pipeline.read)
        session.each_window("the callbacks' times", self._read_run)
        session.each_window("profiler windows", self._windows.collect)

    # -- the callback's hooks --------------------------------------------------------------------

    @property
    def has_device_clock(self) -> bool:
        return self._device is not None

    def batch_end(self, batch: Any) -> None:
        """The last thing in a step that Lightning tells us."""
        if not self.marks.sampling:
            self._trained(batch)
            return
        began_ns = perf_counter_ns()
        self._trained(batch)
        for outbox in self._outboxes:
            self._logger_guard.run(outbox.drain)
        if self._own is not None:
            self._own.hook(perf_counter_ns() - began_ns)

    def close(self, status: Status) -> None:
        """After `remove`. Whatever fails on the way, the report is written."""
        try:
            self.guard.run(self._last_records)
        finally:
            self.session.close(status)
        for outbox in self._outboxes:
            self._logger_guard.run(outbox.drain)
        report = self.session.report
        if report is not None and report.run.rank == 0:
            self._logger_guard.run(attach_html, self._trainer.loggers, report, self.directory, self._logger_guard)
            self._print(report)
        self._trainer = self._own = None  # nothing of ours keeps a model or its loader alive

    def _print(self, report: Report) -> None:
        if self._settings.console:
            # stderr, where Lightning itself speaks: a script's own output stays clean
            print_summary(report, Console(stderr=True), str(self.directory))

    def remove(self) -> None:
        self._undo.all()

    def _trained(self, batch: Any) -> None:
        marks = self.marks
        marks.trained(self.pipeline.samples_in(batch))
        if self._own is not None:
            self._own.step_end(marks.ended)
        self._windows.step_end(marks.step + 1)

    def _last_records(self) -> None:
        self.marks.epoch_end()
        self._windows.close()
        if self._device is not None:
            self._device.close()
            self.session.recorder.dropped += self._device.dropped

    # -- sources ---------------------------------------------------------------------------------

    def _device_meter(self, instruments: Instruments) -> DeviceMeter | None:
        if instruments.device_clock is None:
            return None
        of = Categories(OTHER, INPUT, H2D, COMPUTE, VALIDATION)
        recorder, now_ns = self.session.recorder, instruments.clock.now_ns
        meter = self.marks.device = DeviceMeter(instruments.device_clock, of, recorder.add, now_ns)
        return meter

    def _profiler_windows(self, trainer: Any) -> ProfilerWindows:
        run, other = self.session.facts.run, other_profiler(trainer)
        return ProfilerWindows(
            TorchProfiler(lambda: other),
            choice=self._settings.profile,
            has_gpu=run.device_kind in ("cuda", "rocm"),
            rank=run.rank,
            warmup_steps=self._settings.warmup_steps,
            note=self.session.note,
        )

    # -- the sink's thread -----------------------------------------------------------------------

    def _read_run(self) -> FactPatch:
        self._say_unseen()
        own_ns = None if self._own is None else self._own.ns_per_step
        if own_ns is not None:
            self.session.own_cost(own_ns)
        run = self.session.facts.run
        if self._device is not None and self._trainer is not None:
            run = replace(run, synchronises=name_of_sync(self._trainer, self._device.syncs.place))
        run = replace(run, other_profiler=run.other_profiler or self._windows.refused_because)
        return {"callbacks": times(self.marks), "run": run}

    def _say_unseen(self) -> None:
        """A Lightning that no longer names what we listen for: that phase is off, and said by name."""
        if self.marks.ended >= ENOUGH_STEPS:
            for category, action in LISTENED.items():
                if category not in self.marks.seen:
                    self._missing(f"profiler action {action}")

    def _missing(self, name: str) -> None:
        version = self.session.facts.run.version
        self.session.warn(f"Lightning {version} has no {name}: what it would tell is not measured")
