"""The page for newcomers is followed word by word: its rule is a rule, without another line anywhere."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow
COPIED = ("src", "tests", "tools", "docs")
BLOCK = re.compile(r"```python\n# (\S+)\n(.*?)```", re.DOTALL)
# A rule's own page has headings, too.
SECTION = re.compile(
    r"^## Adding a rule\n(.*?)^## (?!What it sees|Why it costs|Fix|When to leave it|References)",
    re.DOTALL | re.MULTILINE,
)


def files_on_the_page():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return BLOCK.findall(SECTION.search(page).group(1))


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    directory = tmp_path_factory.mktemp("newcomer")
    for name in COPIED:
        shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__", "*.png"))
    for name in ("pyproject.toml", ".importlinter"):
        shutil.copy(ROOT / name, directory)
    for path, text in files_on_the_page():
        (directory / path).write_text(text, encoding="utf-8")
    run(directory, "tools/render_rule_pages.py")
    return directory


def run(directory, *command):
    done = subprocess.run(
        [sys.executable, *command], cwd=directory, capture_output=True, text=True, check=False, timeout=250,
        env={**os.environ, "PYTHONPATH": f"{directory / 'src'}:{directory}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_both_files_are_on_the_page():
    assert [path.split("/")[0] for path, _ in files_on_the_page()] == ["src", "tests"]


def test_the_rule_passes_everything_that_knows_about_rules(copy):
    said = run(
        copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/rules/test_rules_on_cases.py", "tests/unit/advise"
    )
    assert " passed" in said


def test_it_fires_with_a_page_of_its_own(copy):
    assert "Seen with: " in (copy / "docs" / "rules" / "FW199.md").read_text(encoding="utf-8")
    assert "single-item-batches" in run(copy, "-m", "feedwatch", "explain", "fw199")


def test_its_style_is_ours(copy):
    run(copy, "-m", "ruff", "check", "--no-cache", "src/feedwatch/advise", "tests/rules/cases")
    run(copy, "-m", "ruff", "format", "--no-cache", "--check", "src/feedwatch/advise", "tests/rules/cases")
