"""From a case to findings."""

from feedwatch.advise.engine import Advice, advise, rank_findings
from feedwatch.model.report import RankLine, RanksSection, RunSection
from feedwatch.model.verdict import Bound, Verdict
from tests.rules.build import case, host, loader, stage, tf_data, window

RUN = RunSection("lightning", "2.6.6", "torch", "cuda:0", 0, 4, 0.0, 0.0)
VERDICT = Verdict(Bound.COMPUTE, "", "", step_ms=60.0)


def ranks(slowest_ms, median_ms):
    line = RankLine(rank=3, stall_ratio=0.4, step_ms=60.0, input_wait_ms=slowest_ms)
    return RanksSection(4, 4, 0, line, median_ms, slowest_ms, (line,))


def test_a_finding_speaks_in_the_users_numbers():
    found = advise(case(window(212, 180), loader=loader(num_workers=0, prefetch_factor=None))).findings[0]
    assert found.code == "FW101"
    assert "180 ms" in found.why
    assert "32 ms" in found.why
    assert "8 CPUs" in found.why
    assert "num_workers=6" in found.title
    assert "num_workers=6," in found.fix.after


def test_a_run_of_one_step_gets_no_advice():
    assert advise(case(None, loader=loader(num_workers=0))) == Advice()


def test_the_first_two_findings_have_a_gain_together():
    slow = tf_data(stage("FromTensorSlices", 0.2), stage("Map", 60.0), stage("Batch", 1.0), works_ahead=False)
    advice = advise(case(window(80, 60), tf=slow))
    assert {one.code for one in advice.findings} >= {"FW120", "FW121"}
    assert advice.combined is not None
    assert advice.combined.high >= max(one.gain.high for one in advice.findings[:2] if one.gain is not None)


def test_more_workers_will_not_help_where_that_is_the_answer():
    full = advise(
        case(
            window(100, 60), loader=loader(num_workers=4, load_ms=350.0), host_facts=host(cpu_budget=4.0, cpu_used=3.9)
        )
    )
    assert [one.code for one in full.findings] == ["FW110"]
    assert "More workers will not help" in full.findings[0].why


def test_a_rank_that_waits_longer_than_the_others_is_named():
    found = rank_findings(RUN, VERDICT, ranks(25.0, 1.0))
    assert [one.code for one in found] == ["FW501"]
    assert "rank 3" in found[0].title
    assert found[0].gain is not None
    assert found[0].gain.high <= 60.0 / (60.0 - 24.0) * 1.0001


def test_ranks_that_wait_alike_are_not():
    assert rank_findings(RUN, VERDICT, ranks(1.2, 1.0)) == ()
