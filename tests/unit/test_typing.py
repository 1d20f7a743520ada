"""The public API passes the mypy of a user, who follows the types of Keras and Lightning."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
pytest.importorskip("keras")
pytest.importorskip("lightning")
pytest.importorskip("pytorch_lightning")

ROOT = Path(__file__).parents[2]
TYPING = ROOT / "tests" / "typing"

WRONG = """
import keras
import lightning.pytorch
import pytorch_lightning

class NoCallback: ...

one: keras.callbacks.Callback = NoCallback()
lightning.pytorch.Trainer(callbacks=[NoCallback()])
pytorch_lightning.Trainer(callbacks=[NoCallback()])
"""


@pytest.mark.slow
def test_a_users_mypy_takes_our_callbacks_and_nothing_else(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--config-file", TYPING / "user.ini", "--cache-dir", tmp_path / "cache"]
    said = subprocess.run(
        [*command, TYPING / "api.py", wrong],
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    ).stdout

    errors = [line for line in said.splitlines() if "error:" in line]
    assert [line for line in errors if not line.startswith(str(wrong))] == [], said
    # The same file without our callbacks: three errors prove that the types were really followed.
    assert [line.split(":")[1] for line in errors] == ["8", "9", "10"], said
