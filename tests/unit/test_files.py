"""Every way in which a file of a shared directory can be other than it seems."""

import contextlib
import os

import pytest

from feedwatch import files
from feedwatch.errors import ReportError, TraceError
from feedwatch.files import create, listed, opened, read_file, remove, rename, replace_file, subdirectories


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "precious"
    path.write_text("precious")
    return path


# -- writing ----------------------------------------------------------------------------------------


def test_a_file_is_replaced_whole_and_no_draft_stays(tmp_path):
    path = tmp_path / "report.json"
    for text in (b"old", b"new"):
        replace_file(path, text)
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_a_draft_has_another_name_each_time_and_does_not_say_which_process_writes(tmp_path, monkeypatch):
    names = []
    monkeypatch.setattr(files, "create", lambda path: names.append(path.name) or create(path))
    for _ in range(20):
        replace_file(tmp_path / "report.json", b"")
    assert len(set(names)) == 20
    assert not any(str(os.getpid()) in name.split("-")[0] for name in names)
    assert all(len(name) >= 16 + len(".feedwatch-.tmp") for name in names)


def test_a_link_at_the_place_of_the_file_is_replaced_and_not_followed(tmp_path, victim):
    link = tmp_path / "report.json"
    link.symlink_to(victim)
    replace_file(link, b"new")
    assert victim.read_text() == "precious"
    assert not link.is_symlink()


@pytest.mark.parametrize("dangling", [False, True])
def test_a_new_file_is_made_neither_over_an_old_one_nor_through_a_link(tmp_path, victim, dangling):
    link = tmp_path / "events"
    link.symlink_to(tmp_path / "nowhere" if dangling else victim)
    for path in (link, victim):
        with pytest.raises(FileExistsError):
            create(path)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_a_link_in_the_place_of_the_directory_is_not_followed(tmp_path, victim):
    (tmp_path / "run").symlink_to(tmp_path)
    (tmp_path / "link above").symlink_to(tmp_path)
    for write in (create, lambda path: replace_file(path, b"new"), lambda path: rename(path, "old"), remove):
        with pytest.raises(NotADirectoryError):
            write(tmp_path / "run" / "precious")
    assert victim.read_text() == "precious"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link above", "precious", "run"]
    (tmp_path / "mine").mkdir()
    replace_file(tmp_path / "link above" / "mine" / "report.json", b"new")  # the user's own choice
    assert (tmp_path / "mine" / "report.json").read_bytes() == b"new"


def test_a_file_that_cannot_be_replaced_leaves_no_draft(tmp_path):
    (tmp_path / "report.json").mkdir()
    with pytest.raises(OSError, match=r"report\.json"):
        replace_file(tmp_path / "report.json", b"x")
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]


def test_the_user_alone_may_change_what_was_written(tmp_path):
    before = os.umask(0)
    try:
        replace_file(tmp_path / "report.json", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o644


# -- reading ----------------------------------------------------------------------------------------


def hostile(tmp_path, kind):
    path = tmp_path / "file"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "terminal":
        path.symlink_to("/dev/tty")
    elif kind == "dangling":
        path.symlink_to("/nonexistent")
    elif kind == "circle":
        path.symlink_to(path)
    return path


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ["fifo", "directory", "device", "terminal", "dangling", "circle", "missing"])
def test_what_is_no_file_is_refused_without_waiting(tmp_path, kind):
    with pytest.raises(ReportError, match="file") as refused:
        read_file(hostile(tmp_path, kind), 1 << 20)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["nul\0byte", "lone\ud800surrogate"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    with pytest.raises(ReportError, match="cannot read"):
        read_file(tmp_path / name, 1 << 20)


def test_the_error_is_the_callers(tmp_path):
    with pytest.raises(TraceError), opened(tmp_path / "missing", 1, TraceError):
        pass


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * (1 << 20))
    assert len(read_file(path, 1 << 20)) == 1 << 20
    with pytest.raises(ReportError, match="larger than 0 MiB"):
        read_file(path, (1 << 20) - 1)


def test_a_file_above_its_limit_is_never_handed_to_its_reader(tmp_path):
    """An event file or a trace is read in pieces: its size is all that is known before."""
    (tmp_path / "file").write_bytes(b"x" * 10)
    with opened(tmp_path / "file", 10) as file:
        assert file.read() == b"x" * 10
    with pytest.raises(ReportError, match="larger"), opened(tmp_path / "file", 9):
        raise AssertionError


def test_a_file_that_grows_while_it_is_read_is_no_longer_than_its_limit(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    real = os.fstat

    def before_it_grew(descriptor):
        values = list(real(descriptor))
        values[6] = 1
        return os.stat_result(values)

    monkeypatch.setattr(files.os, "fstat", before_it_grew)
    with pytest.raises(ReportError, match="larger"):
        read_file(path, 50)


def test_no_descriptor_stays_open(tmp_path):
    hostile(tmp_path, "fifo")
    (tmp_path / "fine").write_bytes(b"x")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        for name in ("file", "fine", "missing"):
            with contextlib.suppress(ReportError):
                read_file(tmp_path / name, 10)
    assert len(os.listdir("/proc/self/fd")) == before


# -- directories ------------------------------------------------------------------------------------


def test_files_are_listed_by_name_as_many_as_asked_for(tmp_path):
    for number in range(10):
        (tmp_path / f"report.rank{number:05d}.json").touch()
    (tmp_path / "other").touch()
    assert [path.name[11:16] for path in listed(tmp_path, "report.rank*.json", 3)] == ["00000", "00001", "00002"]
    assert [path.name[11:16] for path in listed(tmp_path, "report.rank*.json", 2, last=True)] == ["00009", "00008"]


def test_a_directory_is_looked_at_only_so_far(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_ENTRIES", 5)
    for number in range(20):
        (tmp_path / str(number)).touch()
    assert len(listed(tmp_path, "*", 100)) == 5


def test_a_directory_that_is_none_holds_nothing(tmp_path):
    (tmp_path / "file").touch()
    for name in ("missing", "file", "nul\0"):
        assert listed(tmp_path / name, "*", 5) == []
        assert subdirectories(tmp_path / name, 5) == []


def test_links_to_directories_are_not_followed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "circle").symlink_to(tmp_path)
    assert [path.name for path in subdirectories(tmp_path, 5)] == ["a"]
