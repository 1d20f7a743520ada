"""Where the reader is, and how to get back: the address, the list of runs, and what a run's state looks like."""

import re
import time

import pytest

from . import reports
from .event_files import write_report
from .tensorboards import served, wsgi

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests").expect


def title_of(frame):
    return frame.get_by_role("heading", level=1)


@pytest.fixture(scope="module")
def sweep_url(tmp_path_factory):
    """Runs that all end in /feedwatch; the newest one finished, and an older one still trains."""
    logdir = tmp_path_factory.mktemp("sweep")
    now = time.time()

    def written(name, report, started, updated, status):
        report["run"] |= {"started": started, "updated": updated}
        write_report(logdir / name / "feedwatch", report | {"status": status})

    written("a", reports.workers2(), now - 7200, now - 20, "running")
    written("b", reports.healthy(), now - 3600, now - 1800, "finished")
    written("killed", reports.workers6(), now - 5400, now - 125, "running")
    written("c", reports.tf_data(), now - 9000, now - 8000, "finished")
    with served(wsgi(logdir)) as url:
        yield url


def test_it_opens_on_the_run_that_trains_and_the_address_says_so(tab, sweep_url):
    frame = tab.open(sweep_url)
    expect(title_of(frame)).to_have_text("The GPU waits for data 54 % of the time")
    assert tab.page.url.endswith("#feedwatch&p.feedwatch.run=a%2Ffeedwatch")


def test_it_opens_on_the_newest_run_where_none_trains(tab, team_url):
    frame = tab.open(team_url, alone=True)
    expect(title_of(frame)).to_have_text(re.compile("The training loop waits for data 41 %|The GPU is busy"))


def test_back_returns_to_what_was_on_the_screen(tab, sweep_url):
    frame = tab.open(sweep_url, "a/feedwatch")
    frame.get_by_title("b/feedwatch", exact=True).click()
    expect(title_of(frame)).to_have_text("The GPU is busy: input is not the limit")
    frame.get_by_role("checkbox", name="Compare a/feedwatch").check()
    expect(title_of(frame)).to_contain_text("b is 2.81× as fast as a")
    address = tab.page.url
    assert "p.feedwatch.compare=a%2Ffeedwatch" in address
    assert "p.feedwatch.compare=b%2Ffeedwatch" in address
    assert "p.feedwatch.baseline=a%2Ffeedwatch" in address
    tab.page.go_back()
    expect(title_of(frame)).to_have_text("The GPU is busy: input is not the limit")
    tab.page.go_back()
    expect(title_of(frame)).to_have_text("The GPU waits for data 54 % of the time")
    tab.page.go_forward()
    expect(title_of(frame)).to_have_text("The GPU is busy: input is not the limit")


def test_a_link_names_the_baseline_too(tab, sweep_url):
    frame = tab.open(sweep_url, "a/feedwatch")
    frame.get_by_role("checkbox", name="Compare b/feedwatch").check()
    frame.get_by_label("compared with").select_option("b/feedwatch")
    expect(title_of(frame)).to_contain_text("a is slower than b")
    tab.page.reload()
    expect(title_of(tab.page.frame_locator("iframe").first)).to_contain_text("a is slower than b")


def test_a_run_that_is_not_there_is_said_to_be_missing(tab, sweep_url):
    frame = tab.open(sweep_url, "gone/for ever")
    expect(title_of(frame)).to_have_text("There is no run gone/for ever here")
    assert "gone%2Ffor+ever" in tab.page.url  # the address is not changed behind the reader's back
    frame.get_by_title("b/feedwatch", exact=True).click()
    expect(title_of(frame)).to_have_text("The GPU is busy: input is not the limit")


def test_a_compared_run_that_is_not_there_is_named(tab, sweep_url):
    frame = tab.open(sweep_url, compare=("a/feedwatch", "b/feedwatch", "gone"), alone=True)
    expect(frame.get_by_role("status")).to_have_text("Not in this log directory: gone.")
    expect(frame.locator(".figures-table tbody tr")).to_have_count(2)


def test_a_killed_run_is_stale_after_three_reports_that_did_not_come(tab, sweep_url):
    frame = tab.open(sweep_url, "killed/feedwatch", alone=True)
    expect(frame.locator(".chip.stale")).to_have_text("No news for a while: it may have been killed")
    expect(frame.locator(".chip.live")).to_have_count(0)
    expect(frame.get_by_title("killed/feedwatch", exact=True)).to_contain_text("no news, killed?")
    expect(frame.get_by_title("a/feedwatch", exact=True)).to_contain_text("running")


def test_the_list_shows_date_framework_and_state_and_leaves_out_what_all_names_share(tab, sweep_url):
    frame = tab.open(sweep_url, "c/feedwatch", alone=True)
    entry = frame.get_by_title("c/feedwatch", exact=True)
    expect(entry.locator(".name")).to_have_text(re.compile(r"^c\w{3} \d+, .*· keras$"))
    expect(entry.locator(".n")).to_have_text(re.compile(r"41\s%"))
    order = frame.get_by_label("Order of the runs")
    names = lambda: [text[0] for text in frame.locator(".run .name").all_inner_texts()]  # noqa: E731
    assert names() == ["b", "k", "a", "c"]
    order.select_option("wait")
    assert names() == ["a", "c", "k", "b"]
    order.select_option("name")
    assert names() == ["a", "b", "c", "k"]


def test_a_healthy_run_has_no_alarm_colour(tab, sweep_url):
    frame = tab.open(sweep_url, "b/feedwatch", alone=True)
    expect(title_of(frame)).to_have_text("The GPU is busy: input is not the limit")
    assert frame.locator("main .l-bad, main .l-warn").count() == 0


def test_states_differ_by_shape_and_not_only_by_colour(tab, sweep_url):
    frame = tab.open(sweep_url, "b/feedwatch", alone=True)
    shapes = frame.locator(".run .mark-of").evaluate_all(
        "all => Object.fromEntries(all.map(e => [e.getAttribute('aria-label'), e.querySelector('path').getAttribute('d')]))"
    )
    assert len(shapes) == len(set(shapes.values())) >= 2


def test_a_run_of_five_steps_does_not_contradict_itself(tab, tmp_path):
    report = reports.failed() | {"status": "finished"}
    share = {"ms": 20.0, "share": 0.8}
    parts = {"input_wait": share, "h2d": None, "compute": {"ms": 5.0, "share": 0.2}}
    report["account"] = {"batches": 2, "epochs": 0, "seconds": 0.05, "batch_ms": 25.0, "parts": parts}
    report["verdict"] |= {"title": "Too early to tell", "step_ms": 25.0}
    report["steps"]["measured"] = 2
    write_report(tmp_path / "run", report)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True)
        figures = frame.locator(".numbers dd").all_inner_texts()
        assert figures[0] == figures[3] == "too early"
        expect(frame.locator(".stepbar")).to_contain_text("So far, over 2 steps")
        assert "of the training time" not in frame.locator("main").inner_text()
