"""The events of a large JSON text one by one, whatever the pieces it comes in."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.errors import TraceError
from feedwatch.probe.traces import json_stream
from feedwatch.probe.traces.json_stream import CutOffError, JsonStream

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
items = st.lists(st.dictionaries(st.text(max_size=3), values, max_size=3), max_size=6)


def pieces(text, size):
    return iter([text[at : at + size] for at in range(0, len(text), size)])


def events(text, size=1 << 20, **patterns):
    return list(JsonStream(pieces(text, size), **patterns).events("traceEvents"))


@given(items, st.integers(1, 20), st.sampled_from([None, 2]))
def test_every_item_comes_out_as_it_went_in_whatever_the_pieces(expected, size, indent):
    assert events(json.dumps(expected, indent=indent), size) == expected
    text = json.dumps({"before": [1.5, {"a": []}], "traceEvents": expected, "after": 12}, indent=indent)
    assert events(text, size) == expected


def test_a_number_that_goes_on_in_the_next_piece_is_read_whole():
    assert events("[12345, 678]", 3) == [12345, 678]


def test_unwanted_items_are_passed_over_and_the_others_are_not():
    wanted, unwanted = {"ph": "X", "n": 1}, {"ph": "M", "n": 2}
    text = json.dumps({"traceEvents": [unwanted, wanted, unwanted, unwanted, wanted, unwanted]})
    patterns = {"skipped": re.compile(r'\{"ph": "M"'), "boundary": re.compile(r'\}\s*(?:,\s*(?=(\{"ph":))|[,\]])')}
    found = events(text, **patterns)
    # The last item has no item behind it to reach: it is decoded, and the reader looks at it as at any other.
    assert found == [wanted, wanted, unwanted]
    for size in range(1, 40):
        assert [item for item in events(text, size, **patterns) if item == wanted] == [wanted, wanted]


@pytest.mark.parametrize("text", ["[", "{", '{"traceEvents": [{"a": 1}', '{"traceEvents": [1, 2], "b"', '[{"a": "'])
def test_a_text_that_ends_too_early_is_cut_off(text):
    with pytest.raises(CutOffError):
        events(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hello", "not a JSON trace"),
        ("{1: 2}", "not valid JSON"),
        ('{"a": 1}', "no list of traceEvents"),
        ('{"traceEvents": {}}', "no list of traceEvents"),
        ('{"a": ' + "[" * 200_000 + "]" * 200_000 + "}", "nested too deeply"),
    ],
)
def test_what_is_no_trace_is_said_in_one_line(text, says):
    with pytest.raises(TraceError, match=says) as raised:
        events(text)
    assert "\n" not in str(raised.value)


def test_f16_one_endless_value_is_refused_before_all_of_it_is_held(monkeypatch):
    monkeypatch.setattr(json_stream, "MAX_VALUE_CHARS", 1000)
    given_out = 0

    def endless():
        nonlocal given_out
        yield '[{"name": "'
        while True:
            given_out += 100
            yield "x" * 100

    with pytest.raises(TraceError, match="one value of more than"):
        list(JsonStream(endless()).events("traceEvents"))
    assert given_out < 10_000
