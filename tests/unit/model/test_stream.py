from feedwatch.model.stream import StreamFacts
from tests.unit.model.frozen import assert_frozen


def test_what_a_library_does_not_tell_is_unknown_and_nothing_can_be_changed():
    facts = StreamFacts("litdata")
    assert_frozen(StreamFacts)
    assert facts.predownload is None
    assert facts.cached is None
    assert facts.remote is None
