"""Thousands of short fits and a long one in each framework while faults are thrown at random; then all is counted.

    python tools/soak.py [MINUTES] [FILE]       # 30 minutes by default, the same time for every framework
    python tools/soak.py --table FILE           # the table of all runs whose figures were kept in FILE

Each framework trains in a process of its own (`--of NAME SECONDS SEED DIRECTORY`), which says at its end what it holds.
"""

import gc
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

ROOT: Final = Path(__file__).parents[1]
FRAMEWORKS: Final = ("keras-tensorflow", "lightning", "torch")
MINUTES: Final = 30.0
# Of its own: the training seeds and uses the global one.
DICE: Final = random.Random()  # noqa: S311 -- throws faults, keeps no secret
# Every so many fits the weights are compared with those of a bare fit.
SAMPLED: Final = 20
# The allocator, the frameworks' caches and the first files come in the first fits: so much of their time, and so many.
WARM_SHARE: Final = 0.25
WARM_FITS: Final = 30
# A framework grows by itself, and torch keeps descriptors of killed workers: so many fits without us tell how much.
BARE_FITS: Final = 30
MOST_GROWTH_MB: Final = 8.0
# Of a framework's time, for the one long fit; and what the user's code takes in each of its steps.
LONG_SHARE: Final = 0.3
LONG_STEP_S: Final = 0.005
LONG_EPOCH_S: Final = 0.06  # about what an epoch of eight such steps takes


# -- faults: each lasts for one short fit ---------------------------------------------------------


@contextmanager
def disk_full(_: Path) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def directory_removed(where: Path) -> Iterator[None]:
    timer = threading.Timer(0.02, lambda: shutil.rmtree(where / "feedwatch", ignore_errors=True))
    timer.start()
    yield
    timer.join()


@contextmanager
def clock_jumps(_: Path) -> Iterator[None]:
    by_s, began = DICE.choice((-3600.0, 7200.0)), time.perf_counter()
    jumping = staticmethod(lambda: time.time() + (by_s if time.perf_counter() - began > 0.03 else 0.0))
    with patch("feedwatch.measure.clock.SystemClock.wall_s", jumping):
        yield


@contextmanager
def hostile_neighbour(where: Path) -> Iterator[None]:
    run = where / "feedwatch"
    with suppress(OSError):  # in the long fit it comes more than once
        run.mkdir(parents=True, exist_ok=True)
        (run / "report.rank00001.json").write_text('{"schema": 1, "run": {"rank": ' + "9" * 400 + "}}")
        (run / "events.out.tfevents.1.evil").write_bytes(bytes(4096))
        with suppress(FileNotFoundError):
            (run / "report.json").unlink()
        (run / "report.json").symlink_to("/dev/zero")
        os.mkfifo(run / "report.rank00002.json")
    yield


@contextmanager
def part_of_ours_fails(_: Path) -> Iterator[None]:
    target = DICE.choice(
        (
            "feedwatch.hooks.run.WatchedRun.hand_over",
            "feedwatch.digest.Digest.write",
            "feedwatch.probe.machine.Machine.read",
        )
    )

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("thrown by the soak")

    with patch(target, broken):
        yield


@contextmanager
def killed_reader(where: Path) -> Iterator[None]:
    """Somebody reads the run and is killed in the middle of it."""
    code = "import pathlib, sys\nwhile True: [p.read_bytes() for p in pathlib.Path(sys.argv[1]).rglob('*events*')]"
    reader = subprocess.Popen([sys.executable, "-S", "-c", code, str(where)], stderr=subprocess.DEVNULL)  # noqa: S603
    yield
    reader.kill()
    reader.wait()


@contextmanager
def nothing(_: Path) -> Iterator[None]:
    yield


class Planted(Exception):  # noqa: N818 -- it is the user's, not an error of ours
    pass


def users_error(step: int) -> None:
    if step == 5:
        raise Planted


def ctrl_c(step: int) -> None:
    if step == 5:
        raise KeyboardInterrupt


def sigterm(step: int) -> None:
    """A handler of the user's own turns it into an exception."""
    if step == 5:
        os.kill(os.getpid(), signal.SIGTERM)


def killed_worker(_: int) -> None:
    """Of the DataLoader, where there is one: see `kill_at`."""


def kill_at(number: int) -> None:
    import torch

    if number == 5 and torch.utils.data.get_worker_info() is not None:
        os.kill(os.getpid(), signal.SIGKILL)


Act = Callable[[int], None]
OURS: Final = (nothing, disk_full, directory_removed, clock_jumps, hostile_neighbour, part_of_ours_fails, killed_reader)
THEIRS: Final[tuple[Act | None, ...]] = (None, None, None, None, users_error, ctrl_c, sigterm, killed_worker)
# What may happen in a fit that goes on: each lasts for some of its seconds.
IN_A_LONG_FIT: Final = (disk_full, directory_removed, clock_jumps, hostile_neighbour, killed_reader)


# -- one framework -------------------------------------------------------------------------------


class Tally:
    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.fits = self.sampled = 0
        self.wrong: list[str] = []
        self.start: dict[str, float] | None = None
        self.before_start = Counter[str]()  # fits and killed workers until then

    def warm(self) -> None:
        self.start = held()
        self.before_start = self.bare_kinds()

    def bare_kinds(self) -> "Counter[str]":
        """What a framework grows by is asked for each kind of fit."""
        killed = self.faults["killed_worker"]
        return Counter({"fit": self.fits + self.sampled - killed, "killed worker": killed})


def held() -> dict[str, float]:
    import psutil

    gc.collect()
    process = psutil.Process()
    own = [thread for thread in threading.enumerate() if "feedwatch" in thread.name]
    return {"memory_mb": process.memory_info().rss / 1e6, "threads": len(own), "descriptors": process.num_fds()}


def grown(start: dict[str, float], end: dict[str, float]) -> dict[str, float]:
    return {name: end[name] - start[name] for name in end}


def bench_for(framework: str) -> Any:
    """Keras trains one model, set back to its beginning for each fit: a new one takes a second and a megabyte."""
    from tests.faults.benches import KerasBench, bench_of

    if not framework.startswith("keras-"):
        return bench_of(framework)

    class OneModel(KerasBench):
        kept: Any = None

        def model(self) -> Any:
            if self.kept is None:
                model = super().model()
                model.optimizer.build(model.trainable_variables)
                states = [*model.variables, *model.optimizer.variables]
                self.kept = model, [(state, state.numpy()) for state in states]
            model, begins = self.kept
            for state, value in begins:
                state.assign(value)
            return model

    return OneModel(framework.removeprefix("keras-"))


def one_fit(bench: Any, where: Path, tally: Tally) -> None:
    from tests.faults.benches import Inputs, Outcome

    ours, theirs = DICE.choice(OURS), DICE.choice(THEIRS)
    if theirs is killed_worker and (bench.name.startswith("keras-") or ours is disk_full):
        theirs = None  # Keras has no workers here; and one that cannot write to shared memory hangs, with or without us
    act = theirs or (lambda _: None)
    inputs = Inputs(item=kill_at, workers=1) if theirs is killed_worker else None
    watch = bench.watch(where, console=False)
    try:
        with ours(where):
            watched = bench.train([watch], act, inputs)
    except RuntimeError as error:  # torch tells of a dead worker wherever the main thread is
        if theirs is not killed_worker:
            raise
        watched = Outcome(b"", (), error)
    tally.fits += 1
    tally.faults[ours.__name__] += 1
    tally.faults["none of the user's" if theirs is None else theirs.__name__] += 1
    if theirs is users_error and not isinstance(watched.error, Planted):
        tally.wrong.append(f"fit {tally.fits}: {watched.error!r} instead of the user's error")
    if theirs is killed_worker and not isinstance(watched.error, (RuntimeError, OSError, EOFError)):
        tally.wrong.append(f"fit {tally.fits}: {watched.error!r} for a killed worker")
    if theirs is None and watched.error is not None:
        tally.wrong.append(f"fit {tally.fits} under {ours.__name__}: {watched.error!r}")
    if tally.fits % SAMPLED == 0 and theirs is not killed_worker:
        bare = bench.train([], act)
        tally.sampled += 1
        if (bare.weights, bare.draws) != (watched.weights, watched.draws):
            tally.wrong.append(f"fit {tally.fits} under {ours.__name__}: other weights or draws than a bare one")


def unreadable(where: Path) -> list[str]:
    """Files of ours that no reader can read: none may be there, whatever was thrown."""
    from feedwatch.report.load import load_run
    from feedwatch.report.tensorboard import read_records

    found = []
    for file in where.rglob("*"):
        if file.is_symlink() or not file.is_file() or "evil" in file.name or ".rank" in file.name:
            continue
        try:
            if "tfevents" in file.name:
                with file.open("rb") as opened:
                    framed_bytes = sum(16 + len(record) for record in read_records(opened))
                    assert framed_bytes == file.stat().st_size, "a torn record"
            elif file.name.endswith("report.json"):
                load_run(file)
            else:
                found.append(f"{file.name}: a draft was left")
        except Exception as error:  # whatever it is, it is the finding
            found.append(f"{file.name}: {error}")
    return found


# -- the long fit --------------------------------------------------------------------------------


class Weather(threading.Thread):
    """Throws one fault after the other at a run, each for some seconds, until it is told to stop."""

    def __init__(self, where: Path) -> None:
        super().__init__(daemon=True)
        self.where = where
        self.thrown: Counter[str] = Counter()
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(DICE.uniform(0.5, 2.0)):
            fault = DICE.choice(IN_A_LONG_FIT)
            with fault(self.where):
                self.thrown[fault.__name__] += 1
                self.over.wait(DICE.uniform(0.5, 3.0))


def long_fit(bench: Any, where: Path, seconds: float) -> dict[str, Any]:
    """Memory is compared between a fifth of the way and the end, threads and descriptors with those before it."""
    from feedwatch.errors import ReportError
    from feedwatch.report.load import load_run
    from tests.faults.benches import BATCHES, Inputs

    inputs = Inputs(epochs=max(10, int(seconds / LONG_EPOCH_S)))
    steps, memory, before = inputs.epochs * BATCHES, [], held()

    def act(step: int) -> None:
        time.sleep(LONG_STEP_S)
        if step in (steps // 5, steps - 1):
            memory.append(held()["memory_mb"])
        if step == steps - 1:  # what is written at the end is to be found there
            weather.over.set()
            weather.join()

    weather, began = Weather(where), time.monotonic()
    weather.start()
    watched = bench.train([bench.watch(where, console=False)], act, inputs)
    took_s = time.monotonic() - began
    after = held()
    bare = bench.train([], lambda _: None, inputs)
    wrong = [f"the long fit: {file}" for file in unreadable(where)]
    if watched.error is not None:
        wrong.append(f"the long fit: {watched.error!r}")
    if (bare.weights, bare.draws) != (watched.weights, watched.draws):
        wrong.append("the long fit: other weights or draws than a bare one")
    try:
        read = load_run(where)
        if (read.status.value, read.steps.batches) != ("finished", steps):
            wrong.append(f"the long fit: {read.status.value} after {read.steps.batches} of {steps} batches")
    except ReportError as error:
        wrong.append(f"the long fit: {error}")
    return {
        "seconds": took_s,
        "steps": steps,
        "memory_mb": memory[-1] - memory[0],
        "thrown": dict(weather.thrown),
        "left": {name: after[name] - before[name] for name in ("threads", "descriptors")},
        "wrong": wrong,
    }


def without_us(bench: Any, fits: "Counter[str]") -> dict[str, float]:
    """What so many bare fits of each kind grow by, estimated from a few."""
    from tests.faults.benches import Inputs

    found: Counter[str] = Counter()
    for kind, inputs in (("fit", None), ("killed worker", Inputs(item=kill_at, workers=1))):
        if fits[kind]:
            before = held()
            for _ in range(BARE_FITS):
                with suppress(RuntimeError):  # of a dead worker, wherever the main thread is
                    bench.train([], lambda _: None, inputs)
            for name, more in grown(before, held()).items():
                found[name] += more * fits[kind] / BARE_FITS
    return dict(found)


def soak(framework: str, seconds: float, seed: int, directory: Path) -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    warnings.simplefilter("ignore")
    DICE.seed(seed)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    bench, tally = bench_for(framework), Tally()
    torn: list[str] = []
    began, short_s = time.monotonic(), (1 - LONG_SHARE) * seconds
    while time.monotonic() < began + short_s or tally.start is None:
        where = directory / f"run{tally.fits}"
        one_fit(bench, where, tally)
        torn += unreadable(where)
        shutil.rmtree(where, ignore_errors=True)
        warm = tally.fits >= WARM_FITS and time.monotonic() > began + WARM_SHARE * short_s
        if warm and tally.start is None:
            tally.warm()
    end, took_s = held(), time.monotonic() - began
    bare = without_us(bench, tally.bare_kinds() - tally.before_start)
    long = long_fit(bench, directory / "long", LONG_SHARE * seconds)
    return {
        "framework": framework,
        "seed": seed,
        "seconds": took_s,
        "fits": tally.fits,
        "sampled": tally.sampled,
        "faults": dict(tally.faults),
        "grown": grown(tally.start, end),
        "bare": bare,
        "long": long,
        "wrong": tally.wrong + torn + long["wrong"],
    }


# -- all of them ---------------------------------------------------------------------------------


def started(framework: str, seconds: float, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--of", framework, str(seconds), str(seed), folder]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FEEDWATCH")}
        quiet = {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        done = subprocess.run(  # noqa: S603
            words, env=environment | quiet, capture_output=True, text=True, check=False, timeout=2 * seconds + 300
        )
    answer = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(answer[-1]) if answer else {"framework": framework, "seed": seed, "died": done.stderr[-2000:]}


HEAD: Final = """\
| | portions | short fits | compared with bare ones | memory, the most of a portion | threads / descriptors | \
long fits | their memory | faults thrown at them | wrong |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"""


def row(framework: str, portions: list[dict[str, Any]]) -> str:
    died = [each for each in portions if "died" in each]
    whole = [each for each in portions if "died" not in each]
    if died or not whole:
        said = " ".join(died[0]["died"].split())[-300:] if died else "not run"
        return f"| {framework} | died: {said} | | | | | | | | |"
    fits, longs = sum(each["fits"] for each in whole), [each["long"] for each in whole]
    thrown = fits - sum(each["faults"].get("nothing", 0) for each in whole)
    most = max(whole, key=lambda each: each["grown"]["memory_mb"] - each["bare"].get("memory_mb", 0.0))
    left = {
        name: sum(each["grown"][name] + each["long"]["left"][name] for each in whole)
        for name in ("threads", "descriptors")
    }
    bare_left = sum(each["bare"].get("descriptors", 0.0) for each in whole)
    return (
        f"| {framework} | {len(whole)}, {sum(each['seconds'] for each in whole):.0f} s of short fits "
        f"| {fits:,} ({thrown:,} under a fault) | {sum(each['sampled'] for each in whole)} "
        f"| {most['grown']['memory_mb']:+.1f} MB, without us {most['bare'].get('memory_mb', 0.0):+.1f} "
        f"| {left['threads']:+.0f} / {left['descriptors']:+.0f}, without us {bare_left:+.0f} "
        f"| {sum(long['seconds'] for long in longs):.0f} s, {sum(long['steps'] for long in longs):,} steps "
        f"| {max(long['memory_mb'] for long in longs):+.1f} MB | {sum(sum(long['thrown'].values()) for long in longs)} "
        f"| {sum(len(each['wrong']) for each in whole)} |"
    )


def too_much(found: dict[str, Any]) -> bool:
    growth_mb = max(found["grown"]["memory_mb"] - found["bare"].get("memory_mb", 0.0), found["long"]["memory_mb"])
    return bool(growth_mb > MOST_GROWTH_MB)


def print_table(found: list[dict[str, Any]]) -> None:
    seeds = sorted({each["seed"] for each in found})
    print(f"Seeds {', '.join(map(str, seeds))}.\n\n{HEAD}")
    for framework in dict.fromkeys(each["framework"] for each in found):
        print(row(framework, [each for each in found if each["framework"] == framework]), flush=True)


def main(minutes: float, kept: Path | None) -> int:
    seconds, seed = minutes * 60 / len(FRAMEWORKS), int(time.time())
    found = []
    for framework in FRAMEWORKS:
        found.append(started(framework, seconds, seed))
        for line in found[-1].get("wrong", ())[:10]:
            print(f"  {framework}: {line}", file=sys.stderr)
        if kept is not None:  # as they come: a soak may be ended early
            with kept.open("a") as file:
                file.write(json.dumps(found[-1]) + "\n")
    print_table(found)
    return sum("died" in each or bool(each["wrong"]) or too_much(each) for each in found)


if __name__ == "__main__":
    words = sys.argv[1:]
    if words[:1] == ["--of"]:
        name, length, chosen, place = words[1:5]
        print(json.dumps(soak(name, float(length), int(chosen), Path(place))))
    elif words[:1] == ["--table"]:
        print_table([json.loads(line) for line in Path(words[1]).read_text().splitlines()])
    else:
        raise SystemExit(main(float(words[0]) if words else MINUTES, Path(words[1]) if words[1:] else None))
