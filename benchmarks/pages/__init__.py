"""Pages as pure functions of the stored results: they can be rendered and checked without measuring anything."""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.pages.comparison_page import comparison_page
from benchmarks.pages.overhead_page import overhead_page
from benchmarks.pages.results_page import results_page
from benchmarks.pages.scale_chart import scale_chart

PAGES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "benchmarks/RESULTS.md": results_page,
    "docs/overhead.md": overhead_page,
    "docs/comparison.md": comparison_page,
}
CHARTS: dict[str, Callable[[Mapping[str, Any]], str]] = {"docs/charts/scale.svg": scale_chart}
