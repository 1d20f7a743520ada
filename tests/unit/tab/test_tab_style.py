"""Colours of the tab, computed: text against what it stands on reaches AA, drawings reach 3:1."""

import re

import pytest

from feedwatch.report.html import style_sheet

TEXT_PAIRS = [
    *[(ink, paper) for ink in ("fg", "mut") for paper in ("bg", "card", "soft", "code")],
    *[(level, f"{level}-bg") for level in ("bad", "warn", "ok", "unknown")],
    *[(level, "card") for level in ("bad", "warn", "ok", "accent")],
    ("fg", "add-bg"),
    ("fg", "del-bg"),
    ("ok", "add-bg"),
    ("bad", "del-bg"),
]
DRAWN_PAIRS = [(phase, "card") for phase in ("input_wait", "h2d", "compute", "other", "accent")]


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
    assert stray <= {"#6cc893", "#fee"}  # the green dot on dark; "#fee" is the beginning of an id
