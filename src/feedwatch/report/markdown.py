"""The advice for TensorBoard's Text tab: the verdict in the first line, below 25 lines."""

from feedwatch.model.report import Report
from feedwatch.model.verdict import Finding, Gain
from feedwatch.report.json import clean
from feedwatch.report.parts import mean_and_share, parts_of
from feedwatch.report.silence import words_without_findings
from feedwatch.report.trial import answer, at_most
from feedwatch.words import gain_text, ms, number

# TensorBoard's text card is read at a glance. The third finding rarely matters before the first is mended.
MAX_FINDINGS = 2
MAX_SNIPPET_LINES = 6


def render_markdown(report: Report) -> str:
    verdict = report.verdict
    lines = [f"**{escape(verdict.title)}**", "", escape(verdict.detail), "", _figures(report)]
    if report.trial is not None:
        lines += ["", f"Trial: {escape(answer(report.trial))} {escape(at_most(report.trial.ceiling) or '')}".rstrip()]
    for place, finding in enumerate(report.findings[:MAX_FINDINGS], start=1):
        lines += ["", *_finding(place, finding)]
    if not report.findings:
        for line in words_without_findings(report):
            lines += ["", escape(line)]
    return "\n".join(lines)


def escape(text: str) -> str:
    """Names come from the user's code and may hold Markdown or HTML; they must stay text."""
    out = "".join(f"\\{char}" if char in "\\`*_[]<>|#" else char for char in clean(text))
    return " ".join(out.split())


def _figures(report: Report) -> str:
    account = report.account
    parts = [f"{ms(report.verdict.step_ms)} per step" if account is None else f"{ms(account.batch_ms)} per batch"]
    parts += [f"{line.name} {mean_and_share(line)}" for line in parts_of(report)]
    parts.append(f"{number(report.verdict.samples_per_s)} samples per second")
    return " · ".join(parts)


def _finding(place: int, finding: Finding) -> list[str]:
    gain: Gain | None = finding.gain
    lines = [
        f"{place}. **{escape(finding.title)}** ({finding.code}; {gain_text(gain)})",
        "",
        escape(finding.why),
    ]
    snippet = finding.fix.after.strip().splitlines()
    if snippet and len(snippet) <= MAX_SNIPPET_LINES:
        lines += ["", *(f"    {line}" for line in snippet)]
    return lines
