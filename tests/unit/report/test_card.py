"""What a notebook shows; tests/tab/test_html_file.py looks at pages in a browser."""

import re
import sys
from dataclasses import replace
from types import SimpleNamespace

from feedwatch.model.report import Report, Status
from feedwatch.report.card import NO_REPORT, render_card, show_reports_in_notebooks
from feedwatch.report.json import from_json
from tests.tab import reports


def report(data=None) -> Report:
    return from_json(reports.workers2() if data is None else data)


def words(card):
    return " ".join(re.sub(r"<[^>]*>", " ", card).split())


def test_it_says_the_verdict_the_phases_and_the_findings_with_their_code():
    shown = report()
    text = words(render_card(shown))
    assert text.startswith(shown.verdict.title)
    assert "input wait" in text
    assert shown.findings[0].title in text
    assert shown.findings[0].fix.after.splitlines()[0] in render_card(shown).replace("&quot;", '"').replace(
        "&#x27;", "'"
    )


def test_it_needs_no_script_and_asks_nobody():
    card = render_card(report())
    for foreign in ("<script", "src=", "href=", "url(", "@import", "on"):
        assert foreign not in card if foreign != "on" else not re.search(r"\son\w+=", card)


def test_it_has_no_colour_of_text_or_ground_that_a_theme_could_hide():
    card = re.sub(r'<span style="color:#[0-9a-f]{6}">■</span>', "", render_card(report()))
    assert set(re.findall(r"[^-]color:([^;\"]+)", card)) == {"inherit"}
    grounds = re.sub(r'<span style="width:[^"]*"></span>', "", card)
    assert all(each.startswith("rgba(128,128,128") for each in re.findall(r"background:([^;\"]+)", grounds))


def test_what_comes_from_other_peoples_code_stays_text():
    shown, hostile = report(), "</pre><script>alert(1)</script><img src=x onerror=alert(1)>"
    finding = replace(shown.findings[0], title=hostile, why=hostile, fix=replace(shown.findings[0].fix, after=hostile))
    card = render_card(replace(shown, verdict=replace(shown.verdict, title=hostile), findings=(finding,)))
    assert "<script" not in card
    assert "<img" not in card


def test_a_run_that_failed_or_has_no_report_says_so():
    assert "(failed)" in render_card(replace(report(), status=Status.FAILED))
    assert render_card(None) == NO_REPORT


def test_a_report_itself_is_shown_where_ipython_runs(monkeypatch):
    table = {}
    formatter = SimpleNamespace(for_type=table.__setitem__)
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    show_reports_in_notebooks()
    assert table == {Report: render_card}
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    show_reports_in_notebooks()
