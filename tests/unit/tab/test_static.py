"""Promises about the front end's files that can be read off their source. tests/tab opens them in a browser."""

import re

import pytest

from feedwatch.cli.report import MISSED_REPORTS
from feedwatch.digest import REPORT_SECONDS, STEADY_SECONDS
from feedwatch.report.html import SCRIPTS, STYLE, script, source, style_sheet

SOURCES = {name: source(name) for name in SCRIPTS}


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize(
    "word",
    ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "DOMParser", "srcdoc"],
)
def test_nothing_parses_text_as_html_or_code(name, word):
    assert word not in SOURCES[name]


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_is_fetched_from_elsewhere(name):
    assert [
        address for address in re.findall(r"https?://[^'\"\s]+", SOURCES[name]) if "www.w3.org/2000/svg" not in address
    ] == []


def test_the_style_loads_nothing():
    assert "url(" not in style_sheet()
    assert "@import" not in style_sheet()


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_imports_only_modules_before_it(name):
    """So that they can stand behind each other in one file."""
    imported = set(re.findall(r"from '\./([a-z]+\.js)'", SOURCES[name])) - {"table.js"}  # made, always first
    assert all(SCRIPTS.index(other) < SCRIPTS.index(name) for other in imported)


def test_every_file_in_the_directory_is_on_the_list():
    from importlib import resources

    there = {entry.name for entry in (resources.files("feedwatch") / "tab" / "static").iterdir()}
    assert there == {*SCRIPTS, STYLE}


def test_names_are_distinct_across_modules():
    names = [
        name
        for module in SOURCES.values()
        for name in re.findall(r"^(?:export )?(?:async )?(?:function|const|let|class) (\w+)", module, re.MULTILINE)
    ]
    names += [
        name
        for module in SOURCES.values()
        for group in re.findall(r"^let (\w+(?:, \w+)*);", module, re.MULTILINE)
        for name in group.split(", ")[1:]
    ]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_the_one_script_has_no_import_or_export_left():
    assert re.findall(r"^\s*(?:import|export)\b", script(), re.MULTILINE) == []


@pytest.mark.parametrize("name", SCRIPTS)
def test_files_are_short(name):
    assert SOURCES[name].count("\n") <= 300


# -- colours: text reaches AA against what it stands on, drawings reach 3:1 ------------------------

TEXT_PAIRS = [
    *[(ink, paper) for ink in ("fg", "mut") for paper in ("bg", "card", "soft", "code")],
    *[(level, f"{level}-bg") for level in ("bad", "warn", "ok", "unknown")],
    *[(level, "card") for level in ("bad", "warn", "ok", "accent")],
    ("fg", "add-bg"),
    ("fg", "del-bg"),
    ("ok", "add-bg"),
    ("bad", "del-bg"),
]
DRAWN_PAIRS = [(phase, "card") for phase in ("input_wait", "h2d", "compute", "other", "load", "aside", "accent")]


def palette(theme: str) -> dict[str, str]:
    block = re.search(
        r"^:root" + (r"\.dark" if theme == "dark" else "") + r" \{(.*?)^\}",
        style_sheet(),
        re.DOTALL | re.MULTILINE,
    )
    assert block is not None
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block[1]))


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_formula_knows_black_on_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "paper"), TEXT_PAIRS)
def test_text_reaches_aa(theme, ink, paper):
    colours = palette(theme)
    assert contrast(colours[ink], colours[paper]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("ink", "paper"), DRAWN_PAIRS)
def test_drawings_reach_three_to_one(theme, ink, paper):
    colours = palette(theme)
    assert contrast(colours[ink], colours[paper]) >= 3.0


def test_every_colour_of_the_page_comes_from_the_palette():
    rules = style_sheet().split("* { box-sizing", 1)[1]
    stray = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", rules)) - {"#0003", "#feedwatch"}
    assert stray <= {"#fee"}  # the beginning of an id


def test_f93_the_tab_calls_a_run_silent_when_the_command_line_does():
    seconds = f"SILENT_SECONDS = {MISSED_REPORTS * REPORT_SECONDS:.0f}, STEADY_SECONDS = {STEADY_SECONDS:.0f}"
    assert seconds in SOURCES["status.js"]
