"""Each import contract is proven by a planted violation: a contract that cannot fail guards nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PLANTED = {
    "Data flows one way": ("model/steps.py", "import feedwatch.report.json_form"),
    "Only hooks": ("report/console.py", "import torch"),
    "do no I/O": ("diagnose/judge.py", "import time"),
    "Keras and Lightning hooks never meet": ("hooks/keras/callback.py", "import feedwatch.hooks.lightning.callback"),
    "Rules never know each other": (
        "advise/rules/loader/fw101_loader_without_workers.py",
        "import feedwatch.advise.rules.loader.fw102_too_few_workers",
    ),
    "standard library only": ("measure/ledger.py", "import numpy"),
    "One module writes event files": ("session.py", "import feedwatch.report.event_file"),
}


def lint(directory: Path) -> tuple[int, str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache"]
    done = subprocess.run(
        command, cwd=directory, env={"PYTHONPATH": str(directory / "src"), "PATH": ""}, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    directory = tmp_path_factory.mktemp("planted")
    shutil.copytree(ROOT / "src", directory / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", directory)
    return directory


@pytest.mark.parametrize("contract", PLANTED)
def test_a_planted_violation_breaks_its_contract(copy, contract):
    name, line = PLANTED[contract]
    file = copy / "src" / "feedwatch" / name
    clean = file.read_text()
    file.write_text(f"{clean}\n\n{line}\n")
    try:
        code, output = lint(copy)
    finally:
        file.write_text(clean)
    broken = [row for row in output.splitlines() if row.endswith("BROKEN")]
    assert code != 0
    assert any(contract in row for row in broken), output[-2000:]
