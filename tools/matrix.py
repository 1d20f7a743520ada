"""Real trainings in fresh environments: the oldest versions that are allowed, the newest that can be had, and between.

make matrix                                     # all cells; an hour, and two gigabytes at a time
python tools/matrix.py --list
python tools/matrix.py "Lightning 2.1.4"        # one cell; the others keep what is stored
python tools/matrix.py --render                 # docs/matrix.md from tools/matrix.json

An environment has one version of what the cell is about and what the index gives for the rest; only torch is pinned,
because every other number brings gigabytes of CUDA. It is deleted after use.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "tools" / "matrix.json"
PAGE: Final = ROOT / "docs" / "matrix.md"
HERE: Final = f"{platform.system()} {platform.machine()}"
TORCH: Final = "torch==2.13.0"
PYTEST: Final = ("pytest", "pytest-timeout", "pytest-rerunfailures", "hypothesis")
INSTALL_SECONDS, CHECK_SECONDS = 1800, 1200
INTERPRETERS: Final = Path.home() / ".pyenv" / "versions"  # where pyenv keeps them; else python3.x of the PATH

KERAS: Final = "tests/contract/keras/test_contract.py"
LIGHTNING: Final = ("tests/contract/lightning/test_training_is_unchanged.py", "-m", "not slow", "-k")
CORE: Final = ("tests/unit/measure", "tests/unit/diagnose", "tests/unit/report", "tests/unit/model", "-m", "not slow")


@dataclass(frozen=True, slots=True)
class Cell:
    table: str
    version: str
    installs: tuple[str, ...]
    checks: dict[str, tuple[str, ...]]  # column → arguments of pytest
    python: str = "3.11"

    @property
    def name(self) -> str:
        return f"{self.table} {self.version}"


def _keras(keras: str, tensorflow: str, jax: str) -> Cell:
    installs = (f"keras=={keras}", f"tensorflow=={tensorflow}", f"jax=={jax}", TORCH)
    checks = {
        f"{title}": (KERAS, "-k", f"{backend}-")
        for title, backend in (("on TensorFlow", "tensorflow"), ("on torch", "torch"), ("on JAX", "jax"))
    }
    return Cell("Keras", f"{keras} (TensorFlow {tensorflow}, JAX {jax})", installs, checks)


def _lightning(version: str) -> Cell:
    checks = {
        "`lightning`": (*LIGHTNING, "not pytorch_lightning"),
        "`pytorch_lightning`": (*LIGHTNING, "pytorch_lightning"),
    }
    installs = (f"lightning=={version}", f"pytorch-lightning=={version}", TORCH, "torchdata", "setuptools<81")
    return Cell("Lightning", version, installs, checks)


def _transformers(version: str) -> Cell:
    installs = (f"transformers=={version}", "accelerate", TORCH)
    return Cell("Hugging Face", version, installs, {"Trainer": ("tests/contract/huggingface",)})


def _tensorboard(version: str) -> Cell:
    installs = (f"tensorboard=={version}", "setuptools<81", "playwright", "axe-playwright-python")
    return Cell("TensorBoard", version, installs, {"the tab's routes": ("tests/tab/test_routes.py",)})


def _python(version: str) -> Cell:
    """Without torch: its CPU build is there for one Python only."""
    installs = ("keras", "tensorflow", "jax")
    checks = {
        "measuring and reports": CORE,
        "Keras on TensorFlow": (KERAS, "-k", "tensorflow-"),
        "Keras on JAX": (KERAS, "-k", "jax-"),
    }
    return Cell("Python", version, installs, checks, python=version)


CELLS: Final = (
    _keras("3.7.0", "2.18.1", "0.4.38"),
    _keras("3.8.0", "2.18.1", "0.4.38"),
    _keras("3.9.2", "2.19.1", "0.6.2"),
    _keras("3.10.0", "2.19.1", "0.6.2"),
    _keras("3.11.3", "2.20.0", "0.7.2"),
    _keras("3.12.4", "2.20.0", "0.8.3"),
    _keras("3.13.2", "2.20.0", "0.9.2"),
    _keras("3.14.1", "2.21.0", "0.10.2"),
    _keras("3.15.1", "2.21.0", "0.10.2"),
    *map(_lightning, ("2.0.9", "2.1.4", "2.2.5", "2.3.3", "2.4.0", "2.5.6", "2.6.6")),
    *map(_transformers, ("4.46.3", "4.57.6", "5.23.0")),
    *map(_tensorboard, ("2.17.1", "2.18.0", "2.19.0", "2.20.0", "2.21.0")),
    *map(_python, ("3.10", "3.12", "3.13")),
)
# What cannot be run where this table is made, and why. A machine that can run it adds a cell instead.
NOT_RUN: Final = {
    "torch 2.1 to 2.12, 2.14 and 2.15": "no CPU build in the registries used: each would bring gigabytes of CUDA. "
    "2.13.0 is in every cell above that names torch, Lightning or Hugging Face",
    "Python 3.14": "no interpreter at hand",
    "torch, Lightning and Hugging Face on Python 3.10, 3.12 and 3.13": "the CPU build of torch is there for 3.11 only",
    "macOS and Windows": "no machine at hand",
}


class CellFailed(Exception):  # noqa: N818 -- as in benchmarks/parts.py
    """The last line that says why."""


def interpreter(version: str) -> str:
    kept = sorted(INTERPRETERS.glob(f"{version}.*/bin/python"))
    return str(kept[-1]) if kept else f"python{version}"


def run(command: list[str], seconds: float, where: Path = ROOT) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environ = {**kept, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": ""}
    environ["FEEDWATCH_MATRIX"] = "1"  # rows that an older framework cannot run without us, either, are left out
    try:
        done = subprocess.run(  # noqa: S603 -- our own words
            command, cwd=where, env=environ, capture_output=True, text=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CellFailed(str(error).splitlines()[0]) from error
    if done.returncode:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise CellFailed(next((line for line in said if line.startswith("ERROR")), said[-1] if said else "no output"))
    return done.stdout


def checked(cell: Cell, wheel: Path) -> dict[str, Any]:
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as where:
        python = str(Path(where) / "venv" / "bin" / "python")
        try:
            run([interpreter(cell.python), "-m", "venv", str(Path(where) / "venv")], 120)
            run([python, "-m", "pip", "install", "--quiet", *cell.installs, *PYTEST, str(wheel)], INSTALL_SECONDS)
        except CellFailed as failure:
            return {"outcomes": dict.fromkeys(cell.checks, f"**not installed**: {failure}"), "took_s": 0}
        outcomes = {column: outcome(python, arguments, where) for column, arguments in cell.checks.items()}
    return {"outcomes": outcomes, "took_s": round(time.monotonic() - began)}


def outcome(python: str, arguments: tuple[str, ...], where: str) -> str:
    """Counted from pytest's own file: its exit code does not tell failed from not collected."""
    answer = Path(where) / "answer.xml"
    answer.unlink(missing_ok=True)
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={answer}", *arguments]
    try:
        run(command, CHECK_SECONDS)
    except CellFailed as failure:
        if not answer.exists():
            return f"**failed**: {failure}"
    cases = list(ET.parse(answer).getroot().iter("testcase"))  # noqa: S314 -- written by pytest a moment ago
    bad = [_short(case.get("name", "")) for case in cases if _problem(case) is not None]
    for case in cases:
        if (problem := _problem(case)) is not None:
            print(f"{case.get('name')}\n{(problem.text or '')[-1500:]}", file=sys.stderr)
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = len(cases) - len(bad) - skipped
    if bad:
        return f"**{len(bad)} of {len(cases) - skipped} failed**: {', '.join(sorted(bad)[:6])}"
    left_out = f", {skipped} not for this version" if skipped else ""
    return f"{passed} passed{left_out}" if passed else "nothing ran"


def _problem(case: ET.Element) -> ET.Element | None:
    failure = case.find("failure")
    return case.find("error") if failure is None else failure


def _short(name: str) -> str:
    """`test_fit_is_the_same[tensorflow-jit_on]` is the row `tensorflow-jit_on`."""
    return name.partition("[")[2].removesuffix("]") or name


def built(where: str) -> Path:
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", where], 120)
    (wheel,) = Path(where).glob("*.whl")
    return wheel


# -- the page ------------------------------------------------------------------------------------

HEAD: Final = """# Versions that were run

Made by `make matrix`; not edited by hand. Every cell is a fresh environment with that version, the built wheel and what
the index gives for the rest. In it run the contract rows of that framework: each row trains for real twice, without and
with feedwatch, and compares weights, random numbers, exceptions and what is left behind. *Not for this version*: rows
that the framework of that version ends differently without feedwatch, too.

What is allowed stands in `pyproject.toml`, the policy in [versions](versions.md)."""


def page(stored: dict[str, Any]) -> str:
    blocks = [HEAD]
    for table in dict.fromkeys(cell.table for cell in CELLS):
        cells = [cell for cell in CELLS if cell.table == table]
        head = [table, *cells[0].checks]
        rows = [[cell.version, *_outcomes(cell, stored)] for cell in cells]
        lines = [head, ["---"] * len(head), *rows]
        blocks += [f"## {table}", "\n".join("| " + " | ".join(line) + " |" for line in lines)]
    blocks.append("## Not run\n\n" + "\n".join(f"- {what}: {why}." for what, why in NOT_RUN.items()))
    if stored:
        dates = sorted({row["date"] for row in stored.values()})
        versions = " and ".join(sorted({row["feedwatch"] for row in stored.values()}))
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        where = " and ".join(sorted({row["on"] for row in stored.values()}))
        blocks.append(f"Run {when} with feedwatch {versions} on {where}; Python 3.11 where no other is named.")
    return "\n\n".join(blocks) + "\n"


def _outcomes(cell: Cell, stored: dict[str, Any]) -> Iterator[str]:
    outcomes = stored.get(cell.name, {}).get("outcomes", {})
    return (outcomes.get(column, "not run") for column in cell.checks)


def _stored() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return stored


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", metavar="cell", help="by name; none: all of them")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    names = [cell.name for cell in CELLS]
    if options.list:
        print("\n".join(names))
        return
    unknown = [name for name in options.cells if name not in names]
    if unknown:
        parser.error(f"no such cell: {', '.join(unknown)}")
    stored = _stored()
    if not options.render:
        from feedwatch import __version__

        with tempfile.TemporaryDirectory() as where:
            wheel = built(where)
            for cell in (cell for cell in CELLS if cell.name in (options.cells or names)):
                today = datetime.now(timezone.utc).strftime("%Y-%m-%d")
                found = {**checked(cell, wheel), "date": today, "feedwatch": __version__, "on": HERE}
                stored = {**_stored(), cell.name: found}  # read again: another cell may have ended meanwhile
                RESULTS.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n")
                print(f"{cell.name}: {found}", flush=True)
    PAGE.write_text(page(stored))


if __name__ == "__main__":
    main()
