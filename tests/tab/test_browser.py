"""The tab as a person sees it. With FEEDWATCH_PICTURES=1 the tests keep pictures under test-output/tab."""

import re
from itertools import pairwise

import pytest

from feedwatch.report import html

from . import reports
from .event_files import write_report
from .tensorboards import all_read, served, wsgi

expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser tests").expect


def test_the_verdict_and_the_four_numbers_stand_on_top(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2")
    expect(frame.get_by_role("heading", level=1)).to_have_text("The GPU waits for data 54 % of the time")
    numbers = frame.locator(".numbers dd").all_inner_texts()
    assert [text.replace("\u00a0", " ") for text in numbers] == ["54 %", "63.8 ms", "1,003", "2.17×"]
    for heading in (
        "Where a step goes",
        "Input pipeline",
        "Workers",
        "Copies to the device",
        "What to change",
        "Machine",
        "This measurement",
    ):
        expect(frame.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    expect(frame.locator(".stage.hot .who")).to_contain_text("read items")
    tab.picture("input-bound-light")


def test_dark_follows_tensorboard(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", dark=True)
    expect(frame.locator("html")).to_have_class("dark")
    background = frame.locator("body").evaluate("body => getComputedStyle(body).backgroundColor")
    assert background == "rgb(48, 48, 48)"
    tab.picture("input-bound-dark")
    tab.page.locator("body").evaluate("body => body.classList.remove('dark-mode')")
    expect(frame.locator("html")).not_to_have_class("dark")


def test_tf_data_stages_name_the_bottleneck_and_unknown_is_not_zero(tab, team_url):
    frame = tab.open(team_url, "keras/flowers", size=(1440, 1300), alone=True)
    expect(frame.locator(".stage.hot")).to_contain_text("decode (train.py:31)")
    expect(frame.locator(".stage", has_text="Prefetch")).to_contain_text("not measured")
    expect(frame.locator(".legend tr", has_text="Copy to device")).to_contain_text("not measured")
    expect(frame.locator(".gaps")).to_contain_text("the run has no GPU")
    expect(frame.locator(".chip.live")).to_have_text("Running")
    tab.picture("tf-data")


def test_a_healthy_run_gets_no_advice(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers8+pin", alone=True)
    expect(frame.locator(".finding")).to_have_count(0)
    expect(frame.locator(".advice")).to_contain_text("Nothing.")
    tab.picture("healthy")


def test_a_failed_run_says_so_and_shows_no_zeros(tab, team_url):
    frame = tab.open(team_url, "keras/oops", alone=True)
    expect(frame.locator(".chips")).to_contain_text("The training failed")
    assert set(frame.locator(".numbers dd").all_inner_texts()) == {"not measured"}
    tab.picture("failed")


def test_ranks_stand_side_by_side_and_link_to_each_other(tab, team_url):
    frame = tab.open(team_url, "ddp/rank0", alone=True)
    card = frame.locator("section.card", has=frame.get_by_role("heading", name="Ranks", exact=True))
    expect(card.locator(".rank.hot")).to_contain_text("Rank 2")
    expect(frame.get_by_role("note")).to_contain_text("Rank 2 waits")
    expect(frame.locator(".advice")).to_contain_text("Nothing on this rank. Look at rank 2.")
    tab.picture("ranks")
    card.get_by_role("button", name="Rank 2").click()
    expect(frame.get_by_role("heading", level=1)).to_contain_text("Rank 2 waits")
    expect(frame.get_by_role("note")).to_have_count(0)


@pytest.mark.parametrize(("name", "size"), [("narrow", (720, 1100)), ("wide", (1920, 1080))])
def test_nothing_overflows_at_any_width(tab, team_url, name, size):
    frame = tab.open(team_url, "resnet50/workers2", size=size, alone=True)
    tab.picture(name)
    for selector in ("html", "main"):
        assert frame.locator(selector).evaluate("e => e.scrollWidth <= e.clientWidth"), selector
    cards = frame.locator(".card, .verdict").evaluate_all(
        "cards => cards.filter(c => c.scrollWidth > c.clientWidth + 1).length"
    )
    assert cards == 0


def test_no_data_says_what_to_do(tab, tmp_path):
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, alone=True)
        expect(frame.get_by_role("heading", level=1)).to_have_text("No Feedwatch report in this log directory yet")
        expect(frame.locator("main")).to_contain_text("from feedwatch.lightning import FeedWatch")
        expect(frame.locator("main")).to_contain_text("feedwatch doctor")
        tab.picture("no-data")


def test_fifteen_runs_can_be_filtered(tab, tmp_path):
    for number in range(15):
        write_report(
            tmp_path / f"sweep/lr-{number:02}", [reports.workers2, reports.workers6, reports.healthy][number % 3]()
        )
    with served(all_read(wsgi(tmp_path, "rust"), 15)) as url:
        frame = tab.open(url, alone=True)
        expect(frame.locator(".run")).to_have_count(15)
        tab.picture("fifteen-runs")
        frame.get_by_role("searchbox", name="Filter runs").fill("-1")
        expect(frame.locator(".run")).to_have_count(5)
        frame.get_by_title("sweep/lr-14", exact=True).click()
        expect(frame.get_by_role("heading", level=1)).to_have_text("The GPU is busy: input is not the limit")


def test_hostile_reports_and_names_stay_text(tab, tmp_path):
    name = "<img src=x onerror=\"document.title='owned'\">"
    write_report(tmp_path / name, reports.hostile())
    write_report(tmp_path / "second", reports.healthy())
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, name)
        expect(frame.get_by_role("heading", level=1)).to_contain_text("<script>document.title='owned'</script>")
        assert frame.locator("img, main script").count() == 0
        titles = frame.locator("body").evaluate("() => [document.title, window.parent.document.title]")
        assert titles == [f"{name} · Feedwatch", "TensorBoard"]  # the name as it is, and nothing that it would do
        frame.locator("details.rule summary").first.click()
        expect(frame.locator(".page").first).to_contain_text("No rule has this code")
        tab.picture("hostile")


def test_an_unreadable_report_does_not_hide_the_others(tab, tmp_path):
    write_report(tmp_path / "broken", b"\x00 nothing")
    write_report(tmp_path / "good", reports.healthy())
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, "broken", alone=True)
        expect(frame.locator("main")).to_contain_text("This run's report is damaged")
        frame.locator(".run button", has_text="good").click()
        expect(frame.get_by_role("heading", level=1)).to_have_text("The GPU is busy: input is not the limit")


def test_a_running_run_updates_by_itself_and_keeps_what_is_open(tab, tmp_path):
    write_report(tmp_path / "run", reports.workers2() | {"status": "running"}, step=100)
    # Not the Python reader: its reloading thread never ends, and one that is inside TensorFlow's file code when the
    # interpreter exits takes the whole test process down with it.
    with served(wsgi(tmp_path, "rust", reload_s=1)) as url:
        frame = tab.open(url, alone=True, own_clock=True)
        tab.until_polled(frame.locator(".chip.live"))
        frame.locator("details.rule summary").first.click()
        later = reports.workers2() | {"status": "running"}
        later["verdict"]["title"] = "The GPU waits for data 61 % of the time"
        write_report(tmp_path / "run", later, step=200)
        tab.until_polled(frame.get_by_role("heading", level=1, name="61 %"))
        expect(frame.locator("details.rule").first).to_have_attribute("open", "")
        write_report(tmp_path / "run", reports.healthy(), step=300)
        tab.until_polled(frame.get_by_role("heading", level=1, name="is busy"))
        expect(frame.locator(".chip.live")).to_have_count(0)


def test_the_copy_button_copies_the_changed_code_only(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    frame.get_by_role("button", name="Copy").first.click()
    expect(frame.locator(".copy").first).to_have_text("Copied")
    assert (
        frame.locator("body").evaluate("() => navigator.clipboard.readText()")
        == reports.workers2()["findings"][0]["fix"]["after"]
    )


def test_the_copy_button_works_where_the_clipboard_is_closed(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    frame.locator("body").evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(new Error('closed')); }"
    )
    frame.get_by_role("button", name="Copy").first.click()
    expect(frame.locator(".copy").first).to_have_text("Copied")


def test_two_ticked_runs_are_compared_with_the_change_of_each_phase(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    frame.get_by_role("checkbox", name="Compare resnet50/workers6").check()
    expect(frame.get_by_role("heading", level=1)).to_have_text(
        re.compile(r"^resnet50/workers6 is 1\.71× as fast as resnet50/workers2$")
    )
    expect(frame.locator("main")).to_contain_text(re.compile(r"Input wait fell from 34\.4\sms to 7\.9\sms per step"))
    row = frame.locator(".figures-table tbody tr").nth(1)
    changes = [text.replace("\u00a0", " ") for text in row.locator(".change").all_inner_texts()]
    assert changes[:4] == ["▼ −41 %", "▲ +71 %", "▼ −35 points", "▼ −77 %"]
    assert all(text.endswith("noise") for text in changes[4:])  # and grey: neither better nor worse
    assert row.locator(".change.better, .change.worse").count() == 4
    frame.get_by_role("checkbox", name="Compare resnet50/workers8+pin").check()
    expect(frame.locator(".figures-table tbody tr")).to_have_count(3)
    tab.picture("compare")
    frame.get_by_label("compared with").select_option("resnet50/workers8+pin")
    expect(frame.locator(".figures-table tbody tr").first).to_contain_text("resnet50/workers8+pin")
    frame.get_by_role("button", name="End the comparison").click()
    expect(frame.locator(".verdict")).to_be_visible()


def test_too_few_windows_are_counted_and_noise_has_no_colour(tab, tmp_path):
    short = reports.workers6()
    short["series"] = {key: values[:4] for key, values in short["series"].items()}
    write_report(tmp_path / "long", reports.workers2())
    write_report(tmp_path / "short", short)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, compare=("long", "short"), alone=True)
        expect(frame.get_by_role("heading", level=1)).to_contain_text("by too few windows to be sure (4 of 5)")
        expect(frame.locator(".change").first).to_contain_text("too few windows: 4 of 5")
        assert "fell from" not in frame.locator(".compare-head").inner_text()  # what is not sure is not said
        assert frame.locator(".change.better, .change.worse").count() == 0


def test_a_comparison_can_be_linked(tab, team_url):
    frame = tab.open(team_url, compare=("resnet50/workers2", "resnet50/workers8+pin"), dark=True, alone=True)
    expect(frame.locator(".figures-table tbody tr")).to_have_count(2)
    tab.picture("compare-dark")


def test_the_address_names_the_run_on_the_screen(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2")
    frame.locator(".run button", has_text="workers8").click()
    expect(frame.get_by_role("heading", level=1)).to_contain_text("is busy")
    address = tab.page.url
    assert address.endswith("#feedwatch&p.feedwatch.run=resnet50%2Fworkers8%2Bpin")
    tab.page.reload()
    expect(tab.page.frame_locator("iframe").first.get_by_role("heading", level=1)).to_contain_text("is busy")


def test_percent_and_milliseconds_switch_the_chart(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    expect(frame.locator(".tick", has_text="100 ms")).to_have_count(1)
    frame.get_by_role("button", name="%", exact=True).click()
    expect(frame.locator(".tick", has_text="100 %")).to_have_count(1)
    expect(frame.locator(".cut")).to_have_count(0)
    tab.picture("percent")


def test_cut_spikes_and_epochs_are_marked(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    expect(frame.locator(".cut")).to_have_count(3)
    assert frame.locator(".plot svg text", has_text="epoch").all_text_contents() == ["epoch 1", "epoch 2"]


def test_the_pointer_shows_the_values_of_a_step(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    frame.locator(".plot").hover(position={"x": 300, "y": 100})
    expect(frame.locator(".tip")).to_contain_text(re.compile(r"Around step [\d,]+"))
    expect(frame.locator(".tip")).to_contain_text("Copy to device")
    tab.picture("hover")


def test_the_rule_page_opens_in_place(tab, tmp_path):
    from feedwatch.advise.registry import RULES

    report = reports.workers2()
    report["findings"][0] |= {"code": RULES[0].code, "name": RULES[0].name}
    write_report(tmp_path / "run", report)
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, size=(1440, 1300), alone=True)
        frame.locator("details.rule summary").first.click()
        expect(frame.locator(".page h5", has_text="When to leave it")).to_be_visible()
        expect(frame.locator(".page").first).to_contain_text("Seen in this run")
        assert frame.locator("main a").count() == 0
        tab.picture("rule-page")


def test_the_keyboard_reaches_everything_and_moves_through_the_chart(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    frame.locator(".run button", has_text="workers6").focus()
    tab.page.keyboard.press("Enter")
    expect(frame.get_by_role("heading", level=1)).to_contain_text("19 %")
    expect(frame.locator(".run button", has_text="workers6")).to_be_focused()
    plot = frame.get_by_role("slider")
    plot.focus()
    before = plot.get_attribute("aria-valuetext")
    tab.page.keyboard.press("ArrowLeft")
    expect(frame.locator(".tip")).to_be_visible()
    assert plot.get_attribute("aria-valuetext") != before
    assert "Input wait" in plot.get_attribute("aria-valuetext")
    tab.page.keyboard.press("Escape")
    expect(frame.locator(".tip")).to_be_hidden()


def test_every_control_has_a_name_and_headings_go_down_one_by_one(tab, team_url):
    frame = tab.open(team_url, "resnet50/workers2", alone=True)
    unnamed = frame.locator("button, input, select, summary").evaluate_all(
        "all => all.filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"
    )
    assert unnamed == 0
    levels = frame.locator("main h1, main h2, main h3").evaluate_all("all => all.map(e => +e.tagName[1])")
    assert levels[0] == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))


def test_it_works_below_a_path_prefix(tab, tmp_path):
    write_report(tmp_path / "run", reports.workers2())
    with served(wsgi(tmp_path, path_prefix="/team/board")) as url:
        frame = tab.open(url + "/team/board")
        expect(frame.get_by_role("heading", level=1)).to_have_text("The GPU waits for data 54 % of the time")


def test_a_reader_sees_that_tensorboard_is_gone(tab, tmp_path):
    write_report(tmp_path / "run", reports.workers2())
    write_report(tmp_path / "other", reports.healthy())
    with served(wsgi(tmp_path)) as url:
        frame = tab.open(url, "run", alone=True)
    frame.locator(".run button", has_text="other").click()
    expect(frame.get_by_role("status")).to_contain_text("does not answer", timeout=10_000)
    tab.problems.clear()  # the browser reports the refused connection as an error of the page


def test_two_hundred_runs_are_on_the_screen_within_a_second(tab, tmp_path):
    for number in range(200):
        write_report(tmp_path / f"sweep/{number:03}", reports.workers2(number))
    # TensorBoard's own start is not ours to measure: the tab's frame is opened by itself, with everything read.
    with served(all_read(wsgi(tmp_path, "rust"), 200)) as url:
        tab.blank()
        assert any(_shown_ms(tab, url) < 1000 for _ in range(6))


def _shown_ms(tab, url) -> float:
    tab.page.goto("about:blank")
    tab.page.goto(url + "/data/plugin_entry.html?name=feedwatch")
    return tab.page.evaluate(
        """async () => { while (document.querySelectorAll('.run').length < 200 || !document.querySelector('.plot svg'))
        await new Promise(requestAnimationFrame); return performance.now(); }"""
    )


def test_markdown_and_differences_become_elements_never_html(tab):
    modules = html.script() + "export {markdown, difference};"
    load = "const m = await import(URL.createObjectURL(new Blob([code], {type: 'text/javascript'})));"
    page = tab.blank()
    shown = page.evaluate(
        """async ([code, words]) => { LOAD const box = document.createElement('div');
        box.append(...m.markdown(words)); return box.innerHTML; }""".replace("LOAD", load),
        [modules, "# T <b>\n\n- a `c`\n- [x](https://e.org/y)\n\n```\n<i>\n```\n1. one\n2. two\n\np **s**"],
    )
    assert shown == (
        '<h4>T &lt;b&gt;</h4><ul><li>a <code>c</code></li><li>x<span class="address"> (https://e.org/y)</span></li></ul>'
        '<pre tabindex="0"><code>&lt;i&gt;</code></pre><ol><li>one</li><li>two</li></ol><p>p <strong>s</strong></p>'
    )
    marks = page.evaluate(
        """async (code) => { LOAD return m.difference('a\\nb\\nc', 'a\\nB\\nc\\nd').map(({mark, line}) => mark + line); }""".replace(
            "LOAD", load
        ),
        modules,
    )
    assert marks == [" a", "-b", "+B", " c", "+d"]
