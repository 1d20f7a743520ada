"""From a case to findings."""

from feedwatch.advise.engine import advise, rank_findings
from feedwatch.model.report import RankLine, RanksSection, RunSection
from feedwatch.model.verdict import Bound, Verdict
from tests.rules.build import case, host, loader, window

RUN = RunSection("lightning", "2.6.6", "torch", "cuda:0", 0, 4, 0.0, 0.0)
VERDICT = Verdict(Bound.COMPUTE, "", "", step_ms=60.0)


def ranks(slowest_ms, median_ms):
    line = RankLine(rank=3, stall_ratio=0.4, step_ms=60.0, input_wait_ms=slowest_ms)
    return RanksSection(4, 4, 0, line, median_ms, slowest_ms, (line,))


def test_a_finding_speaks_in_the_users_numbers():
    alone = loader(num_workers=0, prefetch_factor=None, call_site="train.py:57")
    found = advise(case(window(212, 180), loader=alone))[0]
    assert found.code == "FW101"
    assert "180 ms" in found.why
    assert "32 ms" in found.why
    assert "8 CPUs" in found.why
    workers = round(found.evidence["workers_advised"])
    assert 2 <= workers <= 8
    assert f"num_workers={workers}" in found.title
    assert found.fix.after == f"loader = DataLoader(..., num_workers={workers}, persistent_workers=True)  # train.py:57"


def test_a_run_of_one_step_gets_no_advice():
    assert advise(case(None, loader=loader(num_workers=0))) == ()


def test_more_workers_will_not_help_where_that_is_the_answer():
    full = host(cpu_budget=4.0, cpu_used=3.9, process_cpus=0.4, children_cpus=3.5)
    found = advise(
        case(window(100, 60), loader=loader(num_workers=4, load_ms=380.0, ready_share=0.05), host_facts=full)
    )
    assert "FW110" in [one.code for one in found]
    assert {"FW101", "FW102"}.isdisjoint(one.code for one in found)


def test_a_change_that_is_not_worth_its_edit_is_not_shown():
    alone = loader(num_workers=0, prefetch_factor=None, load_ms=1.0)
    assert "FW101" not in [one.code for one in advise(case(window(100, 1), loader=alone))]


def test_a_rank_that_waits_longer_than_the_others_is_named():
    found = rank_findings(RUN, VERDICT, ranks(25.0, 1.0))
    assert [one.code for one in found] == ["FW501"]
    assert "rank 3" in found[0].title
    assert found[0].gain is not None
    assert found[0].gain.high <= 60.0 / (60.0 - 25.0) * 1.0001  # nobody waits any more


def test_ranks_that_wait_alike_are_not():
    assert rank_findings(RUN, VERDICT, ranks(1.2, 1.0)) == ()
