"""What the page owes to everybody: no violation of axe's rules on any view, sizes of targets, and a page that comes at once."""

import gzip

import pytest

from feedwatch.report import html

from . import reports
from .event_files import write_report
from .tensorboards import served, wsgi
from .test_timeline import with_timeline

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests").expect
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed: access is not checked")

# The frame is TensorBoard's: what it says about itself is not ours. Everything else holds, best practices included.
SCRIPT_BYTES = 60_000
FIRST_PAINT_MS = 500
LEAST_TARGET = 24


@pytest.fixture(scope="module")
def views_url(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("views")
    runs = {
        "input": with_timeline(), "better": reports.workers6(), "healthy": reports.healthy(), "keras": reports.tf_data(),
        "failed": reports.failed(), "hostile": reports.hostile(), **{f"ddp/rank{number}": reports.rank(number) for number in range(4)},
    }  # fmt: skip
    for name, report in runs.items():
        write_report(logdir / name, report)
    write_report(logdir / "broken", b"\x00 nothing")
    with served(wsgi(logdir)) as url:
        yield url


VIEWS = (
    "input",
    "better",
    "healthy",
    "keras",
    "failed",
    "hostile",
    "ddp/rank0",
    "broken",
    "missing",
    "compare",
    "empty",
)


def opened(tab, view, url):
    if view == "compare":
        return tab.open(url, compare=("input", "better", "healthy"), alone=True)
    return tab.open(url, view, alone=True)


def violations(page):
    found = axe.Axe().run(page).response["violations"]
    return [
        (each["id"], each["nodes"][0]["html"][:160], each["nodes"][0].get("failureSummary", "")[:300]) for each in found
    ]


def test_axe_finds_nothing_on_eleven_views_light_and_dark(tab, views_url, tmp_path):
    wrong = {}
    with served(wsgi(tmp_path)) as empty_url:
        for view in VIEWS:
            page = opened(tab, view, empty_url if view == "empty" else views_url)
            # What a script prints by mistake.
            said = {"null", "undefined", "NaN", "[object Object]"} & set(page.locator("body").inner_text().split())
            found = {"said": sorted(said)} | {theme: violations_in(page, theme) for theme in ("light", "dark")}
            wrong |= {(view, what): each for what, each in found.items() if each}
    tab.problems.clear()  # a run that is not there
    assert wrong == {}


def violations_in(page, theme):
    page.emulate_media(color_scheme=theme)  # the tab alone follows the system
    expect(page.locator("html.dark")).to_have_count(int(theme == "dark"))
    return violations(page)


def test_axe_can_find_something(tab):
    page = tab.blank()
    page.set_content("<html><body><img src='x'><button></button></body></html>")
    assert {"image-alt", "button-name"} <= {each[0] for each in violations(page)}


def test_everything_that_is_pressed_is_large_enough(tab, views_url):
    small = "all => all.filter(e => e.getBoundingClientRect().height > 0).map(e => [e.textContent.slice(0, 30) || e.getAttribute('aria-label'), Math.round(e.getBoundingClientRect().height), Math.round(e.getBoundingClientRect().width)]).filter(([, height, width]) => height < LEAST || width < LEAST)".replace(
        "LEAST", str(LEAST_TARGET)
    )
    for view in ("input", "compare"):
        page = opened(tab, view, views_url)
        assert page.locator("button, select, summary, .tick-box, input[type=search]").evaluate_all(small) == []


def test_the_title_names_the_run_and_the_first_tab_stop_skips_the_list(tab, views_url):
    page = tab.open(views_url, "healthy", alone=True)
    assert page.title() == "healthy · Feedwatch"
    tab.page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip the list of runs")).to_be_focused()
    tab.page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_the_script_is_small():
    assert len(gzip.compress(html.script().encode())) <= SCRIPT_BYTES


def test_the_frame_is_painted_at_once(tab, views_url):
    page = tab.blank()
    page.goto(views_url + "/data/plugin_entry.html?name=feedwatch")  # TensorBoard reads its files once
    page.locator("main").wait_for()

    def first_paint_ms():
        page.goto("about:blank")
        page.goto(views_url + "/data/plugin_entry.html?name=feedwatch")
        return page.evaluate(
            """async () => { const found = () => performance.getEntriesByName('first-contentful-paint')[0];
            while (!found()) await new Promise(requestAnimationFrame); return found().startTime; }"""
        )

    # A neighbour may take the CPU once, not always: the first of them that is fast enough decides.
    assert any(first_paint_ms() <= FIRST_PAINT_MS for _ in range(6))
