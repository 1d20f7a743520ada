"""The stand-alone HTML report, opened from disk."""

import json
import re
from dataclasses import asdict

import pytest

from feedwatch.model.trial import Outcome, Span
from feedwatch.report.html import render_html
from feedwatch.report.trial import answer, at_most
from tests.fakes.trials import row, section

from . import reports

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests").expect


def test_one_report_opens_from_disk_without_a_server(tab, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_html([("resnet50/workers2", reports.workers2())]), encoding="utf-8")
    page = tab.open_file(path)
    expect(page.get_by_role("heading", level=1)).to_have_text("The GPU waits for data 54 % of the time")
    expect(page.locator(".runs")).to_have_count(0)
    expect(page.locator(".plot svg")).to_be_visible()
    page.get_by_role("button", name="Copy").first.click()
    expect(page.locator(".copy").first).to_have_text("Copied")
    tab.picture("html-report")


def test_a_trial_is_a_table_and_its_ceiling_is_called_measured(tab, tmp_path):
    report = reports.workers2()
    found = section(
        row(predicted=Span(3.0, 4.0), contradicts=True), row("num_workers=4", Outcome.SAME), picked="num_workers=2"
    )
    report["trial"] = json.loads(json.dumps(asdict(found)))
    path = tmp_path / "report.html"
    path.write_text(render_html([("a", report)]), encoding="utf-8")
    page = tab.open_file(path)
    expect(page.locator("dl.numbers")).to_contain_text("2.1–2.3×")
    expect(page.locator("dl.numbers")).to_contain_text("at most, measured")
    expect(page.locator("dl.numbers")).not_to_contain_text("estimated")
    card = page.locator("section, article", has=page.get_by_role("heading", name="Measured in turns")).last
    said = card.locator(".card-head .note").inner_text().replace("\u00a0", " ")
    assert said == f"{answer(found)} {at_most(found.ceiling)}"  # as the console has it
    expect(card.get_by_role("columnheader")).to_have_text(["Tried", "Batch", "Side by side", "Speed", "Predicted"])
    expect(card.get_by_role("row", name=re.compile("^num_workers=2"))).to_contain_text("3–4× (contradicted)")
    expect(card.get_by_role("row", name=re.compile("^num_workers=4"))).to_contain_text("no difference above 3 %")
    tab.picture("trial")


def test_it_follows_the_systems_dark_mode(tab, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_html([("a", reports.tf_data())]), encoding="utf-8")
    expect(tab.open_file(path, dark=True).locator("html")).to_have_class("dark")


def test_several_reports_can_be_compared_in_one_file(tab, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(render_html([("a", reports.workers2()), ("b", reports.healthy())]), encoding="utf-8")
    page = tab.open_file(path)
    page.get_by_role("checkbox", name="Compare a").check()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile(r"b is 2\.81× as fast as a"))


def test_hostile_content_neither_runs_nor_breaks_the_page(tab, tmp_path):
    name = "</script><script>document.title='owned'</script>"
    path = tmp_path / "report.html"
    path.write_text(render_html([(name, reports.hostile())]), encoding="utf-8")
    page = tab.open_file(path)
    expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
    assert page.locator("img").count() == 0
    assert page.title() == f"Feedwatch: {name}"


def test_the_rule_pages_of_its_findings_are_inside(tab, tmp_path):
    from feedwatch.advise.registry import RULES

    report = reports.workers2()
    report["findings"][0]["code"] = RULES[0].code
    path = tmp_path / "report.html"
    path.write_text(render_html([("a", report)]), encoding="utf-8")
    page = tab.open_file(path)
    page.locator("details.rule summary").first.click()
    expect(page.locator(".page h5", has_text="When to leave it")).to_be_visible()
