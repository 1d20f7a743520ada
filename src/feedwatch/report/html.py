"""The report for a browser: the front end that the tab serves, and the same with its data as one HTML file.

The file opens from disk, asks no server and runs nothing else.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from importlib import resources
from itertools import permutations
from typing import Any, Final

from feedwatch import words
from feedwatch.errors import ReportError
from feedwatch.model.steps import PHASES
from feedwatch.report.json import encoded, from_json

# In this order every module stands behind those that it imports.
SCRIPTS: Final = (
    "dom.js",
    "words.js",
    "names.js",
    "status.js",
    "patterns.js",
    "markdown.js",
    "difference.js",
    "clipboard.js",
    "host.js",
    "source.js",
    "series.js",
    "export.js",
    "chart.js",
    "plot.js",
    "history.js",
    "lanes.js",
    "foresee.js",
    "timeline.js",
    "verdict.js",
    "pipeline.js",
    "machine.js",
    "ranks.js",
    "advice.js",
    "measurement.js",
    "overlay.js",
    "compare.js",
    "runs.js",
    "empty.js",
    "trial.js",
    "index.js",
)
STYLE: Final = "style.css"

# Each with each, in one file.
MOST_COMPARED: Final = 12
# From this share of the time on a run is shown in red.
SEVERE_SHARE: Final = 0.20

# These patterns match whole statements. A test makes sure that every module imports and exports in this form.
_IMPORT: Final = re.compile(r"^import \{[^}]*\} from '\./[a-z]+\.js';\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)

# What a line of the run list takes from the verdict.
_HEADLINE: Final = ("bound", "title", "stall_ratio", "step_ms", "samples_per_s", "ceiling_speedup")

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This report needs JavaScript. <code>feedwatch report RUN</code> prints it as text.</noscript>
<script type="application/json" id="feedwatch-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


# -- the one HTML file ---------------------------------------------------------------------------


def render_html(reports: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """`reports`: each run's name and its report as JSON. The first name becomes the page's title."""
    style, code = style_sheet(), script() + "start();\n"
    names = ", ".join(name for name, _ in reports)
    return _PAGE.format(
        title=html.escape(f"Feedwatch: {names}" if names else "Feedwatch")[:200],
        # A chart that is saved as PNG is drawn once as a picture from a data address.
        policy=f"default-src 'none'; script-src {_hash_source(code)}; style-src {_hash_source(style)}; img-src data:",
        style=style,
        script=code,
        data=_embedded(_data(reports)),
    )


def _data(reports: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    codes = {
        finding["code"]
        for _, report in reports
        for finding in report.get("findings") or ()
        if isinstance(finding, dict) and isinstance(finding.get("code"), str)
    }
    pages = {code: rule_page(code) for code in sorted(codes)}
    return {
        "reports": [{"run": name, "row": overview(name, report), "report": report} for name, report in reports],
        "rules": {code: page for code, page in pages.items() if page is not None},
        "comparisons": [
            {"before": before, "after": after, **comparison(one, other)}
            for (before, one), (after, other) in permutations(list(reports)[:MOST_COMPARED], 2)
        ],
    }


def comparison(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What `feedwatch compare` says about two reports. Empty where one of them cannot be read."""
    # Imported here, because every start of TensorBoard imports this module, and numpy takes a while.
    from feedwatch.report.compare import compare

    try:
        found: dict[str, Any] = encoded(compare(from_json(before), from_json(after)))
    except ReportError:
        return {}
    return found


def _embedded(value: Any) -> str:
    """JSON that cannot end its own script element: without `<` there is no `</script>` and no comment."""
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash_source(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


# -- what the tab serves and the file holds ------------------------------------------------------


def script() -> str:
    """All modules in one script. No two modules use the same name, so one scope can hold them.

    This is one request instead of one per module, and the only form that works in a file opened from disk.
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
    """The page of a rule as Markdown. None where no rule has this code."""
    # Imported here, because every start of TensorBoard imports this module, and few readers open a rule's page.
    from feedwatch.advise.pages import page_markdown

    try:
        return page_markdown(code)
    except KeyError:
        return None


def overview(run: str, report: dict[str, Any]) -> dict[str, Any]:
    """One line of the run list. It is small, because there may be hundreds of runs."""
    verdict, where, phases = _part(report, "verdict"), _part(report, "run"), _part(report, "phases")
    findings = report.get("findings")
    first = findings[0] if isinstance(findings, list) and findings else None
    return {
        "run": run,
        "error": report.get("error"),
        "status": report.get("status"),
        "level": level(report),
        "clock": report.get("clock"),
        "framework": where.get("framework"),
        "rank": where.get("rank"),
        "world_size": where.get("world_size"),
        "started": where.get("started"),
        "updated": where.get("updated"),
        "advice": first.get("title") if isinstance(first, dict) else None,
        "phases": {phase: _part(phases, phase).get("ms") for phase in PHASES},
        **{key: verdict.get(key) for key in _HEADLINE},
    }


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
    # Compared and not looked up: a damaged file may hold a list here, which no set can be asked for.
    return "warn" if bound in ("launch", "host") else "unknown"


def _severity(share: object) -> str:
    return "bad" if isinstance(share, int | float) and share >= SEVERE_SHARE else "warn"


def _part(value: dict[str, Any], key: str) -> dict[str, Any]:
    """A section that is missing, null or of a wrong type reads as empty."""
    part = value.get(key)
    return part if isinstance(part, dict) else {}
