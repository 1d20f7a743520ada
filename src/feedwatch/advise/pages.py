"""A rule's page as Markdown: `feedwatch explain`, the tab and docs/rules show the same text."""

from typing import Final

from feedwatch.advise.registry import RETIRED, RULES, rule
from feedwatch.advise.rule import Rule
from feedwatch.advise.seen_with import seen_with_text

_RETIRED_BY_NAME: Final = {key.lower(): code for code, one in RETIRED.items() for key in (code, one.name)}


def page_markdown(code: str) -> str:
    """Raises KeyError for a code (or name) that no rule has or had."""
    gone = _RETIRED_BY_NAME.get(code.strip().lower())
    return _page(rule(code)) if gone is None else _retired_page(gone)


def symptom_index() -> str:
    """Every symptom with the rules that explain it, in alphabetical order."""
    rows: dict[str, list[Rule]] = {}
    for one in RULES:
        for symptom in one.symptoms:
            rows.setdefault(symptom, []).append(one)
    lines = ["# By symptom", "", "What you notice, and the findings that explain it.", ""]
    for symptom in sorted(rows, key=str.lower):
        links = ", ".join(f"[{one.code} {one.name}](rules/{one.code}.md)" for one in rows[symptom])
        lines.append(f"- **{symptom}**: {links}")
    return "\n".join(lines) + "\n"


def _page(one: Rule) -> str:
    page = one.page
    parts = (
        f"# {one.code} {one.name}",
        f"## What it sees\n\n{page.sees}\n\n{seen_with_text(one)}",
        f"## Why it costs\n\n{page.why}",
        f"## Fix\n\n{page.fix}",
        f"## When to leave it\n\n{page.leave}",
        "## References\n\n" + "\n".join(f"- {reference}" for reference in page.references),
    )
    return "\n\n".join(parts) + "\n"


def _retired_page(code: str) -> str:
    one = RETIRED[code]
    return f"# {code} {one.name} (retired)\n\n{one.why}\n"
