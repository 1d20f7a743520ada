"""One run, and the only wiring: hooks feed it, the sink's thread digests, outputs are written.

A hook does this, all of it on the training thread:

    session = Session.open(run_facts, settings, outputs, directory)   # in the first begin hook, never in __init__
    session.update(pipeline=..., batch=..., callbacks=...)             # any part of Facts, whenever it is known
    session.each_window("tf.data model", read_stages)                  # runs on the sink's thread, once per window
    session.recorder.epoch_begin(epoch, step)
    session.recorder.add(StepRecord(...))                              # once per finished step
    session.recorder.gap(EpochGap(...))                                # between epochs
    session.close(Status.FINISHED)                                     # idempotent, from any end hook
"""

import atexit
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from feedwatch.desk import Desk
from feedwatch.guard import Guard, warn_once
from feedwatch.measure.clock import SYSTEM_CLOCK, Clock
from feedwatch.measure.recorder import StepRecorder
from feedwatch.measure.window import Piece
from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.report import Report, Status
from feedwatch.probe.machine import Machine
from feedwatch.report.output import Output
from feedwatch.report.sink import CLOSE_SECONDS, Sink
from feedwatch.settings import Settings

# What a window reader returns: parts of Facts to replace, e.g. {"pipeline": PipelineFacts(...)}.
FactPatch = Mapping[str, Any]

# What a person who asks for the report after the end is willing to wait on a machine that is busy.
ASKED_SECONDS: Final = 10.0

_open_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


class Session:
    def __init__(self, facts: Facts, settings: Settings, desk: Desk, clock: Clock) -> None:
        self._facts = facts
        self._lock = threading.Lock()
        self._readers: list[tuple[Guard, Callable[[], FactPatch | None]]] = []
        self._desk = desk
        self._said: set[str] = set()
        self._closed = False
        self.ends: Callable[[Status], None] | None = None  # how the hook ends a run whose script is ending
        self._machine = Machine(facts.run, self.note, clock)
        self._sink: Sink[Piece] = Sink(self._digest, Guard("the report writer", self.note))
        self.recorder = StepRecorder(clock, self._sink.put, settings.window_seconds, settings.warmup_steps)
        known = Guard("the machine's figures", self.note).run(self._machine.start)
        self.update(**(known or {}))
        self.each_window("the machine's figures", self._machine.read)
        _open_sessions.add(self)

    @classmethod
    def open(
        cls,
        run: RunFacts,
        settings: Settings,
        outputs: Sequence[Output],
        directory: Path | None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> "Session":
        """`outputs`: TensorBoard writers; `directory`: where report.json goes (None: nowhere)."""
        started = replace(run, started_s=run.started_s or clock.wall_s())
        return cls(Facts(run=started), settings, Desk(outputs, directory, clock), clock)

    # -- facts: from any thread ------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        return self._facts

    def update(self, **parts: Any) -> None:
        """Replace parts of the facts: run, pipeline, host, batch, transfers, device, callbacks."""
        with self._lock:
            self._facts = replace(self._facts, **parts)

    def each_window(self, name: str, reader: Callable[[], FactPatch | None]) -> None:
        """Call `reader` once per window on the sink's thread; a reader that keeps failing is switched off."""
        self._readers.append((Guard(name, self.note), reader))

    def note(self, text: str) -> None:
        """What was not measured and why; shown in the report, once."""
        with self._lock:
            if text not in self._facts.notes:
                self._facts = replace(self._facts, notes=(*self._facts.notes, text))

    def warn(self, text: str) -> None:
        """A note that is also worth one warning on the console."""
        self.note(text)
        warn_once(self._said, text)

    def own_cost(self, ns_per_step: float) -> None:
        """What the hook measured about itself on the training thread."""
        self._desk.own_ns_per_step = ns_per_step

    def tracing(self, ms: float) -> None:
        """Tracing and compilation, where the framework tells."""
        self._desk.tracing_ms = ms

    # -- the end ---------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def report(self) -> Report | None:
        """The latest report, complete after close."""
        if self._closed:
            # Training did not wait for a slow disk; whoever asks for the last report by name does.
            self._sink.close(ASKED_SECONDS)
        return self._desk.latest

    def close(self, status: Status = Status.INTERRUPTED, seconds: float = CLOSE_SECONDS) -> None:
        """Idempotent. The last report is written by the sink's thread, within the deadline."""
        if self._closed:
            return
        self._closed = True
        self._machine.ending()
        self.recorder.hand_over()
        self._desk.status = status
        # An empty slice is the end mark: the last digest sees the final status.
        self._sink.put(Piece([], [], self._desk.clock.wall_s(), self._desk.clock.now_ns(), self.recorder.dropped))
        if not self._sink.close(seconds):
            self.warn("the last report was not written in time: the disk is slow")
        self._machine.stop()
        self.ends = None
        _open_sessions.discard(self)

    # -- the sink's thread -----------------------------------------------------------------------

    def _digest(self, piece: Piece) -> None:
        began_ns = time.thread_time_ns()
        self._machine.paused |= bool(piece.gaps)
        for guard, reader in self._readers:
            patch = guard.run(reader)
            if patch:
                self.update(**patch)
        self._desk.digest(piece, self._facts, self._sink.dropped)
        if self._closed and not piece.records:
            self._desk.close()
        elif not self._closed:  # what is done after the last step takes nothing from any
            self._desk.own_cpu_ns += time.thread_time_ns() - began_ns


@atexit.register
def _close_at_exit() -> None:
    """A script that ends without an end hook still gets its report: after an error that nobody caught, or sys.exit."""
    failed = isinstance(getattr(sys, "last_value", None), Exception)
    for session in list(_open_sessions):
        (session.ends or session.close)(Status.FAILED if failed else Status.INTERRUPTED)
