"""Writes docs/tour.md again: trains docs/tour/train.py, makes the advised change, and copies what was printed.

make tour        # about a minute; wants a quiet machine
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from benchmarks import machine
from feedwatch import __version__
from feedwatch.model.verdict import Finding
from feedwatch.report.load import load_run

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "docs" / "tour.md"
SCRIPT: Final = ROOT / "docs" / "tour" / "train.py"
LOADER: Final = "loader = DataLoader(Photos(), batch_size=16, shuffle=True)"
COLUMNS: Final = 78  # what the site shows without scrolling


class Tour:
    """A directory in which a reader would follow the tour, and the blocks that it gives."""

    def __init__(self, room: Path) -> None:
        self._room = room
        self.blocks: dict[str, str] = {}
        shutil.copy(SCRIPT, room / "train.py")

    def run(self, block: str, command: str, *, most_lines: int = 1000, with_code: bool = False) -> None:
        done = subprocess.run(  # noqa: S603 -- our own words
            [sys.executable, "-m", *command.split()],
            cwd=self._room,
            # Warnings of torch name paths of this machine.
            env={**os.environ, "COLUMNS": str(COLUMNS), "NO_COLOR": "1", "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=not with_code,
        )
        lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
        if len(lines) > most_lines:
            lines = [*lines[:most_lines], "…"]
        lines += ["$ echo $?", str(done.returncode)] if with_code else []
        self.blocks[block] = fenced("console", "\n".join([f"$ {command}", *lines]))
        print(f"{block}: {command}")

    def change(self) -> None:
        """Makes the first change of the report, as a reader would: the arguments that the finding adds to the call."""
        first = load_run(self._room / "runs" / "before").findings[0]
        script = self._room / "train.py"
        before = script.read_text(encoding="utf-8")
        after = before.replace(LOADER, f"{LOADER[:-1]}, {added_arguments(first)})")
        script.write_text(after, encoding="utf-8")
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "train.py", "train.py", n=0, lineterm="")
        self.blocks["change"] = fenced("diff", "\n".join(list(lines)[3:]))


def added_arguments(finding: Finding) -> str:
    found = re.search(r"^loader = DataLoader\(\.\.\., (.+?)\)(?:  #.*)?$", finding.fix.after, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the tour expects a change of the DataLoader's arguments, not {finding.fix.after!r}")
    return found.group(1)


def fenced(kind: str, text: str) -> str:
    return f"```{kind}\n{text}\n```"


def where_it_ran() -> str:
    seen = machine.describe()
    return (
        f"*Recorded {time.strftime('%Y-%m-%d')} with feedwatch {__version__} on {seen['cpu']}, {seen['cpus']:g} CPUs, "
        f"GPU: {seen['gpu']}, Python {seen['python']}, torch {seen['versions']['torch']}; load "
        f"average before: {machine.load_average():.1f}. "
        "Warnings of torch are left out.*"
    )


def filled(page: str, blocks: dict[str, str]) -> str:
    for name, text in blocks.items():
        page, count = re.subn(
            rf"<!-- {name} -->\n.*?<!-- end -->",
            lambda _, name=name, text=text: f"<!-- {name} -->\n{text}\n<!-- end -->",
            page,
            flags=re.DOTALL,
        )
        if count != 1:
            raise SystemExit(f"docs/tour.md has {count} places called {name}")
    return page


def main() -> None:
    with tempfile.TemporaryDirectory() as room:
        tour = Tour(Path(room))
        tour.blocks["machine"] = where_it_ran()
        tour.blocks["script"] = fenced("python", SCRIPT.read_text(encoding="utf-8").strip())
        tour.run("run", "feedwatch run --log-dir runs/before train.py")
        tour.run("report", "feedwatch report runs/before")
        tour.change()
        tour.run("again", "feedwatch run --log-dir runs/after train.py")
        tour.run("compare", "feedwatch compare runs/before runs/after")
        tour.run("check", "feedwatch check runs/after --max-stall 0.20", with_code=True)
        tour.run("explain", "feedwatch explain FW101", most_lines=18)
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tour.blocks), encoding="utf-8")


if __name__ == "__main__":
    main()
