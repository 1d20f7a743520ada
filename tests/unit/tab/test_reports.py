"""Bytes of an event file into something safe to pass on, and the lines of the run list."""

import json
import tracemalloc
import zlib
from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from feedwatch.report.html import overview
from feedwatch.tab import reports as module
from feedwatch.tab.reports import MAX_DEPTH, MAX_ITEMS, MAX_REPORT_BYTES, MAX_TEXT, Rows, decode, report_in, tidy
from tests.tab import reports


def packed(value) -> bytes:
    return zlib.compress(json.dumps(value).encode())


def test_a_report_comes_through_unchanged():
    report = {"schema": 1, "verdict": {"stall_ratio": 0.5, "headroom": None}, "later": [1, "a", True]}
    assert decode(packed(report)) == report


def test_an_uncompressed_report_is_read_too():
    assert decode(b'{"schema": 1}') == {"schema": 1}


def test_not_a_number_is_unknown():
    assert tidy(decode(b'{"schema": 1, "a": NaN, "b": [Infinity, -Infinity, 1e999]}')) == {
        "schema": 1,
        "a": None,
        "b": [None, None, None],
    }


def test_a_number_that_cannot_be_is_unknown():
    assert tidy({"a": 10**400, "b": [-(10**30), 1e300], "c": 10**15, "d": True}) == {
        "a": None,
        "b": [None, None],
        "c": 10**15,
        "d": True,
    }


def test_a_bomb_is_refused_without_being_unpacked():
    bomb = zlib.compress(b"0" * (MAX_REPORT_BYTES * 40))
    assert len(bomb) < 200_000
    assert "larger than" in decode(bomb)["error"]


def test_a_bomb_takes_no_more_memory_than_a_report_may():
    bomb = zlib.compress(bytes(16 * MAX_REPORT_BYTES))
    tracemalloc.start()
    try:
        assert "error" in decode(bomb)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 * MAX_REPORT_BYTES


def test_an_oversized_plain_report_is_refused():
    assert "larger than" in decode(b"{" + b" " * MAX_REPORT_BYTES)["error"]


def test_depth_length_and_text_are_bounded():
    deep: list = []
    for _ in range(40):
        deep = [deep]
    bounded = tidy({"deep": deep, "long": list(range(5000)), "text": "x" * 50_000})
    assert len(bounded["long"]) == MAX_ITEMS
    assert len(bounded["text"]) == MAX_TEXT
    assert json.dumps(bounded["deep"]).count("[") == MAX_DEPTH - 1


def test_another_schema_names_the_version_that_wrote_it():
    assert "feedwatch 3.1 (schema 7)" in decode(packed({"schema": 7, "feedwatch": "3.1"}))["error"]
    assert "another feedwatch (schema unknown)" in decode(packed({"schema": "x"}))["error"]


@settings(max_examples=300)
@given(st.one_of(st.binary(max_size=200), st.none(), st.integers(), st.text(max_size=20)))
def test_nothing_makes_decoding_raise(raw):
    assert isinstance(decode(raw), dict)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200)
@given(st.dictionaries(st.sampled_from(["verdict", "run", "phases", "findings", "status", "series"]), JSON))
def test_a_report_of_any_shape_has_a_line_in_the_list(parts):
    report = decode(packed({"schema": 1, **parts}))
    row = tidy(overview("run", report))
    json.dumps(row, allow_nan=False)
    assert row["level"] in {"bad", "warn", "ok", "unknown"}


class Datum(NamedTuple):
    """One point of a series, as TensorBoard's data provider gives it."""

    step: int
    wall_time: float
    numpy: np.ndarray


def datum(report, step=1):
    return Datum(step, 100.0 + step, np.array(packed(report), dtype=object))


@pytest.mark.parametrize("wrong", [["input"], {"a": 1}, 7, None])
def test_a_bound_of_a_wrong_kind_has_a_line_as_well(wrong):
    """A list cannot be looked up in a set: one such file had cost the list of all runs."""
    assert overview("a", {"verdict": {"bound": wrong}})["level"] == "unknown"


def test_text_is_read_whether_the_reader_gives_bytes_or_str():
    assert report_in(Datum(1, 1.0, np.array(b'{"schema": 1}', dtype=object))) == {"schema": 1}
    assert report_in(Datum(1, 1.0, np.array('{"schema": 1}', dtype=object))) == {"schema": 1}
    assert "not a string" in report_in(Datum(1, 1.0, np.array([1, 2])))["error"]


def test_a_run_is_unpacked_again_only_when_it_has_news(monkeypatch):
    opened = []
    monkeypatch.setattr(module, "report_in", lambda given: opened.append(given) or report_in(given))
    rows = Rows()
    first = rows.of("a", datum(reports.workers2()))
    assert rows.of("a", datum(reports.workers2())) is first
    assert (first["run"], first["step"], first["stall_ratio"]) == ("a", 1, 0.539)
    assert rows.of("a", datum(reports.healthy(), step=2))["stall_ratio"] == 0.018
    assert len(opened) == 2


def test_only_so_many_lines_are_kept(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 3)
    rows = Rows()
    for number in range(10):
        rows.of(f"run{number}", datum({"schema": 1}))
    assert list(rows._rows) == ["run7", "run8", "run9"]


def test_a_damaged_report_has_a_line_too():
    line = Rows().of("a", Datum(1, 1.0, np.array(b"\x00", dtype=object)))
    assert (line["run"], line["level"]) == ("a", "unknown")
    assert "damaged" in line["error"]
