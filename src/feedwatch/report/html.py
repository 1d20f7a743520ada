"""The tab's front end and its data as one HTML file: opens from disk, asks no server, runs nothing else."""

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from typing import Any, Final

from feedwatch.report.front_end import overview, rule_page, script, style_sheet

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


def render_html(reports: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """`reports`: each run's name and its report as JSON. The first name becomes the page's title."""
    style, code = style_sheet(), script() + "start();\n"
    names = ", ".join(name for name, _ in reports)
    return _PAGE.format(
        title=html.escape(f"Feedwatch: {names}" if names else "Feedwatch")[:200],
        policy=f"default-src 'none'; script-src {_hash_source(code)}; style-src {_hash_source(style)}",
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
    }


def _embedded(value: Any) -> str:
    """JSON that no report can leave: without `<` there is no `</script>` and no comment."""
    text = json.dumps(value, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash_source(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
