import argparse
import io
import json

import pytest
from rich.console import Console

from feedwatch.cli import trace
from feedwatch.cli.trace import print_tables
from feedwatch.model.transfers import CopyTotals, DeviceTransfers, TransferSample
from feedwatch.probe.traces import read_trace


def event(cat, name, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "args": args}


@pytest.fixture
def trace_file(tmp_path):
    events = [
        event("user_annotation", "ProfilerStep#1", 0, 100),
        event("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 10),
        event("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 20, 10, device=0, bytes=100_000),
        event("kernel", "k", 25, 25, device=0),
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def arguments(*words):
    parser = argparse.ArgumentParser()
    trace.add_parser(parser.add_subparsers(dest="command"))
    return parser.parse_args(["trace", *map(str, words)])


def test_json_has_exactly_the_promised_fields(trace_file, capsys):
    assert trace.run(arguments(trace_file, "--json")) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "kind": "kineto",
        "steps": 1,
        "step_ms": pytest.approx(0.1),
        "devices": {
            "GPU:0": {
                "h2d": {
                    "count": 1,
                    "bytes": 100_000,
                    "ms": pytest.approx(0.01),
                    "gb_per_s": pytest.approx(10.0),
                    "overlap_share": pytest.approx(0.5),
                    "exposed_ms": pytest.approx(0.005),
                    "by_kind": {
                        "pinned": {
                            "count": 1,
                            "bytes": 100_000,
                            "ms": pytest.approx(0.01),
                            "gb_per_s": pytest.approx(10.0),
                        }
                    },
                    "large": {"count": 1, "bytes": 100_000, "gb_per_s": pytest.approx(10.0)},
                },
                "busy_ms": pytest.approx(0.03),
                "idle_share": pytest.approx(0.7),
            }
        },
        "input_wait_ms": pytest.approx(0.01),
        "input_wait_share": pytest.approx(0.1),
        "kind_inferred": False,
        "problems": ["one step only: figures per step are those of this step"],
    }


def test_the_table_shows_the_figures_a_person_looks_for(trace_file, capsys):
    assert trace.run(arguments(trace_file)) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for part in ("a.json", "kineto trace", "10 % of the step time", "pinned", "70 %", "50 %", "one step only"):
        assert part in shown


@pytest.mark.parametrize("content", [b"", b"\x00\x01garbage", b'{"traceEvents": [', b"PK\x03\x04"])
def test_an_unreadable_file_is_one_line_on_stderr_and_exit_code_2(tmp_path, capsys, content):
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    assert trace.run(arguments(path)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "bad.json" in err


def test_text_from_a_file_is_never_markup():
    none = CopyTotals(0, 0, 0.0)
    device = DeviceTransfers("GPU:[red]x[/]", none, {}, none, 0.0, 0.0, 5.0, None)
    sample = TransferSample("xspace", {device.name: device}, 0, None, None, None, problems=("[bold]says[/bold]",))
    stream = io.StringIO()
    print_tables(sample, "[/oops]", Console(file=stream, width=200))
    assert "GPU:[red]x[/]" in stream.getvalue()
    assert "[bold]says[/bold]" in stream.getvalue()


def test_unknown_figures_are_null_and_not_zero(tmp_path):
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps({"traceEvents": [event("cpu_op", "aten::add", 0, 1)]}))
    answer = trace.as_json(read_trace(path))
    assert answer["devices"] == {}
    assert answer["step_ms"] is None
    assert answer["input_wait_ms"] is None
    assert answer["input_wait_share"] is None
    assert answer["problems"]
