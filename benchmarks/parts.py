"""The parts of the benchmark; each script runs in a fresh process."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import machine

ROOT = Path(__file__).parents[1]
PART_SECONDS = 1800
BUSY = 1.5  # our own part before leaves about one; above that somebody else is at work


@dataclass(frozen=True, slots=True)
class Part:
    name: str  # what `--only` takes
    module: str  # under benchmarks
    key: str  # in results.json


PARTS = (
    Part("overhead-keras", "overhead_keras", "overhead_keras"),
    Part("overhead-lightning", "overhead_lightning", "overhead_lightning"),
    Part("overhead-loop", "overhead_loop", "overhead_loop"),
    Part("accuracy", "accuracy_doors", "accuracy_doors"),
    Part("accuracy", "accuracy_keras", "accuracy_keras"),
    Part("accuracy", "accuracy_lightning", "accuracy_lightning"),
    Part("scale", "scale", "scale"),
    Part("first-advice", "first_advice", "first_advice"),
    Part("peers", "peers.traceml_part", "traceml"),
    Part("peers", "peers.xprof_part", "xprof"),
)
NAMES = tuple(dict.fromkeys(part.name for part in PARTS))


class PartFailed(Exception):
    """A script of ours ended with an error; its last line."""


def run(part: Part, *, quick: bool) -> dict[str, Any]:
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as directory:
        answer = Path(directory) / "answer.json"
        command = [sys.executable, "-m", f"benchmarks.{part.module}", "--answer", str(answer)]
        ended = subprocess.run(
            [*command, *(["--quick"] if quick else [])],
            env=environ,
            cwd=directory,
            timeout=PART_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise PartFailed(f"{part.key}: {(ended.stderr.strip().splitlines() or ['no output'])[-1]}")
        return {**json.loads(answer.read_text()), "date": machine.today()}


def run_all(only: str | None, *, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """One answer after the other: what was measured is kept when a later part fails."""
    for part in PARTS:
        if only in (None, part.name):
            if machine.load_average() > BUSY:
                print(f"the machine is busy (load average {machine.load_average()}): {part.key} will be noisy")
            began = time.perf_counter()
            yield part.key, run(part, quick=quick)
            print(f"{part.key}: {time.perf_counter() - began:.0f} s", flush=True)
