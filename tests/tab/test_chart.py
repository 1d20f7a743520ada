"""The chart: a stretch becomes the view, epochs become bars, runs lie over each other, and all of it can be saved."""

import csv
import re

import pytest

from feedwatch.report.json import from_json

from . import reports
from .event_files import write_report
from .tensorboards import served, wsgi

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests").expect


def drag(tab, plot, start, end):
    box = plot.bounding_box()
    tab.page.mouse.move(box["x"] + start, box["y"] + 100)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + (start + end) / 2, box["y"] + 100)
    tab.page.mouse.move(box["x"] + end, box["y"] + 100)
    tab.page.mouse.up()


def test_a_stretch_drawn_with_the_pointer_becomes_the_view(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    plot, extent = frame.locator(".plot"), frame.locator(".extent")
    expect(extent).to_have_text(re.compile(r"^Steps 17 to 4,000"))
    drag(tab, plot, 200, 320)
    shown = re.match(r"Shown: steps ([\d,]+) to ([\d,]+)", extent.inner_text())
    first, last = (int(value.replace(",", "")) for value in shown.groups())
    assert 500 < first < last < 3000
    tab.picture("zoom")
    frame.get_by_role("button", name="Whole run").click()
    expect(extent).to_have_text(re.compile(r"^Steps 17 to 4,000"))


def test_the_keyboard_zooms_too(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    frame.get_by_role("slider").focus()
    tab.page.keyboard.press("ArrowLeft")
    tab.page.keyboard.press("+")
    expect(frame.locator(".extent")).to_have_text(re.compile(r"^Shown: steps"))
    tab.page.keyboard.press("0")
    expect(frame.locator(".extent")).to_have_text(re.compile(r"^Steps 17 to 4,000"))


def test_the_mean_of_the_shown_stretch_is_that_of_its_points(tab, team_url):
    report = from_json(reports.workers2())
    series = report.series
    phases = (series.input_wait, series.h2d, series.compute, series.other)
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    drag(tab, frame.locator(".plot"), 200, 320)
    words = r"^Shown: steps ([\d,]+) to ([\d,]+), on average ([\d.]+)\sms per step over (\d+) points\.$"
    first, last, mean, points = (
        float(each.replace(",", "")) for each in re.match(words, frame.locator(".extent").inner_text()).groups()
    )
    # A point speaks for the steps since the point before it: so many of them are shown.
    shown = [
        max(0, min(last, step) - max(first - 1, before))
        for before, step in zip((0, *series.step), series.step, strict=False)
    ]
    total = sum(weight * sum(phase[i] for phase in phases) for i, weight in enumerate(shown))
    assert mean == pytest.approx(total / sum(shown), abs=0.06)
    assert points == sum(weight > 0 for weight in shown)


def test_epochs_become_bars(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    frame.get_by_role("button", name="Epochs").click()
    assert frame.locator(".plot svg rect.area.p-compute").count() == 3
    frame.locator(".plot").hover(position={"x": 200, "y": 150})
    expect(frame.locator(".tip")).to_contain_text(re.compile(r"(start|epoch \d), [\d,]+ steps"))
    tab.picture("epochs")


def test_the_bar_on_top_and_the_table_below_are_one_account(tab, tmp_path):
    report = reports.workers2()
    parts = {
        "input_wait": 34.0,
        "h2d": 6.0,
        "compute": 21.0,
        "other": 2.0,
        "epoch_start": 1.0,
        "validation": 3.0,
        "gap": 0.0,
    }
    report["account"] = {
        "batches": 4000, "epochs": 2, "seconds": 268.0, "batch_ms": 67.0,
        "parts": {name: {"ms": value, "share": value / 67.0} for name, value in parts.items()},
    }  # fmt: skip
    write_report(tmp_path / "run", report)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True)
        means = [
            float(re.sub(r"[^\d.]", "", row.locator("td").first.inner_text()))
            for row in frame.locator(".legend tbody tr:not(.sum)").all()
        ]
        assert sum(means) == pytest.approx(67.0)
        expect(frame.locator(".legend .sum")).to_contain_text(re.compile(r"67\sms"))
        labels = frame.locator(".segment").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
        assert sum(float(re.search(r", ([\d.]+)\sms", label)[1]) for label in labels) == pytest.approx(67.0)
        expect(frame.locator(".stepbar")).to_contain_text(re.compile(r"One batch takes 67\sms on average"))


def test_the_chart_can_be_saved(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    saves = frame.get_by_role("group", name="Save the chart of step times")
    for name, first in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with tab.page.expect_download() as saved:
            saves.get_by_role("button", name=name).click()
        assert saved.value.path().read_bytes().startswith(first)
    with tab.page.expect_download() as saved:
        saves.get_by_role("button", name="CSV").click()
    rows = list(csv.reader(saved.value.path().read_text().splitlines()))
    series = reports.workers2()["series"]
    assert rows[0] == ["step", "input_wait_ms", "h2d_ms", "compute_ms", "other_ms"]
    assert [float(value) for value in rows[7]] == [
        series[key][6] for key in ("step", "input_wait", "h2d", "compute", "other")
    ]


def test_compared_runs_lie_over_each_other_on_the_same_axes(tab, team_url):
    frame = tab.open(
        team_url,
        compare=("resnet50/workers2", "resnet50/workers6", "resnet50/workers8+pin"),
        alone=True,
        size=(1440, 1200),
    )
    card = frame.locator("section.card", has=frame.get_by_role("heading", name="The runs over their steps"))
    lines = card.locator(".plot path.line")
    expect(lines).to_have_count(3)
    dashes = lines.evaluate_all("all => all.map(e => getComputedStyle(e).strokeDasharray)")
    assert len(set(dashes)) == 3  # not only by their colours
    card.get_by_role("button", name="Input wait").click()
    card.locator(".plot").hover(position={"x": 400, "y": 100})
    expect(card.locator(".tip")).to_contain_text("resnet50/workers8+pin")
    tab.picture("overlay")
    with tab.page.expect_download() as saved:
        card.get_by_role("button", name="CSV").click()
    rows = list(csv.reader(saved.value.path().read_text().splitlines()))
    assert rows[0] == ["run", "step", "input_wait_ms"]
    assert len(rows) == 1 + 3 * 240
