"""One run, the training thread's half: open it, tell it facts, hand over marks, close it.

A hook is given a `WatchedRun` (hooks/run.py), which owns one of these:

    session = Session.open(run_facts, settings, outputs, directory, reader=StepReader())   # never in __init__
    session.update(pipeline=..., batch=..., callbacks=...)    # any part of Facts, whenever it is known
    session.each_window("tf.data model", read_stages)         # runs on the sink's thread
    session.hand_over(marks.take())                           # about once per window; never waits
    session.close(Status.FINISHED)                            # idempotent, from any end hook

What the marks mean is found out on the sink's thread (digest.py).
"""

import atexit
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from feedwatch.digest import REPORT_SECONDS, Digest
from feedwatch.guard import Guard, tame, warn_once
from feedwatch.measure.clock import COARSE_NS, SYSTEM_CLOCK, Clock
from feedwatch.measure.marks import Fetch, Log
from feedwatch.measure.steps import StepReader
from feedwatch.measure.window import Piece, WindowCutter
from feedwatch.model.facts import Facts, RunFacts
from feedwatch.model.pipeline import Made
from feedwatch.model.report import Report, Status
from feedwatch.probe.device_memory import DeviceMemory
from feedwatch.probe.machine import Machine
from feedwatch.report.output import Output
from feedwatch.settings import Settings
from feedwatch.sink import CLOSE_SECONDS, Sink
from feedwatch.words import ms

# What a window reader returns: parts of Facts to replace, e.g. {"pipeline": PipelineFacts(...)}.
FactPatch = Mapping[str, Any]

# What a person who asks for the report after the end is willing to wait on a machine that is busy.
ASKED_SECONDS: Final = 10.0

# So many steps of the clock must fit into a step of training, or its parts are a matter of chance.
LEAST_TICKS: Final = 20

# A note is a sentence; a text of a library that goes into one may be a file. A report has to stay readable.
MAX_NOTE: Final = 600
MAX_NOTES: Final = 64

_open_sessions: "weakref.WeakSet[Session]" = weakref.WeakSet()


class Session:
    def __init__(self, facts: Facts, digest: Digest, clock: Clock) -> None:
        self._facts = facts
        self._lock = threading.Lock()
        self._readers: list[tuple[Guard, Callable[[], FactPatch | None]]] = []
        self._digest = digest
        self._clock = clock
        self._said: set[str] = set()
        self._closed = False
        self._lost_logs = 0
        self._last_log: Log | None = None
        self._status = Status.RUNNING  # of the end, once it has come
        self.ends: Callable[[Status], None] | None = None  # how the hook ends a run whose script is ending
        # Fetches that a graph stamped since the last time; asked for on the sink's thread.
        self.stamped_fetches: Callable[[], Iterable[Fetch]] = tuple
        self._stamps_guard = Guard("the source of fetches", self.note)
        # What the loader's workers made lately; asked for on the sink's thread.
        self.made_batches: Callable[[], Sequence[Made]] = tuple
        self._made_guard = Guard("the workers' batches", self.note)
        digest.timeline.made = lambda: self._made_guard.run(self.made_batches) or ()
        self._machine = Machine(facts.run, self.note, clock)
        self._sink: Sink[Log] = Sink(
            self._take, Guard("the report writer", self.note), self._settle, idle_seconds=REPORT_SECONDS
        )
        Guard("the clock", self.note).run(self._look_at_clock)
        known = Guard("the machine's figures", self.note).run(self._machine.start)
        self.update(**(known or {}))
        self.each_window("the machine's figures", self._machine.read)
        _open_sessions.add(self)

    def _look_at_clock(self) -> None:
        tick_ns = self._clock.tick_ns()
        if tick_ns >= COARSE_NS:
            self.steps.least_ns = LEAST_TICKS * tick_ns
            moves, least = ms(tick_ns / 1e6), ms(self.steps.least_ns / 1e6)
            self.note(f"this machine's clock moves in steps of {moves}: the parts of steps below {least} are unknown")

    @classmethod
    def open(
        cls,
        run: RunFacts,
        settings: Settings,
        outputs: Sequence[Output],
        directory: Path | None,
        clock: Clock = SYSTEM_CLOCK,
        *,
        reader: StepReader,
    ) -> "Session":
        """`outputs`: TensorBoard writers; `directory`: where report.json goes (None: nowhere)."""
        started = replace(run, started_s=run.started_s or clock.wall_s())
        windows = WindowCutter(settings.window_seconds, settings.warmup_steps)
        return cls(Facts(run=started), Digest(outputs, directory, reader, windows, clock), clock)

    # -- facts: from any thread ------------------------------------------------------------------

    @property
    def facts(self) -> Facts:
        return self._facts

    @property
    def steps(self) -> StepReader:
        """The engine of this run: how many steps it has read so far, and what they were spent on."""
        return self._digest.reader

    def update(self, **parts: Any) -> None:
        """Replace parts of the facts: run, pipeline, host, batch, transfers, device, callbacks."""
        with self._lock:
            self._facts = replace(self._facts, **parts)

    def each_window(self, name: str, reader: Callable[[], FactPatch | None]) -> None:
        """Call `reader` on the sink's thread whenever marks are handed over: early in the run, then about once per
        window. A reader that keeps failing is switched off.
        """
        self._readers.append((Guard(name, self.note), reader))

    def note(self, text: str) -> None:
        """What was not measured and why; shown in the report, once."""
        line = tame(text, MAX_NOTE)
        with self._lock:
            if line not in self._facts.notes and len(self._facts.notes) < MAX_NOTES:
                self._facts = replace(self._facts, notes=(*self._facts.notes, line))

    def warn(self, text: str) -> None:
        """A note that is also worth one warning on the console."""
        self.note(text)
        warn_once(self._said, text)

    def own_cost(self, ns_per_step: float) -> None:
        """What the hook measured about itself on the training thread."""
        self._digest.own_ns_per_step = ns_per_step

    def counts_memory(self, memory: DeviceMemory | None) -> None:
        """What the framework says of the device's memory. None: it does not tell, and NVML's figure would mislead."""
        self._machine.counts_memory, self._machine.memory = True, memory

    def own_startup(self, took_ns: int) -> None:
        """What opening the run took, once."""
        self._digest.own_startup_ns = (self._digest.own_startup_ns or 0) + took_ns

    def least_steps_per_window(self, steps: int) -> None:
        """Workers deliver in rounds: a window holds at least two of them."""
        self._digest.windows.min_steps = max(self._digest.windows.min_steps, steps)

    # -- marks: from the training thread ---------------------------------------------------------

    def hand_over(self, log: Log) -> None:
        """Never waits."""
        self._sink.put(log)

    def freeze(self) -> None:
        """What follows is no training of the user's: the figures stay as they are. See hooks/trial.py."""
        self._readers.clear()

    def judge_what_comes(self) -> None:
        """From now on `latest` holds every step that is handed over. Without this it may be a few seconds old."""
        self._digest.judges_everything = True

    # -- the end ---------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def latest(self) -> Report | None:
        """The latest report so far. Never waits: this is what a hook may ask for while it closes a run. While training
        runs it is a few seconds old; judging a run costs training more than measuring it.
        """
        return self._digest.latest

    @property
    def beside_ranks(self) -> Report | None:
        """The latest report, with what the other ranks had written when it was. Never waits, and reads no file."""
        latest, beside = self._digest.latest, self._digest.beside_ranks
        return beside if latest is not None and beside is not None and beside.status is latest.status else latest

    @property
    def report(self) -> Report | None:
        """The latest report, complete after close."""
        if self._closed:
            # Training did not wait for a slow disk; whoever asks for the last report by name does.
            self._sink.close(ASKED_SECONDS)
        return self.latest

    def close(self, status: Status = Status.INTERRUPTED, seconds: float = CLOSE_SECONDS) -> None:
        """Idempotent. The last report is written by the sink's thread, within the deadline."""
        if self._closed:
            return
        self._machine.ending()
        self._status = status
        # The sink's thread knows the end by this log.
        self._last_log = Log([], self._clock.wall_s(), self._clock.now_ns())
        self._sink.put(self._last_log)
        self._closed = True  # not earlier: a signal handler may raise anywhere above, and whoever closes tries again
        self.wait(seconds)

    def wait(self, seconds: float = CLOSE_SECONDS) -> None:
        """Until the last report is written. Ctrl-C may end this; the end of the process then waits once more."""
        if not self._sink.close(seconds):
            self.warn("the last report was not written in time: the disk is slow")
        self._machine.stop()
        self.ends = None
        _open_sessions.discard(self)

    # -- the sink's thread -----------------------------------------------------------------------

    def _take(self, log: Log) -> None:
        """Nothing here waits for a disk: what was taken is written in `_settle`."""
        began_ns = time.thread_time_ns()
        pieces = self._read(log)
        self._read_facts(pieces)
        for piece in pieces:
            self._digest.take(piece)
        self._spent_since(began_ns)

    def _read(self, log: Log) -> list[Piece]:
        last = log is self._last_log
        if last:  # whatever fails below, the last report is written
            self._digest.status, self._digest.closing_since_ns = self._status, log.ended_ns
        if self._sink.dropped != self._lost_logs:
            self._lost_logs = self._sink.dropped
            self._digest.reader.lost()
        rows = list(self._stamps_guard.run(self.stamped_fetches) or ())
        pieces = list(self._digest.pieces(log, rows))
        if last:
            pieces.append(self._digest.last_piece(log))
        self._digest.see(log, rows, pieces)
        return pieces

    def _read_facts(self, pieces: Sequence[Piece]) -> None:
        self._machine.paused |= any(piece.gaps for piece in pieces)
        for guard, reader in self._readers:
            patch = guard.run(reader)
            if patch:
                self.update(**patch)

    def _settle(self) -> None:
        began_ns, first = time.thread_time_ns(), self._digest.latest is None
        self._digest.write(self._facts, self._sink.dropped)
        self._spent_since(began_ns, once=first)

    def _spent_since(self, began_ns: int, *, once: bool = False) -> None:
        """`once`: the first report, which also loads the rules."""
        spent_ns = time.thread_time_ns() - began_ns
        if once:
            self._digest.own_startup_ns = (self._digest.own_startup_ns or 0) + spent_ns
        elif not self._closed:  # what is done after the last step takes nothing from any
            self._digest.own_cpu_ns += spent_ns


@atexit.register
def _close_at_exit() -> None:
    """A script that ends without an end hook still gets its report: after an error that nobody caught, or sys.exit."""
    failed = isinstance(getattr(sys, "last_value", None), Exception)
    for session in list(_open_sessions):
        if session.closed:
            session.wait()
        else:
            (session.ends or session.close)(Status.FAILED if failed else Status.INTERRUPTED)
