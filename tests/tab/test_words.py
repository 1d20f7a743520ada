"""The browser prints every number as Python does: both read the one table."""

import io
import random

import pytest
from rich.console import Console

from feedwatch import words
from feedwatch.report import html
from feedwatch.report.console import print_report
from feedwatch.report.load import load_run

NAMES = ("ms", "percent", "change", "points", "times", "size", "rate", "number")


def grid() -> list[float]:
    """Every decade with the limits of rounding, exact halves, and a few thousand drawn values."""
    draw = random.Random(7)
    limits = [row.least for rule in words.RULES.values() for row in rule.rows]
    near = [limit * factor for limit in limits for factor in (0.999, 0.99999, 1, 1.00001, 1.001)]
    decades = [digits * 10.0**power for power in range(-9, 17) for digits in (1, 1.005, 2.5, 9.95, 9.995, 9.9996)]
    halves = (
        [number / 2 for number in range(60)]
        + [number / 8 for number in range(60)]
        + [number / 1600 for number in range(60)]
    )
    drawn = [draw.uniform(1, 10) * 10 ** draw.uniform(-7, 15) for _ in range(4000)]
    values = near + decades + halves + drawn
    return values + [-value for value in values[::3]]


@pytest.fixture
def module(tab):
    page = tab.blank()

    def ask(code: str, argument):
        script = html.script() + f"export {{{', '.join(NAMES)}, count, gainRange, NOT_MEASURED, PHASES}};"
        load = "const m = await import(URL.createObjectURL(new Blob([script], {type: 'text/javascript'})));"
        return page.evaluate(f"async ([script, given]) => {{ {load} return {code}; }}", [script, argument])

    return ask


@pytest.mark.parametrize("name", NAMES)
def test_one_number_reads_the_same_everywhere(module, name):
    values = grid()
    shown = module(f"given.map(m.{name})", values)
    expected = [getattr(words, name)(value) for value in values]
    different = [
        (value, here, there.replace("\u00a0", " "))
        for value, here, there in zip(values, expected, shown, strict=True)
        if there.replace("\u00a0", " ") != here
    ]
    assert different == []


def test_nouns_gains_and_names_too(module):
    values = [0, 1, 1.0004, 1.5, 2, 1234, None]
    assert module("given.map((value) => m.count(value, 'batch', 'batches'))", values) == [
        words.count(value, "batch", "batches") for value in values
    ]
    ends = [(1.75, 2.1), (1.011, 1.012), (0.98, 1.2), (9.5, 12.34)]
    assert module("given.map(([low, high]) => m.gainRange({low, high}))", ends) == [
        words.times_between(*pair) for pair in ends
    ]
    assert module("m.PHASES.map((phase) => [phase.key, phase.name.toLowerCase()])", None) == [
        list(pair) for pair in words.PHASE_NAMES.items()
    ]


def test_what_is_no_number_is_not_measured(module):
    for name in NAMES:
        assert module(f"['12', null, undefined, NaN, Infinity, {{}}, [1]].map(m.{name})", None) == ["not measured"] * 7


@pytest.mark.parametrize("name", ["lightning", "keras"])
def test_the_console_prints_what_the_tab_shows(tab, real_url, real_logdir, name):
    """Of a training that happened: the sentence, the four numbers, each row of the table, each change with its reason."""
    stream = io.StringIO()
    print_report(load_run(real_logdir / name), Console(file=stream, width=400))
    printed = " ".join(stream.getvalue().replace("│", " ").split())
    page = tab.open(real_url, f"{name}/feedwatch", alone=True)
    shown = [page.locator(place).all_inner_texts() for place in (
        "h1", ".verdict .detail", ".numbers dd", ".legend tbody tr:not(:has(.quiet))", ".finding h3", ".finding .why", ".finding .because",
    )]  # fmt: skip
    missing = [
        text for texts in shown for text in texts if _plain(text) not in printed and _plain(text).lower() not in printed
    ]
    assert missing == []
    assert len(shown[3]) >= 4


def _plain(text):
    return " ".join(text.replace("\u00a0", " ").split())
