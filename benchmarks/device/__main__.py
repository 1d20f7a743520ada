"""`python -m benchmarks.device [NAME ...]`: measures, and writes the tables of RESULTS.md beside this.

The names: accuracy, cost, copies, copies-lightning, copies-keras. Without one: all, about twelve minutes on a quiet
machine. The exit code is the number of parts below their aim.
"""

import logging
import os
import sys
import warnings
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import torch

from benchmarks.device import accuracy, copies, cost, doors
from benchmarks.machine import cpu_model, load_average, today
from tests.emulated import Emulated, load

PAGE: Final = Path(__file__).parent / "RESULTS.md"
COPIES_AIM: Final = 0.9


class Part(NamedTuple):
    title: str
    text: str
    met: bool


def _accuracy(emulated: Emulated) -> Part:
    rows = accuracy.measure(emulated)
    right = sum(row.right for row in rows)
    lines = [
        f"{right} of {len(rows)} figures of {len(rows) // 3} scenes are within 0.3 ms or 3 % of the device's own log.",
        "",
    ]
    lines += ["| figure | right | mean error | largest error |", "| --- | --- | --- | --- |"]
    for figure in ("starved", "copy", "compute"):
        ours = [row for row in rows if row.figure == figure]
        off = [row.off_ms for row in ours]
        good = sum(row.right for row in ours)
        lines.append(f"| {figure} | {good} of {len(ours)} | {sum(off) / len(off):.2f} ms | {max(off):.2f} ms |")
    wrong = [
        f"- {row.scene}: {row.figure} of {row.truth_ms:.2f} ms is off by {row.off_ms:.2f} ms"
        for row in rows
        if not row.right
    ]
    return Part("Accuracy", "\n".join([*lines, *([""] if wrong else []), *wrong]), right == len(rows))


def _cost(emulated: Emulated) -> Part:
    rows = cost.measure(emulated)
    lines = ["CPU time of the training thread per step, tenth percentile, in microseconds.", ""]
    lines += [
        "| | bare step | + host's clock | + events | feedwatch says of itself |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        said = "not measured" if row.said_us is None else f"{row.said_us:.0f}"
        lines.append(f"| {row.door} | {row.bare_us:.0f} | {row.host_us:.0f} | {row.events_us:.0f} | {said} |")
    return Part("Cost", "\n".join(lines), all(row.right for row in rows))


def _copies(emulated: Emulated) -> Part:
    rows = copies.cases(chain(copies.grid(), copies.unseen()))
    return copies_part("Advice about copies: a plain loop", copies.measure(emulated, doors.plain_loop, rows))


def _copies_lightning(emulated: Emulated) -> Part:
    rows = copies.cases(chain(copies.smaller_grid(), copies.unseen()), custom=True)
    return copies_part("Advice about copies: Lightning", copies.measure(emulated, doors.lightning, rows))


def _copies_keras(emulated: Emulated) -> Part:
    # Keras reads them once, when it is imported.
    os.environ["KERAS_BACKEND"], os.environ["KERAS_TORCH_DEVICE"] = "torch", "emulated:0"
    rows = copies.cases(chain(copies.smaller_grid(), copies.unseen()))
    return copies_part("Advice about copies: Keras on torch", copies.measure(emulated, doors.keras_torch, rows))


def copies_part(title: str, rows: list[copies.Followed]) -> Part:
    right, unseen = sum(row.right for row in rows), [row for row in rows if row.held_out]
    promises = [row for row in rows if row.low is not None]
    of_them = (
        f"Of the scenes that the rules were not made with, {sum(row.right for row in unseen)} of {len(unseen)}. Of the "
        f"promises, {sum(row.right for row in promises)} of {len(promises)}."
    )
    lines = [
        f"{right} of {len(rows)} right: the gain was inside what was promised, or none was promised and little gained.",
        of_them,
        "",
        "| scene | rule | copies | promised | gained | |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        silent = "told without a gain" if row.said else "silent"
        promised = silent if row.low is None else f"{row.low:.2f} to {row.high:.2f}"
        marks = ", ".join(["unseen"] * row.held_out + ["wrong"] * (not row.right))
        lines.append(f"| {row.scene} | {row.code} | {row.copy_share:.0%} | {promised} | {row.gained:.2f} | {marks} |")
    return Part(title, "\n".join(lines), right >= COPIES_AIM * len(rows))


def _where() -> str:
    return f"Measured on {today()}: {cpu_model()}, load {load_average()} when it ended, torch {torch.__version__}."


PARTS: Final[dict[str, Callable[[Emulated], Part]]] = {
    "accuracy": _accuracy,
    "cost": _cost,
    "copies": _copies,
    "copies-lightning": _copies_lightning,
    "copies-keras": _copies_keras,
}


def main(names: list[str]) -> int:
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    emulated = load()
    torch.set_num_threads(1)
    parts = [PARTS[name](emulated) for name in names or PARTS]
    text = "\n\n".join(f"## {part.title}\n\n{part.text}" for part in parts)
    print(text)
    if not names:
        PAGE.write_text(f"# The device path on the emulated accelerator\n\n{_where()}\n\n{text}\n", encoding="utf-8")
    return sum(not part.met for part in parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
