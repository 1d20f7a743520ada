"""The report in a notebook: one small view without a script, in the colours of the tab.

Text takes the notebook's own colour, and every background is a veil of it: legible on light and on dark, whatever the
theme is called.
"""

import re
import sys
from html import escape
from typing import Any, Final

from feedwatch.model.account import EPOCH_START, GAP, VALIDATION
from feedwatch.model.report import Report, Status
from feedwatch.model.steps import INPUT_WAIT, OTHER
from feedwatch.model.verdict import Finding
from feedwatch.report.console import ALTERED, ALTERS
from feedwatch.report.html import STYLE, source
from feedwatch.report.json import clean
from feedwatch.report.parts import mean_and_share, parts_of
from feedwatch.report.silence import model_note, words_without_findings
from feedwatch.words import gain_text, ms, number

NO_REPORT: Final = "<p>feedwatch: nothing was measured yet.</p>"
MAX_FINDINGS: Final = 3

_CARD: Final = (
    "border:1px solid rgba(128,128,128,.45);border-radius:8px;padding:12px 16px;max-width:56em;line-height:1.5;"
    "color:inherit"
)
# As in the tab: an epoch's start is waiting, what lies between epochs is nobody's.
_COLOUR_OF: Final = {EPOCH_START: INPUT_WAIT, VALIDATION: "aside", GAP: OTHER}
_CODE: Final = (
    "background:rgba(128,128,128,.14);color:inherit;padding:8px 10px;border-radius:6px;overflow:auto;margin:6px 0 0"
)


def render_card(report: Report | None) -> str:
    """For a cell that ends with the callback, the watch or its report."""
    if report is None:
        return NO_REPORT
    verdict = report.verdict
    status = "" if report.status is Status.FINISHED else f" ({report.status.value})"
    figures = f"step {ms(verdict.step_ms)} · {number(verdict.samples_per_s)} samples/s · {report.clock} clock"
    parts = [
        f'<div style="font-weight:600;font-size:1.15em">{_text(verdict.title)}{status}</div>',
        f"<div>{_text(verdict.detail)}</div>",
        _bar(report),
        f'<div style="opacity:.8">{_text(figures)}</div>',
        *(_finding(place, each) for place, each in enumerate(report.findings[:MAX_FINDINGS], start=1)),
    ]
    parts += [f"<div>{_text(line)}</div>" for line in words_without_findings(report) or model_note(report)]
    left = len(report.findings) - MAX_FINDINGS
    if left > 0:
        parts.append(f'<div style="opacity:.8">{left} more in the report</div>')
    return f'<div class="feedwatch-card" style="{_CARD}">{"".join(parts)}</div>'


def show_reports_in_notebooks() -> None:
    """IPython asks its own table how a value is shown; a report has no method for it, because it is a plain value."""
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is not None:
        shell.display_formatter.formatters["text/html"].for_type(Report, render_card)


def _bar(report: Report) -> str:
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", source(STYLE).split("}", 1)[0]))
    colours |= {name: colours[of] for name, of in _COLOUR_OF.items()}
    lines = parts_of(report)
    fills = "".join(
        f'<span style="width:calc({round(line.share, 4)} * 100%);background:{colours[line.key]}"></span>'
        for line in lines
        if line.share is not None
    )
    names = " · ".join(
        f'<span style="color:{colours[line.key]}">■</span> {line.name} {mean_and_share(line)}' for line in lines
    )
    return (
        '<div style="display:flex;height:10px;border-radius:5px;overflow:hidden;margin:10px 0 4px;'
        f'background:rgba(128,128,128,.25)">{fills}</div><div>{names}</div>'
    )


def _finding(place: int, finding: Finding) -> str:
    gain = "" if finding.gain is None else f"<div>{_text(f'{gain_text(finding.gain)}: {finding.gain.because}')}</div>"
    altered = ", ".join(ALTERED[what] for what in finding.alters if what in ALTERED)
    alters = f"<div>{ALTERS}{altered}.</div>" if altered else ""
    after = finding.fix.after.strip()
    code = f'<pre style="{_CODE}">{_text(after)}</pre>' if after else ""
    return (
        '<div style="border-top:1px solid rgba(128,128,128,.35);margin-top:10px;padding-top:8px">'
        f"<b>{place}. {_text(finding.title)}</b> <span style='opacity:.8'>{_text(finding.code)}</span>"
        f"<div>{_text(finding.why)}</div>{gain}{alters}{code}</div>"
    )


def _text(text: str) -> str:
    """Names come from other people's code."""
    return escape(clean(text))
