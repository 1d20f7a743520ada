"""From when to when: the second reading of a few marks."""

from itertools import pairwise

import pytest

from feedwatch.measure.marks import (
    BEGIN,
    COMPUTE,
    DEVICE,
    DONE,
    END,
    ENTER,
    EPOCH_END,
    GOT,
    H2D,
    INPUT,
    LEAVE,
    OTHER,
    TRAINED,
    WAS,
    DeviceSpans,
    Fetch,
)
from feedwatch.measure.overlap import attribute, wait_spans
from feedwatch.measure.spans import Span, SpanReader
from feedwatch.measure.steps import Ends, StepReader, Way
from feedwatch.model.timeline import SPAN_PHASES

WAIT, COPY, COMPUTING, REST = (SPAN_PHASES.index(name) for name in ("input_wait", "h2d", "compute", "other"))


def moments(marks, rows=(), **way):
    values = {"batches_per_call": 1, "ends": Ends.MARKED, "stamped": False, "device": False} | way
    return SpanReader(Way(**values), measured=True).moments(marks, rows)


def device_spans(first_ns, *, wait, copy, compute, rest):
    marks = [(None, category, first_ns) for category in (INPUT, H2D, COMPUTE, OTHER)]
    return DeviceSpans(first_ns, marks, [wait, copy, compute, rest], first_ns)


def loop_steps(count, first=100):
    """A loop of one's own: 3 of waiting, 7 of computing."""
    for at in range(first, first + 10 * count, 10):
        yield from [(at, ENTER, INPUT), (at + 3, GOT, 4), (at + 3, BEGIN, at // 10)]
    yield (first + 10 * count, ENTER, INPUT)


def test_a_loop_waits_and_computes_in_turn():
    found = moments(loop_steps(2), ends=Ends.NEXT)
    assert found.host == [
        Span(WAIT, 100, 103), Span(COMPUTING, 103, 110), Span(WAIT, 110, 113), Span(COMPUTING, 113, 120),
    ]  # fmt: skip
    assert found.fetches == [Fetch(100, 103, 4), Fetch(110, 113, 4)]


def test_nested_categories_keep_their_own_moments_and_neighbours_are_joined():
    marks = [
        (10, ENTER, INPUT), (20, GOT, 4), (22, ENTER, H2D), (25, LEAVE, H2D), (25, ENTER, COMPUTE), (40, LEAVE, COMPUTE), (40, TRAINED, 4),
        (41, ENTER, 6), (43, LEAVE, 6), (43, ENTER, 7), (44, LEAVE, 7), (50, ENTER, INPUT), (60, GOT, 4),
    ]  # fmt: skip
    assert moments(marks).host == [
        Span(WAIT, 10, 20), Span(REST, 20, 22), Span(COPY, 22, 25), Span(COMPUTING, 25, 40), Span(REST, 40, 50), Span(WAIT, 50, 60),
    ]  # fmt: skip


def test_spans_cover_every_moment_once_and_add_up_to_what_the_engine_says():
    marks = [*loop_steps(20)]
    records = list(StepReader(ends=Ends.NEXT).read(marks))
    host = moments(marks, ends=Ends.NEXT).host
    assert all(a.to_ns == b.from_ns for a, b in pairwise(host))
    for phase, total in ((WAIT, "input_wait_ns"), (COMPUTING, "compute_ns")):
        spent = sum(span.to_ns - span.from_ns for span in host if span.phase == phase)
        assert spent == sum(getattr(record, total) for record in records)


def test_fetches_inside_a_graph_are_cut_out_of_its_call():
    marks = [(100, BEGIN, 0), (120, END, 0), (122, BEGIN, 1), (140, END, 1), (141, WAS, 6), (142, BEGIN, 2)]
    found = moments(marks, [Fetch(101, 111), Fetch(123, 124)], stamped=True)
    assert found.host[:5] == [
        Span(COMPUTING, 100, 101), Span(WAIT, 101, 111), Span(COMPUTING, 111, 120), Span(REST, 120, 122), Span(COMPUTING, 122, 123),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "fetches",
    [
        [Fetch(0, 10)],
        [Fetch(0, 10), Fetch(10, 30)],
        [Fetch(0, 1), Fetch(1, 2), Fetch(2, 50)],
        [Fetch(5, 5), Fetch(5, 6)],
    ],
)
def test_the_moments_of_waiting_add_up_to_the_waiting(fetches):
    spans = wait_spans(fetches[0].asked_ns, fetches, 80)
    assert sum(to - begin for begin, to in spans) == pytest.approx(
        attribute(fetches[0].asked_ns, fetches, 80).wait_ns, abs=2
    )


def test_a_device_with_a_clock_has_its_own_lane():
    marks = []
    for at in (100, 110):
        marks += [
            (at, ENTER, INPUT),
            (at + 3, GOT, 4),
            (at + 3, ENTER, COMPUTE),
            (at + 4, LEAVE, COMPUTE),
            (at + 4, TRAINED, 4),
        ]
    marks += [
        (120, ENTER, INPUT),
        (130, DEVICE, device_spans(100, wait=2, copy=1, compute=6, rest=1)),
        (130, DEVICE, device_spans(110, wait=0, copy=1, compute=8, rest=0)),
    ]
    assert moments(marks, device=True).device == [
        Span(WAIT, 100, 102), Span(COPY, 102, 103), Span(COMPUTING, 103, 109), Span(REST, 109, 110), Span(COPY, 110, 111), Span(COMPUTING, 111, 119),
    ]  # fmt: skip


def test_results_that_come_later_end_the_devices_step():
    marks = [
        (100, ENTER, INPUT), (104, GOT, 4), (104, BEGIN, 0), (105, ENTER, INPUT), (106, GOT, 4), (106, BEGIN, 1), (114, DONE, 0), (124, DONE, 1), (125, EPOCH_END, None),
    ]  # fmt: skip
    device = moments(marks, ends=Ends.DONE).device
    assert device == [Span(WAIT, 100, 104), Span(COMPUTING, 104, 114), Span(COMPUTING, 114, 124)] or device == [
        Span(WAIT, 100, 104), Span(COMPUTING, 104, 124),
    ]  # fmt: skip
