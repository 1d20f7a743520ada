"""A rule's page as Markdown: `feedwatch explain`, the tab and docs/rules show the same text."""

from typing import Final

from feedwatch.advise.registry import RETIRED, RULES, rule
from feedwatch.advise.rule import HEADINGS, Rule
from feedwatch.advise.seen_with import seen_with_text

_RETIRED_BY_NAME: Final = {key.lower(): code for code, one in RETIRED.items() for key in (code, one.name)}
_SECOND: Final = f"\n## {HEADINGS[1]}\n"

KINDS: Final = {
    "1": "Loading: DataLoader, tf.data and others",
    "2": "Copies to the device",
    "3": "The step itself, and what stands between steps",
    "4": "What was not measured",
    "5": "Several ranks",
}


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
        lines += [f"## {symptom}", "", *(_line(one, f"rules/{one.code}.md") for one in rows[symptom]), ""]
    return "\n".join(lines)


def rule_index() -> str:
    """Every rule, by the hundred of its code."""
    lines = ["# All rules", "", "What each one sees. A code is permanent: it is never given to another rule.", ""]
    for digit, kind in KINDS.items():
        of_kind = [one for one in RULES if one.code[2] == digit]
        lines += [f"## {kind}", "", *(_line(one, f"{one.code}.md") for one in of_kind), ""]
    gone = [f"- [{code} {one.name}]({code}.md)" for code, one in RETIRED.items()]
    return "\n".join([*lines, "## Retired", "", *gone, ""])


def _line(one: Rule, address: str) -> str:
    """The first sentence of what it sees."""
    sees = " ".join(one.page.partition(f"## {HEADINGS[0]}\n")[2].partition(_SECOND)[0].split())
    return f"- [{one.code} {one.name}]({address}): {sees.partition('. ')[0].removesuffix('.')}."


def _page(one: Rule) -> str:
    """With which frameworks it is seen stands behind what it sees."""
    sees, _, rest = one.page.partition(_SECOND)
    return f"# {one.code} {one.name}\n\n{sees.rstrip()}\n\n{seen_with_text(one)}\n{_SECOND}{rest}\n"


def _retired_page(code: str) -> str:
    one = RETIRED[code]
    return f"# {code} {one.name} (retired)\n\n{one.why}\n"
