"""A rule's page: complete, the same everywhere, and reached from what a person notices."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from feedwatch.advise.pages import KINDS, page_markdown, rule_index, symptom_index
from feedwatch.advise.registry import RETIRED, RULES
from feedwatch.advise.rule import HEADINGS

ROOT = Path(__file__).parents[3]

by_code = pytest.mark.parametrize("one", RULES, ids=lambda one: one.code)


@by_code
def test_the_page_is_complete(one):
    *texts, references = re.split(r"\n?## .+\n", one.page)[1:]
    assert len(texts) == 4
    for text in texts:
        assert len(text) > 15
        assert text.rstrip().endswith((".", "`"))
    assert references.strip()
    assert all(line.startswith("- https://") for line in references.strip().splitlines())
    assert one.symptoms
    assert one.edit_lines >= 1


@by_code
def test_a_page_is_the_rules_own_text_below_its_name(one):
    title, *lines = page_markdown(one.name).splitlines()
    assert title == f"# {one.code} {one.name}"
    shown = [line for line in lines if not line.startswith(("Seen with: ", "Not with "))]
    assert [line for line in shown if line] == [line for line in one.page.splitlines() if line]


@by_code
def test_where_it_is_seen_stands_behind_what_it_sees(one):
    page = page_markdown(one.code)
    assert page.index(f"## {HEADINGS[0]}") < page.index("\nSeen with: ") < page.index(f"## {HEADINGS[1]}")


@by_code
def test_every_symptom_leads_to_its_rule(one):
    index = symptom_index()
    for symptom in one.symptoms:
        below = index.partition(f"## {symptom}\n")[2].partition("\n## ")[0]
        assert f"(rules/{one.code}.md): " in below


@by_code
def test_the_index_has_every_rule_once_below_its_kind(one):
    below = rule_index().partition(f"## {KINDS[one.code[2]]}\n")[2].partition("\n## ")[0]
    (line,) = [line for line in rule_index().splitlines() if f"({one.code}.md)" in line]
    assert line in below
    assert line.endswith(".")


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
