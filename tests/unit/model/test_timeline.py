from feedwatch.model.account import PARTS
from feedwatch.model.timeline import SPAN_PHASES, Excerpt, Lane, TimelineSection
from tests.unit.model.frozen import assert_frozen


def test_a_span_is_a_part_of_the_account():
    """The tab knows one colour for each of them."""
    assert set(SPAN_PHASES) <= set(PARTS)


def test_the_values_are_frozen():
    assert_frozen(Lane, Excerpt, TimelineSection)
