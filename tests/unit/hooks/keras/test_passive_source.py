"""tf.data's own gaps instead of stamps."""

from feedwatch.hooks.keras.passive_source import pair

MS = 1_000_000


def test_gaps_are_paired_from_the_end():
    begins = [0, 10 * MS, 20 * MS, 30 * MS]
    fetches = pair(begins, (7000, 6000, 4000), fetched=4)
    assert [(fetch.got_ns - fetch.asked_ns) / MS for fetch in fetches] == [3.0, 4.0, 6.0]
    late = pair(begins, (6000, 4000), fetched=3)
    assert [fetch.asked_ns for fetch in late] == [10 * MS, 20 * MS]
    assert pair(begins, (), fetched=4) == []
