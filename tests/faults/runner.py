"""Each fault runs in a fresh process with a hard time limit: a hang is a failure like any other."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]

# A training loop without a framework: the session, its sink and its files are what these faults are about.
LOOP = """
import os, sys, time, warnings
from pathlib import Path
from feedwatch.model.report import Status
from feedwatch.measure.marks import COMPUTE, ENTER, EPOCH, EPOCH_END, GOT, INPUT, LEAVE, TRAINED, Log
from feedwatch.measure.steps import StepReader
from feedwatch.model.facts import RunFacts
from feedwatch.report.tensorboard import own_run
from feedwatch.session import Session
from feedwatch.settings import Settings

where = Path(sys.argv[1])

MS = 1_000_000

def opened(directory=where):
    run = RunFacts("none", "1", "none", "cpu")
    return Session.open(run, Settings(window_seconds=0.02), [own_run(directory)], directory, reader=StepReader())

def marks_of(step):
    # 6 ms of waiting and 4 ms of computing, at a time that is made up
    at = step * 10 * MS
    return [
        (at, ENTER, INPUT), (at + 6 * MS, GOT, 8), (at + 6 * MS, ENTER, COMPUTE), (at + 10 * MS, LEAVE, COMPUTE),
        (at + 10 * MS, TRAINED, 8),
    ]

def hand_over(session, marks):
    session.hand_over(Log(marks, time.time(), time.perf_counter_ns()))

def train(session, steps=200, hook=lambda step: None):
    marks, weight = [(0, EPOCH, (0, 0))], 0
    for step in range(1, steps + 1):
        weight = (weight * 31 + step) % 1_000_003
        hook(step)
        marks += marks_of(step)
        if step % 5 == 0:
            hand_over(session, marks)
            marks = []
    hand_over(session, [*marks, ((steps + 1) * 10 * MS, EPOCH_END, None)])
    print("weight", weight, flush=True)
    return weight
"""


def run(code: str, directory: Path, *flags: str, seconds: float = 60, **environment: str):
    """Not strict: what is tested is that production swallows the fault."""
    surroundings = {key: value for key, value in os.environ.items() if not key.startswith("FEEDWATCH")}
    return subprocess.run(
        [sys.executable, *flags, "-c", LOOP + textwrap.dedent(code), str(directory)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        cwd=ROOT,
        env=surroundings | {"PYTHONPATH": f"{ROOT / 'src'}"} | environment,
    )


def expected_weight(steps: int = 200) -> str:
    weight = 0
    for step in range(1, steps + 1):
        weight = (weight * 31 + step) % 1_000_003
    return f"weight {weight}"
