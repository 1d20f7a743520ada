import json
import math
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.errors import ReportError
from feedwatch.report.json import MAX_TEXT, dumps, from_json, loads, report_file_name, to_json, write_report_file
from tests.fakes.reports import report

SECTIONS = {
    "schema", "feedwatch", "status", "run", "clock", "steps", "verdict", "phases", "startup", "epoch_boundary",
    "series", "pipeline", "transfers", "device", "host", "findings", "self",
}  # fmt: skip


def test_a_report_survives_the_round_trip():
    before = report()
    assert loads(dumps(before)) == before


def test_the_fields_are_those_of_schema_1():
    data = to_json(report())
    assert set(data) >= SECTIONS
    assert data["schema"] == 1
    assert set(data["run"]) == {
        "framework", "version", "backend", "device", "rank", "world_size", "started", "updated",
    }  # fmt: skip
    assert set(data["steps"]) == {"measured", "warmup", "dropped", "batches", "samples"}
    assert set(data["verdict"]) == {
        "bound", "title", "detail", "stall_ratio", "step_ms", "samples_per_s", "ceiling_speedup", "headroom",
    }  # fmt: skip
    assert set(data["phases"]) == {"input_wait", "h2d", "compute", "other"}
    assert set(data["phases"]["input_wait"]) == {"ms", "p95_ms", "share"}
    assert set(data["series"]) == {"step", "input_wait", "h2d", "compute", "other", "marks"}
    assert set(data["self"]) == {"overhead_ratio", "us_per_step", "profiler_windows", "dropped_windows", "notes"}


def test_an_unmeasured_phase_is_null_not_zero():
    assert to_json(report(h2d_ms=None))["phases"]["h2d"] is None


def test_nan_becomes_null():
    broken = report()
    broken = replace(broken, verdict=replace(broken.verdict, step_ms=math.nan, headroom=math.inf))
    data = json.loads(dumps(broken))
    assert data["verdict"]["step_ms"] is None
    assert data["verdict"]["headroom"] is None


def test_another_schema_is_refused_with_its_number():
    with pytest.raises(ReportError, match="schema 2"):
        from_json(to_json(report()) | {"schema": 2})


def test_unknown_fields_of_a_newer_writer_are_ignored():
    data = to_json(report())
    data["verdict"]["mood"] = "good"
    assert from_json(data) == report()


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        (("verdict", "bound"), "gravity", "report.verdict.bound"),
        (("steps", "measured"), "many", "report.steps.measured"),
        (("steps", "measured"), True, "report.steps.measured"),
        (("series", "step"), {}, "report.series.step"),
        (("phases",), [], "report.phases"),
    ],
)
def test_a_wrong_value_is_named(path, value, says):
    data = to_json(report())
    target = data
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    with pytest.raises(ReportError, match=says):
        from_json(data)


HUGE = [10**400, -(10**400), 1e300, float("inf"), float("nan"), 2**70]


@pytest.mark.parametrize("value", HUGE, ids=["digits", "-digits", "1e300", "inf", "nan", "2**70"])
@pytest.mark.parametrize(
    "path", [("run", "started"), ("run", "world_size"), ("verdict", "stall_ratio"), ("steps", "batches")]
)
def test_a_number_that_cannot_be_is_named_and_never_an_overflow(path, value):
    data = to_json(report())
    data[path[0]][path[1]] = value
    with pytest.raises(ReportError, match=".".join(path)):
        from_json(data)
    with pytest.raises(ReportError):
        loads(json.dumps(data))


def test_a_long_text_of_the_users_is_cut_off_when_it_is_written():
    value = report()
    value = replace(value, verdict=replace(value.verdict, detail="x" * 10_000_000))
    assert len(loads(dumps(value)).verdict.detail) == MAX_TEXT


def test_a_missing_section_is_named():
    data = to_json(report())
    del data["verdict"]
    with pytest.raises(ReportError, match="report.verdict is missing"):
        from_json(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(sorted(SECTIONS)), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_whatever_is_read_gives_a_report_or_a_report_error(data):
    if isinstance(data, dict):
        data["schema"] = 1
    with pytest.raises(ReportError):
        from_json(data)


@given(st.sampled_from(sorted(SECTIONS - {"schema"})), JSON)
def test_a_damaged_section_gives_a_report_or_a_report_error(section, damage):
    data = to_json(report()) | {section: damage}
    try:
        read = from_json(data)
    except ReportError:
        return
    assert read.schema == 1


def test_text_that_is_no_json_is_a_report_error():
    for text in ("", "{", "[" * 100_000, b"\xff\xfe"):
        with pytest.raises(ReportError):
            loads(text)


def test_the_file_is_replaced_whole(tmp_path):
    for _ in range(3):
        write_report_file(tmp_path, report())
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == 1


def test_a_link_planted_at_the_name_of_a_draft_is_not_written_through(tmp_path):
    """A draft's name must not be one that another user of the directory can guess."""
    victim = tmp_path / "precious"
    victim.write_text("precious")
    run = tmp_path / "run"
    run.mkdir()
    for name in (f".report.json.{os.getpid()}.tmp", "report.json"):
        (run / name).symlink_to(victim)
    write_report_file(run, report())
    assert victim.read_text() == "precious"
    assert loads((run / "report.json").read_text()) == report()


def test_a_file_that_cannot_be_written_leaves_no_draft(tmp_path):
    (tmp_path / "report.json").mkdir()  # nothing can take the place of a directory
    with pytest.raises(OSError, match=r"report\.json"):
        write_report_file(tmp_path, report())
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]


def test_every_rank_has_a_file_of_its_own():
    assert [report_file_name(rank) for rank in (0, 1, 12)] == [
        "report.json", "report.rank00001.json", "report.rank00012.json",
    ]  # fmt: skip
