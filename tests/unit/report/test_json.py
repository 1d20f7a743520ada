import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.errors import ReportError
from feedwatch.model.account import PARTS
from feedwatch.report.json import (
    KEPT_REPORTS,
    MAX_TEXT,
    dumps,
    from_json,
    keep_earlier,
    loads,
    report_file_name,
    to_json,
    write_report_file,
)
from feedwatch.report.load import load_run
from feedwatch.report.markdown import render_markdown
from tests.fakes.reports import report

SECTIONS = {
    "schema", "feedwatch", "status", "run", "clock", "steps", "verdict", "phases", "startup", "epoch_boundary",
    "series", "pipeline", "transfers", "device", "host", "findings", "self", "account", "model",
}  # fmt: skip


def test_a_report_survives_the_round_trip():
    before = report()
    assert loads(dumps(before)) == before


def test_the_fields_are_those_of_schema_2():
    data = to_json(report())
    assert set(data) >= SECTIONS
    assert data["schema"] == 2
    assert set(data["run"]) == {
        "framework", "version", "backend", "device", "rank", "world_size", "started", "updated",
    }  # fmt: skip
    assert set(data["steps"]) == {"measured", "warmup", "dropped", "batches", "samples"}
    assert set(data["verdict"]) == {
        "bound", "title", "detail", "stall_ratio", "step_ms", "samples_per_s", "ceiling_speedup", "headroom",
    }  # fmt: skip
    assert set(data["phases"]) == {"input_wait", "h2d", "compute", "other"}
    assert set(data["phases"]["input_wait"]) == {"ms", "p95_ms", "share", "mean_ms"}
    assert set(data["account"]) == {"batches", "epochs", "seconds", "batch_ms", "parts"}
    assert set(data["account"]["parts"]) == set(PARTS)
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


def test_the_parts_of_the_account_add_up_in_the_file():
    account = to_json(report())["account"]
    parts = [part for part in account["parts"].values() if part is not None]
    assert sum(part["ms"] for part in parts) == pytest.approx(account["batch_ms"])
    assert sum(part["share"] for part in parts) == pytest.approx(1.0)


def test_files_of_schema_1_are_still_read():
    """Written by feedwatch 1: no account, no model, one finding without `alters`, and a gain of two together."""
    text = (Path(__file__).parents[2] / "data" / "report_schema_1.json").read_text(encoding="utf-8")
    read = loads(text)
    assert read.schema == 1
    assert (read.account, read.model) == (None, None)
    assert read.phases["input_wait"].mean_ms is None
    assert read.findings[0].alters == ()
    assert loads(dumps(read)) == read
    assert render_markdown(read).strip()


def test_another_schema_is_refused_with_its_number():
    with pytest.raises(ReportError, match="schema 3"):
        from_json(to_json(report()) | {"schema": 3})


def test_a_series_whose_columns_have_different_lengths_is_refused():
    data = to_json(report())
    data["series"]["compute"] = [None] * (len(data["series"]["step"]) + 1)
    with pytest.raises(ReportError, match="different lengths"):
        from_json(data)


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
    assert read.schema == 2


def test_text_that_is_no_json_is_a_report_error():
    for text in ("", "{", "[" * 100_000, b"\xff\xfe"):
        with pytest.raises(ReportError):
            loads(text)


def test_the_file_is_replaced_whole(tmp_path):
    for _ in range(3):
        write_report_file(tmp_path, report())
    assert [file.name for file in tmp_path.iterdir()] == ["report.json"]
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == 2


def test_who_reads_the_old_report_reads_it_to_its_end(tmp_path):
    write_report_file(tmp_path, report(rank=0))
    before = (tmp_path / "report.json").read_bytes()
    with (tmp_path / "report.json").open("rb", buffering=0) as reader:  # a buffer would hold the old file whole
        start = reader.read(10)
        write_report_file(tmp_path, report(wall_ms=20, wait_ms=9, compute_ms=5))
        assert start + reader.read() == before
    assert (tmp_path / "report.json").read_bytes() != before


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


def test_f82_the_report_of_an_earlier_run_is_kept(tmp_path):
    keep_earlier(tmp_path, 0)  # nothing there
    write_report_file(tmp_path, report())
    first = (tmp_path / "report.json").read_bytes()
    keep_earlier(tmp_path, 0)
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("before-")
    assert kept.name.endswith("-report.json")
    assert kept.read_bytes() == first


def test_of_earlier_runs_the_newest_are_kept(tmp_path):
    for number in range(KEPT_REPORTS + 5):
        (tmp_path / "report.json").write_text(str(number))
        os.utime(tmp_path / "report.json", (number, number))
        keep_earlier(tmp_path, 0)
    assert sorted(int(file.read_text()) for file in tmp_path.iterdir()) == list(range(5, KEPT_REPORTS + 5))


def test_kept_reports_are_not_taken_for_ranks(tmp_path):
    for rank in range(2):
        write_report_file(tmp_path, report(rank=rank, world_size=2))
        keep_earlier(tmp_path, rank)
        write_report_file(tmp_path, report(rank=rank, world_size=2))
    assert load_run(tmp_path).ranks.count == 2
    assert len(list(tmp_path.glob("report*.json"))) == 2
