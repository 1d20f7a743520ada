"""What it costs on this machine to hand memory from process to process."""

from pathlib import Path

import pytest

from feedwatch.probe import handover
from feedwatch.probe.handover import measure

PLACE = Path(handover.PLACE)


@pytest.mark.skipif(not PLACE.is_dir(), reason="no shared memory here")
def test_a_handover_takes_time_and_leaves_nothing_behind():
    before = set(PLACE.iterdir())
    found = measure()
    assert 0 < found.ms < 50
    assert 0 <= found.ms_per_mb < 500
    # Nothing of ours: others may use the same directory meanwhile.
    assert not [file for file in set(PLACE.iterdir()) - before if file.name.startswith("tmp")]


def test_where_there_is_no_shared_memory_nothing_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr(handover, "PLACE", str(tmp_path / "missing"))
    assert measure() is None


def test_where_sockets_cannot_send_descriptors_nothing_is_known(monkeypatch, tmp_path):
    monkeypatch.setattr(handover, "PLACE", str(tmp_path))
    monkeypatch.delattr(handover.socket, "send_fds")
    assert measure() is None
