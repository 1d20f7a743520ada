import pytest

from feedwatch.advise.measured import with_measured, with_measured_ceiling
from feedwatch.model.trial import Ended, Outcome, Span, TrialSection
from feedwatch.model.verdict import Basis, Bound, Fix, Verdict
from tests.fakes.trials import finding, row, section


def test_without_a_trial_nothing_changes():
    said = (finding("FW101"), finding("FW105"))
    assert with_measured(said, None) == said
    assert with_measured(said, TrialSection(Ended.NOT_BEGUN, 0.0)) == said


def test_a_measured_gain_takes_the_place_of_a_predicted_one():
    (found,) = with_measured([finding()], section(row()))
    assert (found.gain.low, found.gain.high, found.gain.basis) == (1.9, 2.1, Basis.MEASURED)
    assert "3 blocks" in found.gain.because


@pytest.mark.parametrize("outcome", [Outcome.SAME, Outcome.SLOWER])
def test_what_was_tried_and_did_not_help_is_no_advice(outcome):
    assert with_measured([finding()], section(row(outcome=outcome, low=0.9, high=1.0))) == ()


def test_what_could_not_be_decided_keeps_both_ends_of_its_interval():
    (found,) = with_measured([finding()], section(row(outcome=Outcome.UNDECIDED, low=0.95, high=1.3)))
    assert found.gain.basis is Basis.MEASURED


def test_findings_are_in_the_order_of_what_was_measured():
    rows = [row("a", low=1.2, high=1.3, codes=("FW101",)), row("b", low=1.5, high=1.6, codes=("FW105",))]
    said = [finding("FW101", 3, 4), finding("FW105", 1.1, 1.2), finding("FW204", 5, 6), finding("FW403", None)]
    assert [each.code for each in with_measured(said, section(*rows))] == ["FW105", "FW101", "FW204", "FW403"]


def test_the_picked_setting_comes_first_with_its_own_edit():
    picked = row("num_workers=3", codes=("FW101",), advised=False)
    fix = Fix("", "DataLoader(..., num_workers=3)")
    found = with_measured([finding("FW105", 3, 4), finding()], section(picked, row(), picked="num_workers=3", fix=fix))
    assert [each.code for each in found] == ["FW101", "FW105"]
    assert found[0].title == "Use num_workers=3"
    assert found[0].fix is fix
    assert "10 ms with it and 20 ms as it is" in found[0].why


def test_a_setting_that_no_finding_asked_for_becomes_one():
    picked = row("num_workers=1", outcome=Outcome.SAME, low=0.98, high=1.02, codes=("FW103",), advised=False)
    (found,) = with_measured([], section(picked, picked="num_workers=1"))
    assert (found.code, found.name) == ("FW103", "more-workers-than-cpus")
    assert "takes less" in found.why


def test_a_change_without_a_rule_is_shown_by_the_trial_alone():
    assert with_measured([], section(row("any order", codes=()), picked="any order")) == ()


def test_at_most_is_what_was_measured():
    verdict = Verdict(Bound.INPUT, "", "", ceiling_speedup=9.0)
    assert with_measured_ceiling(verdict, None).ceiling_speedup == 9.0
    assert with_measured_ceiling(verdict, section(ceiling=Span(2.0, 4.5))).ceiling_speedup == pytest.approx(3.0)
