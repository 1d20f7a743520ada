"""What the tab and the HTML file share: the front end's files, a run's line in the list, the rules' pages."""

import json
import re
from importlib import resources
from typing import Any, Final

from feedwatch import words
from feedwatch.model.steps import PHASES

# In the order in which they depend on one another.
SCRIPTS: Final = (
    "dom.js",
    "words.js",
    "markdown.js",
    "difference.js",
    "host.js",
    "source.js",
    "chart.js",
    "history.js",
    "verdict.js",
    "pipeline.js",
    "machine.js",
    "ranks.js",
    "advice.js",
    "measurement.js",
    "compare.js",
    "runs.js",
    "empty.js",
    "index.js",
)
STYLE: Final = "style.css"

# ADVICE.md: 5 % of the step is worth saying, 20 % is severe.
SEVERE_SHARE: Final = 0.20


# Whole statements of our own modules; a test keeps every module in this form.
_IMPORT: Final = re.compile(r"^import \{[^}]*\} from '\./[a-z]+\.js';\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)


def script() -> str:
    """All modules behind each other: their names are distinct, so one scope holds them.

    One request instead of eighteen that wait for one another, and the only form that works from a file.
    """
    modules = (_EXPORT.sub("", _IMPORT.sub("", source(name))) for name in SCRIPTS)
    return "\n".join((word_table(), *modules))


def word_table() -> str:
    """The module `table.js`, which is no file: the limits and units of numbers, as words.py holds them."""
    # No "<" in the text: the HTML file carries it inside a script element.
    return f"const TABLE = {json.dumps(words.table())};\n".replace("<", "\\u003c")


def style_sheet() -> str:
    return source(STYLE)


def source(name: str) -> str:
    return (resources.files("feedwatch") / "tab" / "static" / name).read_text(encoding="utf-8")


def rule_page(code: str) -> str | None:
    """The page of a rule as Markdown, None for a code nobody knows."""
    # Here, because every start of TensorBoard imports this module and few readers open a rule's page.
    from feedwatch.advise.pages import page_markdown

    try:
        return page_markdown(code)
    except KeyError:
        return None


def overview(run: str, report: dict[str, Any]) -> dict[str, Any]:
    """One line of the run list: small, so that hundreds of runs open at once."""
    verdict, where, phases = _part(report, "verdict"), _part(report, "run"), _part(report, "phases")
    findings = report.get("findings")
    first = findings[0] if isinstance(findings, list) and findings else None
    return {
        "run": run,
        "error": report.get("error"),
        "status": report.get("status"),
        "level": level(report),
        "clock": report.get("clock"),
        "rank": where.get("rank"),
        "world_size": where.get("world_size"),
        "started": where.get("started"),
        "updated": where.get("updated"),
        "advice": first.get("title") if isinstance(first, dict) else None,
        "phases": {phase: _part(phases, phase).get("ms") for phase in PHASES},
        **{key: verdict.get(key) for key in _HEADLINE},
    }


_HEADLINE: Final = ("bound", "title", "stall_ratio", "step_ms", "samples_per_s", "ceiling_speedup")


def level(report: dict[str, Any]) -> str:
    """bad | warn | ok | unknown: the colour of a run."""
    verdict = _part(report, "verdict")
    bound = verdict.get("bound")
    if bound == "compute":
        return "ok"
    if bound == "transfer":
        return _severity(_part(_part(report, "phases"), "h2d").get("share"))
    if bound == "input":
        return _severity(verdict.get("stall_ratio"))
    return "warn" if bound in {"launch", "host"} else "unknown"


def _severity(share: object) -> str:
    return "bad" if isinstance(share, int | float) and share >= SEVERE_SHARE else "warn"


def _part(value: dict[str, Any], key: str) -> dict[str, Any]:
    """A section that is missing, null or of a wrong type reads as empty."""
    part = value.get(key)
    return part if isinstance(part, dict) else {}
