"""What only several ranks together show."""

from feedwatch.advise.ranks import rank_findings
from feedwatch.model.report import RankLine, RanksSection, RunSection
from feedwatch.model.verdict import Bound, Verdict

RUN = RunSection("lightning", "2.6.6", "torch", "cuda:0", 0, 4, 0.0, 0.0)
VERDICT = Verdict(Bound.COMPUTE, "", "", step_ms=60.0)


def ranks(slowest_ms, median_ms):
    line = RankLine(rank=3, stall_ratio=0.4, step_ms=60.0, input_wait_ms=slowest_ms)
    return RanksSection(4, 4, 0, line, median_ms, slowest_ms, (line,))


def test_a_rank_that_waits_longer_than_the_others_is_named():
    found = rank_findings(RUN, VERDICT, ranks(25.0, 1.0))
    assert [one.code for one in found] == ["FW501"]
    assert "rank 3" in found[0].title
    assert found[0].gain is not None
    assert found[0].gain.high <= 60.0 / (60.0 - 24.0) * 1.0001


def test_ranks_that_wait_alike_are_not():
    assert rank_findings(RUN, VERDICT, ranks(1.2, 1.0)) == ()
