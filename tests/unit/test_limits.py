"""docs/limits.md says what the code does: every limit has the value and the test that the page names."""

import ast
import gzip
import importlib
import io
import re
import struct
import threading
from pathlib import Path

import pytest

from feedwatch.errors import TraceError
from feedwatch.guard import Guard
from feedwatch.model.report import Status
from feedwatch.probe.traces import source
from feedwatch.report import tensorboard
from feedwatch.report.tensorboard import SummaryOutput, read_records
from feedwatch.sink import QUEUE_WINDOWS, Sink
from tests.fakes.reports import report

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "limits.md").read_text()
ROWS = re.findall(r"^\| [^|]+ \| ([\d.e+]+)(?: (\w+))? \| `([\w/]+)\.py:(\w+)` \| `[^`]+` \|$", PAGE, re.MULTILINE)
UNITS = {"": 1, "s": 1, "MB": 10**6, "MiB": 1 << 20, "GiB": 1 << 30}


def test_every_row_is_read():
    assert len(ROWS) == PAGE.count("\n| ") - 2 * PAGE.count("\n| --- ")
    assert len(ROWS) > 30


@pytest.mark.parametrize(("number", "unit", "module", "name"), ROWS, ids=[f"{row[2]}:{row[3]}" for row in ROWS])
def test_the_page_says_what_the_code_does(number, unit, module, name):
    value = getattr(importlib.import_module(f"feedwatch.{module.replace('/', '.')}"), name)
    assert value == float(number) * UNITS[unit]


@pytest.mark.parametrize("named", sorted(set(re.findall(r"`((?:unit|faults)/[\w/]+\.py(?:::\w+)?)`", PAGE))))
def test_every_test_that_is_named_is_there(named):
    file, _, test = named.partition("::")
    tree = ast.parse((ROOT / "tests" / file).read_text())
    assert not test or test in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


# -- limits that no other test holds -------------------------------------------------------------


def framed(length, data):
    return struct.pack("<Q", length) + b"head" + data + b"tail"


def test_records_are_held_stepped_over_or_damage(monkeypatch):
    monkeypatch.setattr(tensorboard, "MAX_REPORT_RECORD_BYTES", 20)
    monkeypatch.setattr(tensorboard, "MAX_RECORD_BYTES", 100)
    first, long, last = b"a" * 20, b"b" * 100, b"c" * 9
    whole = framed(20, first) + framed(100, long) + framed(9, last)
    assert list(read_records(io.BytesIO(whole))) == [first, last]
    assert list(read_records(io.BytesIO(framed(101, b"d" * 101) + whole))) == []
    assert list(read_records(io.BytesIO(framed(8, b"e" * 8) + whole))) == []


@pytest.mark.parametrize(
    ("content", "limit"), [(b'{"traceEvents": [', "MAX_TEXT_BYTES"), (b"\x0a", "MAX_XSPACE_BYTES")]
)
def test_what_an_archive_holds_is_limited(tmp_path, content, limit):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(content + bytes(3 << 20)))
    read = source.TraceSource(tmp_path / "bomb.gz")
    default = source.TraceSource.pieces if limit == "MAX_TEXT_BYTES" else source.TraceSource.whole
    assert default.__defaults__ == (getattr(source, limit),)
    assert len(read.whole(4 << 20)) > 3 << 20
    with pytest.raises(TraceError, match="more than 2 MiB"):
        read.whole(2 << 20)


def test_a_slow_disk_holds_so_many_windows():
    stalled = threading.Event()
    sink = Sink(lambda _: stalled.wait(), Guard("stalled"))
    for number in range(QUEUE_WINDOWS + 10):
        sink.put(number)
    assert 8 <= sink.dropped <= 10  # the thread may have taken one or two
    stalled.set()
    assert sink.close()


def test_a_run_writes_so_much_and_its_last_report(monkeypatch):
    monkeypatch.setattr(tensorboard, "MAX_RUN_BYTES", 1000)
    written = []
    output = SummaryOutput(lambda step, *_: written.append(step))
    for step in range(100):
        output.scalars(step, {"feedwatch/stall_ratio": 0.5}, 0.0)
    assert written == list(range(len(written)))
    assert 5 < len(written) < 40
    output.report(200, report(Status.RUNNING), 0.0)
    output.report(201, report(Status.FINISHED), 0.0)
    assert written[-1] == 201
    assert 200 not in written
