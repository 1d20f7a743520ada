"""The processes that play the rows of the catalogue, one per framework, for the tests that wait for an answer."""

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STALLED_DISK = Path(__file__).parent / "stalled_disk.c"
# Rows sleep a third of their time, so that three frameworks keep two cores busy.
AT_A_TIME = 3


def stalled_disk(folder: Path) -> str:
    """The library that makes a disk stall; nothing where no compiler is."""
    if shutil.which("gcc") is None:
        return ""
    target = folder / "stalled_disk.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", target, STALLED_DISK, "-ldl"], check=True)
    return str(target)


def compile_once(folder: Path) -> dict[str, str]:
    """What JAX compiled for one row is there for the next."""
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


class Zygote:
    def __init__(self, framework: str, folder: Path, library: str) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("FEEDWATCH")}
        paths = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "LD_PRELOAD": library}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.zygote", framework],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
            env=kept | paths | compile_once(folder),
        )

    def play(self, name: str, where: Path) -> dict:
        print(name, where, file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line.removeprefix("ANSWER "))
        raise AssertionError("the process of this framework died")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(30)


@pytest.fixture(scope="session")
def answers(request, tmp_path_factory):
    """What a row found, and where it wrote. All rows that any test waits for are played, three frameworks at a time."""
    cases = dict.fromkeys(
        case for item in request.session.items for mark in item.iter_markers("plays") for case in [mark.args]
    )
    future = {case: Future() for case in cases}
    folder = tmp_path_factory.mktemp("rows")
    library = stalled_disk(folder)
    places = {case: tmp_path_factory.mktemp("-".join(case)) / "run" for case in future}

    def play_all(framework: str) -> None:
        mine = {case: answer for case, answer in future.items() if case[1] == framework}
        try:
            zygote = Zygote(framework, folder, library)
            for case, answer in mine.items():
                answer.set_result((zygote.play(case[0], places[case]), places[case]))
            zygote.close()
        except Exception as error:  # every test that still waits is told
            for answer in mine.values():
                if not answer.done():
                    answer.set_exception(error)

    with ThreadPoolExecutor(max_workers=AT_A_TIME) as pool:
        playing = [pool.submit(play_all, framework) for framework in dict.fromkeys(case[1] for case in future)]
        yield lambda *case: future[case].result(600)
        for each in playing:
            each.result()
