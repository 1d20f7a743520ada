"""The faults that can happen to any framework: what goes wrong, and what is left to say about it.

Every row trains twice, once without feedwatch and once with it, under the same fault on the user's side; the faults of
our own side (`around`) happen to the watched training alone. What every row must hold is checked in `played`.
"""

import copy
import gc
import json
import os
import pickle
import resource
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.faults.benches import ALL, BATCHES, EPOCHS, KERAS, Inputs, Outcome

PLANTED = "planted by this row"
STEPS = BATCHES * EPOCHS


@dataclass
class Scene:
    """One row in one framework."""

    bench: Any
    where: Path
    error: BaseException = field(default_factory=lambda: RuntimeError(PLANTED))
    watch: Any = None
    outcome: Outcome | None = None  # of the watched training

    @property
    def run(self) -> Path:
        return self.where / "feedwatch"


Act = Callable[[int], None]


@dataclass(frozen=True)
class Row:
    act: Callable[[Scene], Act] = lambda scene: lambda step: None
    around: Callable[[Scene], Any] = lambda scene: nullcontext()
    before: Callable[[Scene], None] = lambda scene: None
    inputs: Callable[[Scene], Inputs | None] = lambda scene: None
    error: Callable[[], BaseException] = lambda: RuntimeError(PLANTED)
    watches: Callable[[Scene], list[Any]] = lambda scene: [scene.watch]
    more: Callable[[Scene], dict[str, Any]] = lambda scene: {}
    frameworks: tuple[str, ...] = ALL
    status: tuple[str, ...] = ("finished",)  # of the report on disk; empty: not asked
    ours_raises: type[BaseException] | None = None  # Ctrl-C in our code is still the user's
    next_fit: bool = True
    threads_left: int = 0
    seconds: float | None = None  # how much longer the watched training may take
    asynchronous: bool = False  # the error may come anywhere, also behind the training: there is nothing to compare
    dies: int | None = None  # exit status of the process: nothing can be checked but its files


ROWS: dict[str, Row] = {}


def row(fault: str, **parts: Any) -> None:
    assert fault not in ROWS
    ROWS[fault] = Row(**parts)


# -- playing a row -------------------------------------------------------------------------------


def played(name: str, bench: Any, where: Path) -> dict[str, Any]:
    """What must be true afterwards, by name; a value that is not True tells what is wrong."""
    made = ROWS[name]
    scene = Scene(bench, where, error=made.error())
    bare, took_s = (None, 0.0) if made.asynchronous else timed(scene, made, [])
    made.before(scene)
    scene.watch = bench.watch(where, console=False)
    with ExitStack() as fault, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fault.enter_context(made.around(scene))
        watched, watched_s = timed(scene, made, made.watches(scene))
    scene.outcome = watched
    found = compared(made, scene, bare, watched)
    found["time"] = made.seconds is None or watched_s - took_s < made.seconds or watched_s - took_s
    found |= after(made, scene) | made.more(scene)
    told = [str(each.message) for each in said if "feedwatch:" in str(each.message)]
    found["quiet"] = len(told) == len(set(told)) or told
    if made.next_fit:
        found["next fit"] = next_fit(scene)
    return found


def timed(scene: Scene, made: Row, watches: list[Any]) -> tuple[Outcome, float]:
    began = time.perf_counter()
    try:
        outcome = scene.bench.train(watches, made.act(scene), made.inputs(scene))
    except RuntimeError as error:
        if not made.asynchronous:
            raise
        outcome = Outcome(b"", (), error)
    return outcome, time.perf_counter() - began


def compared(made: Row, scene: Scene, bare: Outcome | None, watched: Outcome) -> dict[str, Any]:
    if bare is None:
        return {}
    if made.ours_raises is not None:
        return {"error": isinstance(watched.error, (made.ours_raises, SystemExit)) or repr(watched.error)}
    theirs, ours = bare.error is scene.error, watched.error is scene.error
    same = type(watched.error) is type(bare.error) and theirs is ours
    return {
        "weights": watched.weights == bare.weights,
        "next draw": watched.draws == bare.draws,
        "error": same or f"{watched.error!r} instead of {bare.error!r}",
    }


def after(made: Row, scene: Scene) -> dict[str, Any]:
    """While the error, and with it the frames of `fit`, is still held, as in a notebook."""
    gc.collect()
    # Where the end itself is broken, or stalled, its thread and its file are still there.
    found = {"files": made.threads_left > 0 or not open_files(scene.where) or open_files(scene.where)}
    if made.status:
        status = eventually(lambda: status_on_disk(scene), lambda read: read in made.status)
        found["status"] = status in made.status or status
    threads = eventually(our_threads, lambda left: len(left) <= made.threads_left)
    return found | {"threads": len(threads) <= made.threads_left or threads}


def eventually(read: Callable[[], Any], right: Callable[[Any], bool]) -> Any:
    """On torch and JAX a hook of a failed fit may still run on Keras' own thread for a moment."""
    for _ in range(50):
        if right(value := read()):
            break
        time.sleep(0.1)
    return value


def status_on_disk(scene: Scene) -> str:
    from feedwatch.errors import ReportError
    from feedwatch.report.load import load_run

    try:
        return load_run(scene.where).status.value
    except ReportError as error:
        return str(error)


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if "feedwatch" in thread.name]


def open_files(where: Path) -> list[str]:
    found = []
    for each in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{each}")
        except OSError:
            continue
        if target.startswith(str(where)):
            found.append(target)
    return found


def next_fit(scene: Scene) -> Any:
    """The next training, with the same callback where it can be used again, is watched to its end."""
    watch = scene.bench.again(scene.watch)
    outcome = scene.bench.train([watch])
    report = watch.report
    if outcome.error is not None or report is None:
        return repr(outcome.error)
    return (report.status.value, report.steps.batches) == ("finished", STEPS) or f"{report.status} {report.steps}"


# -- faults: the user's side ---------------------------------------------------------------------


def at(step: int, do: Callable[[Scene], None]) -> Callable[[Scene], Act]:
    return lambda scene: lambda number: do(scene) if number == step else None


def raise_it(scene: Scene, *_: Any) -> None:
    raise scene.error


def failing_item(index: int) -> Callable[[Scene], Inputs]:
    return lambda scene: Inputs(item=lambda number: raise_it(scene) if number == index else None)


FAILED = {"status": ("failed",)}
STOPPED = {"status": ("interrupted",)}
row("F30-data", inputs=failing_item(5), **FAILED)
row("F30-step", act=at(5, raise_it), **FAILED)
row("F31", inputs=failing_item(5), error=lambda: StopIteration(PLANTED), status=("failed", "finished"))
row("F32-user", act=at(5, raise_it), error=lambda: KeyboardInterrupt(PLANTED), **STOPPED)
row("F32-exit", act=at(5, raise_it), error=lambda: SystemExit(3), **STOPPED)
row("F36-user", act=at(5, raise_it), error=lambda: MemoryError(PLANTED), **FAILED)
row("F45", inputs=lambda scene: Inputs(nan=True))
row("F41", inputs=lambda scene: Inputs(item=lambda number: None))


def kill_worker(number: int) -> None:
    import torch

    if number == 5 and torch.utils.data.get_worker_info() is not None:
        os.kill(os.getpid(), signal.SIGKILL)


def one_of_torchs_errors(scene: Scene) -> dict[str, Any]:
    """torch races: its signal handler, its queue and its pipe each have an error of their own for this."""
    error = scene.outcome.error
    right = isinstance(error, (RuntimeError, OSError, EOFError)) and "feedwatch" not in str(error)
    return {"error": right or repr(error)}


row(
    "F37",
    inputs=lambda scene: Inputs(item=kill_worker, workers=1),
    frameworks=("keras-torch", "lightning", "torch"),
    more=one_of_torchs_errors,
    asynchronous=True,
    **FAILED,
)


def unknown_verdict(scene: Scene) -> dict[str, Any]:
    report = scene.watch.report
    return {
        "verdict": report.verdict.bound.value == "unknown" or report.verdict,
        "no advice": not [finding for finding in report.findings if finding.gain is not None],
    }


row("F47", inputs=lambda scene: Inputs(batches=1), more=unknown_verdict)


def fork_and_leave(scene: Scene) -> None:
    child = os.fork()
    if child == 0:
        if scene.watch is not None and scene.watch.report is not None:
            gc.collect()
        os._exit(0)
    os.waitpid(child, 0)


row("F55", act=at(6, fork_and_leave))


class OffTheMainThread:
    """The whole training on another thread."""

    def __init__(self, bench: Any) -> None:
        self.bench = bench

    def train(self, *args: Any) -> Outcome:
        found: list[Outcome] = []
        thread = threading.Thread(target=lambda: found.append(self.bench.train(*args)))
        thread.start()
        thread.join()
        return found[0]


@contextmanager
def on_another_thread(scene: Scene):
    bench, scene.bench = scene.bench, OffTheMainThread(scene.bench)
    try:
        yield
    finally:
        scene.bench = bench


row("F60", around=on_another_thread)


def several_fits(scene: Scene) -> dict[str, Any]:
    for _ in range(2):
        assert next_fit(scene) is True
    return {"threads of all": not our_threads(), "files of all": not open_files(scene.where)}


row("F57", more=several_fits)
row("F39", watches=lambda scene: [replaced(scene, copy.deepcopy(scene.watch))])
row("F39-pickle", watches=lambda scene: [replaced(scene, pickle.loads(pickle.dumps(scene.watch)))], frameworks=ALL[:-1])
row("F40", watches=lambda scene: [scene.watch, scene.watch], frameworks=KERAS)


def use_tensorflow_too(scene: Scene) -> None:
    import tensorflow as tf

    assert int(tf.constant(1) + 1) == 2


row("F65", before=use_tensorflow_too, act=at(5, use_tensorflow_too), frameworks=("keras-torch",))


def replaced(scene: Scene, watch: Any) -> Any:
    scene.watch = watch
    return watch


def run_again(scene: Scene) -> dict[str, Any]:
    """The cell is run again: a new callback in the same directory, the old error still held by the notebook."""
    watch = scene.bench.watch(scene.where, console=False)
    scene.bench.train([watch])
    return {"again": watch.report.status.value == "finished", "on disk": status_on_disk(scene) == "finished"}


row("F67", act=at(5, raise_it), error=lambda: KeyboardInterrupt(PLANTED), more=run_again, **STOPPED)


# -- faults: the end of the process --------------------------------------------------------------


def dying(do: Callable[[], None]) -> Callable[[Scene], Act]:
    """Late enough that a window was handed over and written."""

    def make(scene: Scene) -> Act:
        def act(step: int) -> None:
            if scene.watch is None:
                return
            time.sleep(1.1 if step in (3, 4) else 0.0)
            if step == 6:
                time.sleep(0.6)
                do()

        return act

    return make


def terminate(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


NOT_LIGHTNING = tuple(framework for framework in ALL if framework != "lightning")
row("F33", act=dying(terminate), dies=-signal.SIGTERM, status=("running",), frameworks=NOT_LIGHTNING)
row("F33-handled", act=at(5, terminate), frameworks=("lightning",), **STOPPED)  # Lightning has a handler of its own
row("F34", act=dying(lambda: os.kill(os.getpid(), signal.SIGKILL)), dies=-signal.SIGKILL, status=("running",))
row("F35", act=dying(lambda: os._exit(3)), dies=3, status=("running",))


# -- faults: output ------------------------------------------------------------------------------


def between(first: int, last: int, begin: Callable[[], None], end: Callable[[], None]) -> Callable[[Scene], Act]:
    return lambda scene: lambda step: begin() if step == first else end() if step == last else None


def limit(which: int, value: Callable[[], int]) -> tuple[Callable[[], None], Callable[[], None]]:
    soft, hard = resource.getrlimit(which)
    return lambda: resource.setrlimit(which, (value(), hard)), lambda: resource.setrlimit(which, (soft, hard))


# In the first epoch and not from its first step on: the threads that TensorFlow starts for an epoch open /dev/urandom,
# and where they cannot, TensorFlow ends the process, with or without us.
FAULTY = range(2, 7)


def slow_steps(act: Callable[[Scene], Act]) -> Callable[[Scene], Act]:
    """So that windows are written during the fault."""

    def make(scene: Scene) -> Act:
        inner = act(scene)

        def both(step: int) -> None:
            inner(step)
            time.sleep(0.25 if scene.watch is not None and step in FAULTY else 0.0)

        return both

    return make


row("F18", act=slow_steps(between(2, 7, *limit(resource.RLIMIT_FSIZE, lambda: 100))))
row("F23", act=slow_steps(between(2, 7, *limit(resource.RLIMIT_NOFILE, lambda: 3))))


@contextmanager
def tf_data_is_read_late(scene: Scene):
    """On a busy machine our thread comes to its first op of TensorFlow when no file can be opened any more. It died of
    that, and training with it.
    """
    from feedwatch.hooks.tf_data.facts import TfPipeline

    soft, read = resource.getrlimit(resource.RLIMIT_NOFILE)[0], TfPipeline.read

    def late(pipeline: Any) -> Any:
        until = time.monotonic() + 5
        while resource.getrlimit(resource.RLIMIT_NOFILE)[0] == soft and time.monotonic() < until:
            time.sleep(0.001)
        return read(pipeline)

    with patch.object(TfPipeline, "read", late):
        yield


row(
    "F23-late",
    act=slow_steps(between(2, 7, *limit(resource.RLIMIT_NOFILE, lambda: 3))),
    around=tf_data_is_read_late,
    frameworks=KERAS[:1],
)
row("F20", act=slow_steps(at(7, lambda scene: shutil.rmtree(scene.run, ignore_errors=True))))


def stalled(scene: Scene):
    return patch("feedwatch.report.tensorboard.SummaryOutput.scalars", lambda *_: time.sleep(60))


def stalled_file(scene: Scene):
    return patch("feedwatch.digest.write_report_file", lambda *_: time.sleep(60))


# Two seconds, and what the watched training itself takes longer on a machine that others share.
row("F21", around=stalled, threads_left=1, seconds=4.5, next_fit=False)
row("F21-report", around=stalled_file, threads_left=1, seconds=4.5, next_fit=False, status=())


def event_files(scene: Scene) -> list[Path]:
    return sorted(scene.run.glob("*tfevents*"))


def both_runs_readable(scene: Scene) -> dict[str, Any]:
    assert next_fit(scene) is True
    from feedwatch.report.load import load_run

    whole = [load_run(file).status.value for file in event_files(scene)]
    return {"both readable": whole == ["finished"] * 2 or whole}


row("F24", more=both_runs_readable)


def broken_tail(scene: Scene) -> None:
    scene.run.mkdir(parents=True)
    (scene.run / "events.out.tfevents.1.old").write_bytes(b"\x10\x00broken")


row(
    "F25",
    before=broken_tail,
    more=lambda scene: {"left alone": event_files(scene)[0].read_bytes() == b"\x10\x00broken"},
)


def plant_links(scene: Scene) -> None:
    scene.run.mkdir(parents=True)
    victim = scene.where.parent / "victim"
    victim.write_text("precious")
    (scene.run / "report.json").symlink_to(victim)


row(
    "F74",
    before=plant_links,
    more=lambda scene: {"victim": (scene.where.parent / "victim").read_text() == "precious"},
)


def kept_earlier(scene: Scene) -> dict[str, Any]:
    assert next_fit(scene) is True
    kept = list(scene.run.glob("before-*-report.json"))
    return {"kept": (len(kept) == 1 and json.loads(kept[0].read_text())["status"] == "finished") or kept}


row("F82", more=kept_earlier)


# -- faults: our own code ------------------------------------------------------------------------


class Nasty(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


def ours_fails(target: str, error: Callable[[], BaseException]) -> Callable[[Scene], Any]:
    def broken(*_: Any, **__: Any) -> None:
        raise error()

    return lambda scene: patch(target, broken)


HAND_OVER = "feedwatch.hooks.run.WatchedRun.hand_over"
WINDOW = "feedwatch.session.Session.hand_over"
row(
    "F29",
    around=ours_fails("feedwatch.session.Session.close", lambda: RuntimeError(PLANTED)),
    status=(),
    threads_left=1,
)
row("F32-ours", around=ours_fails(WINDOW, KeyboardInterrupt), ours_raises=KeyboardInterrupt, status=(), threads_left=1)
row("F36-ours", around=ours_fails(HAND_OVER, MemoryError))
row("F79", around=ours_fails(HAND_OVER, ZeroDivisionError))
row("F85", around=ours_fails(HAND_OVER, Nasty))


def no_path_in_notes(scene: Scene) -> dict[str, Any]:
    text = (scene.run / "report.json").read_text()
    return {"no path": "/home/alice" not in text, "said": "gone.txt" in text}


row(
    "F86",
    around=ours_fails(
        "feedwatch.probe.machine.Machine.read", lambda: OSError(2, "No such file", "/home/alice/secret/gone.txt")
    ),
    more=no_path_in_notes,
)


# -- faults: time --------------------------------------------------------------------------------


def wall_clock_jumps(seconds: float) -> Callable[[Scene], Any]:
    def jumping(scene: Scene):
        readings = iter(range(10**9))
        jumped = staticmethod(lambda: time.time() + (seconds if next(readings) else 0.0))  # after the first reading
        return patch("feedwatch.measure.clock.SystemClock.wall_s", jumped)

    return jumping


row("F42", around=wall_clock_jumps(-3600))
row("F43", around=wall_clock_jumps(7200))


def parts_unknown(scene: Scene) -> dict[str, Any]:
    report = scene.watch.report
    return unknown_verdict(scene) | {"said": any("clock moves in steps of 16 ms" in n for n in report.self_cost.notes)}


row(
    "F44",
    around=lambda scene: patch("feedwatch.measure.clock.SystemClock.tick_ns", lambda _: 16_000_000),
    more=parts_unknown,
)


# -- switched off --------------------------------------------------------------------------------


def nothing_written(scene: Scene) -> dict[str, Any]:
    left = list(scene.where.rglob("*"))
    return {"nothing written": left == [] or left, "no report": scene.watch.report is None}


row(
    "F72",
    before=lambda scene: os.environ.update(FEEDWATCH="0"),
    more=nothing_written,
    status=(),
    next_fit=False,
)
