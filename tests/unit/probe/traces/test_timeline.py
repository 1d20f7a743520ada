import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from feedwatch.probe.traces.timeline import Spans, covered, intersection, shared, union

pairs = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=25)


def spans(intervals):
    made = Spans()
    for start, length in intervals:
        made.add(float(start), float(start + length))
    return made


def points(intervals):
    """The same set as unit cells: slow and plainly right."""
    return {cell for start, length in intervals for cell in range(start, start + length)}


@given(pairs)
def test_a_union_covers_each_cell_once(intervals):
    made = union(spans(intervals))
    assert made.total == len(points(intervals))
    assert np.all(made.starts[1:] > made.ends[:-1])


@given(pairs, pairs)
def test_an_intersection_is_what_both_cover(one, other):
    both = len(points(one) & points(other))
    first, second = union(spans(one)), union(spans(other))
    assert shared(first, second) == pytest.approx(both)
    assert intersection(first, second).total == pytest.approx(both)


@given(pairs, st.integers(0, 60), st.integers(0, 30))
def test_covered_counts_the_cells_of_a_window(intervals, start, length):
    inside = points(intervals) & set(range(start, start + length))
    window = (np.array([float(start)]), np.array([float(start + length)]))
    assert covered(union(spans(intervals)), *window)[0] == pytest.approx(len(inside))


def test_nothing_is_covered_by_nothing():
    assert union().total == 0
    assert shared(union(), union(spans([(1, 2)]))) == 0
    assert intersection(union(), union()).total == 0
