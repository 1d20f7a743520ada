"""A rule's page: complete, the same everywhere, and reached from what a person notices."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from feedwatch.advise.pages import page_markdown, symptom_index
from feedwatch.advise.registry import RETIRED, RULES

ROOT = Path(__file__).parents[3]

by_code = pytest.mark.parametrize("one", RULES, ids=lambda one: one.code)


@by_code
def test_the_page_is_complete(one):
    page = one.page
    for text in (page.sees, page.why, page.fix, page.leave):
        assert len(text) > 15
        assert text.rstrip().endswith((".", "`"))
    assert page.references
    assert all(reference.startswith("https://") for reference in page.references)
    assert one.symptoms
    assert one.edit_lines >= 1


@by_code
def test_a_page_has_the_same_headings_for_every_rule(one):
    headings = re.findall(r"^## (.+)$", page_markdown(one.name), re.MULTILINE)
    assert headings == ["What it sees", "Why it costs", "Fix", "When to leave it", "References"]


@by_code
def test_every_symptom_leads_to_its_rule(one):
    index = symptom_index()
    for symptom in one.symptoms:
        line = next(line for line in index.splitlines() if line.startswith(f"- **{symptom}**"))
        assert f"(rules/{one.code}.md)" in line


def test_the_generated_pages_are_those_in_the_repository():
    command = [sys.executable, str(ROOT / "tools" / "render_rule_pages.py"), "--check"]
    done = subprocess.run(
        command,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("code", RETIRED)
def test_a_retired_code_still_has_a_page_that_says_why_in_two_lines(code):
    title, empty, *lines = page_markdown(code).splitlines()
    assert title == f"# {code} {RETIRED[code].name} (retired)"
    assert empty == ""
    assert 1 <= len(lines) <= 2
    assert page_markdown(f" {RETIRED[code].name.upper()} ") == page_markdown(code.lower())
