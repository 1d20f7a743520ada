from feedwatch.measure.ring import Ring


def test_rows_come_back_in_order():
    ring = Ring(rows=4, width=2)
    ring.append((1, 10))
    ring.append((2, 20))
    assert ring.drain() == [(1, 10), (2, 20)]
    assert ring.drain() == []


def test_a_full_ring_drops_the_oldest_and_counts():
    ring = Ring(rows=3, width=1)
    for value in range(8):
        ring.append((value,))
    assert ring.drain() == [(5,), (6,), (7,)]
    assert ring.dropped == 5


def test_a_drained_ring_is_used_again_from_the_start():
    ring = Ring(rows=2, width=1)
    for value in range(3):
        ring.append((value,))
    ring.drain()
    ring.append((9,))
    assert ring.drain() == [(9,)]
