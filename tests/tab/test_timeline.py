"""The card that shows why, on trainings that happened in this test."""

import csv
import json
import re

import pytest

from feedwatch.model.timeline import SPAN_PHASES
from feedwatch.report import html
from feedwatch.report.load import load_run

from . import reports
from .event_files import write_report
from .tensorboards import served, wsgi

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests").expect


def card_of(frame):
    return frame.locator("section.card", has=frame.locator(".timeline"))


def lanes_of(report, why="last"):
    excerpt = next(each for each in report.timeline.excerpts if each.why == why)
    return excerpt, {lane.name: lane for lane in excerpt.lanes}


def test_workers_of_lightning_and_the_loop_stand_side_by_side(tab, real_url, real_logdir):
    frame = tab.open(real_url, "lightning/feedwatch", alone=True, size=(1440, 1300))
    card = card_of(frame)
    expect(card.get_by_role("heading", name="What happened in the last steps")).to_be_visible()
    for name in ("Worker 0", "Worker 1", "Training loop"):
        expect(card.locator(".lane-name", has_text=name).first).to_be_visible()
    expect(card.locator(".timeline > p").first).to_have_text(re.compile(r"ms of .* per step pass without a batch"))
    tab.picture("timeline-lightning")
    # The numbers in the picture are those of the file: every batch that the loop waited for was made before it came.
    excerpt, lanes = lanes_of(load_run(real_logdir / "lightning"))
    made = {}
    for worker in ("Worker 0", "Worker 1"):
        lane = lanes[worker]
        made |= {
            batch: begin + took for begin, took, batch in zip(lane.begin_us, lane.took_us, lane.batch, strict=True)
        }
    loop = lanes["Training loop"]
    waits = [
        (begin + took, batch)
        for begin, took, phase, batch in zip(loop.begin_us, loop.took_us, loop.phase, loop.batch, strict=True)
        if SPAN_PHASES[phase] == "input_wait" and batch in made
    ]
    assert len(waits) >= 6
    assert all(made[batch] <= came for came, batch in waits)
    assert sum(loop.took_us) == pytest.approx(excerpt.wall_us, abs=len(loop.took_us))


def test_stages_of_tf_data_are_drawn_and_called_an_estimate(tab, real_url, real_logdir):
    frame = tab.open(real_url, "keras/feedwatch", alone=True, size=(1440, 1300))
    card = card_of(frame)
    expect(card.locator(".lane-name", has_text="Map").first).to_be_visible()
    expect(card.locator(".foot")).to_contain_text("their lanes are an estimate")
    tab.picture("timeline-keras")
    _, lanes = lanes_of(load_run(real_logdir / "keras"))
    waited = {SPAN_PHASES[phase] for phase in lanes["Training loop"].phase}
    assert {"input_wait", "compute"} <= waited
    assert any(lane.kind == "stage" and lane.estimated for lane in lanes.values())


@pytest.mark.parametrize("name", ["lightning", "keras"])
def test_the_section_is_small_and_reads_back(real_logdir, name):
    text = (real_logdir / name / "feedwatch" / "report.json").read_text()
    assert len(json.dumps(json.loads(text)["timeline"])) <= 20_000
    assert {each.why for each in load_run(real_logdir / name).timeline.excerpts} >= {"last", "slowest"}


def test_pointer_and_arrow_keys_read_every_bar(tab, real_url):
    frame = tab.open(real_url, "lightning/feedwatch", alone=True, size=(1440, 1300))
    view = frame.get_by_role("slider", name=re.compile("The steps as they were"))
    frame.locator(".lanes .span .p-load").first.hover()
    expect(frame.locator(".lane-tip").first).to_have_text(re.compile(r"^Worker 0: batch \d+ is made, [\d.]+\s(ms|µs)$"))
    view.focus()
    tab.page.keyboard.press("ArrowRight")
    assert re.match(r"Worker 0: batch", view.get_attribute("aria-valuetext"))
    for _ in range(2):
        tab.page.keyboard.press("ArrowDown")
    assert re.match(r"Training loop, step \d+: ", view.get_attribute("aria-valuetext"))
    tab.page.keyboard.press("Escape")
    expect(frame.locator(".lane-tip").first).to_be_hidden()


def test_slowest_step_and_a_place_picked_in_the_chart(tab, real_url, real_logdir):
    frame = tab.open(real_url, "lightning/feedwatch", alone=True, size=(1440, 1600))
    card = card_of(frame)
    card.get_by_role("button", name="Slowest step").click()
    expect(card.get_by_role("heading", level=2)).to_have_text("What happened around the slowest step")
    frame.locator(".plot").click(position={"x": 70, "y": 100})
    expect(card.get_by_role("heading", level=2)).to_have_text("What happened around the picked step")
    expect(card.locator(".foot")).to_contain_text("these are the nearest to step")
    first = load_run(real_logdir / "lightning").series.step[0]
    nearest = min(
        load_run(real_logdir / "lightning").timeline.excerpts,
        key=lambda each: abs((each.step[0] + each.step[-1]) / 2 - first),
    )
    expect(card.locator("h3").first).to_contain_text(str(nearest.step[0]))


def test_the_timeline_leaves_the_page_as_svg_png_and_csv(tab, real_url):
    frame = tab.open(real_url, "lightning/feedwatch", alone=True, size=(1440, 1300))
    card = card_of(frame)
    saves = card.get_by_role("group", name="Save the timeline")
    saves.get_by_role("button", name="Copy SVG").click()
    expect(saves.get_by_role("button", name="Copied")).to_be_visible()
    drawn = frame.locator("body").evaluate("() => navigator.clipboard.readText()")
    assert drawn.startswith("<svg")
    assert "Training loop" in drawn
    assert "As it was: steps" in drawn
    assert "a batch is made" in drawn  # what the colours mean leaves the page with them
    assert "var(--" not in drawn  # it stands alone
    for name, first in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with tab.page.expect_download() as saved:
            saves.get_by_role("button", name=name, exact=True).click()
        assert saved.value.path().read_bytes().startswith(first)
    with tab.page.expect_download() as saved:
        saves.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(saved.value.path().read_text().splitlines()))
    assert {row["lane"] for row in rows} >= {"Worker 0", "Worker 1", "Training loop"}
    assert all(float(row["begin_ms"]) <= float(row["end_ms"]) for row in rows)


def with_timeline():
    """Steps of 40 ms, of which 30 pass without a batch, and a change that four workers make."""
    report = reports.workers2()
    loop = {"kind": "loop", "name": "Training loop", "begin_us": [], "took_us": [], "phase": [], "batch": []}
    for step in range(8):
        for phase, begin, took in ((0, 0, 30_000), (2, 30_000, 10_000)):
            loop["begin_us"].append(step * 40_000 + begin)
            loop["took_us"].append(took)
            loop["phase"].append(phase)
            loop["batch"].append(step + 1 if phase == 0 else 0)
    excerpt = {
        "why": "last",
        "step": list(range(1, 9)),
        "begin_us": [step * 40_000 for step in range(8)],
        "wall_us": 320_000,
        "lanes": [loop],
    }
    report["timeline"] = {"excerpts": [excerpt]}
    report["findings"][0]["gain"]["pace"] = {
        "batch_ms": 12.0, "step_ms": 10.0, "ahead": True, "stages": [{"name": "loading", "ms": 30.0, "lanes": 4.0}],
    }  # fmt: skip
    return report


def test_the_same_steps_under_the_first_change_take_as_long_as_was_predicted(tab, tmp_path):
    write_report(tmp_path / "run", with_timeline())
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True, size=(1440, 1300))
        card = card_of(frame)
        after = card.locator("h3").nth(1)
        expect(after).to_contain_text("With the change: Raise num_workers from 2 to 6 predicted")
        expect(after).to_contain_text(re.compile(r"8 steps in 96\sms"))  # of 12 ms each
        assert card.locator(".lanes").nth(1).locator(".lane-name").all_text_contents()[0].startswith("Worker 0")
        numbers = card.locator(".lanes").nth(1).locator(".on-load").all_text_contents()
        assert set(numbers) <= {str(number) for number in range(1, 9)}  # those of the steps; of others nobody knows
        assert numbers
        card.get_by_role("button", name="Copy SVG").click()
        drawn = frame.locator("body").evaluate("() => navigator.clipboard.readText()")
        assert re.search(r"As it was: steps 1 to 8 in 320\sms", drawn)
        assert re.search(r"With the change, predicted: 8 steps in 96\sms", drawn)
        tab.picture("timeline-predicted")


def test_slow_steps_do_not_become_usual_ones_by_the_change(tab, tmp_path):
    report = with_timeline()
    # A usual step of this run takes 5 ms besides waiting; the shown ones take 10, and the change does not touch that.
    parts = {"input_wait": {"ms": 15.0, "share": 0.75}, "compute": {"ms": 5.0, "share": 0.25}}
    report["account"] = {"batches": 4000, "epochs": 0, "seconds": 80.0, "batch_ms": 20.0, "parts": parts}
    report["findings"][0]["gain"]["pace"] |= {"batch_ms": 5.0, "step_ms": 5.0}
    write_report(tmp_path / "run", report)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True)
        expect(card_of(frame).locator("h3").nth(1)).to_contain_text(re.compile(r"8 steps in 8\d\sms"))


def test_a_trial_replaces_the_prediction(tab, tmp_path):
    report = with_timeline()
    code = report["findings"][0]["code"]
    report["trial"] = {"rows": [{"name": "num_workers=6", "codes": [code], "step_ms": 14.0, "wait_share": 0.25}]}
    write_report(tmp_path / "run", report)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True)
        expect(card_of(frame).locator("h3").nth(1)).to_contain_text("measured mean")
        expect(card_of(frame).locator("h3").nth(1)).to_contain_text(re.compile(r"8 steps in 112\sms"))


def test_a_change_that_only_a_trial_knows_is_drawn_as_it_was_measured(tab, tmp_path):
    """The setting that a trial picks need not be the one that the model had in mind: nobody knows its workers' moments."""
    report = with_timeline()
    code = report["findings"][0]["code"]
    report["findings"][0]["gain"] = {"low": 2.4, "high": 2.6, "basis": "measured", "because": "in turns"}
    rows = [("num_workers=6", True, 30.0), ("num_workers=5", False, 16.0)]
    report["trial"] = {
        "picked": "num_workers=5",
        "rows": [
            {"name": name, "codes": [code], "advised": advised, "step_ms": step_ms, "wait_share": 0.25}
            for name, advised, step_ms in rows
        ],
    }
    write_report(tmp_path / "run", report)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True)
        card = card_of(frame)
        expect(card.locator("h3").nth(1)).to_contain_text(re.compile(r"measured mean 8 steps in 128\sms"))
        assert card.locator(".lanes").nth(1).locator(".lane-name").count() == 1
        expect(card.locator(".foot")).to_contain_text("from the means that a trial measured")


def test_a_hostile_timeline_is_left_out_or_shown_as_text(tab, tmp_path):
    report = with_timeline()
    lane = report["timeline"]["excerpts"][0]["lanes"][0]
    lane |= {
        "name": "<img src=x onerror=alert(1)>",
        "begin_us": ["x", None, *lane["begin_us"][2:]],
        "phase": [99, {}, *lane["phase"][2:]],
    }
    report["timeline"]["excerpts"] += [{"why": {}, "step": "no", "lanes": 7}, None, "text"]
    report["findings"][0]["gain"]["pace"] = {"batch_ms": 1e300, "step_ms": "x", "stages": [{}] * 900}
    write_report(tmp_path / "run", report)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True)
        expect(card_of(frame).locator(".lane-name").first).to_contain_text("<img")
        assert frame.locator("img").count() == 0
        expect(card_of(frame).locator("h3")).to_have_count(1)


def test_a_notebooks_html_shows_the_same_card(tab, real_logdir, tmp_path):
    report = json.loads((real_logdir / "keras" / "feedwatch" / "report.json").read_text())
    path = tmp_path / "report.html"
    path.write_text(html.render_html([("keras", report)]), encoding="utf-8")
    page = tab.open_file(path)
    expect(card_of(page).locator(".lane-name", has_text="Training loop").first).to_be_visible()
    with page.expect_download() as saved:  # the file's own policy lets a picture be drawn
        card_of(page).get_by_role("button", name="PNG").click()
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")
