"""Thousands of short fits while faults are thrown at random; then everything is counted.

    python tools/soak.py [MINUTES] > docs/soak.md        # 30 minutes by default, half of it per framework

Each framework trains in a process of its own (`--of NAME SECONDS SEED DIRECTORY`), which says at its end what it holds.
"""

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
from contextlib import contextmanager
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
# The allocator, the frameworks' caches and the first files come in the first fits.
WARM_FITS: Final = 30
# A framework grows by itself, TensorFlow by a megabyte per new model: so many fits without us tell how much.
BARE_FITS: Final = 30
MOST_GROWTH_MB: Final = 8.0


# -- faults: each lasts for one fit --------------------------------------------------------------


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
    run.mkdir(parents=True, exist_ok=True)
    (run / "report.rank00001.json").write_text('{"schema": 1, "run": {"rank": ' + "9" * 400 + "}}")
    os.mkfifo(run / "report.rank00002.json")
    (run / "events.out.tfevents.1.evil").write_bytes(bytes(4096))
    (run / "report.json").symlink_to("/dev/zero")
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
    reader = subprocess.Popen([sys.executable, "-S", "-c", code, str(where)])  # noqa: S603
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


OURS: Final = (nothing, disk_full, directory_removed, clock_jumps, hostile_neighbour, part_of_ours_fails, killed_reader)
THEIRS: Final[tuple[Callable[[int], None] | None, ...]] = (None, None, None, None, users_error, ctrl_c, sigterm)


# -- one framework -------------------------------------------------------------------------------


class Tally:
    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.fits = self.sampled = 0
        self.wrong: list[str] = []
        self.start: dict[str, float] | None = None


def held() -> dict[str, float]:
    import gc

    import psutil

    gc.collect()
    process = psutil.Process()
    own = [thread for thread in threading.enumerate() if "feedwatch" in thread.name]
    return {"memory_mb": process.memory_info().rss / 1e6, "threads": len(own), "descriptors": process.num_fds()}


def one_fit(bench: Any, where: Path, tally: Tally) -> None:
    ours, theirs = DICE.choice(OURS), DICE.choice(THEIRS)
    act = theirs or (lambda _: None)
    watch = bench.watch(where, console=False)
    with ours(where):
        watched = bench.train([watch], act)
    tally.fits += 1
    tally.faults[ours.__name__] += 1
    tally.faults["none of the user's" if theirs is None else theirs.__name__] += 1
    if theirs is users_error and not isinstance(watched.error, Planted):
        tally.wrong.append(f"fit {tally.fits}: {watched.error!r} instead of the user's error")
    if theirs is None and watched.error is not None:
        tally.wrong.append(f"fit {tally.fits} under {ours.__name__}: {watched.error!r}")
    if tally.fits % SAMPLED == 0:
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


def soak(framework: str, seconds: float, seed: int, directory: Path) -> dict[str, Any]:
    sys.path.insert(0, str(ROOT))
    from tests.faults.benches import bench_of

    warnings.simplefilter("ignore")
    DICE.seed(seed)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    bench, tally, until = bench_of(framework), Tally(), time.monotonic() + seconds
    torn: list[str] = []
    while time.monotonic() < until:
        where = directory / f"run{tally.fits}"
        one_fit(bench, where, tally)
        torn += unreadable(where)
        shutil.rmtree(where, ignore_errors=True)
        if tally.fits == WARM_FITS:
            tally.start = held()
    end, start = held(), tally.start or held()
    for _ in range(BARE_FITS):
        bench.train([])
    bare_mb = (held()["memory_mb"] - end["memory_mb"]) / BARE_FITS
    return {
        "framework": framework,
        "seconds": seconds,
        "fits": tally.fits,
        "sampled": tally.sampled,
        "faults": dict(tally.faults),
        "grown": {name: end[name] - start[name] for name in end},
        "bare_mb": bare_mb * (tally.fits + tally.sampled - WARM_FITS),
        "wrong": tally.wrong + torn,
    }


# -- all of them ---------------------------------------------------------------------------------


def started(framework: str, seconds: float, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--of", framework, str(seconds), str(seed), folder]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("FEEDWATCH")}
        quiet = {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        done = subprocess.run(  # noqa: S603
            words, env=environment | quiet, capture_output=True, text=True, check=False, timeout=seconds + 300
        )
    answer = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(answer[-1]) if answer else {"framework": framework, "died": done.stderr[-2000:]}


def row(found: dict[str, Any]) -> str:
    if "died" in found:
        return f"| {found['framework']} | died: {' '.join(found['died'].split())[-300:]} | | | | | |"
    grown, fits = found["grown"], found["fits"]
    thrown = fits - found["faults"].get("nothing", 0)
    return (
        f"| {found['framework']} | {found['seconds']:.0f} s | {fits:,} ({thrown:,} under a fault) | {found['sampled']} "
        f"| {grown['memory_mb']:+.1f} MB, without us {found['bare_mb']:+.1f} "
        f"| {grown['threads']:+.0f} / {grown['descriptors']:+.0f} "
        f"| {len(found['wrong'])} |"
    )


def too_much(found: dict[str, Any]) -> bool:
    return bool(found["grown"]["memory_mb"] - found["bare_mb"] > MOST_GROWTH_MB)


def main(minutes: float) -> int:
    seconds, seed = minutes * 60 / len(FRAMEWORKS), int(time.time())
    print(f"Seed {seed}, {minutes:g} minutes in all.\n")
    print("| | time | fits | of them compared with bare ones | memory | threads / descriptors | wrong |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    bad = 0
    for framework in FRAMEWORKS:
        found = started(framework, seconds, seed)
        print(row(found), flush=True)
        bad += "died" in found or bool(found["wrong"]) or too_much(found)
        for line in found.get("wrong", ())[:10]:
            print(f"  {line}", file=sys.stderr)
    return bad


if __name__ == "__main__":
    if sys.argv[1:2] == ["--of"]:
        name, length, chosen, place = sys.argv[2:6]
        print(json.dumps(soak(name, float(length), int(chosen), Path(place))))
    else:
        raise SystemExit(main(float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES))
