"""A file of unknown origin: its size first, then what its first bytes say it is, then bounded pieces."""

import gzip
import json
import lzma
import os

import pytest

from feedwatch.errors import TraceError
from feedwatch.probe.traces import read_trace, source
from feedwatch.probe.traces.source import TraceSource
from tests.unit.probe.traces.builders import SpaceBuilder, kineto_event, write_kineto

EVENTS = [kineto_event("kernel", "gemm", 45, 40, device=0)]


def source_of(tmp_path, data):
    path = tmp_path / "file"
    path.write_bytes(data)
    return TraceSource(path)


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_compressed_files_are_recognised_by_their_content(tmp_path, compress):
    plain = write_kineto(tmp_path / "plain", EVENTS).read_bytes()
    (tmp_path / "no_suffix").write_bytes(compress(plain))
    assert read_trace(tmp_path / "no_suffix") == read_trace(tmp_path / "plain")


def test_f16_a_file_above_the_limit_is_refused_by_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "MAX_FILE_BYTES", 100)
    with pytest.raises(TraceError, match="not read"):
        read_trace(write_kineto(tmp_path / "t.json", EVENTS))


def test_f16_a_bomb_is_stopped_at_the_limit(tmp_path, monkeypatch):
    (tmp_path / "t.json.gz").write_bytes(gzip.compress(b'{"a": "' + b" " * 3_000_000))
    monkeypatch.setattr(source.TraceSource.pieces, "__defaults__", (1_000_000,))
    with pytest.raises(TraceError, match="are not read"):
        read_trace(tmp_path / "t.json.gz")


@pytest.mark.parametrize("cut", [3, 12, 40])
@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress])
def test_f15_truncated_compressed_files_are_one_line(tmp_path, compress, cut):
    (tmp_path / "t").write_bytes(compress(json.dumps({"traceEvents": EVENTS}).encode())[:-cut])
    with pytest.raises(TraceError):
        read_trace(tmp_path / "t")


def test_a_directory_and_an_absent_file_are_one_line(tmp_path):
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(TraceError, match=path.name):
            read_trace(path)


@pytest.mark.parametrize("text", ["{}", '{"a": 1}', ' \n{ "a": 1}', "[]", "[{}]", '\ufeff{"a": 1}', '["x"]', "[1]"])
def test_json_is_recognised_by_its_first_characters(tmp_path, text):
    assert source_of(tmp_path, text.encode()).is_json()


def test_an_xspace_whose_length_looks_like_a_brace_is_not_json(tmp_path):
    space = SpaceBuilder()
    space.plane("x" * (ord("{") - 2))  # with its tag and length as long as the code of a brace
    assert space.bytes().startswith(b"\n{")
    assert not source_of(tmp_path, space.bytes()).is_json()


@pytest.mark.parametrize("compress", [bytes, gzip.compress, lzma.compress])
def test_pieces_are_bounded_and_whole_when_joined(tmp_path, monkeypatch, compress):
    monkeypatch.setattr(source, "CHUNK_BYTES", 1000)
    data = os.urandom(10_500)
    pieces = list(source_of(tmp_path, compress(data)).pieces())
    assert max(map(len, pieces)) <= 1000
    assert b"".join(pieces) == data


def test_a_file_may_be_read_more_than_once(tmp_path):
    made = source_of(tmp_path, gzip.compress(b"hello"))
    assert made.whole() == made.whole() == b"hello"


def test_an_empty_file_and_an_empty_archive_are_said_to_be_empty(tmp_path):
    with pytest.raises(TraceError, match="empty"):
        source_of(tmp_path, b"")
    with pytest.raises(TraceError, match="empty"):
        source_of(tmp_path, gzip.compress(b"")).is_json()


def test_f16_an_archive_that_asks_for_gigabytes_of_memory_is_refused(tmp_path, monkeypatch):
    greedy = lzma.compress(b"x" * 100, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28}])
    monkeypatch.setattr(source, "XZ_MEMORY_BYTES", 1 << 20)
    with pytest.raises(TraceError, match="cannot be read"):
        source_of(tmp_path, greedy).whole()


def test_a_pipe_is_not_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TraceError, match="not a file"):
        TraceSource(tmp_path / "pipe")
