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
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.faults import benches
from tests.faults.benches import ALL, BATCHES, EPOCHS, KERAS, TORCH, Inputs, Outcome

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
    inner: Any = ()  # what watched a training inside of it

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
    window_s: float | None = None  # shorter windows than usual, so that some are written in a short training
    console: bool = False
    stalls: bool = False  # needs the disk that stalls
    alone: Callable[[Scene], dict[str, Any]] | None = None  # no training of the usual kind: only this is asked
    uncaught: bool = False  # nobody catches the error: the process ends as a script does
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
    if made.alone is not None:
        return made.alone(scene)
    bare, took_s = (None, 0.0) if made.asynchronous else timed(scene, made, [])
    made.before(scene)
    scene.watch = bench.watch(where, console=made.console)
    if made.window_s is not None:
        scene.watch._settings = replace(scene.watch._settings, window_seconds=made.window_s)
    if made.uncaught:
        benches.caught = lambda call: call()
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
        if made.uncaught or not made.asynchronous:
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
    found = {}
    if made.status:
        status = eventually(lambda: status_on_disk(scene), lambda read: read in made.status)
        found["status"] = status in made.status or status
    threads = eventually(our_threads, lambda left: len(left) <= made.threads_left)
    # Where the end itself is broken its thread and its file are still there.
    files = [] if made.threads_left else open_files(scene.where)
    return found | {"threads": len(threads) <= made.threads_left or threads, "files": files == [] or files}


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


row("F46", inputs=lambda scene: Inputs(batches=0), status=())
row(
    "F38",
    inputs=lambda scene: Inputs(
        workers=1, loader={"multiprocessing_context": "spawn", "collate_fn": lambda items: items}
    ),
    frameworks=("keras-torch", "lightning", "torch"),
    status=(),
)
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


def two_at_once(scene: Scene) -> dict[str, Any]:
    """They share torch's random numbers, so that there are no weights to compare."""
    watches = [scene.bench.watch(scene.where / name, console=False) for name in "ab"]
    threads = [threading.Thread(target=scene.bench.train, args=([watch],)) for watch in watches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [(watch.report.status.value, watch.report.steps.batches) for watch in watches]
    return {"two runs": told == [("finished", STEPS)] * 2 or told, "threads": not our_threads(), **files_of(scene)}


def files_of(scene: Scene) -> dict[str, Any]:
    return {"files": not open_files(scene.where) or open_files(scene.where)}


row("F59", alone=two_at_once, frameworks=TORCH)


def train_another(scene: Scene) -> None:
    inner = [] if scene.watch is None else [scene.bench.watch(scene.where.with_name("inner"), console=False)]
    error = scene.bench.train(inner).error
    assert error is None, error
    scene.inner = inner


def both_counted(scene: Scene) -> dict[str, Any]:
    told = [(watch.report.status.value, watch.report.steps.batches) for watch in (scene.watch, *scene.inner)]
    return {"outer and inner": told == [("finished", STEPS)] * 2 or told}


row("F58", act=at(5, train_another), more=both_counted, frameworks=TORCH)


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


WINDOW_S = 0.1


def after_a_report(do: Callable[[Scene], None]) -> Callable[[Scene], Act]:
    """In the watched training, when a window was handed over and written."""

    def make(scene: Scene) -> Act:
        def act(step: int) -> None:
            if scene.watch is None:
                return
            time.sleep(WINDOW_S if step in (3, 4) else 0.0)
            if step == 6:
                eventually((scene.run / "report.json").exists, bool)
                do(scene)

        return act

    return make


def terminate(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGTERM)


NOT_LIGHTNING = tuple(framework for framework in ALL if framework != "lightning")
KILLED = {"status": ("running",), "window_s": WINDOW_S, "asynchronous": True}
row("F33", act=after_a_report(terminate), dies=-signal.SIGTERM, frameworks=NOT_LIGHTNING, **KILLED)
row("F33-handled", act=at(5, terminate), frameworks=("lightning",), **STOPPED)  # Lightning has a handler of its own
row("F34", act=after_a_report(lambda _: os.kill(os.getpid(), signal.SIGKILL)), dies=-signal.SIGKILL, **KILLED)
row("F35", act=after_a_report(lambda _: os._exit(3)), dies=3, **KILLED)


def press_ctrl_c(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGINT)


LAST_WORDS = {"asynchronous": True, "uncaught": True}
row("F68-error", act=at(5, raise_it), dies=1, status=("failed",), **LAST_WORDS)
row("F68-exit", act=at(5, raise_it), error=lambda: SystemExit(3), dies=3, status=("interrupted",), **LAST_WORDS)
PRESSED = {"act": at(5, press_ctrl_c), "status": ("interrupted",), **LAST_WORDS}
row("F68-ctrl-c", dies=-signal.SIGINT, frameworks=NOT_LIGHTNING, **PRESSED)
row("F68-ctrl-c-handled", dies=1, frameworks=("lightning",), **PRESSED)  # Lightning makes an exit of it


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
            time.sleep(WINDOW_S if scene.watch is not None and step in FAULTY else 0.0)

        return both

    return make


row("F18", act=slow_steps(between(2, 7, *limit(resource.RLIMIT_FSIZE, lambda: 100))), window_s=WINDOW_S)
row("F23", act=slow_steps(between(2, 7, *limit(resource.RLIMIT_NOFILE, lambda: 3))), window_s=WINDOW_S)


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
    window_s=WINDOW_S,
    frameworks=KERAS[:1],
)
row("F20", act=slow_steps(at(7, lambda scene: shutil.rmtree(scene.run, ignore_errors=True))), window_s=WINDOW_S)


def flag(scene: Scene) -> Path:
    """The disk stalls while this file is there (stalled_disk.c)."""
    return scene.where.parent / "stalls"


@contextmanager
def a_disk_that_can_stall(scene: Scene):
    """It goes on again when the training has ended: then the last report is written."""
    os.environ.update(STALL_PREFIX=str(scene.where), STALL_FLAG=str(flag(scene)))
    try:
        yield
    finally:
        flag(scene).unlink(missing_ok=True)


def stall(scene: Scene) -> None:
    if scene.watch is not None:
        flag(scene).touch()


# Two seconds, and what the watched training itself takes longer on a machine that others share.
STALLS = {"stalls": True, "around": a_disk_that_can_stall, "window_s": WINDOW_S}
row("F21", act=at(2, stall), seconds=4.5, **STALLS)


@contextmanager
def ranks_and_trackers(scene: Scene):
    """Whatever could make the end look at the disk once more: other ranks' reports, a page for a tracker."""
    with ExitStack() as stack:
        stack.enter_context(a_disk_that_can_stall(scene))
        if scene.bench.name == "torch":
            stack.enter_context(patch.dict(os.environ, RANK="0", WORLD_SIZE="2", LOCAL_WORLD_SIZE="2"))
        if scene.bench.name == "lightning":
            stack.enter_context(patch.object(scene.bench, "logger", benches.tracker()))
        yield


# After a report: there is something to print when the run ends.
row("F73", act=after_a_report(stall), console=True, seconds=5.5, **STALLS | {"around": ranks_and_trackers})


def ctrl_c_in_a_moment(scene: Scene) -> None:
    if scene.watch is not None:
        threading.Timer(0.6, press_ctrl_c).start()


def stall_and_press(scene: Scene) -> Act:
    stalling, pressing = after_a_report(stall)(scene), at(STEPS - 1, ctrl_c_in_a_moment)(scene)
    return lambda step: (stalling(step), pressing(step))[0]


# Where a machine is busy, it comes a little before the end.
row(
    "F84",
    act=stall_and_press,
    ours_raises=KeyboardInterrupt,
    status=("finished", "interrupted"),
    **STALLS,
)


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


def a_link_for_our_directory(scene: Scene) -> None:
    victim = scene.where.parent / "victims"
    victim.mkdir()
    (victim / "report.json").write_text("precious")
    scene.where.mkdir()
    scene.run.symlink_to(victim)


def nothing_went_there(scene: Scene) -> dict[str, Any]:
    victim = scene.where.parent / "victims"
    left = sorted(each.name for each in victim.iterdir())
    found = {"nothing beside": left == ["report.json"] or left}
    scene.run.unlink()  # so that the next fit has a directory
    return found | {"victim": (victim / "report.json").read_text() == "precious"}


row("F74-directory", before=a_link_for_our_directory, more=nothing_went_there, status=())


def refused(scene: Scene, log_dir: Any, because: str) -> Any:
    from feedwatch.errors import SettingError

    try:
        scene.bench.watch(log_dir, console=False)
    except SettingError as error:
        return because in str(error) or str(error)
    return "no error"


def in_the_way(scene: Scene) -> dict[str, Any]:
    scene.where.write_text("a file")
    return {"refused": refused(scene, scene.where / "run", "cannot be made")}


def at_home(scene: Scene) -> dict[str, Any]:
    """Where `~` is the user's home, and no directory of that name is made."""
    home = scene.where / "home"
    home.mkdir(parents=True)
    os.chdir(scene.where)
    with patch.dict(os.environ, HOME=str(home)):
        watch = scene.bench.watch("~/runs", console=False)
        error = scene.bench.train([watch]).error
    found = {"at home": (home / "runs" / "feedwatch" / "report.json").exists(), "error": error is None or repr(error)}
    return found | {"no other": not (scene.where / "~").exists()}


def without_the_framework(scene: Scene) -> dict[str, Any]:
    kind = scene.bench.name.partition("-")[0]
    for name in [name for name in sys.modules if name.startswith("feedwatch")]:
        del sys.modules[name]
    with patch.dict(sys.modules, {"keras" if kind == "keras" else "torch": None}):
        try:
            __import__(f"feedwatch.{kind}")
        except ImportError as error:
            return {"command": f'pip install "feedwatch[{kind}]"' in str(error) or str(error)}
    return {"command": "no error"}


row("F19", alone=in_the_way)
row("F22", alone=lambda scene: {"refused": refused(scene, "gs://bucket/runs", "local directory")})
row("F88", alone=at_home)
row("F70", alone=without_the_framework)


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
IN_EVERY_STEP = {"act": lambda scene: lambda step: time.sleep(0.002), "window_s": 0.001}
row("F36-ours", around=ours_fails(HAND_OVER, MemoryError), **IN_EVERY_STEP)
row("F79", around=ours_fails(HAND_OVER, ZeroDivisionError), **IN_EVERY_STEP)
row("F85", around=ours_fails(HAND_OVER, Nasty), **IN_EVERY_STEP)


def each_part_of_the_loop_fails_in_turn(scene: Scene) -> dict[str, Any]:
    """Same training, one warning per part. What Lightning and Keras call is listed in their own tests."""
    from feedwatch.hooks.loop import LoopWatch
    from feedwatch.hooks.run import WatchedRun
    from feedwatch.hooks.torch.loader import TrainLoaders
    from feedwatch.hooks.torch.loop import FeedWatch, TorchLooks
    from feedwatch.hooks.walks import Walks
    from feedwatch.session import Session

    parts = [
        (Session, "open"),
        (Session, "hand_over"),
        (WatchedRun, "hand_over"),
        (FeedWatch, "_open"),
        (LoopWatch, "_begin"),
        (TrainLoaders, "see"),
        (TrainLoaders, "look_at"),
        (TrainLoaders, "read"),
        (TorchLooks, "at_iterator"),
        (TorchLooks, "samples"),
        (TorchLooks, "closer"),
        (Walks, "_look_closer"),
    ]
    bare, found = scene.bench.train([]), {}
    for owner, method in parts:
        scene.watch = scene.bench.watch(scene.where / method, console=False)
        scene.watch._settings = replace(scene.watch._settings, window_seconds=0.001)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            with ours_fails_at(owner, method):
                watched = scene.bench.train([scene.watch])
        told = [str(each.message) for each in said if "feedwatch:" in str(each.message)]
        right = watched == bare and len(told) == len(set(told)) == 1
        found[f"{owner.__name__}.{method}"] = right or f"{watched.error!r} {told}"
    return found


def ours_fails_at(owner: type, method: str) -> Any:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("planted")

    return patch.object(owner, method, broken)


row("F28", alone=each_part_of_the_loop_fails_in_turn, frameworks=("torch",))


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
