"""The pages say what the figures say, and are what the committed figures render to."""

import copy
import json
from pathlib import Path

import pytest

from benchmarks.pages import CHARTS, PAGES
from benchmarks.pages.comparison_page import cheaper_tools
from benchmarks.pages.features import FEATURES, TOOLS
from benchmarks.parts import beside
from benchmarks.targets import targets
from feedwatch import __version__

ROOT = Path(__file__).parents[3]
STORED = json.loads((ROOT / "benchmarks" / "results.json").read_text())


@pytest.mark.parametrize("name", [*PAGES, *CHARTS])
def test_a_committed_page_is_what_the_committed_figures_render_to(name):
    assert (ROOT / name).read_text() == {**PAGES, **CHARTS}[name](STORED)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_its_machine_and_has_only_even_tables(name):
    text = PAGES[name](STORED)
    assert STORED["machine"]["cpu"] in text
    widths = [
        {line.count(" | ") for line in block.splitlines()} for block in text.split("\n\n") if block.startswith("| ")
    ]
    assert widths
    assert all(len(width) == 1 for width in widths)


def test_no_stored_figure_is_from_a_quick_look():
    assert not [key for key, part in STORED["parts"].items() if part["quick"]]


def with_overhead(part, size, variant, clock, median, width=0.0):
    changed = copy.deepcopy(STORED)
    _plant(changed["parts"][part]["figures"][size]["variants"][variant], clock, median, width)
    return changed


def _plant(row, clock, median, width):
    row["pairs"] = 16
    row["adds"][clock] = {"median": median, "low": median - width, "high": median + width}


def verdict(results, what):
    return next(target.verdict for target in targets(results) if target.what == what)


def test_a_target_that_is_missed_is_said_to_be_missed():
    what = "Keras, the mean call of the train function"
    assert verdict(with_overhead("overhead_keras", "tiny", "feedwatch", "wall_us", 19.0), what) == "met"
    missed = with_overhead("overhead_keras", "tiny", "feedwatch", "wall_us", 21.0)
    assert verdict(missed, what) == "not met"
    assert "| at most 20 µs | 21.0 ± 0.0 µs | **not met** |" in PAGES["docs/overhead.md"](missed)


def test_a_difference_within_the_noise_decides_nothing():
    noisy = with_overhead("overhead_keras", "tiny", "feedwatch", "wall_us", 19.0, width=100.0)
    assert verdict(noisy, "Keras, the mean call of the train function") == "undecided"


def test_what_feedwatch_says_of_itself_is_held_on_both_sides():
    what = "Lightning, what feedwatch says of itself, per step"
    said = STORED["parts"]["overhead_lightning"]["figures"]["tiny"]["says_of_itself"]["thread_us"]["median"]
    for factor, expected in ((0.5, "not met"), (0.7, "met"), (1.4, "met"), (1.6, "not met")):
        results = with_overhead("overhead_lightning", "tiny", "feedwatch", "thread_cpu_us", said / factor)
        assert verdict(results, what) == expected, factor


def with_two(ours, theirs, width):
    """SimpleProfiler beside feedwatch, on the tiny step of Lightning."""
    changed = with_overhead("overhead_lightning", "tiny", "feedwatch", "median_wall_us", ours, width)
    variants = changed["parts"]["overhead_lightning"]["figures"]["tiny"]["variants"]
    _plant(variants["SimpleProfiler"], "median_wall_us", theirs, width)
    return changed


def test_a_tool_that_costs_less_is_named():
    page = PAGES["docs/comparison.md"](with_two(500.0, 40.0, width=1.0))
    assert "- Lightning, tiny step: SimpleProfiler adds 40.0 ± 0.5 µs per step, feedwatch 500.0 ± 0.5 µs." in page


@pytest.mark.parametrize(("ours", "theirs"), [(50.0, 20.0), (50.0, -400.0), (-50.0, 20.0)])
def test_a_difference_inside_its_error_is_no_ranking(ours, theirs):
    cheaper, alike = cheaper_tools(with_two(ours, theirs, width=200.0)["parts"])
    assert not [line for line in cheaper if "tiny step: SimpleProfiler" in line]
    assert "SimpleProfiler (Lightning, tiny step)" in alike


def test_a_dearer_tool_is_neither_cheaper_nor_alike():
    cheaper, alike = cheaper_tools(with_two(10.0, 400.0, width=1.0)["parts"])
    assert "SimpleProfiler" not in "".join(line for line in (*cheaper, *alike) if "tiny" in line)


@pytest.mark.parametrize("name", PAGES)
def test_no_cost_is_printed_as_a_gain(name):
    text = PAGES[name](with_two(-20.0, -400.0, width=10.0)).replace("\u2212", "-")
    cells = [cell for line in text.splitlines() if "no callback" in line for cell in line.split(" | ")]
    assert cells
    assert not [cell for cell in cells if cell.lstrip("| ").startswith("-")]


@pytest.mark.parametrize("name", PAGES)
def test_figures_of_another_version_are_called_older_by_name(name):
    results = copy.deepcopy(STORED)
    for part in results["parts"].values():
        part["feedwatch"] = __version__
    assert "Older than the code" not in PAGES[name](results)
    results["parts"]["overhead_lightning"]["feedwatch"] = "0.0.1"
    assert "measured with an older one and not again: overhead on Lightning (0.0.1)." in PAGES[name](results)


def test_a_portion_joins_the_others_of_its_version_only():
    stored = {"figures": {"tiny": {"variants": {"a": 1}}}, "feedwatch": "1", "took_s": 2.0, "load_average_before": 0.5}
    fresh = {"figures": {"tiny": {"variants": {"b": 2}}}, "feedwatch": "1", "took_s": 3.0, "load_average_before": 0.1}
    joined = beside(stored, fresh)
    assert joined["figures"] == {"tiny": {"variants": {"a": 1, "b": 2}}}
    assert (joined["took_s"], joined["load_average_before"]) == (5.0, 0.5)
    assert beside(stored, {**fresh, "feedwatch": "2"})["figures"] == fresh["figures"]
    assert beside(None, fresh) == fresh


def test_a_chart_has_a_dot_per_figure_and_what_cannot_be_told_from_zero_at_its_bottom():
    steps = [{"steps": 1000, "growth_mb": 0.0, "report_kb": 2.0}, {"steps": 10**7, "growth_mb": 0.3, "report_kb": 12.0}]
    drawn = CHARTS["docs/charts/scale.svg"]({"parts": {"scale": {"figures": {"steps": steps}}}})
    assert drawn.count("<circle") == 4
    assert drawn.startswith("<svg xmlns=")
    assert "10⁷" in drawn


@pytest.mark.parametrize("peer", ["traceml", "xprof"])
def test_a_tool_that_could_not_run_is_said_with_its_reason(peer):
    results = copy.deepcopy(STORED)
    results["parts"][peer]["figures"] = {"unavailable": "no such wheel"}
    assert "no such wheel" in PAGES["benchmarks/RESULTS.md"](results)
    assert "no such wheel" in PAGES["docs/comparison.md"](results)


def test_every_feature_is_stated_for_every_tool():
    assert {len(row) for row in FEATURES} == {len(TOOLS) + 1}


@pytest.mark.parametrize(("clock", "what"), [("median_wall_us", "usual"), ("wall_us", "mean")])
def test_a_plain_loop_is_judged_by_its_usual_and_its_mean_batch(clock, what):
    for cost, expected in ((9.0, "met"), (11.0, "not met")):
        results = with_overhead("overhead_loop", "tiny", "feedwatch", clock, cost)
        assert verdict(results, f"A plain loop, the {what} batch") == expected


def test_a_door_that_is_off_by_more_than_promised_misses_its_target():
    results, what = copy.deepcopy(STORED), "The other doors, input and compute of a step"
    figures = results["parts"]["accuracy_doors"]["figures"]
    figures["scenes"] = figures["scenes"][:1]  # whatever was measured last of the others
    (scene,) = figures["scenes"]
    scene["said"]["feedwatch"]["compute"] = scene["truth"]["compute"]
    scene["said"]["feedwatch"]["input"] = scene["truth"]["input"] * 1.03 + 0.4
    assert verdict(results, what) == "met"
    scene["said"]["feedwatch"]["input"] += 0.2
    assert verdict(results, what) == "not met"
