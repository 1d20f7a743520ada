"""Bytes of an event file into something safe to pass on."""

import json
import zlib

import hypothesis.strategies as st
from hypothesis import given, settings

from feedwatch.tab.reports import MAX_DEPTH, MAX_ITEMS, MAX_REPORT_BYTES, MAX_TEXT, decode, tidy


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


def test_a_bomb_is_refused_without_being_unpacked():
    bomb = zlib.compress(b"0" * (MAX_REPORT_BYTES * 40))
    assert len(bomb) < 200_000
    assert "larger than" in decode(bomb)["error"]


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


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.none(), st.integers(), st.text(max_size=20)))
def test_nothing_makes_decoding_raise(raw):
    assert isinstance(decode(raw), dict)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(["verdict", "run", "phases", "findings", "status", "series"]), JSON))
def test_a_report_of_any_shape_has_a_line_in_the_list(parts):
    from feedwatch.report.html import overview

    report = decode(packed({"schema": 1, **parts}))
    row = tidy(overview("run", report))
    json.dumps(row, allow_nan=False)
    assert row["level"] in {"bad", "warn", "ok", "unknown"}
