"""Event files, reports, the tab's routes and the command line against damage: an answer or one line, whatever comes.

The readers of traces have a file of their own, test_trace_fuzz.py. `make fuzz SECONDS=600` takes ten minutes for each.
"""

import contextlib
import io
import json
import os
import struct
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st
from tensorboard.plugins import base_plugin
from werkzeug.test import Client

from feedwatch.cli import main
from feedwatch.errors import ReportError
from feedwatch.model.report import Report
from feedwatch.report.json import loads, to_json, write_report_file
from feedwatch.report.load import load_run
from feedwatch.report.tensorboard import REPORT_TAG, own_run
from feedwatch.tab.plugin import FeedwatchPlugin
from feedwatch.tab.reports import decode, tidy
from tests.fakes.reports import report
from tests.faults.fuzzing import fuzzed

WHOLE = json.dumps(to_json(report()))
scalars = st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(max_size=8)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


def event_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        output = own_run(Path(folder))
        for step in range(3):
            output.scalars(step, {"feedwatch/stall_ratio": 0.5}, 1.0)
            output.report(step, report(), 1.0)
        output.close()
        return next(Path(folder).iterdir()).read_bytes()


EVENTS = event_file()
# Where to cut or write: anywhere, or in the lengths and checksums that frame a record.
places = st.integers(0, len(EVENTS) - 1) | st.integers(0, 40)
damage = st.lists(st.tuples(places, st.binary(min_size=1, max_size=12)), max_size=4)


def answered(path: Path) -> Report | str:
    try:
        return load_run(path)
    except ReportError as error:
        return str(error)


@fuzzed(damage, st.integers(0, len(EVENTS)), st.booleans())
def test_an_event_file_cut_or_changed_anywhere_is_a_report_or_one_line(changes, cut, cuts):
    data = bytearray(EVENTS)
    for place, new in changes:
        data[place : place + len(new)] = new
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "events.out.tfevents.1.a").write_bytes(bytes(data[:cut] if cuts else data))
        answered(Path(folder))
        answered(Path(folder) / "events.out.tfevents.1.a")


@fuzzed(st.lists(st.tuples(st.integers(0, 2**64 - 1) | st.integers(0, 64), st.binary(max_size=64)), max_size=8))
def test_records_of_any_length_are_a_report_or_one_line(records):
    data = b"".join(struct.pack("<Q", length) + b"head" + body + b"tail" for length, body in records)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "events.out.tfevents.1.a").write_bytes(data)
        answered(Path(folder))


@st.composite
def damaged_reports(draw):
    """The real one, with some of its values replaced by others."""
    made = json.loads(WHOLE)
    for _ in range(draw(st.integers(1, 4))):
        part = made
        while isinstance(part, (dict, list)) and part:
            key = draw(st.sampled_from(sorted(part) if isinstance(part, dict) else list(range(len(part)))))
            if draw(st.booleans()) or not isinstance(part[key], (dict, list)):
                part[key] = draw(values)
                break
            part = part[key]
    return made


@fuzzed(damaged_reports())
def test_a_report_with_any_values_is_read_shown_and_listed_or_refused(made):
    text = json.dumps(made)
    assert isinstance(tidy(decode(text.encode())), dict)
    try:
        read = loads(text)
    except ReportError:
        return
    with tempfile.TemporaryDirectory() as folder:
        write_report_file(Path(folder), read)
        quietly(["report", folder])
        quietly(["check", folder])
        quietly(["compare", folder, folder])
        quietly(["report", folder, "--html", f"{folder}/page.html"])


def quietly(words: list[str]) -> int:
    """No traceback whatever the words are: 0, 1 or 2, and argparse's own way out."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            code = main(words)
        except SystemExit as leaving:
            code = leaving.code
    assert code in (0, 1, 2)
    return code


COMMANDS = ("report", "check", "compare", "trace", "explain")  # demo trains, doctor takes no argument
names = st.text(st.characters(), max_size=12) | st.sampled_from(
    ["-", "--json", "--html", "--max-stall", ".", "/", "a\0b", "\ud800"]
)


@fuzzed(st.sampled_from(COMMANDS), st.lists(names, max_size=4))
def test_a_command_with_any_words_answers(command, words):
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            quietly([command, *words])
        finally:
            os.chdir(here)


ROUTES = ("/summary", "/report", "/rule", "/compare", "/index.js", "/style.css")
asked_for = st.sampled_from(["run", "code", "before", "after", "x"])
queries = st.dictionaries(asked_for | st.text(max_size=4), st.text(max_size=30) | st.just("a/feedwatch"), max_size=3)


class Stored:
    """A log directory of one run, as TensorBoard's readers hand it to a plugin."""

    def __init__(self, text: str) -> None:
        self._datum = SimpleNamespace(
            step=1, wall_time=1.0, numpy=np.array(text.encode("utf-8", "replace"), dtype=object)
        )

    def read_tensors(self, _context, *, run_tag_filter, **_named):
        runs = run_tag_filter.runs
        return {"a/feedwatch": {REPORT_TAG: [self._datum]}} if runs is None or "a/feedwatch" in runs else {}


@fuzzed(st.sampled_from(ROUTES), st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE"]), queries, damaged_reports())
def test_every_route_answers_whatever_is_asked_and_whatever_is_stored(route, method, query, made):
    apps = FeedwatchPlugin(base_plugin.TBContext(data_provider=Stored(json.dumps(made)))).get_plugin_apps()
    asked = {"run": "a/feedwatch"} | query
    answer = Client(apps[route]).open(method=method, query_string=asked)
    assert answer.status_code in (200, 404, 405)
    if method == "GET" and route in ("/summary", "/report", "/rule", "/compare"):
        json.loads(answer.data, parse_constant=lambda name: 1 / 0)  # NaN is no JSON
