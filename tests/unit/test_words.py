"""Numbers as people read them, and the promise that only one module prints them."""

import ast
import re
from pathlib import Path

import pytest

from feedwatch import words
from feedwatch.model.steps import PHASES
from feedwatch.model.verdict import Basis, Gain
from feedwatch.report.html import SCRIPTS, source

SOURCES = Path(words.__file__).parent


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 ms"),
        (0.00001, "< 0.1 µs"),
        (0.0079, "7.9 µs"),
        (0.5, "500 µs"),
        (0.9996, "1 ms"),
        (3.21, "3.2 ms"),
        (32, "32 ms"),
        (63.84, "63.8 ms"),
        (99.96, "100 ms"),
        (321.4, "321 ms"),
        (999.6, "1 s"),
        (2840, "2.84 s"),
        (12_340, "12.3 s"),
        (59_960, "1 min"),
        (5_400_000, "1.5 h"),
    ],
)
def test_times(value, text):
    assert words.ms(value) == text
    assert words.seconds(value / 1000) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0004, "< 0.1 %"),
        (0.0042, "0.4 %"),
        (0.05, "5 %"),
        (0.072, "7.2 %"),
        (0.539, "54 %"),
        (1, "100 %"),
    ],
)
def test_shares(share, text):
    assert words.percent(share) == text


def test_changes_carry_their_sign():
    assert [words.change(value) for value in (0.71, -0.043, 0, 0.0001)] == ["+71 %", "−4.3 %", "0 %", "< 0.1 %"]
    assert [words.points(value) for value in (-0.349, 0.012)] == ["−35 points", "+1.2 points"]


def test_factors_and_gains():
    assert [words.times(value) for value in (0.58, 1.02, 2.0, 12.34, 150)] == ["0.58×", "1.02×", "2×", "12.3×", "150×"]
    assert words.gain_text(Gain(1.75, 2.1, Basis.PREDICTED, "")) == "1.75–2.1× faster, predicted"
    assert words.gain_text(Gain(1.011, 1.012, Basis.MEASURED, "")) == "1.01× faster, measured"
    assert words.gain_text(None) == "no gain by itself"


def test_sizes_and_rates():
    sizes = [words.size(value) for value in (12, 1_500, 999_600, 38_500_000, 1.234e9, 41.5e9, 2e12)]
    assert sizes == ["12 B", "1.5 KB", "1 MB", "38.5 MB", "1.23 GB", "41.5 GB", "2 TB"]
    assert [words.rate(value) for value in (0.004, 0.61, 6.5, 25.24)] == [
        "< 0.01 GB/s",
        "0.61 GB/s",
        "6.5 GB/s",
        "25.2 GB/s",
    ]


def test_numbers_and_nouns():
    assert [words.number(value) for value in (0.539, 1003.1, 256_000, -3)] == ["0.539", "1,003", "256,000", "−3"]
    assert words.count(1, "worker") == "1 worker"
    assert words.count(0, "worker") == "0 workers"
    assert words.count(1.5, "CPU") == "1.5 CPUs"
    assert words.count(3, "batch", "batches") == "3 batches"


PRINTERS = (
    words.ms,
    words.seconds,
    words.percent,
    words.change,
    words.points,
    words.times,
    words.size,
    words.rate,
    words.number,
)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -float("inf"), 1e300, -1e300])
@pytest.mark.parametrize("printer", PRINTERS)
def test_what_is_no_measurement_is_never_a_number(printer, value):
    assert printer(value) == "not measured"
    assert words.count(value, "worker") == "not measured"


@pytest.mark.parametrize("printer", [words.ms, words.times, words.size, words.rate])
def test_less_than_nothing_was_not_measured(printer):
    assert printer(-0.5) == "not measured"


@pytest.mark.parametrize("printer", PRINTERS)
def test_something_never_reads_as_nothing(printer):
    assert printer(1e-9)[0] == "<"


def test_halves_go_up():
    assert [words.percent(value) for value in (0.125, 0.135)] == ["13 %", "14 %"]
    assert [words.size(value) for value in (0.5, 1.5, 2.5)] == ["< 1 B", "2 B", "3 B"]


def test_every_phase_has_a_name():
    assert set(words.PHASE_NAMES) == set(PHASES)


def test_rows_go_down_to_zero_so_that_every_value_finds_one():
    for rule in words.RULES.values():
        limits = [row.least for row in rule.rows]
        assert limits == sorted(limits, reverse=True)
        assert limits[-1] == 0


MODULES = sorted(file for file in SOURCES.rglob("*.py") if file.name != "words.py")
UNIT = re.compile(r"(?: ?[%×]| (?:µs|ms|s|min|KB|MB|GB|GB/s)\b)")


def formatted_numbers(tree: ast.AST) -> list[int]:
    """Lines with an f-string that rounds a number, or that writes a unit behind a value."""
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for part, behind in zip(node.values, [*node.values[1:], None], strict=True):
            if not isinstance(part, ast.FormattedValue):
                continue
            spec = "".join(
                piece.value for piece in getattr(part.format_spec, "values", ()) if isinstance(piece, ast.Constant)
            )
            unit = isinstance(behind, ast.Constant) and UNIT.match(str(behind.value))
            if re.search(r"[fFeEgG%]$", spec) or unit:
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(SOURCES)))
def test_no_other_module_prints_a_number_with_its_unit(file):
    assert formatted_numbers(ast.parse(file.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("line", ['f"{x:.1f}"', 'f"{x:.0%}"', 'f"{x} ms"', 'f"{x}×"', 'f"{x} %"', 'f"{x:,.0f} of"'])
def test_the_search_finds_what_it_looks_for(line):
    assert formatted_numbers(ast.parse(line))


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "words.js"])
def test_no_other_script_prints_a_number_with_its_unit(name):
    script = source(name)
    assert not re.search(r"\}\s?(?:ms|µs|s|min|%|×|KB|MB|GB|GB/s)[`\s]", script)
    assert "toLocaleString" not in script
    # Lengths on the screen are no numbers for readers: a width in percent, a path, a share of the row.
    printed = [
        line for line in script.splitlines() if "toFixed" in line and not re.search(r"'%'|flexGrow|scale\.x", line)
    ]
    assert printed == []


def test_a_gain_that_was_not_decided_is_not_called_one():
    assert words.gain_text(Gain(1.2, 1.5, Basis.MEASURED, "")) == "1.2–1.5× faster, measured"
    assert words.gain_text(Gain(0.86, 2.23, Basis.MEASURED, "")) == "0.86–2.23× as fast (undecided), measured"
