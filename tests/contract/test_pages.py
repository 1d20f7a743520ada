"""A reader follows the page of a door: the script that stands there is put into an empty directory and started."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from feedwatch.model.report import Status
from feedwatch.model.verdict import Bound
from feedwatch.report.load import load_run

ROOT = Path(__file__).parents[2]
SCRIPT = re.compile(r"```python\n(# train\.py\n.*?)```", re.DOTALL)
# page, what it needs, how it says to start the script, where it says the report lies
PAGES = [
    ("torch", "torch", ["train.py"], "runs/a"),
    ("run", "torch", ["-m", "feedwatch", "run", "--log-dir", "runs/a", "train.py"], "runs/a"),
    ("huggingface", "transformers", ["train.py"], "out"),
    ("keras", "tensorflow", ["train.py"], "runs/a"),
]


@pytest.mark.parametrize(("page", "needs", "command", "where"), PAGES, ids=[each[0] for each in PAGES])
def test_the_script_on_the_page_waits_for_data_and_gets_advice(tmp_path, page, needs, command, where):
    pytest.importorskip(needs)
    (script,) = SCRIPT.findall((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    (tmp_path / "train.py").write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "KERAS_BACKEND": "tensorflow", "FEEDWATCH": ""}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = load_run(tmp_path / where)
    assert report.status is Status.FINISHED
    assert report.steps.batches == 60
    assert report.verdict.bound is Bound.INPUT
    assert report.findings
    assert "Training waits for data" in done.stderr
