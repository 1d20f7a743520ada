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
from benchmarks.part import merged
from feedwatch import __version__

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
    Part("overhead-huggingface", "overhead_huggingface", "overhead_huggingface"),
    Part("overhead-loop", "overhead_loop", "overhead_loop"),
    Part("accuracy-doors", "accuracy_doors", "accuracy_doors"),
    Part("accuracy-keras", "accuracy_keras", "accuracy_keras"),
    Part("accuracy-lightning", "accuracy_lightning", "accuracy_lightning"),
    Part("scale", "scale", "scale"),
    Part("first-advice", "first_advice", "first_advice"),
    Part("traceml", "peers.traceml_part", "traceml"),
    Part("rivals", "peers.rivals_part", "rivals"),
    Part("xprof", "peers.xprof_part", "xprof"),
)
NAMES = tuple(dict.fromkeys(part.name for part in PARTS))


class PartFailed(Exception):
    """A script of ours ended with an error; its last line."""


def run(part: Part, portion: str | None, *, quick: bool) -> dict[str, Any]:
    environ = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as directory:
        answer = Path(directory) / "answer.json"
        command = [sys.executable, "-m", f"benchmarks.{part.module}", "--answer", str(answer)]
        ended = subprocess.run(
            [*command, *(["--quick"] if quick else []), *(["--portion", portion] if portion else [])],
            env=environ,
            cwd=directory,
            timeout=PART_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise PartFailed(f"{part.key}: {(ended.stderr.strip().splitlines() or ['no output'])[-1]}")
        return {**json.loads(answer.read_text()), "date": machine.today(), "feedwatch": __version__}


def beside(stored: dict[str, Any] | None, fresh: dict[str, Any]) -> dict[str, Any]:
    """A portion joins the portions before it. Figures of two versions of feedwatch are never in one part."""
    if stored is None or stored["feedwatch"] != fresh["feedwatch"]:
        return fresh
    return {
        **fresh,
        "figures": merged(stored["figures"], fresh["figures"]),
        "took_s": round(stored["took_s"] + fresh["took_s"], 1),
        "load_average_before": max(stored["load_average_before"], fresh["load_average_before"]),
    }


def run_all(only: str | None, portion: str | None, *, quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """One answer after the other: what was measured is kept when a later part fails."""
    for part in PARTS:
        if only in (None, part.name):
            if machine.load_average() > BUSY:
                print(f"the machine is busy (load average {machine.load_average()}): {part.key} will be noisy")
            began = time.perf_counter()
            yield part.key, run(part, portion, quick=quick)
            print(f"{part.key}: {time.perf_counter() - began:.0f} s", flush=True)
