"""docs/charts/scale.svg: how cost and memory grow, one panel per kind of size, both axes logarithmic.

Drawn by hand, without a library: a page is a pure function of the stored figures, and a test compares it byte by byte.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any, NamedTuple

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, COLUMNS = 300, 210, 52, 14, 34, 40, 3

# Colours by class, so that a dark page can have others.
STYLE = (
    "<style>text{font:11px sans-serif;fill:#333}.title{font-weight:bold;font-size:12px}.axis{stroke:#999}"
    ".grid{stroke:#ddd}.line{stroke:#c2410c;stroke-width:2;fill:none}.dot{fill:#c2410c}"
    "@media (prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}.axis{stroke:#888}"
    ".line{stroke:#fb923c}.dot{fill:#fb923c}}</style>"
)


class Panel(NamedTuple):
    title: str
    x: str
    points: list[tuple[float, float]]


def scale_chart(results: Mapping[str, Any]) -> str:
    panels = _panels(results["parts"].get("scale", {}).get("figures", {}))
    rows = ceil(len(panels) / COLUMNS)
    drawn = "".join(_drawn(panel, at % COLUMNS * WIDTH, at // COLUMNS * HEIGHT) for at, panel in enumerate(panels))
    size = f'viewBox="0 0 {COLUMNS * WIDTH} {rows * HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Growth">{STYLE}{drawn}</svg>\n'


def _panels(figures: Mapping[str, Any]) -> list[Panel]:
    wanted = (
        ("memory growth, MB", "steps", "steps", "growth_mb"),
        ("report.json, kB", "steps", "steps", "report_kb"),
        ("worker table per window, µs", "workers", "workers", "fold_us_per_window"),
        ("marks of a step read, µs", "actions", "actions", "read_us_per_step"),
        ("ranks merged, s", "ranks", "seen", "seconds"),
        ("ranks merged, memory, MB", "ranks", "seen", "peak_growth_mb"),
        ("tf.data graph per window, ms", "stages", "stages", "ms_per_window"),
        ("TensorBoard: all runs listed, s", "runs", "runs", "listed_s"),
        ("TensorBoard: one look, ms", "runs", "runs", "look_ms"),
    )
    return [
        # What cannot be told from zero is drawn at the bottom of its panel.
        Panel(title, key, [(row[x], max(row[y], LEAST)) for row in figures[key]])
        for title, key, x, y in wanted
        if key in figures
    ]


LEAST = 0.01


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return low, max(high, low + 1)


def _drawn(panel: Panel, left: int, top: int) -> str:
    (x_low, x_high), (y_low, y_high) = (_decades([point[axis] for point in panel.points]) for axis in (0, 1))
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def across(value: float) -> float:
        return LEFT + wide * (log10(value) - x_low) / (x_high - x_low)

    def up(value: float) -> float:
        return TOP + tall * (y_high - log10(value)) / (y_high - y_low)

    parts = [f'<g transform="translate({left},{top})">', _text(LEFT, 18, panel.title, kind="title")]
    for power in range(y_low, y_high + 1):
        at = up(10.0**power)
        parts += [_line(LEFT, at, WIDTH - RIGHT, at, "grid"), _text(LEFT - 6, at + 4, _tick(power), "end")]
    for power in range(x_low, x_high + 1):
        at = across(10.0**power)
        parts += [_line(at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 4, "axis"),
                  _text(at, HEIGHT - BOTTOM + 16, _tick(power), "middle")]  # fmt: skip
    parts.append(_line(LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, "axis"))
    parts.append(_text(LEFT + wide / 2, HEIGHT - 8, panel.x, "middle"))
    places = [(across(x), up(y)) for x, y in panel.points]
    parts.append(f'<polyline class="line" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in places)}"/>')
    for (x, y), (size, value) in zip(places, panel.points, strict=True):
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{size:,}: {value:g}</title></circle>')
    return "".join([*parts, "</g>"])


def _tick(power: int) -> str:
    return f"{10.0**power:g}" if power < 4 else f"10{str(power).translate(RAISED)}"


RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}>{escape(text)}</text>'
