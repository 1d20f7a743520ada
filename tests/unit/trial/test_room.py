from feedwatch.trial.room import Free, Needs, shortage


def test_without_workers_nothing_is_needed():
    assert shortage(Needs(0, 0, 10**9, 1e9), Free(1.0, 1.0)) is None


def test_a_queue_that_fills_shared_memory_is_refused_with_both_figures():
    why = shortage(Needs(4, 2, 10_000_000), Free(1e12, 64e6))
    assert "130 MB" in why
    assert "64 MB" in why
    assert "/dev/shm" in why


def test_workers_that_exhaust_memory_are_refused():
    assert "memory" in shortage(Needs(8, 2, 1000, worker_bytes=1e9), Free(4e9, 1e12))
    assert shortage(Needs(1, 2, 1000, worker_bytes=1e9), Free(4e9, 1e12)) is None


def test_what_is_not_known_refuses_nothing():
    assert shortage(Needs(8, 2), Free()) is None
