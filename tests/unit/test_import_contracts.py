"""Each import contract is proven by planted violations: a contract that cannot fail guards nothing."""

import configparser
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# (contract, file, the line that breaks it). A file that does not exist yet is a new module that nobody listed anywhere.
PLANTED = [
    ("Data flows one way", "model/steps.py", "import feedwatch.report.console"),
    ("Data flows one way", "probe/machine.py", "import feedwatch.report.console"),
    ("Data flows one way", "a_new_room.py", ""),
    ("Siblings never import each other", "probe/traces/timeline.py", "import feedwatch.probe.traces.analysis"),
    ("Only doors and hooks", "report/console.py", "import torch"),
    ("Only doors and hooks", "probe/machine.py", "import tensorflow"),
    ("Only doors and hooks", "probe/a_new_module.py", "def late():\n    import keras"),
    ("Nothing in hooks makes a step record", "hooks/undo.py", "import feedwatch.model.steps"),
    ("Nothing in hooks makes a step record", "hooks/a_new_hook.py", "from feedwatch.model.steps import StepRecord"),
    ("do no I/O", "diagnose/judge.py", "import time"),
    ("do no I/O", "advise/a_new_module.py", "import feedwatch.measure.clock"),
    ("Keras and Lightning hooks never meet", "hooks/keras/callback.py", "import feedwatch.hooks.lightning.callback"),
    ("Keras and Lightning hooks never meet", "hooks/run.py", "import feedwatch.hooks.torch.device"),
    ("Keras and Lightning hooks never meet", "hooks/a_new_framework.py", ""),
    (
        "Rules never know each other",
        "advise/rules/loader/fw101_loader_without_workers.py",
        "import feedwatch.advise.rules.loader.fw102_too_few_workers",
    ),
    ("standard library only", "measure/clock.py", "import numpy"),
    ("One module writes event files", "session.py", "import tensorboard"),
    ("One module writes event files", "probe/machine.py", "import tensorboard"),
    (
        "One module writes event files",
        "hooks/a_new_hook.py",
        "from tensorboard.summary.writer.record_writer import RecordWriter",
    ),
    ("One module writes event files", "report/a_new_module.py", "def late():\n    import tensorboard"),
]


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


@pytest.mark.parametrize(("contract", "name", "line"), PLANTED)
def test_a_planted_violation_breaks_its_contract(copy, contract, name, line):
    file = copy / "src" / "feedwatch" / name
    clean = file.read_text() if file.exists() else None
    file.write_text(f"{clean or ''}\n\n{line}\n")
    try:
        code, output = lint(copy)
    finally:
        file.unlink() if clean is None else file.write_text(clean)
    broken = [row for row in output.splitlines() if row.endswith("BROKEN") or "BROKEN (" in row]
    assert code != 0
    assert any(contract in row for row in broken), output[-2000:]


def test_every_contract_has_a_planted_violation():
    config = configparser.ConfigParser()
    config.read(ROOT / ".importlinter")
    names = {config[section]["name"] for section in config.sections() if ":contract:" in section}
    assert names
    assert {name for name in names if not any(contract in name for contract, _, _ in PLANTED)} == set()


def test_what_is_there_keeps_every_contract(copy):
    code, output = lint(copy)
    assert code == 0, output[-2000:]
