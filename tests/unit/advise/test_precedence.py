"""Which findings silence which."""

from feedwatch.advise.precedence import TABLE, without_silenced
from feedwatch.advise.registry import RULES
from tests.unit.advise.test_ranking import codes, fired


def test_precedence_speaks_of_rules_that_exist_and_gives_reasons():
    known = {one.code for one in RULES}
    for row in TABLE:
        assert row.stronger in known
        assert set(row.weaker) <= known - {row.stronger}
        assert len(row.reason) > 20


def test_no_two_rules_silence_each_other():
    pairs = {(row.stronger, weaker) for row in TABLE for weaker in row.weaker}
    assert not {(weaker, stronger) for stronger, weaker in pairs} & pairs


def test_a_stronger_finding_silences_and_a_silenced_one_silences_nobody():
    assert codes(without_silenced([fired("FW302"), fired("FW301")])) == ["FW302"]
    # FW208 takes FW207 away, so FW207 cannot take anything away itself.
    assert codes(without_silenced([fired("FW207"), fired("FW208"), fired("FW201")])) == ["FW208", "FW201"]
