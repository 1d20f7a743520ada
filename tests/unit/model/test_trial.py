from feedwatch.model.trial import Ended, Outcome, Role, TrialRow, TrialSection
from tests.unit.model.frozen import assert_frozen

AS_IS = TrialRow("as it is", Role.AS_IS, Outcome.SAME)
BEST = TrialRow("num_workers=2", Role.VARIANT, Outcome.FASTER)


def test_a_section_knows_the_run_as_it_is_and_what_was_picked():
    section = TrialSection(Ended.DECIDED, 20.0, (AS_IS, BEST), picked="num_workers=2")
    assert section.as_is is AS_IS
    assert section.winner is BEST
    assert_frozen(TrialSection, TrialRow)


def test_nothing_picked_is_nobody():
    assert TrialSection(Ended.NOT_BEGUN, 0.0).as_is is None
    assert TrialSection(Ended.NOT_BEGUN, 0.0).winner is None
