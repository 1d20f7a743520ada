import json
import os
import struct
import zlib
from dataclasses import replace

import pytest
from tensorboard.compat.proto.event_pb2 import Event

from feedwatch.errors import ReportError
from feedwatch.model.report import SeriesSection
from feedwatch.report import load
from feedwatch.report.json import dumps, to_json, write_report_file
from feedwatch.report.load import load_run, load_siblings
from feedwatch.report.tensorboard import own_run, report_summary
from tests.fakes.reports import report


def test_a_run_is_found_by_its_directory_its_sub_run_and_its_file(tmp_path):
    value = report()
    path = write_report_file(tmp_path / "a" / "feedwatch", value)
    assert load_run(tmp_path / "a") == load_run(tmp_path / "a" / "feedwatch") == load_run(path) == value


def test_no_run_there_says_so(tmp_path):
    with pytest.raises(ReportError, match="no run there"):
        load_run(tmp_path / "missing")


def test_a_foreign_directory_says_so(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ReportError, match="no feedwatch report"):
        load_run(tmp_path)


def test_a_parent_of_runs_names_them(tmp_path):
    write_report_file(tmp_path / "before" / "feedwatch", report())
    with pytest.raises(ReportError, match="before"):
        load_run(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schema": 1}', b"\xff" * 20, b'{"schema": 7}'])
def test_a_damaged_report_is_one_clear_error(tmp_path, content):
    (tmp_path / "report.json").write_bytes(content)
    with pytest.raises(ReportError, match=r"report\.json"):
        load_run(tmp_path)


def test_a_file_larger_than_any_report_is_refused_by_size(tmp_path):
    (tmp_path / "report.json").write_bytes(b" " * (5 << 20))
    with pytest.raises(ReportError, match="larger"):
        load_run(tmp_path)


def test_a_truncated_event_file_without_a_report_is_one_clear_error(tmp_path):
    (tmp_path / "events.out.tfevents.1.host").write_bytes(b"\x18\x00\x00\x00\x00")
    with pytest.raises(ReportError, match="no feedwatch report"):
        load_run(tmp_path)


# -- one bad file costs the others nothing -----------------------------------------------------------


def number_of_400_digits(path):
    data = to_json(report(rank=1, world_size=2))
    data["run"]["started"] = 10**400
    path.write_text(json.dumps(data))


HOSTILE = {
    "400 digits": number_of_400_digits,
    "not a number": lambda path: path.write_text(dumps(report(rank=1, world_size=2)).replace("100.0", "NaN")),
    "empty": lambda path: path.write_bytes(b""),
    "deep": lambda path: path.write_bytes(b'{"schema":1,"x":' + b"[" * 1_000_000),
    "too large": lambda path: path.write_bytes(b" " * (5 << 20)),
    "fifo": os.mkfifo,
    "directory": lambda path: path.mkdir(),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "dangling link": lambda path: path.symlink_to("/nonexistent"),
    "circle": lambda path: path.symlink_to(path),
}


@pytest.fixture(params=HOSTILE)
def planted(request):
    return HOSTILE[request.param]


@pytest.mark.timeout(30)
def test_a_bad_rank_file_costs_the_other_ranks_nothing(tmp_path, planted):
    for rank in (0, 2):
        write_report_file(tmp_path, report(rank=rank, world_size=3))
    planted(tmp_path / "report.rank00001.json")
    read = load_run(tmp_path)
    assert (read.ranks.count, read.ranks.missing) == (2, 1)
    assert any("report.rank00001.json" in note for note in read.self_cost.notes)
    assert not any(
        str(tmp_path) in note for note in read.self_cost.notes
    )  # a page made of this report may be published
    assert [each.run.rank for each in load_siblings(tmp_path, report(world_size=3))] == [2]


@pytest.mark.timeout(30)
def test_a_bad_event_file_costs_an_older_one_nothing(tmp_path, planted):
    output = own_run(tmp_path)
    output.report(1, report(), 1.0)
    output.close()
    planted(tmp_path / "events.out.tfevents.9999999999.x")
    assert load_run(tmp_path) == report()


@pytest.mark.timeout(30)
def test_a_bad_report_file_does_not_hide_the_event_file(tmp_path, planted):
    output = own_run(tmp_path)
    output.report(1, report(), 1.0)
    output.close()
    planted(tmp_path / "report.json")
    assert load_run(tmp_path) == report()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["report.json", "report.rank00001.json", "events.out.tfevents.1.x"])
def test_nothing_but_a_bad_file_is_one_clear_error(tmp_path, planted, name):
    planted(tmp_path / name)
    with pytest.raises(ReportError) as refused:
        load_run(tmp_path)
    assert len(str(refused.value)) < 500


def framed(data, length=None):
    return struct.pack("<Q", len(data) if length is None else length) + b"0000" + data + b"0000"


def a_snapshot():
    return framed(Event(step=1, wall_time=1.0, summary=report_summary(dumps(report()))).SerializeToString())


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "tail",
    [b"\0" * (64 << 20), framed(b"x", 1 << 62), framed(b"", 255 << 20), a_snapshot()[:-9], framed(b"\xff" * 40) * 3],
    ids=["zeros", "huge length", "length without data", "torn", "garbage"],
)
def test_what_stands_behind_the_last_snapshot_does_not_matter(tmp_path, tail):
    (tmp_path / "events.out.tfevents.1.x").write_bytes(a_snapshot() + tail)
    assert load_run(tmp_path) == report()


def test_a_large_record_of_the_users_is_stepped_over(tmp_path):
    image = framed(Event(step=1, wall_time=1.0).SerializeToString() + b"i" * (20 << 20))
    (tmp_path / "events.out.tfevents.1.x").write_bytes(a_snapshot() + image + a_snapshot())
    assert load_run(tmp_path) == report()


def test_a_bomb_in_an_event_file_is_refused(tmp_path):
    summary = report_summary("{}")
    summary.value[0].tensor.string_val[0] = zlib.compress(b"0" * (100 << 20), 9)
    (tmp_path / "events.out.tfevents.1.x").write_bytes(
        framed(Event(step=1, wall_time=1.0, summary=summary).SerializeToString())
    )
    with pytest.raises(ReportError, match="larger than a report can be"):
        load_run(tmp_path)


def test_a_report_of_all_ranks_in_an_event_file_keeps_them(tmp_path):
    merged = load.merge([report(rank=rank, world_size=2) for rank in range(2)])
    output = own_run(tmp_path)
    output.report(1, merged, 1.0)
    output.close()
    assert load_run(tmp_path) == merged


# -- limits: docs/limits.md --------------------------------------------------------------------------


def test_no_more_rank_files_are_read_than_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "MAX_RANK_FILES", 3)
    for rank in range(1, 8):
        write_report_file(tmp_path, report(rank=rank, world_size=8))
    assert load_run(tmp_path).ranks.count == 3


def test_no_more_event_files_are_read_than_allowed(tmp_path, monkeypatch):
    monkeypatch.setattr(load, "MAX_EVENT_FILES", 2)
    (tmp_path / "events.out.tfevents.0.x").write_bytes(a_snapshot())
    for number in range(1, 3):
        (tmp_path / f"events.out.tfevents.{number}.x").write_bytes(b"")
    with pytest.raises(ReportError, match="no feedwatch report"):
        load_run(tmp_path)


def test_an_event_file_above_the_limit_is_refused_by_its_size(tmp_path):
    with (tmp_path / "events.out.tfevents.1.x").open("wb") as file:
        file.truncate(load.MAX_EVENT_FILE_BYTES + 1)
    with pytest.raises(ReportError, match="larger than 1024 MiB"):
        load_run(tmp_path)


def test_bytes_are_limited_in_all(tmp_path, monkeypatch):
    monkeypatch.setattr(load.Budget.__init__, "__defaults__", (3 * len(dumps(report())) + 500, 10.0))
    for rank in range(8):
        write_report_file(tmp_path, report(rank=rank, world_size=8))
    read = load_run(tmp_path)
    assert 0 < read.ranks.count < 8
    assert any("takes too long" in note for note in read.self_cost.notes)


@pytest.mark.timeout(30)
def test_time_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(load.Budget.__init__, "__defaults__", (1 << 30, 0.2))
    short = framed(Event(wall_time=1.0).SerializeToString())
    (tmp_path / "events.out.tfevents.1.x").write_bytes(short * (32 << 20 >> 5))
    with pytest.raises(ReportError, match="takes too long"):
        load_run(tmp_path)


def test_during_training_fewer_ranks_and_bytes_are_read(tmp_path, monkeypatch):
    for rank in range(1, 8):
        write_report_file(tmp_path, report(rank=rank, world_size=8))
    monkeypatch.setattr(load, "MAX_LIVE_RANKS", 5)
    assert len(load_siblings(tmp_path, report(world_size=8))) == 5
    monkeypatch.setattr(load, "MAX_LIVE_BYTES", 3 * len(dumps(report())))
    assert len(load_siblings(tmp_path, report(world_size=8))) < 5


def test_during_training_smaller_files_are_read_for_a_shorter_time(tmp_path, monkeypatch):
    for rank in range(1, 4):
        write_report_file(tmp_path, report(rank=rank, world_size=4))
    large = tmp_path / "report.rank00002.json"
    large.write_text(large.read_text() + " " * load.MAX_LIVE_REPORT_BYTES)
    assert [each.run.rank for each in load_siblings(tmp_path, report(world_size=4))] == [1, 3]
    assert load_run(tmp_path).ranks.count == 3
    monkeypatch.setattr(load, "MAX_LIVE_SECONDS", -1.0)
    assert load_siblings(tmp_path, report(world_size=4)) == []


@pytest.mark.parametrize(("depth", "found"), [(load.MAX_DEPTH - 1, True), (load.MAX_DEPTH + 2, False)])
def test_runs_below_are_searched_to_a_depth(tmp_path, depth, found):
    write_report_file(tmp_path.joinpath(*"d" * depth), report())
    with pytest.raises(ReportError) as said:
        load_run(tmp_path)
    assert ("runs below it" in str(said.value)) is found


def test_so_many_directories_are_searched_and_so_many_runs_named(tmp_path, monkeypatch):
    for number in range(30):
        write_report_file(tmp_path / f"{number:02d}", report())
    with pytest.raises(ReportError) as said:
        load_run(tmp_path)
    assert str(said.value).count(str(tmp_path)) == 1 + load.MAX_NAMED
    monkeypatch.setattr(load, "MAX_SEARCHED", 1)
    with pytest.raises(ReportError, match="was FeedWatch among"):
        load_run(tmp_path)


def test_directories_that_lead_in_a_circle_are_searched_once(tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path)
    with pytest.raises(ReportError, match="no feedwatch report"):
        load_run(tmp_path)


def test_of_many_ranks_only_one_history_is_kept(tmp_path):
    history = SeriesSection(tuple(range(400)), *[(1.0,) * 400] * 4)
    for rank in range(4):
        wait_ms = 4.0 + rank
        write_report_file(tmp_path, replace(report(rank=rank, world_size=4, wait_ms=wait_ms), series=history))
    read = load_run(tmp_path)
    assert read.run.rank == 3
    assert read.series == history
    light = load._without_details(read)
    assert (light.series, light.findings) == (SeriesSection(), ())
